package cli

import (
	"context"
	"errors"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/sign"
)

// trustChecked is the --json document of kx trust check.
type trustChecked struct {
	Subject string `json:"subject"` // author/name
	Policy  string `json:"policy"`  // the file; empty: there is none
	Rule    string `json:"rule"`    // publisher, unsigned or default decides; none without a policy
	Scope   string `json:"scope"`   // of the rule
	Level   string `json:"level"`   // of what nothing covers
	// Unsigned is the rule that decides when it is not signed, where that is another.
	Unsigned string       `json:"unsigned_rule,omitempty"`
	Wants    *publisherIn `json:"wants"` // null: the rule wants nothing
	Blocked  []blockIn    `json:"blocked"`
	// Would is what would happen to the release that the hub has: accept or refuse;
	// unknown where no hub has it.
	Would   string            `json:"would"`
	Release string            `json:"release,omitempty"` // AUTHOR/NAME@VERSION that was judged
	Why     string            `json:"why,omitempty"`     // why it is not known what would happen
	Judged  *sign.TrustResult `json:"judged"`
	// Publisher is the judgement of the author's own list of keys, where one was seen and
	// the hub has the release.
	Publisher *publisherJudged `json:"publisher,omitempty"`
}

func (a *app) trustCheck() *cli.Command {
	return a.leaf("check", "say which rule of the trust policy decides about a skill, and what would happen", spec{
		args: "AUTHOR/NAME", min: 1, max: 1,
		long: "Tells the scope that decides, what it wants, and what is blocked. Where your hub has the release, it is fetched and\n" +
			"judged as if it came in, without being kept. With @VERSION it is that one, else the active one. Where you have seen\n" +
			"the author's list of keys (kx trust publisher show), one of them must have signed, as kx verify has it.\n\n" +
			"Exit 1 when it would be refused.",
		examples: []example{
			{"trust check acme/triage", "what the policy says of it"},
			{"trust check acme/triage@1 --offline", "without asking the hub"},
		},
	}, append([]cli.Flag{
		&cli.BoolFlag{Name: "offline", Usage: "do not ask the hub"},
		policyFileFlag(),
	}, clientFlags()...), a.runTrustCheck)
}

func (a *app) runTrustCheck(ctx context.Context, c *cli.Command) error {
	ref, err := hubapi.ParseRef(c.Args().First())
	if err != nil {
		return asUsageRef(err)
	}
	if ref.Author == "" {
		return usagef("whose skill? a policy goes by AUTHOR/NAME")
	}
	path, policy, ring, err := a.readPolicy(c)
	if err != nil {
		return err
	}
	out := trustChecked{Subject: ref.Author + "/" + ref.Name, Rule: "none", Blocked: []blockIn{}, Would: "unknown"}
	if policy != nil {
		out.Policy, out.Level = path, string(policy.Level)
		out.explain(policy, ring, ref)
	}
	if c.Bool("offline") {
		out.Why = "the hub was not asked"
	} else if err := a.wouldHappen(ctx, c, policy, ref, &out); err != nil {
		return err
	}
	if c.Bool("json") {
		err = a.printJSON(out)
	} else {
		a.printChecked(out)
	}
	if err == nil && out.Would == "refuse" {
		return exitError(hubapi.ExitFailed)
	}
	return err
}

// explain says what the policy has about a skill, before any release is looked at.
func (out *trustChecked) explain(policy *sign.TrustPolicy, ring []sign.NamedKey, ref hubapi.Ref) {
	rule, wants := policy.Decides(out.Subject, true)
	out.Rule = string(rule)
	if wants != nil {
		in := newPublisherIn(*wants, ring)
		out.Scope, out.Wants = in.Scope, &in
	} else if bare, _ := policy.Decides(out.Subject, false); bare != rule {
		out.Unsigned = string(bare)
	}
	for _, b := range policy.Blocked.Skills {
		if b.ID == out.Subject {
			out.Blocked = append(out.Blocked, blockIn{Kind: string(sign.BlockedSkills), ID: b.ID, Reason: b.Reason})
		}
	}
	for _, b := range policy.Blocked.Publishers {
		if b.ID == ref.Author {
			out.Blocked = append(out.Blocked, blockIn{Kind: string(sign.BlockedPublishers), ID: b.ID, Reason: b.Reason})
		}
	}
	if len(out.Blocked) > 0 {
		out.Would = "refuse" // whatever the hub has
	}
}

// wouldHappen judges the release that the hub has. No hub, or one without it, leaves
// open what would happen.
func (a *app) wouldHappen(ctx context.Context, c *cli.Command, policy *sign.TrustPolicy, ref hubapi.Ref, out *trustChecked) error {
	s, err := a.settings(c)
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.home.hub()); s.endpoint == "" && err != nil {
		out.Why = "no hub is named that could have it"
		return nil
	}
	publisher, err := a.publisherFor(ctx, c, ref.Author)
	if err != nil {
		return err
	}
	var listed *sign.Publication
	if publisher != nil {
		listed = publisher.list
	}
	err = a.withHub(ctx, c, func(hub *hubclient.Client) error {
		got, err := hub.Archive(ctx, ref)
		if err != nil {
			return err
		}
		out.Release = got.Release.Ref()
		view, why, err := accept.OpenLog(ctx, false, hub)
		if err != nil {
			return err
		}
		facts := sign.LogFacts{Why: why}
		if view != nil {
			e, err := accept.ProveIn(ctx, view, got.Release)
			if err != nil {
				return err
			}
			facts = e.Facts("")
		}
		signature, err := a.signatureToKeep(ctx, hub, got)
		if err != nil {
			return err
		}
		result, err := a.verifiedRelease(got, signature, listed)
		if err != nil {
			return err
		}
		if publisher != nil {
			publisher.judge(result, facts, a.Now())
			out.Publisher = publisher
		}
		judged := sign.TrustResult{OK: true}
		if policy != nil {
			judged = policy.Judge(result, out.Subject, facts, a.Now())
			out.Judged = &judged
			out.Rule = string(policy.Rule(result, out.Subject))
		}
		if err := accept.OnlyReviewed(got.Release); err != nil {
			out.Why = asHubError(err).Message
		}
		out.Would = "accept"
		if !judged.OK || out.Why != "" || publisher != nil && !publisher.OK {
			out.Would = "refuse"
		}
		return nil
	})
	if e, ok := errors.AsType[*hubapi.Error](err); ok && ctx.Err() == nil && e.Code != hubapi.Usage {
		out.Why = e.Message
		if out.Release != "" {
			out.Would = "refuse" // it is there, and cannot even be judged
		}
		return nil
	}
	return err
}

func (a *app) printChecked(out trustChecked) {
	verdict := map[string]string{"accept": "would be taken", "refuse": "WOULD BE REFUSED", "unknown": "cannot be told what would happen"}[out.Would]
	a.printf("%s  %s\n", first(out.Release, out.Subject), verdict)
	switch {
	case out.Policy == "":
		a.printf("  rule       none: there is no trust policy\n")
	case out.Rule == string(sign.RulePublisher):
		a.printf("  rule       %s, under publishers\n  wants      %s\n", out.Scope, out.Wants.sentence())
	case out.Rule == string(sign.RuleUnsigned):
		a.printf("  rule       it may come unsigned\n")
	default:
		a.printf("  rule       no scope covers it; what no scope covers %s\n", levelWords(out.Level))
	}
	if out.Unsigned == string(sign.RuleUnsigned) && out.Rule != out.Unsigned {
		a.printf("             but it may come unsigned\n")
	}
	for _, b := range out.Blocked {
		a.printf("  blocked    %s%s\n", b.ID, reason(b.Reason))
	}
	if out.Judged != nil {
		for _, id := range out.Judged.SignedBy {
			a.printf("  signed by  %s\n", shorten(id, 16))
		}
		if out.Judged.Logged {
			a.printf("  logged     %s ago\n", out.Judged.Age)
		}
		for _, p := range out.Judged.Problems {
			a.printf("  problem    %s [%s]\n", p.Text, p.ID)
		}
		for _, w := range out.Judged.Warnings {
			a.printf("  warning    %s [%s]\n", w.Text, w.ID)
		}
	}
	if j := out.Publisher; j != nil && len(j.SignedBy)+len(j.Problems) > 0 { // else it is unsigned
		a.printJudged(j)
		for _, p := range j.Problems {
			a.printf("  problem    %s [%s]\n", p.Text, p.ID)
		}
	}
	if out.Why != "" {
		a.printf("  why        %s\n", out.Why)
	}
}
