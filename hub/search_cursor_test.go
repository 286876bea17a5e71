package hub

import (
	"strings"
	"testing"
)

func FuzzCursor(f *testing.F) {
	s, err := readSearch(LocalAdmin(), SearchQuery{Text: "mail"})
	if err != nil {
		f.Fatal(err)
	}
	good := s.cursor(position{score: 7, seq: 9})
	f.Add(good)
	f.Add("")
	f.Add(good + "A")
	f.Add(strings.Repeat("A", 600))
	f.Fuzz(func(t *testing.T, text string) {
		at, err := s.readCursor(text)
		if err == nil && s.cursor(*at) != text {
			t.Fatalf("%q was read as %+v", text, at)
		}
	})
}
