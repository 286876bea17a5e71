package hub

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kortecx/kx/hub/search"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// maxBodyFile is how large a file may be that search reads, in bytes.
const maxBodyFile = 1 << 20

// documentOf makes the document of a release that a store has. A damaged or
// unreadable file must not keep a release from being found by the rest.
func documentOf(r Reader, row ReleaseRow) ([]byte, error) {
	format := pack.Format(row.Format)
	var prose []byte
	file, err := r.File(row.Seq, proseFile(format))
	switch {
	case errors.Is(err, ErrNoRow):
	case err != nil:
		return nil, err
	case file.Size <= maxBodyFile:
		if prose, err = r.Content(file.Sum); err != nil && !errors.Is(err, ErrNoRow) {
			return nil, err
		}
	}
	body, abilities := prose, []string(nil)
	switch format {
	case pack.SkillMD:
		front, rest, _, _, _ := pack.SplitFrontmatter(prose)
		body, abilities = rest, manifestList(front, "allowed-tools")
	case pack.Kazma:
		body, abilities = nil, manifestList(prose, "capabilities")
	}
	return contentOf(row, body, abilities).Encode(), nil
}

// contentOf is what a release says of itself. Its body and its abilities come from its files.
func contentOf(row ReleaseRow, body []byte, abilities []string) search.Content {
	c := search.Content{
		Name: row.Name, Author: row.Author, Format: row.Format, Summary: row.Summary, Description: row.Description,
		Tags: row.Tags, Abilities: abilities, Body: body,
	}
	for id := range row.Tools {
		c.Abilities = append(c.Abilities, id)
	}
	return c
}

// manifestList is a list of a YAML manifest, or what stands in its place parted by
// blanks and commas.
func manifestList(data []byte, key string) []string {
	m, faults, _ := yamledit.Parse(data)
	if m == nil || len(faults) > 0 {
		return nil
	}
	v := m.Get(key)
	switch {
	case v == nil:
		return nil
	case v.Kind == yamledit.Scalar:
		return strings.FieldsFunc(v.Text, func(r rune) bool { return r == ',' || r == ' ' })
	}
	var out []string
	for _, item := range v.Items {
		if item.Kind == yamledit.Scalar {
			out = append(out, item.Text)
		}
	}
	return out
}

// putDocument makes a release findable, in the transaction that makes it active.
func putDocument(w Writer, row ReleaseRow) error {
	data, err := documentOf(w, row)
	if err != nil {
		return fmt.Errorf("index %s: %w", refOf(row), err)
	}
	return w.PutSearchDoc(SearchDoc{Tenant: row.Tenant, Release: row.Seq, Data: data})
}

// dropDocument takes a release out of search, in the transaction that ends its
// being active.
func dropDocument(w Writer, row ReleaseRow) error {
	return w.PutSearchDoc(SearchDoc{Tenant: row.Tenant, Release: row.Seq})
}
