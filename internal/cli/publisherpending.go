package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/sign"
)

// pendingDoc is a list of keys that waits for signatures, in --json documents.
type pendingDoc struct {
	Author    string      `json:"author"`
	Version   int64       `json:"version"`
	Threshold int         `json:"threshold"`
	Keys      []policyKey `json:"keys"`
	// SignedBy are those of Keys that signed it.
	SignedBy []string          `json:"signed_by"`
	Missing  int               `json:"missing"` // signatures by Keys until the threshold
	Revoked  []sign.RevokedKey `json:"revoked"`
	Expires  string            `json:"expires"`
	File     string            `json:"file"`
}

func pendingFlag() cli.Flag {
	return &cli.StringFlag{Name: "pending", Usage: "write the list to `FILE` for others to sign, and publish nothing"}
}

// keepPending writes a list that waits for signatures.
func (a *app) keepPending(c *cli.Command, file string, p sign.Publication) error {
	data, err := p.Envelope.Marshal()
	if err != nil {
		return err
	}
	root, err := fsx.Open(filepath.Dir(file))
	if err != nil {
		return usagef("cannot write %s: %v", file, err)
	}
	defer root.Close()
	if err := root.WriteFile(filepath.Base(file), data, 0o644); err != nil {
		return err
	}
	return a.printPending(c, file, p)
}

func (a *app) printPending(c *cli.Command, file string, p sign.Publication) error {
	ring, err := a.trustedKeys()
	if err != nil {
		return err
	}
	d := pendingDoc{
		Author: p.Document.Owner, Version: p.Document.Version, Threshold: p.Document.Threshold, Keys: []policyKey{},
		SignedBy: p.Signers(), Revoked: p.Document.Revoked, Expires: p.Document.Expires, File: file,
	}
	if d.SignedBy == nil {
		d.SignedBy = []string{}
	}
	d.Missing = max(0, d.Threshold-len(d.SignedBy))
	for _, k := range p.Document.Keys {
		d.Keys = append(d.Keys, policyKey{KeyID: k.ID, Name: nameInRing(ring, k.ID)})
	}
	if c.Bool("json") {
		return a.printJSON(d)
	}
	a.printf("%s  version %d of its keys, until %s, waits in %s\n", d.Author, d.Version, d.Expires, file)
	for i, k := range d.Keys {
		state := "has not signed"
		if slices.Contains(d.SignedBy, k.KeyID) {
			state = "signed"
		}
		a.printf("  key      %s (%s)  %s, %s\n", shorten(k.KeyID, 16), p.Document.PublicKeys()[i].Words(), first(k.Name, "not in your ring"), state)
	}
	for _, r := range d.Revoked {
		a.printf("  revoked  %s, %s, %s\n", shorten(r.ID, 16), r.At, r.Reason)
	}
	if d.Missing > 0 {
		a.printf("  missing  %d of %d signatures: %s trust publisher sign FILE where the other keys are\n", d.Missing, d.Threshold, a.program)
	} else {
		a.printf("  next     %s trust publisher publish FILE\n", a.program)
	}
	return nil
}

// readPending reads a list that waits for signatures from the file that is named.
func (a *app) readPending(c *cli.Command) (string, sign.Publication, error) {
	file := a.path(c.Args().First())
	data, err := readCapped(file, hubapi.MaxPublisher+1)
	if err != nil {
		return file, sign.Publication{}, usagef("cannot read the list of keys: %v", err)
	}
	p, err := sign.ReadPending(data)
	if e, ok := errors.AsType[*sign.Error](err); ok {
		return file, p, hubapi.Errorf(hubapi.Invalid, "%s: %s", file, e.Text).With(hubapi.Detail{ID: e.ID, Message: e.Text, File: file})
	}
	return file, p, err
}

func (a *app) publisherSign() *cli.Command {
	return a.leaf("sign", "add your signatures to a list of keys that waits for them", spec{
		args: "FILE", min: 1, max: 1, there: 1,
		long: "For lists that several people have to sign, each on a machine of their own: one makes it with --pending FILE, the\n" +
			"others sign FILE, and whoever has it then publishes it. Every private key here that the list names, or revokes, signs.\n" +
			"Read what it says before: whoever holds the listed keys speaks for the author from then on.",
		examples: []example{{"trust publisher sign acme.json", "with the keys that are here"}},
	}, []cli.Flag{passphraseFlag(), jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		file, p, err := a.readPending(c)
		if err != nil {
			return err
		}
		keys, err := a.privateKeys(c, p.Names)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return usagef("none of the private keys that this list names is here").WithHint("kx keys list")
		}
		signed, err := p.Sign(keys...)
		if err != nil {
			return err
		}
		return a.keepPending(c, file, signed)
	})
}

func (a *app) publisherPublish() *cli.Command {
	return a.leaf("publish", "publish a list of keys that enough of them have signed", spec{
		args: "FILE", min: 1, max: 1, there: 1,
		long:     "The hub refuses a list that too few keys signed, of it and of the list before.",
		examples: []example{{"trust publisher publish acme.json", "what the keys' owners signed"}},
	}, clientFlags(), func(ctx context.Context, c *cli.Command) error {
		_, p, err := a.readPending(c)
		if err != nil {
			return err
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error { return a.putPublisher(ctx, c, hub, p) })
	})
}

// privateKeys are the private keys here of which wanted says so.
func (a *app) privateKeys(c *cli.Command, wanted func(id string) bool) ([]sign.PrivateKey, error) {
	var keys []sign.PrivateKey
	err := a.withKeys(func(ring *sign.Keyring) error {
		entries, err := ring.List()
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Problem != "" || !e.Private || !wanted(e.Key.ID()) {
				continue
			}
			key, err := ring.Get(e.Name, a.passphrase(c))
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return nil
	})
	return keys, err
}

// putPublisher publishes a list and follows it, like everybody else does.
func (a *app) putPublisher(ctx context.Context, c *cli.Command, hub *hubclient.Client, next sign.Publication) error {
	data, err := next.Envelope.Marshal()
	if err != nil {
		return err
	}
	if _, err := hub.PutPublisher(ctx, next.Document.Owner, data); err != nil {
		return err
	}
	p, seen, err := a.followPublisher(ctx, hub, next.Document.Owner)
	if err != nil {
		return err
	}
	return a.printPublisher(c, p, seen)
}
