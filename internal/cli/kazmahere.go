package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/kazmaload"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

func toFlag() cli.Flag {
	return &cli.StringFlag{Name: "to", Usage: "the folder of skills is `DIR` (default: skills.path of the kazma.yaml here, else the skills of your own Kazma)"}
}

// kazmaPlace is the folder that a Kazma loads its skills from.
type kazmaPlace struct {
	dir      string // absolute
	project  string // the folder of the kazma.yaml that says so; empty without one
	settings kazmaload.Settings
}

// kazmaPlace finds it: --to, else what the kazma.yaml in this folder says, else the
// skills of the user's own Kazma.
func (a *app) kazmaPlace(c *cli.Command) (kazmaPlace, error) { return a.kazmaPlaceOr(c.String("to")) }

// kazmaPlaceOr is the folder to, where one is named, else Kazma's own.
func (a *app) kazmaPlaceOr(to string) (kazmaPlace, error) {
	here, err := filepath.Abs(a.path("."))
	if err != nil {
		return kazmaPlace{}, err
	}
	settings, found, err := a.kazmaSettings(filepath.Join(here, kazmaload.SettingsFile))
	if err != nil {
		return kazmaPlace{}, err
	}
	out := kazmaPlace{settings: settings}
	if found {
		out.project = here
	}
	switch {
	case to != "":
		out.dir, err = filepath.Abs(a.path(to))
		return out, err
	case found:
		out.dir = filepath.FromSlash(settings.Path)
		if !filepath.IsAbs(out.dir) {
			out.dir = filepath.Join(here, out.dir)
		}
		return out, nil
	}
	home := a.Getenv("KAZMA_USER_HOME")
	if home == "" {
		if a.HomeDir == "" {
			return out, usagef("no home directory: name the folder of skills with --to")
		}
		home = filepath.Join(a.HomeDir, ".kazma")
	}
	out.dir, err = filepath.Abs(a.path(filepath.Join(home, "skills")))
	return out, err
}

// kazmaSettings reads a kazma.yaml, if there is one. A link is refused, as for kx.yaml.
func (a *app) kazmaSettings(file string) (s kazmaload.Settings, found bool, err error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return kazmaload.Settings{AutoDiscover: true}, false, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return s, false, usagef("%s is not a regular file, so it is not read", file)
	}
	data, err := readLimited(file, kazmaload.MaxSettings)
	if err != nil {
		return s, false, usagef("cannot read %s: %v", file, err)
	}
	s, err = kazmaload.ReadSettings(data, a.Getenv)
	return s, true, err
}

// writable refuses a folder that a project's file chose and that is not in the
// project: the file comes with the project, from strangers too.
func (p kazmaPlace) writable(c *cli.Command) error {
	if p.project == "" || c.String("to") != "" {
		return nil
	}
	if inside, err := within(p.project, filepath.Join(existing(p.dir), "x")); err == nil && inside {
		return nil
	}
	return hubapi.Errorf(hubapi.Precondition, "%s says that the skills are in %s, which is outside of the project", kazmaload.SettingsFile, p.dir).
		WithHint("if that is as it should be, name the folder with --to")
}

// existing is the part of a path that is there.
func existing(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || filepath.Dir(at) == at {
			return at
		}
	}
}

// loadPolicy is how strictly a Kazma will judge what comes in with the command: nil
// where none loads it. The kazma program installs for Kazma, wherever; kx only does
// where a folder that it was told, or that has the skill already, is Kazma's.
func (a *app) loadPolicy(c *cli.Command, has []string) (*kazmaload.Policy, error) {
	to := c.String("to")
	if a.program != "kazma" {
		at, into := append([]string{to}, has...), false
		for i := 0; i < len(at) && !into; i++ {
			var err error
			if into, err = a.intoKazma(at[i]); err != nil {
				return nil, err
			}
			to = at[i]
		}
		if !into {
			return nil, nil
		}
	}
	place, err := a.kazmaPlaceOr(to)
	return &kazmaload.Policy{RequireSigned: place.settings.RequireSigned, WithoutSecret: c.Bool("without-secret")}, err
}

// intoKazma tells whether a folder is the one that Kazma loads its skills from.
func (a *app) intoKazma(to string) (bool, error) {
	if to == "" || a.HomeDir == "" {
		return false, nil
	}
	place, err := a.kazmaPlaceOr("")
	if err != nil {
		return false, err
	}
	dir, err := filepath.Abs(a.path(to))
	return dir == place.dir, err
}

// policy is how strictly skills are judged.
func (p kazmaPlace) policy(c *cli.Command) kazmaload.Policy {
	return kazmaload.Policy{
		RequireSigned: p.settings.RequireSigned || c.Bool("require-signed"),
		WithoutSecret: c.Bool("without-secret"),
	}
}

// kazmaSkill is one skill of the folder, loadable or not.
type kazmaSkill struct {
	folder, dir string
	manifest    *pack.KazmaManifest // nil when it was refused
	digest      pack.Digest
	warnings    []string
	refused     string // why it must not be loaded
	refusal     *hubapi.Error
	disabled    bool
}

// kazmaSkills is everything that a folder of skills holds.
type kazmaSkills struct {
	kazmaPlace
	skills []kazmaSkill
}

// kazmaHere judges the skills that are here.
func (a *app) kazmaHere(ctx context.Context, c *cli.Command) (kazmaSkills, error) {
	place, err := a.kazmaPlace(c)
	if err != nil {
		return kazmaSkills{}, err
	}
	secrets, err := a.secrets(c)
	if err != nil {
		return kazmaSkills{}, err
	}
	return a.discovered(ctx, place, secrets, place.policy(c))
}

func (a *app) discovered(ctx context.Context, place kazmaPlace, secrets sign.Secrets, policy kazmaload.Policy) (kazmaSkills, error) {
	out := kazmaSkills{kazmaPlace: place}
	found, err := kazmaload.Discover(ctx, place.dir, secrets, policy)
	if err != nil {
		return out, err
	}
	recorded := a.recordedIn(place)
	for _, l := range found.Loaded {
		if e := editedSince(l, recorded); e != nil {
			out.skills = append(out.skills, kazmaSkill{folder: l.Folder, dir: l.Dir, refused: e.Details[0].Message, refusal: e})
			continue
		}
		out.skills = append(out.skills, kazmaSkill{
			folder: l.Folder, dir: l.Dir, manifest: l.Manifest, digest: l.Digest, warnings: l.Warnings,
			disabled: slices.Contains(place.settings.Disabled, l.Manifest.Name),
		})
	}
	for _, r := range found.Refused {
		why := r.Err.Message
		if len(r.Err.Details) > 0 {
			why = strings.TrimPrefix(why, "the skill "+r.Folder+" was refused: ")
		}
		out.skills = append(out.skills, kazmaSkill{folder: r.Folder, dir: r.Dir, refused: why, refusal: r.Err})
	}
	sorting.Sort(out.skills, func(x, y kazmaSkill) int { return strings.Compare(x.folder, y.folder) })
	return out, nil
}

// editedSince refuses a skill that we wrote and that is not any more as we wrote it:
// checksum and signature are of one file, and whoever takes both away leaves a skill
// that only looks unsigned.
func editedSince(l *kazmaload.Loaded, recorded map[string]deliver.Locked) *hubapi.Error {
	_, changes, err := installedState(l, recorded)
	why, hint := "", "kazma hub install --force puts it back as it was; if the change is yours, keep it in a folder of its own"
	switch {
	case err != nil:
		why = "it cannot be compared with what was installed: " + hubapi.AsError(err).Message
	case len(changes) == 0:
		return nil
	case changes[0] == markerGone:
		why = fmt.Sprintf("it is not what %s says was installed, and its %s, which told of every file, is gone", deliver.LockFile, markerName)
		hint = "move the folder away and install it again; if the change is yours, keep it under another name"
	default:
		words := make([]string, 0, 3)
		for _, d := range changes[:min(len(changes), 3)] {
			words = append(words, d.Path+" "+d.Change)
		}
		why = "it was edited since it was installed: " + strings.Join(words, ", ")
		if more := len(changes) - len(words); more > 0 {
			why += fmt.Sprintf(", %d more", more)
		}
	}
	return hubapi.Errorf(hubapi.Invalid, "the skill %s was refused: %s", l.Folder, why).
		With(hubapi.Detail{ID: deliver.IDLocalEdits, Message: why}).
		WithHint("%s", hint)
}

// find gives the skill that a reference means, nil without one. What cannot be read is
// known by its folder alone.
func (s kazmaSkills) find(ref hubapi.Ref) *kazmaSkill {
	for i := range s.skills {
		k := &s.skills[i]
		switch {
		case k.manifest == nil:
			if k.folder == ref.Name {
				return k
			}
		case k.manifest.Name == ref.Name && (ref.Author == "" || ref.Author == k.manifest.Author) && (ref.Version == "" || ref.Version == k.manifest.Version):
			return k
		}
	}
	return nil
}

func (a *app) kazmaList() *cli.Command {
	return a.leaf("list", "list the skills that are installed here, and those that would not be loaded", spec{
		long: "Looks at every folder with a skill_manifest.yaml in the folder of skills, however it came there, and judges it as on\n" +
			"load: see kazma hub verify. Exit 1 when one was refused.",
		examples: []example{{"hub list", "the skills of this project, or your own"}, {"hub list --json", "for scripts"}},
	}, append([]cli.Flag{
		toFlag(),
		&cli.BoolFlag{Name: "require-signed", Usage: "refuse skills without a signature"},
		previousSecretFlag(), jsonFlag(),
	}, secretFlags()...), a.runKazmaList)
}

// kazmaListed is one skill of a list.
type kazmaListed struct {
	Name        string        `json:"name"`
	Author      string        `json:"author"`
	Version     string        `json:"version"`
	Description string        `json:"description"`
	Path        string        `json:"path"`
	Digest      string        `json:"digest,omitempty"`
	Enabled     bool          `json:"enabled"`
	Warnings    []string      `json:"warnings"`
	Refused     *hubapi.Error `json:"refused,omitempty"` // why it is not loaded; then the rest is the folder's
}

// kazmaListing is the --json document of kazma hub list.
type kazmaListing struct {
	Path         string        `json:"path"`
	AutoDiscover bool          `json:"auto_discover"`
	Skills       []kazmaListed `json:"skills"`
	Refused      int           `json:"refused"`
}

func (a *app) runKazmaList(ctx context.Context, c *cli.Command) error {
	here, err := a.kazmaHere(ctx, c)
	if err != nil {
		return err
	}
	doc := kazmaListing{Path: here.dir, AutoDiscover: here.settings.AutoDiscover, Skills: []kazmaListed{}}
	var rows [][4]string
	for _, s := range here.skills {
		one := kazmaListed{Name: s.folder, Path: s.dir, Enabled: !s.disabled && s.refusal == nil, Warnings: append([]string{}, s.warnings...), Refused: s.refusal}
		if m := s.manifest; m != nil {
			one.Name, one.Author, one.Version, one.Description, one.Digest = m.Name, m.Author, m.Version, m.Description, string(s.digest)
			rows = append(rows, [4]string{m.Name, m.Author, m.Version, m.Description})
		} else {
			doc.Refused++
		}
		doc.Skills = append(doc.Skills, one)
	}
	if c.Bool("json") {
		err = a.printJSON(doc)
	} else {
		a.printKazmaList(here, rows)
	}
	if err == nil && doc.Refused > 0 {
		err = exitError(hubapi.ExitFailed)
	}
	return err
}

func (a *app) printKazmaList(here kazmaSkills, rows [][4]string) {
	switch {
	case len(here.skills) == 0:
		a.printf("No installed skills.\n")
	case len(rows) == 0:
		a.printf("No skill that is here may be loaded.\n")
	default:
		a.kazmaTable(rows)
	}
	for _, s := range here.skills {
		if s.refusal != nil {
			a.printf("[FAIL] %s: %s [%s]\n", s.folder, s.refused, s.refusal.ID())
			if s.refusal.Hint != "" {
				a.note("  hint: %s", termtext.Escape(s.refusal.Hint))
			}
			continue
		}
		for _, w := range s.warnings {
			a.note("%s: warning: %s: %s", a.program, termtext.Escape(s.folder), termtext.Escape(w))
		}
		if s.disabled {
			a.note("%s: %s is not enabled in %s", a.program, termtext.Escape(s.folder), kazmaload.SettingsFile)
		}
	}
	if !here.settings.AutoDiscover {
		a.note("%s: %s says auto_discover: false, so a server loads none of them by itself", a.program, kazmaload.SettingsFile)
	}
}

func (a *app) kazmaVerify() *cli.Command {
	return a.leaf("verify", "say whether a skill may be loaded, and why not", spec{
		args: "PATH", min: 1, max: 1, there: 1,
		long: "The rules of loading, fail-closed: a checksum that is not the entry file's, half of the pair of checksum and signature,\n" +
			"a signature that no known secret made, or that nothing can check because KAZMA_SECRET is not set, an entry outside of\n" +
			"the folder, a link, compiled Python or a package that could run instead: each refuses the skill. One without checksum and\n" +
			"signature passes with a warning, unless --require-signed. A skill that was installed must also have every file as it\n" +
			"was written: checksum and signature cover the entry file alone.",
		examples: []example{{"hub verify demo", "the skill in the folder demo"}},
	}, append([]cli.Flag{
		&cli.BoolFlag{Name: "require-signed", Usage: "refuse a skill without a signature"},
		previousSecretFlag(), jsonFlag(),
	}, secretFlags()...), a.runKazmaVerify)
}

// kazmaVerified is the --json document of kazma hub verify.
type kazmaVerified struct {
	Path      string         `json:"path"`
	Name      string         `json:"name"`
	Author    string         `json:"author"`
	Version   string         `json:"version"`
	File      string         `json:"file"` // that runs
	Digest    string         `json:"digest"`
	State     string         `json:"state"`            // verified, unsigned
	Secret    string         `json:"secret,omitempty"` // current, previous n
	Installed bool           `json:"installed"`        // by us, so that every file was compared
	OnDisk    []diskMismatch `json:"on_disk"`
	Warnings  []string       `json:"warnings"`
}

func (a *app) runKazmaVerify(_ context.Context, c *cli.Command) error {
	dir, err := a.skillFolder(c)
	if err != nil {
		return err
	}
	secrets, err := a.secrets(c)
	if err != nil {
		return err
	}
	place, err := a.kazmaPlace(c)
	if err != nil {
		return err
	}
	loaded, err := kazmaload.Load(dir, secrets, place.policy(c))
	if err != nil {
		return err
	}
	m := loaded.Manifest
	out := kazmaVerified{
		Path: c.Args().First(), Name: m.Name, Author: m.Author, Version: m.Version, File: m.EntryFile, Digest: string(loaded.Digest),
		State: string(loaded.HMAC.State), OnDisk: []diskMismatch{}, Warnings: append([]string{}, loaded.Warnings...),
	}
	if loaded.HMAC.Secret > 0 {
		out.Secret = loaded.HMAC.Secret.String()
	}
	var failed error
	var recorded map[string]deliver.Locked
	if absolute, err := filepath.Abs(dir); err == nil && filepath.Dir(absolute) == place.dir {
		recorded = a.recordedIn(place)
	}
	if out.Installed, out.OnDisk, err = installedState(loaded, recorded); err != nil {
		return err
	}
	if len(out.OnDisk) > 0 {
		failed = exitError(hubapi.ExitFailed)
	}
	if c.Bool("json") {
		return errors.Join(a.printJSON(out), failed)
	}
	word := "Verified"
	switch {
	case failed != nil:
		word = "NOT VERIFIED:"
	case loaded.HMAC.State == sign.HMACUnsigned:
		word = "Unsigned:"
	}
	a.printf("%s %s for skill '%s'\n  Version:   %s\n  Digest:    %s\n", word, filepath.Base(m.EntryFile), m.Name, m.Version, out.Digest)
	if out.Secret != "" {
		a.printf("  Signature: made with the %s secret\n", out.Secret)
	}
	a.some(len(out.OnDisk), maxRows, func(i int) { a.printf("  %-9s  %s\n", out.OnDisk[i].Change, out.OnDisk[i].Path) })
	for _, w := range out.Warnings {
		a.note("%s: warning: %s", a.program, termtext.Escape(w))
	}
	return failed
}

// recordedIn are the skills of which a lock says that they were installed into the
// folder of skills. A lock that cannot be read is said, and hides no skill.
func (a *app) recordedIn(place kazmaPlace) map[string]deliver.Locked {
	s, err := a.kazmaStanding(place)
	var out map[string]deliver.Locked
	if err == nil {
		out, err = deliver.LockedIn(deliver.WorkspaceOptions{Dir: s.dir, File: s.lock, User: s.scope == deliver.UserScope}, place.dir)
	}
	if err != nil {
		a.note("%s: warning: what was installed is not known: %s", a.program, termtext.Escape(hubapi.AsError(err).Message))
	}
	return out
}

// markerGone is the change by which the record of an installation was taken away.
var markerGone = diskMismatch{Change: string(deliver.Missing), Path: markerName}

// installedState compares a skill with what we wrote into its folder, if it was us. Where
// that record is gone, recorded says that it was, and of what digest.
func installedState(l *kazmaload.Loaded, recorded map[string]deliver.Locked) (installed bool, changes []diskMismatch, err error) {
	changes = []diskMismatch{}
	absolute, err := filepath.Abs(l.Dir)
	if err != nil {
		return false, changes, err
	}
	root, err := fsx.Open(filepath.Dir(absolute))
	if err != nil {
		return false, changes, err
	}
	defer root.Close()
	name := filepath.Base(absolute)
	state, err := deliver.Check(root, name)
	if err != nil {
		return false, changes, err
	}
	if state.Status != deliver.Owned {
		s, was := recorded[name]
		if was && !s.Had(l.Digest) {
			return true, append(changes, markerGone), nil
		}
		return was, changes, nil
	}
	for _, d := range state.Edits() {
		changes = append(changes, diskMismatch{Change: string(d.Change), Path: d.Path})
	}
	return true, changes, nil
}

// logKazmaSkills says at the start of a kazma server which skills are here and which
// must not be loaded. Nothing that is wrong with them keeps it from serving.
func (a *app) logKazmaSkills(ctx context.Context, c *cli.Command, log *slog.Logger) {
	if a.program != "kazma" {
		return
	}
	place, err := a.kazmaPlace(c)
	if err != nil {
		log.Warn("no skills were looked for", "reason", hubapi.AsError(err).Message)
		return
	}
	if !place.settings.AutoDiscover {
		log.Info("no skills were looked for: auto_discover is false", "file", kazmaload.SettingsFile)
		return
	}
	here, err := a.discovered(ctx, place, a.envSecrets(), kazmaload.Policy{RequireSigned: place.settings.RequireSigned})
	if err != nil {
		log.Warn("the folder of skills cannot be looked at", "path", place.dir, "reason", hubapi.AsError(err).Message)
		return
	}
	found := 0
	for _, s := range here.skills {
		switch {
		case s.refusal != nil:
			log.Warn("a skill was refused", "folder", s.folder, "reason", s.refused, "id", s.refusal.ID())
			continue
		case s.disabled:
			log.Info("a skill is not enabled", "skill", s.manifest.Name)
		default:
			log.Info("a skill was found", "skill", s.manifest.Name, "author", s.manifest.Author, "version", s.manifest.Version)
		}
		found++
		for _, w := range s.warnings {
			log.Warn("about a skill", "skill", s.manifest.Name, "warning", w)
		}
	}
	log.Info("looked for skills", "path", place.dir, "found", found, "refused", len(here.skills)-found)
}
