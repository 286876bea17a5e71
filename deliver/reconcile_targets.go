package deliver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// SyncMode says how much of a directory belongs to the reconciler.
type SyncMode string

// The modes of a target.
const (
	// OwnedTarget is a directory for the catalogue alone: what kx did not write is
	// removed from it too. That needs a directory that was new or empty when it
	// became a target, or a claim (see ReconcileOptions).
	OwnedTarget SyncMode = "owned"
	// AdditiveTarget is shared: only what kx wrote is ever changed.
	AdditiveTarget SyncMode = "additive"
)

// SyncTarget is one directory to reconcile.
type SyncTarget struct {
	Dir  string // as it was given; absolute once Resolve has looked at it
	Mode SyncMode
	// Register puts the directory on the list of skill folders in OpenClaw's
	// configuration.
	Register bool
}

// ParseTarget reads DIR:owned or DIR:additive, with ":register" behind it or not.
func ParseTarget(text string) (SyncTarget, error) {
	rest, register := strings.CutSuffix(text, ":register")
	at := strings.LastIndexByte(rest, ':')
	wrong := func(why string) (SyncTarget, error) {
		return SyncTarget{}, hubapi.Errorf(hubapi.Usage, "the target %.200q %s", text, why).
			WithHint("write DIR:additive for a folder that others use too, DIR:owned for one that only kx fills; add :register for OpenClaw")
	}
	if strings.ContainsRune(text, ',') {
		return SyncTarget{}, hubapi.Errorf(hubapi.Usage, "the target %.200q has a comma, and is one target", text).
			WithHint("say --target once for each folder: --target ONE:owned --target OTHER:additive; a folder with a comma in its name can be a target by the JSON list in MEMCLAW_SKILL_TARGETS")
	}
	if at < 0 {
		return wrong("does not say how it is managed")
	}
	t := SyncTarget{Dir: rest[:at], Mode: SyncMode(rest[at+1:]), Register: register}
	switch {
	case t.Mode != OwnedTarget && t.Mode != AdditiveTarget:
		return wrong(fmt.Sprintf("has the mode %.40q, which is neither owned nor additive", string(t.Mode)))
	case strings.TrimSpace(t.Dir) == "":
		return wrong("names no folder")
	}
	return t, nil
}

// maxListedTargets bounds how many directories one list may name, and maxTargetList the
// list in bytes.
const (
	maxListedTargets = 256
	maxTargetList    = 1 << 20
)

// ParseTargetList reads the JSON list of {dir, mode, register?} that other
// reconcilers take from their environment, or targets as ParseTarget reads them, with
// commas between them. An entry that is none is passed over and said in remarks; a list
// that cannot be read is a remark too.
func ParseTargetList(text string) (targets []SyncTarget, remarks []string) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if len(text) > maxTargetList {
		return nil, []string{"the list of targets is too long"}
	}
	passOver := func(i int, why string) {
		remarks = append(remarks, fmt.Sprintf("target %d is passed over: %s", i+1, why))
	}
	const tooMany = "there are more than anyone needs"
	if !strings.ContainsAny(strings.TrimSpace(text)[:1], "[{") {
		for i, part := range strings.Split(text, ",") {
			if i == maxListedTargets {
				passOver(i, tooMany)
				break
			}
			t, err := ParseTarget(strings.TrimSpace(part))
			if err != nil {
				passOver(i, err.Error())
				continue
			}
			targets = append(targets, t)
		}
		return targets, remarks
	}
	var entries []json.RawMessage
	if err := strictjson.UnmarshalLax([]byte(text), &entries); err != nil {
		return nil, []string{"the list of targets cannot be read: " + err.Error()}
	}
	for i, raw := range entries {
		if i == maxListedTargets {
			passOver(i, tooMany)
			break
		}
		var entry struct {
			Dir      string          `json:"dir"`
			Mode     SyncMode        `json:"mode"`
			Register json.RawMessage `json:"register"`
		}
		err := strictjson.UnmarshalLax(raw, &entry)
		switch {
		case err != nil:
			passOver(i, err.Error())
		case strings.TrimSpace(entry.Dir) == "":
			passOver(i, "it names no folder")
		case entry.Mode != OwnedTarget && entry.Mode != AdditiveTarget:
			passOver(i, fmt.Sprintf("its mode is %.40q, neither owned nor additive", string(entry.Mode)))
		default:
			targets = append(targets, SyncTarget{Dir: entry.Dir, Mode: entry.Mode, Register: string(entry.Register) == "true"})
		}
	}
	return targets, remarks
}

// Places are the directories that a target must not swallow.
type Places struct {
	Home    string // the user's
	Working string // where relative targets start
	KxHome  string // where kx keeps its own files
}

// RefusedTarget is a target that was not taken.
type RefusedTarget struct {
	SyncTarget
	Why string
	// Again says that it is the directory of a target before it, which was taken.
	Again bool
	// Hint says what to write instead, where that is known.
	Hint string
}

// Resolve makes the directories of targets absolute, with "~" as the user's home,
// and refuses those that it would be a mistake to fill or to empty: the root of a
// disk, one's home, what kx keeps for itself, and what is, lies in, or around, a target
// before it; for an owned target also the working directory, what holds one of these,
// and a symbolic link. Directories are compared behind symbolic links.
func (p Places) Resolve(targets []SyncTarget) (taken []SyncTarget, refused []RefusedTarget) {
	var real, given []string // of taken
	for _, t := range targets {
		name := t.Dir
		dir, why := p.resolve(t)
		if why != "" {
			refused = append(refused, RefusedTarget{SyncTarget: t, Why: why})
			continue
		}
		t.Dir = dir
		at := realPath(dir)
		clash := RefusedTarget{SyncTarget: t}
		for i, other := range real {
			switch {
			case other == at:
				clash.Again = true
				clash.Why, clash.Hint = sameTarget(given[i], taken[i], name, t)
			case within(at, other):
				clash.Why = "it lies inside the target " + taken[i].Dir
				clash.Hint = "keep one of the two, or name folders that lie side by side"
			case within(other, at):
				clash.Why = "the target " + taken[i].Dir + " lies inside it"
				clash.Hint = "keep one of the two, or name folders that lie side by side"
			default:
				continue
			}
			break
		}
		if clash.Why != "" {
			refused = append(refused, clash)
			continue
		}
		taken, real, given = append(taken, t), append(real, at), append(given, name)
	}
	return taken, refused
}

// sameTarget says that b is the folder of a, as they were given, and what to write.
func sameTarget(nameA string, a SyncTarget, nameB string, b SyncTarget) (why, hint string) {
	spelled := ""
	if nameA != nameB {
		spelled = fmt.Sprintf(" (%q is the folder of %q)", nameB, nameA)
	}
	if a.Mode != b.Mode {
		return fmt.Sprintf("it is a target already, and %s there%s: a folder is either owned or additive", a.Mode, spelled),
			fmt.Sprintf("write only %s:%s, or only %s:%s", nameA, a.Mode, nameA, b.Mode)
	}
	if a.Register != b.Register {
		return "it is a target already" + spelled + ", once with :register and once without", fmt.Sprintf("write only %s:%s:register", nameA, a.Mode)
	}
	return "it is a target already" + spelled, fmt.Sprintf("write only %s:%s", nameA, a.Mode)
}

// resolve gives the absolute directory of one target, or why it is refused.
func (p Places) resolve(t SyncTarget) (dir, why string) {
	dir = t.Dir
	if strings.ContainsRune(dir, 0) {
		return "", "no folder can be called that"
	}
	if dir == "~" || strings.HasPrefix(dir, "~/") || strings.HasPrefix(dir, `~\`) {
		if p.Home == "" {
			return "", "there is no home directory that ~ could be"
		}
		dir = filepath.Join(p.Home, dir[1:])
	} else if strings.HasPrefix(dir, "~") {
		return "", "only one's own home is known as ~"
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.Working, dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err.Error()
	}
	at := realPath(dir)
	rest := strings.Trim(filepath.ToSlash(at[len(filepath.VolumeName(at)):]), "/")
	if !strings.Contains(rest, "/") {
		return "", "it is too close to the root of the disk"
	}
	for _, place := range []struct {
		dir, name string
		inside    bool // nothing may lie in it either
	}{
		{p.Home, "your home directory", false},
		{p.Working, "the working directory", false},
		{p.KxHome, "the folder where kx keeps its own files", true},
	} {
		if place.dir == "" {
			continue
		}
		switch other := realPath(place.dir); {
		case at == other && (t.Mode == OwnedTarget || place.dir != p.Working):
			return "", "it is " + place.name
		case within(other, at) && t.Mode == OwnedTarget:
			return "", "it holds " + place.name
		case place.inside && within(at, other):
			return "", "it lies inside " + place.name
		}
	}
	if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 && t.Mode == OwnedTarget {
		return "", "it is a symbolic link; name the folder itself to have it owned"
	}
	return dir, ""
}

// realPath is a path without symbolic links, as far as it exists.
func realPath(dir string) string {
	dir = filepath.Clean(dir)
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		return at
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	return filepath.Join(realPath(parent), filepath.Base(dir))
}

// within tells whether dir lies below outer.
func within(dir, outer string) bool {
	rel, err := filepath.Rel(outer, dir)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
