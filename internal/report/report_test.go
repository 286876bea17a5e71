package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
)

func TestListOfReports(t *testing.T) {
	type totals struct {
		N int `json:"n"`
	}
	for _, tt := range []struct {
		name  string
		items []any
		want  string
	}{
		{"none", nil, "{\"reports\":[],\"n\":0}\n"},
		{"one", []any{map[string]string{"a": "<b>"}}, "{\"reports\":[\n{\"a\":\"<b>\"}\n],\"n\":1}\n"},
		{"two", []any{1, "\x1b[2J"}, "{\"reports\":[\n1,\n\"\\u001b[2J\"\n],\"n\":2}\n"},
		{"a right-to-left override", []any{"a\u202eb"}, "{\"reports\":[\n\"a\\u202eb\"\n],\"n\":1}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			out := NewOutput(&b, Options{})
			for _, item := range tt.items {
				if err := out.Item(item); err != nil {
					t.Fatal(err)
				}
			}
			if b.Len() != 0 {
				t.Errorf("written before the end: %q", b.String())
			}
			if err := out.EndItems(totals{len(tt.items)}); err != nil {
				t.Fatal(err)
			}
			if b.String() != tt.want || !json.Valid(b.Bytes()) {
				t.Errorf("got  %q\nwant %q", b.String(), tt.want)
			}
		})
	}
}

func TestAnItemThatIsNoJSON(t *testing.T) {
	out := NewOutput(&bytes.Buffer{}, Options{})
	if err := out.Item(func() {}); err == nil {
		t.Error("a function was written")
	}
}

func TestBelow(t *testing.T) {
	base := t.TempDir()
	inside := filepath.ToSlash(filepath.Join(base, "a", "b"))
	outside := filepath.ToSlash(filepath.Dir(base))
	for _, tt := range []struct{ base, name, want string }{
		{base, inside, "a/b"},
		{base, "a/b", "a/b"},
		{base, outside, outside},
		{"", inside, inside},
	} {
		if got := NewOutput(nil, Options{Base: tt.base}).Below(tt.name); got != tt.want {
			t.Errorf("%q below %q: %q, want %q", tt.name, tt.base, got, tt.want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTheErrorOfAFullDiskIsKept(t *testing.T) {
	out := NewOutput(full{}, Options{})
	out.Put("some", " text")
	if err := out.EndItems(struct{}{}); err == nil {
		t.Error("no error")
	}
}
