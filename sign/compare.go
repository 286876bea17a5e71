package sign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// DifferenceKind says how a file differs from the signed one.
type DifferenceKind string

// The kinds of difference. A mode is worth a remark; each other one means that
// this is not what was signed.
const (
	Added   DifferenceKind = "added"   // here, and not signed
	Missing DifferenceKind = "missing" // signed, and not here
	Changed DifferenceKind = "changed" // other content
	Renamed DifferenceKind = "renamed" // signed content under another path
	Mode    DifferenceKind = "mode"    // another execute bit
)

// Difference is one file that differs.
type Difference struct {
	Kind         DifferenceKind `json:"kind"`
	Path         string         `json:"path"`                    // as it is here; of a missing file, as it was signed
	SignedPath   string         `json:"signed_path,omitempty"`   // of a renamed file
	SignedSize   int64          `json:"signed_size,omitempty"`   // bytes
	Size         int64          `json:"size,omitempty"`          // bytes
	SignedSHA256 string         `json:"signed_sha256,omitempty"` // 64 hex digits
	SHA256       string         `json:"sha256,omitempty"`        // 64 hex digits
}

// String is a plain sentence without its full stop.
func (d Difference) String() string {
	switch d.Kind {
	case Added:
		return fmt.Sprintf("%q (%d bytes) was not signed", d.Path, d.Size)
	case Missing:
		return fmt.Sprintf("%q (%d bytes) was signed and is missing", d.Path, d.SignedSize)
	case Renamed:
		return fmt.Sprintf("%q was signed as %q", d.Path, d.SignedPath)
	case Mode:
		return fmt.Sprintf("%q was signed with another execute bit", d.Path)
	}
	if d.Size != d.SignedSize {
		return fmt.Sprintf("%q was changed: %d bytes were signed, %d are here", d.Path, d.SignedSize, d.Size)
	}
	return fmt.Sprintf("%q was changed; its size is the same", d.Path)
}

// compareFiles lists what differs between the signed files and those that are
// here, ascending by path. Both lists ascend by path.
func compareFiles(signed, here []StatementFile) []Difference {
	var out []Difference
	var missing, added []StatementFile
	for i, j := 0, 0; i < len(signed) || j < len(here); {
		switch {
		case j == len(here) || i < len(signed) && signed[i].Path < here[j].Path:
			missing = append(missing, signed[i])
			i++
		case i == len(signed) || here[j].Path < signed[i].Path:
			added = append(added, here[j])
			j++
		default:
			s, h := signed[i], here[j]
			if s.SHA256 != h.SHA256 || s.Size != h.Size {
				out = append(out, Difference{Changed, h.Path, "", s.Size, h.Size, s.SHA256, h.SHA256})
			} else if s.Executable != h.Executable {
				out = append(out, Difference{Kind: Mode, Path: h.Path})
			}
			i++
			j++
		}
	}
	for _, s := range missing {
		i := slices.IndexFunc(added, func(h StatementFile) bool { return h.SHA256 == s.SHA256 })
		if i < 0 {
			out = append(out, Difference{Kind: Missing, Path: s.Path, SignedSize: s.Size, SignedSHA256: s.SHA256})
			continue
		}
		h := added[i]
		out = append(out, Difference{Renamed, h.Path, s.Path, s.Size, h.Size, s.SHA256, h.SHA256})
		if s.Executable != h.Executable {
			out = append(out, Difference{Kind: Mode, Path: h.Path})
		}
		added = slices.Delete(added, i, i+1)
	}
	for _, h := range added {
		out = append(out, Difference{Kind: Added, Path: h.Path, Size: h.Size, SHA256: h.SHA256})
	}
	sorting.Stable(out, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// subjectFault compares who a statement is about with who it should be about:
// what the caller asked for, and what the pack's own manifest says.
func subjectFault(s Statement, p *pack.Pack, expected string) string {
	switch {
	case expected != "" && s.Subject() != expected:
		return fmt.Sprintf("it was signed as %s, and %q was expected", s.Subject(), expected)
	case s.Name != p.Name:
		return fmt.Sprintf("it was signed as %q, and the pack is called %q", s.Subject(), p.Name)
	case isNamespace(p.Author) && s.Author != p.Author:
		return fmt.Sprintf("it was signed by author %q, and the manifest names %q", s.Author, p.Author)
	case s.Format != p.Format:
		return fmt.Sprintf("it was signed as a %s pack, and this is a %s pack", s.Format, p.Format)
	}
	return ""
}

// versionFault does the same for the version. That of a skill-md pack is given
// from outside, so its manifest is not asked.
func versionFault(s Statement, p *pack.Pack, expected string) string {
	switch {
	case expected != "" && s.Version != "" && s.Version != expected:
		return fmt.Sprintf("version %q was signed, and %q was expected", s.Version, expected)
	case p.Format != pack.SkillMD && s.Version != p.Version:
		return fmt.Sprintf("version %q was signed, and the manifest says %q", s.Version, p.Version)
	}
	return ""
}
