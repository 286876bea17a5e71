package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

func verifyExitRows() []exitRow {
	return []exitRow{
		{sign.ExitIntegrity, "`kx verify`: the files are not those that were signed or installed"},
		{sign.ExitSignature, "`kx verify`: a signature is invalid or was taken away, or is about another name or version"},
		{sign.ExitTrust, "`kx verify`: signed by no key that you trust, or outside of its time, or not at all though it is required"},
		{sign.ExitLog, "`kx verify`: the trust policy wants a log's proof, and there is none"},
		{sign.ExitPolicy, "`kx verify`: the trust policy cannot be read"},
	}
}

func (a *app) verifyCommand() *cli.Command {
	return a.leaf("verify", "compare a pack, or an installed skill, with what was signed", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "Looks for NAME@VERSION.sig.json beside the pack; in an installed skill for what was kept when it was installed.\n" +
			"Every file is compared, and what differs is named: added, missing, changed, renamed. Keys in your ring count as\n" +
			"trusted. A pack without a signature passes with a warning, unless --require-signed.\n\n" +
			"A trust policy says whose keys count for which authors, how many must have signed, and what is blocked; what it\n" +
			"covers is decided by it alone. A policy that cannot be read trusts nobody.\n\n" +
			"Where you have seen the author's list of keys (kx trust publisher show), one of them must have signed, and your hub\n" +
			"is asked for a newer list unless --offline.\n\n" +
			"With --log, or where the policy asks for it, a hub's log must have the release. A proof that kx pull put beside it,\n" +
			"or that was kept when it was installed, shows that without a network; else your hub is asked, unless --offline.\n\n" +
			"Exit 0 verified, 10 other files, 11 bad signature, 12 not trusted, 13 not proved by a log, 14 no\n" +
			"valid policy.",
		choices: map[string][]string{"pack-format": packFormats(), "hmac-policy": {string(sign.Require), string(sign.Accept), string(sign.Off)}},
		examples: []example{
			{"verify triage", "with the signature beside it"},
			{"verify .claude/skills/triage", "an installed skill"},
			{"verify triage --require-signed --author acme --json", "for scripts"},
			{"verify triage --log", "and a hub's log must have it"},
		},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "signature", Usage: "the signature is in `FILE`"},
		&cli.BoolFlag{Name: "require-signed", Usage: "refuse a pack without a key signature"},
		&cli.StringFlag{Name: "author", Usage: "it must be signed as a skill of `AUTHOR`"},
		&cli.StringFlag{Name: "version", Usage: "it must be signed as `VERSION`"},
		&cli.StringFlag{Name: "digest", Usage: "its digest must be `DIGEST`"},
		policyFlag(),
		&cli.BoolFlag{Name: "log", Usage: "a hub's log must have it"},
		&cli.StringFlag{Name: "log-proof", Usage: "the log's proof is in `FILE`"},
		&cli.BoolFlag{Name: "offline", Usage: "do not ask a hub; a proof must be there"},
		&cli.StringFlag{Name: "hmac-policy", Value: string(sign.Accept), Usage: "judge shared-secret signatures by `POLICY`: require, accept or off"},
		packFormatFlag(formatFlag),
		previousSecretFlag(),
	}, append(secretFlags(), clientFlags()...)...), a.runVerify)
}

func (a *app) runVerify(ctx context.Context, c *cli.Command) error {
	dir := a.path(c.Args().First())
	input, err := a.verifyInput(c)
	if err != nil {
		return err
	}
	judge := a.verifyPack
	if _, err := os.Lstat(filepath.Join(dir, markerName)); err == nil {
		judge = a.judgeInstalled
	}
	v, err := judge(c, dir, input)
	if err != nil {
		return err
	}
	// Whose list of keys counts is known once it is known who signed.
	if v.Publisher, err = a.publisherFor(ctx, c, v.author()); err != nil {
		return err
	}
	if j := v.Publisher; j != nil {
		input.Trusted = accept.WithListed(input.Trusted, j.list)
		if v, err = judge(c, dir, input); err != nil {
			return err
		}
		v.Publisher = j
	}
	return a.reportVerified(ctx, c, v)
}

// verifyPack compares a pack with the signature beside it.
func (a *app) verifyPack(c *cli.Command, dir string, input sign.VerifyInput) (verified, error) {
	format, err := packFormat(c.String("pack-format"))
	if err != nil {
		return verified{}, err
	}
	in, err := pack.Inspect(dir, pack.Options{Format: format})
	if err != nil {
		return verified{}, err
	}
	signature, err := a.findSignature(c, dir, in, &input)
	if err != nil {
		return verified{}, err
	}
	if author := c.String("author"); author != "" {
		input.ExpectedSubject = author + "/" + in.Name
	}
	subject := input.ExpectedSubject
	result := sign.VerifyInspection(in, input)
	if c.String("version") != "" {
		result = boundVersion(result)
	}
	v := verified{Result: result, Signed: result.Signature != sign.Unsigned, subject: subject}
	if signature == "" {
		// There is none, or none of its own; a proof would be called after it.
		signature = filepath.Join(dir, "..", in.Name+"@"+first(c.String("version"), result.Version)+".sig.json")
	}
	v.proofs = []string{strings.TrimSuffix(signature, ".sig.json") + translog.ProofSuffix}
	return v, nil
}

// verified is the --json document of kx verify: the verification's own keys, and
// what the command knows about the place.
type verified struct {
	sign.Result
	Signed    bool           `json:"signed"`
	Installed bool           `json:"installed"`
	OnDisk    []diskMismatch `json:"on_disk,omitempty"` // an installed skill's files that are not as we wrote them
	// Policy is the judgement of a trust policy, where there is one. It decides
	// instead of the exit code above.
	Policy *sign.TrustResult `json:"policy,omitempty"`

	// Publisher is the judgement of the author's own list of keys, where one was seen.
	Publisher *publisherJudged `json:"publisher,omitempty"`

	// Log is what a hub's log proves of it, where that was asked.
	Log *logFound `json:"log,omitempty"`

	proofs  []string // files that may hold a log's proof
	subject string   // author/name as the user or the marker says; empty: as the signature does
}

// logFound is what a log proves of a pack.
type logFound struct {
	Proved bool       `json:"proved"`
	At     *time.Time `json:"at,omitempty"` // of the entry
	VKey   string     `json:"vkey,omitempty"`
	Why    string     `json:"why,omitempty"` // why nothing is proved
}

// diskMismatch is one file of an installed skill that is not as we wrote it.
type diskMismatch struct {
	Change string `json:"change"`
	Path   string `json:"path"`
}

func (a *app) verifyInput(c *cli.Command) (sign.VerifyInput, error) {
	policy, err := sign.ParsePolicy(c.String("hmac-policy"))
	if err != nil {
		return sign.VerifyInput{}, usagef("%v", err)
	}
	secrets, err := a.secrets(c)
	if err != nil {
		return sign.VerifyInput{}, err
	}
	input := sign.VerifyInput{
		Now: a.Now(), Secrets: secrets, KazmaPolicy: policy,
		RequireSigned:   c.Bool("require-signed"),
		ExpectedVersion: c.String("version"),
		ExpectedDigest:  pack.Digest(c.String("digest")),
	}
	if input.Trusted, err = a.trustedKeys(); err != nil {
		return input, err
	}
	home, err := a.home()
	if err != nil {
		return input, err
	}
	input.Known, err = accept.Publishers{Dir: home.publishers()}.Seen()
	return input, err
}

// trustedKeys are all keys of the user's ring. Looking for them makes no folder.
func (a *app) trustedKeys() ([]sign.NamedKey, error) {
	var keys []sign.NamedKey
	err := a.withKeys(func(ring *sign.Keyring) (err error) {
		keys, err = ring.Trusted()
		return err
	})
	if isNoKey(err) {
		return nil, nil
	}
	return keys, err
}

// boundVersion refuses a signature that any version may carry, where the user asked
// for one.
func boundVersion(r sign.Result) sign.Result {
	for _, w := range r.Warnings {
		if w.ID == sign.IDNoVersion && r.OK {
			r.OK, r.Exit = false, sign.ExitSignature
			r.Problems = append(r.Problems, w)
		}
	}
	return r
}

// findSignature loads the signature that is named or lies beside the pack, and gives
// its file.
func (a *app) findSignature(c *cli.Command, dir string, in *pack.Inspection, input *sign.VerifyInput) (string, error) {
	file := c.String("signature")
	if file == "" && in.Pack == nil {
		return "", nil // nothing is named after a pack that cannot be read
	}
	var candidates []string
	if file != "" {
		candidates = []string{a.path(file)}
	} else {
		for _, version := range []string{first(c.String("version"), in.Pack.Version), ""} {
			beside, err := a.signatureFile("", dir, in.Name, version)
			if err != nil {
				return "", err
			}
			candidates = append(candidates, beside)
		}
	}
	if file == "" && in.Pack.Version == "" && c.String("version") == "" {
		// Only the signature's own name says which version it is of.
		found, err := onlySignatureOf(dir, in.Name)
		if err != nil {
			return "", err
		}
		candidates = append(candidates, found...)
	}
	for _, candidate := range candidates {
		data, err := readCapped(candidate, sign.MaxSignatureFile+1)
		if errors.Is(err, fs.ErrNotExist) && file == "" {
			continue
		}
		if err != nil {
			return "", usagef("cannot read the signature: %v", err)
		}
		input.SignatureFile = data
		return candidate, nil
	}
	return "", nil
}

// onlySignatureOf finds NAME@VERSION.sig.json beside a pack that names no version.
// Several could each be meant, so they have to be named.
func onlySignatureOf(dir, name string) ([]string, error) {
	parent := filepath.Join(dir, "..")
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, nil // nothing can lie beside it, then
	}
	var found []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+"@") && strings.HasSuffix(e.Name(), ".sig.json") {
			found = append(found, filepath.Join(parent, e.Name()))
		}
	}
	if len(found) > 1 {
		return nil, usagef("%d signatures lie beside %s, and it does not say which version it is", len(found), name).
			WithHint("name one with --signature, or the version with --version")
	}
	return found, nil
}

func (a *app) reportVerified(ctx context.Context, c *cli.Command, v verified) error {
	if err := a.judgeByPolicy(ctx, c, &v); err != nil {
		return err
	}
	if c.Bool("json") {
		if err := a.printJSON(v); err != nil {
			return err
		}
	} else {
		a.printVerified(v)
	}
	for i, w := range v.Warnings {
		if i == maxRows {
			a.note("%s: and %d more warnings; --json lists them all", a.program, len(v.Warnings)-i)
			break
		}
		a.note("%s: warning: %s", a.program, termtext.Escape(w.Text))
	}
	for _, h := range v.HMAC {
		if h.State == sign.HMACVerified && h.Secret > 1 {
			a.note("%s: warning: signed with a previous secret; sign it again with the current one", a.program)
		}
	}
	if exit := v.exitCode(); exit != 0 {
		return exitError(exit)
	}
	return nil
}

func (a *app) printVerified(v verified) {
	subject := v.Name
	if len(v.Signers) > 0 {
		subject = v.Signers[0].Subject
	}
	verdict := "verified"
	switch {
	case v.exitCode() != 0:
		verdict = "NOT VERIFIED"
	case !v.Signed && slices.ContainsFunc(v.HMAC, func(h sign.HMACResult) bool { return h.State == sign.HMACVerified }):
		verdict = "verified, by shared secret only"
	case !v.Signed:
		verdict = "unsigned"
	}
	if v.Version != "" {
		subject += "@" + v.Version
	}
	a.printf("%s  %s\n", subject, verdict)
	if v.Digest != "" {
		a.printf("  digest     %s\n", string(v.Digest))
	}
	for _, s := range v.Signers {
		trust := "a trusted key"
		if !s.Trusted {
			trust = "a key that you do not trust"
		}
		a.printf("  signed by  %s, %s: %s (%s), %s\n", s.Name, trust, shorten(s.KeyID, 16), s.Words, s.SignedAt)
	}
	for _, id := range v.UnknownKeys {
		a.printf("  signed by  an unknown key that calls itself %s\n", id)
	}
	for _, h := range v.HMAC {
		if h.State == sign.HMACVerified {
			a.printf("  hmac       verified with the %s secret\n", h.Secret.String())
		}
	}
	if j := v.Publisher; j != nil && v.Signed {
		a.printJudged(j)
	}
	if v.Log != nil && v.Log.Proved {
		origin, _, _ := translog.SplitVerifierKey(v.Log.VKey)
		a.printf("  logged     by %s, %s\n", origin, v.Log.At.UTC().Format(time.RFC3339))
	}
	a.some(len(v.Differences), maxRows, func(i int) {
		a.printf("  %-9s  %s\n", string(v.Differences[i].Kind), v.Differences[i].Path)
	})
	a.some(len(v.OnDisk), maxRows, func(i int) {
		a.printf("  %-9s  %s\n", v.OnDisk[i].Change, v.OnDisk[i].Path)
	})
	a.some(len(v.Problems), maxRows, func(i int) {
		a.printf("  problem    %s [%s]\n", v.Problems[i].Text, v.Problems[i].ID)
	})
}
