package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// Metadata keys of a SKILL.md in which what only a kortecx manifest can say is kept,
// so that it survives the way there and back.
const (
	metaWishes = "kx-wishes" // "id@version id@version"
	metaTags   = "kx-tags"   // "tag, tag"; a comma in a tag has a backslash before it
)

// Loss is something of a pack that another format cannot carry, or carries
// differently.
type Loss struct {
	What string `json:"what"` // a key of the manifest, or a file
	Why  string `json:"why"`
}

// Converted is a pack in another format, in memory.
type Converted struct {
	Name   string      `json:"name"` // of the pack and its folder
	From   pack.Format `json:"from"`
	Format pack.Format `json:"format"`
	Files  []pack.File `json:"-"`      // ascending by path
	Losses []Loss      `json:"losses"` // ascending by what
}

// ConvertOptions say what the pack itself does not.
type ConvertOptions struct {
	Name    string // of the new pack; empty: the old one, fitted to the grammar
	Author  string // kazma only; empty: the pack's own, else "local"
	License string // kazma only; empty: the pack's own, else NOASSERTION
}

// Convert makes a pack of another format that says the same. The result passes every
// check, or the error says why none can. The same pack gives the same bytes. A
// signature does not carry over: the content is another.
func Convert(p *pack.Pack, to pack.Format, o ConvertOptions) (*Converted, error) {
	if to == p.Format {
		return nil, refuse("convert.same", fmt.Sprintf("%s is a %s pack already", p.Name, to), "")
	}
	c := &conversion{p: p, o: o}
	var err error
	switch to {
	case pack.SkillMD:
		err = c.skillMD()
	case pack.Kortecx:
		err = c.kortecx()
	case pack.Kazma:
		err = c.kazma()
	default:
		return nil, refuse("convert.format", fmt.Sprintf("format %q is not one of kortecx, kazma, skill-md", to), "")
	}
	if err != nil {
		return nil, err
	}
	if c.name != p.Name && o.Name == "" {
		c.lose("name", "%s does not fit the grammar of %s; it is %s now", p.Name, to, c.name)
	}
	sorting.Sort(c.files, func(a, b pack.File) int { return cmp.Compare(a.Path, b.Path) })
	sorting.Stable(c.losses, func(a, b Loss) int { return cmp.Compare(a.What, b.What) })
	if err := proven(c.name, c.files, to); err != nil {
		return nil, err
	}
	out := &Converted{Name: c.name, From: p.Format, Format: to, Files: c.files, Losses: c.losses}
	if out.Losses == nil {
		out.Losses = []Loss{}
	}
	return out, nil
}

// proven refuses a pack that does not pass its checks.
func proven(name string, files []pack.File, format pack.Format) error {
	in := pack.Read(name, files, pack.Options{Format: format})
	if err := in.Err(); err != nil {
		return err
	}
	report := conformance.Judge(in, name, conformance.Options{})
	for _, f := range report.Findings {
		if f.Severity == conformance.Error {
			return refuse(f.ID, "what it becomes does not pass its checks: "+f.Message, f.Hint)
		}
	}
	return nil
}

// Write puts the pack into dir, in a folder of its name that is not there yet or
// empty, whole or not at all.
func (c *Converted) Write(dir string) error { return write(dir, c.Name, c.Files) }

// Replace is Write that takes the place of whatever folder is there.
func (c *Converted) Replace(dir string) (err error) {
	root, err := fsx.OpenOrCreate(dir, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	info, err := root.Lstat(c.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fsx.PutDir(root, c.Name, onDisk(c.Files))
	case err != nil:
		return err
	case !info.IsDir():
		return inTheWay(filepath.Join(dir, c.Name), "it is no folder")
	}
	return fsx.ReplaceDir(root, c.Name, onDisk(c.Files), func(string) error { return nil })
}

// conversion is one in the making.
type conversion struct {
	p      *pack.Pack
	o      ConvertOptions
	name   string
	files  []pack.File
	losses []Loss
}

// Not inlined, for the size of the programs.
//
//go:noinline
func (c *conversion) lose(what, format string, args ...any) {
	c.losses = append(c.losses, Loss{What: what, Why: fmt.Sprintf(format, args...)})
}

func (c *conversion) add(path string, data []byte) {
	c.files = append(c.files, pack.File{Path: path, Data: data})
}

// rest carries the files over that are none of those named.
func (c *conversion) rest(but ...string) {
	for _, f := range c.p.Files {
		if !slices.Contains(but, f.Path) {
			c.files = append(c.files, f)
		}
	}
}

// skillMD makes a SKILL.md of a kortecx or kazma pack.
func (c *conversion) skillMD() error {
	if c.name = c.o.Name; c.name == "" {
		c.name = hyphened(c.p.Name)
	}
	if e := pack.ValidSkillName(c.name); e != nil {
		return refuse(e.ID, "the pack needs another name to be a skill: "+e.Text, "give one with --name")
	}
	meta := map[string]string{"version": c.p.Version}
	if len(c.p.Tags) > 0 {
		meta[metaTags] = joinTags(c.p.Tags)
	}
	var license string
	body := c.p.Instructions()
	switch c.p.Format {
	case pack.Kortecx:
		if len(c.p.Tools) > 0 {
			meta[metaWishes] = wishList(c.p.Tools)
		}
		c.rest("skill.json", "instructions.md")
	case pack.Kazma:
		if license = c.p.Kazma.License; license == noLicense {
			license = ""
		}
		var carried []string
		body, carried = c.kazmaBody()
		meta["author"] = c.p.Kazma.Author
		c.rest(append(carried, "skill_manifest.yaml")...)
		if _, there := c.p.File("SKILL.md"); there {
			return refuse("convert.exists", "the pack has a SKILL.md already", "read the folder as it is with --from-format skill-md, or remove that file")
		}
	}
	c.add("SKILL.md", append(c.frontmatter(license, meta), body...))
	return nil
}

func (c *conversion) frontmatter(license string, meta map[string]string) []byte {
	var b strings.Builder
	b.WriteString("---\nname: " + scalar(c.name) + "\ndescription: " + yamledit.Quote(c.description(1024)) + "\n")
	if license != "" {
		b.WriteString("license: " + yamledit.Quote(license) + "\n")
	}
	b.WriteString("metadata:\n")
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if meta[key] != "" {
			b.WriteString("  " + key + ": " + yamledit.Quote(meta[key]) + "\n")
		}
	}
	b.WriteString("---\n")
	return []byte(b.String())
}

// description is the pack's, of at most that many characters and never empty.
func (c *conversion) description(most int) string {
	text := strings.TrimSpace(c.p.Description)
	if text == "" {
		c.lose("description", "there is none; a sentence was made of the name")
		return "Instructions for " + strings.ReplaceAll(c.name, "-", " ") + "."
	}
	if n := utf8.RuneCountInString(text); n > most {
		c.lose("description", "it has %d characters, %d are allowed; the end was cut off", n, most)
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}

// noLicense is how SPDX says that a license is not known. A kazma manifest must say one.
const noLicense = "NOASSERTION"

// kazmaBody is the text for an agent, and the files that are nothing else. A kazma pack
// that kazma made of another format has it in instructions.md, and a program that does
// no more than hand it out; of others the README comes nearest.
func (c *conversion) kazmaBody() (body []byte, carried []string) {
	instructions, _ := c.p.File("instructions.md")
	program, _ := c.p.File("main.py")
	if len(instructions) > 0 && bytes.Equal(program, handsOut(c.p.Name).Data) {
		c.kazmaLosses(true)
		return instructions, []string{"main.py", "instructions.md"}
	}
	c.kazmaLosses(false)
	if readme, ok := c.p.File("README.md"); ok && len(bytes.TrimSpace(readme)) > 0 {
		return readme, nil
	}
	if len(bytes.TrimSpace(instructions)) > 0 {
		return instructions, []string{"instructions.md"}
	}
	c.lose("instructions", "a kazma pack has none and there is no README.md; write them")
	return []byte("# " + c.name + "\n\n" + strings.TrimSpace(c.p.Description) + "\n"), nil
}

// handsOut is the entry file of a kazma pack that consists of instructions.
func handsOut(name string) pack.File {
	return fill("kazma-instructions", "main.py", Options{Name: name}, className(name))
}

// kazmaLosses names what of the manifest has no place elsewhere; made says that kazma
// wrote it, with what such a manifest needs.
func (c *conversion) kazmaLosses(made bool) {
	m := c.p.Kazma
	permissions := slices.Concat(m.Permissions, m.OptionalPermissions)
	if made && slices.Equal(permissions, []string{"file_read"}) {
		permissions = nil
	}
	if m.EntryFile != "" && !made {
		c.lose("entry_point", "nothing runs %s by itself any more; agents read instructions", m.EntryFile)
	}
	for key, values := range map[string][]string{"capabilities": m.Capabilities, "permissions": permissions} {
		if len(values) > 0 {
			c.lose(key, "the format has no word for %s", strings.Join(values, ", "))
		}
	}
	for _, server := range m.MCPServers {
		c.lose("mcp_servers", "the format does not name servers (%s)", server.Name)
	}
	if m.MinCoreVersion != "" {
		c.lose("min_core_version", "the format has no word for %s", m.MinCoreVersion)
	}
	if m.Checksum != "" {
		c.lose("signature", "it is of the old content; sign again")
	}
	if m.Certified {
		c.lose("certified", "a certification is a statement of a hub")
	}
	for _, key := range m.OtherKeys {
		c.lose(key, "the format has no word for it")
	}
}

// kortecx makes a kortecx pack, which holds instructions and nothing that runs.
func (c *conversion) kortecx() error {
	if c.name = c.o.Name; c.name == "" {
		c.name = c.p.Name
	}
	if e := pack.ValidName(c.name); e != nil {
		return refuse(e.ID, "the pack needs another name: "+e.Text, "give one with --name")
	}
	m := pack.KortecxManifest{
		Schema: pack.SchemaKortecx, Name: c.name, Version: c.integerVersion(), Description: strings.TrimSpace(c.p.Description),
		Tags: c.p.Tags, Tools: map[string]string{},
	}
	var body []byte
	carried := []string{"README.md"}
	switch c.p.Format {
	case pack.SkillMD:
		body = c.p.SkillMD.Body
		carried = append(carried, "SKILL.md")
		c.skillMDLosses(&m)
	case pack.Kazma:
		var text []string
		body, text = c.kazmaBody()
		carried = append(append(carried, text...), "skill_manifest.yaml")
		if license := c.p.Kazma.License; license != "" && license != noLicense {
			c.lose("license", "the format has no word for %s", c.p.Kazma.License)
		}
		if c.p.Kazma.Author != "" {
			c.lose("author", "the format has no word for %s; publish with --author", c.p.Kazma.Author)
		}
	}
	for _, f := range c.p.Files {
		if !slices.Contains(carried, f.Path) {
			c.lose(f.Path, "a kortecx pack holds instructions and no other files")
		}
	}
	if readme, ok := c.p.File("README.md"); ok {
		c.add("README.md", readme)
	}
	if len(strings.TrimSpace(string(body))) == 0 {
		c.lose("instructions", "there are none; the description stands in their place")
		body = []byte("# " + c.name + "\n\n" + m.Description + "\n")
	}
	c.add("skill.json", m.Indented())
	c.add("instructions.md", body)
	return nil
}

// skillMDLosses reads the wishes back that skillMD kept, and names what else a
// kortecx manifest cannot say.
func (c *conversion) skillMDLosses(m *pack.KortecxManifest) {
	from := c.p.SkillMD
	for key, value := range from.Metadata {
		switch key {
		case metaWishes:
			wishes, err := tools(strings.Fields(value))
			if err != nil {
				c.lose("metadata."+key, "%v", err)
				continue
			}
			m.Tools = wishes
		case metaTags:
			for _, tag := range splitTags(value) {
				if !slices.Contains(m.Tags, tag) {
					m.Tags = append(m.Tags, tag)
				}
			}
		case "version", "kx-digest":
		default:
			c.lose("metadata."+key, "the format has no word for it")
		}
	}
	for key, value := range map[string]string{"license": from.License, "compatibility": from.Compatibility} {
		if value != "" {
			c.lose(key, "the format has no word for it")
		}
	}
	if len(from.AllowedTools) > 0 {
		c.lose("allowed-tools", "an agent's own tools are no wishes for a server's (%s)", strings.Join(from.AllowedTools, " "))
	}
	c.otherKeys()
}

// otherKeys names the keys that only some agents know.
func (c *conversion) otherKeys() {
	for _, key := range c.p.SkillMD.OtherKeys {
		why := "the format has no word for it"
		if key == "version" {
			why = "metadata has another one, which counts"
		}
		c.lose(key, "%s", why)
	}
}

// integerVersion is the pack's version as a kortecx manifest takes it.
func (c *conversion) integerVersion() string {
	v := c.p.Version
	if v == "" || pack.ValidVersion(v) == nil {
		return cmp.Or(v, "1")
	}
	major, _, _ := strings.Cut(v, ".")
	if pack.ValidVersion(major) != nil || major == "0" {
		major = "1"
	}
	c.lose("version", "%s is not an integer; it is %s now", v, major)
	return major
}

// kazma makes a kazma pack whose entry point hands out the instructions.
func (c *conversion) kazma() error {
	if c.name = c.o.Name; c.name == "" {
		if c.name = hyphened(c.p.Name); c.name != "" && (c.name[0] < 'a' || c.name[0] > 'z') {
			c.name = "skill-" + c.name
		}
	}
	if !kazmaName(c.name) {
		return refuse("name.grammar", "the pack needs another name: "+strictQuote(c.name)+" is not a small letter followed by small letters, digits and -", "give one with --name")
	}
	license := c.o.License
	if license == "" && c.p.SkillMD != nil {
		license = c.p.SkillMD.License
	}
	if license == "" {
		license = noLicense
		c.lose("license", "the pack names none, and a kazma manifest must; it says NOASSERTION")
	}
	class := className(c.name)
	var yaml strings.Builder
	yaml.WriteString("name: " + scalar(c.name) + "\n" +
		"version: " + c.semver() + "\n" +
		"description: " + yamledit.Quote(c.description(1<<20)) + "\n" +
		"author: " + scalar(cmp.Or(c.o.Author, c.p.Author, authorOf(c.p), "local")) + "\n" +
		"license: " + yamledit.Quote(license) + "\n" +
		"entry_point: main:" + class + "\n" +
		"capabilities: []\n" +
		"permissions:\n  - file_read\n")
	tags := c.p.Tags
	body := c.p.Instructions()
	switch c.p.Format {
	case pack.Kortecx:
		if len(c.p.Tools) > 0 {
			c.lose("tools", "the format does not wish for tools (%s)", wishList(c.p.Tools))
		}
		c.rest("skill.json", "instructions.md", "main.py")
	case pack.SkillMD:
		body = c.p.SkillMD.Body
		for key := range c.p.SkillMD.Metadata {
			if key != "version" && key != metaTags && (key != "author" || authorOf(c.p) == "") {
				c.lose("metadata."+key, "the format has no word for it")
			}
		}
		tags = append(tags, splitTags(c.p.SkillMD.Metadata[metaTags])...)
		if c.p.SkillMD.Compatibility != "" {
			c.lose("compatibility", "the format has no word for it")
		}
		if len(c.p.SkillMD.AllowedTools) > 0 {
			c.lose("allowed-tools", "the format has no word for an agent's own tools")
		}
		c.otherKeys()
		c.rest("SKILL.md", "main.py", "instructions.md")
	}
	for _, taken := range []string{"main.py", "instructions.md"} {
		if _, there := c.p.File(taken); there && !(taken == "instructions.md" && c.p.Format == pack.Kortecx) {
			return refuse("convert.exists", "the pack has a file "+taken+", where the entry point of a kazma pack would be", "rename it first")
		}
	}
	if len(tags) > 0 {
		yaml.WriteString("tags:\n")
		for _, t := range tags {
			yaml.WriteString("  - " + yamledit.Quote(t) + "\n")
		}
	}
	c.add("skill_manifest.yaml", []byte(yaml.String()))
	c.add("instructions.md", body)
	c.files = append(c.files, handsOut(c.name))
	return nil
}

// authorOf is the author that a SKILL.md names, as it is after a conversion from kazma;
// empty for one that no manifest takes.
func authorOf(p *pack.Pack) string {
	if p.SkillMD == nil || hubapi.CheckAuthor(p.SkillMD.Metadata["author"]) != nil {
		return ""
	}
	return p.SkillMD.Metadata["author"]
}

// semver is the pack's version as a kazma manifest takes it.
func (c *conversion) semver() string {
	v := cmp.Or(c.p.Version, "1")
	parts := strings.Split(v, ".")
	for _, part := range parts {
		if part == "" || len(parts) > 3 || strings.Trim(part, "0123456789") != "" {
			c.lose("version", "%s is not three numbers; it is 1.0.0 now", v)
			return "1.0.0"
		}
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	if full := strings.Join(parts, "."); full != v {
		c.lose("version", "%s is written %s", v, full)
	}
	return strings.Join(parts, ".")
}

// hyphened is a name of small letters, digits and single hyphens; empty when nothing
// of it is left.
func hyphened(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

func joinTags(tags []string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(strings.Join(tags, "\x00"), `\`, `\\`), ",", `\,`), "\x00", ", ")
}

// splitTags reads what joinTags wrote, and what people write.
func splitTags(text string) (out []string) {
	var tag []byte
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ',':
			if t := strings.TrimSpace(string(tag)); t != "" {
				out = append(out, t)
			}
			tag = nil
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == ',' || text[i+1] == '\\'):
			i++
			tag = append(tag, text[i])
		default:
			tag = append(tag, text[i])
		}
	}
	return out
}

func wishList(wishes map[string]string) string {
	list := make([]string, 0, len(wishes))
	for id, version := range wishes {
		list = append(list, id+"@"+version)
	}
	sort.Strings(list)
	return strings.Join(list, " ")
}
