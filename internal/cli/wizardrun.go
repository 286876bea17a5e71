package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/source"
)

// installWords are the command line of kx skills install that does what a wizard was
// told.
func (h *WizardHost) installWords(skills []*WizardSkill, where WizardWhere, accept bool) []string {
	var words []string
	for _, s := range skills {
		words = append(words, s.Ref)
	}
	if where.To != "" {
		words = append(words, "--to", h.expand(where.To))
	} else {
		for _, name := range where.Agents {
			words = append(words, "--agent", name)
		}
		if where.Scope != "" {
			words = append(words, "--scope", where.Scope)
		}
		if where.Link {
			words = append(words, "--link")
		}
	}
	for _, name := range []string{"require-signed", "require-log", "without-secret"} {
		if h.c.Bool(name) {
			words = append(words, "--"+name)
		}
	}
	critical := func(s *WizardSkill) bool { return s.Scan.Counts.Critical > 0 }
	switch {
	case h.c.Bool("allow-findings"), accept && slices.ContainsFunc(skills, critical):
		words = append(words, "--allow-findings")
	case accept, h.c.Bool("accept-findings"):
		words = append(words, "--accept-findings")
	}
	if h.Answers.Force {
		words = append(words, "--force")
	}
	if h.Answers.Others || !h.Answers.Yes { // else they see which others there are, and say yes
		words = append(words, allFolders)
	}
	return append(words, "--yes")
}

const allFolders = "--all-folders"

// hubWords say which hub was named, and how.
func (h *WizardHost) hubWords() []string {
	var words []string
	if at := first(h.c.String("endpoint"), h.c.String("hub-url")); at != "" {
		words = append(words, "--endpoint", at)
	}
	for _, name := range []string{"registry-path", "token-file", "tls-ca"} {
		if v := h.c.String(name); v != "" {
			words = append(words, "--"+name, v)
		}
	}
	return words
}

// installCommand reads that command line as the command itself would, so that what a
// wizard plans and does is decided in the same place.
func (h *WizardHost) installCommand(skills []*WizardSkill, where WizardWhere, accept bool) (*cli.Command, error) {
	words := append(h.installWords(skills, where, accept), h.hubWords()...)
	if scope := h.kazmaScope(where); scope != "" {
		words = append(words, "--scope", scope)
	}
	if token := h.c.String("token"); token != "" {
		words = append(words, "--token", token)
	}
	a, _ := h.listening()
	c := a.skillsInstall()
	c.Flags = append(c.Flags, registryPathFlag())
	var read *cli.Command
	c.Action = func(_ context.Context, c *cli.Command) error {
		read = c
		return a.checkInstallFlags(c)
	}
	a.finish(c)
	if err := c.Run(context.Background(), append([]string{"install"}, words...)); err != nil {
		return nil, err
	}
	return read, nil
}

// kazmaScope is whose lock records what goes into Kazma's own folder, so that kazma hub
// update finds it; empty for other folders.
func (h *WizardHost) kazmaScope(where WizardWhere) string {
	into, err := h.a.intoKazma(h.expand(where.To))
	if err != nil || !into || h.a.program != "kazma" {
		return ""
	}
	place, err := h.a.kazmaPlaceOr("")
	if err != nil {
		return ""
	}
	s, err := h.a.kazmaStanding(place)
	if err != nil {
		return ""
	}
	return string(s.scope)
}

// command is what the person can type next time.
func (h *WizardHost) command(plan *WizardPlan) string {
	words := append([]string{"kx", "skills", "install"}, h.installWords(plan.Skills, plan.Where, plan.Accept)...)
	if !slices.ContainsFunc(plan.Writes, func(w WizardWrite) bool { return w.Other }) {
		words = slices.DeleteFunc(words, func(word string) bool { return word == allFolders })
	}
	if h.a.program == "kazma" {
		words = append([]string{"kazma", "wizard"}, words[3:]...)
		if h.c.String("git") == "system" {
			words = append(words, "--git", "system")
		}
		if h.c.Bool("allow-private") {
			words = append(words, "--allow-private")
		}
	}
	words = append(words, h.hubWords()...)
	for i, w := range words {
		words[i] = shellQuote(w)
	}
	return strings.Join(words, " ")
}

// installing is an installation that was planned, with the lock that it is about.
type installing struct {
	in     *installer
	spots  []deliver.Spot
	offers []deliver.Offer
	wanted []deliver.Wanted
	plans  []deliver.Planned // empty for a folder beside the lock
}

// withPlan makes the plan and hands it over while the lock is open.
func (h *WizardHost) withPlan(ctx context.Context, a *app, skills []*WizardSkill, where WizardWhere, accept bool, use func(*installing) error) error {
	c, err := h.installCommand(skills, where, accept)
	if err != nil {
		return err
	}
	refs := make([]source.Ref, len(skills))
	for i, s := range skills {
		refs[i] = s.offered.Fetched.Ref
	}
	return a.withInstaller(ctx, c, func(*deliver.Workspace) ([]source.Ref, error) { return refs, nil }, func(in *installer) error {
		x := &installing{in: in}
		for _, s := range skills {
			offer, err := in.wizardOffer(ctx, s)
			if err != nil {
				return err
			}
			x.offers = append(x.offers, offer)
		}
		in.notes = notes{} // the wizard showed them with each skill
		var err error
		if x.spots, err = in.spots(); err != nil {
			return err
		}
		in.unread(x.offers, x.spots)
		if in.recorded(x.spots) {
			for _, o := range x.offers {
				x.wanted = append(x.wanted, deliver.Wanted{Name: in.nameFor(o), Offer: o, Spots: x.spots, Only: in.onlyNamed(), Force: c.Bool("force")})
			}
			x.plans = in.ws.Plan(ctx, x.wanted)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return use(x)
	})
}

// wizardOffer is the offer of exactly what was shown: nothing is fetched again.
func (in *installer) wizardOffer(ctx context.Context, s *WizardSkill) (deliver.Offer, error) {
	fetched := *s.offered.Fetched
	ref, err := in.local(fetched.Ref)
	if err != nil {
		return deliver.Offer{}, err
	}
	fetched.Ref = ref
	return in.offer(ctx, pack.SkillName(s.Pack), accept.Incoming{Fetched: &fetched, Found: s.offered.Found})
}

// Plan says exactly what an installation would write. Nothing is written.
func (h *WizardHost) Plan(ctx context.Context, skills []*WizardSkill, where WizardWhere, accept bool) (*WizardPlan, error) {
	a, _ := h.listening()
	plan := &WizardPlan{Where: where, Skills: skills, Accept: accept}
	err := h.withPlan(ctx, a, skills, where, accept, func(x *installing) (err error) {
		plan.Writes, err = x.writes(ctx, skills)
		if x.plans != nil {
			plan.Lock = x.in.lock
		}
		plan.Notes = x.in.notes.warnings
		x.in.notes = notes{}
		return err
	})
	return plan, err
}

// writes are the folders of a plan, for a person.
func (x *installing) writes(ctx context.Context, skills []*WizardSkill) ([]WizardWrite, error) {
	var out []WizardWrite
	if x.plans == nil {
		for i, s := range skills {
			out = append(out, aside(x.spots[0].Dir, x.in.nameFor(x.offers[i]), s, x.in.c.Bool("force")))
		}
		return out, nil
	}
	reviews, err := x.in.review(ctx, x.plans, x.wanted)
	if err != nil {
		return nil, err
	}
	for i := range x.plans {
		p := &x.plans[i]
		steps := p.Steps
		if len(steps) == 0 {
			steps = []deliver.Step{{Dir: filepath.Join(x.spots[0].Dir, p.Name)}}
		}
		for j := range steps {
			w := writeOf(skills[i], p, &steps[j])
			for _, r := range reviews {
				if r.Name == p.Name {
					w.Widens = widens(r)
				}
			}
			out = append(out, w)
		}
	}
	return out, nil
}

func writeOf(s *WizardSkill, p *deliver.Planned, step *deliver.Step) WizardWrite {
	w := WizardWrite{Skill: s, Dir: step.Dir, Agents: step.Agents, Other: step.Other, Files: len(s.Rendered)}
	for _, f := range s.Rendered {
		w.Bytes += int64(len(f.Data))
	}
	switch step.Action {
	case deliver.ActCreate:
		w.Action = WizardInstall
	case deliver.ActUpdate:
		w.Action = WizardUpdate
	case deliver.ActMerge:
		w.Action = WizardMerge
	case deliver.ActKeep:
		w.Action = WizardKeep
	case deliver.ActLink:
		w.Action = WizardLink
	default:
		w.Action = WizardUnchanged
	}
	w.LinkTo = step.LinkTo()
	if p.Before != nil && w.Action != WizardInstall && w.Action != WizardUnchanged {
		w.From = first(p.Before.Version, p.Before.Revision)
	}
	if w.Action == WizardUpdate {
		for _, d := range step.Edits {
			w.Lost = append(w.Lost, d.String())
		}
	}
	if p.Err != nil {
		e := asHubError(p.Err)
		w.Fault, w.Hint = e.Message, e.Hint
	}
	return w
}

// widens says what an update asks for, or can do, that the installed one does not, and
// what it asks for no longer.
func widens(r deliver.Review) (out []string) {
	for _, wish := range r.WishesAdded {
		out = append(out, "asks for "+wish+" now")
	}
	for _, wish := range r.WishesDropped {
		out = append(out, "asks no longer for "+wish)
	}
	for _, file := range r.Executable {
		out = append(out, file+" can be run now")
	}
	if n := len(r.Findings); n > 0 {
		out = append(out, fmt.Sprintf("%d findings that it did not have", n))
	}
	if r.Signer != "" {
		out = append(out, r.Signer)
	}
	return out
}

// aside plans one skill in a folder that no lock knows.
func aside(dir, slug string, s *WizardSkill, force bool) WizardWrite {
	w := writeOf(s, &deliver.Planned{}, &deliver.Step{Dir: filepath.Join(dir, slug), Action: deliver.ActCreate})
	root, err := fsx.Open(dir)
	if err != nil {
		return w // it is made, or that says why it cannot be
	}
	defer root.Close()
	state, err := deliver.Check(root, slug)
	switch {
	case err != nil:
		e := asHubError(err)
		w.Fault, w.Hint = e.Message, e.Hint
	case state.Status == deliver.Foreign:
		w.Fault = "something that kx did not write is there: " + state.Why
	case state.Status == deliver.Owned:
		w.Action, w.From = WizardUpdate, state.Marker.Version
		if state.Marker.Digest == s.Digest {
			w.Action, w.From = WizardUnchanged, ""
		}
		if there, ok := compareInstalled(dir, slug, s); ok {
			w.Widens = there.Changes
		}
		for _, d := range state.Edits() {
			w.Lost = append(w.Lost, d.String())
		}
		if len(w.Lost) > 0 && !force {
			w.Fault, w.Hint = "somebody edited it since it was installed", "keep the changes elsewhere first, or lose them with --force"
		}
	}
	return w
}

// Install carries a plan out. It ends between two skills when the context does; each
// is whole or not there, and what the lock says is so. What the disk was when the
// plan was shown it must still be, else nothing is written.
func (h *WizardHost) Install(ctx context.Context, plan *WizardPlan, tell func(WizardEvent)) (*WizardResult, error) {
	out := &WizardResult{Items: []WizardDone{}, Command: h.command(plan)}
	if h.Answers.Yes {
		for _, s := range plan.Skills {
			out.Notes = append(out.Notes, s.unseen...)
		}
	}
	out.Notes = append(out.Notes, plan.Notes...)
	a, _ := h.listening()
	total := len(plan.Writes)
	tell(WizardEvent{Total: total})
	err := h.withPlan(ctx, a, plan.Skills, plan.Where, plan.Accept, func(x *installing) error {
		now, err := x.writes(ctx, plan.Skills)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(now, plan.Writes, sameWrite) {
			return hubapi.Errorf(hubapi.Conflict, "the folders are not any more as they were shown; nothing was installed").
				WithHint("look again at what will be written")
		}
		for i, s := range plan.Skills {
			if err := ctx.Err(); err != nil {
				return err
			}
			done, err := x.one(i)
			if err != nil {
				return err
			}
			for _, d := range done {
				for _, w := range plan.Writes {
					if w.Skill == s && filepath.Base(w.Dir) == filepath.Base(d.Path) && d.Outcome == string(deliver.Updated) {
						d.Changes = w.Widens
					}
				}
				out.Items = append(out.Items, d)
				tell(WizardEvent{Done: len(out.Items), Total: total, Ref: s.Pack.Name, Dir: d.Path, Fault: d.Problem})
			}
			if x.plans != nil {
				out.Lock = x.in.lock
			}
		}
		return nil
	})
	return out, err
}

// one installs the skill i.
func (x *installing) one(i int) ([]WizardDone, error) {
	var done []installed
	var errs []error
	if x.plans != nil {
		plans, err := x.in.ws.Apply(x.plans[i : i+1])
		if err != nil {
			return nil, err
		}
		done, errs = installedOf(plans)
	} else {
		var err error
		if done, errs, err = x.in.installAside(x.offers[i:i+1], x.spots[0].Dir); err != nil {
			return nil, err
		}
	}
	var out []WizardDone
	for _, d := range done {
		item := WizardDone{
			Name: d.Name, Author: d.Author, Version: d.Version, Digest: d.Digest, Path: d.Path, Agents: append([]string{}, d.Agents...), Signed: len(x.offers[i].Signers) > 0, Outcome: d.Outcome,
			Mode: d.Mode, NoLink: d.NoLink,
		}
		if x.plans == nil {
			item.Path = filepath.Join(x.spots[0].Dir, filepath.Base(d.Path))
		}
		if d.Error != nil {
			item.Problem, item.Outcome = d.Error.Message, ""
		}
		out = append(out, item)
	}
	if len(out) == 0 {
		if err := failures("were not installed", errs); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func sameWrite(a, b WizardWrite) bool {
	return a.Skill == b.Skill && a.Dir == b.Dir && a.Other == b.Other && a.Action == b.Action && a.LinkTo == b.LinkTo && a.Fault == b.Fault && slices.Equal(a.Lost, b.Lost)
}

// Verify reads back what was installed, compares every file with what was meant to
// be there, and the signature that was kept with it.
func (h *WizardHost) Verify(ctx context.Context, done *WizardResult) error {
	a, _ := h.listening()
	trusted, err := a.trustedKeys()
	if err != nil {
		return err
	}
	for i := range done.Items {
		item := &done.Items[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if item.Problem != "" {
			continue
		}
		dir := item.Path
		if item.Mode == string(deliver.AsLink) {
			// What an agent reads through the link is what must be right.
			if dir, err = filepath.EvalSymlinks(a.path(dir)); err != nil {
				item.Problem = "the link leads nowhere"
				continue
			}
		}
		v, err := a.judgeInstalled(h.c, dir, sign.VerifyInput{Now: a.Now(), Trusted: trusted, ExpectedDigest: item.Digest, KazmaPolicy: sign.Off})
		switch {
		case err != nil:
			item.Problem = "it cannot be read back: " + asHubError(err).Message
		case v.exitCode() != 0 && slices.ContainsFunc(v.Problems, func(f sign.Finding) bool { return f.ID != sign.IDUnknownKey }):
			item.Problem = v.Problems[0].Text
		default:
			item.Verified = true
		}
	}
	return nil
}
