package cli

import (
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

const refLong = "REF is NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION. "

func reasonFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "reason", Usage: usage}
}

func reasoned(c *cli.Command) (hubapi.Review, error) {
	return hubapi.Review{Reason: c.String("reason")}, nil
}

// withReason wants one, before anything is sent.
func withReason(c *cli.Command) (hubapi.Review, error) {
	if strings.TrimSpace(c.String("reason")) == "" {
		return hubapi.Review{}, usagef("--reason is missing: the author wants to know why").WithHint("%s --help", c.FullName())
	}
	return reasoned(c)
}

func (a *app) inboxApprove() *cli.Command {
	return a.moveCommand(move{
		name: "approve", usage: "make a release active; it replaces the active one of its skill",
		long: refLong + "Without a version it is the release pushed last.\n\n" +
			"A release that was made from another one than is active now is refused: it would undo what came in between. Look at the\n" +
			"difference and propose it again, or force it as an admin.",
		flags: []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "approve an update whose base has changed, as an admin"}},
		examples: []example{
			{"inbox approve triage", "approve the newest release of triage that waits"},
			{"inbox approve acme/triage@2", "approve exactly this one"},
		},
		review: func(c *cli.Command) (hubapi.Review, error) { return hubapi.Review{Force: c.Bool("force")}, nil },
	})
}

func (a *app) inboxReject() *cli.Command {
	return a.moveCommand(move{
		name: "reject", usage: "refuse a release; the same content is not taken again for a while",
		long: refLong + "Without a version it is the newest that waits.\n\n" +
			"The same content in another version, or with other spacing, is refused until the cool-off ends.",
		flags: []cli.Flag{
			reasonFlag("say `WHY`; required"),
			&cli.IntFlag{Name: "cooloff-days", Usage: "not again for `N` days, 1 to 365 (default: the tenant's setting)"},
		},
		examples: []example{{`inbox reject triage --reason "sends mail without asking"`, "refuse the newest release that waits"}},
		review: func(c *cli.Command) (hubapi.Review, error) {
			in, err := withReason(c)
			if c.IsSet("cooloff-days") && (c.Int("cooloff-days") < 1 || c.Int("cooloff-days") > 365) {
				return in, usagef("--cooloff-days needs a number from 1 to 365")
			}
			in.CooloffDays = c.Int("cooloff-days")
			return in, err
		},
	})
}

func (a *app) inboxQuarantine() *cli.Command {
	return a.moveCommand(move{
		name: "quarantine", usage: "set a release apart as dangerous",
		long:     refLong + "Without a version it is the newest that waits; an active release has to be named with its version.",
		flags:    []cli.Flag{reasonFlag("say `WHY`; required")},
		examples: []example{{`inbox quarantine acme/triage@2 --reason "downloads and runs a file"`, "nobody gets it any more"}},
		review:   withReason,
	})
}

func (a *app) inboxDefer() *cli.Command {
	return a.moveCommand(move{
		name: "defer", usage: "put a release at the end of the inbox",
		long:     refLong + "Without a version it is the newest that waits.",
		flags:    []cli.Flag{reasonFlag("say `WHY`")},
		examples: []example{{"inbox defer triage", "look at the others first"}},
		review:   reasoned,
	})
}

func (a *app) inboxRepropose() *cli.Command {
	return a.moveCommand(move{
		name: "repropose", usage: "put a release up for review again, made from what is active now",
		long: refLong + "It may be rejected, quarantined, deprecated, stale, or wait already with another base. Without a\n" +
			"version it is the newest of these.",
		flags: []cli.Flag{
			reasonFlag("say `WHY`"),
			&cli.BoolFlag{Name: "force", Usage: "bring back what the scan still calls critical, as an admin"},
		},
		examples: []example{{"inbox repropose acme/triage@2", "it waits for review again"}},
		review: func(c *cli.Command) (hubapi.Review, error) {
			return hubapi.Review{Reason: c.String("reason"), Force: c.Bool("force")}, nil
		},
	})
}

func (a *app) inboxEdit() *cli.Command {
	return a.moveCommand(move{
		name: "edit", usage: "change a release that waits; the change is a release of its own",
		long: refLong + "Without a version it is the newest that waits.\n\n" +
			"What was pushed never changes: the edit becomes the next version, without the author's signature, and takes the place\n" +
			"of the old one in the inbox. Machines that have a version signed with a key refuse it until its author signs it (kx pull,\n" +
			"kx sign, kx push), or somebody removes the folder there. Whoever edits may not approve it, unless the tenant allows approving one's own.",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "content", Usage: "take SKILL.md, or the instructions of a kortecx pack, from `FILE`; - is standard input"},
			&cli.StringFlag{Name: "description", Usage: "say `TEXT` as its description"},
			&cli.StringFlag{Name: "summary", Usage: "say `TEXT` in lists and in the search, where it counts most"},
		},
		examples: []example{{`inbox edit triage --description "Sort a mailbox; ask before sending."`, "as the next version"}},
		review: func(c *cli.Command) (hubapi.Review, error) {
			var in hubapi.Review
			if c.IsSet("description") {
				text := c.String("description")
				in.Description = &text
			}
			if c.IsSet("summary") {
				text := c.String("summary")
				in.Summary = &text
			}
			if c.IsSet("content") {
				text, err := a.editText(c.String("content"))
				if err != nil {
					return in, err
				}
				in.Content = &text
			}
			if in.Content == nil && in.Description == nil && in.Summary == nil {
				return in, usagef("nothing to change: give --content, --description or --summary").WithHint("%s --help", c.FullName())
			}
			return in, nil
		},
	})
}

// editText reads the text of an edit.
func (a *app) editText(file string) (string, error) {
	const most = pack.MaxManifest + pack.MaxInstructions
	if file == "-" {
		data, err := io.ReadAll(io.LimitReader(a.Stdin, most+1))
		if err == nil && len(data) > most {
			err = errors.New("more than an edit may have")
		}
		if err != nil {
			return "", usagef("cannot read standard input: %v", err)
		}
		return string(data), nil
	}
	data, err := readCapped(a.path(file), most)
	if err != nil {
		return "", usagef("cannot read the content: %v", err)
	}
	return string(data), nil
}
