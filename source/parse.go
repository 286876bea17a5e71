package source

import (
	"cmp"
	"net/netip"
	"path"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// MaxRef bounds the text of a source, in bytes.
const MaxRef = 4096

// ParseOptions says what Parse may look at besides the text.
type ParseOptions struct {
	// Exists tells whether a path is there. It decides one thing: ./a@b is the folder
	// of that name where there is one, else the commit b of the repository ./a. Nil
	// means that nothing is, which is right for a lock.
	Exists func(path string) bool
}

// Parse reads a source as people write it:
//
//	name, author/name[@version]              a release in the hub
//	./folder, ../folder, /folder             a folder with a pack, or with several
//	./repo[//folder]@rev                     a commit of a repository on this machine
//	./file.zip, https://host/file.tar.gz     an archive (.zip, .tar, .tar.gz, .tgz)
//	github:owner/repo[/folder][@rev]         a repository; also gitlab:group/…/repo[//folder][@rev]
//	https://host/path.git[//folder][@rev]    any repository, also ssh:// and user@host:path
//	https://github.com/o/r/tree/rev/folder   the address in the browser
//	https://host[/path][//skill]             a site that lists its skills
//
// In front of any of it, a kind and a colon (dir:, archive:, git:, hub:, site:)
// settle what is meant. The error is an *hubapi.Error of code Invalid.
func Parse(text string, o ParseOptions) (Ref, error) {
	switch {
	case text == "":
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "the source is empty")
	case len(text) > MaxRef:
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "the source is longer than %d bytes", MaxRef)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }):
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "the source has a control character or is not UTF-8")
	case text[0] == '-':
		return Ref{}, fail(hubapi.Invalid, "source.option", "the source %q looks like an option", clip(text)).
			WithHint("for a folder of that name write ./%s", clip(text))
	}
	for _, k := range Kinds {
		if rest, ok := strings.CutPrefix(text, string(k)+":"); ok && !strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, ":") {
			return parseAs(k, rest)
		}
	}
	return parsePlain(text, o)
}

// parsePlain reads a source that does not say its kind.
func parsePlain(text string, o ParseOptions) (Ref, error) {
	switch {
	case strings.HasPrefix(text, "kazma-hub://"):
		return parseAs(Hub, text)
	case strings.HasPrefix(text, "github:"):
		return parseGitHub(strings.TrimPrefix(text, "github:"))
	case strings.HasPrefix(text, "gitlab:"):
		return parseGitURL("https://gitlab.com/" + strings.TrimPrefix(text, "gitlab:"))
	case strings.HasPrefix(text, "git+"):
		return parseGitURL(strings.TrimPrefix(text, "git+"))
	case isPath(text):
		head, sub, _ := strings.Cut(text, "//")
		if isArchive(head) {
			return archiveRef(head, sub)
		}
		if at := strings.LastIndexByte(text, '@'); at > 0 && (o.Exists == nil || !o.Exists(text)) {
			return parseLocalGit(text)
		}
		return Ref{Kind: Dir, Location: cleanPath(text)}, nil
	case isSCP(text):
		return parseGitURL(text)
	case strings.Contains(text, "://") || strings.Contains(text, "::"):
		return parseURL(text)
	case isArchive(text):
		return archiveRef(text, "")
	}
	return parseAs(Hub, text)
}

// parseAs reads what follows a kind.
func parseAs(k Kind, text string) (Ref, error) {
	if text == "" {
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "nothing follows %s:", k)
	}
	switch k {
	case Dir:
		if strings.ContainsRune(text, 0) {
			break
		}
		return Ref{Kind: Dir, Location: cleanPath(text)}, nil
	case Archive:
		if u, sub, ok := cutURL(text); ok {
			return urlRef(Archive, u, sub)
		}
		head, sub, _ := strings.Cut(text, "//")
		return archiveRef(head, sub)
	case Git:
		if isPath(text) {
			return parseLocalGit(text)
		}
		return parseGitURL(text)
	case Site:
		if u, sub, ok := cutURL(text); ok {
			return urlRef(Site, u, sub)
		}
	case Hub:
		r, err := hubapi.ParseRef(text)
		if err != nil {
			return Ref{}, notHub(text, err)
		}
		return Ref{Kind: Hub, Hub: r}, nil
	}
	return Ref{}, fail(hubapi.Invalid, "source.syntax", "%q is not a %s", clip(text), k)
}

// notHub says what else a word could have been meant as.
func notHub(text string, err error) error {
	e := hubapi.AsError(err)
	e.With(hubapi.Detail{ID: "source.syntax", Message: e.Message})
	if parts := strings.Split(text, "/"); len(parts) > 1 && !strings.Contains(text, "//") {
		e.Message = "the source " + quote(text) + " is neither a reference to a hub, nor a path or a URL"
		e.WithHint("for a folder write ./%s, for a repository on GitHub write github:%s", clip(text), clip(text))
	}
	return e
}

// String writes r the way Parse reads it. It names a kind only where the text would
// be taken for another one.
func (r Ref) String() string {
	text := r.text()
	if again, err := Parse(text, ParseOptions{}); err == nil && again == r {
		return text
	}
	if r.Kind == Git && strings.HasPrefix(text, "github:") {
		text = r.Location + below(r.Path) + at(r.Rev)
	}
	return string(r.Kind) + ":" + text
}

func (r Ref) text() string {
	switch r.Kind {
	case Hub:
		return r.Hub.String()
	case Git:
		if r.Tree != "" {
			mark := "/tree/"
			if !strings.HasPrefix(r.Location, "https://github.com/") {
				mark = "/-/tree/"
			}
			return r.Location + mark + r.Tree
		}
		if repo, ok := strings.CutPrefix(r.Location, "https://github.com/"); ok && strings.Count(repo, "/") == 1 {
			text := "github:" + repo
			if r.Path != "" {
				text += "/" + r.Path
			}
			return text + at(r.Rev)
		}
		if isPath(r.Location) {
			text := r.Location + below(r.Path)
			if text == "." || text == ".." {
				text += "/"
			}
			return text + at(cmp.Or(r.Rev, "HEAD"))
		}
		return r.Location + below(r.Path) + at(r.Rev)
	}
	return r.Location + below(r.Path)
}

func below(path string) string {
	if path == "" {
		return ""
	}
	return "//" + path
}

func at(rev string) string {
	if rev == "" {
		return ""
	}
	return "@" + rev
}

// Remote tells whether the source is somewhere else.
func (r Ref) Remote() bool {
	switch r.Kind {
	case Dir:
		return false
	case Archive, Git:
		return !isPath(r.Location)
	}
	return true
}

// isPath knows what is written as a path: it starts with a dot, a slash or a drive.
func isPath(text string) bool {
	if text == "." || text == ".." || text == "" {
		return text != ""
	}
	for _, prefix := range []string{"./", "../", "/", `.\`, `..\`, `\`} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/') && (text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z')
}

// cleanPath keeps a path relative or absolute as it was typed, in one spelling.
func cleanPath(text string) string {
	p := filepath.ToSlash(filepath.Clean(filepath.FromSlash(text)))
	if p == "." || p == ".." || isPath(p) {
		return p
	}
	return "./" + p
}

func isArchive(name string) bool {
	lower := strings.ToLower(name)
	for _, suffix := range []string{".zip", ".tar", ".tar.gz", ".tgz"} {
		if strings.HasSuffix(lower, suffix) && len(path.Base(lower)) > len(suffix) {
			return true
		}
	}
	return false
}

func archiveRef(file, sub string) (Ref, error) {
	sub, err := checkFolder(sub)
	if err != nil {
		return Ref{}, err
	}
	if file == "" {
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "no archive is named")
	}
	return Ref{Kind: Archive, Location: cleanPath(file), Path: sub}, nil
}

// parseLocalGit reads ./repo[//folder][@rev].
func parseLocalGit(text string) (Ref, error) {
	text, rev, err := cutRev(text, strings.LastIndexByte(text, '@'))
	if err != nil {
		return Ref{}, err
	}
	head, sub, _ := strings.Cut(text, "//")
	sub, err = checkFolder(sub)
	if err != nil {
		return Ref{}, err
	}
	if head == "" {
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "no repository is named")
	}
	if rev == "HEAD" {
		rev = ""
	}
	return Ref{Kind: Git, Location: cleanPath(head), Path: sub, Rev: rev}, nil
}

// cutRev splits text at the '@' at position i; there is no revision when i is
// negative.
func cutRev(text string, i int) (rest, rev string, err error) {
	if i < 0 {
		return text, "", nil
	}
	rest, rev = text[:i], text[i+1:]
	if err := checkRev(rev); err != nil {
		return "", "", err
	}
	return rest, rev, nil
}

// checkRev refuses what is no plain name of a branch, tag or commit. Git takes much
// more: options, ranges, paths, places in the reflog.
func checkRev(rev string) error {
	bad := func(why string) error {
		return fail(hubapi.Invalid, "source.ref", "the revision %q %s", clip(rev), why).
			WithHint("name a branch, a tag or a commit")
	}
	switch {
	case rev == "":
		return bad("is empty")
	case len(rev) > 255:
		return bad("is longer than 255 bytes")
	case rev[0] == '-':
		return bad("looks like an option")
	case rev == "@", strings.Contains(rev, "@{"), strings.Contains(rev, ".."), strings.ContainsAny(rev, " ~^:?*[\\"):
		return bad("is an expression, not a name")
	case rev[0] == '/', strings.HasSuffix(rev, "/"), strings.Contains(rev, "//"), strings.HasSuffix(rev, "."), strings.HasSuffix(rev, ".lock"):
		return bad("cannot be the name of a branch or tag")
	}
	for part := range strings.SplitSeq(rev, "/") {
		if part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return bad("cannot be the name of a branch or tag")
		}
	}
	return nil
}

// checkFolder gives a folder in a source in its one spelling.
func checkFolder(p string) (string, error) {
	p = strings.TrimSuffix(p, "/")
	if p == "" {
		return "", nil
	}
	if e := pack.CheckPath(p); e != nil {
		return "", fail(hubapi.Invalid, e.ID, "the folder in the source cannot be named: %s", e.Text)
	}
	return p, nil
}

func quote(s string) string { return `"` + clip(s) + `"` }

// loopback tells whether a user who types this host means the machine itself. Other
// spellings of it (0, 2130706433, localhost., ::ffff:127.0.0.1) do not count: nobody
// types them, they are used to get around checks.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Zone() == "" && !a.Is4In6() && a.IsLoopback()
}

// cutURL takes the folder behind // off a URL.
func cutURL(text string) (address, sub string, ok bool) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return "", "", false
	}
	rest, sub, _ = strings.Cut(rest, "//")
	return scheme + "://" + rest, sub, true
}

// urlRef is an archive or a site at an address.
func urlRef(k Kind, address, sub string) (Ref, error) {
	u, err := checkURL(address)
	if err != nil {
		return Ref{}, err
	}
	if u.Scheme == "ssh" {
		return Ref{}, fail(hubapi.Invalid, "source.scheme", "%s:// is for repositories", u.Scheme)
	}
	sub, err = checkFolder(sub)
	if err != nil {
		return Ref{}, err
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return Ref{Kind: k, Location: u.String(), Path: sub}, nil
}
