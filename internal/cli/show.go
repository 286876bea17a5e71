package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/markdown"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/source"
)

func (a *app) showCommand() *cli.Command {
	return a.leaf("show", "show a release of the hub: what it is, and what speaks for and against it", spec{
		args: "REF", min: 1, max: 1,
		long: "REF is NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION; without a version it is the active one. The pack is fetched and judged\n" +
			"as kx skills install would: content scan, signature, certification, proof by the log, your trust policy. What refuses\n" +
			"it is said, and the command succeeds all the same; nothing is installed. The versions are those that your key may see.\n\n" +
			"--instructions adds what an agent reads: rendered on a terminal, as it was written elsewhere and with --raw.\n" +
			"Your catalog is shown by kx skills show, what waits for review by kx inbox show.",
		examples: []example{
			{"show triage", "the active release"},
			{"show acme/triage@1 --instructions", "exactly this one, with what agents read"},
			{"show triage --json", "everything, for scripts"},
		},
	}, append([]cli.Flag{
		&cli.BoolFlag{Name: "instructions", Usage: "add what an agent reads"},
		&cli.BoolFlag{Name: "raw", Usage: "with --instructions: as they were written, on a terminal too"},
		policyFlag(),
	}, clientFlags()...), a.runShow)
}

// releaseShown is the --json document of kx show. What could not be found out is absent,
// and the reason is among the problems or warnings.
type releaseShown struct {
	Release       hubapi.Release `json:"release"`
	Versions      []versionShown `json:"versions"`
	Scan          *scan.Report   `json:"scan,omitempty"`
	Signature     *sign.Result   `json:"signature,omitempty"`
	Certification *hubapi.Badge  `json:"certification,omitempty"`
	Log           *logPlace      `json:"log,omitempty"`
	Problems      []string       `json:"problems"` // each of them refuses an installation
	Warnings      []string       `json:"warnings"`
	Instructions  string         `json:"instructions,omitempty"` // with --instructions

	read pack.File // where the instructions are from
}

// versionShown is one version of a skill: where it stands, where the hub shows that to
// whoever asks, and the last that the hub's log says of it, where it has a log.
type versionShown struct {
	Version   string        `json:"version"`
	Status    hubapi.Status `json:"status,omitempty"`
	CreatedAt *time.Time    `json:"created_at,omitempty"`
	Last      string        `json:"last,omitempty"`
	Time      *time.Time    `json:"time,omitempty"`
}

type logPlace struct {
	Origin string `json:"origin"`
	Index  int64  `json:"index"`
	Size   int64  `json:"size"`
}

func (a *app) runShow(ctx context.Context, c *cli.Command) error {
	ref, err := hubapi.ParseRef(c.Args().First())
	if err != nil {
		return asUsageRef(err)
	}
	if c.Bool("raw") && !c.Bool("instructions") {
		return usagef("--raw goes with --instructions")
	}
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		release, err := hub.Release(ctx, ref)
		if err != nil {
			return a.nearRelease(ctx, hub, ref, err)
		}
		out := releaseShown{Release: release, Problems: []string{}, Warnings: []string{}}
		out.Versions = versionsOf(ctx, hub, release)
		out.Release.Versions = nil // they are said once
		if err := a.judgeShown(ctx, c, hub, &out); err != nil {
			return err
		}
		if !c.Bool("instructions") {
			out.Instructions = ""
		}
		if c.Bool("json") {
			return a.printJSON(out)
		}
		a.printShown(out)
		if c.Bool("instructions") {
			a.printInstructions(out.read, c.Bool("raw"))
		}
		return nil
	})
}

// judgeShown fetches the pack and has it judged part by part.
func (a *app) judgeShown(ctx context.Context, c *cli.Command, hub *hubclient.Client, out *releaseShown) error {
	r := out.Release
	host := &WizardHost{a: a, c: c, found: map[string]accept.Incoming{}}
	ref := source.Ref{Kind: source.Hub, Hub: hubapi.Ref{Author: r.Author, Name: r.Name, Version: r.Version}}
	got, err := host.fetch(ctx, r.Ref(), ref, hub)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		out.Problems = append(out.Problems, asHubError(err).Message)
		return nil
	}
	quiet, heard := a.listening()
	s, err := quiet.wizardJudge(ctx, c, hub, got)
	if err != nil {
		return err
	}
	if s.Scan.Findings == nil {
		s.Scan.Findings = []scan.Finding{} // a list for scripts, also an empty one
	}
	out.Scan, out.Signature, out.Certification = s.Scan, s.Signature, s.Badge
	if s.Log != nil {
		out.Log = &logPlace{s.Log.Origin, s.Log.Index, s.Log.Size}
	}
	for _, err := range []error{s.LogErr, s.SignatureErr, s.PolicyErr, s.ContentErr} {
		if err != nil {
			out.Problems = append(out.Problems, asHubError(err).Message)
		}
	}
	if s.BadgeErr != nil {
		out.Warnings = append(out.Warnings, "the hub did not say whether it is certified: "+asHubError(s.BadgeErr).Message)
	}
	out.Warnings = append(append(out.Warnings, s.Remarks...), heard.lines(a.program)...)
	for _, f := range s.Rendered {
		if f.Path == pack.SkillMD.ManifestFile() || s.Pack.Kazma != nil && f.Path == s.Pack.Kazma.EntryFile {
			out.read, out.Instructions = f, string(f.Data)
		}
	}
	return nil
}

// versionsOf are the versions that the hub shows to whoever asks, the newest first, and
// behind them those that only its log tells of.
func versionsOf(ctx context.Context, hub *hubclient.Client, r hubapi.Release) []versionShown {
	out := []versionShown{}
	for _, v := range r.Versions {
		out = append(out, versionShown{Version: v.Version, Status: v.Status, CreatedAt: &v.CreatedAt})
	}
	entries, err := hub.LastLogEntries(ctx, hubapi.Ref{Author: r.Author, Name: r.Name}, 0, maxProvable)
	if err != nil {
		return out
	}
	for _, e := range slices.Backward(entries) {
		i := slices.IndexFunc(out, func(v versionShown) bool { return v.Version == e.Version })
		switch {
		case e.Version == "" || i >= 0 && out[i].Time != nil: // of no version, or not the last of it
		case i >= 0:
			out[i].Last, out[i].Time = e.Op, &e.Time
		default:
			out = append(out, versionShown{Version: e.Version, Last: e.Op, Time: &e.Time})
		}
	}
	return out
}

// nearRelease adds to the error about a name that the hub does not have what was
// perhaps meant.
func (a *app) nearRelease(ctx context.Context, hub *hubclient.Client, ref hubapi.Ref, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || e.Code != hubapi.NotFound {
		return err
	}
	if ref.Version != "" {
		if r, err := hub.Release(ctx, hubapi.Ref{Author: ref.Author, Name: ref.Name}); err == nil {
			return e.WithHint("its active version is %s: %s show %s", r.Version, a.program, r.Ref())
		}
	}
	found, searchErr := hub.Search(ctx, ref.Name, hubclient.SearchOptions{Limit: maxSuggests})
	switch {
	case searchErr != nil:
		return err
	case len(found.Items) > 0:
		return e.WithHint("did you mean %s/%s?", found.Items[0].Author, found.Items[0].Name)
	case len(found.DidYouMean) > 0:
		return e.WithHint("did you mean %s?", found.DidYouMean[0])
	}
	return e.WithHint("%s search lists what is active", a.program)
}

// happened is the log's word for what became of a release, as people say it.
func happened(op string) string {
	switch translog.Op(op) {
	case translog.Submit:
		return "submitted"
	case translog.Publish:
		return "published"
	case translog.Withdraw:
		return "withdrawn"
	case translog.Quarantine:
		return "quarantined"
	}
	return op
}

func (a *app) fact(label, text string) { a.printf("  %-13s  %s\n", label, text) }

func (a *app) printShown(out releaseShown) {
	r := out.Release
	status := string(r.Status)
	if r.ReplacedBy != "" {
		status += ", replaced by version " + r.ReplacedBy
	}
	a.printf("%s  %s\n  %s\n", r.Ref(), status, brief(r.Description))
	a.fact("digest", r.Digest)
	a.fact("format", r.Format+", "+count(len(r.Files), "file"))
	if r.PublishedBy != "" {
		a.fact("published by", r.PublishedBy+", "+r.CreatedAt.UTC().Format(time.RFC3339))
	}
	if len(r.Tags) > 0 {
		a.fact("tags", strings.Join(r.Tags, ", "))
	}
	wishes := []string{}
	for _, id := range slices.Sorted(maps.Keys(r.Tools)) {
		wishes = append(wishes, id+"@"+r.Tools[id])
	}
	a.fact("wishes", cmp.Or(strings.Join(wishes, ", "), "none"))
	if out.Scan != nil {
		a.fact("scan", out.Scan.Counts.String())
		a.some(len(out.Scan.Findings), maxRows, func(i int) {
			f := out.Scan.Findings[i]
			a.printf("    %s\n", findingLine(hubapi.Finding{Severity: string(f.Severity), Rule: f.Rule, Message: f.Reason, File: f.File, Line: f.Line, Column: f.Column}))
		})
	}
	a.printSignature(out)
	switch b := out.Certification; {
	case b == nil:
		a.fact("certification", "none")
	case !b.Valid:
		a.fact("certification", "not valid: "+b.Reason)
	default:
		a.fact("certification", b.Label+" by "+b.IssuedBy+" until "+b.ExpiresAt.UTC().Format(time.DateOnly))
	}
	if out.Log != nil {
		a.fact("log", fmt.Sprintf("entry %d of %d in %s, proved", out.Log.Index, out.Log.Size, out.Log.Origin))
	}
	a.some(len(out.Versions), maxRows, func(i int) {
		v := out.Versions[i]
		said := []string{v.Version}
		if v.Status != "" {
			said = append(said, string(v.Status))
		}
		if v.Time != nil {
			said = append(said, happened(v.Last)+" "+v.Time.UTC().Format(time.RFC3339))
		}
		a.fact("version", strings.Join(said, ", "))
	})
	a.some(len(r.Files), maxRows, func(i int) {
		f, runs := r.Files[i], ""
		if f.Executable {
			runs = ", can be run"
		}
		a.fact("file", f.Path+", "+strconv.FormatInt(f.Size, 10)+" B"+runs)
	})
	for _, p := range out.Problems {
		a.fact("refused", p)
	}
	for _, w := range out.Warnings {
		a.note("%s: warning: %s", a.program, termtext.Escape(w))
	}
	if a.StderrTerminal && a.StdoutTerminal && r.Status == hubapi.Active && len(out.Problems) == 0 {
		a.note("install it with: %s skills install %s", a.program, termtext.Escape(r.Author+"/"+r.Name))
	}
}

func (a *app) printSignature(out releaseShown) {
	s := out.Signature
	switch {
	case s == nil && out.Release.Signed:
		a.fact("signature", "there is one; it was not judged")
		return
	case s == nil || len(s.Signers)+len(s.UnknownKeys)+len(s.HMAC) == 0:
		a.fact("signature", "none: nothing says who made it")
		return
	}
	for _, by := range s.Signers {
		trust := "trusted"
		if !by.Trusted {
			trust = "not trusted"
		}
		a.fact("signature", "by "+by.Name+" ("+shorten(by.KeyID, 16)+"), "+trust+", for "+by.Subject)
	}
	for _, id := range s.UnknownKeys {
		a.fact("signature", "by an unknown key that calls itself "+shorten(id, 16))
	}
	for _, h := range s.HMAC {
		a.fact("signature", "with a shared secret: "+string(h.State))
	}
}

// ansi are how the styles of rendered Markdown look on a terminal with colours.
var ansi = [...]string{
	markdown.Heading: "\x1b[1m", markdown.Strong: "\x1b[1m", markdown.Emphasis: "\x1b[3m", markdown.Code: "\x1b[36m",
	markdown.Address: "\x1b[4m", markdown.Aside: "\x1b[2m", markdown.Raw: "\x1b[33m",
}

// printInstructions prints a text for agents: rendered where a person reads it.
func (a *app) printInstructions(f pack.File, raw bool) {
	if f.Path == "" {
		return
	}
	a.printf("\n%s\n\n", f.Path)
	if raw || !a.StdoutTerminal || !strings.HasSuffix(f.Path, ".md") {
		a.printText(string(f.Data))
		return
	}
	width := a.Width
	if width <= 0 {
		width = 80
	}
	term := a.Getenv("TERM")
	plain := a.Getenv("NO_COLOR") != "" || term == "dumb" || term == ""
	var b strings.Builder
	for _, line := range markdown.Render(f.Data, markdown.Options{Width: min(width, maxMeasure)}) {
		for _, s := range line {
			if on := ansi[s.Style]; on != "" && !plain {
				b.WriteString(on + s.Text + "\x1b[0m")
			} else {
				b.WriteString(s.Text)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprint(a.Stdout, b.String())
}

// maxMeasure is how wide a text is set at most: longer lines are hard to read.
const maxMeasure = 100
