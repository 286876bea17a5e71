package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

func (a *app) pushCommand() *cli.Command {
	return a.leaf("push", "publish a pack to the hub, for review", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "Sends the pack, and its signature when NAME@VERSION.sig.json lies beside it. The release waits in the inbox until a\n" +
			"reviewer approves it; --approve does both for those who may. A release never changes: the same files again are the\n" +
			"same release, other files need another version.",
		choices: map[string][]string{"pack-format": packFormats()},
		examples: []example{
			{"push triage", "publish it as your own author"},
			{"push triage --author acme --approve", "publish as acme/triage and approve it"},
		},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "author", Usage: "publish as a skill of `AUTHOR` (default: who it is signed for, the manifest's or the configured author, else the hub decides)"},
		&cli.StringFlag{Name: "version", Usage: "publish as `VERSION`; for skill-md packs, whose manifest may name none"},
		&cli.BoolFlag{Name: "approve", Usage: "approve it too, as a reviewer"},
		&cli.StringFlag{Name: "signature", Usage: "send the signature in `FILE` instead of the one beside the pack"},
		packFormatFlag(formatFlag),
	}, clientFlags()...), a.runPush)
}

func (a *app) runPush(ctx context.Context, c *cli.Command) error {
	settings, err := a.settings(c)
	if err != nil {
		return err
	}
	dir := a.path(c.Args().First())
	p, err := a.signable(dir, c.String("pack-format"))
	if err != nil {
		return err
	}
	if report := conformance.Check(dir, conformance.Options{Format: p.Format}); !report.Passed {
		return notConforming(report)
	}
	input := hubclient.PushInput{Name: p.Name, Files: p.Files, Version: c.String("version"), Approve: c.Bool("approve")}
	if input.Signature, err = a.signatureToPush(c, dir, p); err != nil {
		return err
	}
	input.Author = first(c.String("author"), p.Author, signedAuthor(input.Signature), settings.author)
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		pushed, err := hub.Push(ctx, input)
		if err != nil {
			return a.signedForAnother(ctx, c, hub, input, err)
		}
		if c.Bool("json") {
			return a.printJSON(pushed)
		}
		what := "pushed"
		if pushed.Unchanged {
			what = "unchanged"
		}
		a.printf("%s %s  %s\n  digest  %s\n", what, pushed.Ref(), string(pushed.Status), pushed.Digest)
		for _, similar := range pushed.Similar {
			a.note("the name is nearly that of %s; people may take one for the other", termtext.Escape(similar))
		}
		a.printStanding(pushed)
		return nil
	})
}

// printStanding says what the scan found in what was pushed, where it stands in review,
// and what comes next.
func (a *app) printStanding(p hubapi.PushResult) {
	findings := slices.DeleteFunc(slices.Clone(p.Findings), func(f hubapi.Finding) bool { return f.Severity == "info" })
	if len(findings) > 0 {
		a.printf("  scan    %s\n", scanWord(p.ScanState, findings))
		a.some(len(findings), maxRows, func(i int) { a.printf("    %s\n", findingLine(findings[i])) })
	}
	may := func(action string) bool { return slices.Contains(p.Actions, action) }
	switch p.Status {
	case hubapi.Quarantined:
		a.printf("  it is quarantined: nobody can use it until a reviewer decides\n")
	case hubapi.Rejected:
		a.printf("  it was rejected: nobody can use it; change it and push it as another version\n")
	case hubapi.Deprecated, hubapi.Stale:
		a.printf("  it was taken back or replaced: nobody gets it any more\n")
	}
	if p.Reason != "" && p.Status != hubapi.Active {
		a.printf("  reason  %s\n", brief(p.Reason))
	}
	switch {
	case p.Status == hubapi.Active:
	case p.Status == hubapi.Staged && may("approve"):
		a.printf("  next: %s inbox approve %s\n", a.program, p.Ref())
	case p.Status == hubapi.Staged || p.Status == hubapi.Candidate:
		a.printf("  next: a reviewer has to approve it; see %s inbox show %s\n", a.program, p.Ref())
	case p.Status != hubapi.Quarantined && may("repropose"):
		a.printf("  next: %s inbox repropose %s\n", a.program, p.Ref())
	default:
		a.printf("  next: %s inbox show %s\n", a.program, p.Ref())
	}
}

// scanWord is the state of a scan for people: what has findings is not clean to them,
// whatever may go on with it.
func scanWord(state string, findings []hubapi.Finding) string {
	if state == hubapi.ScanClean && len(findings) > 0 {
		return "nothing critical"
	}
	return state
}

// findingLine is a finding of the hub's scan on one line.
func findingLine(f hubapi.Finding) string {
	return f.Severity + "  " + detailLine(hubapi.Detail{ID: f.Rule, Message: f.Message, File: f.File, Line: f.Line, Column: f.Column})
}

// signedForAnother adds to the refusal of a name that is another author's that the pack
// was signed for the wrong one.
func (a *app) signedForAnother(ctx context.Context, c *cli.Command, hub *hubclient.Client, in hubclient.PushInput, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	signed := signedAuthor(in.Signature)
	if !ok || e.Code != hubapi.Conflict || signed == "" || signed != in.Author {
		return err
	}
	there, hubErr := hub.Release(ctx, hubapi.Ref{Name: in.Name})
	if hubErr != nil || there.Author == signed {
		return err
	}
	out := *e
	return out.WithHint("you signed it for %s; if you are %s: %s sign %s --author %s, and push again", signed, there.Author, a.program, c.Args().First(), there.Author)
}

// notConforming is a failed report as an error.
func notConforming(r *conformance.Report) *hubapi.Error {
	e := hubapi.Errorf(hubapi.Invalid, "%s does not pass its checks; nothing was sent", r.Connector).WithHint("kx check %s", r.Path)
	for _, f := range r.Findings {
		if f.Severity == conformance.Error {
			e.Details = append(e.Details, detailOfFinding(f))
		}
	}
	return e
}

func detailOfFinding(f conformance.Finding) hubapi.Detail {
	return hubapi.Detail{ID: f.ID, Message: f.Message, File: f.File, Line: f.Line, Column: f.Column, Pointer: f.Pointer}
}

// signatureToPush is the signature file of a pack, nil when there is none.
func (a *app) signatureToPush(c *cli.Command, dir string, p *pack.Pack) ([]byte, error) {
	given := c.String("signature")
	file, err := a.signatureFile(given, dir, p.Name, first(c.String("version"), p.Version))
	if err != nil {
		return nil, err
	}
	data, err := readCapped(file, sign.MaxSignatureFile+1)
	if errors.Is(err, fs.ErrNotExist) && given == "" {
		return nil, nil
	}
	if err != nil {
		return nil, usagef("cannot read the signature: %v", err)
	}
	return data, nil
}

// signedAuthor is the author that a pack was signed for, as its signature says. It
// is a default and proves nothing: the hub holds it against what the key may do.
func signedAuthor(signature []byte) string {
	file, err := sign.ReadSignatureFile(signature)
	if err != nil {
		return ""
	}
	return authorOf(file)
}

// authorOf is the author of the first statement in a signature file.
func authorOf(file *sign.SignatureFile) string {
	for _, envelope := range file.DSSE {
		if statement, err := sign.ParseStatement(envelope.Payload); err == nil {
			return statement.Author
		}
	}
	return ""
}

func (a *app) pullCommand() *cli.Command {
	return a.leaf("pull", "fetch a release from the hub into a folder, as it was published", spec{
		args: "REF", min: 1, max: 1,
		long: "REF is NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION; without a version it is the active one. The files are hashed here\n" +
			"and must have the release's digest, and the hub's log must have the release. Your trust policy is asked, unless\n" +
			"--unreviewed fetches it to be looked at. The signature and the log's proof are put beside the folder: with them\n" +
			"kx verify needs no hub.",
		examples: []example{
			{"pull triage", "into the folder triage"},
			{"pull acme/triage@1 --dir skills", "into skills/triage"},
		},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "dir", Usage: "put the pack's folder below `PARENT` (default: here)"},
		&cli.BoolFlag{Name: "unreviewed", Usage: "as a reviewer, also fetch a release that is not active"},
		requireLogFlag(),
		policyFlag(),
	}, clientFlags()...), a.runPull)
}

// pulled is the --json document of kx pull.
type pulled struct {
	hubapi.Release
	Path      string `json:"path"`
	Signature string `json:"signature,omitempty"` // the file, when the release is signed
	LogProof  string `json:"log_proof,omitempty"` // the file, when the hub's log has the release as published
}

func (a *app) runPull(ctx context.Context, c *cli.Command) error {
	ref, err := hubapi.ParseRef(c.Args().First())
	if err != nil {
		return asUsageRef(err)
	}
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		got, err := hub.Archive(ctx, ref)
		if err != nil {
			return err
		}
		if !c.Bool("unreviewed") {
			if err := accept.OnlyReviewed(got.Release); err != nil {
				return err
			}
			if said := accept.Replaced(got.Release); said != "" {
				a.note("%s: warning: %s", a.program, termtext.Escape(said))
			}
		}
		evidence, err := a.proofInLog(ctx, c.Bool("require-log"), hub, got.Release)
		if err != nil {
			return err
		}
		signature, err := a.signatureToKeep(ctx, hub, got)
		if err != nil {
			return err
		}
		if !c.Bool("unreviewed") {
			if err := a.pullByPolicy(ctx, c, hub, got, signature, evidence); err != nil {
				return err
			}
		}
		result := pulled{Release: got.Release, Path: filepath.Join(first(c.String("dir"), "."), got.Release.Name)}
		files, err := keepPulled(a.path(first(c.String("dir"), ".")), got, signature, evidence.ProofFile())
		if err != nil {
			return err
		}
		result.Signature, result.LogProof = files[0], files[1]
		if c.Bool("json") {
			return a.printJSON(result)
		}
		a.printf("pulled %s into %s\n  digest  %s\n", got.Release.Ref(), result.Path, got.Release.Digest)
		return nil
	})
}

// signatureToKeep fetches the signature of a release that is said to have one, and
// refuses one that is about something else or does not verify. Whether its key is
// trusted, and at which times, is for kx verify to say.
func (a *app) signatureToKeep(ctx context.Context, hub *hubclient.Client, got *hubclient.Archive) ([]byte, error) {
	r := got.Release
	data, err := accept.FetchSignature(ctx, hub, got)
	if data == nil {
		return nil, err
	}
	trusted, err := a.trustedKeys()
	if err != nil {
		return nil, err
	}
	result := sign.Verify(got.Pack, sign.VerifyInput{
		SignatureFile: data, Trusted: trusted, Now: a.Now(), KazmaPolicy: sign.Off,
		ExpectedSubject: r.Author + "/" + r.Name, ExpectedVersion: r.Version, ExpectedDigest: got.Digest,
	})
	for _, problem := range result.Problems {
		switch problem.ID {
		case sign.IDUnknownKey, sign.IDUntrustedKey, sign.IDNoSecret, sign.IDExpired, sign.IDNotYetValid, sign.IDClock:
			a.note("%s: warning: %s", a.program, termtext.Escape(problem.Text))
		default:
			return nil, accept.NotTaken(r, problem.ID, problem.Text)
		}
	}
	return data, nil
}

// pullByPolicy holds a release against the user's trust policy, where there is one.
func (a *app) pullByPolicy(ctx context.Context, c *cli.Command, hub *hubclient.Client, got *hubclient.Archive, signature []byte, evidence *accept.Evidence) error {
	var said notes
	g := a.newGate(c, hub, &said)
	list, err := g.Listed(ctx, got.Release.Author)
	if err != nil {
		return err
	}
	result, err := a.verifiedRelease(got, signature, list)
	if err != nil {
		return err
	}
	facts := evidence.Facts("the hub's log is not there, or empty")
	err = g.Trust(ctx, accept.Release(got, signature), result, facts)
	said.print(a)
	return err
}

// verifiedRelease is what a trust policy judges of a release. The keys of its author's
// list count, where one was seen.
func (a *app) verifiedRelease(got *hubclient.Archive, signature []byte, list *sign.Publication) (sign.Result, error) {
	trusted, err := a.trustedKeys()
	if err != nil {
		return sign.Result{}, err
	}
	secrets, kazma := sign.Secrets{Current: sign.SecretFromEnv(a.Getenv("KAZMA_SECRET"))}, sign.Accept
	if secrets.Empty() {
		kazma = sign.Off
	}
	r := got.Release
	return sign.Verify(got.Pack, sign.VerifyInput{
		SignatureFile: signature, Trusted: accept.WithListed(trusted, list), Now: a.Now(), Secrets: secrets, KazmaPolicy: kazma,
		ExpectedSubject: r.Author + "/" + r.Name, ExpectedVersion: r.Version, ExpectedDigest: got.Digest,
	}), nil
}

// keepPulled writes a release below parent, and its signature and the log's proof
// beside it, and gives the names of these two files. Nothing that is there is
// changed; on an error nothing is left.
func keepPulled(parent string, got *hubclient.Archive, signature, proof []byte) (files [2]string, err error) {
	r := got.Release
	root, err := fsx.OpenOrCreate(parent, 0o755)
	if err != nil {
		return files, err
	}
	defer root.Close()
	if err := fsx.SweepStaged(root, "."); err != nil {
		return files, err
	}
	name, err := sign.FileName(r.Name, r.Version)
	if err != nil && (signature != nil || proof != nil) {
		return files, err
	}
	beside := []struct {
		what string
		data []byte
		name string
		same func(old []byte) bool
	}{
		{"signature", signature, name, func(old []byte) bool { return bytes.Equal(old, signature) }},
		// A proof that was made of a smaller log proves as much.
		{"log proof", proof, strings.TrimSuffix(name, ".sig.json") + translog.ProofSuffix, func(old []byte) bool { return sameEntry(old, proof) }},
	}
	var write []int
	for i, b := range beside {
		if b.data == nil {
			continue
		}
		files[i] = b.name
		old, err := root.ReadFile(b.name, max(sign.MaxSignatureFile, translog.MaxProof))
		switch {
		case err == nil && b.same(old):
		case errors.Is(err, fs.ErrNotExist):
			write = append(write, i)
		default:
			return files, hubapi.Errorf(hubapi.Conflict, "%s exists already and is another %s; nothing was changed", filepath.Join(parent, b.name), b.what).
				WithHint("move it away, or pull into another folder with --dir")
		}
	}
	err = fsx.PutDir(root, r.Name, diskFiles(got.Files))
	if errors.Is(err, fs.ErrExist) {
		return files, hubapi.Errorf(hubapi.Conflict, "%s exists already; nothing was changed", filepath.Join(parent, r.Name)).
			WithHint("pull into another folder with --dir")
	}
	for n, i := range write {
		if err != nil {
			break
		}
		if err = root.WriteFile(beside[i].name, beside[i].data, 0o644); err != nil {
			err = errors.Join(err, root.RemoveAll(r.Name))
			for _, done := range write[:n] {
				err = errors.Join(err, root.Remove(beside[done].name))
			}
		}
	}
	return files, err
}

// sameEntry tells whether two proofs are of the same entry.
func sameEntry(a, b []byte) bool {
	x, errX := translog.ParseProof(a)
	y, errY := translog.ParseProof(b)
	return errX == nil && errY == nil && len(x.Extra) > 0 && bytes.Equal(x.Extra, y.Extra)
}

// diskFiles gives the files of a pack the modes that they have on disk.
func diskFiles(files []pack.File) []fsx.File {
	out := make([]fsx.File, 0, len(files))
	for _, f := range files {
		out = append(out, fsx.File{Path: f.Path, Data: f.Data, Perm: f.Mode()})
	}
	return out
}
