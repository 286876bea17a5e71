package hubapi

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/sorting"
)

// A zip file says everything twice: in a header before each member and in the
// directory at its end. Readers that trust one and readers that trust the other see
// different files, so this one reads both and refuses what differs. It knows no
// zip64: nothing within our bounds needs it.

const (
	zipLocal  = 0x04034b50
	zipEntry  = 0x02014b50
	zipEnd    = 0x06054b50
	zipMark   = 0x08074b50 // before a descriptor
	zip64End  = 0x07064b50 // locator, right before the end record
	endSize   = 22
	entrySize = 46
	localSize = 30

	zipEncrypted  = 1 << 0
	zipDescriptor = 1 << 3 // sizes stand behind the data
	zipStrong     = 1 << 6
	zipHidden     = 1 << 13
)

// zipMember is one entry of the directory.
type zipMember struct {
	name          string
	flags, method uint16
	crc           uint32
	packed, size  int64
	offset, end   int64 // of its header, and behind all that belongs to it
	data          int64 // where its content begins
	behind        error // what is wrong with the copy of its size behind it
	host          byte
	mode          uint32
	folder        bool
}

func readZip(data []byte, anyRatio bool, c *collector) error {
	end, err := zipDirectoryEnd(data)
	if err != nil {
		return err
	}
	count := int(binary.LittleEndian.Uint16(data[end+10:]))
	size, start := int64(binary.LittleEndian.Uint32(data[end+12:])), int64(binary.LittleEndian.Uint32(data[end+16:]))
	switch {
	case count > c.bounds.Members:
		return tooManyMembers(c.bounds.Members)
	case binary.LittleEndian.Uint16(data[end+4:]) != 0, binary.LittleEndian.Uint16(data[end+6:]) != 0, int(binary.LittleEndian.Uint16(data[end+8:])) != count:
		return archiveError(Invalid, "archive.format", "", "the archive is one part of several")
	case start+size != int64(end):
		return archiveError(Invalid, "archive.format", "", "the directory of the archive is not where it says")
	}
	members := make([]zipMember, 0, count)
	for rest := data[start:end]; len(rest) > 0; {
		var m zipMember
		if m, rest, err = zipDirectoryEntry(rest); err != nil {
			return err
		}
		if members = append(members, m); len(members) > count {
			break
		}
	}
	if len(members) != count {
		return archiveError(Invalid, "archive.format", "", "the directory of the archive holds another number of members than it says")
	}
	for i := range members {
		if err := members[i].local(data[:start]); err != nil {
			return err
		}
	}
	if err := apart(members); err != nil {
		return err
	}
	for i := range members {
		if err := members[i].read(data, anyRatio, c); err != nil {
			return err
		}
	}
	return nil
}

// zipDirectoryEnd finds the record at the end. It must be the last thing in the file
// but for its own comment, so that no two readers can find different ones.
func zipDirectoryEnd(data []byte) (int, error) {
	for at := len(data) - endSize; at >= 0 && at >= len(data)-endSize-1<<16; at-- {
		if binary.LittleEndian.Uint32(data[at:]) != zipEnd {
			continue
		}
		if at+endSize+int(binary.LittleEndian.Uint16(data[at+20:])) != len(data) {
			return 0, archiveError(Invalid, "archive.trailing", "", "there is data behind the end of the archive")
		}
		if at >= 20 && binary.LittleEndian.Uint32(data[at-20:]) == zip64End {
			return 0, archiveError(TooLarge, "archive.too-many", "", "the archive is of the kind for more than 65535 members or 4 GiB")
		}
		return at, nil
	}
	return 0, archiveError(Invalid, "archive.truncated", "", "the archive ends early")
}

func zipDirectoryEntry(b []byte) (m zipMember, rest []byte, err error) {
	if len(b) < entrySize || binary.LittleEndian.Uint32(b) != zipEntry {
		return m, nil, archiveError(Invalid, "archive.format", "", "the directory of the archive is damaged")
	}
	n, extra, comment := int(binary.LittleEndian.Uint16(b[28:])), int(binary.LittleEndian.Uint16(b[30:])), int(binary.LittleEndian.Uint16(b[32:]))
	if len(b) < entrySize+n+extra+comment {
		return m, nil, archiveError(Invalid, "archive.format", "", "the directory of the archive is damaged")
	}
	m = zipMember{
		name: string(b[entrySize : entrySize+n]), host: b[5],
		flags: binary.LittleEndian.Uint16(b[8:]), method: binary.LittleEndian.Uint16(b[10:]),
		crc: binary.LittleEndian.Uint32(b[16:]), packed: int64(binary.LittleEndian.Uint32(b[20:])), size: int64(binary.LittleEndian.Uint32(b[24:])),
		mode: binary.LittleEndian.Uint32(b[38:]) >> 16, offset: int64(binary.LittleEndian.Uint32(b[42:])),
	}
	m.folder = strings.HasSuffix(m.name, "/")
	return m, b[entrySize+n+extra+comment:], m.check(b[entrySize+n : entrySize+n+extra])
}

// check refuses what is no plain file or folder.
func (m *zipMember) check(extra []byte) error {
	const (
		format  = 0o170000
		regular = 0o100000
		folder  = 0o040000
		link    = 0o120000
	)
	kind := m.mode & format
	unix := m.host == 3 || m.host == 19
	switch {
	case m.flags&(zipEncrypted|zipStrong|zipHidden) != 0:
		return archiveError(Invalid, "archive.encrypted", m.name, "the member is encrypted, so nothing could look at it")
	case unix && kind == link:
		return archiveError(Invalid, "archive.type", m.name, "only plain files and folders may be in the archive, this is a symbolic link")
	case unix && kind != 0 && kind != regular && kind != folder, unix && kind == folder && !m.folder:
		return archiveError(Invalid, "archive.type", m.name, "only plain files and folders may be in the archive")
	case m.method != 0 && m.method != 8:
		return archiveError(Invalid, "archive.type", m.name, "the member is packed by method %d; only deflate is read", m.method)
	case m.packed == 1<<32-1 || m.size == 1<<32-1 || m.offset == 1<<32-1:
		return archiveError(TooLarge, "archive.size", m.name, "the member is of the kind for more than 4 GiB")
	case m.method == 0 && m.packed != m.size, m.folder && m.size != 0:
		return archiveError(Invalid, "archive.size", m.name, "the member has two sizes")
	case !utf8.ValidString(m.name):
		return archiveError(Invalid, "archive.path", m.name, "the path is not UTF-8")
	}
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			break
		}
		if id == 0x7075 { // a second name, which some readers prefer
			return archiveError(Invalid, "archive.header-mismatch", m.name, "the member has a second name")
		}
		extra = extra[4+n:]
	}
	return nil
}

// local reads the header before the member and compares.
func (m *zipMember) local(data []byte) error {
	differs := func(what string) error {
		return archiveError(Invalid, "archive.header-mismatch", m.name, "the %s before the member is not the one in the directory", what)
	}
	if m.offset+localSize > int64(len(data)) || binary.LittleEndian.Uint32(data[m.offset:]) != zipLocal {
		return archiveError(Invalid, "archive.header-mismatch", m.name, "there is no member where the directory says")
	}
	b := data[m.offset:]
	n, extra := int64(binary.LittleEndian.Uint16(b[26:])), int64(binary.LittleEndian.Uint16(b[28:]))
	if localSize+n+extra+m.packed > int64(len(b)) {
		return archiveError(Invalid, "archive.truncated", m.name, "the member ends early")
	}
	flags := binary.LittleEndian.Uint16(b[6:])
	switch {
	case string(b[localSize:localSize+n]) != m.name:
		return differs("name")
	case binary.LittleEndian.Uint16(b[8:]) != m.method, flags&(zipEncrypted|zipDescriptor) != m.flags&(zipEncrypted|zipDescriptor):
		return differs("method")
	case flags&zipDescriptor == 0 && (int64(binary.LittleEndian.Uint32(b[18:])) != m.packed || int64(binary.LittleEndian.Uint32(b[22:])) != m.size || binary.LittleEndian.Uint32(b[14:]) != m.crc):
		return differs("size or checksum")
	}
	m.end = m.offset + localSize + n + extra + m.packed
	m.data = m.end - m.packed
	if flags&zipDescriptor != 0 {
		m.behind = m.descriptor(data)
	}
	return nil
}

// descriptor reads what stands behind a member whose header was written before its
// size was known: with a mark in front, or without.
func (m *zipMember) descriptor(data []byte) error {
	b := data[m.end:]
	if len(b) >= 16 && binary.LittleEndian.Uint32(b) == zipMark {
		b = b[4:]
		m.end += 4
	}
	m.end += 12
	if len(b) < 12 || binary.LittleEndian.Uint32(b) != m.crc || int64(binary.LittleEndian.Uint32(b[4:])) != m.packed || int64(binary.LittleEndian.Uint32(b[8:])) != m.size {
		return archiveError(Invalid, "archive.header-mismatch", m.name, "the size or checksum behind the member is not the one in the directory")
	}
	return nil
}

// apart refuses members that share bytes: that is how a small file is made to unpack
// to a very large one. Nothing may stand before the first.
func apart(members []zipMember) error {
	order := make([]*zipMember, len(members))
	for i := range members {
		order[i] = &members[i]
	}
	sorting.Sort(order, func(a, b *zipMember) int { return cmp.Compare(a.offset, b.offset) })
	at := int64(0)
	for i, m := range order {
		if i == 0 && m.offset != 0 {
			return archiveError(Invalid, "archive.trailing", "", "there is data before the beginning of the archive")
		}
		if m.offset < at {
			return archiveError(Invalid, "archive.bomb", m.name, "the member shares its bytes with another one")
		}
		at = m.end
	}
	return nil
}

func (m *zipMember) read(data []byte, anyRatio bool, c *collector) error {
	path, skip, err := c.add(m.name, m.folder)
	if err != nil || skip {
		return err
	}
	switch {
	case m.size > c.bounds.Bytes-c.size:
		return archiveError(TooLarge, "archive.too-large", m.name, "the archive holds more than %d MiB of files", c.bounds.Bytes>>20)
	case !anyRatio && m.size > bombFloor && m.size > bombRatio*m.packed:
		return archiveError(TooLarge, "archive.bomb", m.name, "the member unpacks to more than %d times its size", bombRatio)
	}
	packed := data[m.data : m.data+m.packed]
	content := packed
	if m.method == 8 {
		in := bytes.NewReader(packed)
		r := flate.NewReader(in)
		var buf bytes.Buffer
		buf.Grow(int(min(m.size, 64<<10)))
		// What it says about its size is a promise; it is held to it.
		if _, err := io.Copy(&buf, io.LimitReader(r, m.size+1)); err != nil {
			return archiveError(Invalid, "archive.format", m.name, "the member cannot be unpacked: %v", err)
		}
		if content = buf.Bytes(); int64(len(content)) != m.size || in.Len() != 0 {
			return archiveError(Invalid, "archive.size", m.name, "the member is not as long as its header says")
		}
	}
	if crc32.ChecksumIEEE(content) != m.crc {
		return archiveError(Invalid, "archive.checksum", m.name, "the member is damaged: its checksum is another")
	}
	if m.behind != nil {
		return m.behind
	}
	c.keep(path, slices.Clone(content), m.mode&0o111 != 0 && (m.host == 3 || m.host == 19))
	return nil
}
