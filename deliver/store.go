package deliver

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// Limits of the store, in bytes.
const (
	maxStore   = 512 << 20 // of all that is kept; the oldest goes first
	maxIndex   = 16 << 20  // of one file's head
	maxSegment = 256 << 20
	storeEnd   = ".packs"
)

// Store keeps the packs that were installed on this machine, by their digest: to
// merge with, and to go back to where the source no longer has them. It is a cache,
// and what is taken out of it is hashed again.
//
// The packs of one command are one file, because a file for each would cost as much
// as the installation itself: a line of JSON that says what is in it, then the
// contents in that order.
type Store struct {
	dir  string
	open func(dir string, perm fs.FileMode) (fsx.Root, error) // to write

	mu     sync.Mutex
	known  map[string]*heldSegment // by file name
	bodies []*heldSegment          // with their contents in memory, the one read last at the end
}

// NewStore is the store below a directory, which is made when something is put in.
func NewStore(dir string) *Store { return &Store{dir: dir, open: fsx.OpenOrCreate} }

// Kept is one pack of a store, with the signature file that came with it.
type Kept struct {
	Pack      *pack.Pack
	Signature []byte

	digest pack.Digest // of Pack, where that is known
}

type segmentHead struct {
	V     int           `json:"v"`
	Packs []segmentPack `json:"packs"`
}

type segmentPack struct {
	Digest    pack.Digest   `json:"digest"`
	Name      string        `json:"name"`
	Format    pack.Format   `json:"format"`
	Signature []byte        `json:"signature,omitempty"`
	Files     []segmentFile `json:"files"`
}

type segmentFile struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable,omitempty"`
}

// Put keeps packs. It is durable when it returns.
func (s *Store) Put(packs []Kept) error {
	if len(packs) == 0 {
		return nil
	}
	root, err := s.open(s.dir, 0o700)
	if err != nil {
		return err
	}
	defer root.Close()
	_ = fsx.SweepStaged(root, ".") // as in InstallAll
	head := segmentHead{V: 1}
	size := 0
	for _, k := range packs {
		p := segmentPack{Digest: k.digest, Name: k.Pack.Name, Format: k.Pack.Format, Signature: k.Signature}
		if p.Digest == "" {
			p.Digest = k.Pack.Digest()
		}
		for _, f := range k.Pack.Files {
			p.Files = append(p.Files, segmentFile{f.Path, int64(len(f.Data)), f.Executable})
			size += len(f.Data)
		}
		head.Packs = append(head.Packs, p)
		if size > maxSegment/2 && len(packs) > 1 {
			half := len(packs) / 2
			return errors.Join(s.Put(packs[:half]), s.Put(packs[half:]))
		}
	}
	index, err := json.Marshal(head)
	if err != nil {
		return err
	}
	name := hexSum(index)[:32] + storeEnd
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	if err := root.WriteFrom(name, &segment{index, packs}, 0o600); err != nil {
		return err
	}
	return s.trim(root, name)
}

// segment is one file of the store: the head, and the contents that it names.
type segment struct {
	index []byte
	packs []Kept
}

// WriteTo writes the file without having it in memory.
func (s *segment) WriteTo(w io.Writer) (int64, error) {
	out := bufio.NewWriterSize(w, 256<<10)
	total := 0
	for part := range s.parts {
		n, err := out.Write(part)
		if total += n; err != nil {
			return int64(total), err
		}
	}
	return int64(total), out.Flush()
}

func (s *segment) parts(yield func([]byte) bool) {
	if !yield(s.index) || !yield([]byte{'\n'}) {
		return
	}
	for _, k := range s.packs {
		for _, f := range k.Pack.Files {
			if !yield(f.Data) {
				return
			}
		}
	}
}

// trim removes the oldest files while there is too much.
func (s *Store) trim(root fsx.Root, keep string) error {
	all, total, err := segments(root)
	if err != nil {
		return err
	}
	for _, info := range slices.Backward(all) {
		if total <= maxStore {
			break
		}
		if info.Name() == keep {
			continue
		}
		if err := root.Remove(info.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= info.Size()
	}
	return nil
}

// segments are the files of the store, the newest first.
func segments(root fsx.Root) (all []fs.FileInfo, total int64, err error) {
	entries, err := root.ReadDir(".")
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), storeEnd) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		all, total = append(all, info), total+info.Size()
	}
	sorting.Stable(all, func(a, b fs.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	return all, total, nil
}

// Get gives the packs of the store that have one of the digests. A file that is
// broken holds none.
func (s *Store) Get(digests ...pack.Digest) (map[pack.Digest]Kept, error) {
	out := map[pack.Digest]Kept{}
	root, err := fsx.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	wanted := map[pack.Digest]bool{}
	for _, d := range digests {
		wanted[d] = true
	}
	all, _, err := segments(root)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, info := range all {
		if len(out) == len(wanted) {
			break
		}
		if held := s.held(root, info); held.has(wanted) {
			held.pick(s.contents(root, held), wanted, out)
		}
	}
	return out, nil
}

// heldSegment is what is known of one file of the store: whoever asks for many packs, one
// by one, has its head read once.
type heldSegment struct {
	info  fs.FileInfo
	packs map[pack.Digest]heldPack // nil where the file is broken
	begin int                      // of the contents in the file
	body  []byte                   // the contents, where they are in memory
}

type heldPack struct {
	segmentPack
	at int // in the contents
}

// maxBody is how much of the contents of all files stays in memory, in bytes.
const maxBody = 64 << 20

// held reads the head of a file, once as long as it looks the same.
func (s *Store) held(root fsx.Root, info fs.FileInfo) *heldSegment {
	if h, ok := s.known[info.Name()]; ok && h.info.Size() == info.Size() && h.info.ModTime().Equal(info.ModTime()) {
		return h
	}
	h := &heldSegment{info: info}
	if data, err := root.ReadFile(info.Name(), maxSegment); err == nil {
		s.keepBody(h, h.read(data))
	}
	if s.known == nil {
		s.known = map[string]*heldSegment{}
	}
	s.known[info.Name()] = h
	return h
}

// read takes the head in and gives the contents. What the file is too short for is not in
// it.
func (h *heldSegment) read(data []byte) (body []byte) {
	index, body, ok := bytes.Cut(data, []byte{'\n'})
	var head segmentHead
	if !ok || len(index) > maxIndex || strictjson.Unmarshal(index, &head) != nil || head.V != 1 {
		return nil
	}
	h.begin, h.packs = len(index)+1, make(map[pack.Digest]heldPack, len(head.Packs))
	at := int64(0)
	for _, p := range head.Packs {
		begin := at
		for _, f := range p.Files {
			if f.Size < 0 || f.Size > int64(len(body))-at {
				return body
			}
			at += f.Size
		}
		if _, twice := h.packs[p.Digest]; !twice {
			h.packs[p.Digest] = heldPack{p, int(begin)}
		}
	}
	return body
}

// keepBody holds the contents of a file in memory, instead of those that were read longest
// ago where there is no room for all: skills that were installed at different times are
// asked for in turn.
func (s *Store) keepBody(h *heldSegment, body []byte) {
	if len(body) > maxBody {
		return
	}
	h.body = body
	s.bodies = append(s.bodies, h)
	total := 0
	for _, held := range slices.Backward(s.bodies) {
		if total += len(held.body); total > maxBody {
			held.body = nil
		}
	}
	s.bodies = slices.DeleteFunc(s.bodies, func(held *heldSegment) bool { return held.body == nil })
}

// contents are those of a file whose head is known; nil where they cannot be read.
func (s *Store) contents(root fsx.Root, h *heldSegment) []byte {
	if h.body != nil {
		return h.body
	}
	data, err := root.ReadFile(h.info.Name(), maxSegment)
	if err != nil || int64(len(data)) != h.info.Size() {
		return nil
	}
	s.keepBody(h, data[h.begin:])
	return data[h.begin:]
}

func (h *heldSegment) has(wanted map[pack.Digest]bool) bool {
	for d := range wanted {
		if _, ok := h.packs[d]; ok {
			return true
		}
	}
	return false
}

// pick takes the wanted packs out of the contents, where they are what their digests say.
func (h *heldSegment) pick(body []byte, wanted map[pack.Digest]bool, out map[pack.Digest]Kept) {
	for d := range wanted {
		p, ok := h.packs[d]
		if _, have := out[d]; have || !ok {
			continue
		}
		files := make([]pack.File, 0, len(p.Files))
		rest := body[min(p.at, len(body)):]
		for _, f := range p.Files {
			if f.Size > int64(len(rest)) {
				break
			}
			files = append(files, pack.File{Path: f.Path, Data: rest[:f.Size:f.Size], Executable: f.Executable})
			rest = rest[f.Size:]
		}
		if pack.DigestFiles(files) != d {
			continue
		}
		if in := pack.Read(p.Name, files, pack.Options{Format: p.Format}); in.Pack != nil {
			out[d] = Kept{Pack: in.Pack, Signature: p.Signature}
		}
	}
}

// journalName is the file of the journal for one lock.
func journalName(lock string) string {
	return path.Join("journal", hexSum([]byte(filepath.Clean(lock)))[:32]+".json")
}
