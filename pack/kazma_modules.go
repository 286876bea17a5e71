package pack

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxModules bounds how many files that would run in place of source are named, by
// kind.
const maxModules = 20

// modules refuses what an interpreter may run instead of the source that was read and
// signed. Of one name Python takes a package first, then an extension module, then
// the source.
func (k *kazmaReader) modules() {
	var compiled, native, shadow []*Error
	for i := range k.tree.files {
		p := k.tree.files[i].Path
		switch {
		case isBytecode(p):
			compiled = append(compiled, &Error{
				Kind: KindPack, ID: "pack.bytecode", Place: Place{File: p},
				Text: "this is compiled Python, which would run in place of the source that is checked and signed",
				Hint: "delete it; Python makes it again where it is needed",
			})
		case isExtensionModule(p):
			native = append(native, &Error{
				Kind: KindPack, ID: "pack.extension-module", Place: Place{File: p},
				Text: "this is a compiled module, which Python would run in place of the source of that name, and which nobody can review",
				Hint: "delete it; if the skill needs it, let its user install it as a dependency",
			})
		default:
			source := shadowedBy(p)
			if _, there := k.tree.file(source); there {
				shadow = append(shadow, &Error{
					Kind: KindPack, ID: "pack.shadowed-module", Place: Place{File: p},
					Text: fmt.Sprintf("this makes a package of the folder, which Python would run in place of %s", source),
					Hint: "rename one of the two",
				})
			}
		}
	}
	for _, faults := range [][]*Error{compiled, native, shadow} {
		if more := len(faults) - maxModules; more > 0 {
			faults = faults[:maxModules]
			faults[maxModules-1].Text += fmt.Sprintf(" (and %d more files like it)", more)
		}
		k.faults = append(k.faults, faults...)
	}
}

func isBytecode(p string) bool {
	p = strings.ToLower(p)
	return strings.HasSuffix(p, ".pyc") || strings.HasSuffix(p, ".pyo") || slices.Contains(strings.Split(p, "/"), "__pycache__")
}

// isExtensionModule tells of files that hold machine code which Python loads: its own
// suffixes on every system (.so, .pyd), and those of the libraries beside them.
func isExtensionModule(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".so", ".pyd", ".dll", ".dylib":
		return true
	}
	return false
}

// shadowedBy is the source whose place the package that p begins would take: of
// pkg/main/__init__.py it is pkg/main.py. It is empty for what begins none.
func shadowedBy(p string) string {
	dir, base := path.Split(p)
	if base != "__init__.py" && base != "__init__.pyw" || dir == "" {
		return ""
	}
	return strings.TrimSuffix(dir, "/") + ".py"
}
