package hub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// The active releases as a web site that lists its skills, for installers that know
// nothing of hubs. Who has a key sees their own tenant; nobody sees the tenant
// local, if that is public.

// maxSite bounds how many skills a site lists; the newest are left out.
const maxSite = 10_000

// maxSiteDescription is what readers take, in characters.
const maxSiteDescription = 1024

// siteCache keeps what a release is to a site. A release never changes, so an entry
// holds for as long as there is room.
type siteCache struct {
	mu      sync.Mutex
	entries map[int64]*hubapi.SiteSkill // by sequence number; nil for what no agent reads
}

func (c *siteCache) get(seq int64) (*hubapi.SiteSkill, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[seq]
	return e, ok
}

func (c *siteCache) put(seq int64, e *hubapi.SiteSkill) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= 2*maxSite {
		c.entries = map[int64]*hubapi.SiteSkill{}
	}
	c.entries[seq] = e
}

// siteReader is who reads the site: p itself, or nobody, as an agent of the tenant
// local, if that is public.
func siteReader(r Reader, p Principal) (Principal, error) {
	if p.ID != "" || p.Tenant != "" {
		return p, p.check()
	}
	tenant, err := r.Tenant(LocalTenant)
	if err == nil && tenant.PublicCatalog {
		return Principal{ID: "public", Tenant: LocalTenant, Role: Agent}, nil
	}
	return p, hubapi.Errorf(hubapi.Unauthorized, "the skills of this hub need a key").
		WithHint("its operator makes them public with: kx hub tenant set local --public-catalog")
}

// SiteIndex lists the active releases that an agent can read, oldest first. Of two
// whose names agents would see as one, the older is listed.
func (h *Hub) SiteIndex(ctx context.Context, p Principal) (hubapi.SiteIndex, error) {
	out := hubapi.SiteIndex{Schema: hubapi.SiteSchema, Skills: []hubapi.SiteSkill{}}
	err := h.read(ctx, func(r Reader) error {
		p, err := siteReader(r, p)
		if err != nil {
			return err
		}
		return h.eachSiteSkill(r, p, func(_ ReleaseRow, s *hubapi.SiteSkill) bool {
			out.Skills = append(out.Skills, *s)
			return len(out.Skills) < maxSite
		})
	})
	return out, err
}

// eachSiteSkill goes through what the site shows to p until use is false.
func (h *Hub) eachSiteSkill(r Reader, p Principal, use func(ReleaseRow, *hubapi.SiteSkill) bool) error {
	const page = 500
	seen := map[string]bool{}
	for after := int64(0); ; {
		rows, err := r.OldestReleases(p.Tenant, hubapi.Active, after, page)
		if err != nil {
			return err
		}
		for _, row := range rows {
			after = row.Seq
			skill, err := h.siteSkill(r, row)
			if err != nil {
				return err
			}
			if skill == nil || seen[skill.Name] || !p.sees(row) {
				continue
			}
			seen[skill.Name] = true
			if !use(row, skill) {
				return nil
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}

// siteSkill is what a release is to a site; nil for one that is no SKILL.md to agents.
func (h *Hub) siteSkill(r Reader, row ReleaseRow) (*hubapi.SiteSkill, error) {
	if s, ok := h.site.get(row.Seq); ok {
		return s, nil
	}
	name, files, err := siteFiles(r, row)
	if err != nil || files == nil {
		if err == nil {
			h.site.put(row.Seq, nil)
		}
		return nil, err
	}
	s := &hubapi.SiteSkill{
		Name: name, Type: hubapi.SiteText, Description: siteDescription(row), URL: name + "/SKILL.md",
		Release: &hubapi.SiteRelease{Author: row.Author, Name: row.Name, Version: row.Version, Digest: row.Digest, Format: row.Format},
	}
	for _, f := range files {
		s.Files = append(s.Files, hubapi.SiteFile{Path: f.Path, Size: int64(len(f.Data)), Digest: sha256Of(f.Data)})
	}
	s.Digest = s.Files[0].Digest
	if len(files) > 1 {
		data, err := siteArchive(files)
		if err != nil {
			return nil, err
		}
		s.Type, s.URL, s.Digest = hubapi.SiteArchive, name+".tar.gz", sha256Of(data)
	}
	h.site.put(row.Seq, s)
	return s, nil
}

// siteDescription is the description in one line, within what readers take.
func siteDescription(row ReleaseRow) string {
	text := strings.Join(strings.Fields(row.Description), " ")
	if utf8.RuneCountInString(text) > maxSiteDescription {
		text = string([]rune(text)[:maxSiteDescription-1]) + "…"
	}
	if text == "" {
		text = row.Name
	}
	return text
}

func sha256Of(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// siteFiles are the files of a release as an agent reads them, with the name that
// agents know it by. They are nil for a pack without a SKILL.md.
func siteFiles(r Reader, row ReleaseRow) (string, []pack.File, error) {
	rows, err := r.Files(row.Seq)
	if err != nil {
		return "", nil, err
	}
	files := make([]pack.File, len(rows))
	for i, f := range rows {
		data, err := content(r, f.Sum)
		if err != nil {
			return "", nil, err
		}
		files[i] = pack.File{Path: f.Path, Data: data, Executable: f.Executable}
	}
	in := pack.Read(row.Name, files, pack.Options{Format: pack.Format(row.Format)})
	if in.Pack == nil {
		return "", nil, nil
	}
	name := pack.SkillName(in.Pack)
	if files, err = pack.AgentFiles(in.Pack); err != nil || pack.ValidSkillName(name) != nil {
		return "", nil, nil
	}
	for _, f := range files {
		if f.Path == pack.SkillMD.ManifestFile() {
			return name, files, nil
		}
	}
	return "", nil, nil
}

// siteArchive packs files without a folder around them, as readers of sites want it.
func siteArchive(files []pack.File) ([]byte, error) {
	var ar hubapi.Archiver
	a := hubapi.Archive{Files: make([]hubapi.File, len(files))}
	for i, f := range files {
		a.Files[i] = hubapi.File(f)
	}
	var b bytes.Buffer
	err := ar.Write(&b, a)
	return b.Bytes(), err
}

// SiteFile gives one file of a skill of the site, by the name that the list has for it.
func (h *Hub) SiteFile(ctx context.Context, p Principal, name, path string) (pack.File, error) {
	var out pack.File
	err := h.onSite(ctx, p, name, func(files []pack.File) error {
		for _, f := range files {
			if f.Path == path {
				out = f
				return nil
			}
		}
		return hubapi.Errorf(hubapi.NotFound, "the skill %.80q has no file %.80q", name, path)
	})
	return out, err
}

// SiteArchive gives a skill of the site as the archive whose digest the list has.
func (h *Hub) SiteArchive(ctx context.Context, p Principal, name string) ([]byte, error) {
	var out []byte
	err := h.onSite(ctx, p, name, func(files []pack.File) (err error) {
		out, err = siteArchive(files)
		return err
	})
	return out, err
}

// onSite finds a skill by its name in the list. Nearly always that is its name in
// the hub.
func (h *Hub) onSite(ctx context.Context, p Principal, name string, use func([]pack.File) error) error {
	return h.read(ctx, func(r Reader) error {
		p, err := siteReader(r, p)
		if err != nil {
			return err
		}
		var found *ReleaseRow
		err = h.eachNamed(r, p, name, func(row ReleaseRow) { found = &row })
		if err != nil {
			return err
		}
		if found == nil {
			return hubapi.Errorf(hubapi.NotFound, "the hub lists no skill %.80q", name)
		}
		_, files, err := siteFiles(r, *found)
		if err != nil {
			return err
		}
		return use(files)
	})
}

// eachNamed finds the release that the list shows under a name. A name with a hyphen
// may be that of an older skill whose name has a dot there, so the list decides.
func (h *Hub) eachNamed(r Reader, p Principal, name string, use func(ReleaseRow)) error {
	if hubapi.CheckName(name) != nil {
		return nil
	}
	if !strings.Contains(name, "-") {
		row, err := visible(r, p, hubapi.Ref{Name: name})
		if e := hubapi.AsError(err); e != nil && e.Code == hubapi.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		skill, err := h.siteSkill(r, row)
		if err == nil && skill != nil && skill.Name == name {
			use(row)
		}
		return err
	}
	return h.eachSiteSkill(r, p, func(row ReleaseRow, s *hubapi.SiteSkill) bool {
		if s.Name == name {
			use(row)
		}
		return s.Name != name
	})
}
