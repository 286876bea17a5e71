package hubapi

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func zipOf(t testing.TB, files ...File) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		part, err := w.Create(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever our reader takes, the standard library reads as the same files; nothing
// that it takes goes over its bounds or out of its folder.
func FuzzReadFiles(f *testing.F) {
	plain := zipOf(f, File{Path: "a/SKILL.md", Data: []byte("text")}, File{Path: "a/b/c", Data: bytes.Repeat([]byte("x"), 3000)})
	f.Add(plain)
	f.Add(zipOf(f, File{Path: "../up"}))
	var packed bytes.Buffer
	if err := new(Archiver).Write(&packed, Archive{Top: "a", Files: []File{{Path: "SKILL.md", Data: []byte("text")}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(packed.Bytes())
	f.Add(append(bytes.Repeat([]byte{0}, 257), "ustar"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		bounds := Bounds{Members: 100, Bytes: 1 << 20}
		files, err := new(Archiver).ReadFiles(data, bounds)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(e.ID(), "archive.") {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		size := 0
		for _, file := range files {
			size += len(file.Data)
			if strings.HasPrefix(file.Path, "/") || strings.Contains("/"+file.Path+"/", "/../") {
				t.Fatalf("path %q", file.Path)
			}
		}
		if len(files) > bounds.Members || int64(size) > bounds.Bytes {
			t.Fatalf("%d files with %d bytes", len(files), size)
		}
		if !bytes.HasPrefix(data, []byte("PK")) {
			return
		}
		zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
			t.Fatalf("the standard library does not read it: %v", err)
		}
		byName := map[string][]byte{}
		for _, entry := range zr.File {
			if strings.HasSuffix(entry.Name, "/") {
				continue
			}
			r, err := entry.Open()
			if err != nil {
				t.Fatalf("%s: %v", entry.Name, err)
			}
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatalf("%s: %v", entry.Name, err)
			}
			byName[strings.TrimPrefix(entry.Name, "./")] = text
		}
		for _, file := range files {
			if other, ok := byName[file.Path]; !ok || !bytes.Equal(other, file.Data) {
				t.Fatalf("%q is %q to us and %q to others", file.Path, file.Data, other)
			}
		}
	})
}

// A tar file that was cut between two members, inside of the padding or inside of the
// end blocks used to be read as a whole one with fewer files.
func TestATarFileThatWasCutInstalledHalfAPack(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []File{
		{Path: "a/SKILL.md", Data: []byte("text")},
		{Path: "a/zeros", Data: make([]byte, 2048)},
		{Path: "a/" + strings.Repeat("long", 40), Data: []byte("x")},
	} {
		if err := w.WriteHeader(&tar.Header{Name: f.Path, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.Data)), Format: tar.FormatGNU}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, bounds := b.Bytes(), Bounds{Members: 10, Bytes: 1 << 20}
	for _, data := range [][]byte{whole, append(bytes.Clone(whole), make([]byte, 8192)...)} {
		if files, err := new(Archiver).ReadFiles(data, bounds); err != nil || len(files) != 3 {
			t.Fatalf("the whole file: %d files, %v", len(files), err)
		}
	}
	for n := 512; n < len(whole); n++ {
		_, err := new(Archiver).ReadFiles(whole[:n], bounds)
		if e, ok := errors.AsType[*Error](err); !ok || e.ID() != "archive.truncated" {
			t.Fatalf("the first %d of %d bytes: %v, want archive.truncated", n, len(whole), err)
		}
	}
}
