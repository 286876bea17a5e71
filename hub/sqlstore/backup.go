package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// Backup writes everything that the hub there keeps to file, as of one moment, and
// looks at it again with Fsck. It may run beside servers. The file is a SQLite
// database whichever database it came from, so that Restore can put it into
// either. It must not exist; when Backup fails there is none.
func Backup(ctx context.Context, p Place, file string, o Options) (Report, error) {
	report, err := backup(ctx, p, file, o)
	return report, storeError(err)
}

func backup(ctx context.Context, p Place, file string, o Options) (report Report, err error) {
	if err := mustBeNew(file); err != nil {
		return report, err
	}
	root, err := fsx.Open(filepath.Dir(file))
	if err != nil {
		return report, err
	}
	stage := fsx.StageName()
	defer func() { err = errors.Join(err, root.RemoveAll(stage), root.Close()) }()
	// What a backup that was killed left here goes with the next one.
	if err := errors.Join(fsx.SweepStaged(root, "."), root.MkdirAll(stage, 0o700)); err != nil {
		return report, err
	}
	temp := filepath.Join(filepath.Dir(file), stage)
	partial := filepath.Join(temp, databaseFile)
	if p.URL == "" {
		err = vacuumInto(ctx, p, partial)
	} else {
		err = export(ctx, p, temp, o)
	}
	if err != nil {
		return report, err
	}
	if report, err = Fsck(ctx, Place{Dir: temp}); err != nil {
		return report, err
	}
	if err = syncFile(partial); err == nil {
		err = root.RenameNew(stage+"/"+databaseFile, filepath.Base(file))
	}
	if err != nil {
		return report, errors.Join(mustBeNew(file), err)
	}
	return report, syncDir(filepath.Dir(file))
}

func mustBeNew(file string) error {
	if _, err := os.Lstat(file); err == nil {
		return hubapi.Errorf(hubapi.Conflict, "%s is there already", file).WithHint("name a new file")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func vacuumInto(ctx context.Context, p Place, file string) error {
	// SQLite takes an empty file, and so its mode.
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return p.inSession(ctx, func(s *session) error {
		_, err := s.conn.ExecContext(ctx, "VACUUM INTO ?", file)
		return err
	})
}

// export copies a PostgreSQL database into a new SQLite one in dir.
func export(ctx context.Context, from Place, dir string, o Options) error {
	if err := newSchema(ctx, Place{Dir: dir}, o); err != nil {
		return err
	}
	return from.inView(ctx, func(source *session) error {
		if err := upToDate(ctx, source); err != nil {
			return err
		}
		return Place{Dir: dir}.inSession(ctx, func(target *session) error {
			if _, err := target.conn.ExecContext(ctx, "PRAGMA journal_mode = DELETE"); err != nil {
				return err
			}
			return copyAll(ctx, source, target)
		})
	})
}

func upToDate(ctx context.Context, s *session) error {
	steps, err := s.is.migrations()
	if err != nil {
		return err
	}
	applied, err := s.applied(ctx, steps)
	if err == nil && len(applied) < len(steps) {
		err = hubapi.Errorf(hubapi.Precondition, "the database has schema %d, this program's is %d", len(applied), len(steps)).
			WithHint("kx hub migrate")
	}
	return err
}

// newSchema makes the database there, or brings its schema up to date.
func newSchema(ctx context.Context, p Place, o Options) error {
	s, err := OpenPlace(ctx, p, o)
	if err != nil {
		return err
	}
	return s.Close()
}

// Restore puts the hub that Backup wrote to file into a place that has none: a
// directory that is not there or is empty, or a PostgreSQL database without a hub's
// data. What it restored passed Fsck; when the report has faults, or on an error,
// nothing is left behind.
func Restore(ctx context.Context, file string, p Place, o Options) (Report, error) {
	report, err := restore(ctx, file, p, o)
	return report, storeError(err)
}

func restore(ctx context.Context, file string, p Place, o Options) (report Report, err error) {
	dir, ours := p.Dir, false
	if p.URL != "" {
		if dir, err = os.MkdirTemp("", "kx-restore-"); err != nil {
			return report, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else {
		var made bool
		if made, err = newDir(dir); err != nil {
			return report, err
		}
		defer func() {
			if err != nil || len(report.Faults) > 0 {
				err = errors.Join(err, emptyDir(dir, made, ours))
			}
		}()
	}
	target := filepath.Join(dir, databaseFile)
	if ours, err = copyBackup(target, file); err != nil {
		if _, full := newDir(dir); full != nil && !ours { // another restore was faster
			err = full
		}
		return report, err
	}
	if report, err = Fsck(ctx, Place{Dir: dir}); err != nil || len(report.Faults) > 0 {
		return report, err
	}
	// The schema may be an older one; one that is newer is refused.
	if err := newSchema(ctx, Place{Dir: dir}, o); err != nil {
		return report, err
	}
	if p.URL == "" {
		return report, errors.Join(syncFile(target), syncDir(dir), syncDir(filepath.Dir(dir)))
	}
	if err := importAll(ctx, Place{Dir: dir}, p, o); err != nil {
		return report, err
	}
	return Fsck(ctx, p)
}

// newDir makes dir and says whether it was not there; an empty one will do.
func newDir(dir string) (made bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, os.MkdirAll(dir, 0o700)
	case err != nil:
		return false, err
	case len(entries) > 0:
		return false, hubapi.Errorf(hubapi.Conflict, "%s is not empty", dir).WithHint("restore into a new directory")
	}
	return false, nil
}

// emptyDir takes back what a restore has put into its new directory; nothing where the
// database is not ours but that of another restore, which was faster.
func emptyDir(dir string, made, ours bool) error {
	var errs []error
	for _, name := range []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm", databaseFile + "-journal", lockFile} {
		if !ours {
			break
		}
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if made {
		_ = os.Remove(dir) // it stays where something is in it
	}
	return errors.Join(errs...)
}

// copyBackup copies the backup in source to target, and says whether it made target. What
// is none is refused by its own name before anything is written; a pipe is not waited for.
func copyBackup(target, source string) (made bool, err error) {
	seen, err := os.Stat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return false, hubapi.Errorf(hubapi.NotFound, "there is no file %s", source)
	}
	if err != nil {
		return false, err
	}
	none := hubapi.Errorf(hubapi.Precondition, "%s is not a backup of a hub", source).WithHint("name a file that kx hub backup wrote")
	if !seen.Mode().IsRegular() {
		return false, none
	}
	in, err := os.Open(source)
	if err != nil {
		return false, err
	}
	defer in.Close()
	header := make([]byte, 100)
	if n, err := in.ReadAt(header, 0); ignore(err, io.EOF) != nil || !isHub(header[:n]) {
		return false, none
	}
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(out, in)
	return true, errors.Join(err, out.Sync(), out.Close())
}

func syncFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir makes the names in dir durable, where the system can.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = f.Sync() // Windows has no such thing
	return f.Close()
}

// importAll copies a SQLite database into a PostgreSQL one without a hub's data.
func importAll(ctx context.Context, from, to Place, o Options) error {
	if err := newSchema(ctx, to, o); err != nil {
		return err
	}
	return from.inView(ctx, func(source *session) error {
		return to.inSession(ctx, func(target *session) (err error) {
			if err := target.control(target.is.beginWrite); err != nil {
				return err
			}
			defer func() {
				if err != nil {
					err = errors.Join(err, target.control("ROLLBACK"))
				}
			}()
			for _, table := range []string{"skills", "audit", "catalog", "contents"} {
				n, err := one(all(target, scanInt, "SELECT count(*) FROM "+table))
				if err != nil {
					return err
				}
				if n > 0 {
					return hubapi.Errorf(hubapi.Conflict, "the database has a hub's data already: %d rows of %s", n, table).
						WithHint("restore into a new database")
				}
			}
			if err := copyAll(ctx, source, target); err != nil {
				return err
			}
			if err := continueSequences(target); err != nil {
				return err
			}
			return target.control("COMMIT")
		})
	})
}

// continueSequences lets new rows be numbered behind those that were copied.
func continueSequences(s *session) error {
	sequences, err := texts(s, `SELECT 'SELECT setval(pg_get_serial_sequence(''' || table_name || ''', ''' || column_name || '''), greatest(max(' || column_name || '), 1), max(' || column_name || ') IS NOT NULL) FROM ' || table_name
  FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES'`)
	if err != nil {
		return err
	}
	for _, statement := range sequences {
		if err := s.control(statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
