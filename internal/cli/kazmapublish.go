package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
	"github.com/kortecx/kx/sign"
)

// reviewPoll is how often a hub is asked whether a review is done.
const reviewPoll = 500 * time.Millisecond

func waitFlag() cli.Flag {
	return &cli.DurationFlag{Name: "wait", Usage: "wait at most `DURATION`, such as 10m, until it was reviewed; exit 3 when it was not"}
}

func sourceURLFlag() cli.Flag {
	return &cli.StringFlag{Name: "source-url", Usage: "say that the source is at `URL`"}
}

// kazmaManifest refuses a folder without a manifest, as the reference words it.
func (a *app) kazmaManifest(c *cli.Command) (dir string, err error) {
	dir, err = a.skillFolder(c)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(filepath.Join(dir, pack.Kazma.ManifestFile())); err != nil || info.IsDir() {
		return "", hubapi.Errorf(hubapi.NotFound, "no %s in %s", pack.Kazma.ManifestFile(), c.Args().First())
	}
	return dir, nil
}

func (a *app) kazmaRegister() *cli.Command {
	return a.leaf("register", "put a skill into your own hub, where it can be found and installed at once", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "Publishes the skill and approves it, as the administrator of your own hub: the original's registry knows no review.\n" +
			"In a hub elsewhere that needs a reviewer's key; submit sends a skill there for review. What is registered stays as it\n" +
			"is: other files need another version.",
		examples: []example{{"hub register demo", "register the skill in the folder demo"}},
	}, kazmaFlags(), func(ctx context.Context, c *cli.Command) error {
		dir, err := a.kazmaManifest(c)
		if err != nil {
			return err
		}
		report := conformance.Check(dir, conformance.Options{Format: pack.Kazma})
		if !report.Passed && !c.Bool("json") {
			a.printf("Manifest validation failed:\n")
			for _, f := range report.Findings {
				if f.Severity == conformance.Error {
					about := ""
					if f.File != "" && f.File != pack.Kazma.ManifestFile() {
						about = f.File + ": "
					}
					a.printf("  - %s%s\n", about, f.Message)
				}
			}
			return exitError(hubapi.ExitFailed)
		}
		if !report.Passed {
			return notConforming(report)
		}
		pushed, err := a.registerSkill(ctx, c, dir)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return a.printJSON(pushed)
		}
		a.printf("Registered: %s\n", hubapi.KazmaID(hubapi.Ref{Author: pushed.Author, Name: pushed.Name, Version: pushed.Version}))
		s, err := a.settings(c)
		if err == nil && s.endpoint == "" {
			a.note("%s: approved as the administrator of your own hub, in %s", a.program, termtext.Escape(s.hubDir))
		}
		return err
	})
}

// registerSkill publishes a skill and approves it.
func (a *app) registerSkill(ctx context.Context, c *cli.Command, dir string) (pushed hubapi.PushResult, err error) {
	p, err := a.signable(dir, string(pack.Kazma))
	if err != nil {
		return pushed, err
	}
	push := hubclient.PushInput{Name: p.Name, Files: p.Files, Author: p.Author, Approve: true}
	if push.Signature, err = a.signatureToPush(c, dir, p); err != nil {
		return pushed, err
	}
	err = a.withHub(ctx, c, func(hub *hubclient.Client) error {
		pushed, err = hub.Push(ctx, push)
		return err
	})
	return pushed, err
}

func (a *app) kazmaSubmit() *cli.Command {
	return a.leaf("submit", "submit a skill to the hub, for review", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "Sends the manifest as a submission and then the whole skill as a release that waits for review. Where only\n" +
			"KAZMA_SECRET is known, and no key of the hub, the manifest alone is sent. With --wait the command ends with the\n" +
			"review: exit 0 for an active release, 1 for one that was not let in, 3 when the time was over.",
		examples: []example{{"hub submit demo", "submit the skill in the folder demo"}},
	}, append([]cli.Flag{sourceURLFlag(), waitFlag()}, kazmaFlags()...), func(ctx context.Context, c *cli.Command) error {
		dir, err := a.skillFolder(c)
		if err != nil {
			return err
		}
		p, err := a.signable(dir, string(pack.Kazma))
		if err != nil {
			return err
		}
		out, failed, err := a.submitKazma(ctx, c, dir, p)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return errors.Join(a.printJSON(out), failed)
		}
		a.printSubmission(out)
		return failed
	})
}

// kazmaSubmission is the --json document of submit.
type kazmaSubmission struct {
	hubapi.KazmaSubmitted
	Release *hubapi.PushResult `json:"release"` // null when only the manifest was sent
}

func (a *app) printSubmission(out kazmaSubmission) {
	a.printf("Submission ID: %s\nSkill ID: %s\nStatus: %s\nMessage: %s\n", out.SubmissionID, out.SkillID, out.Status, out.Message)
	if out.Release == nil {
		a.note("only the manifest was sent: sending the skill itself needs a key of the hub (--token-file)")
	}
}

// submitKazma sends a skill and waits for its review as long as --wait says. failed is
// the end of a review, or of the waiting, that is no success.
func (a *app) submitKazma(ctx context.Context, c *cli.Command, dir string, p *pack.Pack) (out kazmaSubmission, failed, err error) {
	if c.Duration("wait") < 0 {
		return out, nil, usagef("--wait needs a positive duration")
	}
	settings, err := a.settings(c)
	if err != nil {
		return out, nil, err
	}
	if report := conformance.Check(dir, conformance.Options{Format: pack.Kazma}); !report.Passed {
		return out, nil, notConforming(report)
	}
	data, _ := p.File(pack.Kazma.ManifestFile())
	in := hubapi.KazmaSubmit{Manifest: manifestJSON(data), SourceURL: c.String("source-url"), SubmitterID: "cli-user"}
	// The secret goes only to a hub that the user named, never to one that a
	// project's kx.yaml names.
	secret := ""
	kazma, err := a.kazmaHub(c)
	if err != nil {
		return out, nil, err
	}
	if first(kazma.url, a.Getenv("KX_ENDPOINT")) != "" && settings.endpoint != "" && settings.token == "" {
		secret = string(sign.SecretFromEnv(a.Getenv("KAZMA_SECRET")))
	}
	if secret != "" && c.Duration("wait") > 0 {
		return out, nil, usagef("--wait needs a key of the hub: with KAZMA_SECRET alone only the manifest is sent, and nothing can be reviewed")
	}
	err = a.withHub(ctx, c, func(hub *hubclient.Client) error {
		if out.KazmaSubmitted, err = hub.KazmaSubmit(ctx, in, secret); err != nil || secret != "" {
			return err
		}
		push := hubclient.PushInput{Name: p.Name, Files: p.Files, Author: p.Author}
		if push.Signature, err = a.signatureToPush(c, dir, p); err != nil {
			return err
		}
		pushed, err := hub.Push(ctx, push)
		out.Release, out.Status = &pushed, string(pushed.Status)
		return err
	})
	if err != nil || c.Duration("wait") == 0 {
		return out, nil, err
	}
	done, failed := a.waitForReview(ctx, c, out.SubmissionID)
	if done.Status != "" {
		out.Status = done.Status
	}
	return out, failed, nil
}

// waitForReview asks again and again what became of a submission, until it was
// reviewed or --wait is over. The hub is opened for each question: one in this process
// belongs to the reviewer in between.
func (a *app) waitForReview(ctx context.Context, c *cli.Command, id string) (hubapi.KazmaCertification, error) {
	limit := c.Duration("wait")
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var got hubapi.KazmaCertification
	for {
		err := a.withHub(within, c, func(hub *hubclient.Client) (err error) {
			now, err := hub.KazmaCertification(within, id)
			if err == nil {
				got = now
			}
			return err
		})
		if err != nil && within.Err() == nil {
			return got, err
		}
		if err == nil && !waits(got.Status) {
			return got, reviewed(got)
		}
		timer := time.NewTimer(reviewPoll)
		select {
		case <-within.Done():
			timer.Stop()
			if ctx.Err() != nil {
				return got, ctx.Err()
			}
			return got, hubapi.Errorf(hubapi.Timeout, "%s was not reviewed within %s; it is %s", id, limit, first(got.Status, "not known to be anything")).
				WithHint("%s hub status %s --wait %s goes on waiting", a.program, id, limit)
		case <-timer.C:
		}
	}
}

// waits tells whether somebody still has to decide about a submission.
func waits(status string) bool {
	return slices.Contains([]string{hubapi.SubmissionPending, string(hubapi.Candidate), string(hubapi.Staged), string(hubapi.Stale)}, status)
}

// reviewed is nil for a release that was let in.
func reviewed(got hubapi.KazmaCertification) error {
	if got.Status == string(hubapi.Active) || got.Status == "" {
		return nil
	}
	return hubapi.Errorf(hubapi.Precondition, "%s is %s", got.SkillID, got.Status).WithHint("kx inbox watch --since 0 --once tells who decided it, and why")
}

func (a *app) kazmaPublish() *cli.Command {
	return a.leaf("publish", "sign a skill, scan it, and submit it for review", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "Three steps, each of which ends the command when it fails: the skill is signed, with KAZMA_SECRET in its manifest and\n" +
			"with --key beside its folder; its texts and code are scanned, and something critical stops it; then it is submitted.\n" +
			"A skill that nobody signs is not published.",
		examples: []example{{"hub publish demo --key me", "signed with the key me"}},
	}, slices.Concat([]cli.Flag{
		sourceURLFlag(), waitFlag(),
		&cli.StringFlag{Name: "key", Usage: "sign with the key called `NAME` too"},
		passphraseFlag(),
		&cli.BoolFlag{Name: "allow-findings", Usage: "submit a skill in which the scan finds something critical"},
	}, secretFlags(), kazmaFlags()), a.runKazmaPublish)
}

// kazmaPublication is the --json document of publish.
type kazmaPublication struct {
	Checksum  string       `json:"checksum,omitempty"`  // in the manifest
	Signature string       `json:"signature,omitempty"` // in the manifest
	Key       string       `json:"key,omitempty"`       // that signed beside the folder
	Scan      scan.Summary `json:"scan"`
	kazmaSubmission
}

func (a *app) runKazmaPublish(ctx context.Context, c *cli.Command) error {
	dir, err := a.kazmaManifest(c)
	if err != nil {
		return err
	}
	p, err := a.signable(dir, string(pack.Kazma))
	if err != nil {
		return err
	}
	var out kazmaPublication
	report := scan.Pack(p, scan.Options{})
	out.Scan.Add(report)
	if err := a.publishable(c, p, report); err != nil {
		return err
	}
	if p, err = a.signToPublish(c, dir, p, &out); err != nil {
		return err
	}
	sent, failed, err := a.submitKazma(ctx, c, dir, p)
	if err != nil {
		return err
	}
	out.kazmaSubmission = sent
	if c.Bool("json") {
		return errors.Join(a.printJSON(out), failed)
	}
	if out.Checksum != "" {
		a.printf("Signed %s for skill '%s'\n", filepath.Base(p.Kazma.EntryFile), p.Name)
	}
	if out.Key != "" {
		a.printf("Signed %s/%s@%s with the key %s\n", p.Author, p.Name, p.Version, out.Key)
	}
	a.printSubmission(sent)
	return failed
}

// publishable stops what the scan finds something critical in, and says what is high.
func (a *app) publishable(c *cli.Command, p *pack.Pack, report *scan.Report) error {
	e := hubapi.Errorf(hubapi.Invalid, "%s was not published: the scan found something critical in it", p.Name)
	for _, f := range report.Findings {
		switch {
		case f.Severity == scan.Critical && !c.Bool("allow-findings"):
			e.Details = append(e.Details, hubapi.Detail{ID: f.Rule, Message: f.Reason, File: f.File, Line: f.Line, Column: f.Column})
		case f.Severity == scan.Critical, f.Severity == scan.High:
			a.note("%s: warning: %s:%d: %s [%s]", a.program, termtext.Escape(f.File), f.Line, termtext.Escape(f.Reason), f.Rule)
		}
	}
	if len(e.Details) == 0 {
		return nil
	}
	return e.WithHint("read it; --allow-findings submits it all the same")
}

// signToPublish signs with what there is: the secret first, because that changes the
// manifest, then the key.
func (a *app) signToPublish(c *cli.Command, dir string, p *pack.Pack, out *kazmaPublication) (*pack.Pack, error) {
	secret, err := a.secret(c)
	if err != nil {
		return nil, err
	}
	switch {
	case len(secret) > 0:
		pair := sign.Pair{Checksum: p.Kazma.Checksum, Signature: p.Kazma.Signature}
		if sign.VerifyKazma(p, sign.Secrets{Current: secret}, sign.Accept).State != sign.HMACVerified {
			if pair, err = signKazma(dir, p, secret); err != nil {
				return nil, err
			}
			if p, err = a.signable(dir, string(pack.Kazma)); err != nil {
				return nil, err
			}
		}
		out.Checksum, out.Signature = pair.Checksum, pair.Signature
	case sign.PairFault(p) != nil:
		fault := sign.PairFault(p)
		return nil, hubapi.Errorf(hubapi.Invalid, "%s was not published: %s", p.Name, fault.Text).
			With(hubapi.Detail{ID: fault.ID, Message: fault.Text}).WithHint("export KAZMA_SECRET to have it signed again")
	case p.Kazma.Signature == "" && c.String("key") == "":
		return nil, hubapi.Errorf(hubapi.Precondition, "%s was not published: there is nothing to sign it with", p.Name).
			WithHint("export KAZMA_SECRET, use --secret-file, or name a key with --key; submit sends a skill as it is")
	}
	if c.String("key") == "" {
		return p, nil
	}
	statement, err := a.statement(c, p, p.Version)
	if err != nil {
		return nil, err
	}
	name, key, err := a.signingKey(c)
	if err != nil {
		return nil, err
	}
	envelope, err := sign.Sign(statement, key)
	if err != nil {
		return nil, err
	}
	file, err := a.signatureFile("", dir, p.Name, p.Version)
	if err != nil {
		return nil, err
	}
	out.Key = name
	return p, changeSignatures(file, func(signatures *sign.SignatureFile) error { return signatures.Add(envelope, key.Public()) })
}

func (a *app) kazmaStatus() *cli.Command {
	return a.leaf("status", "show what became of a submission", spec{
		args: "SUBMISSION_ID", min: 1, max: 1,
		long: "SUBMISSION_ID is what submit printed, or the reference of a skill. With --wait the command ends when the submission\n" +
			"was reviewed: exit 0 for an active release, 1 for one that was not let in, 3 when the time was over.",
		examples: []example{{"hub status acme/demo", "the certification of a skill that was submitted"}},
	}, append([]cli.Flag{waitFlag()}, kazmaFlags()...), func(ctx context.Context, c *cli.Command) error {
		id := c.Args().First()
		if c.Duration("wait") > 0 && !hubapi.IsSubmissionID(id) {
			return usagef("--wait needs the id of a submission, as submit prints it")
		}
		var got hubapi.KazmaCertification
		err := a.withHub(ctx, c, func(hub *hubclient.Client) (err error) {
			got, err = hub.KazmaCertification(ctx, id)
			return err
		})
		if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound {
			e := hubapi.Errorf(hubapi.NotFound, "No status found for submission: %s", id)
			if !hubapi.IsSubmissionID(id) {
				return e.WithHint("a skill has one as soon as it has a badge; what became of a submission is told by the id that submit printed")
			}
			return e
		}
		if err != nil {
			return err
		}
		var failed error
		if c.Duration("wait") > 0 {
			last := got
			if got, failed = a.waitForReview(ctx, c, id); got.SkillID == "" {
				got = last
			}
		}
		if c.Bool("json") {
			return errors.Join(a.printJSON(got), failed)
		}
		a.printf("Skill ID: %s\n", got.SkillID)
		if got.Status != "" {
			a.printf("Status: %s\n", got.Status)
		}
		a.printf("Level: %s\n", got.Level)
		a.printCertification(got, "[OK]", "[FAIL]")
		return failed
	})
}
