package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/sign"
)

func (a *app) trustAdd() *cli.Command {
	return a.leaf("add", "want signatures, a log's proof or an age of an author's skills", spec{
		args: "SCOPE [KEY...]", min: 1, max: -1,
		long: "SCOPE is AUTHOR, which means all of the author's skills, or AUTHOR/NAME. A KEY is a file with a public key, which is\n" +
			"then also imported into your ring, the name of a key in your ring, or the id of one (64 hex digits). A scope that is\n" +
			"there gets the keys in addition, and the other settings in place of the old ones. What is not said stays as it is.\n\n" +
			"The policy is made if there is none; it then leaves alone what no scope covers, until you set its level to strict.",
		examples: []example{
			{"trust add acme me", "releases of acme must be signed by the key me"},
			{"trust add acme/triage me --require author,log --min-age 72h", "and be in the hub's log, for three days"},
			{"trust add local --unsigned", "your own skills may come unsigned"},
		},
		choices: map[string][]string{"require": {"author", "log", "hub"}, "hmac": {string(sign.Require), string(sign.Accept), string(sign.Off)}},
	}, []cli.Flag{
		&cli.IntFlag{Name: "threshold", Usage: "`N` of the keys must have signed (default: 1)"},
		&cli.StringSliceFlag{Name: "require", Usage: "want `WHAT`: author, log or hub, with commas between them; may be repeated"},
		&cli.StringFlag{Name: "min-age", Usage: "a release must be in the log for `DURATION`, such as 72h"},
		&cli.StringFlag{Name: "hmac", Usage: "judge shared-secret signatures by `POLICY`: require, accept or off"},
		&cli.BoolFlag{Name: "unsigned", Usage: "what this scope covers may come unsigned"},
		policyFileFlag(), jsonFlag(),
	}, a.runTrustAdd)
}

func (a *app) runTrustAdd(_ context.Context, c *cli.Command) error {
	scope, err := parseScope(c.Args().First())
	if err != nil {
		return err
	}
	keys := c.Args().Tail()
	wants := len(keys) > 0 || c.IsSet("threshold") || c.IsSet("require") || c.IsSet("min-age") || c.IsSet("hmac")
	switch {
	case c.Bool("unsigned") && wants:
		return usagef("--unsigned is for scopes of which nothing else is wanted")
	case !c.Bool("unsigned") && !wants:
		return usagef("what is wanted of %s? name a KEY, or --require, --min-age, --hmac or --unsigned", scope)
	}
	if c.Bool("unsigned") {
		return a.changePolicy(c, func(text []byte) ([]byte, error) { return sign.AllowUnsigned(text, scope) })
	}
	ids, imports, err := a.policyKeys(keys, scope)
	if err != nil {
		return err
	}
	err = a.changePolicy(c, func(text []byte) ([]byte, error) {
		p, err := publisherNow(text, scope)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if !slices.Contains(p.Keys, id) {
				p.Keys = append(p.Keys, id)
			}
			p.Author = true
		}
		if err := a.wanted(c, &p); err != nil {
			return nil, err
		}
		return sign.PutPublisher(text, p)
	}, imports...)
	return err
}

// publisherNow is what a policy has of a scope now, or a new one.
func publisherNow(text []byte, scope sign.Scope) (sign.Publisher, error) {
	fresh := sign.Publisher{Scope: scope, Threshold: 1, HMAC: sign.Accept}
	if len(text) == 0 {
		return fresh, nil
	}
	policy, err := sign.ParseTrustPolicy(text)
	if err != nil {
		return fresh, err
	}
	for _, p := range policy.Publishers {
		if p.Scope == scope {
			return p, nil
		}
	}
	return fresh, nil
}

// wanted puts what the flags say over what a scope wanted before.
func (a *app) wanted(c *cli.Command, p *sign.Publisher) error {
	if c.IsSet("threshold") {
		p.Threshold = c.Int("threshold")
		p.Author = true
	}
	if c.IsSet("require") {
		p.Author, p.LogProof, p.Hub = len(p.Keys) > 0, false, false
		for _, text := range c.StringSlice("require") {
			if err := sign.Requirements(strings.Split(text, ","), p); err != nil {
				return usagef("%v", err)
			}
		}
	}
	if text := c.String("min-age"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return usagef("--min-age needs a duration such as 72h")
		}
		p.MinAge = d
	}
	if text := c.String("hmac"); text != "" {
		policy, err := sign.ParsePolicy(text)
		if err != nil {
			return usagef("%v", err)
		}
		p.HMAC = policy
	}
	switch {
	case p.Author && len(p.Keys) == 0:
		return usagef("whose signature? name a KEY")
	case p.Author && (p.Threshold < 1 || p.Threshold > len(p.Keys)):
		return usagef("--threshold needs a number from 1 to %d, the number of keys", len(p.Keys))
	}
	return nil
}

// keyToImport is a public key from a file that the ring does not have yet.
type keyToImport struct {
	name string
	key  sign.PublicKey
}

// policyKeys gives the ids of keys that were named by file, by name or by id.
func (a *app) policyKeys(names []string, scope sign.Scope) (ids []string, imports []keyToImport, err error) {
	ring, err := a.trustedKeys()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		id := ""
		for _, k := range ring {
			if k.Name == name || k.Key.ID() == name {
				id = k.Key.ID()
			}
		}
		kind, known := sign.BlockKindOf(name)
		switch data, err := readCapped(a.path(name), sign.MaxKeyFile+1); {
		case id != "":
		case known && kind == sign.BlockedKeys:
			id = name
			a.note("%s: warning: your ring does not have the key %s, so nothing that it signs can be checked; import it with %s keys import", a.program, shorten(name, 16), a.program)
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, usagef("%q is neither a key in your ring, nor the id of a key, nor a file", name).WithHint("kx keys list")
		case err != nil:
			return nil, nil, usagef("cannot read the key: %v", err)
		default:
			key, err := sign.ParsePublicKey(data)
			if err != nil {
				return nil, nil, usagef("%s: %v", name, err)
			}
			if id = key.ID(); nameInRing(ring, id) == "" {
				author, _, _ := strings.Cut(string(scope), "/")
				imports = append(imports, keyToImport{name: author + "-" + key.ShortID()[:8], key: key})
			}
		}
		ids = append(ids, id)
	}
	return ids, imports, nil
}

// changePolicy edits the policy's file: afterwards it is the old one or the new one,
// and what the edit does not name is as it was. Keys are imported first, since a
// policy that names a key which nobody can check refuses everything.
func (a *app) changePolicy(c *cli.Command, edit func(text []byte) ([]byte, error), imports ...keyToImport) error {
	path, _, err := a.policyPath(c)
	if err != nil {
		return err
	}
	// A file that is kept elsewhere, and linked here, stays a link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o644)
	fresh := false
	edited := func() ([]byte, error) {
		text, err := readCapped(path, sign.MaxTrustPolicy+1)
		fresh = errors.Is(err, fs.ErrNotExist)
		if err != nil && !fresh {
			return nil, unusablePolicy(path, err)
		}
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
		if !fresh {
			if _, err := sign.ParseTrustPolicy(text); err != nil {
				return nil, unusablePolicy(path, err)
			}
		}
		after, err := edit(text)
		if err != nil {
			return nil, editRefused(path, err)
		}
		return after, nil
	}
	if _, err := edited(); err != nil {
		return err // before anything is made
	}
	for _, one := range imports {
		err := a.changeKeys(func(ring *sign.Keyring) error {
			_, err := ring.Import(one.name, []byte(one.key.String()+"\n"), nil)
			return err
		})
		if err != nil {
			return err
		}
		a.note("%s: imported the key %s as %s: compare its words with its owner: %s", a.program, one.key.ShortID(), one.name, one.key.Words())
	}
	root, err := fsx.OpenOrCreate(filepath.Dir(path), 0o700)
	if err != nil {
		return err
	}
	defer root.Close()
	// What another command changed meanwhile stays.
	unlock, err := fsx.LockDir(root.Name())
	if err != nil {
		return err
	}
	after, err := edited()
	if err == nil {
		err = root.WriteFile(filepath.Base(path), after, mode)
	}
	unlock()
	if err != nil {
		return err
	}
	if fresh {
		a.note("%s: made the trust policy %s; what none of its scopes covers is taken as before, until its level is strict", a.program, termtext.Escape(path))
	}
	policy, err := sign.ParseTrustPolicy(after)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		ring, err := a.trustedKeys()
		if err != nil {
			return err
		}
		return a.printJSON(newPolicyDoc(path, &policy, ring))
	}
	a.printf("%s\n", path)
	return nil
}

// editRefused words why a policy was not changed.
func editRefused(path string, err error) error {
	e, ok := errors.AsType[*sign.Error](err)
	switch {
	case !ok:
		if _, wire := errors.AsType[*hubapi.Error](err); wire {
			return err
		}
		return usagef("the trust policy %s was not changed: %v", path, err).WithHint("change it by hand")
	case e.ID == sign.IDTrustScope || e.ID == sign.IDTrustBlocked:
		return hubapi.Errorf(hubapi.NotFound, "%s", e.Text).With(hubapi.Detail{ID: e.ID, Message: e.Text}).WithHint("kx trust list")
	}
	return usagef("the trust policy %s was not changed: %s", path, e.Text).With(hubapi.Detail{ID: e.ID, Message: e.Text})
}

func (a *app) trustRemove() *cli.Command {
	return a.leaf("remove", "take a scope out of the trust policy", spec{
		args: "SCOPE", min: 1, max: 1,
		long:     "Keys stay in your ring; kx keys remove takes them out.",
		examples: []example{{"trust remove acme", "nothing is wanted of acme any more"}},
	}, []cli.Flag{policyFileFlag(), jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		scope, err := parseScope(c.Args().First())
		if err != nil {
			return err
		}
		return a.changePolicy(c, func(text []byte) ([]byte, error) {
			if len(text) == 0 {
				return nil, noScope(nil, scope)
			}
			return sign.RemoveScope(text, scope)
		})
	})
}

func (a *app) trustBlock() *cli.Command {
	return a.leaf("block", "refuse a digest, a key, a skill or an author, whoever signed it", spec{
		args: "WHAT", min: 1, max: 1,
		long: "WHAT is a digest (sp1:...), the id of a key, AUTHOR/NAME, or AUTHOR for all of the author's skills. What is\n" +
			"blocked does not come in any more, and kx verify refuses what is there.",
		examples: []example{
			{`trust block acme/bad --reason "sends mail without asking"`, "refuse one skill"},
			{"trust block mallory", "refuse everything by mallory"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "say `WHY`, to whoever is refused it"},
		policyFileFlag(), jsonFlag(),
	}, func(_ context.Context, c *cli.Command) error {
		kind, id, err := blockable(c)
		if err != nil {
			return err
		}
		return a.changePolicy(c, func(text []byte) ([]byte, error) {
			return sign.PutBlock(text, kind, sign.Block{ID: id, Reason: c.String("reason")})
		})
	})
}

func (a *app) trustUnblock() *cli.Command {
	return a.leaf("unblock", "stop refusing what was blocked", spec{
		args: "WHAT", min: 1, max: 1,
		long:     "WHAT is as it was blocked: kx trust list shows it.",
		examples: []example{{"trust unblock mallory", "judge mallory's skills like all others"}},
	}, []cli.Flag{policyFileFlag(), jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		kind, id, err := blockable(c)
		if err != nil {
			return err
		}
		return a.changePolicy(c, func(text []byte) ([]byte, error) {
			if len(text) == 0 {
				return nil, hubapi.Errorf(hubapi.NotFound, "there is no trust policy, so nothing is blocked")
			}
			return sign.RemoveBlock(text, kind, id)
		})
	})
}

func blockable(c *cli.Command) (sign.BlockKind, string, error) {
	id := c.Args().First()
	kind, ok := sign.BlockKindOf(id)
	if !ok {
		return "", "", usagef("%q is neither a digest (sp1: and 64 hex digits), nor the id of a key, nor AUTHOR/NAME or AUTHOR", id).
			WithHint("kx keys list shows ids, kx search shows digests with --json")
	}
	return kind, id, nil
}
