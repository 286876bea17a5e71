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
// editors and other programs; the readers do not use them. They accept documents
// whose only fault JSON Schema has no words for, such as a duplicate key or a size
// in bytes. Those of the YAML formats refuse unquoted numbers and the like where
// text is meant, which the readers only remark on.
func Schema(name string) ([]byte, bool) {
	if strings.ContainsAny(name, `/\`) {
		return nil, false
	}
	data, err := schemaFiles.ReadFile(schemaFolder + "/" + name + ".json")
	return data, err == nil
}
