package pack

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/yamledit"
)

// readKazma judges a folder with a skill_manifest.yaml. It is stricter than the
// reference where a value cannot be right (an empty name, a signature without
// checksum, an entry outside the pack) and says so where the reference only
// documents a limit.
func readKazma(t *tree) *Inspection {
	in := &Inspection{Format: Kazma, Name: t.name}
	data, _ := t.file(Kazma.ManifestFile())
	k := kazmaReader{yamlReader: yamlReader{file: Kazma.ManifestFile()}, tree: t}
	k.parse(data)
	if k.root != nil {
		k.read()
		if k.m.Name != "" {
			in.Name = k.m.Name
		}
	}
	k.modules()
	in.Faults, in.Warnings = k.faults, k.warnings
	if len(in.Faults) > 0 {
		return in
	}
	m := &k.m
	in.Pack = &Pack{
		Format: Kazma, Name: m.Name, Version: m.Version, Author: m.Author, Description: m.Description,
		Tags: m.Tags, Kazma: m, Files: t.files, Warnings: in.Warnings,
	}
	return in
}

type kazmaReader struct {
	yamlReader
	tree *tree
	m    KazmaManifest
}

// read goes through the keys in the reference's order: what must be there, the
// values of that, the entry, and then the rest.
func (k *kazmaReader) read() {
	required := []struct {
		key string
		to  *string
	}{
		{"name", &k.m.Name},
		{"version", &k.m.Version},
		{"description", &k.m.Description},
		{"author", &k.m.Author},
		{"license", &k.m.License},
	}
	for _, f := range required {
		if k.root.Get(f.key) == nil {
			k.missing(f.key)
		}
	}
	for _, f := range required {
		if v := k.root.Get(f.key); v != nil {
			*f.to = k.required(f.key, v)
		}
	}
	k.entry()
	k.permissions()
	k.servers()

	k.m.Capabilities = k.limited("capabilities", manyCapabilities)
	k.m.Tags = k.limited("tags", manyTags)
	if v := k.given("min_core_version"); v != nil {
		if text, ok := k.scalar("min-core-version", v, "/min_core_version"); ok {
			if !isKazmaVersion(text) {
				k.fault("min-core-version.semver", v, "/min_core_version",
					fmt.Sprintf("min_core_version %s is not three numbers such as 1.0.0", quoted(text)), "")
			}
			k.m.MinCoreVersion = text
		}
	}
	k.integrity()
	for i := range k.root.Entries {
		if key := k.root.Entries[i].Key; !kazmaKey(key) {
			k.m.OtherKeys = append(k.m.OtherKeys, key)
		}
	}
	if v := k.given("certified"); v != nil {
		switch strings.ToLower(v.Text) {
		case "false", "no", "off":
		default:
			k.m.Certified = true
			k.warn("kazma.certified-claim", v, "/certified", "the manifest says of itself that it is certified, which proves nothing",
				"a certification is a statement of a hub; verify the signature instead")
		}
	}
}

// required gives the text of a key that must say something.
func (k *kazmaReader) required(key string, v *yamledit.Value) string {
	pointer := "/" + key
	if v.Kind == yamledit.Sequence || v.Kind == yamledit.Map {
		k.scalar(key, v, pointer)
		return ""
	}
	if v.Kind == yamledit.Null || strings.TrimSpace(v.Text) == "" {
		k.fault(key+".empty", v, pointer, key+" is empty", "")
		return ""
	}
	switch {
	case key == "name" && !isKazmaName(v.Text):
		k.fault("name.charset", v, pointer,
			fmt.Sprintf("name %s must be a lower-case letter and then a-z, 0-9 or '-'", quoted(v.Text)), "")
		return ""
	case key == "version":
		if !isKazmaVersion(v.Text) {
			k.fault("version.semver", v, pointer, fmt.Sprintf("version %s is not three numbers such as 1.0.0", quoted(v.Text)), "")
		}
		return v.Text
	}
	if as := v.ReadsAs(); as != "" {
		k.fault(key+".type", v, pointer, fmt.Sprintf("%s %s is no text to readers of YAML: unquoted it is %s", key, quoted(v.Text), article(as)),
			quotedForm(key, v))
	}
	return v.Text
}

func article(as string) string {
	if as == "number" || as == "date" {
		return "a " + as
	}
	return as
}

// limited reads a list of texts with a documented limit.
func (k *kazmaReader) limited(key string, most int) []string {
	v := k.given(key)
	out := k.list(key, v, "/"+key)
	k.many(key, key, v, most)
	return out
}

func (k *kazmaReader) many(id, key string, v *yamledit.Value, most int) {
	if v != nil && len(v.Items) > most {
		k.warn(id+".many", v, "/"+key, fmt.Sprintf("%d %s; the Kazma documentation allows %d", len(v.Items), key, most), "")
	}
}

func (k *kazmaReader) entry() {
	v := k.given("entry_point")
	if v != nil && v.Kind == yamledit.Scalar && v.Text == "" {
		v = nil // what the reference takes for absent
	}
	if v == nil {
		if _, ok := k.tree.file("main.py"); ok {
			k.m.EntryFile = "main.py"
			return
		}
		k.warn("entry.none", k.start(), "/entry_point", "there is neither an entry_point nor a main.py, so nothing can load this skill",
			"add entry_point: module:ClassName")
		return
	}
	text, ok := k.scalar("entry", v, "/entry_point")
	if !ok {
		return
	}
	k.m.EntryPoint = text
	file, class, err := ResolveEntry(text)
	if err != nil {
		err.Place.Line, err.Place.Column = v.Line, v.Column
		k.faults = append(k.faults, err)
		return
	}
	if len(k.tree.faultsOf(file)) > 0 {
		return // it is there, and why it was not read has been said
	}
	if _, ok := k.tree.file(file); !ok {
		e := k.at("entry.missing", v, "/entry_point", fmt.Sprintf("entry_point %s means the file %s, which the pack does not have", quoted(text), quoted(file)))
		e.Kind, e.Hint = KindPack, k.nearEntry(file)
		k.faults = append(k.faults, e)
		return
	}
	k.m.EntryFile, k.m.Class = file, class
}

// nearEntry names the file that was probably meant.
func (k *kazmaReader) nearEntry(file string) string {
	var python []string
	for i := range k.tree.files {
		p := k.tree.files[i].Path
		if strings.EqualFold(p, file) || path.Base(p) == path.Base(file) {
			return "the pack has " + quoted(p)
		}
		if strings.HasSuffix(p, ".py") && !strings.Contains(p, "/") {
			python = append(python, p)
		}
	}
	if len(python) == 1 {
		return "the pack has " + quoted(python[0])
	}
	return ""
}

func (k *kazmaReader) permissions() {
	v := k.given("permissions")
	switch {
	case v == nil:
	case v.Kind == yamledit.Sequence:
		k.m.Permissions = k.permissionList(v, "/permissions")
	case v.Kind == yamledit.Map:
		for _, part := range []struct {
			key string
			to  *[]string
		}{{"required", &k.m.Permissions}, {"optional", &k.m.OptionalPermissions}} {
			if list := v.Map.Get(part.key); list != nil && list.Kind != yamledit.Null {
				*part.to = k.permissionList(list, "/permissions/"+part.key)
			}
		}
	default:
		k.fault("permissions.type", v, "/permissions", "permissions must be a list, or a mapping with required and optional", "")
	}
}

func (k *kazmaReader) permissionList(v *yamledit.Value, pointer string) []string {
	for i := range v.Items {
		if item := &v.Items[i]; item.Kind == yamledit.Scalar && item.Text != "" && !kazmaPermission(item.Text) {
			k.warn("permissions.unknown", item, pointer+"/"+strconv.Itoa(i), fmt.Sprintf("permission %s is not one that Kazma knows", quoted(item.Text)),
				"known are file_read, file_write, network_outbound, network_inbound, camera_access, mqtt_broker, database_read and database_write")
		}
	}
	return k.list("permissions", v, pointer)
}

func (k *kazmaReader) servers() {
	const pointer = "/mcp_servers"
	v := k.given("mcp_servers")
	if v == nil {
		return
	}
	if v.Kind != yamledit.Sequence {
		k.fault("mcp.not-list", v, pointer, "mcp_servers must be a list, not "+shape(v), "")
		return
	}
	k.many("mcp", "mcp_servers", v, manyMCPServers)
	for i := range v.Items {
		item, where := &v.Items[i], pointer+"/"+strconv.Itoa(i)
		if item.Kind != yamledit.Map {
			k.fault("mcp.not-map", item, where, "an entry of mcp_servers must be a mapping with name and type, not "+shape(item), "")
			continue
		}
		s := MCPServer{Name: k.serverText(item, where, "name"), Type: k.serverText(item, where, "type")}
		if s.Type != "" && !kazmaTransport(s.Type) {
			hint := "known are stdio, sse and streamable-http"
			if s.Type == "streamable_http" {
				hint = "write streamable-http, with a hyphen"
			}
			k.fault("mcp.type", item.Map.Get("type"), where+"/type", fmt.Sprintf("%s is not a type of MCP server", quoted(s.Type)), hint)
		}
		k.m.MCPServers = append(k.m.MCPServers, s)
	}
}

func (k *kazmaReader) serverText(item *yamledit.Value, where, key string) string {
	v := item.Map.Get(key)
	switch {
	case v == nil:
		k.fault("mcp.no-"+key, item, where, "an entry of mcp_servers has no "+key, "")
	case v.Kind == yamledit.Scalar && strings.TrimSpace(v.Text) != "":
		return v.Text
	default:
		k.fault("mcp.no-"+key, v, where+"/"+key, key+" of an MCP server must be text, not "+shape(v), "")
	}
	return ""
}

// integrity reads the two lines that signing writes. Whether they match is for
// those who hold the secret; here they must look like what they claim to be, as
// raw text, because 64 digits are a number to some readers.
func (k *kazmaReader) integrity() {
	read := func(key string) (string, *yamledit.Value) {
		v := k.given(key)
		if v == nil || v.Kind == yamledit.Scalar && v.Text == "" {
			return "", nil // what the reference takes for unsigned
		}
		if v.Kind == yamledit.Scalar && isRef(v.Text) {
			return v.Text, v
		}
		k.fault("sign."+key+"-format", v, "/"+key, key+" must be 64 lower-case hex digits",
			"sign the skill again, or remove checksum and signature to leave it unsigned")
		return "", v
	}
	var sum, sig *yamledit.Value
	k.m.Checksum, sum = read("checksum")
	k.m.Signature, sig = read("signature")
	if sig != nil && sum == nil {
		k.fault("sign.no-checksum", sig, "/signature", "there is a signature but no checksum, so the signature vouches for nothing",
			"sign the skill again, or remove the signature")
	}
}

// isKazmaName matches ^[a-z][a-z0-9-]*$ without a line end behind it.
func isKazmaName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// isKazmaVersion matches ^\d+\.\d+\.\d+$ with ASCII digits only.
func isKazmaVersion(s string) bool {
	parts := strings.Split(s, ".")
	for _, part := range parts {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return len(parts) == 3
}
