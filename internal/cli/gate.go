package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/kazmaload"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/source"
)

// acceptFlags are on every command that takes packs from somewhere.
func acceptFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "require-signed", Usage: "refuse a pack without a key signature"},
		requireLogFlag(),
		policyFlag(),
		&cli.BoolFlag{Name: "allow-findings", Usage: "take a pack in which the scan finds something critical"},
	}
}

// acceptFindingsFlag is on those of them that take packs which no reviewer let in.
func acceptFindingsFlag() cli.Flag {
	return &cli.BoolFlag{Name: "accept-findings", Usage: "you read the grave findings and install all the same; critical ones need --allow-findings"}
}

// newGate makes the gate of one command from its flags and the user's own keys and
// policy.
func (a *app) newGate(c *cli.Command, hub *hubclient.Client, said *notes) *accept.Gate {
	return a.gateWith(c, hub, said, a.envSecrets(), func(in accept.Incoming) (*kazmaload.Policy, error) { return a.loadPolicy(c, in.Into) })
}

// gateWith is newGate where the shared secrets, and how strictly a Kazma loads, are
// known already.
func (a *app) gateWith(c *cli.Command, hub *hubclient.Client, said *notes, secrets sign.Secrets, load func(accept.Incoming) (*kazmaload.Policy, error)) *accept.Gate {
	return accept.NewGate(hub, accept.Options{
		RequireSigned: c.Bool("require-signed"), RequireLog: c.Bool("require-log"), AllowFindings: c.Bool("allow-findings"),
		AcceptFindings: c.Bool("accept-findings"),
		Now:            a.Now, Secrets: secrets, Load: load,
		Trusted: a.trustedKeys, Policy: func() (*sign.TrustPolicy, error) { return a.trustPolicy(c) },
		Memory: func() (accept.Memory, error) {
			home, err := a.home()
			return accept.Memory{Proofs: home.proofs(), Publishers: home.publishers()}, err
		},
		HubChosen: func() (bool, error) {
			s, _, err := a.endpointOf(c)
			return s.chosen, err
		},
		Notes: said,
	})
}

// notes gathers remarks about packs that are judged at the same time, so that they
// come out in one place and in bounds.
type notes struct {
	mu       sync.Mutex
	warnings []string
	bare     []string // refs without a signature
	seen     map[string]bool
}

// news tells whether a remark was not made before. The lock is held.
func (n *notes) news(remark string) bool {
	if n.seen[remark] {
		return false
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[remark] = true
	return true
}

// Warn takes a remark.
func (n *notes) Warn(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := fmt.Sprintf(format, args...); n.news(w) {
		n.warnings = append(n.warnings, w)
	}
}

// Unsigned takes the name of a pack that nobody vouches for.
func (n *notes) Unsigned(ref string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.news("unsigned " + ref) {
		n.bare = append(n.bare, ref)
	}
}

// print writes the remarks to standard error, in an order that does not depend on which
// of the packs was judged first, and forgets them.
func (n *notes) print(a *app) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.Sort(n.warnings)
	for i, w := range n.warnings {
		if i == maxRows {
			a.note("%s: and %d more warnings", a.program, len(n.warnings)-i)
			break
		}
		a.note("%s: warning: %s", a.program, termtext.Escape(w))
	}
	for _, w := range n.unsigned() {
		a.note("%s: warning: %s", a.program, termtext.Escape(w))
	}
	n.warnings, n.bare, n.seen = nil, nil, nil
}

// unsigned words who is vouched for by nobody.
func (n *notes) unsigned() (out []string) {
	const few = 3
	if len(n.bare) > few {
		return []string{fmt.Sprintf("%d skills are not signed: nothing says who made them", len(n.bare))}
	}
	for _, ref := range slices.Sorted(slices.Values(n.bare)) {
		out = append(out, ref+" is not signed: nothing says who made it")
	}
	return out
}

// lines are all remarks in the order of print, while nobody adds any.
func (n *notes) lines() []string {
	return append(slices.Sorted(slices.Values(n.warnings)), n.unsigned()...)
}

// hubNeeded tells whether any of the refs is in a hub.
func hubNeeded(refs []source.Ref) bool {
	for _, r := range refs {
		if r.Kind == source.Hub {
			return true
		}
	}
	return false
}

// failures words the end of a command that went on after failures.
func failures(what string, errs []error) error {
	var failed []*hubapi.Error
	for _, err := range errs {
		if err != nil {
			if code, ok := errors.AsType[exitError](err); ok {
				return code
			}
			failed = append(failed, asHubError(err))
		}
	}
	switch {
	case len(failed) == 0:
		return nil
	case len(errs) == 1:
		return failed[0]
	}
	e := hubapi.Errorf(failed[0].Code, "%d of %d %s: %s", len(failed), len(errs), what, failed[0].Message)
	e.Hint = failed[0].Hint
	for _, f := range failed {
		e.Details = append(e.Details, hubapi.Detail{ID: firstID(f), Message: strings.TrimSpace(f.Message)})
	}
	brief := *e
	brief.Details = nil
	for _, g := range alike(errs) {
		f := asHubError(errs[g.first])
		brief.Details = append(brief.Details, hubapi.Detail{ID: firstID(f), Message: strings.TrimSpace(f.Message) + g.others()})
	}
	brief.Message = fmt.Sprintf("%d of %d %s: %s", len(failed), len(errs), what, brief.Details[0].Message)
	return &failedMany{e, &brief}
}

func firstID(e *hubapi.Error) string {
	if len(e.Details) == 0 {
		return ""
	}
	return e.Details[0].ID
}
