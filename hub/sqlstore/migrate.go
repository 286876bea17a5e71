package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one step of the schema. Its text never changes once released: the
// sum of what was applied is kept in the database and compared.
type migration struct {
	number int
	name   string
	text   string
	sum    string
}

func (d *dialect) migrations() ([]migration, error) { return readMigrations(migrationFiles, d) }

// readMigrations reads NNNN_name.DIALECT.sql in order, without gaps.
func readMigrations(files fs.FS, d *dialect) ([]migration, error) {
	entries, err := fs.ReadDir(files, "migrations")
	if err != nil {
		return nil, err
	}
	var out []migration
	for _, entry := range entries {
		base, ok := strings.CutSuffix(entry.Name(), "."+d.name+".sql")
		if !ok {
			continue
		}
		digits, name, _ := strings.Cut(base, "_")
		number, err := strconv.Atoi(digits)
		if err != nil || len(digits) != 4 || number != len(out)+1 {
			return nil, fmt.Errorf("migration %s is not number %04d", entry.Name(), len(out)+1)
		}
		data, err := fs.ReadFile(files, "migrations/"+entry.Name())
		if err != nil {
			return nil, err
		}
		// A checkout may have changed the line ends.
		text := strings.ReplaceAll(string(data), "\r\n", "\n")
		sum := sha256.Sum256([]byte(text))
		out = append(out, migration{number: number, name: name, text: text, sum: hex.EncodeToString(sum[:])})
	}
	return out, nil
}

// migrate brings the schema to the last step, one transaction for each, or
// refuses a history that is not ours. Steps are applied alone: two servers that
// start over one database wait for each other.
func (d *dialect) migrate(ctx context.Context, conn *sql.Conn, steps []migration, now func() time.Time) error {
	for {
		done, err := d.migrateOne(ctx, conn, steps, now)
		if done || err != nil {
			return err
		}
	}
}

func (d *dialect) migrateOne(ctx context.Context, conn *sql.Conn, steps []migration, now func() time.Time) (done bool, err error) {
	if _, err := conn.ExecContext(ctx, d.beginWrite); err != nil {
		return false, err
	}
	defer func() {
		if done || err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	if _, err := conn.ExecContext(ctx, d.createMigrations); err != nil {
		return false, err
	}
	applied, err := history(ctx, conn, steps)
	if err != nil {
		return false, err
	}
	if len(applied) == len(steps) {
		return true, nil
	}
	step := steps[len(applied)]
	if _, err := conn.ExecContext(ctx, step.text); err != nil {
		return false, fmt.Errorf("migration %04d_%s: %w", step.number, step.name, err)
	}
	if _, err := conn.ExecContext(ctx, d.rewrite("INSERT INTO migrations (number, name, sha256, applied_at) VALUES (?, ?, ?, ?)"),
		step.number, step.name, step.sum, micros(now())); err != nil {
		return false, err
	}
	for _, statement := range d.markSchema(step.number) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return false, err
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return false, err
}

// history gives when each step was applied, if what was applied are the first of
// steps.
func history(ctx context.Context, conn *sql.Conn, steps []migration) (applied []time.Time, err error) {
	rows, err := conn.QueryContext(ctx, "SELECT number, name, sha256, applied_at FROM migrations ORDER BY number")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var number int
		var name, sum string
		var at int64
		if err := rows.Scan(&number, &name, &sum, &at); err != nil {
			return nil, err
		}
		switch {
		case number > len(steps):
			return nil, hubapi.Errorf(hubapi.Precondition, "the hub's database has schema %d, which is newer than this program's %d", number, len(steps)).
				WithHint("use the newer kx that wrote it")
		case number != len(applied)+1 || sum != steps[len(applied)].sum:
			return nil, hubapi.Errorf(hubapi.Precondition, "the hub's database was built by a migration %04d_%s that this program does not have", number, name).
				WithHint("use the kx that wrote it, or restore a backup")
		}
		applied = append(applied, fromMicros(at))
	}
	return applied, rows.Err()
}
