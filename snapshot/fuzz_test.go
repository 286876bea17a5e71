package snapshot

import (
	"bytes"
	"testing"
)

func FuzzIndexLine(f *testing.F) {
	f.Add([]byte(`{"author":"acme","name":"triage","version":"1","format":"skill-md","digest":"sp1:` + sum(nil) + `","signed":false,"archive":"` + sum(nil) + `","size":1}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"author":"a","author":"b"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parseEntry(line)
		if err != nil {
			return
		}
		again, err := e.line()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseEntry(bytes.TrimSuffix(again, []byte("\n")))
		if err != nil || back.Ref() != e.Ref() || back.Archive != e.Archive {
			t.Fatalf("%q is read back as %+v: %v", again, back, err)
		}
	})
}
