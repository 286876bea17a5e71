package wizard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/cli"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
	"github.com/kortecx/kx/sign"
)

// column is how wide the labels of facts are.
const column = 16

// review says what a skill is, what it wishes for, what changes, and what an agent
// will read.
func (p *page) review(s *cli.WizardSkill, show func(string) string) {
	p.text(plain, orElse(s.Pack.Description, "(no description)"))
	p.blank()
	p.manifest(s)
	p.wishes(s)
	p.installed(s, show)
	for _, f := range s.Rendered {
		if f.Path != pack.SkillMD.ManifestFile() && !(s.Pack.Kazma != nil && f.Path == s.Pack.Kazma.EntryFile) {
			continue
		}
		what := "What the agent reads: "
		if s.Pack.Kazma != nil {
			what = "What runs: "
		}
		p.heading(what + clean(f.Path))
		if strings.HasSuffix(f.Path, ".md") {
			p.markdown("  ", string(f.Data))
		} else {
			p.verbatim("  ", string(f.Data), nil)
		}
	}
}

func (p *page) manifest(s *cli.WizardSkill) {
	fact := func(label, value string) { p.labelled(label, column, plain, value) }
	fact("From", s.From)
	fact("Author", s.Author)
	fact("Version", s.Version)
	var size int64
	for _, f := range s.Pack.Files {
		size += int64(len(f.Data))
	}
	fact("Format", fmt.Sprintf("%s, %s, %s", s.Pack.Format, plural(len(s.Pack.Files), "file"), bytesOf(size)))
	fact("Tags", strings.Join(s.Pack.Tags, ", "))
	if m := s.Pack.SkillMD; m != nil {
		fact("License", m.License)
		fact("Needs", m.Compatibility)
	}
	if m := s.Pack.Kazma; m != nil {
		fact("License", m.License)
		fact("Entry point", m.EntryPoint)
	}
	fact("Digest", string(s.Digest))
}

// wishes says what the skill wants to be able to do. That there is nothing is said
// too.
func (p *page) wishes(s *cli.WizardSkill) {
	p.heading("What it wishes for")
	before := len(p.rows)
	wish := func(label, value string) { p.labelled("  "+label, column, warn, value) }
	var tools []string
	for _, id := range slices.Sorted(maps.Keys(s.Pack.Tools)) {
		tools = append(tools, id+"@"+s.Pack.Tools[id])
	}
	wish("Tools", strings.Join(tools, ", "))
	if m := s.Pack.SkillMD; m != nil {
		wish("Allowed tools", strings.Join(m.AllowedTools, ", "))
	}
	if m := s.Pack.Kazma; m != nil {
		wish("Capabilities", strings.Join(m.Capabilities, ", "))
		wish("Permissions", strings.Join(m.Permissions, ", "))
		wish("Optional", strings.Join(m.OptionalPermissions, ", "))
		var servers []string
		for _, server := range m.MCPServers {
			servers = append(servers, server.Name+" ("+server.Type+")")
		}
		wish("MCP servers", strings.Join(servers, ", "))
	}
	var programs []string
	for _, f := range s.Pack.Files {
		if f.Executable {
			programs = append(programs, f.Path)
		}
	}
	wish("Programs", strings.Join(programs, ", "))
	if len(p.rows) == before {
		p.indented("  ", faint, "nothing: no tools, no permissions, no MCP servers")
		return
	}
	p.indented("  ", faint, "a wish grants nothing by itself")
}

func (p *page) installed(s *cli.WizardSkill, show func(string) string) {
	for _, there := range s.Installed {
		switch {
		case there.Same:
			p.heading("Installed already")
			p.indented("  ", plain, show(there.Dir)+" has this version")
		default:
			p.heading("Changes to what is installed")
			p.indented("  ", plain, show(there.Dir)+" has version "+orElse(there.Version, "?"))
		}
		if there.Edited {
			p.indented("  ", warn, "! somebody changed it there since it was installed")
		}
		for _, change := range there.Changes {
			p.indented("  ! ", warn, change)
		}
		p.verbatim("  ", there.Diff, diffLook)
	}
}

func diffLook(line string) look {
	switch {
	case strings.HasPrefix(line, "+"):
		return good
	case strings.HasPrefix(line, "-"):
		return bad
	case strings.HasPrefix(line, "@@"):
		return faint
	}
	return plain
}

// verdict is one line of evidence: a sign, a word and a look that say the same.
type verdict struct {
	sign string
	look look
}

var (
	holds  = verdict{"✓", good}
	doubts = verdict{"!", warn}
	fails  = verdict{"✗", bad}
	lacks  = verdict{"-", faint}
)

func (p *page) evidence(v verdict, label, says string) {
	p.labelled(" "+v.sign+" "+label, column+3, v.look, says)
}

// security says what speaks for a skill and against it, each with its evidence.
func (p *page) security(s *cli.WizardSkill) {
	p.contentScan(s)
	p.signature(s)
	if s.PolicyErr != nil {
		p.evidence(fails, "Trust policy", reason(s.PolicyErr))
	}
	p.certification(s)
	p.log(s)
	if s.Refused != nil {
		p.evidence(verdict{" ", plain}, "What to do", hubapi.AsError(s.Refused).Hint)
	}
	for _, r := range s.Remarks {
		p.evidence(doubts, "Note", r)
	}
	p.findings(s)
}

func (p *page) contentScan(s *cli.WizardSkill) {
	says := fmt.Sprintf("%s in %s of %s", s.Scan.Counts, plural(s.Scan.Files, "file"), bytesOf(s.Scan.Bytes))
	switch {
	case s.Grave > 0:
		p.evidence(fails, "Content scan", says)
	case len(s.Scan.Findings) > 0:
		p.evidence(doubts, "Content scan", says)
	default:
		p.evidence(holds, "Content scan", says)
	}
}

func (p *page) signature(s *cli.WizardSkill) {
	if s.SignatureErr != nil {
		p.evidence(fails, "Signature", reason(s.SignatureErr))
		if s.Signature == nil || s.Signature.Signature == sign.Unsigned {
			return
		}
	}
	r := s.Signature
	switch {
	case r == nil:
		p.evidence(lacks, "Signature", "not looked at")
		return
	case r.Signature == sign.Unsigned && !byHMAC(r):
		p.evidence(doubts, "Signature", "none: nothing says who made it")
		return
	}
	for _, by := range r.Signers {
		v, trust := holds, "a key that you trust"
		if !by.Trusted {
			v, trust = doubts, "a key that you do not trust"
		}
		p.evidence(v, "Signature", fmt.Sprintf("by %s, %s, for %s on %s", by.Name, trust, by.Subject, by.SignedAt))
		p.evidence(verdict{" ", faint}, "its key", fmt.Sprintf("%s (%s)", short(by.KeyID, 16), by.Words))
	}
	for _, id := range r.UnknownKeys {
		p.evidence(doubts, "Signature", "by an unknown key that calls itself "+short(id, 16))
	}
	if byHMAC(r) {
		p.evidence(holds, "Shared secret", "the HMAC is right")
	}
}

func byHMAC(r *sign.Result) bool {
	return slices.ContainsFunc(r.HMAC, func(h sign.HMACResult) bool { return h.State == sign.HMACVerified })
}

func (p *page) certification(s *cli.WizardSkill) {
	b := s.Badge
	switch {
	case s.BadgeErr != nil:
		p.evidence(doubts, "Certification", "the hub did not say: "+s.BadgeErr.Error())
	case b == nil:
		p.evidence(lacks, "Certification", "not certified")
	case !b.Valid:
		p.evidence(fails, "Certification", fmt.Sprintf("%s; it was %s", b.Reason, b.Label))
	default:
		p.evidence(holds, "Certification", fmt.Sprintf("%s by %s until %s, says the hub", b.Label, b.IssuedBy, b.ExpiresAt.UTC().Format("2006-01-02")))
	}
}

func (p *page) log(s *cli.WizardSkill) {
	switch {
	case s.LogErr != nil:
		p.evidence(fails, "Log", s.LogErr.Error())
	case s.Log == nil && s.Release == nil:
		p.evidence(lacks, "Log", "not from a hub, so no log has it")
	case s.Log == nil:
		p.evidence(doubts, "Log", "no proof")
	default:
		p.evidence(holds, "Log", fmt.Sprintf("entry %d of %d in %s, proved", s.Log.Index, s.Log.Size, s.Log.Origin))
	}
}

// findings lists what the scan saw, the worst first.
func (p *page) findings(s *cli.WizardSkill) {
	list := slices.Clone(s.Scan.Findings)
	sorting.Stable(list, func(a, b scan.Finding) int { return b.Severity.Rank() - a.Severity.Rank() })
	const most = 200
	for i, f := range list {
		if i == most {
			p.text(faint, fmt.Sprintf("and %d more; kx scan shows them all", len(list)-most))
			return
		}
		v := verdict{"!", warn}
		if grave(f) {
			v = fails
		}
		p.blank()
		p.indented(" "+v.sign+" ", v.look, fmt.Sprintf("%s: %s", f.Severity, f.Reason))
		p.indented("   ", faint, placeOf(f)+"  "+f.Rule)
		if f.Excerpt != "" {
			p.indented("   > ", plain, f.Excerpt)
		}
		p.indented("   ", faint, f.Fix)
	}
}

// titleOf names a skill as exactly as it is known.
func titleOf(s *cli.WizardSkill) string {
	if s.Release != nil {
		return clean(s.Release.Ref())
	}
	return clean(s.Name())
}

func grave(f scan.Finding) bool { return f.Severity.Rank() >= scan.High.Rank() }

func placeOf(f scan.Finding) string {
	return pack.Place{File: orElse(f.File, "(the folder)"), Line: f.Line, Column: f.Column}.String()
}

// summary is what security comes to, in one line.
func summary(s *cli.WizardSkill) (verdict, string) {
	switch {
	case s.Refused != nil:
		return fails, "cannot be installed: " + reason(s.Refused)
	case s.Grave > 0:
		return fails, plural(s.Grave, "grave finding")
	case len(s.Scan.Findings) > 0:
		return doubts, plural(len(s.Scan.Findings), "finding") + ", none grave"
	case s.Signature == nil || s.Signature.Signature != sign.Trusted && !byHMAC(s.Signature):
		return doubts, "no finding; nobody whom you trust signed it"
	}
	return holds, "no finding, and a signature that you trust"
}

// reason is why a skill was refused, without its name, which stands above.
func reason(err error) string {
	text := err.Error()
	for _, refused := range []string{" was not installed: ", " was not taken: "} {
		if _, why, ok := strings.Cut(text, refused); ok {
			text = why
		}
	}
	return text
}

// write is one line of a plan, and below it what would be lost.
func (p *page) write(w cli.WizardWrite, show func(string) string) {
	v, what := holds, ""
	switch w.Action {
	case cli.WizardInstall:
		v, what = verdict{"+", good}, "new"
	case cli.WizardUpdate, cli.WizardMerge:
		v, what = verdict{"~", warn}, "update"
		if w.From != "" {
			what = "update from " + w.From
		}
		if w.Action == cli.WizardMerge {
			what += ", with the edits that somebody made there"
		}
	case cli.WizardKeep:
		v, what = verdict{"=", faint}, "edited there, and left so"
	case cli.WizardLink:
		v, what = verdict{"+", good}, "new, a link to "+show(w.LinkTo)
	case cli.WizardUnchanged:
		v, what = verdict{"=", faint}, "unchanged"
		if w.LinkTo != "" {
			what += ", a link to " + show(w.LinkTo)
		}
	}
	if w.Fault != "" {
		v, what = fails, w.Fault
	}
	p.indented(" "+v.sign+" ", v.look, show(w.Dir))
	if w.Fault == "" && w.LinkTo == "" {
		what += fmt.Sprintf(", %s, %s", plural(w.Files, "file"), bytesOf(w.Bytes))
	}
	if len(w.Agents) > 0 && w.Fault == "" {
		what += ", for " + strings.Join(w.Agents, ", ")
	}
	p.indented("   ", faint, what)
	if w.Hint != "" {
		p.indented("   ", plain, w.Hint)
	}
	if w.Other && w.Fault == "" && w.Action != cli.WizardUnchanged {
		p.indented("   ! ", warn, "not a folder that you named: the lock has the skill there too, and keeps one version of it everywhere")
	}
	for _, more := range w.Widens {
		p.indented("   ! ", warn, more)
	}
	for i, lost := range w.Lost {
		const most = 10
		if i == most {
			p.indented("   ! ", warn, fmt.Sprintf("and %d more", len(w.Lost)-most))
			break
		}
		p.indented("   ! ", warn, "lost: "+lost)
	}
}

// planNotes says which grave findings were accepted, what else is written, and what is
// to be known about the folders.
func (p *page) planNotes(plan *cli.WizardPlan, show func(string) string) {
	for _, s := range plan.Skills {
		if s.Grave > 0 {
			p.indented(" ! ", warn, fmt.Sprintf("you accepted %s of %s", plural(s.Grave, "grave finding"), titleOf(s)))
		}
	}
	if plan.Lock != "" {
		p.indented(" + ", plain, show(plan.Lock))
		p.indented("   ", faint, "the record of what is installed, for updates and other machines")
	}
	for _, n := range plan.Notes {
		p.indented(" ! ", warn, n)
	}
}

// finished is one line of a result.
func (p *page) finished(d cli.WizardDone, show func(string) string) {
	switch {
	case d.Problem != "":
		p.indented(" ✗ ", bad, fmt.Sprintf("%s in %s: %s", d.Name, show(d.Path), d.Problem))
	case !d.Verified:
		p.indented(" ! ", warn, fmt.Sprintf("%s in %s: not read back", d.Name, show(d.Path)))
	default:
		what := d.Outcome
		if d.Mode == "link" {
			what += ", a link"
		}
		if d.Signed {
			what += ", signature verified"
		}
		p.indented(" ✓ ", good, d.Name+" in "+show(d.Path))
		p.indented("   ", faint, what)
	}
}

// bytesOf is a size for people.
func bytesOf(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func short(s string, n int) string { return s[:min(n, len(s))] }

// trouble is an error for people: what happened, and what to do.
func (p *page) trouble(err error) {
	e := hubapi.AsError(err)
	p.indented(" ✗ ", bad, e.Message)
	for i, d := range e.Details {
		if i == 5 || strings.HasSuffix(e.Message, d.Message) {
			break
		}
		p.indented("   ", plain, d.Message)
	}
	if e.Hint != "" {
		p.indented("   ", faint, e.Hint)
	}
}
