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
	refuse := func(id, why, hint string) (string, string, *Error) {
		return "", "", &Error{
			Kind: KindInvalid, ID: id, Text: fmt.Sprintf("entry_point %s %s", quoted(entryPoint), why), Hint: hint,
			Place: Place{File: Kazma.ManifestFile(), Pointer: "/entry_point"},
		}
	}
	const form = "write module:ClassName or file.py"
	switch {
	case strings.ContainsFunc(entryPoint, unicode.IsControl):
		return refuse("entry.path", "has a control character", form)
	case strings.Contains(entryPoint, `\`):
		return refuse("entry.path", "has a backslash", "separate folders by / or .")
	case strings.Contains(class, ":"):
		return refuse("entry.path", "has more than one colon", form)
	case strings.HasPrefix(module, "/"):
		return refuse("entry.path", "is an absolute path", "name a file of the pack")
	case strings.HasSuffix("/"+module, "/.py"):
		return refuse("entry.path", "names no file", form)
	case hasClass && strings.HasSuffix(module, ".py"):
		return refuse("entry.path", "names a file before the colon, where a module is meant", "write "+strings.TrimSuffix(module, ".py")+":"+class)
	case hasClass && !isIdentifier(class):
		return refuse("entry.class", "has no class name behind the colon", form)
	}
	file = module
	if hasClass || !strings.HasSuffix(module, ".py") {
		file = strings.ReplaceAll(module, ".", "/")
		for part := range strings.SplitSeq(file, "/") {
			if part == "" {
				return refuse("entry.path", "has an empty part, or leaves the pack", form)
			}
		}
		file += ".py"
	}
	if err := CheckPath(file); err != nil {
		return refuse("entry.path", "is no path that a pack can have: "+err.Text, form)
	}
	return file, class, nil
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
