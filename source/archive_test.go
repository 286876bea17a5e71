package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type member struct{ name, text string }

func zipped(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.Create(m.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(m.text)), Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// saved writes an archive and gives the folder that it lies in.
func saved(t *testing.T, name string, data []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnArchiveIsReadOnDiskAndByHTTP(t *testing.T) {
	list := []member{
		{"pack/README.md", "about"},
		{"pack/alpha/SKILL.md", skill("alpha")},
		{"pack/alpha/more.md", "more"},
		{"pack/beta/SKILL.md", skill("beta")},
		{"pack/node_modules/x/SKILL.md", skill("x")},
		{"pack/alpha/in/SKILL.md", skill("in")},
	}
	forms := map[string][]byte{"a.zip": zipped(t, list...), "a.tar": tarred(t, list...), "a.tar.gz": gzipped(t, tarred(t, list...)), "a.tgz": gzipped(t, tarred(t, list...))}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(forms[strings.TrimPrefix(r.URL.Path, "/")])
	}))
	defer server.Close()
	digest := ""
	for name, data := range forms {
		for _, text := range []string{"./" + name, server.URL + "/" + name} {
			got := fetch(t, &Sources{Dir: saved(t, name, data)}, text)
			if !slices.Equal(paths(got), []string{"pack/alpha", "pack/beta"}) {
				t.Errorf("%s holds %q", text, paths(got))
				continue
			}
			f, err := got.Pick("alpha")
			if err != nil || len(f.Pack.Files) != 3 {
				t.Errorf("%s: %+v, %v", text, f, err)
				continue
			}
			if digest == "" {
				digest = string(f.Digest)
			}
			if string(f.Digest) != digest {
				t.Errorf("%s: the digest is %s, in another form %s", text, f.Digest, digest)
			}
			one := fetch(t, &Sources{Dir: saved(t, name, data)}, text+"//pack/beta")
			if !slices.Equal(paths(one), []string{"pack/beta"}) {
				t.Errorf("%s: the folder pack/beta holds %q", text, paths(one))
			}
		}
	}
}

// D15.
func TestAnArchiveWhoseFolderHasAnotherNameIsRefused(t *testing.T) {
	s := &Sources{Dir: saved(t, "a.zip", zipped(t, member{"other/SKILL.md", skill("alpha")}))}
	refused(t, second(fetch(t, s, "./a.zip").Pick("")), "pack.name-mismatch")
	s = &Sources{Dir: saved(t, "a.zip", zipped(t, member{"SKILL.md", skill("alpha")}))}
	if f, err := fetch(t, s, "./a.zip").Pick("alpha"); err != nil || f.Path != "" {
		t.Errorf("without a folder: %+v, %v", f, err)
	}
}

// D1 to D13, peers 13.
func TestHostileArchives(t *testing.T) {
	good := member{"a/SKILL.md", skill("a")}
	patch := func(data []byte, find, put string, nth int) []byte {
		out := slices.Clone(data)
		at := 0
		for ; nth >= 0; nth-- {
			i := bytes.Index(out[at:], []byte(find))
			if i < 0 {
				t.Fatalf("no %q in the archive", find)
			}
			at += i + 1
		}
		copy(out[at-1:], put)
		return out
	}
	entry := func(data []byte, offset int, n uint32, width int) []byte {
		out := slices.Clone(data)
		at := bytes.Index(out, []byte("PK\x01\x02")) + offset
		if width == 2 {
			binary.LittleEndian.PutUint16(out[at:], uint16(n))
		} else {
			binary.LittleEndian.PutUint32(out[at:], n)
		}
		return out
	}
	withHeader := func(h tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		return append(b.Bytes(), tarred(t, good)...)
	}
	many := make([]member, 3000)
	for i := range many {
		many[i] = member{name: "a/" + strings.Repeat("x", i%50+1) + string(rune('a'+i%26)) + strings.Repeat("y", i/50)}
	}
	one := zipped(t, good)
	for _, tt := range []struct {
		why  string
		data []byte
		id   string
	}{
		{"D1 up", zipped(t, good, member{"../evil", "x"}), "archive.path"},
		{"D1 absolute", zipped(t, good, member{"/abs", "x"}), "archive.path"},
		{"D1 up inside", zipped(t, good, member{"a/../../b", "x"}), "archive.path"},
		{"D1 drive", zipped(t, good, member{"C:evil", "x"}), "archive.path"},
		{"D1 backslash", zipped(t, good, member{`a\..\b`, "x"}), "archive.path"},
		{"D1 tar", tarred(t, good, member{"../evil", "x"}), "archive.path"},
		{"D2", zipped(t, good, member{"a/SKILL.md", skill("b")}), "archive.duplicate"},
		{"D2 tar", tarred(t, good, member{"a/SKILL.md", skill("b")}), "archive.duplicate"},
		{"file and folder", zipped(t, good, member{"a", "x"}), "archive.duplicate"},
		{"D3", patch(one, "a/SKILL.md", "a/SKILL.mx", 0), "archive.header-mismatch"},
		{"D3 offset", entry(one, 42, 5, 4), "archive.header-mismatch"},
		{"D5 hard link", withHeader(tar.Header{Name: "a/x", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}), "archive.type"},
		{"D5 link", withHeader(tar.Header{Name: "a/x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "archive.type"},
		{"D5 device", withHeader(tar.Header{Name: "a/x", Typeflag: tar.TypeChar}), "archive.type"},
		{"D5 pipe", withHeader(tar.Header{Name: "a/x", Typeflag: tar.TypeFifo}), "archive.type"},
		{"D5 zip link", entry(entry(one, 38, 0o120777<<16, 4), 4, 3<<8|20, 2), "archive.type"},
		{"D6 gzip", gzipped(t, tarred(t, good, member{"a/zeros", strings.Repeat("\x00", 8<<20)})), "archive.bomb"},
		{"D6 zip", zipped(t, good, member{"a/zeros", strings.Repeat("\x00", 8<<20)}), "archive.bomb"},
		{"D8", entry(one, 24, 10, 4), "archive.size"},
		{"D9", zipped(t, many...), "archive.too-many"},
		{"D12", withHeader(tar.Header{Name: strings.Repeat("long/", 80) + "x", Typeflag: tar.TypeReg, Format: tar.FormatPAX}), "archive.pax"},
		{"D13", entry(one, 8, 1, 2), "archive.encrypted"},
		{"D3 descriptor", patch(one, "PK\x07\x08", "PK\x07\x09", 0), "archive.header-mismatch"},
		{"D3 second name", zippedExtra(t, []byte{0x75, 0x70, 5, 0, 1, 0, 0, 0, 0}), "archive.header-mismatch"},
		{"D3 no member there", patch(one, "PK\x03\x04", "PKxx", 0), "archive.header-mismatch"},
		{"D5 zip link of a Mac", entry(entry(one, 38, 0o120777<<16, 4), 4, 19<<8|20, 2), "archive.type"},
		{"D5 zip pipe", entry(entry(one, 38, 0o010777<<16, 4), 4, 3<<8|20, 2), "archive.type"},
		{"D5 zip folder that is a file", entry(entry(one, 38, 0o040777<<16, 4), 4, 3<<8|20, 2), "archive.type"},
		{"D6 members that share bytes", overlapping(zipped(t, good, member{"a/SKILL.mx", "x"})), "archive.bomb"},
		{"D8 4 GiB", entry(one, 24, 1<<32-1, 4), "archive.size"},
		{"D8 stored in two sizes", entry(one, 10, 0, 2), "archive.size"},
		{"D8 folder with content", patch(patch(one, "a/SKILL.md", "a/SKILL.m/", 0), "a/SKILL.md", "a/SKILL.m/", 0), "archive.size"},
		{"D8 longer than the archive", entry(one, 20, 1<<30, 4), "archive.truncated"},
		{"packed another way", entry(one, 10, 12, 2), "archive.type"},
		{"no UTF-8", zipped(t, good, member{"a/\xff", "x"}), "archive.path"},
		{"directory begins behind the end", ending(one, 16, 1<<31), "archive.format"},
		{"directory is longer than it is", ending(one, 12, 1<<31), "archive.format"},
		{"one part of several", ending(one, 4, 1), "archive.format"},
		{"more members than it says", ending(zipped(t, good, member{"b", "x"}), 8, 1|1<<16), "archive.format"},
		{"directory without its mark", patch(one, "PK\x01\x02", "PKxx", 0), "archive.format"},
		{"directory with a name that does not end", entry(one, 28, 60000, 2), "archive.format"},
		{"data before, and offsets that fit", shifted(one), "archive.trailing"},
		{"damaged", entry(one, 16, 1, 4), "archive.checksum"},
		{"data behind", append(slices.Clone(one), "more"...), "archive.trailing"},
		{"data before", append([]byte("PKxx"), one...), "archive.format"},
		{"cut", one[:len(one)-30], "archive.truncated"},
		{"no archive", []byte("<html>"), "archive.format"},
		{"too large", zipped(t, good, member{"a/big", strings.Repeat("abcdefgh", 40<<10)}), "archive.too-large"},
	} {
		s := &Sources{Dir: saved(t, "a.zip", tt.data), Limits: Limits{Entries: 2000, Bytes: 16 << 20}}
		if tt.why == "too large" {
			s.Limits.Bytes = 100 << 10
		}
		_, err := s.Fetch(t.Context(), Ref{Kind: Archive, Location: "./a.zip"})
		if id := refusal(err); id != tt.id {
			t.Errorf("%s: %q (%v), want %s", tt.why, id, err, tt.id)
		}
	}
}

// zippedExtra is a zip file whose one member has an extra field.
func zippedExtra(t *testing.T, extra []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "a/SKILL.md", Method: zip.Deflate, Extra: extra})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(skill("a"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ending changes four bytes of the record at the end.
func ending(data []byte, offset int, n uint32) []byte {
	out := slices.Clone(data)
	binary.LittleEndian.PutUint32(out[bytes.LastIndex(out, []byte("PK\x05\x06"))+offset:], n)
	return out
}

// overlapping lets the directory's second member, of which only the last letter of the
// name is another, be the bytes of the first.
func overlapping(data []byte) []byte {
	out := slices.Clone(data)
	first := bytes.Index(out, []byte("PK\x01\x02"))
	second := first + 4 + bytes.Index(out[first+4:], []byte("PK\x01\x02"))
	size := second - first
	copy(out[second:], out[first:first+size])
	return out
}

// shifted has bytes in front that the offsets count.
func shifted(data []byte) []byte {
	out := append([]byte("PK\x03\x04"), data...)
	entry := bytes.Index(out, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(out[entry+42:], 4)
	end := bytes.LastIndex(out, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint32(out[end+16:], binary.LittleEndian.Uint32(out[end+16:])+4)
	return out
}

// D9 without the members: a directory that claims more than a zip file can hold.
func TestAnArchiveThatClaimsTooManyMembersAllocatesNothing(t *testing.T) {
	data := zipped(t, member{"a/SKILL.md", skill("a")})
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	locator := make([]byte, 20)
	copy(locator, "PK\x06\x07")
	huge := slices.Concat(data[:end], locator, data[end:])
	_, err := (&Sources{Dir: saved(t, "a.zip", huge)}).Fetch(t.Context(), Ref{Kind: Archive, Location: "./a.zip"})
	refused(t, err, "archive.too-many")
	claims := slices.Clone(data)
	binary.LittleEndian.PutUint16(claims[end+8:], 65535)
	binary.LittleEndian.PutUint16(claims[end+10:], 65535)
	_, err = (&Sources{Dir: saved(t, "a.zip", claims), Limits: Limits{Entries: 65535}}).Fetch(t.Context(), Ref{Kind: Archive, Location: "./a.zip"})
	refused(t, err, "archive.format")
}
