package hubapi

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/sorting"
)

// Limits of the archive that carries a pack. The first holds for the compressed
// body and for what it unpacks to: a pack's 16 MiB, its signature file and the
// headers of its files.
const (
	MaxArchive   = 20 << 20
	MaxContents  = 16 << 20 // bytes of all files together, as in package pack
	MaxSignature = 1 << 20  // bytes of a signature file
	maxEntries   = 1024     // members of an archive, folders included
	maxPath      = 4096     // bytes of a member's path
	bombFloor    = 1 << 20  // unpacked bytes below which no ratio is looked at
	bombRatio    = 100      // unpacked bytes for one packed byte
)

// SignatureSuffix ends the name of a signature file that lies beside the pack's
// folder.
const SignatureSuffix = ".sig.json"

// File is one file of a pack on its way through an archive. It has the fields of
// pack.File, so that one converts into the other.
type File struct {
	Path       string // below the pack's folder, "/" separated
	Data       []byte
	Executable bool
}

// Archive is what a push sends and an archive route answers: one folder, and
// perhaps the signature file beside it.
type Archive struct {
	Top       string // name of the folder
	Files     []File
	Signature []byte // content of the signature file; nil without one
}

// Archiver reads and writes archives. It keeps what the compressor allocates, a
// megabyte for each archive that is under way, for the next one. The zero value is
// ready; it is safe for concurrent use.
type Archiver struct {
	// AnyRatio reads archives that pack better than any honest text does. It is
	// for the client, whose hub took the files in and packed them itself; the
	// limits on sizes hold all the same.
	AnyRatio bool

	writers sync.Pool // of *gzip.Writer
	readers sync.Pool // of *gzip.Reader
}

// Write writes a as a gzip-compressed tar file. The same content gives the same
// bytes: members are sorted, times, owners and umasks do not enter. Only the
// compressor of another Go release may write other bytes, so it is the pack's
// digest that identifies content, never a hash of the archive.
func (ar *Archiver) Write(w io.Writer, a Archive) error {
	zw, ok := ar.writers.Get().(*gzip.Writer)
	if ok {
		zw.Reset(w)
	} else {
		// Packs are a few kilobytes of text: the fastest level loses little.
		var err error
		if zw, err = gzip.NewWriterLevel(w, gzip.BestSpeed); err != nil {
			return err
		}
	}
	defer ar.writers.Put(zw)
	tw := tar.NewWriter(zw)
	files := slices.Clone(a.Files)
	sorting.Sort(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	folder := a.Top + "/"
	if a.Top == "" {
		folder = "" // the Kazma download, which Read does not take
	}
	for _, f := range files {
		mode := int64(0o644)
		if f.Executable {
			mode = 0o755
		}
		if err := writeMember(tw, folder+f.Path, mode, f.Data); err != nil {
			return err
		}
	}
	if a.Signature != nil {
		if err := writeMember(tw, a.Top+SignatureSuffix, 0o644, a.Signature); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zw.Close()
}

func writeMember(tw *tar.Writer, name string, mode int64, data []byte) error {
	// Read refuses a path that a PAX record overrides, because readers
	// without PAX see another name. GNU headers carry the long and the
	// non-ASCII ones.
	format := tar.FormatUSTAR
	if len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		format = tar.FormatGNU
	}
	err := tw.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)),
		ModTime: time.Unix(0, 0), Format: format,
	})
	if err != nil {
		return fmt.Errorf("archive member %q: %w", name, err)
	}
	_, err = tw.Write(data)
	return err
}

// Read reads what Write wrote, or what a stranger wrote in its
// place: it holds a bounded amount in memory, touches no disk, and refuses
// everything that is not plain files in one folder. Refusals are *Error with an
// id that starts with "archive."; an error of r itself is given back as it is.
//
// Paths are checked for leaving the folder and for being one path to every
// reader; whether they may be in a pack is decided by package pack.
func (ar *Archiver) Read(r io.Reader) (Archive, error) {
	src := &source{r: r}
	a, err := ar.read(src)
	if err == nil {
		return a, nil
	}
	if src.err != nil {
		return Archive{}, src.err
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return Archive{}, e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return Archive{}, archiveError(Invalid, "archive.truncated", "", "the archive ends early")
	}
	return Archive{}, archiveError(Invalid, "archive.format", "", "not a gzip-compressed tar archive: %v", err)
}

func archiveError(c Code, id, file, format string, args ...any) *Error {
	e := Errorf(c, format, args...)
	if file != "" {
		e.Message = fmt.Sprintf("%q: %s", clip(file), e.Message)
	}
	return e.With(Detail{ID: id, Message: e.Message, File: clip(file)})
}

// source counts what was read and remembers the first error that is not the end,
// because the decompressor wraps errors in its own.
type source struct {
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF && s.err == nil {
		s.err = err
	}
	return n, err
}

// guard ends a stream that unpacks to more than it may.
type guard struct {
	r        io.Reader
	packed   *source
	anyRatio bool
	limit    int64
	n        int64
}

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	g.n += int64(n)
	switch {
	case g.n > g.limit:
		return n, archiveError(TooLarge, "archive.too-large", "", "the archive unpacks to more than %d MiB", g.limit>>20)
	case !g.anyRatio && g.n > bombFloor && g.n > bombRatio*g.packed.n:
		return n, archiveError(TooLarge, "archive.bomb", "", "the archive unpacks to more than %d times its size", bombRatio)
	}
	return n, err
}

func (ar *Archiver) read(src *source) (Archive, error) {
	b := builder{kinds: map[string]bool{}, entries: maxEntries}
	if err := ar.unzip(src, MaxArchive, b.member); err != nil {
		return Archive{}, err
	}
	return b.finish()
}

// unzip hands the members of a gzip-compressed tar file to a function.
func (ar *Archiver) unzip(src *source, limit int64, member func(*tar.Header, io.Reader) error) error {
	packed := bufio.NewReader(src)
	zr, ok := ar.readers.Get().(*gzip.Reader)
	if !ok {
		zr = new(gzip.Reader)
	}
	defer ar.readers.Put(zr)
	if err := zr.Reset(packed); err != nil {
		return err
	}
	zr.Multistream(false)
	if err := untar(&guard{r: zr, packed: src, anyRatio: ar.AnyRatio, limit: limit}, member); err != nil {
		return err
	}
	if _, err := packed.ReadByte(); err != io.EOF {
		return archiveError(Invalid, "archive.trailing", "", "there is data behind the end of the archive")
	}
	return nil
}

// untar hands the members of a tar file to a function.
func untar(stream io.Reader, member func(*tar.Header, io.Reader) error) error {
	tr := tar.NewReader(stream)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := member(h, tr); err != nil {
			return err
		}
	}
	// What follows the end of the tar file is padding; anything else would be
	// content that we do not see and others might. Reading to the end also
	// checks the gzip checksum.
	rest := make([]byte, 4096)
	for {
		n, err := stream.Read(rest)
		if len(bytes.Trim(rest[:n], "\x00")) > 0 {
			return archiveError(Invalid, "archive.trailing", "", "there is data behind the end of the archive")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// builder collects the members of one archive.
type builder struct {
	a       Archive
	kinds   map[string]bool // path in the archive to "is a folder"
	entries int             // that may still come
	size    int64
	signed  string // path of the signature file, once seen
}

func (b *builder) member(h *tar.Header, body io.Reader) error {
	if b.entries--; b.entries < 0 {
		return tooManyMembers(maxEntries)
	}
	if err := checkHeader(h); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	parts, err := memberPath(h.Name, h.Typeflag == tar.TypeDir)
	if err != nil {
		return err
	}
	folder := h.Typeflag == tar.TypeDir
	path := strings.Join(parts, "/")
	if len(parts) == 0 { // "./", which tar writes for the folder that it was called in
		return nil
	}
	if err := place(b.kinds, path, folder); err != nil {
		return err
	}
	if len(parts) == 1 && !folder {
		return b.signature(h, path, body)
	}
	if b.a.Top == "" {
		b.a.Top = parts[0]
	}
	if parts[0] != b.a.Top {
		return archiveError(Invalid, "archive.layout", h.Name, "the archive has a second folder beside %q; it must hold one", clip(b.a.Top))
	}
	if folder {
		return nil
	}
	data, err := readMember(h, body, MaxContents-b.size, MaxContents)
	if err != nil {
		return err
	}
	b.size += int64(len(data))
	b.a.Files = append(b.a.Files, File{
		Path: strings.Join(parts[1:], "/"), Data: data, Executable: h.Mode&0o111 != 0,
	})
	return nil
}

func (b *builder) signature(h *tar.Header, path string, body io.Reader) error {
	if !strings.HasSuffix(path, SignatureSuffix) {
		return archiveError(Invalid, "archive.layout", h.Name, "the archive must hold one folder with the pack; only a signature file (*%s) may lie beside it", SignatureSuffix)
	}
	if b.signed != "" {
		return archiveError(Invalid, "archive.duplicate", h.Name, "the archive has a second signature file beside %q", clip(b.signed))
	}
	if h.Size > MaxSignature {
		return archiveError(TooLarge, "sign.too-large", h.Name, "the signature file is larger than %d KiB", MaxSignature>>10)
	}
	data, err := readMember(h, body, MaxSignature, MaxContents)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return archiveError(Invalid, "archive.empty", h.Name, "the signature file is empty")
	}
	b.signed, b.a.Signature = path, data
	return nil
}

func tooManyMembers(most int) error {
	return archiveError(TooLarge, "archive.too-many", "", "the archive has more than %d members", most)
}

// place notes a path and refuses one that comes twice, folders aside.
func place(kinds map[string]bool, path string, folder bool) error {
	if wasFolder, seen := kinds[path]; seen && !(folder && wasFolder) {
		return archiveError(Invalid, "archive.duplicate", path, "the archive has this path twice")
	}
	kinds[path] = folder
	return nil
}

// readMember takes the size in the header for a promise, not for a fact.
func readMember(h *tar.Header, body io.Reader, room, limit int64) ([]byte, error) {
	if h.Size > room {
		return nil, archiveError(TooLarge, "archive.too-large", h.Name, "the archive holds more than %d MiB of files", limit>>20)
	}
	var buf bytes.Buffer
	buf.Grow(int(min(h.Size, 64<<10)))
	if _, err := io.Copy(&buf, io.LimitReader(body, room+1)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) != h.Size {
		return nil, archiveError(Invalid, "archive.size", h.Name, "the member is not as long as its header says")
	}
	return buf.Bytes(), nil
}

func (b *builder) finish() (Archive, error) {
	if len(b.a.Files) == 0 {
		return Archive{}, archiveError(Invalid, "archive.empty", "", "the archive holds no files in a folder")
	}
	return b.a, twoKinds(b.kinds)
}

// twoKinds refuses a path that is a file and a folder.
func twoKinds(kinds map[string]bool) error {
	for path := range kinds {
		for i := range len(path) {
			if path[i] != '/' {
				continue
			}
			if folder, seen := kinds[path[:i]]; seen && !folder {
				return archiveError(Invalid, "archive.duplicate", path, "the archive has %q both as a file and as a folder", clip(path[:i]))
			}
		}
	}
	return nil
}

// checkHeader refuses members that are not plain files and folders, and headers
// that say different things to different readers.
func checkHeader(h *tar.Header) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeXGlobalHeader:
	case tar.TypeGNUSparse:
		return archiveError(Invalid, "archive.pax", h.Name, "sparse members are refused")
	default:
		return archiveError(Invalid, "archive.type", h.Name, "only plain files and folders may be in the archive, this is %s", typeName(h.Typeflag))
	}
	for key := range h.PAXRecords {
		if key == "path" || key == "linkpath" || key == "size" || strings.HasPrefix(key, "GNU.sparse.") {
			return archiveError(Invalid, "archive.pax", h.Name, "an extended header overrides %s", key).
				WithHint("write the archive in the ustar or gnu format (tar --format=gnu)")
		}
	}
	if h.ModTime.Unix() < 0 && !h.ModTime.IsZero() {
		return archiveError(Invalid, "archive.pax", h.Name, "the time of the member is before 1970")
	}
	return nil
}

func typeName(flag byte) string {
	switch flag {
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeSymlink:
		return "a symbolic link"
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeFifo:
		return "a named pipe"
	}
	return fmt.Sprintf("of type %q", flag)
}

// memberPath splits the path of a member; it is empty for the folder "./".
func memberPath(raw string, folder bool) ([]string, error) {
	bad := func(why string) ([]string, error) {
		return nil, archiveError(Invalid, "archive.path", raw, "%s", why)
	}
	name := strings.TrimPrefix(raw, "./")
	if folder {
		name = strings.TrimSuffix(name, "/")
	}
	switch {
	case folder && (name == "" || name == "."):
		return nil, nil
	case len(name) > maxPath:
		return bad("the path is longer than 4096 bytes")
	case !utf8.ValidString(name):
		return bad("the path is not UTF-8")
	case strings.ContainsAny(name, `\:`):
		return bad(`'\' and ':' in a path mean a folder or a drive to some readers`)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("the path has a control character")
	}
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return bad("the path leaves the folder or is not in its plain form")
		}
	}
	return parts, nil
}
