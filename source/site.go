package source

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// Limits on what a site lists.
const (
	maxSiteIndex   = 16 << 20 // bytes
	siteWorkers    = 8        // skills that are fetched at a time
	olderSitePath  = "/.well-known/skills/"
	siteManifest   = "SKILL.md"
	maxSiteMembers = 2 * (pack.MaxFiles + 1)
)

// SiteCache keeps the lists of sites between runs, so that asking whether one
// changed costs an answer without a body. Both methods may be called at the same time.
type SiteCache interface {
	Get(url string) (etag string, list []byte, ok bool)
	Put(url, etag string, list []byte)
}

// siteIndex is a list as it was fetched.
type siteIndex struct {
	at     *url.URL // the list itself
	older  bool
	hash   string
	skills []siteEntry
}

// siteEntry is one skill of either form of the list.
type siteEntry struct {
	Name        string
	Description string
	Type        string
	URL         string
	Digest      string
	Release     *hubapi.SiteRelease
	Older       []string // file names, of the older form
}

// fetchSite reads the skills that a site lists, or the one that ref.Path names.
func (s *Sources) fetchSite(ctx context.Context, ref Ref, limits Limits) (*Fetched, error) {
	w, index, err := s.siteIndex(ctx, ref, limits)
	if err != nil {
		return nil, err
	}
	defer w.close()
	revision, entries, err := index.pick(ref)
	if err != nil {
		return nil, err
	}
	out := &Fetched{Ref: ref, Revision: revision, Found: make([]Found, len(entries))}
	err = eachOf(ctx, len(entries), siteWorkers, func(i int) (err error) {
		out.Found[i], err = w.skill(ctx, index, entries[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	sortFound(out.Found)
	return out, nil
}

// pick gives the skills that ref means, and what identifies their state.
func (x *siteIndex) pick(ref Ref) (string, []siteEntry, error) {
	if ref.Path == "" {
		return x.hash, x.skills, nil
	}
	var fits []siteEntry
	for _, e := range x.skills {
		if e.Name == ref.Path {
			fits = append(fits, e)
		}
	}
	switch {
	case len(fits) == 0:
		return "", nil, fail(hubapi.NotFound, "source.no-such", "%s lists no skill %q", ref.Location, clip(ref.Path))
	case len(fits) > 1:
		return "", nil, fail(hubapi.Conflict, "source.ambiguous", "%s lists %d skills called %q", ref.Location, len(fits), clip(ref.Path))
	case x.older:
		return x.hash, fits, nil // the older list has no digests
	}
	return fits[0].Digest, fits, nil
}

// siteIndex gets the list of a site: the newer form, else the older one.
func (s *Sources) siteIndex(ctx context.Context, ref Ref, limits Limits) (*web, *siteIndex, error) {
	u, err := checkURL(ref.Location)
	if err != nil {
		return nil, nil, err
	}
	w, err := s.web(ctx, u, limits.Packed, s.received(ref))
	if err != nil {
		return nil, nil, err
	}
	for _, below := range []string{hubapi.SitePath, olderSitePath} {
		at := *u
		at.Path, at.RawPath = strings.TrimRight(u.Path, "/")+below+"index.json", ""
		data, err := s.list(ctx, w, at.String())
		if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound {
			continue
		}
		var index *siteIndex
		if err == nil {
			index, err = readIndex(&at, data, limits)
		}
		if err != nil {
			w.close()
			return nil, nil, err
		}
		return w, index, nil
	}
	w.close()
	return nil, nil, fail(hubapi.NotFound, "source.not-found", "%s lists no skills: it has no %sindex.json", ref.Location, strings.TrimPrefix(hubapi.SitePath, "/")).
		WithHint("for a git repository write git:%s", ref.Location)
}

// list gets a list, from the cache where the site says that it is the same.
func (s *Sources) list(ctx context.Context, w *web, address string) ([]byte, error) {
	var etag string
	var kept []byte
	header := http.Header{"Accept": {"application/json"}}
	if s.Cache != nil {
		var ok bool
		if etag, kept, ok = s.Cache.Get(address); ok && etag != "" {
			header["If-None-Match"] = []string{etag}
		}
	}
	got, err := w.get(ctx, address, maxSiteIndex, header)
	switch {
	case err != nil:
		return nil, err
	case got.status == http.StatusNotModified:
		return kept, nil
	case strings.Contains(got.mediaType(), "html"):
		return nil, fail(hubapi.Invalid, "fetch.type", "%s answers with a page, not with a list of skills", address)
	}
	if etag := got.header.Get("Etag"); s.Cache != nil && etag != "" {
		s.Cache.Put(address, etag, got.data)
	}
	return got.data, nil
}

// readIndex reads both forms of the list. What is wrong with one skill is found when
// that skill is read, so that it does not hide the others.
func readIndex(at *url.URL, data []byte, limits Limits) (*siteIndex, error) {
	var doc struct {
		Schema *string `json:"$schema"`
		Skills []struct {
			Name        string              `json:"name"`
			Description string              `json:"description"`
			Type        string              `json:"type"`
			URL         string              `json:"url"`
			Digest      string              `json:"digest"`
			Release     *hubapi.SiteRelease `json:"kx"`
			Files       []indexFile         `json:"files"`
		} `json:"skills"`
	}
	if err := strictjson.UnmarshalLax(data, &doc); err != nil {
		return nil, fail(hubapi.Invalid, "fetch.type", "%s is not a list of skills: %v", at, err)
	}
	if doc.Schema != nil && *doc.Schema != hubapi.SiteSchema {
		return nil, fail(hubapi.Unsupported, "site.schema", "%s is in the form %q, which is not known", at, clip(*doc.Schema)).
			WithHint("the forms that are read are %s and the older one without $schema", hubapi.SiteSchema)
	}
	if len(doc.Skills) > limits.Packs {
		return nil, tooManyPacks(limits)
	}
	x := &siteIndex{at: at, older: doc.Schema == nil, hash: hashOf(data)}
	for _, s := range doc.Skills {
		e := siteEntry{Name: s.Name, Description: s.Description, Type: s.Type, URL: s.URL, Digest: s.Digest, Release: s.Release}
		for _, f := range s.Files {
			e.Older = append(e.Older, f.Path)
		}
		x.skills = append(x.skills, e)
	}
	return x, nil
}

// indexFile is a file of a list: its name in the older form, an object in ours.
type indexFile struct{ Path string }

// UnmarshalJSON takes either.
func (f *indexFile) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return strictjson.UnmarshalLax(data, &f.Path)
	}
	var file hubapi.SiteFile
	err := strictjson.UnmarshalLax(data, &file)
	f.Path = file.Path
	return err
}

// skill reads one skill of a site. What is wrong with it becomes its fault; the error
// is for what ends the whole.
func (w *web) skill(ctx context.Context, x *siteIndex, e siteEntry) (Found, error) {
	f := Found{Path: e.Name, Name: e.Name}
	files, err := w.skillFiles(ctx, x, e)
	if err == nil {
		in := pack.Read(e.Name, files, pack.Options{Format: pack.SkillMD})
		f = foundOf(e.Name, in)
		if r := e.Release; r != nil && r.Format == string(pack.SkillMD) && f.Pack != nil && string(f.Digest) != r.Digest {
			err = fail(hubapi.Invalid, "fetch.digest", "%s is %s, the list says %s", clip(e.Name), f.Digest, clip(r.Digest))
		}
	}
	if err == nil {
		return f, nil
	}
	wrong, ok := errors.AsType[*hubapi.Error](err)
	if !ok || ctx.Err() != nil || wrong.ID() == "fetch.too-large" && w.why(nil) == nil && w.spent() {
		return f, err
	}
	f.Pack, f.Digest, f.Faults = nil, "", wrong
	return f, nil
}

// spent tells whether the source has used up what it may send.
func (w *web) spent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left < 0
}

func (w *web) skillFiles(ctx context.Context, x *siteIndex, e siteEntry) ([]pack.File, error) {
	if err := pack.ValidSkillName(e.Name); err != nil {
		return nil, fail(hubapi.Invalid, "site.name", "the site lists a skill %q, which cannot be a name", clip(e.Name))
	}
	if x.older {
		return w.olderFiles(ctx, x, e)
	}
	to, err := url.Parse(e.URL)
	if err != nil || e.URL == "" || to.User != nil {
		return nil, fail(hubapi.Invalid, "site.url", "the address of the skill %s is not a URL", e.Name)
	}
	to = x.at.ResolveReference(to)
	if to.Scheme != "https" && (to.Scheme != x.at.Scheme || to.Host != x.at.Host) {
		return nil, fail(hubapi.Invalid, "site.url", "the address of the skill %s is neither https nor on the site itself", e.Name)
	}
	if len(e.Digest) != 71 || !strings.HasPrefix(e.Digest, "sha256:") || strings.Trim(e.Digest[7:], "0123456789abcdef") != "" {
		return nil, fail(hubapi.Invalid, "site.digest", "the skill %s has no digest (sha256: and 64 hex digits)", e.Name)
	}
	if e.Type != hubapi.SiteText && e.Type != hubapi.SiteArchive {
		return nil, fail(hubapi.Unsupported, "site.type", "the skill %s is of the type %q, which is not known", e.Name, clip(e.Type))
	}
	got, err := w.get(ctx, to.String(), hubapi.MaxArchive, nil)
	if err != nil {
		return nil, err
	}
	if digest := hashOf(got.data); digest != e.Digest {
		return nil, fail(hubapi.Invalid, "fetch.digest", "%s is %s, the list says %s", to, digest, e.Digest).
			WithHint("try again; if it stays so, tell who runs the site")
	}
	if e.Type == hubapi.SiteText {
		return []pack.File{{Path: siteManifest, Data: got.data}}, nil
	}
	var ar hubapi.Archiver
	list, err := ar.ReadFiles(got.data, hubapi.Bounds{Members: maxSiteMembers, Bytes: pack.MaxBytes})
	if err != nil {
		return nil, err
	}
	files := make([]pack.File, len(list))
	for i, f := range list {
		files[i] = pack.File(f)
	}
	return files, nil
}

// olderFiles gets the files that the older form of the list names, one by one.
func (w *web) olderFiles(ctx context.Context, x *siteIndex, e siteEntry) ([]pack.File, error) {
	if len(e.Older) > pack.MaxFiles {
		return nil, fail(hubapi.TooLarge, "pack.too-many", "the skill %s has more than %d files", e.Name, pack.MaxFiles)
	}
	base := *x.at
	base.Path = path.Dir(base.Path) + "/" + e.Name + "/"
	var files []pack.File
	seen := map[string]bool{}
	size := int64(0)
	for _, name := range e.Older { // all names first, so that nothing is asked for in vain
		if fault := pack.CheckPath(name); fault != nil {
			return nil, fail(hubapi.Invalid, fault.ID, "the skill %s has a file that cannot be stored: %s", e.Name, fault.Text)
		}
	}
	for _, name := range e.Older {
		if seen[name] {
			continue
		}
		seen[name] = true
		at := base
		at.Path += name
		got, err := w.get(ctx, at.String(), pack.MaxBytes, nil)
		if err != nil {
			return nil, err
		}
		if size += int64(len(got.data)); size > pack.MaxBytes {
			return nil, fail(hubapi.TooLarge, "pack.too-large", "the skill %s is larger than %d MiB", e.Name, pack.MaxBytes>>20)
		}
		files = append(files, pack.File{Path: name, Data: got.data})
	}
	return files, nil
}
