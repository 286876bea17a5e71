package translog_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/translog"
)

func vectorProof(t testing.TB) (translog.Proof, vectors) {
	t.Helper()
	v := readVectors(t)
	return translog.Proof{Index: 2, Hashes: hashes(t, v.Inclusion), Note: []byte(v.Checkpoint)}, v
}

func TestProofText(t *testing.T) {
	p, v := vectorProof(t)
	want := "c2sp.org/tlog-proof@v1\nindex 2\n" + strings.Join(v.Inclusion, "\n") + "\n\n" + v.Checkpoint
	if p.Text() != want {
		t.Errorf("got\n%s\nwant\n%s", p.Text(), want)
	}
	again, err := translog.ParseProof([]byte(want))
	if diff := cmp.Diff(p, again); diff != "" || err != nil {
		t.Error(err, diff)
	}
	c, err := again.Check([]byte(v.Entries[2]), v.VKey)
	if err != nil || c.Size != 5 || c.Origin != v.Origin {
		t.Errorf("checked %+v, %v", c, err)
	}
	if _, err := again.Check([]byte(v.Entries[3]), v.VKey); id(err) != translog.IDProof {
		t.Errorf("another entry: %v", err)
	}
	again.Note = bytes.Replace(again.Note, []byte("\n5\n"), []byte("\n4\n"), 1)
	if _, err := again.Check([]byte(v.Entries[2]), v.VKey); id(err) != translog.IDUnsigned {
		t.Errorf("another checkpoint: %v", err)
	}
	p.Extra = []byte(v.Entries[2])
	if whole, err := translog.ParseProof([]byte(p.Text())); err != nil || string(whole.Extra) != v.Entries[2] {
		t.Errorf("with its entry: %v", err)
	}
	for name, text := range map[string]string{
		"nothing": "", "no head": strings.TrimPrefix(want, "c2sp"), "no checkpoint": strings.SplitAfter(want, "\n\n")[0],
		"no index": strings.Replace(want, "index 2\n", "", 1), "padded index": strings.Replace(want, "index 2", "index 02", 1),
		"negative index": strings.Replace(want, "index 2", "index -2", 1), "extra twice": strings.Replace(want, "index 2", "extra aGVsbG8=\nextra aGVsbG8=\nindex 2", 1),
		"extra behind": strings.Replace(want, "index 2", "index 2\nextra aGVsbG8=", 1), "extra of words": strings.Replace(want, "index 2", "extra hello\nindex 2", 1),
		"a short hash": strings.Replace(want, v.Inclusion[0], v.Inclusion[0][4:], 1),
		"many hashes":  strings.Replace(want, v.Inclusion[0]+"\n", strings.Repeat(v.Inclusion[0]+"\n", 70), 1),
	} {
		if _, err := translog.ParseProof([]byte(text)); id(err) != translog.IDFormat {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseProof(f *testing.F) {
	p, v := vectorProof(f)
	f.Add([]byte(p.Text()))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := translog.ParseProof(data)
		if err != nil {
			return
		}
		if p.Text() != string(data) {
			t.Errorf("%q comes back as %q", data, p.Text())
		}
		_, _ = p.Check([]byte(v.Entries[2]), v.VKey)
	})
}
