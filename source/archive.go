package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// archiveSuffixes are what archives end in, the longest first.
var archiveSuffixes = []string{".tar.gz", ".tgz", ".tar", ".zip"}

// fetchArchive reads an archive on this machine, or by https, in memory.
func (s *Sources) fetchArchive(ctx context.Context, ref Ref, limits Limits) (*Fetched, error) {
	data, err := s.archiveBytes(ctx, ref, limits)
	if err != nil {
		return nil, err
	}
	var ar hubapi.Archiver
	files, err := ar.ReadFiles(data, hubapi.Bounds{Members: limits.Entries, Bytes: limits.Bytes})
	if err != nil {
		return nil, err
	}
	out := &Fetched{Ref: ref, Revision: hashOf(data)}
	if err := out.findIn(files, ref, limits); err != nil {
		return nil, err
	}
	for i := range out.Found {
		if f := &out.Found[i]; f.Path != "" {
			signatureBeside(f, amongFiles(f.Path, files))
		}
	}
	return out, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// archiveBytes gets the archive itself.
func (s *Sources) archiveBytes(ctx context.Context, ref Ref, limits Limits) ([]byte, error) {
	if ref.Remote() {
		u, err := url.Parse(ref.Location)
		if err != nil {
			return nil, fail(hubapi.Invalid, "url.syntax", "%q is not a URL", clip(ref.Location))
		}
		w, err := s.web(ctx, u, limits.Packed, s.received(ref))
		if err != nil {
			return nil, err
		}
		defer w.close()
		got, err := w.get(ctx, ref.Location, limits.Packed, nil)
		if err != nil {
			return nil, err
		}
		if t := got.mediaType(); t == "text/html" || t == "application/xhtml+xml" {
			return nil, fail(hubapi.Invalid, "fetch.type", "%s answers with a page, not with an archive", ref.Location)
		}
		return got.data, nil
	}
	file := s.onDisk(ref.Location)
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(hubapi.NotFound, "source.not-found", "there is nothing at %s", ref.Location)
	case err != nil:
		return nil, fail(hubapi.Invalid, "source.unreadable", "cannot read %s: %v", ref.Location, bare(err))
	case info.IsDir():
		return nil, fail(hubapi.Invalid, "source.not-file", "%s is a folder", ref.Location).WithHint("write dir:%s", ref.Location)
	case !info.Mode().IsRegular():
		return nil, fail(hubapi.Invalid, "source.not-file", "%s is not a regular file", ref.Location)
	case info.Size() > limits.Packed:
		return nil, fail(hubapi.TooLarge, "fetch.too-large", "%s is larger than %d MiB", ref.Location, limits.Packed>>20)
	}
	data, err := readRegular(file, limits.Packed+1)
	if err != nil {
		return nil, fail(hubapi.Invalid, "source.unreadable", "cannot read %s: %v", ref.Location, bare(err))
	}
	return data, nil
}

// findIn finds the packs among files that are in memory.
func (f *Fetched) findIn(files []hubapi.File, ref Ref, limits Limits) error {
	manifests := map[string]bool{}
	for _, file := range files {
		dir, base := folderOf(file.Path)
		if m := nearMiss(base); m != "" {
			f.Notes = note(f.Notes, "source.near-miss", file.Path, "makes no pack: it would have to be called "+m)
		}
		if isManifest(base) && !slices.ContainsFunc(strings.Split(dir, "/"), pruned) {
			manifests[dir] = true
		}
	}
	packs := map[string][]pack.File{}
	for dir := range manifests {
		top := true
		for up := dir; up != ""; {
			up, _ = folderOf(up)
			top = top && !manifests[up]
		}
		in := ref.Path == "" || dir == ref.Path || strings.HasPrefix(dir, ref.Path+"/")
		switch {
		case !top || !in:
		case strings.Count(dir, "/") > limits.Depth:
			f.Notes = note(f.Notes, "source.too-deep", dir, "was not looked at: it lies too deep")
		default:
			packs[dir] = nil
		}
	}
	if len(packs) > limits.Packs {
		return tooManyPacks(limits)
	}
	for _, file := range files {
		for dir, _ := folderOf(file.Path); ; dir, _ = folderOf(dir) {
			if list, ok := packs[dir]; ok {
				inside := file.Path
				if dir != "" {
					inside = strings.TrimPrefix(inside, dir+"/")
				}
				packs[dir] = append(list, pack.File{Path: inside, Data: file.Data, Executable: file.Executable})
			}
			if dir == "" {
				break
			}
		}
	}
	for dir, list := range packs {
		name := path.Base(dir)
		if dir == "" {
			name = path.Base(ref.Location)
			for _, suffix := range archiveSuffixes {
				name = strings.TrimSuffix(name, suffix)
			}
		}
		in := pack.Read(name, list, pack.Options{})
		if dir == "" && len(in.Faults) == 1 && in.Faults[0].ID == "pack.name-mismatch" {
			in = pack.Read(in.Name, list, pack.Options{}) // an archive without a folder says nothing about its name
		}
		f.Found = append(f.Found, foundOf(dir, in))
	}
	sortFound(f.Found)
	return nil
}

// folderOf splits a path; the folder of a name alone is empty.
func folderOf(p string) (dir, base string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p
	}
	return p[:i], p[i+1:]
}
