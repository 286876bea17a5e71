package deliver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

const (
	// MarkerFile is the file that makes a folder ours.
	MarkerFile = ".kx-owned"
	// foreignMarker is what another installer leaves in its folders.
	foreignMarker = ".memclaw-owned"

	markerVersion = 1
	maxMarker     = 1 << 20 // bytes
)

// Marker is the content of MarkerFile: whose folder this is, what it was made of,
// and how each of its files was written.
type Marker struct {
	V           int         `json:"v"`
	Owner       string      `json:"owner"` // the installation of kx that wrote it
	Slug        string      `json:"slug"`  // the folder's name
	Author      string      `json:"author"`
	Name        string      `json:"name"`
	Version     string      `json:"version"`
	Digest      pack.Digest `json:"digest"` // of the pack, not of what was written
	Format      pack.Format `json:"format"`
	InstalledAt time.Time   `json:"installed_at"`
	Source      string      `json:"source"` // where the pack came from, as the caller names it

	// Files are all files as written, the marker excepted.
	Files map[string]WrittenFile `json:"files"`
	// Manifest is the skill.json of a kortecx pack byte for byte, or the frontmatter
	// of a SKILL.md that was installed under another name; else it is empty. With
	// PackFiles, and the text in SKILL.md, it proves Digest without the pack.
	Manifest  string     `json:"manifest,omitempty"`
	PackFiles []PackFile `json:"pack_files"`
	// Signature is the release's signature file, absent when it has none.
	Signature json.RawMessage `json:"signature,omitempty"`
}

// WrittenFile is one file as it was written.
type WrittenFile struct {
	SHA256     string `json:"sha256"` // 64 hex digits
	Executable bool   `json:"executable"`
}

// PackFile is one file of the pack that a folder was made of.
type PackFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Encode gives the one form of a marker: members in the order of the struct,
// files ascending by path, one line each, and one newline at the end.
func (m *Marker) Encode() []byte {
	b := make([]byte, 0, 1<<10+len(m.Manifest)+len(m.Signature))
	b = append(b, "{\n  \"v\": "...)
	b = strconv.AppendInt(b, int64(m.V), 10)
	for _, member := range [...][2]string{
		{"owner", m.Owner},
		{"slug", m.Slug},
		{"author", m.Author},
		{"name", m.Name},
		{"version", m.Version},
		{"digest", string(m.Digest)},
		{"format", string(m.Format)},
		{"installed_at", m.InstalledAt.UTC().Format(time.RFC3339)},
		{"source", m.Source},
	} {
		b = append(b, ",\n  \""...)
		b = append(b, member[0]...)
		b = strictjson.AppendString(append(b, "\": "...), member[1])
	}
	b = append(b, ",\n  \"files\": {"...)
	for i, path := range slices.Sorted(maps.Keys(m.Files)) {
		f := m.Files[path]
		b = strictjson.AppendString(append(append(b, comma(i)...), "\n    "...), path)
		b = strictjson.AppendString(append(b, ": {\"sha256\": "...), f.SHA256)
		b = strconv.AppendBool(append(b, ", \"executable\": "...), f.Executable)
		b = append(b, '}')
	}
	b = append(b, "\n  }"...)
	if m.Manifest != "" {
		b = strictjson.AppendString(append(b, ",\n  \"manifest\": "...), m.Manifest)
	}
	b = append(b, ",\n  \"pack_files\": ["...)
	for i, f := range m.PackFiles {
		b = append(b, comma(i)...)
		b = strictjson.AppendString(append(b, "\n    {\"path\": "...), f.Path)
		b = strconv.AppendInt(append(b, ", \"size\": "...), f.Size, 10)
		b = strictjson.AppendString(append(b, ", \"sha256\": "...), f.SHA256)
		b = append(b, '}')
	}
	b = append(b, "\n  ]"...)
	if len(m.Signature) > 0 {
		b = append(append(b, ",\n  \"signature\": "...), m.Signature...)
	}
	return append(b, "\n}\n"...)
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// ParseMarker reads a marker strictly: what it cannot vouch for is not ours. A
// reconcile reads thousands, so this goes over the tree itself.
func ParseMarker(data []byte) (*Marker, error) {
	root, faults := strictjson.Parse(data)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	r := markerReader{data: data}
	m := new(Marker)
	v := ""
	r.object(root, "", func(at string, n *strictjson.Node) bool {
		switch at {
		case "/v":
			v = r.text(n, at, strictjson.Number)
		case "/owner":
			m.Owner = r.text(n, at, strictjson.String)
		case "/slug":
			m.Slug = r.text(n, at, strictjson.String)
		case "/author":
			m.Author = r.text(n, at, strictjson.String)
		case "/name":
			m.Name = r.text(n, at, strictjson.String)
		case "/version":
			m.Version = r.text(n, at, strictjson.String)
		case "/digest":
			m.Digest = pack.Digest(r.text(n, at, strictjson.String))
		case "/format":
			m.Format = pack.Format(r.text(n, at, strictjson.String))
		case "/installed_at":
			m.InstalledAt = r.time(n, at)
		case "/source":
			m.Source = r.text(n, at, strictjson.String)
		case "/files":
			m.Files = r.files(n, at)
		case "/manifest":
			m.Manifest = r.text(n, at, strictjson.String)
		case "/pack_files":
			m.PackFiles = r.packFiles(n, at)
		case "/signature":
			m.Signature = data[n.Offset:n.End]
		default:
			return false
		}
		return true
	})
	if v != "" && v != strconv.Itoa(markerVersion) {
		return nil, fmt.Errorf("it has version %.20s, this kx knows %d", v, markerVersion)
	}
	if r.err != nil {
		return nil, r.err
	}
	m.V = markerVersion
	return m, m.check(v != "")
}

// check refuses what we would not have written.
func (m *Marker) check(versioned bool) error {
	switch {
	case !versioned:
		return errors.New("/v is missing")
	case m.Owner == "":
		return errors.New("/owner is empty")
	case hubapi.CheckName(m.Slug) != nil:
		return errors.New("/slug is no folder name")
	case !isDigest(string(m.Digest)):
		return errors.New("/digest is no digest")
	case !slices.Contains(pack.Formats, m.Format):
		return errors.New("/format is not one that we know")
	case m.InstalledAt.IsZero():
		return errors.New("/installed_at is missing")
	case len(m.Files) == 0:
		return errors.New("/files is empty")
	case len(m.PackFiles) == 0:
		return errors.New("/pack_files is empty")
	case (m.Manifest != "") != (m.Format == pack.Kortecx || m.renamed()):
		return errors.New("/manifest does not go with /format")
	}
	for path, f := range m.Files {
		if pack.CheckPath(path) != nil || path == MarkerFile || !isHex64(f.SHA256) {
			return fmt.Errorf("/files has %q, which we would not have written", path)
		}
	}
	for i, f := range m.PackFiles {
		if pack.CheckPath(f.Path) != nil || !isHex64(f.SHA256) || f.Size < 0 || i > 0 && f.Path <= m.PackFiles[i-1].Path {
			return fmt.Errorf("/pack_files/%d is not what we would have written", i)
		}
	}
	return nil
}

// renamed tells whether the folder has another name than the pack's SKILL.md says.
func (m *Marker) renamed() bool { return m.Format == pack.SkillMD && m.Slug != m.Name }

// markerReader turns a tree into a Marker and keeps the first fault.
type markerReader struct {
	data []byte
	err  error
}

func (r *markerReader) fail(at, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(at+" "+format, args...)
	}
}

// object calls member for each member of n, with its JSON pointer, as long as
// that knows the name.
func (r *markerReader) object(n *strictjson.Node, at string, member func(at string, n *strictjson.Node) bool) {
	if !r.kind(n, at, strictjson.Object) {
		return
	}
	for _, m := range n.Members {
		if to := strictjson.Child(at, m.Name); !member(to, m.Value) {
			r.fail(to, "is not known here")
		}
	}
}

func (r *markerReader) kind(n *strictjson.Node, at string, want strictjson.Kind) bool {
	if n.Kind != want {
		r.fail(at, "should be %s, is %s", want, n.Kind)
	}
	return n.Kind == want
}

func (r *markerReader) text(n *strictjson.Node, at string, want strictjson.Kind) string {
	if !r.kind(n, at, want) {
		return ""
	}
	return n.Text
}

func (r *markerReader) time(n *strictjson.Node, at string) time.Time {
	t, err := time.Parse(time.RFC3339, r.text(n, at, strictjson.String))
	if err != nil {
		r.fail(at, "is no time")
	}
	return t.UTC()
}

func (r *markerReader) files(n *strictjson.Node, at string) map[string]WrittenFile {
	if !r.kind(n, at, strictjson.Object) {
		return nil
	}
	out := make(map[string]WrittenFile, len(n.Members))
	for _, m := range n.Members {
		var f WrittenFile
		file := at + "/" + m.Name // for messages: not worth escaping each
		r.object(m.Value, "", func(member string, n *strictjson.Node) bool {
			switch member {
			case "/sha256":
				f.SHA256 = r.text(n, file+member, strictjson.String)
			case "/executable":
				f.Executable = r.text(n, file+member, strictjson.Bool) == "true"
			default:
				return false
			}
			return true
		})
		out[m.Name] = f
	}
	return out
}

func (r *markerReader) packFiles(n *strictjson.Node, at string) []PackFile {
	if !r.kind(n, at, strictjson.Array) {
		return nil
	}
	out := make([]PackFile, len(n.Elems))
	for i, elem := range n.Elems {
		f := &out[i]
		r.object(elem, "", func(member string, n *strictjson.Node) bool {
			switch member {
			case "/path":
				f.Path = r.text(n, at+member, strictjson.String)
			case "/sha256":
				f.SHA256 = r.text(n, at+member, strictjson.String)
			case "/size":
				size, err := strconv.ParseInt(r.text(n, at+member, strictjson.Number), 10, 64)
				if err != nil {
					r.fail(at+member, "is no size")
				}
				f.Size = size
			default:
				return false
			}
			return true
		})
	}
	return out
}

func isDigest(s string) bool {
	rest, ok := strings.CutPrefix(s, "sp1:")
	return ok && isHex64(rest)
}

func isHex64(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// newMarker describes files, which p was rendered to.
func newMarker(p *pack.Pack, slug string, files []fsx.File, o InstallOptions) (*Marker, error) {
	sums := o.sums
	if sums == nil {
		all := pack.SumFiles(p.Files)
		sums = &all
	}
	m := &Marker{
		V: markerVersion, Owner: o.Owner, Slug: slug,
		Author: o.Author, Name: p.Name, Version: o.Version,
		Digest: sums.Digest, Format: p.Format,
		InstalledAt: o.Now.UTC().Truncate(time.Second), Source: o.Source,
		Files:     make(map[string]WrittenFile, len(files)),
		PackFiles: make([]PackFile, 0, len(p.Files)),
	}
	if m.Author == "" {
		m.Author = p.Author
	}
	if m.Version == "" {
		m.Version = p.Version
	}
	next := 0
	for _, f := range files {
		// Most are the pack's own, in its order.
		for next < len(p.Files) && p.Files[next].Path < f.Path {
			next++
		}
		sum := ""
		if next < len(p.Files) && p.Files[next].Path == f.Path && sameBytes(p.Files[next].Data, f.Data) {
			sum = sums.Files[next]
		} else {
			sum = hexSum(f.Data)
		}
		m.Files[f.Path] = WrittenFile{sum, f.Perm&0o100 != 0}
	}
	for i, f := range p.Files {
		m.PackFiles = append(m.PackFiles, PackFile{f.Path, int64(len(f.Data)), sums.Files[i]})
	}
	if p.Format == pack.Kortecx {
		manifest, _ := p.File(pack.Kortecx.ManifestFile())
		m.Manifest = string(manifest)
	}
	if renamed(p, slug) {
		data, _ := p.File(skillFile)
		front, _, err := frontmatter(data)
		if err != nil {
			return nil, err
		}
		m.Manifest = string(front)
	}
	if len(o.Signature) > 0 {
		if _, faults := strictjson.Parse(o.Signature); len(faults) > 0 {
			return nil, refusal(hubapi.Invalid, faults[0].ID, "", "the signature file of %q is not JSON: %v", p.Name, faults[0])
		}
		m.Signature = bytes.TrimSpace(o.Signature)
	}
	return m, nil
}

// sameBytes tells whether two slices are one and the same.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// doubts lists why m does not prove its digest; skill is the SKILL.md as written,
// which only a kortecx pack needs.
func (m *Marker) doubts(skill []byte) []string {
	var out []string
	sums := make(map[string]string, len(m.PackFiles))
	lines := make([]byte, 0, 128*len(m.PackFiles))
	for _, f := range m.PackFiles { // ascending, see ParseMarker
		sums[f.Path] = f.SHA256
		lines = append(append(append(append(lines, f.SHA256...), "  "...), f.Path...), '\n')
	}
	if got := "sp1:" + hexSum(lines); got != string(m.Digest) {
		out = append(out, fmt.Sprintf("the pack's files have the digest %s, the marker claims %s", got, m.Digest))
	}
	if m.Format != pack.Kortecx {
		same := len(sums) == len(m.Files)
		for path, f := range m.Files {
			if path == skillFile && m.renamed() {
				same = same && (skill == nil || m.wasRenamed(skill, sums[path]))
				continue
			}
			same = same && sums[path] == f.SHA256
		}
		if !same {
			out = append(out, "the files as written are not those of the pack")
		}
		return out
	}
	if hexSum([]byte(m.Manifest)) != sums[pack.Kortecx.ManifestFile()] {
		out = append(out, "the manifest is not that of the pack")
	}
	if _, ok := m.Files[skillFile]; !ok || len(m.Files) != 1 {
		return append(out, "the files as written are not those that the pack becomes")
	}
	if skill == nil {
		return out // it was edited, which is told elsewhere
	}
	manifest, faults, _ := pack.ParseManifest([]byte(m.Manifest), pack.PackForm)
	if len(faults) > 0 {
		return append(out, "the manifest is not valid: "+faults[0].Text)
	}
	body, ok := bytes.CutPrefix(skill, manifest.AgentHead(m.Slug, m.Digest))
	if !ok {
		return append(out, "the head of SKILL.md is not what the manifest becomes")
	}
	if hexSum(body) != sums[instructionsFile] {
		out = append(out, "the text of SKILL.md is not the pack's instructions")
	}
	return out
}

// wasRenamed proves that a SKILL.md is the pack's, but for its name.
func (m *Marker) wasRenamed(skill []byte, sum string) bool {
	front, from, err := frontmatter(skill)
	if err != nil {
		return false
	}
	original := slices.Concat(skill[:from], []byte(m.Manifest), skill[from+len(front):])
	again, err := renameSkill(original, m.Slug)
	return err == nil && hexSum(original) == sum && bytes.Equal(again, skill)
}

// sameRecord reports whether two markers say the same of where the pack is from.
func (m *Marker) sameRecord(other *Marker) bool {
	return m.Author == other.Author && m.Name == other.Name && m.Version == other.Version &&
		m.Source == other.Source && bytes.Equal(m.Signature, other.Signature)
}

// Ref names the release for messages.
func (m *Marker) Ref() string {
	return hubapi.Ref{Author: m.Author, Name: m.Name, Version: m.Version}.String() + " (" + shortDigest(m.Digest) + ")"
}

func shortDigest(d pack.Digest) string {
	const shown = len("sp1:") + 12
	return string(d[:min(len(d), shown)])
}
