package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/kazmaload"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/source"
)

// kazmaInstallFlags are those of install and update.
func kazmaInstallFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		toFlag(),
		&cli.BoolFlag{Name: "yes", Usage: "agree to the changes of skills that are installed already"},
		withoutSecretFlag(),
		previousSecretFlag(),
	}, mergeFlags(), acceptFlags(), secretFlags(), kazmaFlags())
}

func (a *app) kazmaInstall() *cli.Command {
	return a.leaf("install", "fetch a skill from the hub, verify it, and put it where Kazma loads it", spec{
		args: "SKILL_ID", min: 1, max: 1,
		long: "SKILL_ID is NAME, AUTHOR/NAME, AUTHOR/NAME@VERSION or kazma-hub://AUTHOR/NAME@VERSION; without a version it is the\n" +
			"active one. Nothing is written unless everything holds: the hub's log has the release, its content has the digest,\n" +
			"checksum and signatures are right, the scan finds nothing critical, and Kazma may load it (see verify).\n\n" +
			"It goes into the folder of skills: --to, else skills.path of the kazma.yaml in this folder, else KAZMA_USER_HOME or\n" +
			".kazma in your home. Folders that are not ours, and files that somebody edited, are not touched. Another version of\n" +
			"an installed skill is an update: what changes is shown, and needs a yes.",
		examples: []example{
			{"hub install acme/demo", "the active release"},
			{"hub install kazma-hub://acme/demo@1.0.0 --to skills --json", "this one, into the folder skills"},
		},
	}, kazmaInstallFlags(), a.runKazmaInstall)
}

// kazmaInstalled is the --json document of install and update.
type kazmaInstalled struct {
	Path    string           `json:"path"` // of the folder of skills
	Lock    string           `json:"lock"`
	Skills  []kazmaPlacement `json:"skills"`
	Reviews []deliver.Review `json:"reviews"` // what changes of skills that were installed
	Checked int              `json:"checked"` // of update: how many were looked at
	// Others are the folders beside Path in which the lock has these skills too.
	Others []kazmaOther `json:"others"`
}

// kazmaOther is what became of a skill in a folder that Kazma does not load from.
type kazmaOther struct {
	ID      string        `json:"id"`
	Path    string        `json:"path"`
	Outcome string        `json:"outcome"` // updated, merged; kept or unchanged: left as it was
	Error   *hubapi.Error `json:"error,omitempty"`
}

// kazmaPlacement is one skill that was placed, or was in place.
type kazmaPlacement struct {
	ID       string   `json:"id"`
	Path     string   `json:"path"`
	Digest   string   `json:"digest"`
	Outcome  string   `json:"outcome"` // new, updated, unchanged
	Signed   bool     `json:"signed"`  // by a key that is known here, or by the shared secret, and verified
	State    string   `json:"state"`   // of checksum and signature: verified, unsigned, failed (not checked)
	Warnings []string `json:"warnings"`
	Merged   []string `json:"merged,omitempty"` // files that have your own changes in them
}

// kazmaInstaller is one run of install, update or uninstall.
type kazmaInstaller struct {
	*installer
	place   kazmaPlace
	secrets sign.Secrets
	policy  kazmaload.Policy
	side    deliver.Side
}

// withKazmaInstaller opens the lock that the folder of skills belongs to: the
// project's where a kazma.yaml is and the folder lies in it, else the user's own.
func (a *app) withKazmaInstaller(ctx context.Context, c *cli.Command, need func(kazmaPlace, *deliver.Workspace) ([]source.Ref, error), use func(*kazmaInstaller) error) error {
	side, err := mergeSide(c)
	if err != nil {
		return err
	}
	place, err := a.kazmaPlace(c)
	if err != nil {
		return err
	}
	if err := place.writable(c); err != nil {
		return err
	}
	secrets, err := a.secrets(c)
	if err != nil {
		return err
	}
	s, err := a.kazmaStanding(place)
	if err != nil {
		return err
	}
	return a.withInstallerIn(ctx, c, s, func(ws *deliver.Workspace) ([]source.Ref, error) { return need(place, ws) }, func(in *installer) error {
		// --require-signed is about keys here, as everywhere where packs come in.
		policy := kazmaload.Policy{RequireSigned: place.settings.RequireSigned, WithoutSecret: c.Bool("without-secret")}
		in.sources.HubOnly = true
		in.gate = a.gateWith(c, in.hub, &in.notes, secrets, func(accept.Incoming) (*kazmaload.Policy, error) { return &policy, nil })
		return use(&kazmaInstaller{installer: in, place: place, secrets: secrets, policy: policy, side: side})
	})
}

func (a *app) kazmaStanding(place kazmaPlace) (standing, error) {
	home, err := a.home()
	if err != nil {
		return standing{}, err
	}
	if place.project != "" {
		if rel, err := filepath.Rel(place.project, place.dir); err == nil && filepath.IsLocal(rel) {
			return standing{scope: deliver.ProjectScope, dir: place.project, lock: filepath.Join(place.project, deliver.LockFile), data: home.data, found: true}, nil
		}
	}
	s := standing{scope: deliver.UserScope, dir: a.HomeDir, lock: filepath.Join(home.data, deliver.LockFile), data: home.data, found: true}
	if s.dir == "" {
		s.dir = home.data
	}
	return s, nil
}

func (a *app) runKazmaInstall(ctx context.Context, c *cli.Command) error {
	ref, err := hubapi.ParseKazmaID(c.Args().First())
	if err != nil {
		return asUsageRef(err)
	}
	from := source.Ref{Kind: source.Hub, Hub: ref}
	return a.withKazmaInstaller(ctx, c, func(kazmaPlace, *deliver.Workspace) ([]source.Ref, error) { return []source.Ref{from}, nil },
		func(in *kazmaInstaller) error {
			fetched, err := in.sources.Fetch(ctx, from)
			if err != nil {
				return err
			}
			found, err := fetched.Pick("")
			if err != nil {
				return err
			}
			wanted, err := in.wanted(ctx, accept.Incoming{Fetched: fetched, Found: found}, ref.Version != "")
			if err != nil {
				return err
			}
			return in.carryOut(ctx, []deliver.Wanted{wanted}, nil, 1, "Installed")
		})
}

// wanted judges one pack as for every installation; the gate also judges it as Kazma
// does on load.
func (in *kazmaInstaller) wanted(ctx context.Context, o accept.Incoming, named bool) (deliver.Wanted, error) {
	p := o.Found.Pack
	if p.Format != pack.Kazma {
		return deliver.Wanted{}, hubapi.Errorf(hubapi.Unsupported, "%s is a %s pack, which Kazma does not load", o.Ref(), p.Format).
			WithHint("kx skills install puts it where other agents read it")
	}
	offer, err := in.offer(ctx, p.Name, o)
	if err != nil {
		return deliver.Wanted{}, err
	}
	// The skill is meant, not this version of it: an update looks for the active one.
	if o.Fetched.Release != nil {
		offer.Source = hubapi.Ref{Author: offer.Author, Name: p.Name}.String()
	}
	if before, ok := in.ws.Lock().Skills[p.Name]; ok && !named && older(offer.Version, before.Version) {
		return deliver.Wanted{}, hubapi.Errorf(hubapi.Conflict, "the hub's %s is older than the %s that is installed", o.Ref(), before.Version).
			WithHint("if you want to go back, name the version: %s/%s@%s", offer.Author, p.Name, offer.Version)
	}
	return deliver.Wanted{Name: p.Name, Offer: offer, Spots: []deliver.Spot{{Dir: in.place.dir}}, Side: in.side, Force: in.c.Bool("force")}, nil
}

// older compares versions of three numbers; what is none is not older.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	if len(x) != 3 || len(y) != 3 {
		return false
	}
	for i := range x {
		m, err := strconv.ParseUint(x[i], 10, 64)
		n, err2 := strconv.ParseUint(y[i], 10, 64)
		if err != nil || err2 != nil {
			return false
		}
		if m != n {
			return m < n
		}
	}
	return false
}

// carryOut plans, and leaves it to finish to show what changes of what is installed, to
// want a yes for it, to write, and to judge what lies there then.
func (in *kazmaInstaller) carryOut(ctx context.Context, wanted []deliver.Wanted, errs []error, checked int, word string) error {
	plans := in.ws.Plan(ctx, wanted)
	for i := range plans {
		for _, s := range plans[i].Steps {
			if s.Action == deliver.ActMerge && plans[i].Err == nil {
				plans[i].Err = in.mergeable(plans[i].Name, s, wanted[i].Offer.Pack.Kazma)
			}
		}
	}
	reviews, err := in.review(ctx, plans, wanted)
	if err != nil {
		return err
	}
	doc := kazmaInstalled{Path: in.place.dir, Lock: in.lock, Skills: []kazmaPlacement{}, Reviews: reviews, Checked: checked, Others: []kazmaOther{}}
	in.finish = func() error { return in.carryOutAgreed(ctx, doc, plans, errs, word) }
	return nil
}

func (in *kazmaInstaller) carryOutAgreed(ctx context.Context, doc kazmaInstalled, plans []deliver.Planned, errs []error, word string) error {
	a, c := in.a, in.c
	if err := in.agree(ctx, plans, doc.Reviews); err != nil {
		in.notes.print(a)
		if c.Bool("json") {
			return errors.Join(a.printJSON(doc), err)
		}
		return err
	}
	plans, err := in.ws.Apply(plans)
	if err != nil {
		return err
	}
	done, more := installedOf(plans)
	errs = append(errs, more...)
	for _, d := range done {
		if filepath.Dir(d.Path) != in.place.dir {
			id := hubapi.KazmaID(hubapi.Ref{Author: d.Author, Name: d.Name, Version: d.Version})
			doc.Others = append(doc.Others, kazmaOther{ID: id, Path: d.Path, Outcome: d.Outcome, Error: d.Error})
			continue
		}
		if d.Error != nil {
			continue
		}
		one, err := in.placed(d)
		if err != nil {
			errs = append(errs, err)
		}
		doc.Skills = append(doc.Skills, one)
	}
	in.notes.print(a)
	failed := failures("were not installed", errs)
	if c.Bool("json") {
		if len(doc.Skills) == 0 && failed != nil {
			return failed
		}
		return errors.Join(a.printJSON(doc), failed)
	}
	a.some(len(doc.Skills), maxRows, func(i int) {
		s := doc.Skills[i]
		verb := word
		switch s.Outcome {
		case string(deliver.Unchanged), "kept":
			verb = "Unchanged"
		case string(deliver.Updated), "merged":
			verb = "Updated"
		}
		if verb == "Updated" || verb == "Installed" {
			a.printf("%s %s to %s\n", verb, s.ID, s.Path)
			if len(s.Merged) > 0 {
				a.printf("  with your changes in %s\n", strings.Join(s.Merged, ", "))
			}
			return
		}
		a.printf("%s: %s in %s\n", verb, s.ID, s.Path)
	})
	a.some(len(doc.Others), maxRows, func(i int) {
		word := "Also " + doc.Others[i].Outcome
		switch o := doc.Others[i]; {
		case o.Error != nil:
			return // the error says so
		case o.Outcome == string(deliver.Unchanged), o.Outcome == "kept":
			word = "Left as it is"
		}
		a.printf("%s: %s in %s\n", word, doc.Others[i].ID, doc.Others[i].Path)
	})
	if len(doc.Skills) == 0 && failed == nil {
		a.printf("Up to date: %d skills in %s\n", doc.Checked, in.place.dir)
	}
	return failed
}

// mergeable refuses to bring a person's edits into an update unless they say so, and
// where the skill would not be loaded afterwards: what was signed cannot be mended.
func (in *kazmaInstaller) mergeable(name string, s deliver.Step, m *pack.KazmaManifest) error {
	signed := slices.DeleteFunc(slices.Clone(s.Merged), func(file string) bool {
		return file != m.EntryFile && file != pack.Kazma.ManifestFile()
	})
	e := hubapi.Errorf(hubapi.Conflict, "the folder %s was edited since it was installed, and its signature is of the files as they were", s.Dir)
	for _, d := range s.Edits {
		e.Details = append(e.Details, hubapi.Detail{ID: deliver.IDLocalEdits, Message: d.String(), File: name + "/" + d.Path})
	}
	switch {
	case m.Checksum != "" && len(signed) > 0:
		e.Message += "; with your " + strings.Join(signed, " and ") + " it would not be loaded"
		return e.WithHint("keep the changes elsewhere first, or lose them with --force")
	case in.side == deliver.AskSide:
		return e.WithHint("bring the changes into the update with --keep, or with --theirs where it touched the same lines; lose them with --force")
	}
	return nil
}

// placed judges a skill where it lies now.
func (in *kazmaInstaller) placed(d installed) (kazmaPlacement, error) {
	out := kazmaPlacement{
		ID:   hubapi.KazmaID(hubapi.Ref{Author: d.Author, Name: d.Name, Version: d.Version}),
		Path: d.Path, Digest: string(d.Digest), Outcome: d.Outcome, Signed: d.planned != nil && len(d.planned.After.Signers) > 0, Warnings: []string{},
	}
	if d.step != nil {
		out.Merged = d.step.Merged
	}
	loaded, err := kazmaload.Load(d.Path, in.secrets, in.policy)
	if err != nil {
		e := *hubapi.AsError(err)
		e.Message = fmt.Sprintf("%s lies in %s now and must not be loaded: %s", d.Name, d.Path, e.Message)
		return out, &e
	}
	out.State = string(loaded.HMAC.State)
	out.Signed = out.Signed || loaded.HMAC.State == sign.HMACVerified
	out.Warnings = append(out.Warnings, loaded.Warnings...) // the gate has said them
	return out, nil
}

func (a *app) kazmaUpdate() *cli.Command {
	return a.leaf("update", "bring installed skills to what the hub has now", spec{
		args: "[SKILL...]", max: -1,
		long: "Without a SKILL all that were installed into the folder of skills. What changes is shown: texts, permissions,\n" +
			"capabilities, findings of the scan, the signer. On a terminal it asks for each; elsewhere nothing is changed without\n" +
			"--yes, and the exit code is 1 when something would. New versions are verified as install does.",
		examples: []example{{"hub update", "all of them, where nothing is new"}, {"hub update demo --yes", "one, agreed to"}},
	}, kazmaInstallFlags(), func(ctx context.Context, c *cli.Command) error {
		var names []string
		return a.withKazmaInstaller(ctx, c, func(place kazmaPlace, ws *deliver.Workspace) (refs []source.Ref, err error) {
			if names, err = a.installedNames(place, ws, c.Args().Slice()); err != nil || len(names) == 0 {
				return nil, err
			}
			return lockedRefs(ws, names)
		}, func(in *kazmaInstaller) error {
			if len(names) == 0 {
				if c.Bool("json") {
					return a.printJSON(kazmaInstalled{Path: in.place.dir, Lock: in.lock, Skills: []kazmaPlacement{}, Reviews: []deliver.Review{}, Others: []kazmaOther{}})
				}
				a.printf("No installed skills.\n")
				return nil
			}
			return in.updateAll(ctx, names)
		})
	})
}

func (in *kazmaInstaller) updateAll(ctx context.Context, names []string) error {
	candidates, checked, err := in.newerThanLock(ctx, names)
	if err != nil {
		return err
	}
	errs := in.unfit(names, candidates)
	var skills []lockedSkill
	for _, n := range candidates {
		if n.err != nil {
			errs = append(errs, hubErrorOf(n.name, n.err))
			continue
		}
		skills = append(skills, lockedSkill{name: n.name, past: deliver.Past{Source: n.entry.Source, Revision: n.revision}})
	}
	var wanted []deliver.Wanted
	for i, got := range in.locked(ctx, skills) {
		err := got.err
		var w deliver.Wanted
		if err == nil {
			w, err = in.wanted(ctx, accept.Incoming{Fetched: got.fetched, Found: got.found}, false)
		}
		if err != nil {
			errs = append(errs, hubErrorOf(skills[i].name, err))
			continue
		}
		w.Name = skills[i].name
		wanted = append(wanted, w)
	}
	return in.carryOut(ctx, wanted, errs, checked, "Updated")
}

// unfit says which of the skills that have no newer version may not be loaded as they
// lie there: "up to date" would be no answer for them.
func (in *kazmaInstaller) unfit(names []string, candidates []newer) (errs []error) {
	for _, name := range names {
		if slices.ContainsFunc(candidates, func(n newer) bool { return n.name == name }) {
			continue
		}
		loaded, err := kazmaload.Load(filepath.Join(in.place.dir, name), in.secrets, in.policy)
		if err == nil {
			if e := editedSince(loaded, in.ws.Lock().Skills); e != nil {
				err = e
			}
		}
		if err != nil {
			errs = append(errs, hubErrorOf(name, err))
		}
	}
	return errs
}

// installedNames are the skills of the lock that lie in the folder of skills: all, or
// those that texts name in any form of an id.
func (a *app) installedNames(place kazmaPlace, ws *deliver.Workspace, texts []string) ([]string, error) {
	lock := ws.Lock()
	var all []string
	for _, name := range lock.Names() {
		if slices.ContainsFunc(lock.Skills[name].Targets, func(t deliver.Target) bool { return ws.Path(t) == place.dir }) {
			all = append(all, name)
		}
	}
	if len(texts) == 0 {
		return all, nil
	}
	var out []string
	for _, text := range texts {
		ref, err := hubapi.ParseKazmaID(text)
		if err != nil {
			return nil, asUsageRef(err)
		}
		i := slices.IndexFunc(all, func(name string) bool {
			s := lock.Skills[name]
			return s.Name == ref.Name && (ref.Author == "" || s.Author == ref.Author) && (ref.Version == "" || s.Version == ref.Version)
		})
		if i < 0 {
			return nil, notInstalled(place, text, ref, all)
		}
		if !slices.Contains(out, all[i]) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// notInstalled tells a skill that is not here from one that somebody else put here.
func notInstalled(place kazmaPlace, text string, ref hubapi.Ref, all []string) error {
	e := hubapi.Errorf(hubapi.NotFound, "Skill not found: %s is not installed in %s", text, place.dir)
	e.Details = []hubapi.Detail{{ID: deliver.IDNotInstalled, Message: e.Message}}
	if _, err := os.Lstat(filepath.Join(place.dir, ref.Name)); err == nil {
		if slices.Contains(all, ref.Name) {
			return e.WithHint("the %s that is installed there is of another author, or another version", ref.Name)
		}
		return e.WithHint("there is a folder %s, which was not put there by this kx; it is not touched", ref.Name)
	}
	if near := hubapi.Nearest(ref.Name, all); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e
}

func (a *app) kazmaUninstall() *cli.Command {
	return a.leaf("uninstall", "remove an installed skill, with all its files", spec{
		args: "SKILL", min: 1, max: 1,
		long: "Removes exactly the folder that install wrote. One that somebody edited is left alone, unless --force; what others\n" +
			"put into the folder of skills is never touched.",
		examples: []example{{"hub uninstall acme/demo", "from the folder of skills"}},
	}, []cli.Flag{
		toFlag(),
		&cli.BoolFlag{Name: "force", Usage: "also lose what somebody edited"},
		jsonFlag(),
	}, a.runKazmaUninstall)
}

// kazmaRemoved is the --json document of uninstall.
type kazmaRemoved struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Lock string `json:"lock"`
}

func (a *app) runKazmaUninstall(ctx context.Context, c *cli.Command) error {
	var names []string
	return a.withKazmaInstaller(ctx, c, func(place kazmaPlace, ws *deliver.Workspace) (refs []source.Ref, err error) {
		names, err = a.installedNames(place, ws, c.Args().Slice())
		return nil, err
	}, func(in *kazmaInstaller) error {
		s := in.ws.Lock().Skills[names[0]]
		plans, err := in.ws.Apply(in.ws.PlanRemoval([]deliver.Removal{{Name: names[0], Dirs: []string{in.place.dir}, Force: c.Bool("force")}}))
		if err != nil {
			return err
		}
		for _, p := range plans {
			for _, step := range p.Steps {
				p.Err = errors.Join(p.Err, step.Err)
			}
			if p.Err != nil {
				return p.Err
			}
		}
		out := kazmaRemoved{
			ID: hubapi.KazmaID(hubapi.Ref{Author: s.Author, Name: s.Name, Version: s.Version}), Path: filepath.Join(in.place.dir, names[0]), Lock: in.lock,
		}
		if c.Bool("json") {
			return a.printJSON(out)
		}
		a.printf("Uninstalled: %s\n", out.ID)
		return nil
	})
}
