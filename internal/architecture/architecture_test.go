package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kortecx/kx"

// floors is the house of design.md from the ground up. A floor has one or more
// wings; a wing is a row of ranks from left to right; rooms of one rank do not
// know each other. A room may import every lower floor, and the ranks to its left
// in its own wing.
var floors = []struct {
	name  string
	wings [][][]string
}{
	{"0 ground", [][][]string{{
		{"internal/quietterm", "internal/sorting", "internal/workers"},
		{"internal/strictjson", "internal/yamledit", "internal/fsx", "internal/termtext", "internal/translog"},
		{"internal/report"},
		{"pack", "hubapi", "internal/sarif", "internal/markdown"},
	}}},
	{"1 judge, make, vouch", [][][]string{{
		{"scan", "sign", "grant"},
		{"conformance"},
		{"scaffold"},
	}}},
	{"2 keep and deliver", [][][]string{
		{{"hub/search", "hub/sqlstore/pgdriver"}, {"hub"}, {"hub/sqlstore", "hub/webhook", "hub/embed", "hub/httpapi", "hub/mcpapi", "hub/grpcapi", "hub/webui", "hub/storetest"}, {"tools"}},
		{{"hubclient"}, {"source", "snapshot", "kazmaload"}, {"accept"}, {"deliver"}},
	}},
	{"3 use", [][][]string{{{"app"}, {"delegation"}}}},
	{"4 faces", [][][]string{{
		{"internal/cli"},
		{"wizard"},
		{"cmd/kx", "cmd/kazma"},
	}}},
}

// testOnly rooms hold tests and may import anything.
var testOnly = []string{"internal/architecture", "internal/scripttest", "internal/pgtest", "internal/nodetest", "internal/stracetest", "internal/timetest", "internal/memtest"}

type place struct{ floor, wing, rank int }

func placeOf(room string) (place, bool) {
	for f, floor := range floors {
		for w, wing := range floor.wings {
			for r, rank := range wing {
				if slices.Contains(rank, room) {
					return place{f, w, r}, true
				}
			}
		}
	}
	return place{}, false
}

// mayImport says why from may not import to; empty when it may.
func mayImport(from, to string) string {
	a, ok := placeOf(from)
	if !ok {
		return fmt.Sprintf("%s has no place in the house: add it to floors in this test, and to design and ARCHITECTURE.md", from)
	}
	b, ok := placeOf(to)
	switch {
	case !ok:
		return fmt.Sprintf("%s has no place in the house", to)
	case b.floor > a.floor:
		return fmt.Sprintf("floor %q is above floor %q: what a lower room needs from above is an interface that it declares and a face wires", floors[b.floor].name, floors[a.floor].name)
	case b.floor < a.floor:
		return ""
	case b.wing != a.wing:
		return fmt.Sprintf("%s and %s live in different wings of floor %q: a client must work without the server's code, and a server without the client's", from, to, floors[a.floor].name)
	case b.rank >= a.rank:
		return fmt.Sprintf("%s is not to the left of %s on floor %q", to, from, floors[a.floor].name)
	}
	return ""
}

// libraries names the only rooms that may use a library, and why. A key is the
// import path or the beginning of it.
var libraries = map[string]struct {
	rooms  []string
	reason string
}{
	"github.com/urfave/cli/v3":               {[]string{"internal/cli"}, "only the face knows how arguments are parsed"},
	"golang.org/x/term":                      {[]string{"internal/cli", "wizard"}, "only faces know terminals"},
	"modernc.org/sqlite":                     {[]string{"hub/sqlstore"}, "only the store knows the database"},
	"database/sql":                           {[]string{"hub/sqlstore", "hub/sqlstore/pgdriver", "hub/storetest", "internal/pgtest"}, "only the store knows the database"},
	"github.com/jackc/pgx/":                  {[]string{"hub/sqlstore", "hub/sqlstore/pgdriver", "internal/pgtest"}, "only the store knows the database"},
	"github.com/jackc/pgx/v5/pgtype":         {nil, pgxCodecs},
	"github.com/jackc/pgx/v5/pgxpool":        {nil, pgxCodecs},
	"github.com/jackc/pgx/v5/stdlib":         {[]string{"internal/pgtest"}, pgxCodecs},
	"github.com/gofrs/flock":                 {[]string{"hub/sqlstore"}, "only the store locks its directory"},
	"github.com/go-json-experiment/json":     {[]string{"internal/strictjson"}, "one place decodes strictly"},
	"go.yaml.in/yaml/v4":                     {[]string{"internal/yamledit"}, "one place decodes strictly"},
	"filippo.io/":                            {[]string{"sign"}, "cryptography lives in one room"},
	"golang.org/x/crypto":                    {[]string{"sign"}, "cryptography lives in one room"},
	"crypto/hmac":                            {[]string{"sign"}, "cryptography lives in one room"},
	"crypto/ed25519":                         {[]string{"sign", "internal/translog"}, "cryptography lives in one room; a log's checkpoints are notes, signed where their format is known"},
	"golang.org/x/mod/":                      {[]string{"internal/translog"}, "one room knows how a log is hashed and signed, for hub and client alike"},
	"github.com/zeebo/blake3":                {[]string{"pack"}, "identities are computed where the format is known"},
	"github.com/santhosh-tekuri/jsonschema/": {nil, "its initialiser costs 5 ms on every start: tests only"},
	"github.com/owenrumney/go-sarif/":        {nil, "tests only"},
	"github.com/rogpeppe/go-internal/":       {[]string{"internal/scripttest"}, "tests only"},
	"github.com/yuin/goldmark":               {[]string{"hub/webui", "internal/markdown"}, "Markdown is rendered in two rooms: for pages, and for terminals"},
	"html/template":                          {[]string{"hub/webui"}, "only pages are HTML"},
	"github.com/modelcontextprotocol/":       {[]string{"hub/mcpapi", "tools"}, "two rooms speak MCP: the hub's face, and the client of other servers"},
	"github.com/go-git/":                     {[]string{"source"}, "one room fetches from git"},
	"github.com/charmbracelet/":              {[]string{"wizard"}, "one room draws on the whole terminal"},
	"github.com/danielgtaylor/huma/":         {nil, "tests only: it describes the wire types"},
	"github.com/chromedp/":                   {nil, "tests only"},
	"github.com/creack/pty":                  {nil, "tests only"},
	"github.com/google/go-cmp/":              {nil, "tests only"},
	"pgregory.net/rapid":                     {[]string{"hub/storetest"}, "tests only"},
	"testing":                                {[]string{"hub/storetest", "internal/scripttest", "internal/pgtest", "internal/nodetest", "internal/stracetest", "internal/timetest", "internal/memtest"}, "tests only"},
	"os/exec":                                {[]string{"internal/scripttest", "internal/nodetest", "internal/stracetest", "source"}, "nothing that kx reads may start a program; source runs the user's git when asked"},
	"unsafe":                                 {nil, "no room needs it"},
	"net/http/pprof":                         {nil, "it registers itself on the default mux"},
}

// whole libraries are those of which a program may have packages and not the root, which
// the prefixes of libraries cannot say.
var whole = map[string]string{"github.com/jackc/pgx/v5": pgxCodecs}

const pgxCodecs = "it brings a codec for every type of PostgreSQL, 3 MB of a program that may have 32: pgconn is enough for hub/sqlstore/pgdriver"

// surroundings are the process's own clock, streams, environment and exit, which
// come in through internal/cli's Env and nowhere else.
var surroundings = map[string][]string{
	"time": {"Now", "Since", "Until"},
	"os":   {"Getenv", "LookupEnv", "Environ", "Exit", "Stdin", "Stdout", "Stderr", "Args", "Getwd", "UserHomeDir"},
	"fmt":  {"Print", "Printf", "Println"},
	"log":  {"Print", "Printf", "Println", "Fatal", "Fatalf"},
}

// mayLookOut are the files that hand the surroundings in.
var mayLookOut = []string{"internal/cli/env.go", "cmd/kx/main.go", "cmd/kazma/main.go", "internal/quietterm/quietterm.go"}

type source struct {
	path string // relative to the module, "/" separated
	room string
	file *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var out []source
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		base := entry.Name()
		if entry.IsDir() && rel != "." && (base[0] == '.' || base == "testdata" || rel == "tools" || base == "templates") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, source{path: rel, room: path.Dir(rel), file: file})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("only %d source files found below %s: the test looks in the wrong place", len(out), root)
	}
	return out
}

func imports(s source) []string {
	var out []string
	for _, spec := range s.file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		out = append(out, name)
	}
	return out
}

func TestRoomsImportOnlyLowerFloorsAndTheLeft(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains(testOnly, s.room) {
			continue
		}
		for _, name := range imports(s) {
			to, ok := strings.CutPrefix(name, module+"/")
			if !ok {
				continue
			}
			if slices.Contains(testOnly, to) {
				t.Errorf("%s imports %s: that room is for tests only", s.path, to)
			} else if why := mayImport(s.room, to); why != "" {
				t.Errorf("%s imports %s: %s", s.path, to, why)
			}
		}
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	for _, s := range sources(t) {
		for _, name := range imports(s) {
			if reason, ok := whole[name]; ok {
				t.Errorf("%s imports %s: %s", s.path, name, reason)
			}
			for key, rule := range libraries {
				if name != key && !(strings.HasPrefix(name, key) && (strings.HasSuffix(key, "/") || name[len(key)] == '/')) {
					continue
				}
				if !slices.Contains(rule.rooms, s.room) {
					t.Errorf("%s imports %s: %s (allowed in %v)", s.path, name, rule.reason, rule.rooms)
				}
			}
		}
	}
}

func TestSurroundingsComeFromOutside(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains(mayLookOut, s.path) || slices.Contains(testOnly, s.room) || s.room == "hub/storetest" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if ok && pkg.Obj == nil && slices.Contains(surroundings[pkg.Name], sel.Sel.Name) {
				t.Errorf("%s uses %s.%s: clock, streams, environment and exit come in through internal/cli.Env, so that tests need no globals", s.path, pkg.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

func TestQuiettermImportsOsAlone(t *testing.T) {
	for _, s := range sources(t) {
		if s.room == "internal/quietterm" && !slices.Equal(imports(s), []string{"os"}) {
			t.Errorf("%s imports %v: with anything but os it is initialised after the library that it has to silence", s.path, imports(s))
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.room] = documented[s.room] || (s.file.Doc != nil && len(s.file.Doc.Text()) > 80)
	}
	for room, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment that says what it is, what it is not and what to call first", room)
		}
	}
}

// The test of the test: each kind of breach is seen and its reason is given.
func TestABreachIsNamedWithItsReason(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"pack", "sign", "above"},
		{"hubclient", "hub", "different wings"},
		{"hub", "hub/sqlstore", "not to the left"},
		{"sign", "grant", "not to the left"},
		{"nowhere", "pack", "no place"},
		{"deliver", "hubclient", ""},
		{"internal/cli", "hub/sqlstore", ""},
	} {
		if got := mayImport(tt.from, tt.to); (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("mayImport(%s, %s) = %q, want a reason with %q", tt.from, tt.to, got, tt.want)
		}
	}
}
