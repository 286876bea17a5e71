package pack

// KazmaManifest is a skill_manifest.yaml. Scalars are kept as the text that was
// written; of unknown keys only the names are here.
type KazmaManifest struct {
	Name                string
	Version             string
	Description         string
	Author              string
	License             string
	EntryPoint          string // as written: module:Class or file.py; empty when absent
	EntryFile           string // the pack file that EntryPoint resolves to; main.py when absent; empty without either
	Class               string // the part behind the colon, empty without one
	Capabilities        []string
	Permissions         []string // list form, or the "required" part of the map form
	OptionalPermissions []string // the "optional" part of the map form
	Tags                []string
	MCPServers          []MCPServer
	MinCoreVersion      string
	Checksum            string   // 64 lower-case hex digits or empty
	Signature           string   // 64 lower-case hex digits or empty; never without Checksum
	Certified           bool     // what the manifest says of itself; nothing may trust it
	OtherKeys           []string // that Kazma does not know, as they stand
}

// MCPServer is one entry of mcp_servers.
type MCPServer struct {
	Name string
	Type string // stdio, sse or streamable-http
}

// What the Kazma documentation asks manifests to stay below. The reference does
// not enforce it, so neither do we.
const (
	manyMCPServers   = 20
	manyCapabilities = 50
	manyTags         = 20
)

// kazmaKey tells whether the reference's validator knows a key of the manifest.
func kazmaKey(key string) bool {
	switch key {
	case "name", "version", "description", "author", "license", "entry_point", "capabilities", "permissions", "tags",
		"mcp_servers", "min_core_version", "checksum", "signature", "certified":
		return true
	}
	return false
}

// kazmaPermissions is the closed list of the reference's validator.
func kazmaPermission(name string) bool {
	switch name {
	case "file_read", "file_write", "network_outbound", "network_inbound",
		"camera_access", "mqtt_broker", "database_read", "database_write":
		return true
	}
	return false
}

// kazmaTransport is the closed list of MCP transports, spelt as the reference's
// validator spells them.
func kazmaTransport(name string) bool {
	switch name {
	case "stdio", "sse", "streamable-http":
		return true
	}
	return false
}
