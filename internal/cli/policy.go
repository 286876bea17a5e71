package cli

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/sign"
)

// policyFile is the trust policy that is used without --policy.
const policyFile = "trust.yaml"

// trustPolicy reads the policy of the command line, or the user's own; nil when there
// is none. One that cannot be read ends the command with its own exit code: it must
// never count as none.
func (a *app) trustPolicy(c *cli.Command) (*sign.TrustPolicy, error) {
	path := a.path(c.String("policy"))
	if c.String("policy") == "" {
		home, err := a.home()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(home.config, policyFile)
	}
	data, err := readCapped(path, sign.MaxTrustPolicy+1)
	if errors.Is(err, fs.ErrNotExist) && c.String("policy") == "" {
		return nil, nil
	}
	var policy sign.TrustPolicy
	if err == nil {
		policy, err = sign.ParseTrustPolicy(data)
	}
	if err != nil {
		a.note("%s: the trust policy %s cannot be used, so nothing is trusted: %s [%s]", a.program, termtext.Escape(path), termtext.Escape(err.Error()), sign.IDPolicyInvalid)
		return nil, exitError(sign.ExitPolicy)
	}
	return &policy, nil
}

// judgeByPolicy adds the policy's judgement to a verification.
func (a *app) judgeByPolicy(c *cli.Command, v *verified) error {
	policy, err := a.trustPolicy(c)
	if policy == nil {
		return err
	}
	subject := v.subject
	if subject == "" && len(v.Signers) > 0 {
		subject = v.Signers[0].Subject
	}
	if subject == "" {
		subject = sign.LocalAuthor + "/" + v.Name
	}
	judged := policy.Judge(v.Result, subject, sign.LogFacts{}, a.Now())
	v.Policy = &judged
	v.Problems, v.OK = judged.Problems, judged.OK
	v.Warnings = append(v.Warnings, judged.Warnings...)
	return nil
}

// exitCode is the policy's where there is one.
func (v verified) exitCode() int {
	if v.Policy != nil {
		return v.Policy.Exit
	}
	return v.Exit
}
