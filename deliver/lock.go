package deliver

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

const (
	// LockFile says what is installed in a project, or for a user, and where from.
	LockFile = "kx-lock.json"

	lockVersion = 1
	maxLock     = 16 << 20 // bytes
	maxHistory  = 5        // revisions that a skill can go back to
	maxTargets  = 64       // folders that hold one skill
)

// Ids of refusals that are about a lock, in hubapi.Detail.
const (
	IDLockConflict = "lock.conflict" // it holds the marks of a merge that was not finished
	IDLockInvalid  = "lock.invalid"
	IDLockVersion  = "lock.version" // a newer kx wrote it
	IDLockSecret   = "lock.secret"  // an address with a password in it
	IDLockDrift    = "lock.drift"   // lock, folders and sources do not agree
)

// TargetMode is how a skill lies in a folder.
type TargetMode string

// The modes.
const (
	AsCopy TargetMode = "copy"
	AsLink TargetMode = "link" // a link to the copy in another folder of the same skill
)

// Lock is the content of a lock file: every installed skill by the name of its
// folder.
type Lock struct {
	Skills map[string]Locked
}

// Locked is one skill of a lock. The order of the members is that of the file.
type Locked struct {
	// Source is where it came from, as the user may type it again: without a
	// secret, with the version or ref that was asked for.
	Source string `json:"source"`
	// Revision is what Source led to: a commit, a release's version, or the digest
	// where there is nothing else to name it by.
	Revision string      `json:"revision"`
	Author   string      `json:"author,omitempty"`
	Name     string      `json:"name"`              // the pack's own, which --as may differ from
	Version  string      `json:"version,omitempty"` // of the pack or its release
	Digest   pack.Digest `json:"digest"`
	Format   pack.Format `json:"format"`
	// Signed says that a signature came with it and was right; Signers are the ids
	// of the keys that made it, ascending, none for a shared secret.
	Signed  bool     `json:"signed"`
	Signers []string `json:"signers,omitempty"`
	// Executable are the files that have the execute bit, which no digest covers.
	Executable []string `json:"executable,omitempty"`
	Targets    []Target `json:"targets"`
	// History are the revisions before this one, the latest first.
	History []Past `json:"history,omitempty"`
}

// Target is one folder of skills that holds a skill.
type Target struct {
	// Dir is relative to the project and inside of it. For a user it begins with
	// "~/", or is absolute outside of the home.
	Dir    string     `json:"dir"`
	Agents []string   `json:"agents,omitempty"` // that read it, as far as they were asked for
	Mode   TargetMode `json:"mode"`
	// Digest is of what lies there, where that is not yet what the lock wants: the
	// folder could not be written.
	Digest pack.Digest `json:"digest,omitempty"`
}

// Past is a revision that a skill had.
type Past struct {
	Source   string      `json:"source"`
	Revision string      `json:"revision"`
	Version  string      `json:"version,omitempty"`
	Digest   pack.Digest `json:"digest"`
}

// lockFile is the form on disk.
type lockFile struct {
	V      int               `json:"v"`
	Skills map[string]Locked `json:"skills"`
}

// Encode gives the one form of a lock. A skill is one line, so that whoever merges
// by lines takes it from one side whole; the time of an installation is in the
// folder's marker, not here, so that two people who do the same write the same.
func (l *Lock) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"v\": %d,\n  \"skills\": {", lockVersion)
	for i, name := range slices.Sorted(maps.Keys(l.Skills)) {
		b.WriteString(comma(i) + "\n")
		b.Write(lockLine(name, l.Skills[name]))
	}
	if len(l.Skills) > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("}\n}\n")
	return b.Bytes()
}

// lockLine is one skill without the comma and the end of the line.
func lockLine(name string, s Locked) []byte {
	w := jsonLine{make([]byte, 0, 512)}
	w.b = append(w.b, "    "...)
	w.b = strictjson.AppendString(w.b, name)
	w.b = append(w.b, ": {"...)
	w.text("source", s.Source)
	w.text("revision", s.Revision)
	w.some("author", s.Author)
	w.text("name", s.Name)
	w.some("version", s.Version)
	w.text("digest", string(s.Digest))
	w.text("format", string(s.Format))
	w.raw("signed", fmt.Sprint(s.Signed))
	w.list("signers", s.Signers)
	w.list("executable", s.Executable)
	w.key("targets")
	w.b = append(w.b, '[')
	for i, t := range s.Targets {
		w.open(i)
		w.text("dir", t.Dir)
		w.list("agents", t.Agents)
		w.text("mode", string(t.Mode))
		w.some("digest", string(t.Digest))
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
	if len(s.History) > 0 {
		w.key("history")
		w.b = append(w.b, '[')
		for i, p := range s.History {
			w.open(i)
			w.text("source", p.Source)
			w.text("revision", p.Revision)
			w.some("version", p.Version)
			w.text("digest", string(p.Digest))
			w.b = append(w.b, '}')
		}
		w.b = append(w.b, ']')
	}
	return append(w.b, '}')
}

// jsonLine writes members of objects on one line.
type jsonLine struct{ b []byte }

func (w *jsonLine) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ", "...)
	}
	w.b = append(strictjson.AppendString(w.b, name), ": "...)
}

func (w *jsonLine) open(i int) {
	if i > 0 {
		w.b = append(w.b, ", "...)
	}
	w.b = append(w.b, '{')
}

func (w *jsonLine) text(name, value string) {
	w.key(name)
	w.b = strictjson.AppendString(w.b, value)
}

func (w *jsonLine) some(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *jsonLine) raw(name, value string) {
	w.key(name)
	w.b = append(w.b, value...)
}

func (w *jsonLine) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	w.key(name)
	w.b = append(w.b, '[')
	for i, v := range values {
		if i > 0 {
			w.b = append(w.b, ", "...)
		}
		w.b = strictjson.AppendString(w.b, v)
	}
	w.b = append(w.b, ']')
}

// ParseLock reads a lock strictly. What this kx would not have written is refused
// with its place, and never left out: a skill that is dropped here would be dropped
// for good with the next write.
func ParseLock(data []byte) (*Lock, error) {
	if len(data) > maxLock {
		return nil, lockFault(IDLockInvalid, 0, "it has %d bytes, %d are allowed", len(data), maxLock)
	}
	if err := conflictMarks(data); err != nil {
		return nil, err
	}
	root, faults := strictjson.Parse(data)
	if len(faults) > 0 {
		line, _ := strictjson.Position(data, faults[0].Offset)
		err := lockFault(faults[0].ID, line, "%s", faults[0].Text)
		return nil, err.WithHint("%s", lockMend(data, faults[0].Offset, line))
	}
	if v := root.Get("v"); v != nil && v.Kind == strictjson.Number && v.Text != fmt.Sprint(lockVersion) {
		return nil, lockFault(IDLockVersion, 0, "it has version %.20s, this kx knows %d", v.Text, lockVersion).WithHint("use the kx that wrote it, or a newer one")
	}
	file, ok := lockOf(root)
	if !ok {
		file = lockFile{}
		if err := strictjson.Unmarshal(data, &file); err != nil {
			return nil, lockFault(IDLockInvalid, 0, "%v", err)
		}
	}
	skills := root.Get("skills")
	if file.V != lockVersion || skills == nil {
		return nil, lockFault(IDLockInvalid, 0, `it has no "v" or no "skills"`)
	}
	if skills.Kind != strictjson.Object { // null would pass for a lock without skills
		line, _ := strictjson.Position(data, skills.Offset)
		return nil, lockFault(IDLockInvalid, line, `"skills" is no object`)
	}
	for _, m := range skills.Members {
		if id, why := file.Skills[m.Name].fault(m.Name); why != "" {
			line, _ := strictjson.Position(data, m.Value.Offset)
			return nil, lockFault(id, line, "the skill %q: %s", m.Name, why)
		}
	}
	return &Lock{Skills: file.Skills}, nil
}

func lockFault(id string, line int, format string, args ...any) *hubapi.Error {
	err := hubapi.Errorf(hubapi.Invalid, "%s cannot be used: %s", LockFile, fmt.Sprintf(format, args...))
	if line > 0 {
		err.Message = fmt.Sprintf("%s:%d cannot be used: %s", LockFile, line, fmt.Sprintf(format, args...))
	}
	err.Details = []hubapi.Detail{{ID: id, Message: err.Message, File: LockFile, Line: line}}
	return err
}

// lockMend says what to do about a file that is no JSON any more, mostly because somebody
// merged it by hand.
func lockMend(data []byte, offset, line int) string {
	const rule = "each skill has one line, and all of these lines but the last end with a comma"
	if offset < len(data) && data[offset] == ',' {
		return fmt.Sprintf("take out the comma at line %d: %s", line, rule)
	}
	return rule
}

// conflictMarks refuses a file in which a merge left both sides.
func conflictMarks(data []byte) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		for _, mark := range []string{"<<<<<<<", ">>>>>>>", "|||||||", "======="} {
			if bytes.HasPrefix(line, []byte(mark)) {
				return lockFault(IDLockConflict, n, "a merge left both sides in it").
					WithHint("keep one line for each skill between the marks and take the marks out, then run kx skills install; kx skills merge-lock --setup lets git merge this file by skill")
			}
		}
	}
	return nil
}

// fault says what is wrong with one skill of a lock.
func (s Locked) fault(name string) (id, why string) {
	switch {
	case hubapi.CheckName(name) != nil:
		return IDLockInvalid, "this is no folder name"
	case s.Source == "":
		return IDLockInvalid, "it has no source"
	case s.Name == "":
		return IDLockInvalid, "it has no name"
	case !isDigest(string(s.Digest)):
		return IDLockInvalid, "its digest is none"
	case !slices.Contains(pack.Formats, s.Format):
		return IDLockInvalid, "its format is none that we know"
	case s.Revision == "":
		return IDLockInvalid, "it has no revision"
	case len(s.Targets) == 0:
		return IDLockInvalid, "it is in no folder"
	case len(s.Targets) > maxTargets:
		return IDLockInvalid, "it is in too many folders"
	case len(s.History) > maxHistory:
		return IDLockInvalid, "its history is too long"
	case !ascending(s.Signers) || !ascending(s.Executable):
		return IDLockInvalid, "a list is not sorted, or has something twice"
	case len(s.Signers) > 0 && !s.Signed:
		return IDLockInvalid, "it has signers and is not signed"
	}
	for _, source := range append([]string{s.Source}, pastSources(s.History)...) {
		if holdsSecret(source) {
			return IDLockSecret, "its source has a password in it, which does not belong into a file that is shared"
		}
	}
	for i, t := range s.Targets {
		if why := t.fault(); why != "" {
			return IDLockInvalid, why
		}
		if i > 0 && t.Dir <= s.Targets[i-1].Dir {
			return IDLockInvalid, "its folders are not sorted, or one is there twice"
		}
	}
	if s.Targets[0].Mode == AsLink && !slices.ContainsFunc(s.Targets, func(t Target) bool { return t.Mode == AsCopy }) {
		return IDLockInvalid, "all its folders are links"
	}
	for _, f := range s.Executable {
		if pack.CheckPath(f) != nil {
			return IDLockInvalid, "a file name in it is none that a pack can have"
		}
	}
	for _, p := range s.History {
		if p.Source == "" || p.Revision == "" || !isDigest(string(p.Digest)) {
			return IDLockInvalid, "its history is not what we would have written"
		}
	}
	return "", ""
}

func pastSources(history []Past) []string {
	out := make([]string, len(history))
	for i, p := range history {
		out[i] = p.Source
	}
	return out
}

func (t Target) fault() string {
	switch {
	case t.Mode != AsCopy && t.Mode != AsLink:
		return "a folder's mode is neither copy nor link"
	case t.Digest != "" && !isDigest(string(t.Digest)):
		return "a folder's digest is none"
	case !ascending(t.Agents):
		return "a folder's agents are not sorted"
	case t.Dir == "" || strings.ContainsAny(t.Dir, "\x00\\"):
		return "a folder's path is none"
	}
	return ""
}

// insideProject tells whether the folder of a project's lock stays inside the
// project. The file comes with the project, from strangers too.
func (t Target) insideProject() bool {
	return path.Clean(t.Dir) == t.Dir && !path.IsAbs(t.Dir) && t.Dir != ".." && !strings.HasPrefix(t.Dir, "../") && !strings.HasPrefix(t.Dir, "~") &&
		!(len(t.Dir) > 1 && t.Dir[1] == ':')
}

func ascending(list []string) bool {
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			return false
		}
	}
	return !slices.Contains(list, "")
}

// holdsSecret finds a password in the user part of a URL.
func holdsSecret(source string) bool {
	_, rest, ok := strings.Cut(source, "://")
	if !ok {
		return false
	}
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	user, _, ok := cutLast(host, "@")
	return ok && strings.Contains(user, ":")
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// past is what s leaves in the history of what comes after it.
func (s Locked) past() Past {
	return Past{Source: s.Source, Revision: s.Revision, Version: s.Version, Digest: s.Digest}
}

// follows puts an earlier state of the skill into the history of s.
func (s *Locked) follows(old Locked) {
	history := slices.Clone(old.History)
	if old.Digest != s.Digest {
		history = append([]Past{old.past()}, history...)
	}
	history = slices.DeleteFunc(history, func(p Past) bool { return p.Digest == s.Digest })
	seen := map[pack.Digest]bool{}
	history = slices.DeleteFunc(history, func(p Past) bool {
		twice := seen[p.Digest]
		seen[p.Digest] = true
		return twice
	})
	s.History = history[:min(len(history), maxHistory)]
	if len(s.History) == 0 {
		s.History = nil
	}
}

// target finds the folder dir among those of s; -1 without it.
func (s Locked) target(dir string) int {
	return slices.IndexFunc(s.Targets, func(t Target) bool { return t.Dir == dir })
}

func (s Locked) clone() Locked {
	s.Signers, s.Executable, s.History = slices.Clone(s.Signers), slices.Clone(s.Executable), slices.Clone(s.History)
	s.Targets = slices.Clone(s.Targets)
	for i := range s.Targets {
		s.Targets[i].Agents = slices.Clone(s.Targets[i].Agents)
	}
	return s
}

func (l *Lock) clone() *Lock {
	out := &Lock{Skills: make(map[string]Locked, len(l.Skills))}
	for name, s := range l.Skills {
		out.Skills[name] = s.clone()
	}
	return out
}

// Names are the folders of the lock, ascending.
func (l *Lock) Names() []string { return slices.Sorted(maps.Keys(l.Skills)) }
