package hubapi

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
)

// Bounds limit what ReadFiles takes from an archive.
type Bounds struct {
	Members int   // files and folders
	Bytes   int64 // of all files together
}

// ReadFiles reads the files of any archive that is in memory: .zip, .tar or .tar.gz,
// told apart by how they begin. Every rule of Read holds but those about the layout:
// the archive may hold several folders, or none. Paths come as they are in the
// archive, in its order.
func (ar *Archiver) ReadFiles(data []byte, b Bounds) ([]File, error) {
	c := &collector{kinds: map[string]bool{}, bounds: b}
	var err error
	src := &source{r: bytes.NewReader(data)}
	// Headers and padding of a tar file take room too.
	unpacked := b.Bytes + int64(b.Members)*1536 + 16<<10
	switch {
	case bytes.HasPrefix(data, []byte("PK")):
		err = readZip(data, ar.AnyRatio, c)
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		err = ar.unzip(src, unpacked, c.member)
	case len(data) >= 512 && bytes.HasPrefix(data[257:], []byte("ustar")):
		err = untarWhole(data, &guard{r: src, packed: src, anyRatio: true, limit: unpacked}, c.member)
	default:
		err = archiveError(Invalid, "archive.format", "", "not a .zip, .tar or .tar.gz archive")
	}
	if err == nil {
		err = twoKinds(c.kinds)
	}
	if err == nil && len(c.files) == 0 {
		err = archiveError(Invalid, "archive.empty", "", "the archive holds no files")
	}
	if err == nil {
		return c.files, nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, archiveError(Invalid, "archive.truncated", "", "the archive ends early")
	}
	return nil, archiveError(Invalid, "archive.format", "", "the archive cannot be read: %v", err)
}

// untarWhole is untar for a file that nothing else vouches for: a tar file that was cut
// between two members reads like a shorter one, but for the two blocks of zeros that
// end a whole one.
func untarWhole(data []byte, stream *guard, member func(*tar.Header, io.Reader) error) error {
	const block = 512
	blocks := func(n int64) int64 { return (n + block - 1) / block * block }
	var end int64 // of the last member, with its padding
	err := untar(stream, func(h *tar.Header, body io.Reader) error {
		end = blocks(stream.n)
		if h.Typeflag == tar.TypeReg {
			end += blocks(h.Size)
		}
		return member(h, body)
	})
	if err != nil {
		return err
	}
	if int64(len(data)) < end+2*block || len(bytes.Trim(data[len(data)-2*block:], "\x00")) > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// collector takes the members of an archive of any layout.
type collector struct {
	bounds  Bounds
	kinds   map[string]bool
	members int
	size    int64
	files   []File
}

// add checks a member's name; skip is true for what holds no content.
func (c *collector) add(name string, folder bool) (path string, skip bool, err error) {
	if c.members++; c.members > c.bounds.Members {
		return "", false, tooManyMembers(c.bounds.Members)
	}
	parts, err := memberPath(name, folder)
	if err != nil || len(parts) == 0 {
		return "", true, err
	}
	path = strings.Join(parts, "/")
	return path, folder, place(c.kinds, path, folder)
}

func (c *collector) member(h *tar.Header, body io.Reader) error {
	if err := checkHeader(h); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	path, skip, err := c.add(h.Name, h.Typeflag == tar.TypeDir)
	if err != nil || skip {
		return err
	}
	data, err := readMember(h, body, c.bounds.Bytes-c.size, c.bounds.Bytes)
	if err != nil {
		return err
	}
	c.keep(path, data, h.Mode&0o111 != 0)
	return nil
}

func (c *collector) keep(path string, data []byte, executable bool) {
	c.size += int64(len(data))
	c.files = append(c.files, File{Path: path, Data: data, Executable: executable})
}
