package deliver

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// MergeLocks merges two locks that both came from base, skill by skill: what one
// side changed is taken, what both changed alike is taken once, and the folders of
// a skill are merged on their own. The names of skills on which the sides disagree
// come back; the result then holds both lines of each between the marks that merges
// leave, so that nothing is lost and ParseLock refuses it until somebody decides.
//
// An empty base, or side, is a lock without skills.
func MergeLocks(base, ours, theirs []byte) (merged []byte, conflicts []string, err error) {
	var sides [3]*Lock
	for i, data := range [][]byte{base, ours, theirs} {
		if len(bytes.TrimSpace(data)) == 0 {
			sides[i] = &Lock{Skills: map[string]Locked{}}
			continue
		}
		if sides[i], err = ParseLock(data); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", [...]string{"the common ancestor", "our side", "their side"}[i], err)
		}
	}
	b, o, t := sides[0].Skills, sides[1].Skills, sides[2].Skills
	names := map[string]bool{}
	for _, side := range []map[string]Locked{b, o, t} {
		for name := range side {
			names[name] = true
		}
	}
	result := &Lock{Skills: map[string]Locked{}}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		entry, ok, clean := mergeSkill(at(b, name), at(o, name), at(t, name))
		switch {
		case !clean:
			conflicts = append(conflicts, name)
		case ok:
			result.Skills[name] = entry
		}
	}
	if len(conflicts) == 0 {
		return result.Encode(), nil, nil
	}
	return withConflicts(result, conflicts, o, t), conflicts, nil
}

func at(skills map[string]Locked, name string) *Locked {
	if s, ok := skills[name]; ok {
		return &s
	}
	return nil
}

// mergeSkill decides about one skill; nil is a lock without it.
func mergeSkill(base, ours, theirs *Locked) (merged Locked, present, clean bool) {
	take := func(s *Locked) (Locked, bool, bool) {
		if s == nil {
			return Locked{}, false, true
		}
		return *s, true, true
	}
	switch {
	case reflect.DeepEqual(ours, theirs), reflect.DeepEqual(base, theirs):
		return take(ours)
	case reflect.DeepEqual(base, ours):
		return take(theirs)
	case ours == nil || theirs == nil:
		return Locked{}, false, false // one side removed what the other changed
	}
	content, clean := mergeContent(base, ours, theirs)
	if !clean {
		return Locked{}, false, false
	}
	targets, clean := mergeTargets(base, ours, theirs)
	if !clean {
		return Locked{}, false, false
	}
	content.Targets = targets
	// Each side could have kept the other's only copy as a link.
	if _, why := content.fault("x"); why != "" {
		return Locked{}, false, false
	}
	return content, true, true
}

// what leaves out of a skill what is merged on its own.
func what(s *Locked) Locked {
	if s == nil {
		return Locked{}
	}
	out := *s
	out.Targets, out.History = nil, nil
	return out
}

// mergeContent takes all that belongs to one revision from one side, because half
// of each would be neither.
func mergeContent(base, ours, theirs *Locked) (Locked, bool) {
	b, o, t := what(base), what(ours), what(theirs)
	same := reflect.DeepEqual(o, t)
	switch {
	case !same && reflect.DeepEqual(b, o):
		out := theirs.clone()
		return out, true
	case !same && reflect.DeepEqual(b, t):
		return ours.clone(), true
	case !same:
		return Locked{}, false
	}
	out := ours.clone()
	// Both came to the same revision. The longer history has what the other has,
	// but for what its bound cut off.
	if compareHistory(theirs.History, ours.History) > 0 {
		out.History = slices.Clone(theirs.History)
	}
	return out, true
}

func compareHistory(a, b []Past) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.CompareFunc(a, b, func(x, y Past) int {
		return strings.Compare(x.Source+"\x00"+x.Revision+"\x00"+x.Version+"\x00"+string(x.Digest), y.Source+"\x00"+y.Revision+"\x00"+y.Version+"\x00"+string(y.Digest))
	})
}

// mergeTargets merges the folders of a skill, and the agents of each folder.
func mergeTargets(base, ours, theirs *Locked) ([]Target, bool) {
	dirs := map[string]bool{}
	sides := make([]map[string]Target, 3)
	for i, s := range []*Locked{base, ours, theirs} {
		sides[i] = map[string]Target{}
		if s == nil {
			continue
		}
		for _, t := range s.Targets {
			sides[i][t.Dir] = t
			dirs[t.Dir] = true
		}
	}
	var out []Target
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		b, inBase := sides[0][dir]
		o, inOurs := sides[1][dir]
		t, inTheirs := sides[2][dir]
		switch {
		case inOurs && inTheirs:
			m, ok := mergeTarget(b, o, t)
			if !ok {
				return nil, false
			}
			out = append(out, m)
		case inOurs && !inBase:
			out = append(out, o)
		case inTheirs && !inBase:
			out = append(out, t)
		case inOurs && !reflect.DeepEqual(o, b), inTheirs && !reflect.DeepEqual(t, b):
			return nil, false // removed here, changed there
		}
	}
	return out, true
}

func mergeTarget(b, o, t Target) (Target, bool) {
	out := Target{Dir: o.Dir}
	switch {
	case o.Mode == t.Mode, b.Mode == t.Mode:
		out.Mode = o.Mode
	case b.Mode == o.Mode:
		out.Mode = t.Mode
	default:
		return out, false
	}
	// What lies in a folder is not shared by the sides, and the next installation
	// looks for itself.
	if o.Digest == t.Digest {
		out.Digest = o.Digest
	}
	agents := map[string]bool{}
	for _, a := range slices.Concat(o.Agents, t.Agents) {
		removed := slices.Contains(b.Agents, a) && !(slices.Contains(o.Agents, a) && slices.Contains(t.Agents, a))
		if !removed {
			agents[a] = true
		}
	}
	if len(agents) > 0 {
		out.Agents = slices.Sorted(maps.Keys(agents))
	}
	return out, true
}

// withConflicts writes a lock in which both sides of each conflict are kept. Either side of
// any of them can be taken as it stands, also one that has nothing: no comma is left where
// none may be, because the last line is one that stays. Where there is none, all conflicts
// are one, of which each side is whole.
func withConflicts(l *Lock, conflicts []string, ours, theirs map[string]Locked) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"v\": %d,\n  \"skills\": {\n", lockVersion)
	names := slices.Concat(l.Names(), conflicts)
	slices.Sort(names)
	last := -1
	for i, name := range names {
		_, clean := l.Skills[name]
		if clean || at(ours, name) != nil && at(theirs, name) != nil {
			last = i
		}
	}
	if last < 0 {
		writeConflict(&b, names, ours, theirs, "\n")
		names = nil
	} else {
		name := names[last]
		names = append(slices.Delete(names, last, last+1), name)
	}
	for i, name := range names {
		end := ",\n"
		if i == len(names)-1 {
			end = "\n"
		}
		if s, ok := l.Skills[name]; ok {
			b.Write(append(lockLine(name, s), end...))
			continue
		}
		writeConflict(&b, names[i:i+1], ours, theirs, end)
	}
	b.WriteString("  }\n}\n")
	return b.Bytes()
}

// writeConflict writes both sides of a conflict; end is behind the last line of each.
func writeConflict(b *bytes.Buffer, names []string, ours, theirs map[string]Locked, end string) {
	side := func(skills map[string]Locked) {
		var lines [][]byte
		for _, name := range names {
			if s, ok := skills[name]; ok {
				lines = append(lines, lockLine(name, s))
			}
		}
		if len(lines) > 0 {
			b.Write(bytes.Join(lines, []byte(",\n")))
			b.WriteString(end)
		}
	}
	b.WriteString("<<<<<<< ours\n")
	side(ours)
	b.WriteString("=======\n")
	side(theirs)
	b.WriteString(">>>>>>> theirs\n")
}
