// Package source knows where packs come from: a folder, an archive, a git
// repository, a web site that lists its skills, a hub. It reads a source into
// memory under limits, finds the packs in it, and says what it is now, so that a
// later look can tell whether it changed.
//
// It writes nothing that stays, runs nothing that a source holds, and judges packs
// only as far as package pack does; scanning, signatures and installing are done by
// who calls it.
//
// Call Parse for what a user typed, then Sources.Fetch; Sources.Latest is the cheap
// question whether something is new.
package source

import (
	"context"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
)

// Kind is a way in which packs are kept.
type Kind string

// The kinds of sources.
const (
	Dir     Kind = "dir"     // a folder on this machine
	Archive Kind = "archive" // .zip, .tar, .tar.gz or .tgz, on this machine or by https
	Git     Kind = "git"     // a commit of a git repository
	Hub     Kind = "hub"     // a release in the hub
	Site    Kind = "site"    // a web site with /.well-known/agent-skills/index.json
)

// Kinds lists every kind in the order in which help texts name them.
var Kinds = []Kind{Hub, Git, Archive, Site, Dir}

// Ref names a source. Parse makes it, String writes it the way Parse reads it.
type Ref struct {
	Kind Kind
	// Location is the path of a folder, an archive or a local repository, as it was
	// typed, or the URL of an archive, a repository or a site. It never holds a
	// password. It is empty for a hub.
	Location string
	// Path is the folder in the source that is meant, "/" separated; a site has the
	// name of a skill there. Empty means all that the source holds.
	Path string
	// Rev is the branch, tag or commit of a repository; empty means its HEAD.
	Rev string
	// Tree is what follows /tree/ in a web address: a branch and a folder, which
	// only the repository can tell apart. Fetch does, and gives a Ref without it.
	Tree string
	// Hub is the skill or release of a hub.
	Hub hubapi.Ref
}

// Limits bound what is read. A zero value stands for the default.
type Limits struct {
	Bytes   int64         // of everything that a source holds, unpacked; 256 MiB
	Packed  int64         // of what comes over the network; 128 MiB
	Objects int           // files, folders and commits of a repository; 200,000
	Entries int           // names that are looked at below one source; 100,000
	Packs   int           // that one source may hold; 10,000
	Depth   int           // folders between the source and a pack; 16
	Timeout time.Duration // for one source, with everything that it needs; 2 minutes
}

func (l Limits) orDefault() Limits {
	set := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	if l.Bytes <= 0 {
		l.Bytes = 256 << 20
	}
	if l.Packed <= 0 {
		l.Packed = 128 << 20
	}
	set(&l.Objects, 200_000)
	set(&l.Entries, 100_000)
	set(&l.Packs, 10_000)
	set(&l.Depth, 16)
	if l.Timeout <= 0 {
		l.Timeout = 2 * time.Minute
	}
	return l
}

// HubReader is what a source needs of a hub; *hubclient.Client is one.
type HubReader interface {
	Release(context.Context, hubapi.Ref) (hubapi.Release, error)
	Archive(context.Context, hubapi.Ref) (*hubclient.Archive, error)
	Signature(context.Context, hubapi.Ref) ([]byte, error)
}

// Progress says what a source is busy with; Done and Total are 0 where they are
// not known.
type Progress struct {
	Ref         Ref
	What        string // such as "receiving objects"
	Done, Total int64
}

// Sources reads sources. The zero value reads folders and archives on this machine,
// relative to the process's working directory. It is safe for concurrent use.
type Sources struct {
	Hub      HubReader // nil: references to a hub are refused
	Dir      string    // what relative paths are relative to; empty: the working directory
	Net      Net
	Git      GitOptions
	HubOnly  bool           // only skills of a hub are taken here, so no other way to name one is hinted
	Limits   Limits         // zero: the defaults
	Cache    SiteCache      // nil: lists of sites are fetched whole each time
	Progress func(Progress) // nil: nobody wants to know; called from several goroutines

	shelves *diskShelves // of fetches that belong together; nil: each has its own
}

// Together gives a copy of s for fetches that belong together, as those for one lock do:
// each folder of this machine is looked through once for all of them.
func (s *Sources) Together() *Sources {
	together := *s
	together.shelves = new(diskShelves)
	return &together
}

// Fetched is what a source holds now.
type Fetched struct {
	// Ref is the source as it was found: with Tree taken apart, and with the owner of
	// a hub's skill. It is what belongs into a lock.
	Ref Ref
	// Revision identifies the content: the commit of a repository, the version of a
	// release, else a digest ("sp1:…" of a single pack, "sha256:…" otherwise).
	Revision string
	// Found are the packs, ascending by Path, those with faults included.
	Found []Found
	// Notes are remarks about the source: submodules and large files that were left
	// out, packs inside of packs.
	Notes []hubapi.Detail

	Release   *hubapi.Release // of a hub only
	Signature []byte          // of the only pack; nil without one
}

// Found is one pack in a source.
type Found struct {
	Path   string      // its folder in the source; empty for the source itself
	Name   string      // the manifest's, as far as it could be read, else the folder's
	Format pack.Format // empty when the folder can be read as two
	Digest pack.Digest // empty with Faults
	Pack   *pack.Pack  // nil with Faults
	// Sums are the hashes from which Digest was made here; nil where somebody else says
	// what it is.
	Sums *pack.Summed
	// Faults are the reasons why it is no pack, as *hubapi.Error.
	Faults  error
	refused pack.Errors // of which Faults is made
	// Layout are faults that do not keep the pack from being used; see
	// pack.Inspection.
	Layout pack.Errors
	// Signature is the signature file that lies beside its folder in the source; nil
	// without one, and in a hub. It was not judged.
	Signature []byte
	// SignatureFault is why a signature that is there cannot be used; such a pack must
	// not pass as one without a signature.
	SignatureFault error
}

// Revision answers Latest for one source.
type Revision struct {
	Ref      Ref
	Revision string // as in Fetched
	Err      error  // why it could not be found out; Revision is empty then
	// Found is the only pack of a folder, which had to be read to be told; nil for
	// everything else. Its revision does not cover which files can be run.
	Found *Found
}
