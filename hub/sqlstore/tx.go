package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// tx is one view of the database, or the writer's transaction.
type tx struct{ *session }

var _ hub.Writer = (*tx)(nil)

func one[T any](rows []T, err error) (T, error) {
	if err == nil && len(rows) == 0 {
		err = hub.ErrNoRow
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}

func all[T any](s *session, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	var out []T
	err := s.query(func(rows *sql.Rows) error {
		row, err := scan(rows)
		if err == nil {
			out = append(out, row)
		}
		return err
	}, query, args...)
	return out, err
}

func (t *tx) Skill(tenant, name string) (hub.SkillRow, error) {
	return one(all(t.session, func(rows *sql.Rows) (r hub.SkillRow, err error) {
		err = rows.Scan(&r.ID, &r.Tenant, &r.Name, &r.Author, &r.NextInteger)
		return r, err
	}, "SELECT id, tenant, name, author, next_integer FROM skills WHERE tenant = ? AND name = ?", tenant, name))
}

func (t *tx) Release(skill int64, version string) (hub.ReleaseRow, error) {
	return one(all(t.session, scanRelease, selectRelease+"WHERE r.skill = ? AND r.version = ?", skill, version))
}

func (t *tx) ReleaseWithDigest(skill int64, digest string) (hub.ReleaseRow, error) {
	return one(all(t.session, scanRelease, selectRelease+"WHERE r.skill = ? AND r.digest = ? ORDER BY r.seq LIMIT 1", skill, digest))
}

func (t *tx) Releases(skill int64, status hubapi.Status, limit int) ([]hub.ReleaseRow, error) {
	if status == "" {
		return all(t.session, scanRelease, selectRelease+"WHERE r.skill = ? ORDER BY r.seq DESC LIMIT ?", skill, limit)
	}
	return all(t.session, scanRelease,
		selectRelease+"WHERE r.skill = ? AND r.status = ? ORDER BY r.seq DESC LIMIT ?", skill, string(status), limit)
}

func (t *tx) TenantReleases(tenant string, status hubapi.Status, limit int) ([]hub.ReleaseRow, error) {
	return all(t.session, scanRelease,
		selectRelease+"WHERE r.tenant = ? AND r.status = ? ORDER BY r.seq DESC LIMIT ?", tenant, string(status), limit)
}

func (t *tx) ActiveReleases(tenant, after string, limit int) ([]hub.ReleaseRow, error) {
	return all(t.session, scanRelease,
		selectRelease+"WHERE s.tenant = ? AND s.name > ? AND r.status = 'active' ORDER BY s.name LIMIT ?", tenant, after, limit)
}

func (t *tx) CountReleases(tenant string, status hubapi.Status) (int, error) {
	return one(all(t.session, func(rows *sql.Rows) (n int, err error) {
		return n, rows.Scan(&n)
	}, "SELECT count(*) FROM releases WHERE tenant = ? AND status = ?", tenant, string(status)))
}

func (t *tx) ReleasesBySeq(seqs []int64) ([]hub.ReleaseRow, error) {
	if len(seqs) == 1 {
		return all(t.session, scanRelease, selectRelease+"WHERE r.seq = ?", seqs[0])
	}
	const batch = 50
	found := make(map[int64]hub.ReleaseRow, len(seqs))
	for some := range slices.Chunk(seqs, batch) {
		args := make([]any, batch) // as many each time, so that it is one statement
		for i := range args {
			args[i] = some[min(i, len(some)-1)]
		}
		rows, err := all(t.session, scanRelease, selectRelease+"WHERE r.seq IN (?"+strings.Repeat(", ?", batch-1)+")", args...)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found[row.Seq] = row
		}
	}
	var out []hub.ReleaseRow
	for _, seq := range seqs {
		if row, ok := found[seq]; ok {
			out = append(out, row)
		}
	}
	return out, nil
}

func (t *tx) Files(release int64) ([]hub.FileRow, error) {
	return all(t.session, scanFile,
		"SELECT path, size, sha256, executable FROM release_files WHERE release = ? ORDER BY path", release)
}

func (t *tx) File(release int64, path string) (hub.FileRow, error) {
	return one(all(t.session, scanFile,
		"SELECT path, size, sha256, executable FROM release_files WHERE release = ? AND path = ?", release, path))
}

func (t *tx) Content(sum hub.Sum) ([]byte, error) {
	return one(all(t.session, func(rows *sql.Rows) (data []byte, err error) {
		return data, rows.Scan(&data)
	}, "SELECT data FROM contents WHERE sha256 = ?", sum[:]))
}

const selectCatalog = `SELECT tenant, principal, name, version, description, tags, tools,
  skill_ref, instructions_ref, manifest, instructions, updated_at FROM catalog `

func (t *tx) CatalogSkill(tenant, principal, name string) (hub.CatalogRow, error) {
	return one(all(t.session, scanCatalog,
		selectCatalog+"WHERE tenant = ? AND principal = ? AND name = ?", tenant, principal, name))
}

func (t *tx) CatalogSkills(tenant, principal, after string, limit int) ([]hub.CatalogRow, error) {
	return all(t.session, scanCatalog,
		selectCatalog+"WHERE tenant = ? AND principal = ? AND name > ? ORDER BY name LIMIT ?", tenant, principal, after, limit)
}

func (t *tx) Audit(tenant string, after int64, limit int) ([]hub.AuditRow, error) {
	return all(t.session, func(rows *sql.Rows) (a hub.AuditRow, err error) {
		var at int64
		err = rows.Scan(&a.Seq, &a.Tenant, &at, &a.Principal, &a.Action, &a.Author, &a.Name, &a.Version, &a.Digest, &a.Note)
		a.At = fromMicros(at)
		return a, err
	}, `SELECT seq, tenant, at, principal, action, author, name, version, digest, note
  FROM audit WHERE tenant = ? AND seq > ? ORDER BY seq LIMIT ?`, tenant, after, limit)
}

// insert adds one row and gives its number, which the statement must return.
func (t *tx) insert(query string, args ...any) (int64, error) {
	if !storable(args) {
		return 0, notStorable()
	}
	ids, err := all(t.session, func(rows *sql.Rows) (id int64, err error) {
		return id, rows.Scan(&id)
	}, query, args...)
	if err == nil && len(ids) != 1 {
		err = fmt.Errorf("an insert gave %d rows: %s", len(ids), query)
	}
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func (t *tx) changed(query string, args ...any) (bool, error) {
	result, err := t.exec(query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

func (t *tx) AddSkill(s hub.SkillRow) (int64, error) {
	return t.insert("INSERT INTO skills (tenant, name, author, next_integer) VALUES (?, ?, ?, ?) RETURNING id",
		s.Tenant, s.Name, s.Author, s.NextInteger)
}

func (t *tx) SetNextInteger(skill, next int64) error {
	_, err := t.exec("UPDATE skills SET next_integer = ? WHERE id = ?", next, skill)
	return err
}

func (t *tx) AddRelease(r hub.ReleaseRow) (int64, error) {
	return t.insert(`INSERT INTO releases (skill, tenant, version, status, digest, format, summary,
  description, tags, tools, source, published_by, created_at, updated_at, approved_at, approved_by, signature,
  fingerprint, edited_from, base, reason, deferred_at, defer_reason, replaced_by)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
		r.Skill, r.Tenant, r.Version, string(r.Status), r.Digest, r.Format, r.Summary,
		r.Description, asJSON(r.Tags), asJSON(r.Tools), r.Source, r.PublishedBy,
		micros(r.CreatedAt), micros(r.UpdatedAt), microsOrNull(r.ApprovedAt), r.ApprovedBy, sumOrNull(r.Signature),
		r.Fingerprint, r.EditedFrom, r.Note.Base, r.Note.Reason, microsOrNull(r.Note.DeferredAt), r.Note.DeferReason, r.Note.ReplacedBy)
}

func (t *tx) AddFiles(release int64, files []hub.FileRow) error {
	for _, f := range files {
		if _, err := t.exec("INSERT INTO release_files (release, path, size, sha256, executable) VALUES (?, ?, ?, ?, ?)",
			release, f.Path, f.Size, f.Sum[:], f.Executable); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) PutContent(sum hub.Sum, data []byte) error {
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	_, err := t.exec("INSERT INTO contents (sha256, data, added_at) VALUES (?, ?, ?) ON CONFLICT (sha256) DO NOTHING", sum[:], data, micros(t.now()))
	return err
}

func (t *tx) SetSignature(release int64, sum hub.Sum) error {
	_, err := t.exec("UPDATE releases SET signature = ? WHERE seq = ?", sum[:], release)
	return err
}

func (t *tx) Move(release int64, from, to hubapi.Status, at time.Time, by string) (bool, error) {
	if to == hubapi.Active {
		return t.changed(`UPDATE releases SET status = ?, updated_at = ?, approved_at = ?, approved_by = ?
  WHERE seq = ? AND status = ?`, string(to), micros(at), micros(at), by, release, string(from))
	}
	return t.changed("UPDATE releases SET status = ?, updated_at = ? WHERE seq = ? AND status = ?",
		string(to), micros(at), release, string(from))
}

func (t *tx) PutCatalogSkill(c hub.CatalogRow) error {
	_, err := t.exec(`INSERT INTO catalog (tenant, principal, name, version, description, tags, tools,
  skill_ref, instructions_ref, manifest, instructions, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, principal, name) DO UPDATE SET version = excluded.version,
  description = excluded.description, tags = excluded.tags, tools = excluded.tools,
  skill_ref = excluded.skill_ref, instructions_ref = excluded.instructions_ref,
  manifest = excluded.manifest, instructions = excluded.instructions, updated_at = excluded.updated_at`,
		c.Tenant, c.Principal, c.Name, c.Version, c.Description, asJSON(c.Tags), asJSON(c.Tools),
		c.SkillRef, c.InstructionsRef, c.Manifest, sumOrNull(c.Instructions), micros(c.UpdatedAt))
	return err
}

func (t *tx) DropCatalogSkill(tenant, principal, name string) (bool, error) {
	return t.changed("DELETE FROM catalog WHERE tenant = ? AND principal = ? AND name = ?", tenant, principal, name)
}

func (t *tx) AddAudit(a hub.AuditRow) error {
	_, err := t.exec(`INSERT INTO audit (tenant, at, principal, action, author, name, version, digest, note)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.Tenant, micros(a.At), a.Principal, a.Action, a.Author, a.Name, a.Version, a.Digest, a.Note)
	return err
}
