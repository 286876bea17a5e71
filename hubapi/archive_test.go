package hubapi

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func writeArchive(t testing.TB, a Archive) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := new(Archiver).Write(&buf, a); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// tarred writes headers as they are given, hostile ones too.
func tarred(t testing.TB, members ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range members {
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func file(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1} }

func TestArchiveRoundTrip(t *testing.T) {
	var archiver Archiver // used again and again, as in a server
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[a-zé€][a-z0-9 é._-]{0,40}`)
		name := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(word, 1, 5).Draw(rt, "parts"), "/")
		})
		in := Archive{Top: word.Draw(rt, "top")}
		names := rapid.SliceOfNDistinct(name, 1, 8, rapid.ID[string]).Draw(rt, "names")
		for _, n := range names {
			for _, other := range names {
				if strings.HasPrefix(n, other+"/") {
					rt.Skip("a file and a folder of one name")
				}
			}
			in.Files = append(in.Files, File{
				Path: n, Data: rapid.SliceOfN(rapid.Byte(), 0, 1000).Draw(rt, "data"),
				Executable: rapid.Bool().Draw(rt, "executable"),
			})
		}
		if rapid.Bool().Draw(rt, "signed") {
			in.Signature = rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(rt, "signature")
		}
		var first, second bytes.Buffer
		if err := archiver.Write(&first, in); err != nil {
			rt.Fatal(err)
		}
		shuffled := in
		shuffled.Files = rapid.Permutation(in.Files).Draw(rt, "order")
		if err := archiver.Write(&second, shuffled); err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			rt.Fatal("the order of the files entered the archive")
		}
		out, err := archiver.Read(iotest.OneByteReader(&first))
		if err != nil {
			rt.Fatal(err)
		}
		slices.SortFunc(in.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		if diff := cmp.Diff(in, out, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestArchiveRefusals(t *testing.T) {
	good := tarred(t, file("p/a"), file("p/b"))
	many := func(n int) (out []tar.Header) {
		for i := range n {
			out = append(out, file(fmt.Sprintf("p/%d", i)))
		}
		return out
	}
	old := file("p/a")
	old.ModTime, old.Format = time.Unix(-5, 0), tar.FormatGNU
	for name, tt := range map[string]struct {
		tar  []byte
		raw  []byte // not compressed by the test
		id   string
		code Code
	}{
		"D1 parent":          {tar: tarred(t, file("../evil")), id: "archive.path"},
		"D1 absolute":        {tar: tarred(t, file("/abs")), id: "archive.path"},
		"D1 through":         {tar: tarred(t, file("p/a/../../b")), id: "archive.path"},
		"D1 drive":           {tar: tarred(t, file("p/C:evil")), id: "archive.path"},
		"D1 backslash":       {tar: tarred(t, file(`p/a\..\b`)), id: "archive.path"},
		"dot inside":         {tar: tarred(t, file("p/./a")), id: "archive.path"},
		"empty component":    {tar: tarred(t, file("p//a")), id: "archive.path"},
		"control character":  {tar: tarred(t, file("p/a\nb")), id: "archive.path"},
		"not UTF-8":          {tar: tarred(t, tar.Header{Typeflag: tar.TypeReg, Name: "p/\xff", Format: tar.FormatGNU}), id: "archive.path"},
		"D2 twice":           {tar: tarred(t, file("p/a"), file("p/a")), id: "archive.duplicate"},
		"D2 twice with ./":   {tar: tarred(t, file("p/a"), file("./p/a")), id: "archive.duplicate"},
		"file and folder":    {tar: tarred(t, file("p/a"), file("p/a/b")), id: "archive.duplicate"},
		"folder and file":    {tar: tarred(t, file("p/a/b"), file("p/a")), id: "archive.duplicate"},
		"two signatures":     {tar: tarred(t, file("p/a"), file("x.sig.json"), file("y.sig.json")), id: "archive.duplicate"},
		"D5 hard link":       {tar: tarred(t, tar.Header{Typeflag: tar.TypeLink, Name: "p/a", Linkname: "../../etc/passwd"}), id: "archive.type"},
		"D5 symbolic link":   {tar: tarred(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "p/a", Linkname: "/etc/passwd"}), id: "archive.type"},
		"D5 device":          {tar: tarred(t, tar.Header{Typeflag: tar.TypeChar, Name: "p/a"}), id: "archive.type"},
		"D5 pipe":            {tar: tarred(t, tar.Header{Typeflag: tar.TypeFifo, Name: "p/a"}), id: "archive.type"},
		"D6 bomb":            {tar: make([]byte, 4<<20), id: "archive.bomb", code: TooLarge},
		"D6 bomb in a file":  {tar: tarred(t, tar.Header{Typeflag: tar.TypeReg, Name: "p/a", Size: 8 << 20}), id: "archive.bomb", code: TooLarge},
		"claims 2^50 bytes":  {tar: huge(t), id: "archive.too-large", code: TooLarge},
		"D9 too many":        {tar: tarred(t, many(1025)...), id: "archive.too-many", code: TooLarge},
		"D12 path":           {tar: paxRecord(t, "path=p/b"), id: "archive.pax"},
		"D12 size":           {tar: paxRecord(t, "size=1"), id: "archive.pax"},
		"D12 sparse":         {tar: paxRecord(t, "GNU.sparse.name=p/b"), id: "archive.pax"},
		"D12 sparse size":    {tar: paxRecord(t, "GNU.sparse.realsize=99999999999"), id: "archive.pax"},
		"D12 link":           {tar: paxRecord(t, "linkpath=/etc/passwd"), id: "archive.pax"},
		"D12 before 1970":    {tar: tarred(t, old), id: "archive.pax"},
		"second folder":      {tar: tarred(t, file("p/a"), file("q/a")), id: "archive.layout"},
		"no folder":          {tar: tarred(t, file("a")), id: "archive.layout"},
		"only folders":       {tar: tarred(t, tar.Header{Typeflag: tar.TypeDir, Name: "p/"}), id: "archive.empty"},
		"nothing":            {tar: tarred(t), id: "archive.empty"},
		"only a signature":   {tar: tarred(t, file("p.sig.json")), id: "archive.empty"},
		"empty signature":    {tar: tarred(t, file("p/a"), tar.Header{Typeflag: tar.TypeReg, Name: "p.sig.json"}), id: "archive.empty"},
		"large signature":    {tar: tarred(t, file("p/a"), tar.Header{Typeflag: tar.TypeReg, Name: "p.sig.json", Size: MaxSignature + 1}), id: "sign.too-large", code: TooLarge},
		"data behind tar":    {tar: append(slices.Clone(good), "hidden"...), id: "archive.trailing"},
		"data behind gzip":   {raw: append(gzipped(t, good), 'x'), id: "archive.trailing"},
		"second gzip member": {raw: append(gzipped(t, good), gzipped(t, good)...), id: "archive.trailing"},
		"cut":                {raw: gzipped(t, good)[:60], id: "archive.truncated"},
		"cut checksum":       {raw: gzipped(t, good)[:len(gzipped(t, good))-3], id: "archive.truncated"},
		"wrong checksum":     {raw: flip(gzipped(t, good)), id: "archive.format"},
		"not gzip":           {raw: []byte("PK\x03\x04 this is a zip file, perhaps"), id: "archive.format"},
		"no bytes":           {raw: []byte{}, id: "archive.truncated"},
		"not tar":            {tar: bytes.Repeat([]byte("text\n"), 1000), id: "archive.format"},
	} {
		t.Run(name, func(t *testing.T) {
			raw := tt.raw
			if raw == nil {
				raw = gzipped(t, tt.tar)
			}
			_, err := new(Archiver).Read(bytes.NewReader(raw))
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error %v, want an *Error", err)
			}
			code := tt.code
			if code == "" {
				code = Invalid
			}
			if e.ID() != tt.id || e.Code != code {
				t.Errorf("%s (%s): %s; want %s (%s)", e.ID(), e.Code, e.Message, tt.id, code)
			}
		})
	}
}

func flip(data []byte) []byte {
	data[len(data)-6] ^= 1
	return data
}

// huge is a header that promises more than it has.
func huge(t *testing.T) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "p/a", Size: 1 << 50, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// paxRecord puts an extended header with one record before the member p/a. The
// tar package of Go writes none of those that are refused.
func paxRecord(t *testing.T, text string) []byte {
	record := fmt.Appendf(nil, "%d %s\n", len(text)+4, text)
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "PaxHeaders/a", Size: int64(len(record))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	out := buf.Bytes()
	out[156] = 'x'
	sum := 0
	copy(out[148:156], "        ")
	for _, c := range out[:512] {
		sum += int(c)
	}
	copy(out[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return append(out, tarred(t, file("p/a"))...)
}

func TestArchiveAccepts(t *testing.T) {
	for name, members := range map[string][]tar.Header{
		"folders, as tar writes them": {
			{Typeflag: tar.TypeDir, Name: "./", Mode: 0o755},
			{Typeflag: tar.TypeDir, Name: "./p/", Mode: 0o755},
			{Typeflag: tar.TypeReg, Name: "./p/a", Size: 1, Mode: 0o644},
		},
		"a commit in a global header": {
			{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": strings.Repeat("a", 40)}},
			file("p/a"),
		},
		"times in extended headers": {
			{Typeflag: tar.TypeReg, Name: "p/a", Size: 1, Mode: 0o644, Format: tar.FormatPAX, ModTime: time.Unix(5, 500)},
		},
		"a signature before its folder": {file("other@1.sig.json"), file("p/a")},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range members {
				if members[i].Typeflag == tar.TypeXGlobalHeader {
					members[i].Mode = 0
				}
			}
			var buf bytes.Buffer
			w := tar.NewWriter(&buf)
			for _, h := range members {
				if err := w.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(w, strings.Repeat("x", int(h.Size))); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			a, err := new(Archiver).Read(bytes.NewReader(gzipped(t, buf.Bytes())))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]File{{Path: "a", Data: []byte("x")}}, a.Files); diff != "" || a.Top != "p" {
				t.Errorf("top %q, files %s", a.Top, diff)
			}
		})
	}
}

func TestArchiveOfOneOwnHubMayPackWell(t *testing.T) {
	zeros := Archive{Top: "p", Files: []File{{Path: "a", Data: make([]byte, 15<<20)}}}
	data := writeArchive(t, zeros)
	if _, err := new(Archiver).Read(bytes.NewReader(data)); AsError(err).ID() != "archive.bomb" {
		t.Errorf("from a stranger: %v", err)
	}
	trusting := Archiver{AnyRatio: true}
	if _, err := trusting.Read(bytes.NewReader(data)); err != nil {
		t.Errorf("from one's own hub: %v", err)
	}
	zeros.Files[0].Data = make([]byte, 17<<20)
	if _, err := trusting.Read(bytes.NewReader(writeArchive(t, zeros))); AsError(err).ID() != "archive.too-large" {
		t.Errorf("17 MiB: %v", err)
	}
}

func TestArchiveGivesTheReadersOwnError(t *testing.T) {
	data := writeArchive(t, Archive{Top: "p", Files: []File{{Path: "a", Data: bytes.Repeat([]byte("abc"), 9000)}}})
	oops := errors.New("oops")
	_, err := new(Archiver).Read(io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(oops)))
	if !errors.Is(err, oops) {
		t.Errorf("error %v", err)
	}
}

func FuzzReadArchive(f *testing.F) {
	f.Add(writeArchive(f, Archive{Top: "p", Files: []File{{Path: "a/b", Data: []byte("x")}}, Signature: []byte("{}")}))
	f.Add(gzipped(f, tarred(f, file("../x"))))
	f.Add(gzipped(f, []byte("x")))
	var archiver Archiver
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := archiver.Read(bytes.NewReader(data))
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("error %v is none of ours", err)
			}
			return
		}
		// What was accepted is read the same when it is written again.
		b, err := archiver.Read(bytes.NewReader(writeArchive(t, a)))
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(a.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		if diff := cmp.Diff(a, b, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkArchive(b *testing.B) {
	in := Archive{Top: "p", Files: []File{{Path: "SKILL.md", Data: bytes.Repeat([]byte("Read the mail. "), 130)}}}
	var archiver Archiver
	var buf bytes.Buffer
	for b.Loop() {
		buf.Reset()
		if err := archiver.Write(&buf, in); err != nil {
			b.Fatal(err)
		}
		if _, err := archiver.Read(&buf); err != nil {
			b.Fatal(err)
		}
	}
}
