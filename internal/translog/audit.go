package translog

import (
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// NodeReader reads nodes of a tree; see Nodes.
type NodeReader = tlog.HashReader

// maxFindings is how many findings an audit keeps: a log that is wrong throughout
// must not fill the memory.
const maxFindings = 100

// earliest is before any entry that an honest clock can have dated.
var earliest = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Finding is one thing that an audit found. A warning does not make the log wrong.
type Finding struct {
	ID      string
	Index   int64 // of the entry, -1 when it is about none
	Text    string
	Warning bool
}

// Release is what a log says about one version.
type Release struct {
	Digest    string
	Index     int64 // of the last entry that published it, -1 when none did
	Withdrawn bool  // since then, or set apart
}

type version struct{ name, version string }

// Audit reads a log from its first entry to its last and holds every entry against
// those before: that one version has one digest for ever, that nothing is taken
// back which was never there, that times do not go back.
type Audit struct {
	size     int64
	findings []Finding
	versions map[version]*Release
	active   map[string]string // name to version
	last     time.Time
}

// NewAudit begins an audit.
func NewAudit() *Audit {
	return &Audit{versions: map[version]*Release{}, active: map[string]string{}}
}

func (a *Audit) found(f Finding) {
	if len(a.findings) < maxFindings {
		a.findings = append(a.findings, f)
	}
}

func (a *Audit) wrong(id string, index int64, format string, args ...any) {
	a.found(Finding{ID: id, Index: index, Text: refuse(id, format, args...).Text})
}

func (a *Audit) doubt(index int64, format string, args ...any) {
	a.found(Finding{ID: IDClock, Index: index, Text: refuse(IDClock, format, args...).Text, Warning: true})
}

// Add reads the next entry.
func (a *Audit) Add(index int64, entry []byte) {
	if index != a.size {
		a.wrong(IDMismatch, index, "entry %d follows entry %d", index, a.size-1)
	}
	a.size = index + 1
	e, err := ParseEntry(entry)
	if err != nil {
		a.wrong(IDFormat, index, "entry %d: %v", index, err)
		return
	}
	switch {
	case e.Time.Before(a.last):
		a.doubt(index, "entry %d is dated %s, before the entry before it", index, e.Time.Format(timeForm))
	case e.Time.Before(earliest):
		a.doubt(index, "entry %d is dated %s", index, e.Time.Format(timeForm))
	}
	a.last = e.Time
	if e.Op == Publisher || e.Op == Revoke || e.Hidden() {
		return
	}
	a.release(index, e)
}

// Reveal says what a hidden name of an entry that was added stands for, as whoever
// knows the nonce claims; a claim that is not true is found.
func (a *Audit) Reveal(index int64, entry, nonce []byte, name, ver string) {
	e, err := ParseEntry(entry)
	if err != nil {
		return // found when it was added
	}
	if len(nonce) != NonceSize || ver != e.Version || HiddenName(nonce, name, ver) != e.Name {
		a.wrong(IDMismatch, index, "entry %d is not about %s@%s, as the hub says", index, name, ver)
		return
	}
	r := a.version(name, e)
	if r.Digest != e.Digest {
		a.wrong(IDMismatch, index, "entry %d: %s@%s was %s before, and is %s here", index, name, ver, r.Digest, e.Digest)
	}
}

func (a *Audit) version(name string, e Entry) *Release {
	key := version{name, e.Version}
	r := a.versions[key]
	if r == nil {
		r = &Release{Digest: e.Digest, Index: -1}
		a.versions[key] = r
	}
	return r
}

func (a *Audit) release(index int64, e Entry) {
	r := a.version(e.Name, e)
	if r.Digest != e.Digest {
		a.wrong(IDMismatch, index, "entry %d: %s@%s was %s before, and is %s here", index, e.Name, e.Version, r.Digest, e.Digest)
		return
	}
	switch e.Op {
	case Publish:
		r.Index, r.Withdrawn = index, false
		a.active[e.Name] = e.Version
	case Withdraw, Quarantine:
		if r.Index < 0 {
			a.wrong(IDMismatch, index, "entry %d takes %s@%s back, which was never published", index, e.Name, e.Version)
		}
		r.Withdrawn = true
		if a.active[e.Name] == e.Version {
			delete(a.active, e.Name)
		}
	}
}

// Clock holds the time of the last entry against a clock of one's own.
func (a *Audit) Clock(now time.Time) {
	if a.size > 0 && now.Add(24*time.Hour).Before(a.last) {
		a.doubt(a.size-1, "the last entry is dated %s, but this machine's clock says %s", a.last.Format(timeForm), now.UTC().Format(timeForm))
	}
}

// Findings are what was found so far, 100 at most.
func (a *Audit) Findings() []Finding { return a.findings }

// Size is how many entries were added.
func (a *Audit) Size() int64 { return a.size }

// Version is what the log says about one version.
func (a *Audit) Version(name, ver string) (Release, bool) {
	r := a.versions[version{name, ver}]
	if r == nil {
		return Release{}, false
	}
	return *r, true
}

// Active are the versions that the log says are active, by name. The map is the
// audit's own.
func (a *Audit) Active() map[string]string { return a.active }
