package hub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// Served is an active release as agents that pull skills see it. Whoever asks, and
// whatever their role, nothing else is served: Hub's methods on it are the one place
// that decides this.
type Served struct {
	seq         int64
	Author      string
	Name        string
	Version     string
	Digest      string
	Format      string
	Description string
	Summary     string
}

// Ref is the full reference, author/name@version.
func (s Served) Ref() string { return s.Author + "/" + s.Name + "@" + s.Version }

// AgentName is the name that the skill has for agents (pack.SkillName).
func (s Served) AgentName() string { return AgentName(s.Format, s.Name) }

// AgentName is the name that a skill of that format and name has for agents.
func AgentName(format, name string) string {
	return pack.SkillName(&pack.Pack{Format: pack.Format(format), Name: name})
}

// ServedFile is one file of what an agent gets (pack.AgentFiles).
type ServedFile struct {
	Path string
	Size int64
	Sum  Sum
}

// ServedSkill is an active release with its files. It is never changed: callers
// share it.
type ServedSkill struct {
	Served
	Files []ServedFile // ascending by path
	// Text is the content of SKILL.md; nil for a kazma pack, which has none.
	Text []byte
}

// File is one of the files, by its path.
func (s *ServedSkill) File(path string) (ServedFile, bool) {
	for _, f := range s.Files {
		if f.Path == path {
			return f, true
		}
	}
	return ServedFile{}, false
}

func served(row ReleaseRow) Served {
	return Served{
		seq: row.Seq, Author: row.Author, Name: row.Name, Version: row.Version, Digest: row.Digest,
		Format: row.Format, Description: row.Description, Summary: row.Summary,
	}
}

// ServedChange is a number that grows with every change of what is active in p's
// tenant. While it stays the same, so do the answers of the other methods here.
func (h *Hub) ServedChange(ctx context.Context, p Principal) (change int64, err error) {
	if err := p.check(); err != nil {
		return 0, err
	}
	err = h.store.Look(ctx, func(r Reader) (err error) {
		change, err = r.SearchChange(p.Tenant)
		return err
	})
	return change, refusal(err)
}

// ServedSkills are all active releases of p's tenant, ordered by name, and the
// number of the change that they are as of.
func (h *Hub) ServedSkills(ctx context.Context, p Principal) (change int64, all []Served, err error) {
	if err := p.check(); err != nil {
		return 0, nil, err
	}
	const batch = 1000
	err = h.read(ctx, func(r Reader) (err error) {
		all = nil
		if change, err = r.SearchChange(p.Tenant); err != nil {
			return err
		}
		for after := ""; ; {
			rows, err := r.ActiveReleases(p.Tenant, after, batch)
			if err != nil {
				return err
			}
			for _, row := range rows {
				all = append(all, served(row))
			}
			if len(rows) < batch {
				return nil
			}
			after = rows[batch-1].Name
		}
	})
	return change, all, err
}

// ServedNewest are the active releases that were published last, and how many are
// active in all.
func (h *Hub) ServedNewest(ctx context.Context, p Principal, limit int) (newest []Served, total int, err error) {
	if err := p.check(); err != nil {
		return nil, 0, err
	}
	err = h.read(ctx, func(r Reader) error {
		rows, err := r.TenantReleases(p.Tenant, hubapi.Active, limit)
		if err != nil {
			return err
		}
		newest = nil
		for _, row := range rows {
			newest = append(newest, served(row))
		}
		total, err = r.CountReleases(p.Tenant, hubapi.Active)
		return err
	})
	return newest, total, err
}

// ServedSkill is the active release of the skill that ref names, and the number of
// the change that it is as of. A version in ref must be the active one. The error
// for what is absent, foreign or not active is the same.
func (h *Hub) ServedSkill(ctx context.Context, p Principal, ref hubapi.Ref) (change int64, out *ServedSkill, err error) {
	if err := p.check(); err != nil {
		return 0, nil, err
	}
	err = h.read(ctx, func(r Reader) (err error) {
		if change, err = r.SearchChange(p.Tenant); err != nil {
			return err
		}
		skill, err := ownSkill(r, p, ref)
		if err != nil {
			return err
		}
		rows, err := r.Releases(skill.ID, hubapi.Active, 1)
		if err != nil {
			return err
		}
		if len(rows) == 0 || ref.Version != "" && rows[0].Version != ref.Version {
			return absent(ref)
		}
		out, err = servedSkill(r, rows[0])
		return err
	})
	return change, out, err
}

func servedSkill(r Reader, row ReleaseRow) (*ServedSkill, error) {
	out := &ServedSkill{Served: served(row)}
	if pack.Format(row.Format) == pack.Kortecx {
		files, err := renderedFiles(r, row)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			out.Files = append(out.Files, ServedFile{Path: f.Path, Size: int64(len(f.Data)), Sum: sha256.Sum256(f.Data)})
			if f.Path == pack.SkillMD.ManifestFile() {
				out.Text = f.Data
			}
		}
		return out, nil
	}
	files, err := r.Files(row.Seq)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		out.Files = append(out.Files, ServedFile{Path: f.Path, Size: f.Size, Sum: f.Sum})
		if f.Path == pack.SkillMD.ManifestFile() && pack.Format(row.Format) == pack.SkillMD {
			if out.Text, err = content(r, f.Sum); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// renderedFiles are the files that a kortecx pack becomes for an agent.
func renderedFiles(r Reader, row ReleaseRow) ([]pack.File, error) {
	rows, err := r.Files(row.Seq)
	if err != nil {
		return nil, err
	}
	files := make([]pack.File, len(rows))
	for i, f := range rows {
		data, err := content(r, f.Sum)
		if err != nil {
			return nil, err
		}
		files[i] = pack.File{Path: f.Path, Data: data, Executable: f.Executable}
	}
	read := pack.Read(row.Name, files, pack.Options{Format: pack.Format(row.Format)})
	if read.Pack == nil {
		return nil, hubapi.Errorf(hubapi.Internal, "%s cannot be read any more: %v", refOf(row), read.Err())
	}
	out, err := pack.AgentFiles(read.Pack)
	if err != nil {
		return nil, hubapi.Errorf(hubapi.NotFound, "%s has no form for agents: %v", refOf(row), err)
	}
	return out, nil
}

// ServedContent is the content of one file of a skill that ServedSkill gave, as long
// as it is active.
func (h *Hub) ServedContent(ctx context.Context, p Principal, s *ServedSkill, path string) (data []byte, err error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	gone := absent(hubapi.Ref{Author: s.Author, Name: s.Name})
	file, ok := s.File(path)
	if !ok {
		return nil, gone
	}
	err = h.read(ctx, func(r Reader) error {
		rows, err := r.ReleasesBySeq([]int64{s.seq})
		if err != nil {
			return err
		}
		if len(rows) != 1 || rows[0].Tenant != p.Tenant || rows[0].Status != hubapi.Active {
			return gone
		}
		if path == pack.SkillMD.ManifestFile() && s.Text != nil {
			data = bytes.Clone(s.Text)
			return nil
		}
		data, err = content(r, file.Sum)
		if errors.Is(err, ErrNoRow) {
			return gone
		}
		return err
	})
	return data, err
}
