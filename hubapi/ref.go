package hubapi

import (
	"strings"
)

// MaxName and MaxVersion are the lengths that CheckName and CheckVersion allow,
// in bytes.
const (
	MaxName    = 64
	MaxVersion = 64
)

// AnyAuthor stands for the author in a path of the API when the caller knows the
// name only: whoever owns the name is meant.
const AnyAuthor = "-"

// Ref names a skill or one release of it, as people write it: name, author/name
// or author/name@version. Author and Version may be empty.
type Ref struct {
	Author  string
	Name    string
	Version string
}

// String writes r the way ParseRef reads it.
func (r Ref) String() string {
	s := r.Name
	if r.Author != "" {
		s = r.Author + "/" + s
	}
	if r.Version != "" {
		s += "@" + r.Version
	}
	return s
}

// ParseRef reads name, author/name, name@version or author/name@version. The
// error is an *Error of code Invalid that names the part that is wrong.
func ParseRef(s string) (Ref, error) {
	return parseRef(strings.TrimPrefix(s, "kazma-hub://")) // as Kazma writes it
}

// parseRef is ParseRef without the scheme.
func parseRef(s string) (Ref, error) {
	var r Ref
	rest, version, versioned := strings.Cut(s, "@")
	if versioned {
		if err := CheckVersion(version); err != nil {
			return Ref{}, err
		}
		r.Version = version
	}
	r.Name = rest
	if author, name, ok := strings.Cut(rest, "/"); ok {
		if err := CheckAuthor(author); err != nil {
			return Ref{}, err
		}
		r.Author, r.Name = author, name
	}
	if err := CheckName(r.Name); err != nil {
		return Ref{}, err
	}
	return r, nil
}

// CheckName says why name cannot be the name of a skill in a hub, or nil. The
// grammar is [a-z0-9][a-z0-9._-]{0,63}: the name is a path segment of the API,
// a folder on disks that fold case, and the document id of other tools. What Windows
// takes for a device (con, aux.x) or rewrites (a dot at the end) is no name.
func CheckName(name string) error {
	if goodName(name) {
		return nil
	}
	return Errorf(Invalid, "%q cannot be the name of a skill in a hub", clip(name)).
		WithHint("a name "+nameRule, MaxName)
}

// CheckAuthor says why author cannot be an author's namespace, or nil. It has
// the grammar of a name.
func CheckAuthor(author string) error {
	if goodName(author) {
		return nil
	}
	return Errorf(Invalid, "%q cannot be an author in a hub", clip(author)).
		WithHint("an author "+nameRule, MaxName)
}

// nameRule is the hint of a refusal.
const nameRule = "starts with a-z or 0-9, goes on with a-z, 0-9, '.', '_' or '-', has at most %d bytes, and is nothing that Windows rewrites or takes for a device (con, nul, com1, a dot at the end)"

func goodName(s string) bool {
	return plainWord(s) && !strings.HasSuffix(s, ".") && !isDevice(s)
}

// isDevice knows the names that Windows takes for a device, whatever follows a dot.
// Names here are lower case and plain, so the list is short.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	digit, port := strings.CutPrefix(base, "com")
	if !port {
		digit, port = strings.CutPrefix(base, "lpt")
	}
	return port && len(digit) == 1 && digit[0] >= '0' && digit[0] <= '9'
}

func plainWord(s string) bool {
	if s == "" || len(s) > MaxName {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// CheckVersion says why version cannot be the version of a release, or nil. A
// version is opaque text of 1 to 64 printable ASCII characters without space,
// '/', '\' and '@'; "." and ".." are refused because it is a path segment.
func CheckVersion(version string) error {
	ok := version != "" && len(version) <= MaxVersion && version != "." && version != ".."
	for i := range len(version) {
		c := version[i]
		ok = ok && c > ' ' && c < 0x7f && c != '/' && c != '\\' && c != '@'
	}
	if ok {
		return nil
	}
	return Errorf(Invalid, "%q cannot be a version in a hub", clip(version)).
		WithHint(`a version has 1 to %d printable ASCII characters, none of them a space, '/', '\' or '@'`, MaxVersion)
}

// clip keeps a hostile value from filling a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
