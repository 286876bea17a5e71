package scaffold

import (
	"path/filepath"
	"sort"

	"github.com/kortecx/kx/pack"
)

// Connector is what NewConnector wrote.
type Connector struct {
	Path  string   `json:"path"`  // of the folder
	Tool  string   `json:"tool"`  // what a skill wishes for
	Files []string `json:"files"` // in it, ascending
}

// connectorFiles are the templates of a connector and what they become. Go would
// take a folder with a go.mod for a module of its own, so they end in .txt here.
var connectorFiles = map[string]string{
	"README.md": "README.md", "go.mod.txt": "go.mod", "go.sum.txt": "go.sum", "main.go.txt": "main.go", "main_test.go.txt": "main_test.go",
}

// NewConnector writes a small MCP server in Go, with a test, into dir/name: skills
// wish for the tools of connectors, so whoever writes a skill for a system that has
// none needs one. The folder may exist when it is empty, and appears whole or not at
// all. It builds and passes its test without asking any registry for what is newer.
func NewConnector(name, dir string) (Connector, error) {
	if !kazmaName(name) {
		return Connector{}, refuse("name.grammar", "connector name "+strictQuote(name)+" is not a small letter followed by small letters, digits and -",
			"it becomes a program, a Go module and the first part of tool ids, such as weather")
	}
	if fault := pack.CheckPath(name); fault != nil {
		return Connector{}, refuse("name.portable", fault.Text, "choose a name that can be a folder on every system")
	}
	tool := name + "/count-words"
	if e := pack.ValidToolID(tool); e != nil {
		return Connector{}, e
	}
	if dir == "" {
		dir = "."
	}
	out := Connector{Path: filepath.Join(dir, name), Tool: tool + "@1"}
	var files []pack.File
	for template, path := range connectorFiles {
		file := fill("connector", template, Options{Name: name}, "")
		file.Path = path
		files, out.Files = append(files, file), append(out.Files, path)
	}
	sort.Strings(out.Files)
	return out, write(dir, name, files)
}
