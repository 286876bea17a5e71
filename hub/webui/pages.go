package webui

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// pageNames are the templates that fill the layout.
var pageNames = [...]string{"catalogue.html", "release.html", "file.html", "diff.html", "inbox.html", "review.html", "fleet.html", "node.html", "log.html", "docs.html", "login.html", "error.html"}

func parsePages() map[string]*template.Template {
	pages := make(map[string]*template.Template, len(pageNames))
	for _, name := range pageNames {
		pages[name] = template.Must(template.New(name).Funcs(template.FuncMap{
			"safe":  escapeLines,
			"short": func(s string) string { return s[:min(len(s), 20)] },
			"time":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
			"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
			"path":  url.PathEscape,
			"files": filePath,
		}).ParseFS(assets, "templates/layout.html", "templates/"+name))
	}
	return pages
}

// filePath escapes a file's path for a URL, keeping its slashes.
func filePath(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

func (s *site) catalogue(v *visit) error {
	q := v.r.URL.Query().Get("q")
	found, err := s.find(v, q)
	if err != nil {
		return err
	}
	s.render(v, http.StatusOK, "catalogue.html", page{Title: "Skills", Data: found})
	return nil
}

func refOf(r *http.Request) hubapi.Ref {
	return hubapi.Ref{Author: r.PathValue("author"), Name: r.PathValue("name"), Version: r.PathValue("version")}
}

// releasePage is everything about one release.
type releasePage struct {
	Release      hubapi.Release
	Instructions template.HTML
	Signatures   []signature
	Tools        []string
	Active       *hubapi.Release // the active one, when this is another
	Scan         *hubapi.Scan    // for who reviews
	Endpoint     string          // of this hub, as it was asked; empty when that is no plain host
}

// signature is what a signature file says; whether it is true, only a client that
// knows the key can tell.
type signature struct {
	KeyID, Subject, Version, Digest string
	SignedAt                        time.Time
}

func (s *site) release(v *visit) error {
	ref := refOf(v.r)
	r, err := s.hub.Release(v.r.Context(), v.p, ref)
	if err != nil {
		return err
	}
	exact := hubapi.Ref{Author: r.Author, Name: r.Name, Version: r.Version}
	p := releasePage{Release: r, Endpoint: s.endpoint(v.r)}
	for id, version := range r.Tools {
		p.Tools = append(p.Tools, id+"@"+version)
	}
	slices.Sort(p.Tools)
	if prose, err := s.prose(v, exact, r); err == nil {
		p.Instructions = renderMarkdown(prose)
	}
	if r.Signed {
		if p.Signatures, err = s.signatures(v, exact); err != nil {
			return err
		}
	}
	if detail, err := s.hub.InboxDetail(v.r.Context(), v.p, exact, false); err == nil {
		p.Scan = detail.Scan
	}
	if r.Status != hubapi.Active {
		if active, err := s.hub.Release(v.r.Context(), v.p, hubapi.Ref{Author: r.Author, Name: r.Name}); err == nil {
			p.Active = &active
		}
	}
	s.render(v, http.StatusOK, "release.html", page{Title: r.Ref(), Data: p})
	return nil
}

// endpoint is the address under which r reached the hub. It stands in a command that
// people paste, so a Host with other characters than names and addresses have is left out.
func (s *site) endpoint(r *http.Request) string {
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(".:-", c)
	}
	host := r.Host
	if host == "" || strings.HasPrefix(host, "-") || strings.ContainsFunc(strings.NewReplacer("[", "", "]", "").Replace(host), other) {
		return ""
	}
	scheme := "http://"
	if s.o.Secure {
		scheme = "https://"
	}
	if strings.HasPrefix(host, "[") {
		return "'" + scheme + host + "'" // a shell would take it for a pattern
	}
	return scheme + host
}

// prose is the text of a release that agents read.
func (s *site) prose(v *visit, ref hubapi.Ref, r hubapi.Release) ([]byte, error) {
	name := "README.md"
	switch pack.Format(r.Format) {
	case pack.Kortecx:
		name = "instructions.md"
	case pack.SkillMD:
		name = pack.SkillMD.ManifestFile()
	}
	file, err := s.hub.File(v.r.Context(), v.p, ref, name)
	if err != nil {
		return nil, err
	}
	if pack.Format(r.Format) == pack.SkillMD {
		if _, body, _, faults, _ := pack.SplitFrontmatter(file.Data); len(faults) == 0 {
			return body, nil
		}
	}
	return file.Data, nil
}

func (s *site) signatures(v *visit, ref hubapi.Ref) ([]signature, error) {
	data, err := s.hub.Signature(v.r.Context(), v.p, ref)
	if err != nil {
		return nil, err
	}
	file, err := sign.ReadSignatureFile(data)
	if err != nil {
		return nil, nil
	}
	var out []signature
	for _, envelope := range file.DSSE {
		statement, err := sign.ParseStatement(envelope.Payload)
		if err != nil {
			continue
		}
		for _, made := range envelope.Signatures {
			out = append(out, signature{
				KeyID: made.KeyID, Subject: statement.Subject(), Version: statement.Version,
				Digest: string(statement.Digest), SignedAt: statement.SignedAt,
			})
		}
	}
	return out, nil
}

// filePage is one file, line by line.
type filePage struct {
	Release hubapi.Release
	Path    string
	Size    int
	Lines   []string
	Binary  bool
	Cut     bool
}

func (s *site) file(v *visit) error {
	ref := refOf(v.r)
	r, err := s.hub.Release(v.r.Context(), v.p, ref)
	if err != nil {
		return err
	}
	f, err := s.hub.File(v.r.Context(), v.p, ref, v.r.PathValue("path"))
	if err != nil {
		return err
	}
	p := filePage{Release: r, Path: f.Path, Size: len(f.Data), Cut: len(f.Data) > maxShown}
	text, ok := shownText(f.Data)
	p.Binary = !ok
	if ok {
		p.Lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	s.render(v, http.StatusOK, "file.html", page{Title: f.Path + " of " + r.Ref(), Data: p})
	return nil
}

// diffPage is what changed between two releases.
type diffPage struct {
	From, To hubapi.Release
	Files    []fileDiff
}

type fileDiff struct {
	Path  string
	What  string // added, removed, changed
	Lines []diffLine
}

type diffLine struct {
	Kind string // added, removed, same, hunk
	Text string
}

func (s *site) diff(v *visit) error {
	author, name := v.r.PathValue("author"), v.r.PathValue("name")
	var sides [2]hub.ArchiveOut
	for i, version := range []string{v.r.PathValue("from"), v.r.PathValue("to")} {
		var err error
		if sides[i], err = s.hub.Archive(v.r.Context(), v.p, hubapi.Ref{Author: author, Name: name, Version: version}); err != nil {
			return err
		}
	}
	p := diffPage{From: sides[0].Release, To: sides[1].Release, Files: diffFiles(sides[0].Files, sides[1].Files)}
	s.render(v, http.StatusOK, "diff.html", page{Title: "What changed in " + author + "/" + name, Data: p})
	return nil
}

// diffFiles compares two sets of files, both ascending by path.
func diffFiles(from, to []pack.File) []fileDiff {
	var out []fileDiff
	for i, j := 0, 0; i < len(from) || j < len(to); {
		switch {
		case j == len(to) || i < len(from) && from[i].Path < to[j].Path:
			out = append(out, fileDiff{Path: from[i].Path, What: "removed", Lines: diffLines(from[i].Data, nil)})
			i++
		case i == len(from) || to[j].Path < from[i].Path:
			out = append(out, fileDiff{Path: to[j].Path, What: "added", Lines: diffLines(nil, to[j].Data)})
			j++
		default:
			if string(from[i].Data) != string(to[j].Data) {
				out = append(out, fileDiff{Path: to[j].Path, What: "changed", Lines: diffLines(from[i].Data, to[j].Data)})
			}
			i, j = i+1, j+1
		}
	}
	return out
}

func diffLines(from, to []byte) []diffLine {
	a, okA := shownText(from)
	b, okB := shownText(to)
	if !okA || !okB {
		return []diffLine{{"hunk", "not text"}}
	}
	var out []diffLine
	for line := range strings.Lines(udiff.Unified("", "", a, b)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), line == "---", line == "+++":
		case strings.HasPrefix(line, "@@"):
			out = append(out, diffLine{"hunk", line})
		case strings.HasPrefix(line, "+"):
			out = append(out, diffLine{"added", line[1:]})
		case strings.HasPrefix(line, "-"):
			out = append(out, diffLine{"removed", line[1:]})
		default:
			out = append(out, diffLine{"same", strings.TrimPrefix(line, " ")})
		}
	}
	return out
}

func (s *site) log(v *visit) error {
	state, err := s.hub.LogState(v.r.Context(), v.p)
	if err != nil {
		return err
	}
	const shown = 200
	entries, err := s.hub.LogEntries(v.r.Context(), v.p, hubapi.Ref{}, max(0, state.Size-shown), shown)
	if err != nil {
		return err
	}
	slices.Reverse(entries.Items)
	s.render(v, http.StatusOK, "log.html", page{Title: "Log", Data: map[string]any{"State": state, "Items": entries.Items}})
	return nil
}
