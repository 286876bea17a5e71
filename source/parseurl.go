package source

import (
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// forges are the hosts whose every address of two or more names is a repository.
var forges = map[string]bool{"github.com": true, "gitlab.com": true, "codeberg.org": true, "bitbucket.org": true}

// parseURL reads an address that does not say its kind.
func parseURL(text string) (Ref, error) {
	address, sub, ok := cutURL(text)
	if !ok || strings.HasPrefix(text, "ssh://") {
		return parseGitURL(text)
	}
	scheme, rest, _ := strings.Cut(text, "://")
	host, _, _ := strings.Cut(rest, "/")
	if isArchive(address) && strings.Contains(rest, "/") {
		return urlRef(Archive, address, sub)
	}
	if scheme != "https" && scheme != "http" || forges[strings.ToLower(host)] && strings.Contains(rest, "/") || isRepository(rest) {
		return parseGitURL(text)
	}
	return urlRef(Site, address, sub)
}

// isRepository knows repositories by the .git at the end of one of their names, and
// by what GitLab puts behind them.
func isRepository(rest string) bool {
	_, rest, _ = strings.Cut(rest, "/")
	if strings.Contains(rest, "/-/tree/") || strings.Contains(rest, "/-/blob/") {
		return true
	}
	head, _, _ := strings.Cut(rest, "//")
	head, _, _ = strings.Cut(head, "@")
	return strings.HasSuffix(strings.TrimSuffix(head, "/"), ".git")
}

// parseGitHub reads owner/repo[/folder][@rev].
func parseGitHub(text string) (Ref, error) {
	rest, rev, err := cutRev(text, revAt(text))
	if err != nil {
		return Ref{}, err
	}
	parts := strings.SplitN(strings.TrimSuffix(rest, "/"), "/", 3)
	if len(parts) < 2 || !forgeName(parts[0]) || !forgeName(strings.TrimSuffix(parts[1], ".git")) {
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "%q is not owner/repo[/folder][@rev]", clip(text))
	}
	r := Ref{Kind: Git, Location: "https://github.com/" + parts[0] + "/" + strings.TrimSuffix(parts[1], ".git"), Rev: rev}
	if len(parts) == 3 {
		if r.Path, err = checkFolder(strings.TrimPrefix(parts[2], "/")); err != nil {
			return Ref{}, err
		}
	}
	return r, nil
}

func forgeName(s string) bool {
	if s == "" || s == "." || s == ".." || s[0] == '-' || len(s) > 100 {
		return false
	}
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// revAt is where the revision starts: at the first '@' that does not begin a name,
// because folders may be called @scope and tags pkg@1.0.
func revAt(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] == '@' && text[i-1] != '/' {
			return i
		}
	}
	return -1
}

// isSCP knows user@host:path.
func isSCP(text string) bool {
	user, rest, ok := strings.Cut(text, "@")
	if !ok || user == "" || strings.Contains(text, "://") || strings.Trim(strings.ToLower(user), "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return false
	}
	host, p, ok := strings.Cut(rest, ":")
	return ok && host != "" && p != "" && !strings.ContainsAny(host, "/@")
}

// parseGitURL reads the address of a repository with a folder and a revision.
func parseGitURL(text string) (Ref, error) {
	if isSCP(text) {
		return parseSCP(text)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || strings.Contains(scheme, ":") {
		return Ref{}, badScheme(text)
	}
	authority, rest, _ := strings.Cut(rest, "/")
	if u, err := url.Parse(scheme + "://" + authority); err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh" {
		return Ref{}, badScheme(text)
	}
	if r, ok, err := webAddress(scheme+"://"+authority, rest); ok || err != nil {
		return r, err
	}
	rest, rev, err := cutRev(rest, revAt("/"+rest)-1)
	if revAt("/"+rest) >= 0 && err == nil && rev == "" {
		err = fail(hubapi.Invalid, "source.ref", "the revision is empty")
	}
	if err != nil {
		return Ref{}, err
	}
	head, sub, _ := strings.Cut(rest, "//")
	return gitRef(scheme+"://"+authority+"/"+head, sub, rev)
}

func gitRef(address, sub, rev string) (Ref, error) {
	u, err := checkURL(address)
	if err != nil {
		return Ref{}, err
	}
	sub, err = checkFolder(sub)
	if err != nil {
		return Ref{}, err
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	if strings.Trim(u.Path, "/") == "" {
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "%s names no repository", u)
	}
	if strings.Contains(u.Path, "//") {
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "the path of the repository has an empty part: %s", u)
	}
	if strings.HasPrefix(strings.TrimLeft(u.Path, "/"), "-") {
		return Ref{}, fail(hubapi.Invalid, "source.option", "the path of the repository looks like an option")
	}
	if forges[u.Host] {
		u.Path = strings.TrimSuffix(u.Path, ".git")
	}
	if u.Host == "github.com" && u.Scheme == "https" {
		if parts := strings.Split(strings.Trim(u.Path, "/"), "/"); len(parts) != 2 || !forgeName(parts[0]) || !forgeName(parts[1]) {
			return Ref{}, fail(hubapi.Invalid, "source.syntax", "%s names no repository: it has owner/repo", u)
		}
	}
	return Ref{Kind: Git, Location: u.String(), Path: sub, Rev: rev}, nil
}

// parseSCP reads user@host:path[//folder][@rev].
func parseSCP(text string) (Ref, error) {
	user, rest, _ := strings.Cut(text, "@")
	host, rest, _ := strings.Cut(rest, ":")
	rest, rev, err := cutRev(rest, revAt(rest))
	if err != nil {
		return Ref{}, err
	}
	head, sub, _ := strings.Cut(rest, "//")
	if sub, err = checkFolder(sub); err != nil {
		return Ref{}, err
	}
	head = strings.TrimRight(head, "/")
	switch {
	case user[0] == '-' || host[0] == '-' || strings.HasPrefix(head, "-"):
		return Ref{}, fail(hubapi.Invalid, "source.scheme", "a part of the address looks like an option")
	case head == "" || strings.ContainsAny(head, ": \\") || strings.Contains(host, " "):
		return Ref{}, fail(hubapi.Invalid, "source.syntax", "%q is not user@host:path", clip(text))
	}
	if err := checkHost(host); err != nil {
		return Ref{}, err
	}
	return Ref{Kind: Git, Location: user + "@" + host + ":" + head, Path: sub, Rev: rev}, nil
}

// webAddress reads what a browser shows for a folder or a manifest in a repository.
func webAddress(origin, rest string) (r Ref, ok bool, err error) {
	mark, at := "", -1
	for _, m := range []string{"/-/tree/", "/-/blob/", "/tree/", "/blob/", "/commit/", "/releases/tag/"} {
		if at = strings.Index(rest, m); at >= 0 {
			mark = m
			break
		}
	}
	if at < 0 || !strings.HasPrefix(mark, "/-/") && (strings.ToLower(origin) != "https://github.com" || strings.Count(rest[:at], "/") != 1) {
		return Ref{}, false, nil
	}
	u, err := url.PathUnescape(rest[at+len(mark):])
	if err != nil {
		return Ref{}, false, fail(hubapi.Invalid, "source.syntax", "the address is not escaped as URLs are")
	}
	tree := strings.Trim(u, "/")
	if strings.HasSuffix(mark, "blob/") {
		folder, file, _ := cutLast(tree)
		known := false
		for _, f := range pack.Formats {
			known = known || file == f.ManifestFile()
		}
		if !known {
			return Ref{}, false, fail(hubapi.Invalid, "source.syntax", "the address is of a file that is no manifest of a pack").
				WithHint("give the address of the folder")
		}
		tree = folder
	}
	if r, err = gitRef(origin+"/"+rest[:at], "", ""); err != nil {
		return Ref{}, false, err
	}
	if err := checkRev(tree); err != nil {
		return Ref{}, false, err
	}
	if e := pack.CheckPath(tree); e != nil {
		return Ref{}, false, fail(hubapi.Invalid, e.ID, "the folder in the source cannot be named: %s", e.Text)
	}
	switch first, _, more := strings.Cut(tree, "/"); {
	case !more || mark == "/commit/" || mark == "/releases/tag/":
		r.Rev = tree
	case isCommit(first):
		r.Rev, r.Path = first, tree[len(first)+1:]
	default:
		r.Tree = tree
	}
	return r, true, nil
}

func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func cutLast(p string) (before, last string, ok bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p, false
	}
	return p[:i], p[i+1:], true
}

func badScheme(text string) error {
	scheme, _, _ := strings.Cut(text, ":")
	return fail(hubapi.Invalid, "source.scheme", "sources are not read by %q", clip(scheme)).
		WithHint("use https or ssh; for a folder or a repository on this machine write its path")
}

// checkURL reads an address and refuses what must not be in one: a password, a
// query, a host that looks like another, plain http to anywhere but this machine.
func checkURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		if strings.Contains(address, "@") { // url.Error repeats what may be a password
			return nil, fail(hubapi.Invalid, "url.syntax", "the source is not a URL")
		}
		return nil, fail(hubapi.Invalid, "url.syntax", "%q is not a URL", clip(address))
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	_, password := u.User.Password()
	switch {
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh":
		return nil, badScheme(address)
	case u.Hostname() == "":
		return nil, fail(hubapi.Invalid, "url.syntax", "the URL has no host")
	case u.Scheme == "ssh" && (strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-")):
		return nil, fail(hubapi.Invalid, "source.scheme", "a part of the address looks like an option")
	case u.User != nil && (u.Scheme != "ssh" || password):
		return nil, fail(hubapi.Invalid, "url.userinfo", "the URL must not hold a user or a password").
			WithHint("leave it out; git's credential helpers and --token are asked for it")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(address, "#"):
		return nil, fail(hubapi.Invalid, "url.query", "the URL must not have a query or a fragment")
	case u.Opaque != "":
		return nil, fail(hubapi.Invalid, "url.syntax", "the URL has no host")
	}
	if err := checkHost(u.Hostname()); err != nil {
		return nil, err
	}
	return u, nil
}

// checkHost refuses names of hosts that people cannot tell from others.
func checkHost(host string) error {
	if strings.Trim(host, "\x00") == "" || len(host) > 253 {
		return fail(hubapi.Invalid, "url.syntax", "the host is not a name")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if isNumber(host) {
		return fail(hubapi.Forbidden, "url.private", "the host %q is another spelling of an address", clip(host)).
			WithHint("write the address as four numbers, or use a name")
	}
	for i := range len(host) {
		if host[i] < 0x80 {
			continue
		}
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return fail(hubapi.Invalid, "url.host", "the host %q is not a name", clip(host))
		}
		return fail(hubapi.Invalid, "url.host", "the host %q has letters that look like others; its real name is %s", clip(host), ascii).
			WithHint("if you mean that host, write it as %s", ascii)
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" || host[0] == '-' {
		return fail(hubapi.Invalid, "url.host", "the host %q is not a name", clip(host))
	}
	return nil
}

// isNumber knows hosts that some resolvers read as an address and others as a name:
// their last part is a number.
func isNumber(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	if last == "" {
		return false
	}
	hex, ok := strings.CutPrefix(strings.ToLower(last), "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == "" || strings.Trim(last, "0123456789") == ""
}
