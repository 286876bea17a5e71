package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/sign"
)

func (a *app) keysCommand(category string) *cli.Command {
	return a.group("keys", "keep the keys that sign, and those that you trust", category,
		a.keysNew(), a.keysList(), a.keysShow(), a.keysImport(), a.keysExport(), a.keysRemove())
}

func passphraseFlag() cli.Flag {
	return &cli.StringFlag{Name: "passphrase-file", Usage: "the passphrase of the private key is the first line of `FILE`"}
}

// changeKeys opens the user's key ring for the time of use, and makes it where there
// is none.
func (a *app) changeKeys(use func(*sign.Keyring) error) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	root, err := fsx.OpenOrCreate(home.keys(), 0o700)
	if err != nil {
		return err
	}
	defer root.Close()
	return use(sign.NewKeyring(root))
}

// withKeys is changeKeys for commands that only read: they need no place to write. A
// ring that is not there is the error noRing.
func (a *app) withKeys(use func(*sign.Keyring) error) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	root, err := fsx.Open(home.keys())
	if errors.Is(err, fs.ErrNotExist) {
		return noRing()
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return use(sign.NewKeyring(root))
}

func noRing() error {
	return &sign.Error{ID: sign.IDKeyMissing, Text: "you have no keys", Hint: "kx keys new NAME"}
}

// isNoKey tells that a ring or a key is not there.
func isNoKey(err error) bool {
	e, ok := errors.AsType[*sign.Error](err)
	return ok && e.ID == sign.IDKeyMissing
}

// passphrase asks for the passphrase in --passphrase-file. Nothing prompts.
func (a *app) passphrase(c *cli.Command) sign.Ask {
	return func(name string) (string, error) {
		file := c.String("passphrase-file")
		if file == "" {
			return "", usagef("the key %s is encrypted: give its passphrase with --passphrase-file", name)
		}
		return a.readPassphrase(file)
	}
}

func (a *app) readPassphrase(file string) (string, error) {
	data, err := readLimited(a.path(file), maxPassphrase)
	if err != nil {
		return "", usagef("cannot read the passphrase: %v", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", usagef("the first line of %s is empty", file)
	}
	return line, nil
}

func (a *app) keysNew() *cli.Command {
	return a.leaf("new", "make an Ed25519 key", spec{
		args: "NAME", min: 1, max: 1,
		long: "The private half stays in KX_HOME/keys with mode 0600, encrypted when --passphrase-file is given. Give others\n" +
			"the public half, which is printed.",
		examples: []example{{"keys new me", "make a key called me"}},
	}, []cli.Flag{passphraseFlag(), jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		name := c.Args().First()
		var seal *sign.Seal
		if file := c.String("passphrase-file"); file != "" {
			passphrase, err := a.readPassphrase(file)
			if err != nil {
				return err
			}
			seal = &sign.Seal{Passphrase: passphrase}
		}
		return a.changeKeys(func(ring *sign.Keyring) error {
			key, err := ring.New(name, a.Rand, seal)
			if err != nil {
				return err
			}
			if seal == nil {
				a.note(unencrypted)
			}
			if c.Bool("json") {
				return a.printJSON(newKeyInfo(sign.Entry{Name: name, Key: key, Private: true, Encrypted: seal != nil}))
			}
			a.printf("key %s  %s  (%s)\n%s\n", name, key.ShortID(), key.Words(), key.String())
			return nil
		})
	})
}

// keyInfo is a key in --json documents.
type keyInfo struct {
	Name      string `json:"name"`
	KeyID     string `json:"keyid,omitempty"`
	Words     string `json:"words,omitempty"`
	Public    string `json:"public,omitempty"`
	Private   bool   `json:"private"`
	Encrypted bool   `json:"encrypted"`
	Problem   string `json:"problem,omitempty"`
}

func newKeyInfo(e sign.Entry) keyInfo {
	info := keyInfo{Name: e.Name, Private: e.Private, Encrypted: e.Encrypted, Problem: e.Problem}
	if e.Problem == "" {
		info.KeyID, info.Words, info.Public = e.Key.ID(), e.Key.Words(), e.Key.String()
	}
	return info
}

func (a *app) keysList() *cli.Command {
	return a.leaf("list", "list your keys and the keys that you trust", spec{
		examples: []example{{"keys list", "one line per key"}},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		var entries []sign.Entry
		err := a.withKeys(func(ring *sign.Keyring) (err error) {
			entries, err = ring.List()
			return err
		})
		if err != nil && !isNoKey(err) {
			return err
		}
		if c.Bool("json") {
			infos := make([]keyInfo, 0, len(entries))
			for _, e := range entries {
				infos = append(infos, newKeyInfo(e))
			}
			return a.printJSON(map[string]any{"keys": infos})
		}
		if len(entries) == 0 {
			a.printf("(no keys; make one with: %s keys new NAME)\n", a.program)
		}
		for _, e := range entries {
			a.printf("%s\n", keyLine(e))
		}
		return nil
	})
}

func keyLine(e sign.Entry) string {
	if e.Problem != "" {
		return fmt.Sprintf("%s  cannot be used: %s", e.Name, e.Problem)
	}
	kind := "trusted"
	switch {
	case e.Encrypted:
		kind = "own, encrypted"
	case e.Private:
		kind = "own"
	}
	return fmt.Sprintf("%s  %s  %s  (%s)", e.Name, e.Key.ShortID(), kind, e.Key.Words())
}

func (a *app) keysShow() *cli.Command {
	return a.leaf("show", "show one key", spec{
		args: "NAME", min: 1, max: 1,
		examples: []example{{"keys show me", "its id, its words and its public half"}},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		return a.withKeys(func(ring *sign.Keyring) error {
			entries, err := ring.List()
			if err != nil {
				return err
			}
			for _, e := range entries {
				if e.Name != c.Args().First() {
					continue
				}
				if c.Bool("json") {
					return a.printJSON(newKeyInfo(e))
				}
				a.printf("%s\n", keyLine(e))
				if e.Problem == "" {
					a.printf("keyid %s\n%s\n", e.Key.ID(), e.Key.String())
				}
				return nil
			}
			_, err = ring.Public(c.Args().First())
			return err
		})
	})
}

func (a *app) keysImport() *cli.Command {
	return a.leaf("import", "trust somebody's public key, or bring a private key of your own", spec{
		args: "NAME FILE", min: 2, max: 2, there: 2,
		long: "FILE holds a public key (PEM, or one line that begins with skey1:) or a private one (PKCS#8 PEM, or the same\n" +
			"inside an age file). What an imported key signed counts as trusted: compare the words with its owner first.",
		examples: []example{{"keys import acme acme.pub", "trust the key in acme.pub and call it acme"}},
	}, []cli.Flag{passphraseFlag(), jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		file := c.Args().Get(1)
		data, err := readCapped(a.path(file), sign.MaxKeyFile+1)
		if err != nil {
			return usagef("cannot read the key: %v", err)
		}
		if data, err = a.sealed(c, data); err != nil {
			return err
		}
		return a.changeKeys(func(ring *sign.Keyring) error {
			entry, err := ring.Import(c.Args().First(), data, a.passphrase(c))
			if err != nil {
				return err
			}
			if entry.Private && !entry.Encrypted {
				a.note(unencrypted)
			}
			if entry.Private {
				a.warnReadable(file)
			}
			if c.Bool("json") {
				return a.printJSON(newKeyInfo(entry))
			}
			a.printf("%s\n", keyLine(entry))
			return nil
		})
	})
}

// warnReadable says that others can read the file of a private key.
func (a *app) warnReadable(file string) {
	info, err := os.Stat(a.path(file))
	if err != nil || a.OS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return
	}
	a.note("%s: warning: others can read the private key in %s (mode %04o)\n  hint: chmod 600 %s", a.program,
		termtext.Escape(file), info.Mode().Perm(), termtext.Escape(shellQuote(file)))
}

const unencrypted = "the private key is not encrypted; whoever reads the file can sign (--passphrase-file encrypts it)"

// sealed encrypts an unencrypted private key with the passphrase that was given for
// it.
func (a *app) sealed(c *cli.Command, data []byte) ([]byte, error) {
	file := c.String("passphrase-file")
	if file == "" || sign.IsEncrypted(data) {
		return data, nil
	}
	key, err := sign.ParsePrivateKey(data, nil)
	if err != nil {
		return data, nil // a public key, or none: importing tells
	}
	passphrase, err := a.readPassphrase(file)
	if err != nil {
		return nil, err
	}
	return key.Encrypt(sign.Seal{Passphrase: passphrase})
}

func (a *app) keysExport() *cli.Command {
	return a.leaf("export", "print the public half of a key", spec{
		args: "NAME", min: 1, max: 1,
		long:     "The private half is the file NAME.key in KX_HOME/keys; kx never prints it.",
		examples: []example{{"keys export me", "as PEM, which other tools read too"}},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		return a.withKeys(func(ring *sign.Keyring) error {
			pem, err := ring.Export(c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(map[string]string{"name": c.Args().First(), "pem": string(pem)})
			}
			_, err = a.Stdout.Write(pem)
			return err
		})
	})
}

func (a *app) keysRemove() *cli.Command {
	return a.leaf("remove", "delete a key, both halves", spec{
		args: "NAME", min: 1, max: 1,
		long:     "A private key that is stored nowhere else is gone for good; what it signed stays signed.",
		examples: []example{{"keys remove acme", "stop trusting the key acme"}},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		return a.withKeys(func(ring *sign.Keyring) error {
			if err := ring.Remove(c.Args().First()); err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(map[string]any{"removed": true, "name": c.Args().First()})
			}
			a.printf("removed %s\n", c.Args().First())
			return nil
		})
	})
}
