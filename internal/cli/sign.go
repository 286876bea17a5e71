package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

func (a *app) signCommand() *cli.Command {
	return a.leaf("sign", "vouch for a pack with a key of yours, or with a shared secret", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "With a key: one statement over every file, the author, the name and the version, in the file\n" +
			"NAME@VERSION.sig.json beside the pack's folder.\n\n" +
			"With --hmac: the HMAC-SHA256 of Kazma. In a kazma pack it covers the entry file and goes into the manifest; for the\n" +
			"other formats it covers the digest and goes into the signature file. A kazma pack is changed by it, so sign with the\n" +
			"secret first and with the key afterwards.",
		choices: map[string][]string{"pack-format": packFormats()},
		examples: []example{
			{"sign triage --key me --author acme", "sign the pack as acme/triage"},
			{"sign triage --hmac --secret-file secret", "with a shared secret"},
		},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "key", Usage: "sign with the key called `NAME` (default: your only one)"},
		&cli.StringFlag{Name: "author", Usage: "sign as a skill of `AUTHOR` (default: the manifest's or the configured author, else local)"},
		&cli.StringFlag{Name: "version", Usage: "sign as `VERSION`; for skill-md packs, whose manifest may name none"},
		&cli.DurationFlag{Name: "expires", Usage: "the signature ends after `DURATION`, such as 720h (default: never)"},
		passphraseFlag(),
		&cli.BoolFlag{Name: "hmac", Usage: "sign with a shared secret (implied by --secret-file and --secret)"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the signature to `FILE` instead of beside the pack"},
		packFormatFlag(formatFlag),
		jsonFlag(),
	}, secretFlags()...), a.runSign)
}

// signResult is the --json document of kx sign.
type signResult struct {
	Name    string      `json:"name"`
	Author  string      `json:"author,omitempty"`
	Version string      `json:"version"`
	Digest  pack.Digest `json:"digest"`
	Key     string      `json:"key,omitempty"`
	KeyID   string      `json:"keyid,omitempty"`
	HMAC    *sign.Pair  `json:"hmac,omitempty"`
	File    string      `json:"file"`
}

func (a *app) runSign(_ context.Context, c *cli.Command) error {
	dir := a.path(c.Args().First())
	p, err := a.signable(dir, c.String("pack-format"))
	if err != nil {
		return err
	}
	withSecret := c.Bool("hmac") || c.IsSet("secret-file") || c.IsSet("secret")
	if withSecret {
		if c.String("key") != "" && p.Format == pack.Kazma {
			return usagef("a kazma pack is signed with the secret first, and then with the key: its manifest changes in between").
				WithHint("%s --hmac, then %s --key %s", c.FullName(), c.FullName(), c.String("key"))
		}
		if p.Format == pack.Kazma {
			return a.signManifest(c, dir, p)
		}
	}
	return a.signDetached(c, dir, p, withSecret)
}

// signable reads a pack that may be signed.
func (a *app) signable(dir, format string) (*pack.Pack, error) {
	f, err := packFormat(format)
	if err != nil {
		return nil, err
	}
	in, err := pack.Inspect(dir, pack.Options{Format: f})
	if err != nil {
		return nil, err
	}
	if err := sign.Signable(in); err != nil {
		return nil, err
	}
	return in.Pack, nil
}

// needSecret is secret, refusing to go on without one.
func (a *app) needSecret(c *cli.Command) ([]byte, error) {
	secret, err := a.secret(c)
	if err == nil && len(secret) == 0 {
		err = usagef("no secret: set KAZMA_SECRET or use --secret-file")
	}
	return secret, err
}

// signManifest writes the two lines of a kazma manifest.
func (a *app) signManifest(c *cli.Command, dir string, p *pack.Pack) error {
	secret, err := a.needSecret(c)
	if err != nil {
		return err
	}
	pair, err := signKazma(dir, p, secret)
	if err != nil {
		return err
	}
	signed, err := pack.Open(dir, pack.Options{Format: pack.Kazma})
	if err != nil {
		return err
	}
	result := signResult{
		Name: p.Name, Author: p.Author, Version: p.Version, Digest: signed.Digest(),
		HMAC: &pair, File: filepath.Join(dir, pack.Kazma.ManifestFile()),
	}
	if c.Bool("json") {
		return a.printJSON(result)
	}
	a.printf("signed %s@%s with a shared secret\n  checksum   %s\n  signature  %s\n  in         %s\n", p.Name, p.Version, pair.Checksum, pair.Signature, result.File)
	return nil
}

// signKazma is the signing of both programs.
func signKazma(dir string, p *pack.Pack, secret []byte) (sign.Pair, error) {
	manifest, pair, err := sign.SignKazma(p, secret)
	if err != nil {
		return sign.Pair{}, err
	}
	file := filepath.Join(dir, pack.Kazma.ManifestFile())
	info, err := os.Lstat(file)
	if err != nil {
		return sign.Pair{}, err
	}
	return pair, fsx.WriteFileAt(file, manifest, info.Mode().Perm())
}

func (a *app) signDetached(c *cli.Command, dir string, p *pack.Pack, withSecret bool) error {
	version := first(c.String("version"), p.Version)
	file, err := a.signatureFile(c.String("output"), dir, p.Name, version)
	if err != nil {
		return err
	}
	if inside, err := within(dir, file); err != nil || inside {
		return cmp.Or(err, error(usagef("%s lies inside of the pack, which it would change", file)))
	}
	result := signResult{Name: p.Name, Version: version, Digest: p.Digest(), File: file}
	if withSecret {
		secret, err := a.needSecret(c)
		if err != nil {
			return err
		}
		pair, err := sign.HMACPair(p, secret)
		if err != nil {
			return err
		}
		result.HMAC = &pair
	}
	var envelope sign.Envelope
	var by sign.PublicKey
	if !withSecret || c.String("key") != "" {
		statement, err := a.statement(c, p, version)
		if err != nil {
			return err
		}
		name, key, err := a.signingKey(c)
		if err != nil {
			return err
		}
		if envelope, err = sign.Sign(statement, key); err != nil {
			return err
		}
		by = key.Public()
		result.Author, result.Key, result.KeyID = statement.Author, name, by.ID()
	}
	before := ""
	err = changeSignatures(file, func(signatures *sign.SignatureFile) error {
		before = authorOf(signatures)
		if result.HMAC != nil {
			signatures.HMAC = result.HMAC
		}
		if result.Key == "" {
			return nil
		}
		return signatures.Add(envelope, by)
	})
	if err != nil {
		return err
	}
	if result.Key != "" && before != "" && before != result.Author {
		a.note("the signature that was there is for the author %s, this one is for %s; a hub takes it as %s/%s (choose with --author)",
			termtext.Escape(before), termtext.Escape(result.Author), termtext.Escape(result.Author), termtext.Escape(p.Name))
	}
	if c.Bool("json") {
		return a.printJSON(result)
	}
	if result.Key != "" {
		a.printf("signed %s/%s@%s with the key %s\n", result.Author, p.Name, version, result.Key)
	}
	if result.HMAC != nil {
		a.printf("signed %s@%s with a shared secret\n", p.Name, version)
	}
	a.printf("  digest  %s\n  in      %s\n", string(result.Digest), file)
	return nil
}

// signatureFile is where the signature of a pack lies: beside its folder, unless
// the user names a file.
func (a *app) signatureFile(given, dir, name, version string) (string, error) {
	if given != "" {
		return a.path(given), nil
	}
	file, err := sign.FileName(name, version)
	if err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(absolute), file)
	if filepath.IsAbs(dir) {
		return beside, nil
	}
	return filepath.Join(dir, "..", file), nil
}

// within tells whether file lies below dir.
func within(dir, file string) (bool, error) {
	var absolute [2]string
	for i, p := range []string{dir, filepath.Dir(file)} {
		p, err := filepath.Abs(p)
		if err != nil {
			return false, err
		}
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		absolute[i] = p
	}
	rel, err := filepath.Rel(absolute[0], absolute[1])
	return err == nil && filepath.IsLocal(rel), nil
}

// changeSignatures adds to a signature file. Those who sign one pack at the same time
// take turns, so that every signature stays.
func changeSignatures(file string, change func(*sign.SignatureFile) error) error {
	unlock, err := fsx.LockDir(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer unlock()
	signatures, err := readSignatures(file)
	if err != nil {
		return err
	}
	if err := change(signatures); err != nil {
		return err
	}
	data, err := signatures.Marshal()
	if err != nil {
		return err
	}
	return fsx.WriteFileAt(file, data, 0o644)
}

// readSignatures reads a signature file to add to; absent is empty.
func readSignatures(file string) (*sign.SignatureFile, error) {
	data, err := readCapped(file, sign.MaxSignatureFile+1)
	if errors.Is(err, fs.ErrNotExist) {
		return &sign.SignatureFile{}, nil
	}
	if err != nil {
		return nil, err
	}
	signatures, err := sign.ReadSignatureFile(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return signatures, nil
}

func (a *app) statement(c *cli.Command, p *pack.Pack, version string) (sign.Statement, error) {
	settings, err := a.settings(c)
	if err != nil {
		return sign.Statement{}, err
	}
	author := c.String("author")
	if author == "" && p.Author == "" {
		author = settings.author
	}
	now := a.Now().UTC().Truncate(time.Second)
	if v := c.String("version"); v != "" {
		if err := hubapi.CheckVersion(v); err != nil {
			return sign.Statement{}, asUsage(asHubError(err), "--version")
		}
	}
	options := sign.StatementOptions{Author: author, SignedAt: now}
	if p.Format == pack.SkillMD {
		options.Version = version
	} else if v := c.String("version"); v != "" && v != p.Version {
		return sign.Statement{}, usagef("the manifest says version %s; --version is for skill-md packs", p.Version)
	}
	switch lifetime := c.Duration("expires"); {
	case lifetime < 0:
		return sign.Statement{}, usagef("--expires needs a positive duration")
	case lifetime > 0:
		options.Expires = now.Add(lifetime)
	}
	return sign.NewStatement(p, options)
}

// signingKey opens the key that --key names, or the user's only one.
func (a *app) signingKey(c *cli.Command) (name string, key sign.PrivateKey, err error) {
	err = a.withKeys(func(ring *sign.Keyring) (err error) {
		name = c.String("key")
		if name == "" {
			if name, err = onlyOwnKey(ring); err != nil {
				return err
			}
		}
		key, err = ring.Get(name, a.passphrase(c))
		return err
	})
	return name, key, err
}

func onlyOwnKey(ring *sign.Keyring) (string, error) {
	entries, err := ring.List()
	if err != nil {
		return "", err
	}
	var own []string
	for _, e := range entries {
		if e.Private {
			own = append(own, e.Name)
		}
	}
	switch len(own) {
	case 0:
		return "", usagef("you have no key to sign with").WithHint("kx keys new NAME, or --hmac for a shared secret")
	case 1:
		return own[0], nil
	}
	return "", usagef("you have %d keys: say which with --key", len(own)).WithHint("kx keys list")
}
