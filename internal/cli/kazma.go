package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// kazmaHubCommand holds the hub commands with the reference's words and outputs.
func (a *app) kazmaHubCommand() *cli.Command {
	hub := a.group("hub", "find, install, sign, publish and certify skills", "",
		a.kazmaSearch(), a.kazmaInfo(), a.kazmaList(),
		a.kazmaInstall(), a.kazmaUpdate(), a.kazmaUninstall(),
		a.kazmaSign(), a.kazmaVerify(), a.kazmaValidate(), a.kazmaCheckCertification(),
		a.kazmaRegister(), a.kazmaImport(), a.kazmaPublish(), a.kazmaSubmit(), a.kazmaStatus(), a.kazmaBadge(), a.kazmaCertified(), a.kazmaStats(),
		a.kazmaCertify(), a.kazmaAttest(), a.kazmaRevoke(),
	)
	hub.Flags = kazmaGroupFlags()
	return hub
}

// skillFolder is the argument of a kazma command. One that is not there is a usage
// error, as in the reference.
func (a *app) skillFolder(c *cli.Command) (string, error) {
	return a.path(c.Args().First()), nil
}

func (a *app) kazmaSign() *cli.Command {
	return a.leaf("sign", "sign a skill with KAZMA_SECRET", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "Puts checksum (SHA-256 of the entry file) and signature (HMAC-SHA256 of the checksum) into skill_manifest.yaml,\n" +
			"and changes nothing else there. Without a secret it refuses; none is made up.",
		examples: []example{{"hub sign demo", "sign the skill in the folder demo"}},
	}, append(secretFlags(), jsonFlag()), func(_ context.Context, c *cli.Command) error {
		dir, err := a.skillFolder(c)
		if err != nil {
			return err
		}
		if info, err := os.Stat(filepath.Join(dir, pack.Kazma.ManifestFile())); err != nil || info.IsDir() {
			return hubapi.Errorf(hubapi.NotFound, "no %s in %s", pack.Kazma.ManifestFile(), c.Args().First())
		}
		secret, err := a.secret(c)
		if err != nil {
			return err
		}
		if len(secret) == 0 {
			return hubapi.Errorf(hubapi.Precondition, "KAZMA_SECRET is not set").WithHint("export KAZMA_SECRET, or use --secret-file")
		}
		p, err := a.signable(dir, string(pack.Kazma))
		if err != nil {
			return err
		}
		pair, err := signKazma(dir, p, secret)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return a.printJSON(map[string]any{"name": p.Name, "file": p.Kazma.EntryFile, "checksum": pair.Checksum, "signature": pair.Signature})
		}
		a.printf("Signed %s for skill '%s'\n", filepath.Base(p.Kazma.EntryFile), p.Name)
		a.printf("  Checksum:  %s...\n  Signature: %s...\n", shorten(pair.Checksum, 32), shorten(pair.Signature, 32))
		return nil
	})
}

func (a *app) kazmaValidate() *cli.Command {
	return a.leaf("validate", "check a skill's manifest, entry point, permissions and Python code", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "The security score is a lint of the Python text: it finds carelessness, not malice. Exit 1 when validation fails.\n" +
			"A signature is checked too when KAZMA_SECRET is set.",
		examples: []example{{"hub validate demo", "the reference's report"}, {"hub validate demo --json", "the same as JSON"}},
	}, append(secretFlags(), jsonFlag()), func(_ context.Context, c *cli.Command) error {
		dir, err := a.skillFolder(c)
		if err != nil {
			return err
		}
		validation, err := conformance.ValidateKazma(dir)
		if err != nil {
			return err
		}
		validation.Path = c.Args().First()
		if err := a.checkKazmaSignature(c, dir, validation); err != nil {
			return err
		}
		write := validation.WriteText
		if c.Bool("json") {
			write = validation.WriteJSON
			a.printed = true
		}
		if err := write(a.Stdout); err != nil {
			return err
		}
		if !validation.Passed {
			return exitError(hubapi.ExitFailed)
		}
		return nil
	})
}

// checkKazmaSignature adds what the signature says to a validation: the documented
// next step after signing is to validate, so a bad signature must not pass.
func (a *app) checkKazmaSignature(c *cli.Command, dir string, v *conformance.KazmaValidation) error {
	secrets, err := a.secrets(c)
	if err != nil {
		return err
	}
	p, err := pack.Open(dir, pack.Options{Format: pack.Kazma})
	if err != nil {
		return nil // the validation has said so already
	}
	policy := sign.Accept
	if secrets.Empty() && p.Kazma.Signature != "" {
		a.note("%s: the signature was not checked: KAZMA_SECRET is not set", a.program)
		if fault := sign.PairFault(p); fault != nil {
			v.Errors = append(v.Errors, fault.Text)
			v.Passed = false
		}
		return nil
	}
	result := sign.VerifyKazma(p, secrets, policy)
	if result.Problem != nil {
		v.Errors = append(v.Errors, result.Problem.Text)
		v.Passed = false
	}
	if result.Warning != nil && result.State != sign.HMACUnsigned {
		v.Warnings = append(v.Warnings, result.Warning.Text)
	}
	return nil
}
