// Package snapshot copies what is active in one hub to another that cannot reach it:
// a folder of releases with a signed head, written by Export, carried by whatever
// carries files, and taken in by Import. Every release keeps its author, version,
// digest, signature, and the proof that the first hub's log had it.
//
// It is not a backup: keys, inbox and audit trail stay where they are (kx hub
// backup). Importing decides nothing either: the second hub's own rules do, and
// what it takes waits there for review like any push.
//
// Call Export, or Open and then Import.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// Ids of refusals, in hubapi.Detail.
const (
	IDMissing   = "snapshot.missing"   // a file of it is not there
	IDFormat    = "snapshot.format"    // a file of it cannot be read
	IDDigest    = "snapshot.digest"    // a file of it is not what was signed
	IDSignature = "snapshot.signature" // nobody that is trusted here signed it
	IDLog       = "snapshot.log"       // a proof in it proves nothing
)

// Limits of a snapshot.
const (
	MaxReleases = 1 << 18
	MaxIndex    = 512 << 20 // bytes
	maxLine     = 64 << 10
	version     = 1
)

// The files of a snapshot. The index and the archives are named by what is in them,
// so that a newer snapshot can be written over an older one: until the head is
// replaced, in one step, everything that the old head names is still there.
const (
	headFile   = "snapshot.json"
	folder     = "releases"
	indexStart = "index-"
	indexEnd   = ".jsonl"
	packEnd    = ".tar.gz"
)

// Head is what is signed.
type Head struct {
	V         int       `json:"v"`
	CreatedAt time.Time `json:"created_at"`
	Releases  int       `json:"releases"`
	Bytes     int64     `json:"bytes"` // of all archives
	Index     string    `json:"index"` // SHA-256 of the index, 64 hex digits
	// Log is the first hub's transparency log; nil when it has none.
	Log *Log `json:"log,omitempty"`
}

// Log is the state of a hub's log when the snapshot was made.
type Log struct {
	Origin     string `json:"origin"`
	VKey       string `json:"vkey"`
	Size       int64  `json:"size"`
	Checkpoint string `json:"checkpoint"` // the signed note
}

// Entry is one release. The index holds one on each line, ascending by author, name
// and version.
type Entry struct {
	Author     string     `json:"author"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Format     string     `json:"format"`
	Digest     string     `json:"digest"`
	Signed     bool       `json:"signed"`
	ApprovedBy string     `json:"approved_by,omitempty"` // in the first hub; for people to know
	ApprovedAt *time.Time `json:"approved_at,omitempty"`
	Archive    string     `json:"archive"` // SHA-256 of the archive, 64 hex digits
	Size       int64      `json:"size"`    // of the archive
	LogEntry   string     `json:"log_entry,omitempty"`
	LogProof   string     `json:"log_proof,omitempty"` // C2SP tlog-proof
}

// Ref names the release.
func (e Entry) Ref() string { return e.Author + "/" + e.Name + "@" + e.Version }

// Snapshot is a snapshot whose signature and index were verified. Its archives are
// when they are read.
type Snapshot struct {
	Head
	Entries []Entry
	Signers []sign.PublicKey // of those that were given to Open

	root     fsx.Root
	archives hubapi.Archiver
}

// Open reads the snapshot in root. One that none of the keys signed is refused, and
// so is one whose index is not what was signed.
func Open(root fsx.Root, keys []sign.PublicKey) (*Snapshot, error) {
	data, err := root.ReadFile(headFile, sign.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(IDMissing, headFile, "%s holds no snapshot: there is no %s", root.Name(), headFile)
	}
	if err != nil {
		return nil, refuse(IDFormat, headFile, "cannot read the head of the snapshot: %v", err)
	}
	envelope, err := sign.ParseEnvelope(data)
	if err != nil {
		return nil, refuse(IDFormat, headFile, "the head of the snapshot cannot be read: %v", err)
	}
	payload, signers, err := envelope.OpenDocument(sign.SnapshotDocument, keys)
	if err != nil {
		return nil, refuse(IDSignature, headFile, "the snapshot is not taken: %v", err).
			WithHint("have whoever made it give you the public key over another way, and run kx keys import")
	}
	s := &Snapshot{root: root, Signers: signers}
	if err := strictjson.Unmarshal(payload, &s.Head); err != nil {
		return nil, refuse(IDFormat, headFile, "the head of the snapshot cannot be read: %v", err)
	}
	if err := s.checkHead(); err != nil {
		return nil, err
	}
	return s, s.readIndex()
}

func (s *Snapshot) checkHead() error {
	switch {
	case s.V != version:
		return refuse(IDFormat, headFile, "the snapshot has version %d, this kx reads %d", s.V, version)
	case s.Releases < 0 || s.Releases > MaxReleases || s.Bytes < 0:
		return refuse(IDFormat, headFile, "the snapshot says that it has %d releases of %d bytes", s.Releases, s.Bytes)
	case !isSum(s.Index):
		return refuse(IDFormat, headFile, "the snapshot does not name its index")
	}
	return nil
}

func (s *Snapshot) readIndex() error {
	file := indexName(s.Index)
	data, err := s.root.ReadFile(file, MaxIndex)
	if err != nil {
		return refuse(IDMissing, file, "cannot read the index of the snapshot: %v", err)
	}
	if sum(data) != s.Index {
		return refuse(IDDigest, file, "the index of the snapshot is not the one that was signed")
	}
	s.Entries = make([]Entry, 0, min(s.Releases, 1<<16))
	total, before := int64(0), ""
	for number := 1; len(data) > 0; number++ {
		line, rest, found := bytes.Cut(data, []byte("\n"))
		data = rest
		entry, err := parseEntry(line)
		if err == nil && !found {
			err = errors.New("the last line has no end")
		}
		key := sortKey(entry)
		if err == nil && number > 1 && key <= before {
			err = errors.New("it is not in order, or there twice")
		}
		if err != nil {
			return refuse(IDFormat, fmt.Sprintf("%s:%d", file, number), "line %d of the index cannot be read: %v", number, err)
		}
		s.Entries, before = append(s.Entries, entry), key
		total += entry.Size
	}
	if len(s.Entries) != s.Releases || total != s.Bytes {
		return refuse(IDFormat, file, "the index has %d releases of %d bytes, the head says %d of %d", len(s.Entries), total, s.Releases, s.Bytes)
	}
	return nil
}

func parseEntry(line []byte) (Entry, error) {
	var e Entry
	if len(line) > maxLine {
		return e, fmt.Errorf("it has more than %d bytes", maxLine)
	}
	if err := strictjson.Unmarshal(line, &e); err != nil {
		return e, err
	}
	if err := errors.Join(hubapi.CheckAuthor(e.Author), hubapi.CheckName(e.Name), hubapi.CheckVersion(e.Version)); err != nil {
		return e, err
	}
	digest, isPack := strings.CutPrefix(e.Digest, "sp1:")
	switch {
	case !isPack || !isSum(digest):
		return e, fmt.Errorf("%.80q is no digest", e.Digest)
	case !isSum(e.Archive) || e.Size < 1 || e.Size > hubapi.MaxArchive:
		return e, fmt.Errorf("%s has no archive", e.Ref())
	case (e.LogEntry == "") != (e.LogProof == ""):
		return e, fmt.Errorf("%s has half of a log proof", e.Ref())
	}
	return e, nil
}

// Release reads one release of the snapshot: its archive is what was signed, its
// files have the digest that the entry says, its signature is there when the entry
// says so, and its log entry was in the first hub's log.
func (s *Snapshot) Release(e Entry) (hubapi.Archive, error) {
	file := archiveName(e.Archive)
	data, err := s.root.ReadFile(file, hubapi.MaxArchive)
	if err != nil {
		return hubapi.Archive{}, refuse(IDMissing, file, "%s: its archive cannot be read: %v", e.Ref(), err)
	}
	if int64(len(data)) != e.Size || sum(data) != e.Archive {
		return hubapi.Archive{}, refuse(IDDigest, file, "%s: its archive is not the one that was signed", e.Ref())
	}
	a, err := s.archives.Read(bytes.NewReader(data))
	if err != nil {
		return hubapi.Archive{}, refuse(IDFormat, file, "%s: its archive cannot be read: %v", e.Ref(), err)
	}
	files := make([]pack.File, len(a.Files))
	for i, f := range a.Files {
		files[i] = pack.File(f)
	}
	switch digest := pack.DigestFiles(files); {
	case string(digest) != e.Digest:
		return hubapi.Archive{}, refuse(IDDigest, file, "%s: its files are %s, the index says %s", e.Ref(), digest, e.Digest)
	case a.Top != e.Name:
		return hubapi.Archive{}, refuse(IDDigest, file, "%s: its archive holds a folder called %.80q", e.Ref(), a.Top)
	case e.Signed != (a.Signature != nil):
		return hubapi.Archive{}, refuse(IDDigest, file, "%s: the index and the archive do not agree on whether it is signed", e.Ref())
	}
	return a, s.checkLog(e)
}

func (s *Snapshot) checkLog(e Entry) error {
	if e.LogProof == "" {
		return nil
	}
	if s.Log == nil {
		return refuse(IDLog, "", "%s has a log proof, but the snapshot names no log", e.Ref())
	}
	proof, err := translog.ParseProof([]byte(e.LogProof))
	if err != nil {
		return refuse(IDLog, "", "%s: its log proof cannot be read: %v", e.Ref(), err)
	}
	if _, err := proof.Check([]byte(e.LogEntry), s.Log.VKey); err != nil {
		return refuse(IDLog, "", "%s: its log proof proves nothing: %v", e.Ref(), err)
	}
	entry, err := translog.ParseEntry([]byte(e.LogEntry))
	if err != nil || entry.Digest != e.Digest || entry.Version != e.Version || !entry.Hidden() && entry.Name != e.Author+"/"+e.Name {
		return refuse(IDLog, "", "%s: its log entry is about something else", e.Ref())
	}
	return nil
}

func refuse(id, file, format string, args ...any) *hubapi.Error {
	e := hubapi.Errorf(hubapi.Invalid, format, args...)
	return e.With(hubapi.Detail{ID: id, Message: e.Message, File: file})
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func isSum(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

func indexName(sum string) string   { return indexStart + sum + indexEnd }
func archiveName(sum string) string { return folder + "/" + sum + packEnd }

// sortKey orders entries; no part can hold the separator.
func sortKey(e Entry) string { return e.Author + "\x00" + e.Name + "\x00" + e.Version }

// line is the one form of an entry in the index.
func (e Entry) line() ([]byte, error) {
	data, err := json.Marshal(e)
	return append(data, '\n'), err
}
