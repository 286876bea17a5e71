package pack

import (
	"fmt"
	"strings"
	"unicode"
)

// ResolveEntry finds the file that a Kazma entry_point names, and the class in
// it. It is the one resolver for signing, verifying and loading: the reference
// has three, which agree only on simple names.
//
// A module is module:Class or module, where module is parts joined by dots or
// slashes (pkg.main:Cls and pkg/main:Cls are pkg/main.py). A file is a path that
// ends in .py. The file is always a clean relative path; whether the pack has it
// is for the caller to see.
func ResolveEntry(entryPoint string) (file, class string, err *Error) {
	module, class, hasClass := strings.Cut(entryPoint, ":")
	switch {
	case strings.ContainsFunc(entryPoint, unicode.IsControl):
		return "", "", entryError("entry.path", "entry_point %s has a control character", entryPoint)
	case strings.Contains(entryPoint, `\`):
		return "", "", entryError("entry.path", "entry_point %s has a backslash; folders are separated by / or .", entryPoint)
	case strings.Contains(class, ":"):
		return "", "", entryError("entry.path", "entry_point %s has more than one colon", entryPoint)
	case strings.HasPrefix(module, "/"):
		return "", "", entryError("entry.path", "entry_point %s is an absolute path", entryPoint)
	case strings.HasSuffix(module, ".py") && hasClass:
		e := entryError("entry.path", "entry_point %s names a file before the colon, where a module is meant", entryPoint)
		e.Hint = "write " + strings.TrimSuffix(module, ".py") + ":" + class
		return "", "", e
	case hasClass && !isIdentifier(class):
		e := entryError("entry.class", "%s behind the colon of entry_point is not the name of a class", class)
		e.Hint = "write module:ClassName, or the file alone"
		return "", "", e
	}
	if hasClass || !strings.HasSuffix(module, ".py") {
		module = strings.ReplaceAll(module, ".", "/")
		if strings.HasPrefix(module, "/") || strings.HasSuffix(module, "/") || strings.Contains(module, "//") || module == "" {
			return "", "", entryError("entry.path", "entry_point %s has an empty part or leaves the pack", entryPoint)
		}
		module += ".py"
	}
	if err := CheckPath(module); err != nil {
		return "", "", entryError("entry.path", "entry_point %s: "+strings.ReplaceAll(err.Text, "%", "%%"), entryPoint)
	}
	return module, class, nil
}

func entryError(id, format, entryPoint string) *Error {
	return &Error{
		Kind: KindInvalid, ID: id, Text: fmt.Sprintf(format, quoted(entryPoint)),
		Place: Place{File: Kazma.ManifestFile(), Pointer: "/entry_point"},
	}
}

// isIdentifier tells whether s can be the name of a Python class.
func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc)) {
			return false
		}
	}
	return s != ""
}
