package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/sign"
)

// searchPage is how many releases are listed with one request.
const searchPage = 100

// ExportOptions say how a snapshot is made.
type ExportOptions struct {
	Key      sign.PrivateKey // signs it; required
	Now      time.Time
	Progress func(done, total int) // nil: nobody watches
}

// Export writes a snapshot of what is active in hub, as its caller sees it, into
// root, which holds nothing but an older snapshot. What is there already is not
// fetched again. Whatever ends the process, root holds the old snapshot or the new.
func Export(ctx context.Context, root fsx.Root, hub *hubclient.Client, o ExportOptions) (Head, error) {
	if err := onlyOurs(root); err != nil {
		return Head{}, err
	}
	head := Head{V: version, CreatedAt: o.Now.UTC().Truncate(time.Second)}
	items, err := active(ctx, hub)
	if err != nil {
		return Head{}, err
	}
	w := writer{root: root, hub: hub, releaseOf: map[string]hubapi.Release{}, progress: o.Progress}
	entries, err := w.releases(ctx, items)
	if err != nil {
		return Head{}, err
	}
	// The log is opened last: it only grows, so it has what was listed before.
	if err := w.prove(ctx, &head, entries); err != nil {
		return Head{}, err
	}
	sorting.Sort(entries, func(a, b Entry) int { return cmp.Compare(sortKey(a), sortKey(b)) })
	var index bytes.Buffer
	for _, e := range entries {
		line, err := e.line()
		if err != nil {
			return Head{}, hubapi.AsError(err)
		}
		index.Write(line)
		head.Bytes += e.Size
	}
	head.Releases, head.Index = len(entries), sum(index.Bytes())
	if err := w.create(indexName(head.Index), index.Bytes()); err != nil {
		return Head{}, err
	}
	return head, w.finish(head, entries, o.Key)
}

// onlyOurs refuses a folder with files that no snapshot has: they would be taken
// along, or away.
func onlyOurs(root fsx.Root) error {
	entries, err := root.ReadDir(".")
	if err != nil {
		return hubapi.AsError(err)
	}
	for _, e := range entries {
		name := e.Name()
		ours := name == headFile || name == folder && e.IsDir() || fsx.IsStaged(name) ||
			strings.HasPrefix(name, indexStart) && strings.HasSuffix(name, indexEnd)
		if !ours {
			return hubapi.Errorf(hubapi.Conflict, "%s has the file %q, which belongs to no snapshot", root.Name(), name).
				WithHint("export into a new folder")
		}
	}
	if err := fsx.SweepStaged(root, "."); err != nil {
		return err
	}
	if err := root.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return fsx.SweepStaged(root, folder)
}

// active lists what is active, page by page.
func active(ctx context.Context, hub *hubclient.Client) ([]hubapi.SearchItem, error) {
	var items []hubapi.SearchItem
	for cursor := ""; ; {
		page, err := hub.Search(ctx, "", hubclient.SearchOptions{Limit: searchPage, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.NextCursor == "" {
			return items, nil
		}
		if page.NextCursor == cursor || len(page.Items) == 0 || len(items) > MaxReleases {
			return nil, hubapi.Errorf(hubapi.Internal, "the hub's list of releases does not end")
		}
		cursor = page.NextCursor
	}
}

type writer struct {
	root      fsx.Root
	hub       *hubclient.Client
	releaseOf map[string]hubapi.Release // by sortKey
	archives  hubapi.Archiver
	progress  func(done, total int)
}

// prove puts into each entry the proof that the hub's log has it. A hub may have no
// log, or an empty one.
func (w *writer) prove(ctx context.Context, head *Head, entries []Entry) error {
	open := w.hub.OpenLog
	if w.hub.Own() {
		open = w.hub.PeekLog
	}
	view, err := open(ctx)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.Unsupported {
		return nil
	}
	if err != nil || view.Checkpoint.Size == 0 {
		return err
	}
	head.Log = &Log{Origin: view.Checkpoint.Origin, VKey: view.VKey, Size: view.Checkpoint.Size, Checkpoint: string(view.Note)}
	for i := range entries {
		proven, err := view.ProveRelease(ctx, w.releaseOf[sortKey(entries[i])])
		if err != nil {
			return err
		}
		entries[i].LogEntry, entries[i].LogProof = proven.Entry, proven.Proof.Text()
	}
	return nil
}

func (w *writer) releases(ctx context.Context, items []hubapi.SearchItem) ([]Entry, error) {
	entries := make([]Entry, 0, len(items))
	for i, item := range items {
		if w.progress != nil {
			w.progress(i, len(items))
		}
		e, err := w.release(ctx, hubapi.Ref{Author: item.Author, Name: item.Name, Version: item.Version})
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (w *writer) release(ctx context.Context, ref hubapi.Ref) (Entry, error) {
	got, err := w.hub.Archive(ctx, ref)
	if err != nil {
		return Entry{}, err
	}
	r := got.Release
	archive := hubapi.Archive{Top: got.Name, Files: make([]hubapi.File, len(got.Files))}
	for i, f := range got.Files {
		archive.Files[i] = hubapi.File(f)
	}
	if r.Signed {
		if archive.Signature, err = w.hub.Signature(ctx, ref); err != nil {
			return Entry{}, err
		}
	}
	var packed bytes.Buffer
	if err := w.archives.Write(&packed, archive); err != nil {
		return Entry{}, hubapi.AsError(err)
	}
	e := Entry{
		Author: r.Author, Name: r.Name, Version: r.Version, Format: r.Format, Digest: r.Digest, Signed: r.Signed,
		ApprovedBy: r.ApprovedBy, ApprovedAt: r.ApprovedAt, Archive: sum(packed.Bytes()), Size: int64(packed.Len()),
	}
	w.releaseOf[sortKey(e)] = r
	return e, w.create(archiveName(e.Archive), packed.Bytes())
}

// create writes a file that is named after its content. One that is there from
// before is kept when it holds that, and replaced when a killed run left it short.
func (w *writer) create(name string, data []byte) error {
	err := w.root.Create(name, data, 0o644)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	old, err := w.root.ReadFile(name, int64(len(data)))
	if err == nil && bytes.Equal(old, data) {
		return nil
	}
	return w.root.WriteFile(name, data, 0o644)
}

// finish makes everything durable, replaces the head, and only then removes what no
// head names any more.
func (w *writer) finish(head Head, entries []Entry, key sign.PrivateKey) error {
	names := []string{indexName(head.Index), folder, "."}
	wanted := map[string]bool{indexName(head.Index): true}
	for _, e := range entries {
		if name := archiveName(e.Archive); !wanted[name] {
			wanted[name] = true
			names = append(names, name)
		}
	}
	payload, err := json.Marshal(head)
	if err != nil {
		return hubapi.AsError(err)
	}
	envelope, err := sign.SignDocument(sign.SnapshotDocument, payload, key)
	if err != nil {
		return err
	}
	data, err := envelope.Marshal()
	if err != nil {
		return err
	}
	if err := w.root.Sync(names...); err != nil {
		return err
	}
	if err := w.root.WriteFile(headFile, data, 0o644); err != nil {
		return err
	}
	return w.sweep(wanted)
}

func (w *writer) sweep(wanted map[string]bool) error {
	for _, dir := range []string{".", folder} {
		entries, err := w.root.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := e.Name()
			if dir == folder {
				name = folder + "/" + name
			}
			if name == headFile || name == folder || wanted[name] {
				continue
			}
			if err := w.root.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}
