package conformance

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// MendOptions for Mend.
type MendOptions struct {
	// Check finds what would change and writes nothing.
	Check bool
}

// Mended is what Mend did, or would do.
type Mended struct {
	Changes []Change  `json:"changes"` // ascending by file
	Left    []Finding `json:"left"`    // why a file could not be mended whole
}

// Change is one file that was rewritten.
type Change struct {
	File   string   `json:"file"`  // relative to the pack
	Notes  []string `json:"notes"` // what was done, a phrase each
	Before []byte   `json:"-"`
	After  []byte   `json:"-"`
}

// Mend puts right what needs no judgement, in a pack's folder or in one manifest
// file: skill.json gets its canonical layout, a byte order mark goes from
// manifests and Markdown, the fences of SKILL.md lose trailing white space, and
// YAML values that readers stumble over get quotes. What a pack says stays the
// same, but for values that some readers did not take for text before. Each file
// is old or new at any moment. Mending twice changes nothing more.
func Mend(path string, o MendOptions) (Mended, error) {
	t, err := resolve(path)
	if err != nil {
		return Mended{}, err
	}
	if t.Format == "" && !hasManifest(t.Path) {
		if _, err := os.ReadDir(t.Path); errors.Is(err, fs.ErrPermission) {
			return Mended{}, err
		}
		return Mended{}, &NotFoundError{Path: path}
	}
	root, err := fsx.Open(t.Path)
	if err != nil {
		return Mended{}, err
	}
	done, err := mendFolder(root, t.Format, o)
	return done, errors.Join(err, root.Close())
}

// mendFolder mends every file of a pack, or the manifest of a format alone.
func mendFolder(root fsx.Root, only pack.Format, o MendOptions) (Mended, error) {
	m := Mended{Changes: []Change{}, Left: []Finding{}}
	if only != "" {
		err := m.file(root, only.ManifestFile(), o)
		return m, err
	}
	err := eachFile(root, ".", 0, func(name string) error {
		if hidden(name) {
			return nil
		}
		return m.file(root, name, o)
	})
	return m, err
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

// file mends one file and records what was done.
func (m *Mended) file(root fsx.Root, name string, o MendOptions) error {
	mend := menderOf(name)
	if mend == nil {
		return nil
	}
	before, err := root.ReadFile(name, pack.MaxBytes)
	if errors.Is(err, fsx.ErrTooLarge) {
		m.leave(name, &pack.Error{Kind: pack.KindPack, ID: "pack.too-large", Text: "the file is larger than a pack may be"})
		return nil
	}
	if err != nil {
		return err
	}
	after, notes, left := mend(before)
	for _, e := range left {
		m.leave(name, e)
	}
	if bytes.Equal(before, after) {
		return nil
	}
	m.Changes = append(m.Changes, Change{File: name, Notes: notes, Before: before, After: after})
	if o.Check {
		return nil
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	return root.WriteFile(name, after, info.Mode().Perm())
}

// leave records why a file is not mended.
func (m *Mended) leave(name string, e *pack.Error) {
	e.Place.File = name
	var format pack.Format
	for _, f := range pack.Formats {
		if f.ManifestFile() == name {
			format = f
		}
	}
	m.Left = append(m.Left, finding(format, e, Error))
}

// mender rewrites the bytes of one file. left says why not everything could be
// put right.
type mender func(data []byte) (out []byte, notes []string, left []*pack.Error)

// menderOf picks by the name of the file, which is what picks its grammar too.
func menderOf(name string) mender {
	switch {
	case name == kortecxManifest:
		return mendJSON
	case name == skillFile:
		return mendSkill
	case name == kazmaManifest:
		return mendKazma
	case strings.EqualFold(filepath.Ext(name), ".md"):
		return mendMarkdown
	}
	return nil
}

const byteOrderMark = "\xef\xbb\xbf"

// withoutMark also takes a second mark, which files get that were mended by
// programs that add one.
func withoutMark(data []byte) (rest []byte, notes []string) {
	rest = data
	for bytes.HasPrefix(rest, []byte(byteOrderMark)) {
		rest = rest[len(byteOrderMark):]
	}
	if len(rest) < len(data) {
		notes = append(notes, "removed the byte order mark")
	}
	return rest, notes
}

func mendMarkdown(data []byte) ([]byte, []string, []*pack.Error) {
	rest, notes := withoutMark(data)
	return rest, notes, nil
}
