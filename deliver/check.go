package deliver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// Status is whose a folder is.
type Status string

// The statuses of a folder.
const (
	Absent  Status = "absent"
	Foreign Status = "foreign" // there, and not ours to touch
	Owned   Status = "owned"   // has a marker that we can read; Marker.Owner says which kx wrote it
)

// State is how one folder stands.
type State struct {
	Slug   string
	Status Status
	Why    string  // of Foreign
	Marker *Marker // of Owned
	Link   string  // of Foreign: the text of the symbolic link that it is

	// Differences are all files that are not as written, ascending by path. A
	// marker that does not prove its digest is itself one of them.
	Differences []Difference
	// Doubts say why it does not.
	Doubts []string

	entries []fs.DirEntry // of the folder itself
	marker  []byte
	modes   bool // the disk keeps execute bits
}

// Edits are the differences that are somebody's work.
func (s *State) Edits() []Difference {
	var out []Difference
	for _, d := range s.Differences {
		if d.Edit() {
			out = append(out, d)
		}
	}
	return out
}

// Touched are the edits, and the files of which only the execute bit is another one: no
// work is lost with it, but what nobody let run may run.
func (s *State) Touched() []Difference {
	var out []Difference
	for _, d := range s.Differences {
		if d.Edit() || d.Change == Mode {
			out = append(out, d)
		}
	}
	return out
}

// Check compares the folder called slug with its marker. The error is for a disk
// that could not be read, or a folder that other programs keep replacing.
func Check(root fsx.Root, slug string) (State, error) {
	for range attempts {
		s, err := look(root, slug, true)
		if !errors.Is(err, errMeanwhile) {
			return s, err
		}
	}
	return State{Slug: slug}, busy(slug)
}

// look finds out whose the folder called slug is and, where whole is set, how it
// differs from its marker. errMeanwhile says that the folder was moved while it
// was read, and what was read says nothing.
func look(root fsx.Dir, slug string, whole bool) (State, error) {
	s := State{Slug: slug, Status: Foreign}
	if hubapi.CheckName(slug) != nil {
		s.Why = "no skill of ours has such a name"
		return s, nil
	}
	info, err := root.Lstat(slug)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Status = Absent
		return s, nil
	case err != nil:
		return s, err
	case info.Mode()&fs.ModeSymlink != 0:
		s.Why = "it is a symbolic link"
		s.Link, err = root.Readlink(slug)
		if errors.Is(err, fs.ErrInvalid) {
			err = errMeanwhile
		}
		return s, meanwhile(err)
	case !info.IsDir():
		s.Why = "it is not a folder"
		return s, nil
	}
	dir, err := root.OpenDir(slug)
	if err != nil {
		return s, meanwhile(err)
	}
	defer dir.Close()
	if err := s.identify(dir); err != nil {
		return s, meanwhile(err)
	}
	if whole && s.Status == Owned {
		err = s.compare(dir)
	}
	if err != nil || s.Status != Owned || len(s.Differences) > 0 {
		// A folder that is being removed loses one file after the other, its marker
		// among them.
		if now, err := root.Lstat(slug); err != nil || !os.SameFile(info, now) {
			return s, errMeanwhile
		}
	}
	return s, meanwhile(err)
}

// meanwhile tells errors that only another program can have caused from those of
// the disk.
func meanwhile(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fsx.ErrChanged) || errors.Is(err, fsx.ErrNotFolder) {
		return errMeanwhile
	}
	return err
}

// whyUnmarked is why a folder is foreign that nobody marked.
const whyUnmarked = "it has no marker of ours"

// identify reads the marker in dir, if there is one.
func (s *State) identify(dir fsx.Dir) error {
	var err error
	if s.entries, err = dir.ReadDir("."); err != nil {
		return err
	}
	marked := false
	for _, e := range s.entries {
		if e.Name() == foreignMarker {
			s.Why = "another installer marked it as its own"
			return nil
		}
		marked = marked || e.Name() == MarkerFile
	}
	if !marked {
		s.Why = whyUnmarked
		return nil
	}
	var info fs.FileInfo
	s.marker, info, err = dir.ReadFileInfo(MarkerFile, maxMarker)
	switch {
	case errors.Is(err, fsx.ErrTooLarge), errors.Is(err, fsx.ErrNotRegular):
		s.Why = "its marker is none that we write"
		return nil
	case err != nil:
		return err
	}
	// A disk that calls the marker executable keeps no modes.
	s.modes = runtime.GOOS != "windows" && info.Mode()&0o111 == 0
	m, err := ParseMarker(s.marker)
	switch {
	case err != nil:
		s.Why = "its marker cannot be read: " + err.Error()
	case m.Slug != s.Slug:
		s.Why = fmt.Sprintf("its marker belongs to the folder %s", m.Slug)
	default:
		s.Status, s.Marker = Owned, m
	}
	return nil
}

// maxAdded bounds how many files that are not ours are named one by one.
const maxAdded = 1000

// compare fills in how dir differs from its marker.
func (s *State) compare(dir fsx.Dir) error {
	c := comparer{dir: dir, marker: s.Marker, modes: s.modes, seen: make(map[string]bool, len(s.Marker.Files))}
	if err := c.walk("", s.entries); err != nil {
		return err
	}
	var missing []string
	for name := range s.Marker.Files {
		if !c.seen[name] {
			missing = append(missing, name)
		}
	}
	if err := c.match(missing); err != nil {
		return err
	}
	s.Differences = c.found
	s.Doubts = s.Marker.doubts(c.skill)
	if len(s.Doubts) > 0 {
		s.Differences = append(s.Differences, Difference{Path: MarkerFile, Change: Changed})
	}
	sorting.Sort(s.Differences, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

type comparer struct {
	dir    fsx.Dir
	marker *Marker
	modes  bool // as in State
	seen   map[string]bool
	found  []Difference
	added  []string // regular files that are not ours
	others int      // everything else that is not
	skill  []byte   // SKILL.md of a kortecx pack, when it is as written
}

func (c *comparer) record(name string, change Change) {
	c.found = append(c.found, Difference{Path: name, Change: change})
}

func (c *comparer) walk(below string, entries []fs.DirEntry) error {
	for _, e := range entries {
		name := path.Join(below, e.Name())
		_, ours := c.marker.Files[name]
		switch {
		case name == MarkerFile:
		case e.IsDir():
			if len(c.added)+c.others >= maxAdded && !c.holdsOurs(name) {
				c.record(name+"/", Added)
				continue
			}
			inner, err := c.dir.ReadDir(name)
			if err != nil {
				return err
			}
			if err := c.walk(name, inner); err != nil {
				return err
			}
		case ours:
			c.seen[name] = true
			if err := c.file(name); err != nil {
				return err
			}
		case e.Type().IsRegular():
			c.added = append(c.added, name)
		default:
			c.others++
			c.record(name, Added)
		}
	}
	return nil
}

func (c *comparer) holdsOurs(dir string) bool {
	for name := range c.marker.Files {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// file compares one file that should be there.
func (c *comparer) file(name string) error {
	want := c.marker.Files[name]
	data, info, err := c.dir.ReadFileInfo(name, pack.MaxBytes)
	switch {
	case errors.Is(err, fsx.ErrTooLarge), errors.Is(err, fsx.ErrNotRegular), errors.Is(err, fsx.ErrChanged):
		c.record(name, Changed)
		return nil
	case err != nil:
		return err
	case hexSum(data) != want.SHA256:
		c.record(name, Changed)
		return nil
	}
	if name == skillFile {
		c.skill = data
	}
	if c.modes && info.Mode()&0o111 != 0 != want.Executable {
		c.record(name, Mode)
	}
	return nil
}

// match tells renamed files from missing and added ones, by their content.
func (c *comparer) match(missing []string) error {
	slices.Sort(missing)
	byHash := map[string][]string{}
	for _, name := range missing {
		sum := c.marker.Files[name].SHA256
		byHash[sum] = append(byHash[sum], name)
	}
	for _, name := range c.added {
		sum := ""
		if len(byHash) > 0 {
			data, err := c.dir.ReadFile(name, pack.MaxBytes)
			switch {
			case err == nil:
				sum = hexSum(data)
			case errors.Is(err, fsx.ErrTooLarge), errors.Is(err, fsx.ErrNotRegular), errors.Is(err, fsx.ErrChanged), errors.Is(err, fs.ErrNotExist):
			default:
				return err
			}
		}
		if from := byHash[sum]; len(from) > 0 {
			c.found = append(c.found, Difference{Path: from[0], Change: Renamed, To: name})
			if byHash[sum] = from[1:]; len(from) == 1 {
				delete(byHash, sum)
			}
			continue
		}
		c.record(name, Added)
	}
	for _, names := range byHash {
		for _, name := range names {
			c.record(name, Missing)
		}
	}
	return nil
}

// List gives the markers of all folders that have one we can read, ascending by
// slug, whichever kx wrote them. It does not compare the folders' files.
func List(root fsx.Root) ([]Marker, error) {
	entries, err := root.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var out []Marker
	for _, e := range entries {
		if !e.IsDir() || hubapi.CheckName(e.Name()) != nil {
			continue
		}
		s, err := look(root, e.Name(), false)
		for range attempts {
			if !errors.Is(err, errMeanwhile) {
				break
			}
			s, err = look(root, e.Name(), false)
		}
		if err != nil {
			return nil, err
		}
		if s.Status == Owned {
			out = append(out, *s.Marker)
		}
	}
	return out, nil
}
