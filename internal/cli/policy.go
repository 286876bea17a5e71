package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/sign"
)

// policyFile is the trust policy that is used without --policy.
const policyFile = "trust.yaml"

func policyFlag() cli.Flag {
	return &cli.StringFlag{Name: "policy", Usage: "judge by the trust policy in `FILE` (default: trust.yaml in your configuration, if it is there)"}
}

// policyPath is the file of the trust policy: the one of --policy, or the user's own.
func (a *app) policyPath(c *cli.Command) (path string, named bool, err error) {
	if file := c.String("policy"); file != "" {
		return a.path(file), true, nil
	}
	home, err := a.home()
	return filepath.Join(home.config, policyFile), false, err
}

// trustPolicy reads the policy of the command line, or the user's own; nil when there
// is none. One that cannot be read ends the command: it must never count as none.
func (a *app) trustPolicy(c *cli.Command) (*sign.TrustPolicy, error) {
	path, named, err := a.policyPath(c)
	if err != nil {
		return nil, err
	}
	data, err := readCapped(path, sign.MaxTrustPolicy+1)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	var policy sign.TrustPolicy
	if err == nil {
		policy, err = sign.ParseTrustPolicy(data)
	}
	if err != nil {
		return nil, unusablePolicy(path, err)
	}
	return &policy, nil
}

func unusablePolicy(path string, err error) *hubapi.Error {
	return usagef("the trust policy %s cannot be used, so nothing is trusted: %v", path, err).
		With(hubapi.Detail{ID: sign.IDPolicyInvalid, Message: err.Error()}).
		WithHint("docs/settings.md has the grammar; kx trust list reads it")
}

// judgeByPolicy adds the policy's judgement to a verification, and what a log says
// where that is asked for.
func (a *app) judgeByPolicy(ctx context.Context, c *cli.Command, v *verified) error {
	policy, err := a.trustPolicy(c)
	if err != nil {
		a.note("%s: %s [%s]", a.program, termtext.Escape(err.Error()), sign.IDPolicyInvalid)
		return exitError(sign.ExitPolicy)
	}
	subject := v.subject
	if subject == "" && len(v.Signers) > 0 {
		subject = v.Signers[0].Subject
	}
	if subject == "" {
		subject = sign.LocalAuthor + "/" + v.Name
	}
	asked := c.Bool("log") || c.String("log-proof") != ""
	var facts sign.LogFacts
	if asked || policy != nil && policy.WantsLog(subject) || v.Publisher != nil && v.Publisher.list.WantsLog(v.Result) {
		if facts, err = a.logFacts(ctx, c, v, policy, subject); err != nil {
			return err
		}
		v.Log = &logFound{Proved: facts.Proved, VKey: facts.VKey, Why: facts.Why}
		if facts.Proved {
			v.Log.At = &facts.At
		}
	}
	unsigned := c.Bool("require-signed") && v.Signature == sign.Unsigned
	if policy != nil {
		judged := policy.Judge(v.Result, subject, facts, a.Now())
		if unsigned && judged.OK {
			// The policy lets it pass, the command line does not.
			judged.OK, judged.Exit = false, sign.ExitTrust
			judged.Problems = v.Problems
		}
		v.Policy = &judged
		v.Problems, v.OK = judged.Problems, judged.OK
		v.Warnings = append(v.Warnings, judged.Warnings...)
	}
	a.judgeByPublisher(v, facts)
	if asked && !facts.Proved && !slices.ContainsFunc(v.Problems, func(f sign.Finding) bool { return f.ID == sign.IDLogProof }) {
		v.Problems = append(v.Problems, sign.Finding{ID: sign.IDLogProof, Text: "no log proves that others get the same: " + facts.Why})
		if v.OK {
			v.OK, v.Exit = false, sign.ExitLog
			if v.Policy != nil {
				v.Policy.OK, v.Policy.Exit = false, sign.ExitLog
			}
		}
	}
	return nil
}

// exitCode is the policy's where there is one.
func (v verified) exitCode() int {
	if v.Policy != nil {
		return v.Policy.Exit
	}
	return v.Exit
}
