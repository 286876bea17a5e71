package deliver

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Side says what to do with a file that a person and an update both changed.
type Side string

// The sides.
const (
	AskSide    Side = ""       // write nothing, and say so
	KeepSide   Side = "keep"   // the person's file
	TheirsSide Side = "theirs" // the update's
)

// content is one file of one side; nil is a file that is not there.
type content struct {
	data       []byte
	executable bool
}

// mergeFiles merges what a person did to a skill with what an update does to it:
// base as it was written, ours as it is on disk, theirs as it comes. The result is
// what the folder has to hold. Where both changed the same lines of a text, or a
// file that is no text, the file is a conflict and side decides; with AskSide the
// person's file stands in the result, which must not be written then.
func mergeFiles(base, ours, theirs map[string]content, side Side) (merged map[string]content, conflicts []string) {
	names := map[string]bool{}
	for _, files := range []map[string]content{base, ours, theirs} {
		for name := range files {
			names[name] = true
		}
	}
	merged = map[string]content{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, o, t := lookUp(base, name), lookUp(ours, name), lookUp(theirs, name)
		out, clean := mergeFile(b, o, t)
		if !clean {
			conflicts = append(conflicts, name)
			if out = o; side == TheirsSide {
				out = t
			}
		}
		if out != nil {
			merged[name] = *out
		}
	}
	return merged, conflicts
}

func lookUp(files map[string]content, name string) *content {
	if c, ok := files[name]; ok {
		return &c
	}
	return nil
}

func sameData(a, b *content) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.data, b.data)
}

func mergeFile(base, ours, theirs *content) (*content, bool) {
	switch {
	case sameData(ours, base), sameData(ours, theirs):
		return theirs, true
	case sameData(theirs, base):
		return ours, true
	case base == nil || ours == nil || theirs == nil:
		return nil, false
	}
	text, ok := MergeText(base.data, ours.data, theirs.data)
	if !ok {
		return nil, false
	}
	return &content{data: text, executable: theirs.executable}, true
}

// maxMergeLines bounds the lines of the three texts of a merge.
const maxMergeLines = 60_000

// MergeText merges the changes of two texts from a common one, by lines. It fails
// where both changed the same lines, or lines that touch, in different ways, and
// for what is no text.
func MergeText(base, ours, theirs []byte) ([]byte, bool) {
	for _, data := range [][]byte{base, ours, theirs} {
		if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return nil, false
		}
	}
	b, o, t := lines(base), lines(ours), lines(theirs)
	if len(b)+len(o)+len(t) > maxMergeLines {
		return nil, false
	}
	x, y := lcs.DiffLines(b, o), lcs.DiffLines(b, t)
	var out strings.Builder
	done := 0 // lines of base
	copyTo := func(end int) {
		for ; done < end; done++ {
			out.WriteString(b[done])
		}
	}
	apply := func(d lcs.Diff, from []string) {
		copyTo(d.Start)
		for _, line := range from[d.ReplStart:d.ReplEnd] {
			out.WriteString(line)
		}
		done = d.End
	}
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].End < y[0].Start:
			apply(x[0], o)
			x = x[1:]
		case len(x) == 0 || y[0].End < x[0].Start:
			apply(y[0], t)
			y = y[1:]
		case x[0].Start == y[0].Start && x[0].End == y[0].End &&
			slices.Equal(o[x[0].ReplStart:x[0].ReplEnd], t[y[0].ReplStart:y[0].ReplEnd]):
			apply(x[0], o)
			x, y = x[1:], y[1:]
		default:
			return nil, false
		}
	}
	copyTo(len(b))
	return []byte(out.String()), true
}

func lines(data []byte) []string {
	var out []string
	for line := range strings.Lines(string(data)) {
		out = append(out, line)
	}
	return out
}
