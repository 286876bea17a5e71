package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/pack"
)

// onDisk is where a path of a source lies.
func (s *Sources) onDisk(p string) string {
	p = filepath.FromSlash(p)
	if s.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(s.Dir, p)
}

// fetchDir reads a folder that is a pack, or the packs below it.
func (s *Sources) fetchDir(ctx context.Context, ref Ref, limits Limits) (*Fetched, error) {
	top := s.onDisk(ref.Location)
	w := dirWalk{ctx: ctx, limits: limits, top: top}
	info, err := os.Stat(top)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(hubapi.NotFound, "source.not-found", "there is nothing at %s", ref.Location)
	case err != nil:
		return nil, fail(hubapi.Invalid, "source.unreadable", "cannot read %s: %v", ref.Location, bare(err))
	case !info.IsDir():
		return nil, fail(hubapi.Invalid, "source.not-folder", "%s is not a folder", ref.Location).
			WithHint("name the folder of a pack, or an archive that ends in .zip, .tar, .tar.gz or .tgz")
	}
	absolute, err := filepath.Abs(top) // the folder may be called "."
	if err != nil {
		return nil, asError(err, hubapi.Invalid, "cannot read %s", top)
	}
	shelves := cmp.Or(s.shelves, new(diskShelves))
	out := &Fetched{Ref: ref}
	out.Found, err = w.each(func(at string, open fsx.Folder) (Found, error) {
		folder := filepath.Join(top, filepath.FromSlash(at))
		if at == "" {
			folder = top
		}
		in, err := pack.InspectFolder(open, folder, pack.Options{})
		if err != nil {
			return Found{}, asError(err, hubapi.Invalid, "cannot read %s", folder)
		}
		found := foundOf(at, in)
		signatureBeside(&found, shelves.beside(filepath.Join(absolute, filepath.FromSlash(at))))
		return found, nil
	})
	if err != nil {
		return nil, err
	}
	out.Notes = w.notes
	sortFound(out.Found)
	out.Revision = revisionOf(out.Found)
	return out, nil
}

// foundOf is what was read as a pack at a place in a source.
func foundOf(where string, in *pack.Inspection) Found {
	f := Found{Path: where, Name: in.Name, Format: in.Format, Pack: in.Pack, Layout: in.Layout}
	if in.Pack == nil {
		name := where
		if name == "" {
			name = in.Name
		}
		f.refused, f.Faults = in.Faults, faults(name, in.Faults)
		if f.Faults == nil {
			f.Faults = fail(hubapi.Invalid, "source.empty", "%s holds no pack", name)
		}
		return f
	}
	f.Name = in.Pack.Name
	sums := pack.SumFiles(in.Pack.Files)
	f.Digest, f.Sums = sums.Digest, &sums
	return f
}

// eachOf runs work for 0 to n-1, several at a time, and gives the first error.
func eachOf(ctx context.Context, n, most int, work func(int) error) error {
	most = min(n, most)
	if most <= 1 {
		for i := range n {
			if err := cmpErr(ctx.Err(), func() error { return work(i) }); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		mu    sync.Mutex
		next  int
		first error
		group workers.Group
	)
	for range most {
		group.Go(func() {
			for {
				mu.Lock()
				i, stop := next, first != nil || next >= n
				next++
				mu.Unlock()
				if stop {
					return
				}
				if err := cmpErr(ctx.Err(), func() error { return work(i) }); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return first
}

func cmpErr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// dirWalk looks for packs below a folder. It follows no link, and looks for nothing
// inside of a pack, in .git and in node_modules.
type dirWalk struct {
	ctx     context.Context
	limits  Limits
	top     string
	entries int
	packs   int
	found   func(placed)
	notes   []hubapi.Detail
}

// placed is the folder of a pack that was found.
type placed struct {
	at   string     // "/" separated
	open fsx.Folder // nil where it could not be opened
}

func (p placed) close() {
	if p.open != nil {
		_ = p.open.Close()
	}
}

// maxPlaced bounds the folders that wait to be read, because they are open.
const maxPlaced = 16

// each reads every pack below the top, some while others are looked for, and gives what
// was read in no order, or the first error.
func (w *dirWalk) each(read func(at string, open fsx.Folder) (Found, error)) ([]Found, error) {
	var (
		mu    sync.Mutex
		out   []Found
		first error
		group workers.Group
	)
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	w.ctx = ctx
	places := make(chan placed, maxPlaced)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for p := range places {
				var f Found
				err := ctx.Err()
				if err == nil && !group.Try(func() { f, err = read(p.at, p.open) }) {
					stop()
				}
				p.close()
				mu.Lock()
				if out = append(out, f); err != nil && first == nil {
					first = err
					stop()
				}
				mu.Unlock()
			}
		})
	}
	w.found = func(p placed) { places <- p }
	err := w.folder("", 0)
	close(places)
	group.Wait()
	if first != nil {
		return nil, first
	}
	return out, err
}

func (w *dirWalk) pack(p placed) error {
	if w.packs++; w.packs > w.limits.Packs {
		p.close()
		return tooManyPacks(w.limits)
	}
	w.found(p)
	return nil
}

func (w *dirWalk) folder(at string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	dir := filepath.Join(w.top, filepath.FromSlash(at))
	list, open, err := w.list(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return w.pack(placed{at: at}) // it may be one: its report says that nobody can read it
	case errors.Is(err, fsx.ErrTooLarge):
		return tooManyEntries(w.limits)
	case err != nil:
		return fail(hubapi.Invalid, "source.unreadable", "cannot read %s: %v", dir, bare(err))
	case open != nil:
		return w.pack(placed{at, open})
	}
	for _, e := range list {
		p := path.Join(at, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() {
				w.notes = note(w.notes, "source.link", p, "is a link and was not followed")
			}
		case !e.IsDir():
			if m := nearMiss(e.Name()); m != "" {
				w.notes = note(w.notes, "source.near-miss", p, "makes no pack: it would have to be called "+m)
			}
		case pruned(e.Name()):
		case depth >= w.limits.Depth:
			w.notes = note(w.notes, "source.too-deep", p, fmt.Sprintf("was not searched: it is more than %d folders deep", w.limits.Depth))
		default:
			if err := w.folder(p, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// list lists a folder, and gives it open where it is that of a pack.
func (w *dirWalk) list(dir string) ([]fs.DirEntry, fsx.Folder, error) {
	open, err := fsx.OpenFolder(dir)
	if err != nil {
		return nil, nil, err
	}
	list, more, err := open.List(".", nil, w.limits.Entries-w.entries)
	w.entries += len(list)
	if err == nil && more {
		err = fsx.ErrTooLarge
	}
	if err == nil && slices.ContainsFunc(list, func(e fs.DirEntry) bool { return isManifest(e.Name()) }) {
		return list, open, nil
	}
	_ = open.Close()
	return list, nil, err
}

// pruned are folders in which no packs are looked for.
func pruned(name string) bool { return name == ".git" || name == "node_modules" }

func isManifest(name string) bool {
	for _, f := range pack.Formats {
		if name == f.ManifestFile() {
			return true
		}
	}
	return false
}

// nearMiss is the manifest whose name is written in another case.
func nearMiss(name string) string {
	for _, f := range pack.Formats {
		if strings.EqualFold(name, f.ManifestFile()) && name != f.ManifestFile() {
			return f.ManifestFile()
		}
	}
	return ""
}

// maxNotes bounds what is remarked about one source.
const maxNotes = 100

func note(to []hubapi.Detail, id, file, text string) []hubapi.Detail {
	if len(to) >= maxNotes {
		return to
	}
	return append(to, hubapi.Detail{ID: id, File: file, Message: clip(file) + " " + text})
}

func tooManyEntries(l Limits) error {
	return fail(hubapi.TooLarge, "source.too-many", "the source has more than %d files and folders", l.Entries).
		WithHint("name the folder in it that holds the packs")
}

func tooManyPacks(l Limits) error {
	return fail(hubapi.TooLarge, "source.too-many", "the source has more than %d packs", l.Packs).
		WithHint("name the folder in it that holds those that you want")
}

// bare takes the path out of a file system's error.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
