package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// asJSON writes tags and tools. They are strings and maps of strings: it cannot
// fail.
func asJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func fromJSON(text string, v any) error {
	if text == "null" {
		return nil
	}
	return json.Unmarshal([]byte(text), v)
}

func asSum(data []byte) (hub.Sum, error) {
	var sum hub.Sum
	if len(data) != len(sum) {
		return sum, fmt.Errorf("a stored SHA-256 has %d bytes", len(data))
	}
	copy(sum[:], data)
	return sum, nil
}

func asSumOrNil(data []byte) (*hub.Sum, error) {
	if data == nil {
		return nil, nil
	}
	sum, err := asSum(data)
	return &sum, err
}

func sumOrNull(sum *hub.Sum) any {
	if sum == nil {
		return nil
	}
	return sum[:]
}

const selectRelease = `SELECT r.seq, r.skill, r.tenant, s.name, s.author, r.version, r.status, r.digest,
  r.format, r.summary, r.description, r.tags, r.tools, r.source, r.published_by,
  r.created_at, r.updated_at, r.approved_at, r.approved_by, r.signature,
  r.fingerprint, r.edited_from, r.base, r.reason, r.deferred_at, r.defer_reason, r.replaced_by
  FROM releases r JOIN skills s ON s.id = r.skill `

func scanRelease(rows *sql.Rows) (hub.ReleaseRow, error) {
	var (
		r                hub.ReleaseRow
		status           string
		tags, tools      string
		created, updated int64
		approved         sql.NullInt64
		signature        []byte
		deferred         sql.NullInt64
	)
	err := rows.Scan(&r.Seq, &r.Skill, &r.Tenant, &r.Name, &r.Author, &r.Version, &status, &r.Digest,
		&r.Format, &r.Summary, &r.Description, &tags, &tools, &r.Source, &r.PublishedBy,
		&created, &updated, &approved, &r.ApprovedBy, &signature,
		&r.Fingerprint, &r.EditedFrom, &r.Note.Base, &r.Note.Reason, &deferred, &r.Note.DeferReason, &r.Note.ReplacedBy)
	if err != nil {
		return r, err
	}
	r.Status = hubapi.Status(status)
	r.CreatedAt, r.UpdatedAt = fromMicros(created), fromMicros(updated)
	r.ApprovedAt, r.Note.DeferredAt = fromMicrosOrNull(approved), fromMicrosOrNull(deferred)
	if err := fromJSON(tags, &r.Tags); err != nil {
		return r, err
	}
	if err := fromJSON(tools, &r.Tools); err != nil {
		return r, err
	}
	r.Signature, err = asSumOrNil(signature)
	return r, err
}

func scanFile(rows *sql.Rows) (hub.FileRow, error) {
	var (
		f   hub.FileRow
		sum []byte
	)
	if err := rows.Scan(&f.Path, &f.Size, &sum, &f.Executable); err != nil {
		return f, err
	}
	var err error
	f.Sum, err = asSum(sum)
	return f, err
}

func scanCatalog(rows *sql.Rows) (hub.CatalogRow, error) {
	var (
		c            hub.CatalogRow
		tags, tools  string
		instructions []byte
		updated      int64
	)
	err := rows.Scan(&c.Tenant, &c.Principal, &c.Name, &c.Version, &c.Description, &tags, &tools,
		&c.SkillRef, &c.InstructionsRef, &c.Manifest, &instructions, &updated)
	if err != nil {
		return c, err
	}
	c.UpdatedAt = fromMicros(updated)
	if err := fromJSON(tags, &c.Tags); err != nil {
		return c, err
	}
	if err := fromJSON(tools, &c.Tools); err != nil {
		return c, err
	}
	c.Instructions, err = asSumOrNil(instructions)
	return c, err
}
