package conformance

import (
	"embed"
	"sort"
	"strings"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

const schemaFolder = "schemas"

// SchemaNames lists the published JSON Schemas, ascending: the manifests, and the
// report that kx check prints.
func SchemaNames() []string {
	entries, err := schemaFiles.ReadDir(schemaFolder)
	if err != nil {
		// The folder is part of the program.
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	sort.Strings(names)
	return names
}

// Schema gives one published schema (draft 2020-12) by its name. Schemas are for
// editors and other programs: they accept some documents that the readers refuse,
// because duplicate keys, sizes in bytes and the authority rule have no words in
// JSON Schema, and refuse none that the readers accept.
func Schema(name string) ([]byte, bool) {
	if strings.ContainsAny(name, `/\`) {
		return nil, false
	}
	data, err := schemaFiles.ReadFile(schemaFolder + "/" + name + ".json")
	return data, err == nil
}
