package sqlstore

import (
	"context"
	"database/sql"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// Named is something in a hub that a person can name.
type Named struct {
	Text string // as it is typed
	Does string // what it is, in a few words
}

// Names reads from a database what completion offers. It takes no lock of the
// directory, migrates nothing and changes nothing, so it may run beside a server; the
// rules of who may see what are not applied: ask for what the owner of the database
// asks for.
type Names struct {
	Place  Place
	Tenant string
	Limit  int // of what one question gives; at most maxNames
}

const maxNames = 1000

// Releases gives the skills with a release in one of the statuses whose reference
// begins with typed, ascending: NAME, AUTHOR/NAME where typed has a slash, and with the
// version where it has an @.
func (n Names) Releases(ctx context.Context, typed string, statuses ...hubapi.Status) ([]Named, error) {
	author, name, slash := strings.Cut(typed, "/")
	if !slash {
		author, name = "", typed
	}
	name, version, at := strings.Cut(name, "@")
	where, args := `s.tenant = ? AND s.name >= ? AND s.name < ?`, []any{n.Tenant, name, name + "\x7f"}
	if at {
		where, args = `s.tenant = ? AND s.name = ?`, []any{n.Tenant, name}
	}
	if author != "" {
		where, args = where+` AND s.author = ?`, append(args, author)
	}
	marks := make([]string, len(statuses))
	for i, status := range statuses {
		marks[i], args = "?", append(args, string(status))
	}
	return n.ask(ctx, func(rows *sql.Rows) (Named, error) {
		var by, called, of, status, summary string
		if err := rows.Scan(&by, &called, &of, &status, &summary); err != nil {
			return Named{}, err
		}
		named := Named{Text: called, Does: summary}
		if hubapi.Status(status) != hubapi.Active {
			named.Does = status + ": " + summary
		}
		if slash {
			named.Text = by + "/" + called
		}
		if at {
			named.Text += "@" + of
			if !strings.HasPrefix(of, version) {
				named.Text = ""
			}
		}
		return named, nil
	}, `SELECT s.author, s.name, r.version, r.status, r.summary FROM skills s JOIN releases r ON r.skill = s.id
WHERE `+where+` AND r.status IN (`+strings.Join(marks, ", ")+`) ORDER BY s.name, r.seq DESC LIMIT ?`, args...)
}

// Catalog gives the names in one principal's catalog.
func (n Names) Catalog(ctx context.Context, principal string) ([]Named, error) {
	return n.ask(ctx, twoTexts, `SELECT name, description FROM catalog WHERE tenant = ? AND principal = ? ORDER BY name LIMIT ?`, n.Tenant, principal)
}

// Nodes gives the ids of the machines that have reported.
func (n Names) Nodes(ctx context.Context) ([]Named, error) {
	return n.ask(ctx, twoTexts, `SELECT id, name FROM nodes WHERE tenant = ? ORDER BY id LIMIT ?`, n.Tenant)
}

// Keys gives the ids of the keys of every tenant.
func (n Names) Keys(ctx context.Context) ([]Named, error) {
	return n.ask(ctx, twoTexts, `SELECT id, role || ' of ' || tenant || ' ' || name FROM keys ORDER BY id LIMIT ?`)
}

// Tenants gives their ids.
func (n Names) Tenants(ctx context.Context) ([]Named, error) {
	return n.ask(ctx, twoTexts, `SELECT id, '' FROM tenants ORDER BY id LIMIT ?`)
}

func twoTexts(rows *sql.Rows) (v Named, err error) {
	err = rows.Scan(&v.Text, &v.Does)
	return v, err
}

// ask gives each text once.
func (n Names) ask(ctx context.Context, scan func(*sql.Rows) (Named, error), query string, args ...any) (out []Named, err error) {
	limit := n.Limit
	if limit <= 0 || limit > maxNames {
		limit = maxNames
	}
	err = n.Place.inSession(ctx, func(s *session) error {
		found, err := all(s, scan, query, append(args, limit)...)
		for _, v := range found {
			if v.Text != "" && (len(out) == 0 || out[len(out)-1].Text != v.Text) {
				out = append(out, v)
			}
		}
		return err
	})
	return out, err
}
