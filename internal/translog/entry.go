package translog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"
)

// Op is what an entry says has happened.
type Op string

// The operations of kx-log/v1.
const (
	Submit     Op = "submit"     // a release was proposed
	Publish    Op = "publish"    // a release became active
	Withdraw   Op = "withdraw"   // a release was taken back
	Quarantine Op = "quarantine" // a release was set apart
	Publisher  Op = "publisher"  // an owner's keys changed
	Revoke     Op = "revoke"     // a key was revoked
)

const (
	entryHead = "kx-log/v1"
	timeForm  = "2006-01-02T15:04:05Z"
	// None stands where an entry has no key or no digest.
	None = "-"
	// NonceSize is the length of what hides a name.
	NonceSize = 32
	// MaxEntry is the size of an entry that a bundle can carry.
	MaxEntry = 1<<16 - 1
	maxField = 1024
)

// Entry is one leaf of a log.
type Entry struct {
	Op Op
	// Name is author/name, or what HiddenName makes of it for what was never
	// active; for Publisher and Revoke it is the owner alone.
	Name    string
	Version string
	Digest  string    // "sp1:" or "sha256:" and 64 hex digits; None where there is none
	KeyID   string    // 64 hex digits of the signing key; None for unsigned
	Time    time.Time // UTC, whole seconds
}

// HiddenName stands for a name in the leaf of what was never active: only who is
// told the nonce can find out, or show, what it means. The version needs no
// separator: the leaf has it in clear.
func HiddenName(nonce []byte, name, version string) string {
	h := sha256.New()
	h.Write(nonce)
	h.Write([]byte(name))
	h.Write([]byte(version))
	return hex.EncodeToString(h.Sum(nil))
}

// Hidden tells whether the name is one that HiddenName made.
func (e Entry) Hidden() bool { return isHex64(e.Name) }

// Marshal gives the exact bytes of the leaf.
func (e Entry) Marshal() ([]byte, error) {
	e.Time = e.Time.UTC().Truncate(time.Second)
	if err := e.check(); err != nil {
		return nil, err
	}
	return []byte(strings.Join([]string{
		entryHead, string(e.Op), e.Name, e.Version, e.Digest, e.KeyID, e.Time.Format(timeForm), "",
	}, "\n")), nil
}

// ParseEntry reads a leaf. It accepts only what Marshal writes.
func ParseEntry(data []byte) (Entry, error) {
	if len(data) > MaxEntry {
		return Entry{}, refuse(IDFormat, "a log entry has %d bytes", len(data))
	}
	f := strings.Split(string(data), "\n")
	if len(f) != 8 || f[7] != "" || f[0] != entryHead {
		return Entry{}, refuse(IDFormat, "not a %s entry", entryHead)
	}
	at, err := time.Parse(timeForm, f[6])
	if err != nil || at.Format(timeForm) != f[6] {
		return Entry{}, refuse(IDFormat, "a log entry has the time %q", f[6])
	}
	e := Entry{Op: Op(f[1]), Name: f[2], Version: f[3], Digest: f[4], KeyID: f[5], Time: at}
	return e, e.check()
}

// check tells what keeps the entry from being written.
func (e Entry) check() error {
	owner := false
	switch e.Op {
	case Submit, Publish, Withdraw, Quarantine:
	case Publisher, Revoke:
		owner = true
	default:
		return refuse(IDFormat, "a log entry has the operation %q", e.Op)
	}
	author, name, slash := strings.Cut(e.Name, "/")
	switch {
	case !field(e.Name) || strings.Contains(e.Name, " "):
		return refuse(IDFormat, "a log entry has the name %q", e.Name)
	case !owner && !e.Hidden() && (!slash || author == "" || name == "" || strings.Contains(name, "/")):
		return refuse(IDFormat, "a log entry has the name %q, which is not author/name", e.Name)
	case e.Op == Publish && e.Hidden():
		return refuse(IDFormat, "a log entry hides the name of what it publishes")
	case owner && slash:
		return refuse(IDFormat, "a log entry has the owner %q", e.Name)
	case !field(e.Version):
		return refuse(IDFormat, "a log entry has the version %q", e.Version)
	case e.KeyID != None && !isHex64(e.KeyID):
		return refuse(IDFormat, "a log entry has the key id %q", e.KeyID)
	case e.Time.Year() < 0 || e.Time.Year() > 9999:
		return refuse(IDFormat, "a log entry has a year that cannot be written")
	}
	algorithm, digits, _ := strings.Cut(e.Digest, ":")
	known := algorithm == "sp1" || owner && algorithm == "sha256"
	if !(known && isHex64(digits)) && !(owner && e.Digest == None) {
		return refuse(IDFormat, "a log entry has the digest %q", e.Digest)
	}
	return nil
}

// field tells whether s can stand on a line of its own.
func field(s string) bool {
	return s != "" && len(s) <= maxField && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

func isHex64(s string) bool {
	return len(s) == 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'f')
	})
}

// LeafHash is the RFC 6962 hash of an entry: SHA-256 of a zero byte and the entry.
func LeafHash(entry []byte) Hash { return tlog.RecordHash(entry) }
