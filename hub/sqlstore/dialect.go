package sqlstore

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/kortecx/kx/hubapi"
)

// dialect is what differs between the databases besides how they are opened.
// Statements are written once, for both:
//
//   - parameters are ?, never inside a text or a comment of the statement;
//   - a new row's number comes from RETURNING (see tx.insert);
//   - flags are Go bools, and stand alone in conditions (WHERE f, not f = 1);
//   - times are microseconds, sums are bytes, lists and maps are JSON texts;
//   - text is ordered by its bytes: columns of PostgreSQL are COLLATE "C".
//
// Schemas are written once for each, in migrations/NNNN_name.DIALECT.sql.
type dialect struct {
	name string // the one in the names of the migrations
	// rewrite turns our placeholders into the database's.
	rewrite func(query string) string
	// direct says that statements without parameters are sent as they are, in one
	// round trip, rather than prepared.
	direct bool
	// beginRead starts one unchanging view, beginWrite a transaction that is
	// alone.
	beginRead, beginWrite string
	createMigrations      string
	// markSchema notes the schema where the database itself has a place for it.
	markSchema func(number int) []string
	// intact says whether a connection can still be used.
	intact func(*sql.Conn) bool
	// again says that a transaction failed only because of others.
	again func(error) bool
	// failed says that an error is one of the disk that we write to.
	failed func(error) bool
	// listTables names the ordinary tables, listReferences gives table, column
	// and what they refer to.
	listTables, listReferences string
	// listColumns gives the columns of a table that can be written, and whether
	// they are flags.
	listColumns  string
	databaseSize string
	// beginCheck looks at a transaction that has begun; nil looks at nothing.
	beginCheck func(*session) error
}

var sqliteDialect = &dialect{
	name:       "sqlite",
	rewrite:    func(query string) string { return query },
	beginRead:  "BEGIN",
	beginWrite: "BEGIN IMMEDIATE",
	createMigrations: `CREATE TABLE IF NOT EXISTS migrations (
  number     INTEGER NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL,
  sha256     TEXT    NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`,
	listTables: `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`,
	listReferences: `SELECT m.name, f."from", f."table", f."to" FROM sqlite_schema m
  JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' ORDER BY m.name, f.id`,
	databaseSize: "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
	listColumns:  "SELECT name, 0 FROM pragma_table_info(?) ORDER BY cid",
	markSchema: func(number int) []string {
		return []string{
			fmt.Sprintf("PRAGMA application_id = %d", applicationID),
			fmt.Sprintf("PRAGMA user_version = %d", number),
		}
	},
	intact: func(*sql.Conn) bool { return true },
	again:  func(error) bool { return false },
	failed: func(err error) bool { return code(err)&0xff == sqlite3.SQLITE_IOERR },
}

// numbered turns ? into $1, $2, … outside of texts, names in quotes and comments.
func numbered(query string) string {
	if !strings.Contains(query, "?") {
		return query
	}
	var out strings.Builder
	n := 0
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '?':
			n++
			out.WriteByte('$')
			out.WriteString(strconv.Itoa(n))
			continue
		case c == '\'' || c == '"':
			end := strings.IndexByte(query[i+1:], c)
			if end < 0 {
				end = len(query) - i - 2
			}
			out.WriteString(query[i : i+end+2])
			i += end + 1
			continue
		case c == '-' && strings.HasPrefix(query[i:], "--"):
			end := strings.IndexByte(query[i:], '\n')
			if end < 0 {
				end = len(query) - i
			}
			out.WriteString(query[i : i+end])
			i += end - 1
			continue
		}
		out.WriteByte(query[i])
	}
	return out.String()
}

// storable says whether a database keeps every text among args as it is:
// PostgreSQL has no NUL in a text and nothing that is not UTF-8, and both
// databases are to agree.
func storable(args []any) bool {
	for _, arg := range args {
		if text, ok := arg.(string); ok && (strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text)) {
			return false
		}
	}
	return true
}

func notStorable() error {
	return hubapi.Errorf(hubapi.Invalid, "a text holds NUL or is not UTF-8: the hub cannot keep it")
}
