package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// Limits of a difference: texts beyond them are said to differ, without lines.
const (
	maxDiffLines = 20_000    // of both texts together
	maxDiffEdits = 1_000     // lines that differ
	maxDiffBytes = 1 << 20   // of all files of one answer
	diffContext  = 3         // lines around a change
	maxDiffText  = 512 << 10 // bytes of one text
)

// Diff compares a release with another version of its skill, both of which p must
// be allowed to see. Without from it is the active one.
func (h *Hub) Diff(ctx context.Context, p Principal, ref hubapi.Ref, from string) (hubapi.Diff, error) {
	return h.diff(ctx, p, func(r Reader) (ReleaseRow, error) { return visible(r, p, ref) }, from)
}

// InboxDiff is Diff for a reviewer: without a version it is the newest release that
// waits.
func (h *Hub) InboxDiff(ctx context.Context, p Principal, ref hubapi.Ref, from string) (hubapi.Diff, error) {
	if _, err := h.reviewing(ctx, p); err != nil {
		return hubapi.Diff{}, err
	}
	return h.diff(ctx, p, func(r Reader) (ReleaseRow, error) { return shown(r, p, ref) }, from)
}

func (h *Hub) diff(ctx context.Context, p Principal, find func(Reader) (ReleaseRow, error), from string) (hubapi.Diff, error) {
	if err := p.check(); err != nil {
		return hubapi.Diff{}, err
	}
	var (
		out           hubapi.Diff
		before, after []pack.File
	)
	err := h.read(ctx, func(r Reader) error {
		out, before = hubapi.Diff{}, nil
		to, err := find(r)
		if err != nil {
			return err
		}
		out.To = release(to, nil)
		old, err := comparedWith(r, p, to, from)
		if err != nil {
			return err
		}
		if old.Seq != 0 {
			was := release(old, nil)
			out.From = &was
			if before, err = packFiles(r, old.Seq); err != nil {
				return err
			}
		}
		after, err = packFiles(r, to.Seq)
		return err
	})
	if err != nil {
		return hubapi.Diff{}, err
	}
	out.Files = diffFiles(before, after)
	out.WhitespaceOnly = len(out.Files) > 0 && !slices.ContainsFunc(out.Files, func(f hubapi.FileDiff) bool { return !f.WhitespaceOnly })
	return out, nil
}

// comparedWith is the release that another one is held against: the named version,
// else the active one, else what it was made from; a row without a number when
// there is none of these that p may see.
func comparedWith(r Reader, p Principal, to ReleaseRow, from string) (ReleaseRow, error) {
	if from != "" {
		return visible(r, p, hubapi.Ref{Author: to.Author, Name: to.Name, Version: from})
	}
	now, err := r.Releases(to.Skill, hubapi.Active, 1)
	if err != nil {
		return ReleaseRow{}, err
	}
	if len(now) == 1 && now[0].Seq != to.Seq {
		return now[0], nil
	}
	if to.Note.Base == "" {
		return ReleaseRow{}, nil
	}
	base, err := r.ReleaseWithDigest(to.Skill, to.Note.Base)
	if errors.Is(err, ErrNoRow) || err == nil && !p.sees(base) {
		return ReleaseRow{}, nil
	}
	return base, err
}

func diffFiles(before, after []pack.File) []hubapi.FileDiff {
	out := []hubapi.FileDiff{}
	total := 0
	for _, f := range after {
		old := slices.IndexFunc(before, func(b pack.File) bool { return b.Path == f.Path })
		var was []byte
		change := "added"
		if old >= 0 {
			was, change = before[old].Data, "changed"
			if bytes.Equal(was, f.Data) {
				if before[old].Executable == f.Executable {
					continue
				}
				change = "mode"
			}
		}
		out = append(out, diffFile(f.Path, change, was, f.Data, &total))
	}
	for _, f := range before {
		if !slices.ContainsFunc(after, func(a pack.File) bool { return a.Path == f.Path }) {
			out = append(out, diffFile(f.Path, "removed", f.Data, nil, &total))
		}
	}
	sorting.Sort(out, func(a, b hubapi.FileDiff) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func diffFile(path, change string, before, after []byte, total *int) hubapi.FileDiff {
	d := hubapi.FileDiff{Path: path, Change: change}
	if !isText(before) || !isText(after) {
		d.Binary = change != "mode"
		return d
	}
	d.WhitespaceOnly = change == "changed" && slices.Equal(strings.Fields(string(before)), strings.Fields(string(after)))
	if change == "mode" {
		return d
	}
	text := unified(path, change, before, after)
	if text == "" || *total+len(text) > maxDiffBytes {
		d.Binary = true
		return d
	}
	*total += len(text)
	d.Text = text
	return d
}

func isText(data []byte) bool {
	return len(data) <= maxDiffText && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

// unified is the difference of two texts in the form that patch reads, empty when
// they are too far apart for one that somebody would read.
func unified(path, change string, before, after []byte) string {
	a, b := textLines(before), textLines(after)
	if len(a)+len(b) > maxDiffLines {
		return ""
	}
	edits, ok := lineEdits(a, b)
	if !ok {
		return ""
	}
	names := [2]string{"a/" + path, "b/" + path}
	switch change {
	case "added":
		names[0] = "/dev/null"
	case "removed":
		names[1] = "/dev/null"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", names[0], names[1])
	for _, hunk := range hunks(edits) {
		writeHunk(&out, edits[hunk[0]:hunk[1]])
	}
	return out.String()
}

func textLines(data []byte) []string {
	var out []string
	for line := range strings.Lines(string(data)) {
		out = append(out, line)
	}
	return out
}

// lineEdit is one line of either text: kept (' '), taken away or put in. At are the
// lines of both texts before it.
type lineEdit struct {
	op   byte
	text string
	at   [2]int
}

// lineEdits finds a shortest list of changes from a to b, greedily and in linear
// space per changed line (Myers 1986), or gives up on texts that have little in
// common.
func lineEdits(a, b []string) ([]lineEdit, bool) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	var ops []byte
	switch {
	case len(x) == 0 || len(y) == 0:
		ops = append(bytes.Repeat([]byte{'-'}, len(x)), bytes.Repeat([]byte{'+'}, len(y))...)
	default:
		var ok bool
		if ops, ok = shortest(x, y); !ok {
			return nil, false
		}
	}
	ops = slices.Concat(bytes.Repeat([]byte{' '}, head), ops, bytes.Repeat([]byte{' '}, tail))
	out := make([]lineEdit, 0, len(ops))
	var at [2]int
	for _, op := range ops {
		e := lineEdit{op: op, at: at}
		if op != '+' {
			e.text = a[at[0]]
			at[0]++
		}
		if op != '-' {
			e.text = b[at[1]]
			at[1]++
		}
		out = append(out, e)
	}
	return out, true
}

func shortest(a, b []string) ([]byte, bool) {
	most := min(len(a)+len(b), maxDiffEdits)
	reach := make([]int, 2*most+2)
	var trace [][]int
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(reach[most-d:most+d+2]))
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && reach[most+k-1] < reach[most+k+1] {
				x = reach[most+k+1]
			} else {
				x = reach[most+k-1] + 1
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			reach[most+k] = x
			if x >= len(a) && y >= len(b) {
				return backtrack(trace, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// backtrack follows the recorded reaches back to the start.
func backtrack(trace [][]int, x, y int) []byte {
	var ops []byte
	for d := len(trace) - 1; d > 0; d-- {
		k, row := x-y, trace[d] // row[i] is the reach on diagonal i-d
		down := k == -d || k != d && row[d+k-1] < row[d+k+1]
		prev := k - 1
		if down {
			prev = k + 1
		}
		px := row[d+prev]
		py := px - prev
		for x > px && y > py {
			ops = append(ops, ' ')
			x, y = x-1, y-1
		}
		if down {
			ops = append(ops, '+')
		} else {
			ops = append(ops, '-')
		}
		x, y = px, py
	}
	for x > 0 && y > 0 {
		ops = append(ops, ' ')
		x, y = x-1, y-1
	}
	slices.Reverse(ops)
	return ops
}

// hunks are the runs of changes with the lines around them.
func hunks(edits []lineEdit) [][2]int {
	var out [][2]int
	for i, e := range edits {
		if e.op == ' ' {
			continue
		}
		start, end := max(0, i-diffContext), min(len(edits), i+1+diffContext)
		if n := len(out); n > 0 && out[n-1][1] >= start {
			out[n-1][1] = end
		} else {
			out = append(out, [2]int{start, end})
		}
	}
	return out
}

func writeHunk(out *strings.Builder, edits []lineEdit) {
	var count [2]int
	for _, e := range edits {
		if e.op != '+' {
			count[0]++
		}
		if e.op != '-' {
			count[1]++
		}
	}
	place := func(side int) string {
		first := edits[0].at[side]
		if count[side] > 0 {
			first++
		}
		if count[side] == 1 {
			return fmt.Sprint(first)
		}
		return fmt.Sprintf("%d,%d", first, count[side])
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", place(0), place(1))
	for _, e := range edits {
		out.WriteByte(e.op)
		out.WriteString(e.text)
		if !strings.HasSuffix(e.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
