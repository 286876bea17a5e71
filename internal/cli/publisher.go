package cli

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/sign"
)

// publisherValidity is how long an author's list of keys holds unless it says
// otherwise: long enough to be no burden, short enough that a lost key is noticed.
const publisherValidity = 365 * 24 * time.Hour

func (a *app) trustPublisher() *cli.Command {
	return a.group("publisher", "publish and follow the keys that an author stands for", "",
		a.publisherInit(), a.publisherRotate(), a.publisherRevoke(), a.publisherSign(), a.publisherPublish(), a.publisherShow())
}

// publisherDoc is an author's list of keys in --json documents.
type publisherDoc struct {
	Author    string            `json:"author"`
	Version   int64             `json:"version"`
	Before    int64             `json:"before"` // the version that was remembered; 0: none
	Threshold int               `json:"threshold"`
	Keys      []policyKey       `json:"keys"`
	Revoked   []sign.RevokedKey `json:"revoked"`
	Expires   string            `json:"expires"`
}

func (h homeDirs) publishers() string { return filepath.Join(h.data, "trust") }

// followPublisher follows an author's list of keys, and remembers the newest one.
func (a *app) followPublisher(ctx context.Context, hub *hubclient.Client, author string) (now sign.Publication, before int64, err error) {
	home, err := a.home()
	if err != nil {
		return now, 0, err
	}
	return accept.Publishers{Dir: home.publishers()}.Follow(ctx, hub, author)
}

func (a *app) newPublisherDoc(p sign.Publication, before int64) (publisherDoc, error) {
	ring, err := a.trustedKeys()
	d := publisherDoc{
		Author: p.Document.Owner, Version: p.Document.Version, Before: before, Threshold: p.Document.Threshold,
		Keys: []policyKey{}, Revoked: p.Document.Revoked, Expires: p.Document.Expires,
	}
	for _, k := range p.Document.Keys {
		d.Keys = append(d.Keys, policyKey{KeyID: k.ID, Name: nameInRing(ring, k.ID)})
	}
	return d, err
}

func (a *app) printPublisher(c *cli.Command, p sign.Publication, before int64) error {
	d, err := a.newPublisherDoc(p, before)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return a.printJSON(d)
	}
	a.printf("%s  version %d of its keys, until %s\n", d.Author, d.Version, d.Expires)
	for i, k := range d.Keys {
		a.printf("  key      %s (%s)  %s\n", shorten(k.KeyID, 16), p.Document.PublicKeys()[i].Words(), first(k.Name, "not in your ring"))
	}
	a.printf("  rotated  by %d of them\n", d.Threshold)
	for _, r := range d.Revoked {
		a.printf("  revoked  %s, %s, %s\n", shorten(r.ID, 16), r.At, r.Reason)
	}
	return nil
}

func (a *app) publisherShow() *cli.Command {
	return a.leaf("show", "follow an author's keys from the version that was seen before", spec{
		args: "AUTHOR", min: 1, max: 1,
		long: "Every version must be signed by enough keys of the one before. The first that is seen is trusted: compare the words\n" +
			"with their owner. From then on what the author signed must be signed by these keys when it is installed, and a hub\n" +
			"that shows an older or another list is refused. Exit 1 when the chain does not hold, or the list ran out.",
		examples: []example{{"trust publisher show acme", "whose signatures acme stands for"}},
	}, clientFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			p, before, err := a.followPublisher(ctx, hub, c.Args().First())
			if err != nil {
				return err
			}
			if err := a.printPublisher(c, p, before); err != nil {
				return err
			}
			if err := p.Valid(a.Now()); err != nil {
				return accept.Unfollowed(p.Document.Owner, err)
			}
			return nil
		})
	})
}

func publisherFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.IntFlag{Name: "threshold", Usage: "`N` of the keys must sign the next version (default: as before, or 1)"},
		&cli.DurationFlag{Name: "expires", Value: publisherValidity, Usage: "the list holds for `DURATION`"},
		pendingFlag(), passphraseFlag(),
	}, clientFlags()...)
}

func (a *app) publisherInit() *cli.Command {
	return a.leaf("init", "publish the first list of your keys", spec{
		args: "AUTHOR KEY...", min: 2, max: -1,
		long:     "The keys are names of keys in your ring, whose private halves are here. AUTHOR must be a namespace of yours.",
		examples: []example{{"trust publisher init acme me", "acme stands for what the key me signs"}},
	}, publisherFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			d := sign.PublisherDocument{Owner: c.Args().First(), Version: 1, Threshold: 1}
			return a.publishKeys(ctx, c, hub, nil, d, c.Args().Tail())
		})
	})
}

func (a *app) publisherRotate() *cli.Command {
	return a.leaf("rotate", "publish the next list of your keys: with others, or for longer", spec{
		args: "AUTHOR [KEY...]", min: 1, max: -1,
		long: "KEY... is whose signatures count from now on, and the old ones become superseded: what they signed stays signed.\n" +
			"Without KEY the list is renewed. Enough keys of the old list and of the new one must be in your ring to sign it.",
		examples: []example{{"trust publisher rotate acme me work", "the keys me and work from now on"}},
	}, publisherFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.nextKeys(ctx, c, c.Args().Tail(), "", sign.Superseded)
	})
}

func (a *app) publisherRevoke() *cli.Command {
	return a.leaf("revoke", "take a key off the list of your keys", spec{
		args: "AUTHOR KEY", min: 2, max: 2,
		long: "A compromised key counts from now on only for what a log had before; a superseded one for all that it signed. Enough\n" +
			"other keys must be left to sign the list.",
		examples: []example{{"trust publisher revoke acme work --reason compromised", "somebody else may have it"}},
		choices:  map[string][]string{"reason": {sign.Compromised, sign.Superseded}},
	}, append([]cli.Flag{&cli.StringFlag{Name: "reason", Value: sign.Compromised, Usage: "it is `WHAT`: compromised or superseded"}}, publisherFlags()...),
		func(ctx context.Context, c *cli.Command) error {
			reason := c.String("reason")
			if reason != sign.Compromised && reason != sign.Superseded {
				return usagef("--reason is compromised or superseded")
			}
			return a.nextKeys(ctx, c, nil, c.Args().Get(1), reason)
		})
}

// nextKeys publishes the list behind the newest one: with the keys that are named,
// or without the one that is revoked.
func (a *app) nextKeys(ctx context.Context, c *cli.Command, names []string, revoke, reason string) error {
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		before, _, err := a.followPublisher(ctx, hub, c.Args().First())
		if err != nil {
			return err
		}
		ring, err := a.trustedKeys()
		if err != nil {
			return err
		}
		d := sign.PublisherDocument{
			Owner: before.Document.Owner, Version: before.Document.Version + 1, Prev: before.Sum(),
			Threshold: before.Document.Threshold, Revoked: slices.Clone(before.Document.Revoked),
		}
		keep := map[string]bool{}
		for _, name := range names {
			for _, k := range ring {
				if k.Name == name {
					keep[k.Key.ID()] = true
				}
			}
		}
		found := revoke == ""
		for _, k := range before.Document.Keys {
			gone := len(names) > 0 && !keep[k.ID]
			if revoke != "" && (k.ID == revoke || nameInRing(ring, k.ID) == revoke) {
				gone, found = true, true
			}
			if gone {
				d.Revoked = append(d.Revoked, sign.RevokedKey{ID: k.ID, At: a.Now().UTC().Format(time.RFC3339), Reason: reason})
			} else if len(names) == 0 {
				d.Keys = append(d.Keys, k)
			}
		}
		if !found {
			return hubapi.Errorf(hubapi.NotFound, "%s is none of the keys of %s", revoke, d.Owner).WithHint("kx trust publisher show %s", d.Owner)
		}
		return a.publishKeys(ctx, c, hub, &before, d, names)
	})
}

// publishKeys adds keys by name to a list, signs it with every private key here that
// belongs to it or to the list before, and publishes it.
func (a *app) publishKeys(ctx context.Context, c *cli.Command, hub *hubclient.Client, before *sign.Publication, d sign.PublisherDocument, names []string) error {
	if c.IsSet("threshold") {
		d.Threshold = c.Int("threshold")
	}
	if c.Duration("expires") <= 0 {
		return usagef("--expires needs a duration such as 8760h")
	}
	d.Expires = a.Now().Add(c.Duration("expires")).UTC().Format(time.RFC3339)
	err := a.withKeys(func(ring *sign.Keyring) error {
		for _, name := range names {
			public, err := ring.Public(name)
			if err != nil {
				return err
			}
			d.Keys = append(d.Keys, sign.PublisherKey{ID: public.ID(), Public: public.String()})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !c.IsSet("threshold") {
		d.Threshold = min(d.Threshold, max(1, len(d.Keys)))
	}
	wanted := slices.Clone(d.Keys)
	if before != nil {
		wanted = append(wanted, before.Document.Keys...)
	}
	signers, err := a.privateKeys(c, func(id string) bool {
		return slices.ContainsFunc(wanted, func(k sign.PublisherKey) bool { return k.ID == id })
	})
	if err != nil {
		return err
	}
	if len(signers) == 0 {
		return usagef("none of the private keys that must sign the list is here").WithHint("kx keys list")
	}
	next, err := sign.SignPublication(d, signers...)
	if err != nil {
		return usagef("%v", err)
	}
	if file := c.String("pending"); file != "" {
		return a.keepPending(c, a.path(file), next)
	}
	return a.putPublisher(ctx, c, hub, next)
}
