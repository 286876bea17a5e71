package accept

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/sign"
)

// Publishers remembers the lists of authors' keys that were seen at hubs, below a
// folder of the user's own.
type Publishers struct{ Dir string }

func (p Publishers) folder(hub *hubclient.Client) string {
	return filepath.Join(p.Dir, hub.MemoryName())
}

// Remembered is the last list of an author's keys that was seen at a hub; nil for none.
// One that cannot be read is an error: to go on without it would be to forget on an
// attacker's behalf.
func (p Publishers) Remembered(hub *hubclient.Client, author string) (*sign.Publication, error) {
	file := author + ".json"
	root, err := fsx.Open(p.folder(hub))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = root.ReadFile(file, hubapi.MaxPublisher)
		err = errors.Join(err, root.Close())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var seen sign.Publication
	if err == nil {
		seen, err = sign.ReadPublication(data)
	}
	if err == nil && seen.Document.Owner != author {
		err = errors.New("it is of another author")
	}
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Usage, "what is remembered of the keys of %s cannot be read from %s: %v", author, filepath.Join(p.folder(hub), file), err).
			WithHint("look at the file; removing it forgets whose keys were seen")
	}
	return &seen, nil
}

func (p Publishers) remember(hub *hubclient.Client, list sign.Publication) error {
	data, err := list.Envelope.Marshal()
	if err != nil {
		return err
	}
	root, err := fsx.OpenOrCreate(p.folder(hub), 0o700)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := fsx.LockDir(root.Name())
	if err != nil {
		return err
	}
	defer unlock()
	// What another process saw meanwhile stays where it is newer.
	if seen, err := p.Remembered(hub, list.Document.Owner); err != nil || seen != nil && seen.Document.Version > list.Document.Version {
		return err
	}
	return root.WriteFile(list.Document.Owner+".json", data, 0o600)
}

// Follow asks a hub for an author's list of keys and follows it from the one that was
// seen, which is trusted on first sight. The newest one is remembered. Before is the
// version that was remembered; 0 for none.
func (p Publishers) Follow(ctx context.Context, hub *hubclient.Client, author string) (now sign.Publication, before int64, err error) {
	if err := hubapi.CheckAuthor(author); err != nil {
		return now, 0, err
	}
	seen, err := p.Remembered(hub, author)
	if err != nil {
		return now, 0, err
	}
	after := int64(0)
	if seen != nil {
		before, after = seen.Document.Version, seen.Document.Version-1
	}
	refused := func(id, text string) (sign.Publication, int64, error) {
		return now, before, Unfollowed(author, &sign.Error{ID: id, Text: text})
	}
	chain, err := hub.PublisherChain(ctx, author, after)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound && seen != nil {
		return refused(sign.IDRotateRollback, "the hub has no keys of "+author+" any more, it had before")
	}
	if err != nil {
		return now, before, err
	}
	if len(chain.Items) == 0 {
		return refused(sign.IDRotateRollback, "the hub's list of the keys of "+author+" is older than the one that was seen before")
	}
	versions := make([]sign.Publication, len(chain.Items))
	for i, item := range chain.Items {
		if versions[i], err = sign.ReadPublication(item); err != nil {
			return now, before, Unfollowed(author, err)
		}
	}
	if seen == nil {
		if seen = &versions[0]; seen.Document.Version != 1 || seen.Document.Owner != author {
			return refused(sign.IDRotateChain, "the hub's list of the keys of "+author+" does not begin with version 1")
		}
	}
	if now, err = seen.Follow(versions...); err != nil {
		return now, before, Unfollowed(author, err)
	}
	return now, before, p.remember(hub, now)
}

// Unfollowed words a chain of lists that does not hold together.
func Unfollowed(author string, err error) error {
	e, ok := errors.AsType[*sign.Error](err)
	if !ok {
		return err
	}
	return hubapi.Errorf(hubapi.Forbidden, "the keys of %s cannot be followed: %s", author, e.Text).
		With(hubapi.Detail{ID: e.ID, Message: e.Text}).WithHint("do not install what %s signed until its owner explains it", author)
}

// followedPublishers are the lists of keys that one gate followed.
type followedPublishers struct {
	mu   sync.Mutex
	seen map[string]followed
}

type followed struct {
	list *sign.Publication // nil: no list of this author's keys was ever seen
	err  error
}

// byPublisher holds who signed a release against its author's own list of keys, where
// one was seen before: it is followed to the newest one first.
func (g *Gate) byPublisher(ctx context.Context, r hubapi.Release, result sign.Result, facts sign.LogFacts) error {
	known := g.publisher(ctx, r.Author)
	if known.err != nil || known.list == nil {
		return known.err
	}
	problems := known.list.Judge(result, facts, g.o.Now())
	if len(problems) == 0 {
		return nil
	}
	e := hubapi.Errorf(hubapi.Forbidden, "%s was not taken: %s", r.Ref(), problems[0].Text)
	e.Details = details(problems)
	return e.WithHint("kx trust publisher show %s", r.Author)
}

// Listed is an author's list of keys, followed to the newest one; nil where none was
// seen.
func (g *Gate) Listed(ctx context.Context, author string) (*sign.Publication, error) {
	known := g.publisher(ctx, author)
	return known.list, known.err
}

// WithListed adds the keys of an author's list to those that are trusted, as far as
// they are not among them. They may count for what is signed as this author's alone.
func WithListed(trusted []sign.NamedKey, list *sign.Publication) []sign.NamedKey {
	if list == nil {
		return trusted
	}
	out := slices.Clone(trusted)
	for _, k := range Keys(list) {
		if !slices.ContainsFunc(out, func(t sign.NamedKey) bool { return t.Key == k.Key }) {
			out = append(out, k)
		}
	}
	return out
}

// Keys are the keys of an author's list, under the author's name.
func Keys(list *sign.Publication) []sign.NamedKey {
	var keys []sign.NamedKey
	for _, key := range list.Document.PublicKeys() {
		keys = append(keys, sign.NamedKey{Name: list.Document.Owner, Key: key})
	}
	return keys
}

// Seen are the keys of every list that was seen, at whatever hub: the keys of a
// signature must be known before its author is. A list that cannot be read is told of
// where it decides.
func (p Publishers) Seen() ([]sign.NamedKey, error) {
	root, err := fsx.Open(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	hubs, err := root.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var known []sign.NamedKey
	for _, hub := range hubs {
		lists, err := root.ReadDir(hub.Name())
		if err != nil {
			continue // no folder of a hub
		}
		for _, l := range lists {
			data, err := root.ReadFile(path.Join(hub.Name(), l.Name()), hubapi.MaxPublisher)
			if err != nil {
				continue
			}
			if list, err := sign.ReadPublication(data); err == nil {
				known = append(known, Keys(&list)...)
			}
		}
	}
	return known, nil
}

// publisher is an author's list of keys, followed once.
func (g *Gate) publisher(ctx context.Context, author string) followed {
	g.publishers.mu.Lock()
	defer g.publishers.mu.Unlock()
	if known, ok := g.publishers.seen[author]; ok {
		return known
	}
	var known followed
	memory, err := g.o.Memory()
	if err == nil {
		lists := Publishers{memory.Publishers}
		if known.list, err = lists.Remembered(g.Hub, author); known.list != nil {
			var now sign.Publication
			if now, _, err = lists.Follow(ctx, g.Hub, author); err == nil {
				known.list = &now
			}
		}
	}
	known.err = err
	if g.publishers.seen == nil {
		g.publishers.seen = map[string]followed{}
	}
	g.publishers.seen[author] = known
	return known
}
