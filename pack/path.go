package pack

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// What file systems can hold, in bytes.
const (
	maxComponent = 255
	maxPath      = 4096
)

// CheckPath tells why p may not be the path of a file in a pack, or nil. Allowed
// is what every supported system can hold as written, and what no tool takes for
// something else: relative, "/" between components, NFC, no control characters,
// no name that Windows reserves or rewrites, no alias of .git.
func CheckPath(p string) *Error {
	if err := checkLength(p); err != nil {
		return err
	}
	if p == "" {
		return pathError("path.portable", p, "a path may not be empty")
	}
	for name := range strings.SplitSeq(p, "/") {
		if err := checkComponent(p, name); err != nil {
			return err
		}
	}
	return nil
}

func checkLength(p string) *Error {
	if len(p) > maxPath {
		return pathError("path.too-long", p, fmt.Sprintf("the path is %d bytes long, %d are allowed", len(p), maxPath))
	}
	return nil
}

// checkComponent judges one name on the way of p.
func checkComponent(p, name string) *Error {
	if plainName(name) {
		return nil
	}
	return judgeComponent(p, name)
}

func judgeComponent(p, name string) *Error {
	switch {
	case len(name) > maxComponent:
		return pathError("path.too-long", p, fmt.Sprintf("a name in the path is %d bytes long, %d are allowed", len(name), maxComponent))
	case name == "" || name == "." || name == "..":
		return pathError("path.portable", p, fmt.Sprintf("the path %s does not stay inside the pack", quoted(p)))
	case !utf8.ValidString(name):
		return pathError("path.portable", p, fmt.Sprintf("the name %s is not UTF-8", quoted(name)))
	case isDotGit(name):
		return pathError("path.dotgit", p, fmt.Sprintf("the name %s means .git on some disks", quoted(name)))
	}
	for _, r := range name {
		switch {
		case isControl(r):
			return pathError("path.control", p, fmt.Sprintf("the name %s has the control or invisible character U+%04X", quoted(name), r))
		case strings.ContainsRune(`<>:"|?*\`, r):
			return pathError("path.portable", p, fmt.Sprintf("the name %s has %q, which Windows does not allow", quoted(name), r))
		}
	}
	switch {
	case strings.HasSuffix(name, " ") || strings.HasSuffix(name, "."):
		return pathError("path.portable", p, fmt.Sprintf("the name %s ends in a space or dot, which Windows drops", quoted(name)))
	case reservedOnWindows(name):
		return pathError("path.portable", p, fmt.Sprintf("the name %s is a device on Windows", quoted(name)))
	case isShortName(name):
		return pathError("path.portable", p, fmt.Sprintf("the name %s is a short name on Windows and may mean another file", quoted(name)))
	case !norm.NFC.IsNormalString(name):
		return pathError("path.portable", p, fmt.Sprintf("the name %s is not in Unicode normal form C", quoted(name)))
	}
	return nil
}

func pathError(id, p, text string) *Error {
	return &Error{Kind: KindPack, ID: id, Place: Place{File: p}, Text: text}
}

// plainName passes what nearly all names are made of, so that the common case
// costs one loop. It must not pass anything that the slow checks would stop.
func plainName(name string) bool {
	if len(name) < 5 || len(name) > maxComponent {
		return false // short enough to be a device or dots
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
		case c >= 'A' && c <= 'Z':
		case c == '.' && i > 0 && i < len(name)-1:
			// A device keeps its meaning whatever follows the dot.
			if i <= 4 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isDotGit tells whether a disk may take name for .git: HFS+ ignores some code
// points, NTFS drops trailing dots and spaces and has the alias GIT~1.
func isDotGit(name string) bool {
	visible := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	visible, _, _ = strings.Cut(visible, ":") // an NTFS stream of the folder is the folder
	visible = strings.ToLower(strings.TrimRight(visible, " ."))
	return visible == ".git" || visible == "git~1"
}

// isControl tells whether a character of a file name would break a line, a
// terminal, or the reader's idea of the order of what is shown.
func isControl(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r == 0xfeff, r == 0x2028, r == 0x2029:
		return true
	case r == 0x200b, r >= 0x2060 && r <= 0x2064, r >= 0xe0000 && r <= 0xe007f: // never seen, and no script needs them
		return true
	case r == 0x200b, r >= 0x2060 && r <= 0x2064, r >= 0xe0000 && r <= 0xe007f: // never seen, and no script needs them
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// reserved refuses the marks by which installers know the folders that they manage:
// one inside of a pack would make its folder look like somebody's.
func (t *tree) reserved(paths []string) {
	last := ""
	for _, p := range paths {
		top, _, _ := strings.Cut(p, "/")
		if top == last || !strings.EqualFold(top, OwnedMarker) && !strings.EqualFold(top, foreignMarker) {
			continue
		}
		last = top
		e := pathError("path.reserved", top, fmt.Sprintf("the name %s marks folders that an installer manages", quoted(top)))
		e.Hint = "leave it out, or give it another name"
		t.faults = append(t.faults, e)
	}
}

func reservedOnWindows(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	switch base = strings.ToUpper(strings.TrimRight(base, " ")); base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	number, ok := strings.CutPrefix(base, "COM")
	if !ok {
		number, ok = strings.CutPrefix(base, "LPT")
	}
	switch number {
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
		return ok
	}
	return false
}

// isShortName tells whether name has the 8.3 form that Windows makes up for long
// names, such as A~1.MD.
func isShortName(name string) bool {
	base, ext, _ := strings.Cut(name, ".")
	head, number, ok := strings.Cut(base, "~")
	if !ok || head == "" || number == "" || len(base) > 8 || len(ext) > 3 || strings.Contains(ext, ".") {
		return false
	}
	return strings.Trim(number, "0123456789") == ""
}

// checkPaths judges the names of all entries and of the folders above them, and
// looks for pairs that some disk would hold as one.
func (t *tree) checkPaths(entries []string) {
	all := slices.Clone(entries)
	seen := make(map[string]bool, len(all))
	for _, p := range entries {
		seen[p] = true
	}
	for _, p := range entries {
		for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p[:i], '/') {
			if up := p[:i]; !seen[up] {
				seen[up] = true
				all = append(all, up)
			}
		}
	}
	slices.Sort(all)

	// A path in another normal form is not reported as such when it collides:
	// the collision says more.
	twins := make(map[string]bool)
	byForm := make(map[string]string, len(all))
	byCase := make(map[string]string, len(all))
	for _, p := range all {
		if !utf8.ValidString(p) {
			continue
		}
		form := norm.NFC.String(p)
		folded := foldCase(form)
		if other, ok := byForm[form]; ok {
			t.collision(twins, "pack.normalisation-collision", other, p, "differ only in their Unicode normal form")
		} else if other, ok := byCase[folded]; ok {
			t.collision(twins, "pack.case-collision", other, p, "differ only in case")
		}
		byForm[form], byCase[folded] = p, p
	}
	for _, p := range all {
		err := checkLength(p)
		if err == nil {
			err = checkComponent(p, path.Base("/"+p)) // "/" keeps an empty path empty
			if p == "" || strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") {
				err = CheckPath(p)
			}
		}
		if err != nil && (!twins[p] || err.ID != "path.portable") {
			t.faults = append(t.faults, err)
		}
	}
}

// collision records a pair. Below folders that collide already, nothing more is
// said.
func (t *tree) collision(twins map[string]bool, id, first, second, why string) {
	if path.Dir(first) != path.Dir(second) {
		return
	}
	twins[first], twins[second] = true, true
	t.faults = append(t.faults, &Error{
		Kind: KindPack, ID: id, Place: Place{File: second},
		Text: fmt.Sprintf("the names %s and %s %s: some disks hold them as one file", quoted(first), quoted(second), why),
	})
}

// foldCase maps every rune to one of those that differ from it only in case.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, s)
}
