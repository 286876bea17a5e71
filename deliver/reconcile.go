package deliver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// verifyEvery is how long the stamps of files are believed before all are hashed again.
const verifyEvery = time.Hour

// InstallableHub is the one thing that a reconciler needs of a hub.
type InstallableHub interface {
	Installable(ctx context.Context, ask hubclient.InstallableAsk) (hubclient.InstallableAnswer, error)
}

// Reconciler makes directories hold what a hub's catalogue has for this machine. It
// knows three states of each folder: what the catalogue wants, what is on disk, and what
// it wrote itself (a marker in the folder, and a receipt of that marker outside). Only
// what it wrote is replaced or removed, and only while nobody edited it.
type Reconciler struct {
	Hub InstallableHub
	// Fetch gets a release of a hub of ours whole, with its signature file (nil
	// without one), and refuses one that is not to be trusted. It is called for
	// rows that say which release they are; unreviewed says that the hub gives it out
	// although nobody reviewed it, by the settings of its tenant.
	Fetch func(ctx context.Context, ref hubapi.Ref, unreviewed bool) (*pack.Pack, []byte, error)
	// Accept judges a skill that the row itself holds, before it is written, as Fetch
	// does for a release; nil takes all.
	Accept func(ctx context.Context, p *pack.Pack) error
	// Reviewed is told of each update that Review holds back, and what it changes.
	Reviewed func(dir string, review Review)
	// Origin names the hub and never changes for it; Owner is this installation of
	// kx, as in InstallOptions.
	Origin, Owner string
	// State is the folder where receipts are kept; it is made when it is missing.
	State string
	Now   func() time.Time
	// OpenClaw is its configuration file, for targets to be registered in.
	OpenClaw string
	// Log is told of each change (wrote, removed, registered), and of what was not
	// done (failed, collision, kept, held), as it happens; nil tells nobody.
	Log func(what, where, why string)
	// Open opens a directory, making it when it is missing; nil means fsx.
	Open func(dir string, perm fs.FileMode) (fsx.Root, error)

	ReconcileOptions
}

// ReconcileOptions are what a user may choose.
type ReconcileOptions struct {
	Ask hubclient.InstallableAsk // which catalogue; its ETag is not used
	// Verify hashes every file, however it looks.
	Verify bool
	// ConfirmRemovals removes what a catalogue no longer has even when that is a
	// lot, or when the catalogue gives reasons for doubt.
	ConfirmRemovals bool
	// Claim makes the owned targets ours although something was in them: what kx
	// did not write there goes, unless another program marked it.
	Claim bool
	// RequireHash and RequireSigned pass over rows without a hash or a signature.
	RequireHash, RequireSigned bool
	// FetchAll has Fetch judge every release that is to be written, also where the
	// row holds all of it. ReleasesOnly passes over rows that are no release, which
	// nobody judges.
	FetchAll, ReleasesOnly bool
	// Review holds back updates that nobody reviewed: those of rows that are no
	// release of a hub of ours, where only reviewers make a release active. What
	// changes nothing but white space is taken.
	Review bool
	// DryRun changes nothing: the summary tells what would be done.
	DryRun bool
}

// Run brings every target to what the catalogue wants, as far as that is possible, and
// tells how it ended. Each skill is, at any moment, as before or as after. One that
// fails is no reason to leave out another. The error, a *hubapi.Error, says why there
// was no catalogue; then nothing was touched, and the summary tells what is there.
func (r *Reconciler) Run(ctx context.Context, targets []SyncTarget, refused []RefusedTarget) (hubapi.ReconcileSummary, error) {
	run := &reconciliation{Reconciler: r, details: &hubapi.ReconcileDetails{DryRun: r.DryRun}}
	run.summary.Kx = run.details
	for _, t := range refused {
		run.fail(t.Dir, "", hubapi.Errorf(hubapi.Invalid, "the target is refused: %s", t.Why).WithHint("%s", t.Hint))
	}
	state, err := r.memories()
	if err != nil {
		return run.end(fmt.Errorf("the folder for what kx remembers: %w", err))
	}
	if state != nil {
		defer state.Close()
	}
	run.state = state
	if err := run.fetch(ctx, targets); err != nil {
		run.standing(targets)
		return run.end(err)
	}
	run.summary.CatalogCount = run.catalogue.count
	run.details.Generation = run.catalogue.generation
	run.details.Skipped = run.catalogue.skipped
	run.details.Failed = append(run.details.Failed, run.catalogue.failed...)
	for _, note := range run.catalogue.skipped {
		run.summary.Skipped = append(run.summary.Skipped, note.Slug)
	}
	for _, t := range targets {
		if ctx.Err() != nil {
			return run.end(hubapi.Errorf(hubapi.Interrupted, "interrupted"))
		}
		run.target(ctx, t)
	}
	run.register(targets)
	return run.end(nil)
}

func (r *Reconciler) open(dir string, perm fs.FileMode) (fsx.Root, error) {
	if r.Open != nil {
		return r.Open(dir, perm)
	}
	return fsx.OpenOrCreate(dir, perm)
}

// memories opens the folder with what was remembered. For a dry run it is not made: nil
// without an error means that there is none.
func (r *Reconciler) memories() (fsx.Root, error) {
	if !r.DryRun {
		return r.open(r.State, 0o700)
	}
	root, err := fsx.Open(r.State)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return fsx.DryRun(root), nil
}

// reconciliation is one Run.
type reconciliation struct {
	*Reconciler
	state     fsx.Root // nil when nothing was ever remembered, in a dry run
	catalogue *catalogue
	remembered,
	remember *memory // before and after; nil without one
	full    bool // texts of the catalogue are at hand
	summary hubapi.ReconcileSummary
	details *hubapi.ReconcileDetails
}

func (run *reconciliation) log(what, where, why string) {
	if run.Log != nil {
		run.Log(what, where, why)
	}
}

func (run *reconciliation) fail(dir, slug string, err error) {
	note := hubapi.ReconcileNote{Dir: dir, Slug: slug, Reason: reasonOf(err)}
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		note.Hint = e.Hint
	}
	run.details.Failed = append(run.details.Failed, note)
	run.log("failed", joined(dir, slug), note.Why())
}

func joined(dir, slug string) string {
	if slug == "" {
		return dir
	}
	if dir == "" {
		return slug
	}
	return dir + string(os.PathSeparator) + slug
}

// rules are what rows are judged by, as one word: a catalogue that was judged by others
// is not the same.
func (run *reconciliation) rules() (rowRules, string) {
	rules := rowRules{tenant: run.Ask.TenantID, fleet: run.Ask.FleetID, requireHash: run.RequireHash, requireSigned: run.RequireSigned, fetchAll: run.FetchAll, releasesOnly: run.ReleasesOnly}
	return rules, fmt.Sprintf("%q %q %t %t %t %t", rules.tenant, rules.fleet, rules.requireHash, rules.requireSigned, rules.fetchAll, rules.releasesOnly)
}

func (run *reconciliation) origin() string {
	return fmt.Sprintf("%s tenant=%s fleet=%s", run.Origin, run.tenant(), run.Ask.FleetID)
}

func (run *reconciliation) tenant() string {
	if run.catalogue != nil {
		return run.catalogue.tenant
	}
	return run.Ask.TenantID
}

func (run *reconciliation) memoryName() string {
	return fileName("hub", fmt.Sprintf("%s %q %q", run.Origin, run.Ask.TenantID, run.Ask.FleetID))
}

// fetch gets the catalogue, or finds that the one that is remembered still holds.
func (run *reconciliation) fetch(ctx context.Context, targets []SyncTarget) error {
	last := new(memory)
	found, err := recall(run.state, run.memoryName(), last)
	rules, word := run.rules()
	ask := run.Ask
	ask.ETag = ""
	// What cannot be remembered is asked for again: it decides nothing alone.
	if err == nil && found && last.V == receiptsVersion && last.Origin == run.Origin {
		run.remembered = last
		run.details.LastSuccessAt = last.LastSuccessAt
		if ask.TenantID == "" {
			// A key of another tenant is found out by the hub, even when that
			// tenant has no skills.
			ask.TenantID, rules.tenant = last.Tenant, last.Tenant
		}
		if last.Rules == word {
			ask.ETag = last.ETag
		}
	}
	answer, err := run.Hub.Installable(ctx, ask)
	if err != nil {
		return err
	}
	if answer.Unchanged {
		run.catalogue, run.remember = run.remembered.catalogue(), run.remembered
		run.details.Unchanged = true
		return nil
	}
	if run.catalogue, err = judgeRows(answer, rules); err != nil {
		return err
	}
	run.full = true
	run.remember = run.catalogue.remember(run.Origin, word)
	return nil
}

// texts gets the texts of the catalogue when there is something to write after all.
func (run *reconciliation) texts(ctx context.Context) error {
	if run.full {
		return nil
	}
	rules, word := run.rules()
	ask := run.Ask
	if rules.tenant == "" {
		ask.TenantID, rules.tenant = run.catalogue.tenant, run.catalogue.tenant
	}
	answer, err := run.Hub.Installable(ctx, ask)
	if err != nil {
		return err
	}
	again, err := judgeRows(answer, rules)
	if err != nil {
		return err
	}
	if again.identity() != run.catalogue.identity() {
		return hubapi.Errorf(hubapi.Conflict, "the catalogue changed meanwhile; the next run follows it")
	}
	run.catalogue, run.full, run.remember = again, true, again.remember(run.Origin, word)
	return nil
}

// standing tells what is on disk when there is no catalogue, from the receipts alone.
func (run *reconciliation) standing(targets []SyncTarget) {
	for _, t := range targets {
		out := hubapi.ReconcileTarget{Dir: t.Dir, Mode: string(t.Mode)}
		if root, err := fsx.Open(t.Dir); err == nil {
			if known, err := readReceipts(run.state, realPath(t.Dir)); err == nil {
				tr := targetRun{reconciliation: run, target: t, root: root, known: known}
				for folder, have := range tr.look(namesOf(known)) {
					if have.standing == standsOurs {
						out.Installed = append(out.Installed, have.slug)
						run.details.Installed = append(run.details.Installed, have.reconciled(folder))
					}
				}
			}
			_ = root.Close()
		}
		run.merge(out)
	}
}

func namesOf(r *receipts) map[string]bool {
	names := make(map[string]bool, len(r.Skills))
	for _, s := range r.Skills {
		names[s.Folder] = true
	}
	return names
}

// merge puts the part of one target into the lists at the top.
func (run *reconciliation) merge(t hubapi.ReconcileTarget) {
	s := &run.summary
	s.Targets = append(s.Targets, t)
	s.Installed = append(s.Installed, t.Installed...)
	s.Added = append(s.Added, t.Added...)
	s.Removed = append(s.Removed, t.Removed...)
	s.Collisions = append(s.Collisions, t.Collisions...)
	s.Protected = append(s.Protected, t.Protected...)
}

// end settles the status and remembers the catalogue.
func (run *reconciliation) end(err error) (hubapi.ReconcileSummary, error) {
	d := run.details
	switch {
	case err != nil:
		d.Status, d.Error = hubapi.ReconcileFailed, err.Error()
	case len(d.Held) > 0 && len(run.catalogue.doubts) > 0:
		d.Status, d.Error = hubapi.ReconcileRefused, strings.Join(run.catalogue.doubts, "; ")
	case len(d.Failed)+len(d.Kept)+len(d.Held)+len(run.summary.Collisions) > 0:
		d.Status = hubapi.ReconcileIncomplete
	case run.catalogue.count > 0 && len(run.catalogue.wants) == 0:
		d.Status = hubapi.ReconcileUnusable
		d.Error = fmt.Sprintf("not one of the catalogue's %d rows could be used", run.catalogue.count)
	default:
		d.Status = hubapi.ReconcileConverged
	}
	if err == nil && d.Status == hubapi.ReconcileConverged {
		now := run.Now().UTC().Truncate(time.Second)
		d.LastSuccessAt = &now
	}
	if err == nil && !run.DryRun {
		if keepErr := run.save(); keepErr != nil {
			run.fail("", "", fmt.Errorf("what was seen of the hub cannot be kept: %w", keepErr))
			d.Status = hubapi.ReconcileIncomplete
		}
	}
	run.summary.Normalize()
	if err != nil {
		return run.summary, hubapi.AsError(err)
	}
	return run.summary, nil
}

// save writes the memory when there is news in it; the time of the last success alone
// is news once a minute.
func (run *reconciliation) save() error {
	now := run.details.LastSuccessAt
	if run.remember == run.remembered {
		last := run.remember.LastSuccessAt
		if now == last || last != nil && now.Sub(*last) < time.Minute {
			return nil
		}
	}
	run.remember.LastSuccessAt = now
	return keep(run.state, run.memoryName(), run.remember)
}

// target reconciles one directory.
func (run *reconciliation) target(ctx context.Context, t SyncTarget) {
	out := hubapi.ReconcileTarget{Dir: t.Dir, Mode: string(t.Mode)}
	tr := &targetRun{reconciliation: run, target: t, out: &out}
	if err := tr.run(ctx); err != nil {
		run.fail(t.Dir, "", err)
	}
	run.merge(out)
}

// reasonOf is an error without the kind of the operation.
func reasonOf(err error) string {
	if errors.Is(err, fsx.ErrLocked) {
		return "another program has been changing this folder for half a minute"
	}
	return err.Error()
}

// register puts the targets that ask for it into OpenClaw's configuration.
func (run *reconciliation) register(targets []SyncTarget) {
	var dirs []string
	for _, t := range targets {
		if t.Register {
			dirs = append(dirs, t.Dir)
		}
	}
	if len(dirs) == 0 {
		return
	}
	if run.DryRun {
		run.summary.RegisteredDirs = RegisteredInOpenClaw(run.OpenClaw, dirs)
		return
	}
	done, err := RegisterInOpenClaw(run.OpenClaw, dirs, run.rememberRegistered)
	run.summary.RegisteredDirs = done.Present
	if err != nil {
		run.fail(run.OpenClaw, "", err)
		return
	}
	for _, dir := range done.Added {
		run.log("registered", dir, "in "+run.OpenClaw)
	}
}

func (f found) reconciled(folder string) hubapi.ReconciledSkill {
	slug := f.slug
	if slug == "" {
		slug = folder
	}
	return hubapi.ReconciledSkill{Slug: slug, Version: f.version, Digest: string(f.digest)}
}

// proof tells how far a target may follow the catalogue in removing.
func (run *reconciliation) proof(known *receipts) (hold string, proven bool) {
	c := run.catalogue
	origin := run.origin()
	switch {
	case run.ConfirmRemovals:
		return "", true
	case len(c.doubts) > 0:
		return strings.Join(c.doubts, "; "), false
	case known.Origin != "" && known.Origin != origin && len(known.Skills) > 0:
		return fmt.Sprintf("the folder was filled from %s before, and now from %s", known.Origin, origin), false
	case known.Also != "" && known.Also != origin && len(known.Skills) > 0:
		return fmt.Sprintf("the folder was filled from %s too, and now from %s", known.Also, origin), false
	case c.generation == nil || !c.complete:
		return "", false
	case *c.generation < known.Generation:
		return fmt.Sprintf("the hub's catalogue is older (generation %d) than the one that was followed last (%d)", *c.generation, known.Generation), false
	}
	return "", *c.generation > known.Generation || known.Catalogue == c.identity()
}

// sentinel is the file that makes a target ours alone. Other programs that prune can
// see by it that somebody does already.
const (
	sentinel    = ".kx-target"
	maxSentinel = 1024 // bytes
)

func (r *Reconciler) sentinelText() []byte {
	return []byte("This folder belongs to kx sync: what kx did not write here is removed.\nowner " + r.Owner + "\n")
}

// claim finds out whether an owned target is ours alone, and makes it so where it may.
func (t *targetRun) claim(entries []fs.DirEntry) error {
	if t.target.Mode != OwnedTarget {
		return nil
	}
	data, err := t.root.ReadFile(sentinel, maxSentinel)
	there := err == nil
	switch {
	case there && slices.Equal(data, t.sentinelText()):
		// The file alone is no proof: anybody can copy it.
		t.claimed = t.known.Claimed || t.Claim
	case there:
		return hubapi.Errorf(hubapi.Conflict, "another installation of kx owns it, by the file %s", sentinel)
	case errors.Is(err, fs.ErrNotExist):
		empty := !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".kx-") })
		t.claimed = empty || t.Claim
	default:
		return err
	}
	if t.DryRun {
		return nil
	}
	if t.known.Claimed != t.claimed {
		t.known.Claimed = t.claimed
		if err := t.known.save(t.state); err != nil {
			return err
		}
	}
	if !t.claimed || there {
		return nil
	}
	return t.root.WriteFile(sentinel, t.sentinelText(), 0o644)
}
