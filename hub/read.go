package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// ArchiveOut is a release with the content of all its files.
type ArchiveOut struct {
	Release hubapi.Release
	Files   []pack.File // ascending by path
}

// Release describes one release: that version, or the active one when ref has no
// version. What the principal may not see is as absent as what is not there.
func (h *Hub) Release(ctx context.Context, p Principal, ref hubapi.Ref) (hubapi.Release, error) {
	var out hubapi.Release
	err := h.onRelease(ctx, p, ref, func(r Reader, row ReleaseRow) error {
		files, err := r.Files(row.Seq)
		if err != nil {
			return err
		}
		out = release(row, files)
		if out.Versions, err = versions(r, p, row.Skill); err != nil {
			return err
		}
		return addLog(r, row, &out)
	})
	return out, err
}

// maxVersions is how many versions a detail answer has.
const maxVersions = 100

// versions are those of a skill that p sees, the newest first.
func versions(r Reader, p Principal, skill int64) ([]hubapi.ReleaseVersion, error) {
	status, limit := hubapi.Status(""), maxVersions
	if !p.reviews() {
		status, limit = hubapi.Active, 1
	}
	rows, err := r.Releases(skill, status, limit)
	var out []hubapi.ReleaseVersion
	for _, row := range rows {
		if p.sees(row) {
			out = append(out, hubapi.ReleaseVersion{Version: row.Version, Status: row.Status, CreatedAt: row.CreatedAt})
		}
	}
	return out, err
}

// File gives one file of a release.
func (h *Hub) File(ctx context.Context, p Principal, ref hubapi.Ref, path string) (pack.File, error) {
	var out pack.File
	err := h.onRelease(ctx, p, ref, func(r Reader, row ReleaseRow) error {
		file, err := r.File(row.Seq, path)
		if errors.Is(err, ErrNoRow) {
			return hubapi.Errorf(hubapi.NotFound, "%s has no file %q", refOf(row), path)
		}
		if err != nil {
			return err
		}
		data, err := content(r, file.Sum)
		out = pack.File{Path: file.Path, Data: data, Executable: file.Executable}
		return err
	})
	return out, err
}

// Archive gives a release with all its files.
func (h *Hub) Archive(ctx context.Context, p Principal, ref hubapi.Ref) (ArchiveOut, error) {
	var out ArchiveOut
	err := h.onRelease(ctx, p, ref, func(r Reader, row ReleaseRow) error {
		files, err := r.Files(row.Seq)
		if err != nil {
			return err
		}
		out = ArchiveOut{Release: release(row, files), Files: make([]pack.File, len(files))}
		for i, file := range files {
			data, err := content(r, file.Sum)
			if err != nil {
				return err
			}
			out.Files[i] = pack.File{Path: file.Path, Data: data, Executable: file.Executable}
		}
		return nil
	})
	return out, err
}

// Signature gives the signature file of a release.
func (h *Hub) Signature(ctx context.Context, p Principal, ref hubapi.Ref) ([]byte, error) {
	var out []byte
	err := h.onRelease(ctx, p, ref, func(r Reader, row ReleaseRow) error {
		if row.Signature == nil {
			return hubapi.Errorf(hubapi.NotFound, "%s is not signed", refOf(row))
		}
		data, err := content(r, *row.Signature)
		out = data
		return err
	})
	return out, err
}

// onRelease finds the release that ref means to p and runs fn on it, in one view.
func (h *Hub) onRelease(ctx context.Context, p Principal, ref hubapi.Ref, fn func(Reader, ReleaseRow) error) error {
	if err := p.check(); err != nil {
		return err
	}
	return h.read(ctx, func(r Reader) error {
		row, err := visible(r, p, ref)
		if err != nil {
			return err
		}
		return fn(r, row)
	})
}

// ownSkill finds the skill that ref names in p's tenant.
func ownSkill(r Reader, p Principal, ref hubapi.Ref) (SkillRow, error) {
	skill, err := r.Skill(p.Tenant, ref.Name)
	if errors.Is(err, ErrNoRow) || err == nil && ref.Author != "" && ref.Author != skill.Author {
		return SkillRow{}, absent(ref)
	}
	return skill, err
}

// visible is the one place that decides who sees which release. What nodes are given
// unreviewed is seen by its exact version.
func visible(r Reader, p Principal, ref hubapi.Ref) (ReleaseRow, error) {
	skill, err := ownSkill(r, p, ref)
	if err != nil {
		return ReleaseRow{}, err
	}
	if ref.Version == "" {
		return active(r, p, skill, ref)
	}
	row, err := r.Release(skill.ID, ref.Version)
	if errors.Is(err, ErrNoRow) {
		return ReleaseRow{}, absent(ref)
	}
	if err != nil || p.seesByVersion(row) {
		return row, err
	}
	if given, err := installedUnreviewed(r, p, row); err != nil || !given {
		return ReleaseRow{}, cmp.Or(err, error(absent(ref)))
	}
	return row, nil
}

func active(r Reader, p Principal, skill SkillRow, ref hubapi.Ref) (ReleaseRow, error) {
	rows, err := r.Releases(skill.ID, hubapi.Active, 1)
	if err != nil || len(rows) == 1 {
		return append(rows, ReleaseRow{})[0], err
	}
	e := absent(ref)
	if p.reviews() {
		waiting, err := r.Releases(skill.ID, hubapi.Staged, 1)
		if err != nil {
			return ReleaseRow{}, err
		}
		if len(waiting) == 1 {
			e.Message = "no release of " + ref.String() + " is active"
			_ = e.WithHint("%s waits for review", refOf(waiting[0]))
		}
	}
	return ReleaseRow{}, e
}

// absent is the one answer for what is not there and for what may not be seen.
func absent(ref hubapi.Ref) *hubapi.Error {
	return hubapi.Errorf(hubapi.NotFound, "the hub has no release %q", ref.String())
}

// content reads stored bytes and refuses to give any that are not what was stored.
func content(r Reader, sum Sum) ([]byte, error) {
	data, err := r.Content(sum)
	if err != nil && !errors.Is(err, ErrNoRow) {
		return nil, err
	}
	if err != nil || sha256.Sum256(data) != sum {
		return nil, hubapi.Errorf(hubapi.Internal, "stored content is damaged").
			WithHint("restore the hub from a backup, or publish this release's content again under a new version").
			With(hubapi.Detail{ID: "blob.corrupt", Message: "stored content is damaged"})
	}
	return data, nil
}
