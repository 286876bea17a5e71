package deliver

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

const (
	skillFile        = "SKILL.md"
	instructionsFile = "instructions.md"

	// maxPath is what other programs can open, in bytes.
	maxPath = 4095

	fileMode       = 0o644
	executableMode = 0o755
)

// checkSlug refuses a folder name that p cannot have.
func checkSlug(p *pack.Pack, slug string) error {
	var why string
	switch {
	case hubapi.CheckName(slug) != nil:
		why = "a folder name starts with a-z or 0-9, goes on with a-z, 0-9, '.', '_' or '-', and has at most 64 bytes"
	case p.Format == pack.Kortecx, p.Format == pack.SkillMD && slug != p.Name:
		if err := pack.ValidSkillName(slug); err != nil {
			why = err.Text
		}
	}
	if why == "" {
		return nil
	}
	return refusal(hubapi.Invalid, IDName, "", "the pack %q cannot be installed as %q: %s", p.Name, slug, why).
		WithHint("name the folder yourself, or rename the pack")
}

// CheckName refuses a pack whose own name no folder of a skill can have.
func CheckName(p *pack.Pack) error { return checkSlug(p, pack.SkillName(p)) }

// render gives the files that p is in the folder called slug. The marker is not
// among them.
func render(p *pack.Pack, slug string) ([]fsx.File, error) {
	if err := checkSlug(p, slug); err != nil {
		return nil, err
	}
	rendered, err := pack.AgentFilesAs(p, slug)
	if err != nil {
		return nil, err
	}
	files := make([]fsx.File, 0, len(rendered)+1) // room for the marker
	for _, f := range rendered {
		if renamed(p, slug) && f.Path == skillFile {
			if f.Data, err = renameSkill(f.Data, slug); err != nil {
				return nil, err
			}
		}
		// Some disks fold case, and there it would be the marker itself.
		if top, _, _ := strings.Cut(f.Path, "/"); strings.EqualFold(top, MarkerFile) || strings.EqualFold(top, foreignMarker) {
			return nil, refusal(hubapi.Invalid, IDReserved, f.Path, "the pack %q has a file %s, which is how installers mark their folders", p.Name, f.Path)
		}
		if err := pack.CheckPath(f.Path); err != nil {
			return nil, refusal(hubapi.Invalid, err.ID, f.Path, "the pack %q cannot be installed: %s", p.Name, err.Text)
		}
		perm := fs.FileMode(fileMode)
		if f.Executable {
			perm = executableMode
		}
		files = append(files, fsx.File{Path: f.Path, Data: f.Data, Perm: perm})
	}
	return files, nil
}

// renamed tells whether the SKILL.md of a pack has to say another name than it does:
// agents want it to be that of the folder.
func renamed(p *pack.Pack, slug string) bool { return p.Format == pack.SkillMD && slug != p.Name }

// renameSkill changes the name in a SKILL.md, and nothing else.
func renameSkill(data []byte, slug string) ([]byte, error) {
	front, from, err := frontmatter(data)
	if err != nil {
		return nil, err
	}
	changed, err := yamledit.SetScalars(front, []yamledit.KeyValue{{Key: "name", Value: slug}})
	if err != nil {
		return nil, refusal(hubapi.Invalid, IDName, skillFile, "its SKILL.md cannot be given the name %s: %v", slug, err)
	}
	return slices.Concat(data[:from], changed, data[from+len(front):]), nil
}

// frontmatter is the YAML of a SKILL.md and where it begins.
func frontmatter(data []byte) (front []byte, from int, err error) {
	front, _, _, faults, _ := pack.SplitFrontmatter(data)
	first := bytes.IndexByte(data, '\n') + 1
	at := bytes.Index(data[first:], front)
	if len(faults) > 0 || len(front) == 0 || at < 0 {
		return nil, 0, refusal(hubapi.Invalid, IDName, skillFile, "its SKILL.md has no frontmatter in which a name could be changed")
	}
	return front, first + at, nil
}

// checkLengths refuses files that could be written below root but that no
// program could open by their path.
func checkLengths(root, slug string, files []fsx.File) error {
	for _, f := range files {
		if n := len(root) + 1 + len(slug) + 1 + len(f.Path); n > maxPath {
			return refusal(hubapi.Invalid, IDTooLong, path.Join(slug, f.Path), "the path of %s would be %d bytes long, %d are allowed", path.Base(f.Path), n, maxPath)
		}
	}
	return nil
}
