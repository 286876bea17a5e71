package pack

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"
)

// stat is what a file says of itself at one moment.
type stat struct {
	size int64
	mod  time.Time
}

func (s stat) Name() string       { return "f" }
func (s stat) Size() int64        { return s.size }
func (s stat) Mode() fs.FileMode  { return 0o644 }
func (s stat) ModTime() time.Time { return s.mod }
func (s stat) IsDir() bool        { return false }
func (s stat) Sys() any           { return nil }

// moving is a file that changes while it is read.
type moving struct {
	io.Reader
	after fs.FileInfo
	err   error
}

func (m moving) Stat() (fs.FileInfo, error) { return m.after, m.err }

// C17: a file that changes under the reader is refused.
func TestReadStable(t *testing.T) {
	t0 := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		name    string
		before  stat
		content io.Reader
		after   stat
		err     error
		id      string
	}{
		{"still", stat{3, t0}, strings.NewReader("abc"), stat{3, t0}, nil, ""},
		{"empty", stat{0, t0}, strings.NewReader(""), stat{0, t0}, nil, ""},
		{"in small pieces", stat{3, t0}, io.MultiReader(strings.NewReader("a"), strings.NewReader("bc")), stat{3, t0}, nil, ""},
		{"grew", stat{3, t0}, strings.NewReader("abcd"), stat{4, t0}, nil, "pack.changed-during-read"},
		{"shrank", stat{3, t0}, strings.NewReader("ab"), stat{2, t0}, nil, "pack.changed-during-read"},
		{"shrank to nothing", stat{3, t0}, strings.NewReader(""), stat{0, t0}, nil, "pack.changed-during-read"},
		{"rewritten", stat{3, t0}, strings.NewReader("xyz"), stat{3, t0.Add(1)}, nil, "pack.changed-during-read"},
		{"cannot be read", stat{3, t0}, failing{}, stat{3, t0}, nil, "pack.unreadable"},
		{"cannot be looked at", stat{3, t0}, strings.NewReader("abc"), stat{}, errors.New("gone"), "pack.unreadable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, fault := readStable("f", moving{c.content, c.after, c.err}, c.before)
			if c.id == "" {
				if fault != nil || int64(len(data)) != c.before.size {
					t.Errorf("got %q, %v", data, fault)
				}
				return
			}
			if fault == nil || fault.ID != c.id || fault.Place.File != "f" {
				t.Errorf("got %v, want %s", fault, c.id)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("input/output error") }
