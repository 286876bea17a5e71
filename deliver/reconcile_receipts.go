package deliver

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// A reconciler remembers two things in a folder of its own: for each target which
// folders it wrote and with which markers (receipts), and for each hub the catalogue
// that it last saw. A marker alone proves nothing: anybody can write one.

const (
	receiptsVersion = 1
	maxReceipts     = 16 << 20 // bytes
)

// receipts are what was written into one target.
type receipts struct {
	V   int    `json:"v"`
	Dir string `json:"dir"`
	// Origin is the hub, tenant and fleet whose catalogue was followed last with nothing
	// left to do; until there is one, that of the first.
	Origin string `json:"origin"`
	// Also is another one that has written here since.
	Also string `json:"also,omitempty"`
	// Generation is that of the last catalogue that was followed without anything
	// left to do, and Catalogue its identity.
	Generation int64  `json:"generation"`
	Catalogue  string `json:"catalogue"`
	// Claimed says that what kx did not write may go too; Sentinel is the content of
	// the file that says so in the target.
	Claimed bool `json:"claimed"`
	// Registered is the entry that kx made for the target in OpenClaw's configuration;
	// empty when it made none.
	Registered string `json:"registered"`
	// Made is how many folders of the path kx made, the target the first of them: they
	// go when it is left, as far as nobody put anything into them.
	Made int `json:"made,omitempty"`

	VerifiedAt time.Time `json:"verified_at"` // when every file was last hashed
	Skills     []receipt `json:"skills"`      // ascending by folder; the last member, see readRows
}

// receipt is one folder.
type receipt struct {
	Folder  string      `json:"folder"`
	Slug    string      `json:"slug"`
	Author  string      `json:"author,omitempty"`
	Version string      `json:"version,omitempty"`
	Digest  pack.Digest `json:"digest"`
	Signed  bool        `json:"signed,omitempty"`
	Marker  string      `json:"marker,omitempty"` // hash of the marker file
	// Pending is the hash of the marker that is about to be written: a run that is
	// killed may have written it or not.
	Pending string `json:"pending,omitempty"`
	// Stamp stands for the state of all files when they were last found as
	// written; empty while that is too fresh to be believed.
	Stamp string `json:"stamp,omitempty"`
	// Names are those of all in the folder, as in fsx.Sight, when Stamp was taken.
	Names string `json:"names,omitempty"`
	// Held says that the catalogue no longer has it and nothing proved that it should
	// go; see situation.holdBack.
	Held bool `json:"held,omitempty"`
}

func (r *receipt) knows(marker string) bool {
	return marker != "" && (marker == r.Marker || marker == r.Pending)
}

func (r *receipts) find(folder string) (int, bool) {
	return slices.BinarySearchFunc(r.Skills, folder, func(s receipt, name string) int { return strings.Compare(s.Folder, name) })
}

// at gives the receipt of a folder; nil without one. It is good until the next put.
func (r *receipts) at(folder string) *receipt {
	if i, ok := r.find(folder); ok {
		return &r.Skills[i]
	}
	return nil
}

func (r *receipts) put(one receipt) {
	i, ok := r.find(one.Folder)
	if ok {
		r.Skills[i] = one
		return
	}
	r.Skills = slices.Insert(r.Skills, i, one)
}

func (r *receipts) drop(folder string) {
	if i, ok := r.find(folder); ok {
		r.Skills = slices.Delete(r.Skills, i, i+1)
	}
}

// memory is the catalogue that a hub gave last.
type memory struct {
	V             int                    `json:"v"`
	Origin        string                 `json:"origin"`
	Rules         string                 `json:"rules"` // that rows were judged by
	Tenant        string                 `json:"tenant"`
	ETag          string                 `json:"etag"`
	Generation    *int64                 `json:"generation"`
	Complete      bool                   `json:"complete"`
	Count         int                    `json:"count"`
	Named         []string               `json:"named"` // by rows that are no want
	Skipped       []hubapi.ReconcileNote `json:"skipped"`
	Failed        []hubapi.ReconcileNote `json:"failed"`
	Doubts        []string               `json:"doubts"`
	LastSuccessAt *time.Time             `json:"last_success_at"`
	Wants         []memoryWant           `json:"wants"` // the last member; see readRows
}

type memoryWant struct {
	Slug    string      `json:"slug"`
	Folder  string      `json:"folder"`
	Author  string      `json:"author,omitempty"`
	Version string      `json:"version,omitempty"`
	Digest  pack.Digest `json:"digest"`
	Release bool        `json:"release,omitempty"`
	Signed  bool        `json:"signed,omitempty"`

	Unreviewed bool `json:"unreviewed,omitempty"`
}

func (c *catalogue) remember(origin, rules string) *memory {
	m := &memory{
		V: receiptsVersion, Origin: origin, Rules: rules, Tenant: c.tenant, ETag: c.etag, Generation: c.generation,
		Complete: c.complete, Count: c.count, Skipped: c.skipped, Failed: c.failed, Doubts: c.doubts,
	}
	wanted := map[string]bool{}
	for _, w := range c.wants {
		m.Wants = append(m.Wants, memoryWant{w.slug, w.folder, w.author, w.version, w.digest, w.release, w.signed, w.unreviewed})
		wanted[w.slug], wanted[w.folder] = true, true
	}
	for name := range c.named {
		if !wanted[name] {
			m.Named = append(m.Named, name)
		}
	}
	slices.Sort(m.Named)
	return m
}

func (m *memory) catalogue() *catalogue {
	c := &catalogue{
		count: m.Count, named: make(map[string]bool, 2*len(m.Wants)), skipped: m.Skipped, failed: m.Failed, doubts: m.Doubts,
		tenant: m.Tenant, etag: m.ETag, generation: m.Generation, complete: m.Complete,
	}
	for _, w := range m.Wants {
		c.wants = append(c.wants, want{slug: w.Slug, folder: w.Folder, author: w.Author, version: w.Version, digest: w.Digest, release: w.Release, signed: w.Signed, unreviewed: w.Unreviewed})
		c.named[w.Slug], c.named[w.Folder] = true, true
	}
	for _, name := range m.Named {
		c.named[name] = true
	}
	return c
}

// identity is the same for catalogues that want the same of the disk.
func (c *catalogue) identity() string {
	if c.known == "" {
		var b []byte
		for _, w := range c.wants {
			for _, part := range [...]string{w.slug, w.folder, w.author, w.version, string(w.digest)} {
				b = append(append(b, part...), ' ')
			}
			b = append(strconv.AppendBool(b, w.signed), '\n')
		}
		c.known = hexSum(b)
	}
	return c.known
}

// fileName names a file of the reconciler after what it is about.
func fileName(kind, about string) string { return kind + "-" + hexSum([]byte(about))[:24] + ".json" }

// recall reads one file of the reconciler into v; false means that there is none, or no
// folder (root is nil). A file that cannot be read is an error: taking it for none would
// make our own folders foreign.
func recall(root fsx.Root, name string, v any) (bool, error) {
	if root == nil {
		return false, nil
	}
	data, err := root.ReadFile(name, maxReceipts)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if own, ok := v.(interface{ quick(data []byte) bool }); err == nil && ok && own.quick(data) {
		return true, nil
	}
	if err == nil {
		err = strictjson.Unmarshal(data, v)
	}
	if err != nil {
		return false, hubapi.Errorf(hubapi.Invalid, "what kx remembers of its targets cannot be read: %s/%s: %v", root.Name(), name, err).
			WithHint("remove the file: folders that were written before are then taken for those of others until they are equal to the catalogue's")
	}
	return true, nil
}

// quick reads what keep wrote; false leaves it to strictjson.
func (r *receipts) quick(data []byte) bool {
	var out receipts
	ok := readRows(data, "skills", &out, func(r *rowReader) {
		var one receipt
		r.string("folder", &one.Folder)
		r.string("slug", &one.Slug)
		r.string("author", &one.Author)
		r.string("version", &one.Version)
		r.string("digest", (*string)(&one.Digest))
		r.bool("signed", &one.Signed)
		r.string("marker", &one.Marker)
		r.string("pending", &one.Pending)
		r.string("stamp", &one.Stamp)
		r.string("names", &one.Names)
		r.bool("held", &one.Held)
		out.Skills = append(out.Skills, one)
	})
	if ok {
		*r = out
	}
	return ok
}

// quick is that of receipts.
func (m *memory) quick(data []byte) bool {
	var out memory
	ok := readRows(data, "wants", &out, func(r *rowReader) {
		var one memoryWant
		r.string("slug", &one.Slug)
		r.string("folder", &one.Folder)
		r.string("author", &one.Author)
		r.string("version", &one.Version)
		r.string("digest", (*string)(&one.Digest))
		r.bool("release", &one.Release)
		r.bool("signed", &one.Signed)
		out.Wants = append(out.Wants, one)
	})
	if ok {
		*m = out
	}
	return ok
}

func keep(root fsx.Root, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return root.WriteFile(name, append(data, '\n'), 0o600)
}

func readReceipts(root fsx.Root, dir string) (*receipts, error) {
	r := new(receipts)
	found, err := recall(root, fileName("target", dir), r)
	switch {
	case err != nil:
		return nil, err
	case found && (r.V != receiptsVersion || r.Dir != dir):
		return nil, hubapi.Errorf(hubapi.Invalid, "what kx remembers of %s is about something else, or of a newer kx", dir)
	}
	r.V, r.Dir = receiptsVersion, dir
	sorting.Sort(r.Skills, func(a, b receipt) int { return strings.Compare(a.Folder, b.Folder) })
	return r, nil
}

func (r *receipts) save(root fsx.Root) error { return keep(root, fileName("target", r.Dir), r) }
