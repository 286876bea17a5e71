package hub

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// edited makes the pack that a reviewer's edit asks for. It is judged as any push
// is, and becomes a release of its own: what was pushed never changes, and its
// signature does not cover the edit.
func (h *Hub) edited(p *pack.Pack, row ReleaseRow, in hubapi.Review) (*publication, error) {
	files := slices.Clone(p.Files)
	if err := edit(p, files, in); err != nil {
		return nil, err
	}
	pub, err := h.assess(PublishInput{Name: row.Name, Files: files})
	if err != nil {
		return nil, err
	}
	if pub.digest == row.Digest && in.Summary == nil {
		return nil, hubapi.Errorf(hubapi.Invalid, "the edit changes nothing")
	}
	pub.author, pub.edits = row.Author, row
	if pub.summary = row.Summary; row.Summary == row.Description {
		pub.summary = pub.pack.Description
	}
	if in.Summary != nil {
		pub.summary = strings.TrimSpace(*in.Summary)
	}
	if pub.summary == "" || len(pub.summary) > pack.MaxManifest || strings.ContainsAny(pub.summary, "\r\n") {
		return nil, hubapi.Errorf(hubapi.Invalid, "a summary is one line that is not blank")
	}
	return pub, nil
}

// edit changes the files in place.
func edit(p *pack.Pack, files []pack.File, in hubapi.Review) error {
	if in.Content != nil {
		text := []byte(*in.Content)
		if p.Format == pack.SkillMD && !bytes.HasPrefix(text, []byte("---\n")) && !bytes.HasPrefix(text, []byte("---\r\n")) {
			// A text without frontmatter is the body of the one that is there.
			old, _ := p.File("SKILL.md")
			text = append(bytes.TrimSuffix(slices.Clone(old), p.SkillMD.Body), text...)
		}
		put(files, proseFile(p.Format), text)
	}
	if in.Description == nil {
		return nil
	}
	if p.Format == pack.Kortecx {
		return rewriteJSON(files, "description", *in.Description)
	}
	return rewriteYAML(p.Format, files, "description", *in.Description)
}

func put(files []pack.File, path string, data []byte) {
	for i := range files {
		if files[i].Path == path {
			files[i].Data = data
		}
	}
}

func fileAt(files []pack.File, path string) []byte {
	for _, f := range files {
		if f.Path == path {
			return f.Data
		}
	}
	return nil
}

// rewriteJSON sets one top-level text of skill.json and leaves the rest as it is.
func rewriteJSON(files []pack.File, key, value string) error {
	data := fileAt(files, pack.Kortecx.ManifestFile())
	root, faults := strictjson.Parse(data)
	if root == nil || len(faults) > 0 {
		return hubapi.Errorf(hubapi.Internal, "the stored manifest cannot be read")
	}
	text := strictjson.AppendString(nil, value)
	for _, m := range root.Members {
		if m.Name == key {
			out := slices.Concat(data[:m.Value.Offset], text, data[m.Value.End:])
			put(files, pack.Kortecx.ManifestFile(), out)
			return nil
		}
	}
	head := fmt.Appendf(nil, "%s%s:%s", data[:root.Offset+1], strictjson.AppendString(nil, key), text)
	if len(root.Members) > 0 {
		head = append(head, ',')
	}
	put(files, pack.Kortecx.ManifestFile(), append(head, data[root.Offset+1:]...))
	return nil
}

// rewriteYAML sets one top-level text of a YAML manifest or of a frontmatter.
func rewriteYAML(f pack.Format, files []pack.File, key, value string) error {
	path := f.ManifestFile()
	data := fileAt(files, path)
	set := []yamledit.KeyValue{{Key: key, Value: value}}
	if f == pack.Kazma {
		out, err := yamledit.SetScalars(data, set)
		if err == nil {
			put(files, path, out)
		}
		return yamlError(err)
	}
	front, _, _, faults, _ := pack.SplitFrontmatter(data)
	at := bytes.Index(data, front)
	if len(faults) > 0 || len(front) == 0 || at < 0 {
		return hubapi.Errorf(hubapi.Invalid, "the text has no frontmatter to set the %s in", key)
	}
	out, err := yamledit.SetScalars(front, set)
	if err == nil {
		put(files, path, slices.Concat(data[:at], out, data[at+len(front):]))
	}
	return yamlError(err)
}

func yamlError(err error) error {
	if err == nil {
		return nil
	}
	return hubapi.Errorf(hubapi.Invalid, "the manifest cannot be edited: %v", err)
}

// replaceEdited publishes an edited pack as a new release in place of the one that
// waits, inside the transaction.
func (h *Hub) replaceEdited(w Writer, p Principal, old ReleaseRow, pub *publication) (ReleaseRow, string, error) {
	t, err := byHub(Supersede, old.Status)
	if err != nil {
		return old, "", err
	}
	skill, err := w.Skill(p.Tenant, old.Name)
	if err != nil {
		return old, "", err
	}
	if err := h.version(w, skill, old, pub); err != nil {
		return old, "", err
	}
	row, unchanged, err := h.publish(w, p, pub)
	if err != nil {
		return old, "", err
	}
	if unchanged {
		return old, "", hubapi.Errorf(hubapi.Conflict, "%s has this content already", refOf(row))
	}
	if _, err := h.move(w, p, t, old, ReviewNote{Base: old.Note.Base}, h.now(), "edited as version "+row.Version); err != nil {
		return old, "", err
	}
	if err := h.audit(w, p, string(Edit), row, "from version "+old.Version); err != nil {
		return old, "", err
	}
	prose := ""
	for _, f := range pub.files {
		if f.Path == proseFile(pub.pack.Format) {
			prose = fmt.Sprintf(", sha256:%x", f.Sum)
		}
	}
	if old.Signature != nil {
		prose += "; it is not signed by its author, and machines that have a version signed with a key refuse it until the author signs it and pushes again"
	}
	return row, fmt.Sprintf("version %s takes the place of version %s%s", row.Version, old.Version, prose), nil
}

// version gives an edited pack the version after the one that it was made from,
// and writes it into the manifest where the format keeps it there.
func (h *Hub) version(r Reader, skill SkillRow, old ReleaseRow, pub *publication) error {
	const tries = 1000
	for n := int64(1); n <= tries; n++ {
		version := nextVersion(old, skill, n)
		_, err := r.Release(skill.ID, version)
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrNoRow) {
			return err
		}
		files := slices.Clone(pub.pack.Files)
		switch pub.pack.Format {
		case pack.Kortecx:
			err = rewriteJSON(files, "version", version)
		case pack.Kazma:
			err = rewriteYAML(pack.Kazma, files, "version", version)
		default:
			pub.version, pub.chosen = version, true
			return nil
		}
		if err != nil {
			return err
		}
		again, err := h.assess(PublishInput{Name: old.Name, Files: files})
		if err != nil {
			return err
		}
		again.author, again.edits, again.summary = pub.author, pub.edits, pub.summary
		*pub = *again
		return nil
	}
	return hubapi.Errorf(hubapi.Conflict, "no version is free for an edit of %s", refOf(old))
}

// nextVersion is the n-th version that an edit may take, in the grammar of its
// format.
func nextVersion(old ReleaseRow, skill SkillRow, n int64) string {
	if _, whole := integerAfter(old.Version, true); whole || pack.Format(old.Format) == pack.Kortecx {
		return strconv.FormatInt(skill.NextInteger+n-1, 10)
	}
	if pack.Format(old.Format) == pack.Kazma {
		head, tail := old.Version, "0"
		if i := strings.LastIndexByte(old.Version, '.'); i >= 0 {
			head, tail = old.Version[:i], old.Version[i+1:]
		}
		patch, err := strconv.ParseInt(tail, 10, 64)
		if err != nil {
			patch = 0
		}
		return fmt.Sprintf("%s.%d", head, patch+n)
	}
	version := fmt.Sprintf("%s-edit.%d", old.Version, n)
	if hubapi.CheckVersion(version) != nil {
		return strconv.FormatInt(skill.NextInteger+n-1, 10)
	}
	return version
}
