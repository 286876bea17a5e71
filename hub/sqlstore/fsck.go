package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/kortecx/kx/pack"
)

// Fault is one thing in a store that is wrong.
type Fault struct {
	ID    string // such as blob.corrupt
	Place string // of what
	Text  string
}

// Report is what Fsck found. Unreferenced contents are no fault: Collect removes
// them.
type Report struct {
	Schema            int // the number of migrations
	Releases          int
	Contents          int
	Bytes             int64
	Unreferenced      int
	UnreferencedBytes int64
	Faults            []Fault
}

// maxFaults is how many faults one report names.
const maxFaults = 1000

type checker struct {
	*session
	ctx    context.Context
	report Report
}

// Fsck looks at everything that a store keeps, on one unchanging view, and changes
// nothing: every content against its hash, every release against its digest, what
// refers to what, the rule that a skill has one active release, what is searched, the
// transparency log. An error means that it could not look; what is wrong is in the report.
func Fsck(ctx context.Context, p Place) (Report, error) {
	var report Report
	err := p.inView(ctx, func(s *session) (err error) {
		report, err = s.fsck(ctx)
		if s.is == sqliteDialect && (code(err)&0xff == sqlite3.SQLITE_CORRUPT || code(err)&0xff == sqlite3.SQLITE_NOTADB) {
			report.Faults = append(report.Faults, Fault{ID: "db.integrity", Place: databaseFile, Text: err.Error()})
			err = nil
		}
		return err
	})
	return report, err
}

func (s *session) fsck(ctx context.Context) (Report, error) {
	c := &checker{session: s, ctx: ctx}
	steps, err := s.is.migrations()
	if err != nil {
		return c.report, err
	}
	for _, check := range []func() error{
		func() error {
			applied, err := s.applied(ctx, steps)
			c.report.Schema = len(applied)
			return err
		},
		c.integrity, c.dangling, c.contents, c.releases, c.lifecycle, c.search, c.log, c.unused,
	} {
		if err := errors.Join(check(), ctx.Err()); err != nil {
			return c.report, err
		}
	}
	return c.report, nil
}

func (c *checker) fault(id, place, format string, args ...any) {
	if len(c.report.Faults) < maxFaults {
		c.report.Faults = append(c.report.Faults, Fault{ID: id, Place: place, Text: fmt.Sprintf(format, args...)})
	}
}

// found makes a fault of every row of a query that gives places.
func (c *checker) found(id, text, query string) error {
	places, err := texts(c.session, query)
	for _, place := range places {
		c.fault(id, place, "%s", text)
	}
	return err
}

func (c *checker) integrity() error {
	if c.is != sqliteDialect {
		return nil
	}
	lines, err := texts(c.session, "PRAGMA integrity_check(100)")
	for _, line := range lines {
		if line != "ok" {
			c.fault("db.integrity", databaseFile, "%s", line)
		}
	}
	return err
}

// dangling finds rows that refer to what is not there. The database itself keeps
// that from happening; a damaged or hand-edited one may have them.
func (c *checker) dangling() error {
	refs, err := c.references()
	if err != nil {
		return err
	}
	for _, r := range refs {
		id := "row.dangling"
		if r.to == "contents" {
			id = "blob.missing"
		}
		var n int
		if n, err = c.count(fmt.Sprintf("SELECT count(*) FROM %s r WHERE r.%s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s t WHERE t.%s = r.%s)",
			r.table, r.column, r.to, r.toColumn, r.column)); err != nil {
			return err
		}
		if n > 0 {
			c.fault(id, r.table+"."+r.column, "%d rows refer to rows of %s that are not there", n, r.to)
		}
	}
	return nil
}

func (c *checker) count(query string) (int, error) {
	return one(all(c.session, func(rows *sql.Rows) (n int, err error) { return n, rows.Scan(&n) }, query))
}

func (c *checker) contents() error {
	return c.query(func(rows *sql.Rows) error {
		var sum, data sql.RawBytes
		if err := errors.Join(rows.Scan(&sum, &data), c.ctx.Err()); err != nil {
			return err
		}
		c.report.Contents++
		c.report.Bytes += int64(len(data))
		if is := sha256.Sum256(data); string(is[:]) != string(sum) {
			c.fault("blob.corrupt", "content "+hex.EncodeToString(sum), "its %d bytes have the hash %x", len(data), is)
		}
		return nil
	}, "SELECT sha256, data FROM contents ORDER BY id")
}

// releases computes every digest again from the files that are stored.
func (c *checker) releases() error {
	type release struct {
		place, digest string
		files         []pack.File
	}
	var now release
	var seq int64
	end := func() {
		if now.place == "" {
			return
		}
		c.report.Releases++
		if len(now.files) == 0 {
			c.fault("release.files", now.place, "the release has no files")
		} else if got := string(pack.DigestFiles(now.files)); got != now.digest {
			c.fault("release.digest", now.place, "its files have the digest %s, it says %s", got, now.digest)
		}
	}
	err := c.query(func(rows *sql.Rows) error {
		var (
			author, name, version, digest string
			path                          sql.NullString
			size, at                      sql.NullInt64
			data                          []byte
			next                          int64
		)
		if err := errors.Join(rows.Scan(&next, &author, &name, &version, &digest, &path, &size, &at, &data), c.ctx.Err()); err != nil {
			return err
		}
		if next != seq {
			end()
			seq, now = next, release{place: fmt.Sprintf("%s/%s@%s", author, name, version), digest: digest}
		}
		if !path.Valid {
			return nil
		}
		if at.Valid && size.Int64 != int64(len(data)) {
			c.fault("file.size", now.place+" "+path.String, "the file has %d bytes, it says %d", len(data), size.Int64)
		}
		now.files = append(now.files, pack.File{Path: path.String, Data: data})
		return nil
	}, `SELECT r.seq, s.author, s.name, r.version, r.digest, f.path, f.size, c.id, c.data FROM releases r
  JOIN skills s ON s.id = r.skill
  LEFT JOIN release_files f ON f.release = r.seq
  LEFT JOIN contents c ON c.sha256 = f.sha256
  ORDER BY r.seq, f.path`)
	end()
	return err
}

func (c *checker) lifecycle() error {
	return errors.Join(
		c.found("skill.active", "the skill has more than one active release", `SELECT s.author || '/' || s.name FROM releases r
  JOIN skills s ON s.id = r.skill WHERE r.status = 'active' GROUP BY s.id, s.author, s.name HAVING count(*) > 1`),
		c.found("release.tenant", "the release is in another tenant than its skill", `SELECT s.author || '/' || s.name || '@' || r.version
  FROM releases r JOIN skills s ON s.id = r.skill WHERE r.tenant <> s.tenant`),
		c.found("release.approval", "the active release was approved by nobody", `SELECT s.author || '/' || s.name || '@' || r.version
  FROM releases r JOIN skills s ON s.id = r.skill WHERE r.status = 'active' AND r.approved_at IS NULL`),
	)
}

// search compares what is searched with what is active.
func (c *checker) search() error {
	tables, err := c.tables()
	if err != nil || !slices.Contains(tables, "search_docs") {
		return err // an older schema: migrating it makes them
	}
	return errors.Join(
		c.found("search.stale", "the search knows a release that is not active", `SELECT s.author || '/' || s.name || '@' || r.version
  FROM search_docs d JOIN releases r ON r.seq = d.release JOIN skills s ON s.id = r.skill WHERE r.status <> 'active' AND d.data IS NOT NULL`),
		c.found("search.missing", "the search does not know the active release", `SELECT s.author || '/' || s.name || '@' || r.version
  FROM releases r JOIN skills s ON s.id = r.skill
  WHERE r.status = 'active' AND NOT EXISTS (SELECT 1 FROM search_docs d WHERE d.release = r.seq AND d.tenant = r.tenant AND d.data IS NOT NULL)`),
		c.found("search.change", "the search has a change that was not counted: servers may not see it", `SELECT 'tenant ' || d.tenant
  FROM search_docs d LEFT JOIN search_changes c ON c.tenant = d.tenant
  GROUP BY d.tenant, c.change HAVING c.change IS NULL OR max(d.change) > c.change`),
	)
}

func (c *checker) unused() error {
	where, err := c.unreferenced()
	if err != nil {
		return err
	}
	_, err = one(all(c.session, func(rows *sql.Rows) (struct{}, error) {
		return struct{}{}, rows.Scan(&c.report.Unreferenced, &c.report.UnreferencedBytes)
	}, "SELECT count(*), coalesce(sum(length(data)), 0) FROM contents WHERE "+where))
	return err
}

// Collected is what Collect removed.
type Collected struct {
	Contents int
	Bytes    int64
}

// Collect removes contents that nothing refers to and that came before a time. A
// push stores its contents in the transaction that refers to them, and Collect is
// one such transaction too, so a content that is in no use then is in no use by
// anybody; the time is a grace for who looks for a content that went missing.
func Collect(ctx context.Context, p Place, before time.Time) (Collected, error) {
	var out Collected
	err := p.inSession(ctx, func(s *session) (err error) {
		where, err := s.unreferenced()
		if err != nil {
			return err
		}
		if err := s.control(s.is.beginWrite); err != nil {
			return err
		}
		done := false
		defer func() {
			if !done {
				err = errors.Join(err, s.control("ROLLBACK"))
			}
		}()
		if s.is.beginCheck != nil {
			if err := s.is.beginCheck(s); err != nil {
				return err
			}
		}
		sizes, err := all(s, func(rows *sql.Rows) (n int64, err error) { return n, rows.Scan(&n) },
			"DELETE FROM contents WHERE added_at < ? AND "+where+" RETURNING length(data)", micros(before))
		if err != nil {
			return err
		}
		if err := s.control("COMMIT"); err != nil {
			return err
		}
		done = true
		for _, n := range sizes {
			out.Contents, out.Bytes = out.Contents+1, out.Bytes+n
		}
		return nil
	})
	return out, err
}
