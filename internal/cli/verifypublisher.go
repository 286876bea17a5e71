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
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/sign"
)

// publisherJudged is what an author's own list of keys says of a pack.
type publisherJudged struct {
	Author    string `json:"author"`
	Version   int64  `json:"version"` // of the list
	Threshold int    `json:"threshold"`
	Expires   string `json:"expires"`
	// Asked says that the hub was asked for the newest list just now; else it is the
	// one that was seen last.
	Asked    bool           `json:"asked"`
	OK       bool           `json:"ok"`
	SignedBy []string       `json:"signed_by"` // listed keys that signed it
	Problems []sign.Finding `json:"problems"`

	list *sign.Publication // nil where it could not be followed
}

// publisherFor is the list of keys of an author at the user's hub, nil where none was
// seen. Unless --offline the hub is asked for a newer one; a hub that cannot be asked
// leaves the one that was seen.
func (a *app) publisherFor(ctx context.Context, c *cli.Command, author string) (*publisherJudged, error) {
	if hubapi.CheckAuthor(author) != nil {
		return nil, nil
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(home.publishers()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lists := accept.Publishers{Dir: home.publishers()}
	s, err := a.settings(c)
	if err != nil {
		return nil, err
	}
	if s.endpoint == "" {
		// The user's own hub is opened only where something of it was seen.
		if _, err := os.Stat(filepath.Join(home.publishers(), s.memory, author+".json")); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	var out *publisherJudged
	err = a.withHub(ctx, c, func(hub *hubclient.Client) error {
		list, err := lists.Remembered(hub, author)
		if err != nil || list == nil {
			return err
		}
		out = &publisherJudged{Author: author, list: list, SignedBy: []string{}, Problems: []sign.Finding{}}
		if !c.Bool("offline") {
			now, _, err := lists.Follow(ctx, hub, author)
			e, _ := errors.AsType[*hubapi.Error](err)
			switch {
			case err == nil:
				out.list, out.Asked = &now, true
			case ctx.Err() != nil:
				return ctx.Err()
			case e != nil && len(e.Details) > 0 && strings.HasPrefix(e.Details[0].ID, "rotate."):
				out.Problems = append(out.Problems, sign.Finding{ID: e.Details[0].ID, Text: e.Message})
			default:
				a.note("%s: warning: the hub cannot be asked for newer keys of %s: %s", a.program, author, termtext.Escape(asHubError(err).Message))
			}
		}
		out.Version, out.Threshold, out.Expires = out.list.Document.Version, out.list.Document.Threshold, out.list.Document.Expires
		return nil
	})
	return out, err
}

// judgeByPublisher holds who signed a pack against the list of keys of its author.
func (a *app) judgeByPublisher(v *verified, facts sign.LogFacts) {
	j := v.Publisher
	if j == nil {
		return
	}
	if j.judge(v.Result, facts, a.Now()); j.OK {
		return
	}
	v.Problems = append(v.Problems, j.Problems...)
	if v.OK {
		v.OK, v.Exit = false, sign.ExitTrust
	}
	if v.Policy != nil && v.Policy.OK {
		v.Policy.OK, v.Policy.Exit = false, sign.ExitTrust
	}
}

// judge holds who signed a pack against the list.
func (j *publisherJudged) judge(result sign.Result, facts sign.LogFacts, now time.Time) {
	j.Problems = append(j.Problems, j.list.Judge(result, facts, now)...)
	for _, s := range result.Signers {
		if slices.ContainsFunc(j.list.Document.Keys, func(k sign.PublisherKey) bool { return k.ID == s.KeyID }) {
			j.SignedBy = append(j.SignedBy, s.KeyID)
		}
	}
	j.OK = len(j.Problems) == 0
}

// printJudged tells which list was asked and what it says of who signed.
func (a *app) printJudged(j *publisherJudged) {
	state, when := "signed by a listed key", "as seen last"
	if len(j.SignedBy) == 0 {
		state = "signed by none of the listed keys"
	}
	if j.Asked {
		when = "as the hub has it now"
	}
	a.printf("  publisher  %s, version %d of its keys, %s: %s\n", j.Author, j.Version, when, state)
}

// author is whose a pack is said to be: by the user or the marker, else by who signed
// it.
func (v verified) author() string {
	subject := v.subject
	if author, _, _ := strings.Cut(subject, "/"); author == "" && len(v.Signers) > 0 {
		subject = v.Signers[0].Subject
	}
	author, _, _ := strings.Cut(subject, "/")
	return author
}
