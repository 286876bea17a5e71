package scaffold

import (
	"embed"
	"sort"
	"strings"

	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

//go:embed templates
var templates embed.FS

// maxKazmaName is what a hub stores as a name; the Kazma grammar has no limit.
const maxKazmaName = 64

func kortecx(o Options) ([]pack.File, error) {
	if e := pack.ValidName(o.Name); e != nil {
		return nil, e
	}
	wishes, err := tools(o.Tools)
	if err != nil {
		return nil, err
	}
	description := o.Description
	if description == "" {
		description = "Says in one sentence what " + o.Name + " does and when to use it."
	}
	files := []pack.File{{Path: "skill.json", Data: manifest(o.Name, description, o.Tags, wishes)}}
	for _, name := range []string{"instructions.md", "README.md"} {
		files = append(files, fill("kortecx", name, o, ""))
	}
	return files, nil
}

// manifest is a skill.json as kx fmt leaves it. Empty tags and tools are written,
// to show where they go.
func manifest(name, description string, tags []string, wishes map[string]string) []byte {
	str := func(s string) string { return string(strictjson.AppendString(nil, s)) }
	block := func(open string, lines []string, end string) string {
		if len(lines) == 0 {
			return open + end
		}
		return open + "\n    " + strings.Join(lines, ",\n    ") + "\n  " + end
	}
	var tagLines, toolLines []string
	for _, t := range tags {
		tagLines = append(tagLines, str(t))
	}
	for id, version := range wishes {
		toolLines = append(toolLines, str(id)+": "+str(version))
	}
	sort.Strings(toolLines)
	return []byte("{\n" +
		"  \"description\": " + str(description) + ",\n" +
		"  \"name\": " + str(name) + ",\n" +
		"  \"schema\": \"kortecx.skill/v1\",\n" +
		"  \"tags\": " + block("[", tagLines, "]") + ",\n" +
		"  \"tools\": " + block("{", toolLines, "}") + ",\n" +
		"  \"version\": \"1\"\n" +
		"}\n")
}

func kazma(o Options) ([]pack.File, error) {
	if err := noTools(o); err != nil {
		return nil, err
	}
	if !kazmaName(o.Name) {
		return nil, refuse("name.grammar", "skill name "+strictQuote(o.Name)+" is not a small letter followed by small letters, digits and -",
			"the name may have at most 64 characters, such as invoice-reader")
	}
	author, description := o.Author, o.Description
	if author == "" {
		author = "local"
	}
	if description == "" {
		description = "Says in one sentence what " + o.Name + " does."
	}
	class := className(o.Name)
	yaml := "name: " + scalar(o.Name) + "\n" +
		"version: 1.0.0\n" +
		"description: " + yamledit.Quote(description) + "\n" +
		"author: " + scalar(author) + "\n" +
		"license: Apache-2.0\n" +
		"entry_point: main:" + class + "\n" +
		"capabilities: []\n" +
		"permissions: []\n"
	if len(o.Tags) == 0 {
		yaml += "tags: []\n"
	} else {
		yaml += "tags:\n"
		for _, t := range o.Tags {
			yaml += "  - " + yamledit.Quote(t) + "\n"
		}
	}
	return []pack.File{
		{Path: "skill_manifest.yaml", Data: []byte(yaml)},
		fill("kazma", "main.py", o, class),
		fill("kazma", "README.md", o, class),
	}, nil
}

func kazmaName(s string) bool {
	if s == "" || len(s) > maxKazmaName || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}) < 0
}

// className turns a name such as web-reader into WebReader. It ends in Skill so
// that it cannot meet a word of the language.
func className(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String() + "Skill"
}

func skillMD(o Options) ([]pack.File, error) {
	if err := noTools(o); err != nil {
		return nil, err
	}
	if len(o.Tags) > 0 {
		return nil, refuse("new.tag", "a skill-md pack has no tags", "leave --tag out, or make a kortecx or kazma pack")
	}
	if e := pack.ValidSkillName(o.Name); e != nil {
		return nil, e
	}
	description := o.Description
	if description == "" {
		description = "Says what " + o.Name + " does. Use when a request asks for what is named here."
	}
	body := fill("skill-md", "SKILL.md", o, "")
	body.Data = append([]byte("---\nname: "+scalar(o.Name)+"\ndescription: "+yamledit.Quote(description)+"\n---\n"), body.Data...)
	return []pack.File{body}, nil
}

// scalar writes a name, in quotes where YAML would read it as something else.
func scalar(s string) string {
	if yamledit.ReadsAs(s) == "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	}) < 0 && !strings.HasPrefix(s, "-") {
		return s
	}
	return yamledit.Quote(s)
}

// fill makes a file of a template.
func fill(folder, name string, o Options, class string) pack.File {
	data, err := templates.ReadFile("templates/" + folder + "/" + name)
	if err != nil {
		// The templates are part of the program; a test reads each of them.
		panic(err)
	}
	text := strings.NewReplacer("{{name}}", o.Name, "{{folder}}", o.Name, "{{class}}", class).Replace(string(data))
	return pack.File{Path: name, Data: []byte(text)}
}

func strictQuote(s string) string { return string(strictjson.AppendString(nil, s)) }
