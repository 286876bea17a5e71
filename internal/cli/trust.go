package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/sign"
)

func (a *app) trustCommand(category string) *cli.Command {
	return a.group("trust", "say whose signatures count for what, and what is refused", category,
		a.trustList(), a.trustShow(), a.trustAdd(), a.trustRemove(), a.trustBlock(), a.trustUnblock(), a.trustCheck(), a.trustPublisher())
}

func policyFileFlag() cli.Flag {
	return &cli.StringFlag{Name: "policy", Usage: "the trust policy in `FILE` (default: trust.yaml in your configuration)"}
}

// policyDoc is a trust policy in --json documents.
type policyDoc struct {
	Path       string        `json:"path"`
	There      bool          `json:"there"` // false: there is no such file, so nothing is judged by a policy
	Level      string        `json:"level"` // of what nothing covers: strict, warn or audit
	Hub        string        `json:"hub,omitempty"`
	Publishers []publisherIn `json:"publishers"`
	Unsigned   []string      `json:"unsigned"`
	Blocked    []blockIn     `json:"blocked"`
}

// publisherIn is what a policy wants of one scope.
type publisherIn struct {
	Scope     string      `json:"scope"`
	Keys      []policyKey `json:"keys"`
	Threshold int         `json:"threshold"` // how many of the keys must have signed; 0 when none must
	Require   []string    `json:"require"`
	MinAge    string      `json:"min_age,omitempty"`
	KazmaHMAC string      `json:"kazma_hmac,omitempty"`
}

// policyKey is a key of a scope. Its name is empty when the ring does not have it, and
// then nothing that it signed can be checked.
type policyKey struct {
	KeyID string `json:"keyid"`
	Name  string `json:"name,omitempty"`
}

// blockIn is one thing that is refused.
type blockIn struct {
	Kind   string `json:"kind"` // digests, keys, publishers or skills
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}

func newPolicyDoc(path string, p *sign.TrustPolicy, ring []sign.NamedKey) policyDoc {
	d := policyDoc{Path: path, There: p != nil, Publishers: []publisherIn{}, Unsigned: []string{}, Blocked: []blockIn{}}
	if p == nil {
		return d
	}
	d.Level, d.Hub = string(p.Level), p.Log
	for _, one := range p.Publishers {
		d.Publishers = append(d.Publishers, newPublisherIn(one, ring))
	}
	for _, scope := range p.Unsigned {
		d.Unsigned = append(d.Unsigned, string(scope))
	}
	for _, kind := range []sign.BlockKind{sign.BlockedDigests, sign.BlockedKeys, sign.BlockedPublishers, sign.BlockedSkills} {
		for _, b := range p.Blocked.Of(kind) {
			d.Blocked = append(d.Blocked, blockIn{Kind: string(kind), ID: b.ID, Reason: b.Reason})
		}
	}
	return d
}

func newPublisherIn(p sign.Publisher, ring []sign.NamedKey) publisherIn {
	out := publisherIn{Scope: string(p.Scope), Keys: []policyKey{}, Require: p.Requires()}
	for _, id := range p.Keys {
		out.Keys = append(out.Keys, policyKey{KeyID: id, Name: nameInRing(ring, id)})
	}
	if p.Author {
		out.Threshold = p.Threshold
	}
	if p.MinAge > 0 {
		out.MinAge = sign.DurationText(p.MinAge)
	}
	if p.HMAC != sign.Accept {
		out.KazmaHMAC = string(p.HMAC)
	}
	return out
}

func nameInRing(ring []sign.NamedKey, id string) string {
	for _, k := range ring {
		if k.Key.ID() == id {
			return k.Name
		}
	}
	return ""
}

func (p publisherIn) sentence() string {
	var parts []string
	if p.Threshold > 0 {
		var keys []string
		for _, k := range p.Keys {
			keys = append(keys, first(k.Name, "not in your ring")+" ("+shorten(k.KeyID, 16)+")")
		}
		parts = append(parts, fmt.Sprintf("%d of the keys %s", p.Threshold, strings.Join(keys, ", ")))
	}
	for _, r := range p.Require {
		if r != "author-signature" {
			parts = append(parts, r)
		}
	}
	if p.MinAge != "" {
		parts = append(parts, p.MinAge+" in a log")
	}
	if p.KazmaHMAC != "" {
		parts = append(parts, "HMAC: "+p.KazmaHMAC)
	}
	return strings.Join(parts, "; ")
}

// readPolicy is trustPolicy with its file and the ring, for commands that show it.
func (a *app) readPolicy(c *cli.Command) (path string, policy *sign.TrustPolicy, ring []sign.NamedKey, err error) {
	if path, _, err = a.policyPath(c); err != nil {
		return "", nil, nil, err
	}
	if policy, err = a.trustPolicy(c); err != nil {
		return "", nil, nil, err
	}
	ring, err = a.trustedKeys()
	return path, policy, ring, err
}

func (a *app) trustList() *cli.Command {
	return a.leaf("list", "list what the trust policy says", spec{
		long: "The policy is trust.yaml in your configuration; docs/settings.md has its grammar. Where there is none, keys in your\n" +
			"ring count as trusted, and what is not signed is taken with a warning.",
		examples: []example{{"trust list", "scopes, what may come unsigned, and what is blocked"}, {"trust list --json", "for scripts"}},
	}, []cli.Flag{policyFileFlag(), jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		path, policy, ring, err := a.readPolicy(c)
		if err != nil {
			return err
		}
		d := newPolicyDoc(path, policy, ring)
		if c.Bool("json") {
			return a.printJSON(d)
		}
		if !d.There {
			a.printf("(no trust policy; make one with: %s trust add AUTHOR KEYFILE)\n", a.program)
			return nil
		}
		for _, p := range d.Publishers {
			a.printf("%s  %s\n", p.Scope, p.sentence())
		}
		for _, scope := range d.Unsigned {
			a.printf("%s  may come unsigned\n", scope)
		}
		for _, b := range d.Blocked {
			a.printf("%s  blocked%s\n", b.ID, reason(b.Reason))
		}
		a.printf("(everything else)  %s\n", levelWords(d.Level))
		if d.Hub != "" {
			a.printf("(hub)  %s\n", d.Hub)
		}
		return nil
	})
}

func reason(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func levelWords(level string) string {
	switch sign.TrustLevel(level) {
	case sign.Warn:
		return "is taken with a warning (warn)"
	case sign.Audit:
		return "is taken (audit)"
	}
	return "is refused (strict)"
}

func (a *app) trustShow() *cli.Command {
	return a.leaf("show", "show what the trust policy wants of one scope", spec{
		args: "SCOPE", min: 1, max: 1,
		long: "SCOPE is AUTHOR, which means all of the author's skills, or AUTHOR/NAME.",
		examples: []example{
			{"trust show acme", "whose signatures count for acme"},
		},
	}, []cli.Flag{policyFileFlag(), jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		scope, err := parseScope(c.Args().First())
		if err != nil {
			return err
		}
		_, policy, ring, err := a.readPolicy(c)
		if err != nil {
			return err
		}
		if policy != nil {
			for _, p := range policy.Publishers {
				if p.Scope != scope {
					continue
				}
				out := newPublisherIn(p, ring)
				if c.Bool("json") {
					return a.printJSON(out)
				}
				a.printf("%s\n  wants  %s\n", out.Scope, out.sentence())
				return nil
			}
		}
		return noScope(policy, scope)
	})
}

func noScope(policy *sign.TrustPolicy, scope sign.Scope) error {
	e := hubapi.Errorf(hubapi.NotFound, "the trust policy says nothing about %s by that name", scope).
		With(hubapi.Detail{ID: sign.IDTrustScope, Message: "no such scope"})
	var known []string
	if policy != nil {
		for _, p := range policy.Publishers {
			known = append(known, string(p.Scope))
		}
	}
	if near := nearest(string(scope), known); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e.WithHint("kx trust list shows the scopes; kx trust check says what decides about a skill")
}

func parseScope(text string) (sign.Scope, error) {
	scope, err := sign.ParseScope(text)
	if err != nil {
		return "", usagef("%v", err)
	}
	return scope, nil
}
