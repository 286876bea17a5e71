package deliver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/strictjson"
)

// OpenClaw reads skills from the folders in skills.load.extraDirs of its configuration.
// The file is the user's: it is changed by splices, so that all else in it stays as it
// is. One with comments or commas at the end of lists, which OpenClaw reads too, is read
// and left alone.

// maxOpenClaw is how large its configuration may be, in bytes.
const maxOpenClaw = 4 << 20

// openClawTries is how often a change is tried that another program's gets between.
const openClawTries = 3

// Registration is how registered directories stand.
type Registration struct {
	Present []string // of those asked for, in the configuration now; ascending
	Added   []string // by this call
}

// OpenClawMade is what a registration had to make in OpenClaw's configuration for the
// first of our entries, so that it can be undone with the last.
type OpenClawMade struct {
	// Member is the outermost member that was made (skills, load or extraDirs); empty
	// when the list of folders was there.
	Member string `json:"member"`
	// Blank is what stood between the braces, or brackets, of what held nothing before.
	Blank string `json:"blank"`
}

// RegisterInOpenClaw appends dirs, absolute paths, to the skill folders in OpenClaw's
// configuration file, unless they are there. Nothing else in the file changes, and
// nothing at all when it cannot be read as what OpenClaw writes; then the error says
// why, and Present has what is there all the same. Before the file changes, remember is
// told which entries are added and what is made for them; its error ends the attempt.
func RegisterInOpenClaw(file string, dirs []string, remember func(added []string, made OpenClawMade) error) (Registration, error) {
	var out Registration
	if len(dirs) == 0 {
		return out, nil
	}
	err := editOpenClaw(file, func(home string, data []byte) ([]byte, error) {
		out = Registration{}
		doc, err := readOpenClaw(data)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			if !slices.Contains(out.Added, dir) && !slices.ContainsFunc(doc.dirs(), func(has string) bool { return sameDir(home, has, dir) }) {
				out.Added = append(out.Added, dir)
			}
		}
		if len(out.Added) == 0 {
			return data, nil
		}
		if doc.byHand {
			return nil, leftAlone("it has comments, or a comma at the end of a list").
				WithHint("add to its skills.load.extraDirs, by hand: %s", strings.Join(out.Added, ", "))
		}
		if err := remember(out.Added, doc.made()); err != nil {
			return nil, err
		}
		return doc.append(out.Added), nil
	})
	if err != nil {
		return Registration{Present: RegisteredInOpenClaw(file, dirs)}, err
	}
	out.Present = slices.Compact(slices.Sorted(slices.Values(dirs)))
	return out, nil
}

// RegisteredInOpenClaw gives those of dirs that OpenClaw's configuration names, ascending.
func RegisteredInOpenClaw(file string, dirs []string) []string {
	var out []string
	root, base, home, err := openClawRoot(file)
	if err != nil {
		return out
	}
	defer root.Close()
	data, err := root.ReadFile(base, maxOpenClaw)
	if err != nil {
		return out
	}
	doc, err := readOpenClaw(data)
	if err != nil {
		return out
	}
	for _, dir := range dirs {
		if slices.ContainsFunc(doc.dirs(), func(has string) bool { return sameDir(home, has, dir) }) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// UnregisterFromOpenClaw takes dirs out of OpenClaw's configuration and gives those that
// were there. When no entry is left, what was made for the first one goes too, as far as
// nothing of others is in it: a file that nobody else changed is the one of before, byte
// for byte. A file that is not there has none.
func UnregisterFromOpenClaw(file string, dirs []string, made OpenClawMade) ([]string, error) {
	var removed []string
	err := editOpenClaw(file, func(home string, data []byte) ([]byte, error) {
		removed = nil
		for _, dir := range dirs {
			doc, err := readOpenClaw(data)
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(doc.dirs(), func(has string) bool { return sameDir(home, has, dir) }); i >= 0 {
				if doc.byHand {
					return nil, leftAlone("it has comments, or a comma at the end of a list").
						WithHint("take out of its skills.load.extraDirs, by hand: %s", strings.Join(dirs, ", "))
				}
				data = doc.remove(i, made.Blank)
				removed = append(removed, dir)
			}
		}
		if len(removed) == 0 || made.Member == "" {
			return data, nil
		}
		return unmake(data, made)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return removed, err
}

// sameDir compares an entry with an absolute path; relative ones mean something that
// only OpenClaw knows, so they are the same as themselves only.
func sameDir(home, entry, dir string) bool {
	if entry == dir {
		return true
	}
	if rest, ok := strings.CutPrefix(entry, "~"); ok && home != "" && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		entry = filepath.Join(home, rest)
	}
	return filepath.IsAbs(entry) && filepath.Clean(entry) == filepath.Clean(dir)
}

// openClawRoot opens the folder of the configuration, behind any symbolic link, and gives
// the home that "~" in it means: that above ~/.openclaw.
func openClawRoot(file string) (root fsx.Root, base, home string, err error) {
	home = filepath.Dir(filepath.Dir(file))
	at, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, "", "", err
	}
	root, err = fsx.Open(filepath.Dir(at))
	return root, filepath.Base(at), home, err
}

// editOpenClaw changes the configuration under a lock, whole or not at all. A program
// that does not know the lock may change the file meanwhile: then the change is made
// again on what it wrote.
func editOpenClaw(file string, change func(home string, data []byte) ([]byte, error)) error {
	root, base, home, err := openClawRoot(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("OpenClaw has no configuration: %w", err)
		}
		return err
	}
	defer root.Close()
	unlock, err := fsx.LockDir(root.Name())
	if err != nil {
		return err
	}
	defer unlock()
	for range openClawTries {
		before, info, err := root.ReadFileInfo(base, maxOpenClaw)
		if err != nil {
			return err
		}
		after, err := change(home, before)
		if err != nil || bytes.Equal(before, after) {
			return err
		}
		if _, err := readOpenClaw(after); err != nil {
			return hubapi.Errorf(hubapi.Internal, "the change would break OpenClaw's configuration: %v", err)
		}
		now, err := root.ReadFile(base, maxOpenClaw)
		if err != nil {
			return err
		}
		if !bytes.Equal(before, now) {
			continue
		}
		if err := root.WriteFile(base, after, info.Mode().Perm()); err != nil {
			return err
		}
		// Whoever wrote between our look and our rename, or writes what it read
		// before it, is found out here.
		if now, err = root.ReadFile(base, maxOpenClaw); err == nil && bytes.Equal(now, after) {
			return nil
		}
	}
	return hubapi.Errorf(hubapi.Conflict, "OpenClaw's configuration kept changing while it was written").WithHint("try again")
}

// openClaw is its configuration with the places that matter.
type openClaw struct {
	data                         []byte
	byHand                       bool             // it is no JSON without what plainJSON takes out
	root, skills, load, extraDir *strictjson.Node // nil where absent
}

// leftAlone is the refusal to change the configuration.
func leftAlone(format string, args ...any) *hubapi.Error {
	return hubapi.Errorf(hubapi.Invalid, "OpenClaw's configuration is left alone: "+format, args...)
}

// plainJSON puts blanks into the places of comments, and of commas behind the last part of
// a list or an object. Everything else stays where it is.
func plainJSON(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1 // behind which nothing came yet
	for i := 0; i < len(out); {
		n := 1
		switch c := out[i]; {
		case c == '"':
			for n = 1; i+n < len(out) && out[i+n] != '"'; n++ {
				if out[i+n] == '\\' {
					n++
				}
			}
			n++
			comma = -1
		case bytes.HasPrefix(out[i:], []byte("//")):
			if n = bytes.IndexByte(out[i:], '\n'); n < 0 {
				n = len(out) - i
			}
			blank(out[i : i+n])
		case bytes.HasPrefix(out[i:], []byte("/*")):
			end := bytes.Index(out[i+2:], []byte("*/"))
			if end < 0 {
				return data
			}
			n = 2 + end + 2
			blank(out[i : i+n])
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
		i += n
	}
	return out
}

func blank(text []byte) {
	for i := range text {
		text[i] = ' '
	}
}

func readOpenClaw(data []byte) (*openClaw, error) {
	doc := &openClaw{data: data}
	root, faults := strictjson.Parse(data)
	if len(faults) > 0 {
		var still []*strictjson.Fault
		if root, still = strictjson.Parse(plainJSON(data)); len(still) > 0 {
			return nil, hubapi.Errorf(hubapi.Invalid, "OpenClaw's configuration is left alone, because it cannot be read as JSON: %v", still[0])
		}
		doc.byHand = true
	}
	doc.root = root
	if root.Kind != strictjson.Object {
		return nil, leftAlone("it should be an object, it is %s", root.Kind)
	}
	for _, part := range []struct {
		name string
		in   *strictjson.Node
		to   **strictjson.Node
		kind strictjson.Kind
	}{
		{"skills", root, &doc.skills, strictjson.Object},
		{"load", nil, &doc.load, strictjson.Object},
		{"extraDirs", nil, &doc.extraDir, strictjson.Array},
	} {
		in := part.in
		switch part.name {
		case "load":
			in = doc.skills
		case "extraDirs":
			in = doc.load
		}
		if in == nil {
			break
		}
		n := in.Get(part.name)
		if n == nil {
			break
		}
		if n.Kind != part.kind {
			return nil, leftAlone("its %s should be %s, it is %s", part.name, part.kind, n.Kind)
		}
		*part.to = n
	}
	return doc, nil
}

// dirs are the entries; one that is no text is empty, so that places stay the same.
func (d *openClaw) dirs() []string {
	if d.extraDir == nil {
		return nil
	}
	out := make([]string, len(d.extraDir.Elems))
	for i, n := range d.extraDir.Elems {
		if n.Kind == strictjson.String {
			out[i] = n.Text
		}
	}
	return out
}

// append gives the file with more entries.
func (d *openClaw) append(dirs []string) []byte {
	values := make([]string, len(dirs))
	for i, dir := range dirs {
		values[i] = string(strictjson.AppendString(nil, dir))
	}
	if d.extraDir != nil {
		return d.insert(d.extraDir, values)
	}
	const unit = "  "
	holder, depth := d.root, 0
	wrap := func(inner string) string { return inner }
	switch {
	case d.load != nil:
		holder, depth = d.load, 2
	case d.skills != nil:
		holder, depth = d.skills, 1
		wrap = func(inner string) string { return `"load": {` + inner + "}" }
	default:
		wrap = func(inner string) string { return `"skills": {"load": {` + inner + "}}" }
	}
	if !d.multiline(holder) {
		return d.insert(holder, []string{wrap(`"extraDirs": [` + strings.Join(values, ", ") + "]")})
	}
	// As OpenClaw itself writes it: two blanks for each level.
	at := d.indentOf(holder, depth)
	open, closing := "", ""
	switch {
	case d.load != nil:
	case d.skills != nil:
		open, closing = "\"load\": {\n"+at+unit, "\n"+at+"}"
		at += unit
	default:
		open = "\"skills\": {\n" + at + unit + "\"load\": {\n" + at + unit + unit
		closing = "\n" + at + unit + "}\n" + at + "}"
		at += unit + unit
	}
	list := "\"extraDirs\": [\n" + at + unit + strings.Join(values, ",\n"+at+unit) + "\n" + at + "]"
	return d.insert(holder, []string{open + list + closing})
}

func (d *openClaw) lineEnd() string {
	if bytes.Contains(d.data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// inner are the offsets of what a container holds: of the first, and behind the last.
func inner(n *strictjson.Node) (start, end int, any bool) {
	if n.Kind == strictjson.Array {
		if len(n.Elems) == 0 {
			return 0, 0, false
		}
		return n.Elems[0].Offset, n.Elems[len(n.Elems)-1].End, true
	}
	if len(n.Members) == 0 {
		return 0, 0, false
	}
	return n.Members[0].NameOffset, n.Members[len(n.Members)-1].Value.End, true
}

// multiline tells whether a container has a line for each of its parts.
func (d *openClaw) multiline(n *strictjson.Node) bool {
	start, _, any := inner(n)
	if !any {
		return n == d.root || bytes.IndexByte(d.data[d.root.Offset:d.root.End], '\n') >= 0
	}
	return bytes.IndexByte(d.data[n.Offset:start], '\n') >= 0
}

// indentOf is what stands before a part of a container that has a line for each.
func (d *openClaw) indentOf(n *strictjson.Node, depth int) string {
	if start, _, any := inner(n); any {
		at := bytes.LastIndexByte(d.data[:start], '\n') + 1
		if lead := string(d.data[at:start]); strings.Trim(lead, " \t") == "" {
			return lead
		}
	}
	return strings.Repeat("  ", depth+1)
}

// insert puts parts behind the last one of a container, in the manner of that one.
func (d *openClaw) insert(n *strictjson.Node, parts []string) []byte {
	_, end, any := inner(n)
	var text string
	if !d.multiline(n) || n == d.extraDir && !any {
		text = strings.Join(parts, ", ")
		if any {
			text = ", " + text
		} else {
			end = n.Offset + 1
		}
		return splice(d.data, end, end, text)
	}
	depth := 0
	switch n {
	case d.skills:
		depth = 1
	case d.load:
		depth = 2
	case d.extraDir:
		depth = 3
	}
	lead := d.indentOf(n, depth)
	for i, part := range parts {
		if i > 0 || any {
			text += ","
		}
		text += "\n" + lead + part
	}
	text = strings.ReplaceAll(text, "\n", d.lineEnd())
	if any {
		return splice(d.data, end, end, text)
	}
	closing := d.lineEnd() + strings.TrimSuffix(lead, "  ")
	return splice(d.data, n.Offset+1, n.End-1, text+closing)
}

// remove gives the file without one entry; blank is put into a list that is empty then.
func (d *openClaw) remove(i int, blank string) []byte {
	elems := d.extraDir.Elems
	switch {
	case len(elems) == 1:
		return splice(d.data, d.extraDir.Offset+1, d.extraDir.End-1, blank)
	case i > 0:
		return splice(d.data, elems[i-1].End, elems[i].End, "")
	}
	return splice(d.data, elems[0].Offset, elems[1].Offset, "")
}

// made is what append has to make.
func (d *openClaw) made() OpenClawMade {
	out, holder := OpenClawMade{}, d.extraDir
	switch {
	case d.extraDir != nil:
	case d.load != nil:
		out.Member, holder = "extraDirs", d.load
	case d.skills != nil:
		out.Member, holder = "load", d.skills
	default:
		out.Member, holder = "skills", d.root
	}
	if _, _, any := inner(holder); !any {
		out.Blank = string(d.data[holder.Offset+1 : holder.End-1])
	}
	return out
}

// unmake takes out of the configuration what append made, from the inside, until
// something of others is in the way.
func unmake(data []byte, made OpenClawMade) ([]byte, error) {
	for _, name := range []string{"extraDirs", "load", "skills"} {
		doc, err := readOpenClaw(data)
		if err != nil {
			return nil, err
		}
		var holder, member *strictjson.Node
		switch name {
		case "extraDirs":
			holder, member = doc.load, doc.extraDir
		case "load":
			holder, member = doc.skills, doc.load
		case "skills":
			holder, member = doc.root, doc.skills
		}
		if member == nil || len(member.Elems)+len(member.Members) > 0 {
			break
		}
		blank := ""
		if name == made.Member {
			blank = made.Blank
		}
		data = doc.without(holder, name, blank)
		if name == made.Member {
			break
		}
	}
	return data, nil
}

// without gives the file without one member of an object; blank is put into an object
// that is empty then.
func (d *openClaw) without(holder *strictjson.Node, name, blank string) []byte {
	members := holder.Members
	i := slices.IndexFunc(members, func(m strictjson.Member) bool { return m.Name == name })
	switch {
	case len(members) == 1:
		return splice(d.data, holder.Offset+1, holder.End-1, blank)
	case i > 0:
		return splice(d.data, members[i-1].Value.End, members[i].Value.End, "")
	}
	return splice(d.data, members[0].NameOffset, members[1].NameOffset, "")
}

func splice(data []byte, from, to int, text string) []byte {
	out := make([]byte, 0, len(data)+len(text))
	out = append(append(out, data[:from]...), text...)
	return append(out, data[to:]...)
}

// OpenClawFile is where OpenClaw keeps its configuration below a home.
func OpenClawFile(home string) string { return filepath.Join(home, ".openclaw", "openclaw.json") }

// OpenClawPluginDir is the folder that the plugin of the original reconciler fills, below
// a home; false when there is no such plugin.
func OpenClawPluginDir(home string) (string, bool) {
	plugin := filepath.Join(home, ".openclaw", "plugins", "memclaw")
	info, err := os.Stat(plugin)
	return filepath.Join(plugin, "skills"), err == nil && info.IsDir()
}
