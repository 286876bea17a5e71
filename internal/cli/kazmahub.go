package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// kazmaGroupFlags are the options of "kazma hub", which its commands take too.
func kazmaGroupFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "hub-url", Usage: "hub at `URL` (also KAZMA_HUB_URL); without one, your own hub"},
		registryPathFlag(),
	}
}

func registryPathFlag() cli.Flag {
	return &cli.StringFlag{Name: "registry-path", Usage: "the hub in the folder or database at `PATH`, made if it is missing (also KAZMA_HUB_DB)"}
}

// kazmaFlags are on the commands that talk to a hub.
func kazmaFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "token-file", Usage: "read the hub's key from `FILE` (also KX_TOKEN_FILE, KX_TOKEN)"},
		&cli.StringFlag{Name: "tls-ca", Usage: "trust the certificate authorities in this PEM `FILE` (https hubs only)"},
		jsonFlag(),
	}
}

const rule = "========================================"

// manifestJSON is a manifest, which can be read, as a JSON object: what is text to
// every reader of YAML as text, the rest as what it is.
func manifestJSON(data []byte) json.RawMessage {
	m, _, _ := yamledit.Parse(data)
	return appendMapping(nil, m)
}

func appendMapping(dst []byte, m *yamledit.Mapping) []byte {
	dst = append(dst, '{')
	if m != nil {
		for i := range m.Entries {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(strictjson.AppendString(dst, m.Entries[i].Key), ':')
			dst = appendValue(dst, &m.Entries[i].Value)
		}
	}
	return append(dst, '}')
}

func appendValue(dst []byte, v *yamledit.Value) []byte {
	switch v.Kind {
	case yamledit.Map:
		return appendMapping(dst, v.Map)
	case yamledit.Sequence:
		dst = append(dst, '[')
		for i := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, &v.Items[i])
		}
		return append(dst, ']')
	case yamledit.Null:
		return append(dst, "null"...)
	case yamledit.Scalar:
	}
	literal := v.ReadsAs() != "" && json.Valid([]byte(v.Text)) && !bytes.ContainsAny([]byte(v.Text), `"{[`)
	if literal {
		return append(dst, v.Text...)
	}
	return strictjson.AppendString(dst, v.Text)
}

func (a *app) printCertification(got hubapi.KazmaCertification, yes, no string) {
	if got.IssuedAt != nil {
		a.printf("Issued: %s\n", *got.IssuedAt)
	}
	if got.ExpiresAt != nil {
		a.printf("Expires: %s\n", *got.ExpiresAt)
	}
	a.printf("Requirements:\n")
	for _, id := range slices.Sorted(maps.Keys(got.RequirementsMet)) {
		word := no
		if got.RequirementsMet[id] {
			word = yes
		}
		a.printf("  %s %s\n", word, id)
	}
}

func (a *app) kazmaBadge() *cli.Command {
	return a.leaf("badge", "show the certification badge of a skill", spec{
		args: "SKILL_REF", min: 1, max: 1,
		long: "SKILL_REF is NAME, AUTHOR/NAME, AUTHOR/NAME@VERSION or kazma-hub://AUTHOR/NAME@VERSION. A badge is that of one\n" +
			"release; without a version it is the active one. A revoked or expired badge is shown with valid unmet.",
		examples: []example{{"hub badge acme/demo", "the badge of the active release"}},
	}, kazmaFlags(), func(ctx context.Context, c *cli.Command) error {
		ref := c.Args().First()
		if _, err := hubapi.ParseKazmaID(ref); err != nil {
			return asUsageRef(err)
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			got, err := hub.KazmaCertification(ctx, ref)
			if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound {
				if c.Bool("json") {
					return hubapi.Errorf(hubapi.NotFound, "No badge found for: %s", ref)
				}
				a.printf("No badge found for: %s\n", ref)
				return exitError(hubapi.ExitFailed)
			}
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(got)
			}
			a.printf("Skill: %s\nBadge: %s\n", got.SkillID, strings.ToUpper(got.Level))
			if valid, ok := got.RequirementsMet["valid"]; ok && !valid {
				a.printf("Not valid: %s\n", whyNotValid(ctx, hub, got.SkillID))
			}
			a.printCertification(got, "[MET]", "[UNMET]")
			return nil
		})
	})
}

// whyNotValid says what became of a badge. The Kazma route only says that something did.
func whyNotValid(ctx context.Context, hub *hubclient.Client, id string) string {
	ref, err := hubapi.ParseKazmaID(id)
	if err == nil {
		var badge hubapi.Badge
		if badge, err = hub.Badge(ctx, ref); err == nil && badge.Reason != "" {
			return badge.Reason
		}
	}
	return "it was revoked, has expired, or was issued for other content"
}

// certifiedPage is how many skills the hub is asked for at a time. What is printed is
// one page, however many they are.
const certifiedPage = 100

func (a *app) kazmaCertified() *cli.Command {
	return a.leaf("certified", "list the certified skills of the hub", spec{
		examples: []example{{"hub certified", "one line per skill, by name"}},
	}, kazmaFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			yes := true
			all := hubapi.KazmaPage{Items: []hubapi.KazmaSkill{}, Page: 1}
			for page := 1; ; page++ {
				got, err := hub.KazmaSkills(ctx, hubclient.KazmaList{Page: page, PerPage: certifiedPage, Certified: &yes})
				if err != nil {
					return err
				}
				all.Items = append(all.Items, got.Items...)
				all.Total = got.Total
				if len(got.Items) == 0 || len(all.Items) >= got.Total {
					break
				}
			}
			all.PerPage = max(len(all.Items), certifiedPage)
			if c.Bool("json") {
				return a.printJSON(all)
			}
			if len(all.Items) == 0 {
				a.printf("No certified skills found.\n")
				return nil
			}
			line := func(name, author, version, badge string) {
				a.printf("%s\n", padded(name, nameColumn)+padded(author, authorColumn)+padded(version, versionColumn)+padded(badge, badgeColumn))
			}
			line("NAME", "AUTHOR", "VERSION", "BADGE")
			a.printf("%s\n", strings.Repeat("-", nameColumn+authorColumn+versionColumn+badgeColumn))
			for _, s := range all.Items {
				line(s.Name, s.Author, s.Version, "CERTIFIED")
			}
			return nil
		})
	})
}

func (a *app) kazmaStats() *cli.Command {
	return a.leaf("stats", "count the skills of the hub", spec{
		examples: []example{{"hub stats", "skills, certified skills, and skills by category"}},
	}, kazmaFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			got, err := hub.KazmaStats(ctx)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(got)
			}
			a.printf("Hub Statistics\n%s\n", rule)
			a.printf("Total Skills: %d\nCertified: %d\n\nBy Category:\n", got.TotalSkills, got.CertifiedCount)
			for _, category := range slices.Sorted(maps.Keys(got.ByCategory)) {
				a.printf("  %s: %d\n", category, got.ByCategory[category])
			}
			return nil
		})
	})
}

func (a *app) kazmaCheckCertification() *cli.Command {
	return a.leaf("check-certification", "check a skill against what its files must fulfil for a badge", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long:     "Judges the folder here, without a hub. A hub judges again when it issues a badge, and asks a reviewer for the rest.",
		examples: []example{{"hub check-certification demo", "the reference's report"}},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		dir, err := a.skillFolder(c)
		if err != nil {
			return err
		}
		check, err := conformance.CheckCertification(dir)
		if missing, ok := errors.AsType[*conformance.NotFoundError](err); ok {
			return hubapi.Errorf(hubapi.NotFound, "no %s in %s", pack.Kazma.ManifestFile(), c.Args().First()).
				With(hubapi.Detail{ID: "kazma.no-manifest", Message: fmt.Sprint(missing)})
		}
		if err != nil {
			return hubapi.Errorf(hubapi.Invalid, "%v", err)
		}
		check.Path = c.Args().First()
		if c.Bool("json") {
			a.printed = true
			return check.WriteJSON(a.Stdout)
		}
		return check.WriteText(a.Stdout)
	})
}

func (a *app) kazmaCertify() *cli.Command {
	return a.leaf("certify", "issue the certification badge of a release, as a reviewer", spec{
		args: "SKILL_REF", min: 1, max: 1,
		long: "The hub evaluates what it can from the release's own files; what only a person can know is attested first\n" +
			"(see attest). A badge holds for 365 days, for exactly this release. A revoked badge is not issued again.",
		choices:  map[string][]string{"level": {"basic", "standard", "premium"}},
		examples: []example{{"hub certify acme/demo", "the basic badge for the active release"}},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "level", Value: "basic", Usage: "certify at `LEVEL`: basic, standard or premium"},
	}, kazmaFlags()...), func(ctx context.Context, c *cli.Command) error {
		level := hubapi.BadgeLevel(c.String("level"))
		if !slices.Contains(hubapi.BadgeLevels(), level) {
			return usagef("--level needs basic, standard or premium, not %q", string(level))
		}
		return a.aboutBadge(ctx, c, func(hub *hubclient.Client, ref hubapi.Ref) (any, string, error) {
			badge, err := hub.IssueBadge(ctx, ref, level)
			return badge, fmt.Sprintf("%s for %s, until %s", badge.Label, badge.SkillID, hubapi.KazmaTime(badge.ExpiresAt)), err
		})
	})
}

func (a *app) kazmaAttest() *cli.Command {
	return a.leaf("attest", "say as a reviewer that a release meets a requirement of a badge", spec{
		args: "SKILL_REF REQUIREMENT", min: 2, max: 2,
		long: "REQUIREMENT is code_review_approved, test_coverage_80, penetration_test_passed, dependency_audit_clean or\n" +
			"performance_benchmark_met. What is said replaces what was said before; the audit keeps all of it.",
		examples: []example{{`hub attest acme/demo code_review_approved --reason "read every line"`, "after a code review"}},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "say why: `TEXT` (needed)"},
		&cli.BoolFlag{Name: "unmet", Usage: "say that it does not meet it"},
	}, kazmaFlags()...), func(ctx context.Context, c *cli.Command) error {
		if strings.TrimSpace(c.String("reason")) == "" {
			return usagef("--reason is needed")
		}
		in := hubapi.BadgeAttest{Requirement: c.Args().Get(1), Met: !c.Bool("unmet"), Reason: c.String("reason")}
		return a.aboutBadge(ctx, c, func(hub *hubclient.Client, ref hubapi.Ref) (any, string, error) {
			got, err := hub.Attest(ctx, ref, in)
			word := "[UNMET]"
			if got.Met {
				word = "[MET]"
			}
			return got, word + " " + got.ID, err
		})
	})
}

func (a *app) kazmaRevoke() *cli.Command {
	return a.leaf("revoke", "revoke the certification badge of a release, or lift that as an admin", spec{
		args: "SKILL_REF", min: 1, max: 1,
		long:     "A revoked badge stays revoked, and is not issued again, until an admin lifts it.",
		examples: []example{{`hub revoke acme/demo --reason "a hole was found"`, "it is no longer certified"}},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "say why: `TEXT` (needed)"},
		&cli.BoolFlag{Name: "lift", Usage: "lift the revocation instead, as an admin"},
	}, kazmaFlags()...), func(ctx context.Context, c *cli.Command) error {
		reason := c.String("reason")
		if strings.TrimSpace(reason) == "" {
			return usagef("--reason is needed")
		}
		return a.aboutBadge(ctx, c, func(hub *hubclient.Client, ref hubapi.Ref) (any, string, error) {
			if c.Bool("lift") {
				badge, err := hub.LiftRevocation(ctx, ref, reason)
				return badge, "lifted the revocation of the badge of " + badge.SkillID, err
			}
			badge, err := hub.RevokeBadge(ctx, ref, reason)
			return badge, "revoked the badge of " + badge.SkillID, err
		})
	})
}

// aboutBadge makes one call about the release in the first argument and prints what
// it says.
func (a *app) aboutBadge(ctx context.Context, c *cli.Command, call func(*hubclient.Client, hubapi.Ref) (any, string, error)) error {
	ref, err := hubapi.ParseKazmaID(c.Args().First())
	if err != nil {
		return asUsageRef(err)
	}
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		got, said, err := call(hub, ref)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return a.printJSON(got)
		}
		a.printf("%s\n", said)
		return nil
	})
}
