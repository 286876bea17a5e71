package cli

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

const (
	leastInterval = time.Second
	// syncGrace is how long a reconciliation that is told to stop may take to end.
	syncGrace = 10 * time.Second
	// maxBackoff is the longest wait after failures, unless the interval is longer.
	maxBackoff = 15 * time.Minute
)

func (a *app) syncCommand() *cli.Command {
	return a.leaf("sync", "make folders hold what the hub has for this machine, once or for good", spec{
		long: "Asks the hub for the skills that are active, and makes every --target hold them. Each skill is replaced whole or not\n" +
			"at all. Only what kx sync wrote is replaced or removed, and only while nobody edited it; a folder that is somebody\n" +
			"else's is a collision, and stays. A target is additive (shared with others) or owned (for the catalogue alone: what\n" +
			"else is put there goes, if the folder was empty when kx sync came, or with --claim). Without --target the list in\n" +
			"MEMCLAW_SKILL_TARGETS is taken, and with it the folder of OpenClaw's memclaw plugin, where that is installed.\n\n" +
			"Nothing is removed when the hub does not answer, or answers with anything but a catalogue. When all would go, or more\n" +
			"than half and more than three, the hub must prove it (a newer generation, and as many skills as it says), or you\n" +
			"must say --confirm-removals.\n\n" +
			"What is written went through the gate of kx skills install: its signature, the hub's log, your trust policy, and the\n" +
			"scan, which refuses what it finds critical. What is active in a hub of kx was reviewed there; the rows of another\n" +
			"catalogue were not. With --review their updates are held back, and their differences shown, until you run it\n" +
			"without; what changes nothing but white space is taken.\n\n" +
			"Exit 0 when every target is as the catalogue wants it, 1 when something could not be done, or not one row of the\n" +
			"catalogue could be used. With --interval it goes\n" +
			"on until it is stopped, which is no failure.",
		examples: []example{
			{"sync --target team/skills:additive", "once, into a folder that others use too"},
			{"sync --target agent/skills:owned --dry-run", "what would be done"},
			{"sync --target agent/skills:owned --once --json", "the summary that a hub is told"},
		},
		choices: map[string][]string{"target": nil},
	}, append([]cli.Flag{
		&cli.StringSliceFlag{Name: "target", Usage: "manage `DIR:MODE`, which ends in :owned or :additive; with :register behind it, also in OpenClaw's configuration"},
		&cli.BoolFlag{Name: "once", Usage: "reconcile once, and end (the default)"},
		&cli.DurationFlag{Name: "interval", Usage: "reconcile every `DURATION` until stopped"},
		&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, and say what would be done"},
		&cli.BoolFlag{Name: "verify", Usage: "hash every file, also those that look unchanged"},
		&cli.BoolFlag{Name: "confirm-removals", Usage: "remove what is no longer in the catalogue, however much that is"},
		&cli.BoolFlag{Name: "claim", Usage: "own targets that were not empty: what kx did not write there is removed"},
		&cli.BoolFlag{Name: "require-hash", Usage: "pass over skills that come without a hash"},
		&cli.BoolFlag{Name: "require-signed", Usage: "pass over skills without a key signature"},
		requireLogFlag(),
		policyFlag(),
		&cli.BoolFlag{Name: "allow-findings", Usage: "take skills in which the scan finds something critical"},
		&cli.BoolFlag{Name: "review", Usage: "hold back updates that no hub of kx has reviewed, and show what they change"},
		&cli.BoolFlag{Name: "leave", Usage: "undo: remove what kx sync wrote into the targets (all, without --target), and its entries in OpenClaw's configuration"},
		&cli.StringFlag{Name: "tenant", Usage: "ask for the skills of this tenant `ID` (also MEMCLAW_TENANT_ID); a key of kx knows its own"},
		&cli.StringFlag{Name: "fleet", Usage: "this machine belongs to the fleet `ID` (also MEMCLAW_FLEET_ID)"},
		&cli.StringFlag{Name: "node", Usage: "tell the hub how it went, as the node `NAME` (also MEMCLAW_NODE_NAME)"},
	}, clientFlags()...), a.runSync)
}

// syncOutput are the keys of kx sync --json: the summary, or what --leave did.
type syncOutput struct {
	hubapi.ReconcileSummary
	Reviews []deliver.Review     `json:"reviews,omitempty"` // of the updates that --review holds back
	Left    []deliver.LeftTarget `json:"left,omitempty"`
}

// memclaw is a variable of the environment under its old and its new name.
func (a *app) memclaw(name string) string {
	return first(a.Getenv("CAURA_"+name), a.Getenv("MEMCLAW_"+name))
}

func (a *app) runSync(ctx context.Context, c *cli.Command) error {
	interval := c.Duration("interval")
	switch {
	case c.IsSet("interval") && c.Bool("once"):
		return usagef("--once and --interval exclude each other")
	case c.IsSet("interval") && interval < leastInterval:
		return usagef("--interval needs at least %s", leastInterval)
	case c.IsSet("interval") && (c.Bool("dry-run") || c.Bool("leave") || c.Bool("confirm-removals")):
		return usagef("--interval goes on by itself, so --dry-run, --leave and --confirm-removals are for a single run")
	case c.Bool("leave") && c.Bool("dry-run"):
		return usagef("--leave and --dry-run exclude each other")
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	targets, refused, err := a.syncTargets(c, home)
	if err != nil {
		return err
	}
	ownerID := a.ownerID
	if c.Bool("dry-run") || c.Bool("leave") { // neither makes what is not there
		ownerID = a.ownerIDToRead
	}
	owner, err := ownerID()
	if err != nil {
		return err
	}
	r := &deliver.Reconciler{
		Owner: owner, State: filepath.Join(home.data, "sync"), Now: a.Now, OpenClaw: deliver.OpenClawFile(a.HomeDir),
		ReconcileOptions: deliver.ReconcileOptions{
			Ask:    hubclient.InstallableAsk{TenantID: first(c.String("tenant"), a.memclaw("TENANT_ID")), FleetID: first(c.String("fleet"), a.memclaw("FLEET_ID"))},
			Verify: c.Bool("verify"), ConfirmRemovals: c.Bool("confirm-removals"), Claim: c.Bool("claim"),
			RequireHash: c.Bool("require-hash"), RequireSigned: c.Bool("require-signed"), DryRun: c.Bool("dry-run"),
			Review: c.Bool("review"),
		},
	}
	if c.Bool("leave") {
		return a.leaveTargets(c, r, targets)
	}
	r.Log = func(what, where, why string) {
		undone := what == "failed" || what == "collision" || what == "kept" || what == "held"
		switch {
		case c.Bool("json") || undone && interval == 0: // the end of a single run says it
		case why == "":
			a.printf("%s %s\n", what, where)
		default:
			a.printf("%s %s: %s\n", what, where, why)
		}
	}
	a.grace.Store(int64(syncGrace))
	if a.Getenv("GOGC") == "" {
		// It runs beside agents, on machines that are theirs: design.md gives it 40 MB.
		debug.SetGCPercent(30)
	}
	if interval == 0 {
		s, err := a.syncOnce(ctx, c, r, targets, refused)
		if err != nil {
			if c.Bool("json") && s.Kx != nil {
				_ = a.printJSON(s)
			}
			return err
		}
		return a.reportSync(c, s)
	}
	return a.syncForGood(ctx, c, r, targets, refused)
}

// syncForGood reconciles again and again. Whatever fails is said, and tried again
// later: the wait grows while the hub does not answer.
func (a *app) syncForGood(ctx context.Context, c *cli.Command, r *deliver.Reconciler, targets []deliver.SyncTarget, refused []deliver.RefusedTarget) error {
	interval, wait := c.Duration("interval"), c.Duration("interval")
	for {
		s, err := a.syncOnce(ctx, c, r, targets, refused)
		if ctx.Err() != nil {
			return nil // told to stop: that is how this command ends
		}
		if c.Bool("json") && s.Kx != nil {
			line, err := json.Marshal(s)
			if err != nil {
				return err
			}
			a.printed = true
			if _, err := a.Stdout.Write(append(termtext.JSON(line), '\n')); err != nil {
				return err
			}
		}
		if err != nil {
			a.note("%s: %s", a.program, termtext.Escape(asHubError(err).Message))
			wait = min(2*wait, max(interval, maxBackoff))
		} else {
			wait = interval
			// Removals are confirmed and folders claimed by somebody who looks: once.
			r.Claim = false
		}
		timer := time.NewTimer(a.jittered(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// jittered is a wait of up to a tenth more or less, so that a fleet that was started at
// once does not ask at once.
func (a *app) jittered(wait time.Duration) time.Duration {
	var random [8]byte
	if _, err := io.ReadFull(a.Rand, random[:]); err != nil {
		return wait
	}
	tenth := uint64(wait) / 10
	return wait - time.Duration(tenth) + time.Duration(binary.LittleEndian.Uint64(random[:])%(2*tenth+1))
}

// syncTargets are the targets of the command line, else those of the environment. On
// the command line a target that is refused is a mistake; in the environment, which other
// reconcilers read too, it is passed over with a word.
func (a *app) syncTargets(c *cli.Command, home homeDirs) ([]deliver.SyncTarget, []deliver.RefusedTarget, error) {
	working, err := filepath.Abs(a.path("."))
	if err != nil {
		return nil, nil, err
	}
	places := deliver.Places{Home: a.HomeDir, Working: working, KxHome: home.data}
	if given := c.StringSlice("target"); len(given) > 0 {
		targets := make([]deliver.SyncTarget, len(given))
		for i, text := range given {
			if c.Bool("leave") && !strings.HasSuffix(text, ":owned") && !strings.Contains(text, ":additive") && !strings.HasSuffix(text, ":register") {
				text += ":additive" // how it was managed is known
			}
			if targets[i], err = deliver.ParseTarget(text); err != nil {
				return nil, nil, err
			}
		}
		taken, refused := places.Resolve(targets)
		if len(refused) > 0 {
			e := usagef("the target %s is refused: %s", refused[0].Dir, refused[0].Why)
			e.Hint = refused[0].Hint
			return nil, nil, e
		}
		return taken, nil, nil
	}
	if c.Bool("leave") {
		return nil, nil, nil
	}
	list := first(a.Getenv("CAURA_SKILL_TARGETS"), a.Getenv("MEMCLAW_SKILL_TARGETS"))
	targets, remarks := deliver.ParseTargetList(list)
	for _, remark := range remarks {
		a.note("%s: warning: MEMCLAW_SKILL_TARGETS: %s", a.program, termtext.Escape(remark))
	}
	plugin, installed := deliver.OpenClawPluginDir(a.HomeDir)
	if strings.TrimSpace(list) != "" && installed {
		targets = append([]deliver.SyncTarget{{Dir: plugin, Mode: deliver.OwnedTarget}}, targets...)
	}
	taken, refused := places.Resolve(targets)
	// The original drops a directory that it has already, and the first mention counts.
	refused = slices.DeleteFunc(refused, func(r deliver.RefusedTarget) bool {
		if r.Again {
			a.note("%s: warning: MEMCLAW_SKILL_TARGETS: %s is passed over: %s", a.program, termtext.Escape(r.Dir), termtext.Escape(r.Why))
		}
		return r.Again
	})
	if len(taken)+len(refused) == 0 {
		e := usagef("where to? name a folder with --target DIR:additive or --target DIR:owned, or set MEMCLAW_SKILL_TARGETS")
		if installed {
			e.Hint = "OpenClaw's plugin reads " + plugin
		}
		return nil, nil, e
	}
	return taken, refused, nil
}

// withSyncHub is withHub that also knows the hub of MEMCLAW_API_URL, and gives the name
// under which a hub is remembered.
func (a *app) withSyncHub(ctx context.Context, c *cli.Command, use func(hub *hubclient.Client, origin string) error) error {
	other := a.memclaw("API_URL")
	if other != "" && first(c.String("endpoint"), a.Getenv("KX_ENDPOINT")) == "" {
		home, err := a.home()
		if err != nil {
			return err
		}
		trust, err := a.authorities(c, other)
		if err != nil {
			return err
		}
		token := a.memclaw("API_KEY")
		if c.String("token") != "" || c.String("token-file") != "" {
			s, err := a.settings(c)
			if err != nil {
				return err
			}
			token = s.token
		}
		prefix := a.memclaw("API_PREFIX")
		return a.useClient(hubclient.Config{
			Endpoint: other, Token: token, TLS: trust, Prefix: prefix, APIKey: true,
			Memory: &hubclient.LogMemory{Dir: home.logs()},
		}, func(hub *hubclient.Client) error {
			return use(hub, strings.TrimRight(other, "/")+"/"+strings.Trim(prefix, "/"))
		})
	}
	s, err := a.settings(c)
	if err != nil {
		return err
	}
	open := sqlstore.Open
	if c.Bool("dry-run") {
		open = sqlstore.OpenToRead
	}
	return a.withHubOpened(ctx, c, open, func(hub *hubclient.Client) error {
		return use(hub, first(strings.TrimRight(s.endpoint, "/"), "own"))
	})
}

// syncOnce reconciles, and tells the hub. A hub that cannot be told changes nothing.
func (a *app) syncOnce(ctx context.Context, c *cli.Command, r *deliver.Reconciler, targets []deliver.SyncTarget, refused []deliver.RefusedTarget) (s syncOutput, err error) {
	// The hub is opened for each turn: one in this process belongs to other commands
	// in between.
	err = a.withSyncHub(ctx, c, func(hub *hubclient.Client, origin string) error {
		f := a.newSyncFetch(c, hub)
		if err := f.rules(r); err != nil {
			return err
		}
		r.Hub, r.Origin, r.Fetch, r.Accept = hub, origin, f.fetch, f.accept
		r.Reviewed = func(_ string, review deliver.Review) { s.Reviews = append(s.Reviews, review) }
		var failed error
		s.ReconcileSummary, failed = r.Run(ctx, targets, refused)
		f.notes.print(a)
		if !r.DryRun {
			a.beat(ctx, c, hub, r, s.ReconcileSummary)
		}
		return failed
	})
	return s, err
}

// beat tells the hub of a node how it went.
func (a *app) beat(ctx context.Context, c *cli.Command, hub *hubclient.Client, r *deliver.Reconciler, s hubapi.ReconcileSummary) {
	node := first(c.String("node"), a.memclaw("NODE_NAME"))
	if node == "" || ctx.Err() != nil {
		return
	}
	told := s
	if s.Kx == nil || s.Kx.Generation == nil {
		told = s.Fit(hubapi.MaxReconcile) // not a hub of ours: it keeps no more
	}
	summary, err := json.Marshal(told)
	if err == nil {
		_, err = hub.Heartbeat(ctx, hubapi.Heartbeat{
			TenantID: r.Ask.TenantID, NodeName: node, FleetID: r.Ask.FleetID, InstallID: r.Owner,
			PluginVersion: a.program + "/" + a.build().Version, Reconcile: summary,
		})
	}
	if err != nil {
		a.note("%s: warning: the hub was not told: %s", a.program, termtext.Escape(asHubError(err).Message))
	}
}

// syncFetch gets releases for a reconciler, by the rules of an installation.
type syncFetch struct {
	app   *app
	hub   *hubclient.Client
	gate  *accept.Gate
	notes notes
}

func (a *app) newSyncFetch(c *cli.Command, hub *hubclient.Client) *syncFetch {
	f := &syncFetch{app: a, hub: hub}
	f.gate = a.newGate(c, hub, &f.notes)
	return f
}

func (f *syncFetch) fetch(ctx context.Context, ref hubapi.Ref, unreviewed bool) (*pack.Pack, []byte, error) {
	got, signature, err := accept.FetchRelease(ctx, f.hub, ref)
	if err != nil {
		return nil, nil, err
	}
	in := accept.Release(got, signature)
	in.Unreviewed = unreviewed
	if _, err := f.gate.Accept(ctx, in); err != nil {
		return nil, nil, err
	}
	return got.Pack, signature, nil
}

// accept judges a skill that came as text: its hub alone vouches for it, so what is left
// to judge is what it says.
func (f *syncFetch) accept(_ context.Context, p *pack.Pack) error {
	f.notes.Unsigned(p.Name)
	return f.gate.Content(accept.Text(p))
}

// rules makes a reconciler ask for what the user's trust policy judges: every
// release, and nothing else where it refuses what nobody signed.
func (f *syncFetch) rules(r *deliver.Reconciler) error {
	policy, err := f.gate.Policy()
	if policy == nil {
		return err
	}
	r.FetchAll = true
	r.ReleasesOnly = !policy.Judge(sign.Result{Signature: sign.Unsigned}, "", sign.LogFacts{}, f.app.Now()).OK
	return nil
}

// reportSync prints a summary, and turns what was not done into the exit code.
func (a *app) reportSync(c *cli.Command, s syncOutput) error {
	if c.Bool("json") {
		if err := a.printJSON(s); err != nil {
			return err
		}
	} else {
		generation := ""
		if s.Kx.Unchanged {
			generation = ", nothing new in the catalogue"
		}
		passed := ""
		if n := len(s.Kx.Skipped); n > 0 {
			passed = fmt.Sprintf(", %d passed over", n)
		}
		line := "%s: %d of %d skills installed, %d written, %d removed%s%s\n"
		if s.Kx.DryRun {
			line = "dry run, %s: %d of %d skills would be installed, %d written, %d removed%s%s\n"
		}
		a.printf(line, string(s.Kx.Status), len(s.Installed), s.CatalogCount, len(s.Added), len(s.Removed), passed, generation)
		a.some(len(s.Kx.Skipped), maxRows, func(i int) {
			a.printf("  skipped  %s: %s\n", s.Kx.Skipped[i].Slug, s.Kx.Skipped[i].Reason)
		})
		if s.Kx.Status == hubapi.ReconcileConverged { // else the error has them
			a.some(len(s.Kx.Collided), maxRows, func(i int) {
				a.printf("  left alone  %s: %s\n", s.Kx.Collided[i].Slug, s.Kx.Collided[i].Reason)
			})
		}
	}
	if !c.Bool("json") {
		for _, r := range s.Reviews {
			a.printReview(r)
		}
	}
	if s.Kx.Status == hubapi.ReconcileConverged {
		return nil
	}
	if s.Kx.Status == hubapi.ReconcileUnusable {
		e := hubapi.Errorf(hubapi.Conflict, "%s", s.Kx.Error)
		for _, n := range s.Kx.Skipped {
			e.Details = append(e.Details, hubapi.Detail{ID: "sync.skipped", Message: n.Reason, File: n.Slug})
		}
		return e
	}
	e := hubapi.Errorf(hubapi.Conflict, "not everything could be done: %d failed, %d collisions, %d edited and kept, %d held back", len(s.Kx.Failed), len(s.Collisions), len(s.Kx.Kept), len(s.Kx.Held))
	for _, list := range []struct {
		id    string
		notes []hubapi.ReconcileNote
	}{{"sync.failed", s.Kx.Failed}, {"sync.collision", s.Kx.Collided}, {"sync.kept", s.Kx.Kept}, {"sync.held", s.Kx.Held}} {
		for _, n := range list.notes {
			e.Details = append(e.Details, hubapi.Detail{ID: list.id, Message: n.Why(), File: filepath.Join(n.Dir, n.Slug)})
		}
	}
	switch {
	case len(s.Reviews) > 0:
		e.Hint = "read what changes; without --review it is taken"
	case len(s.Kx.Kept) > 0:
		e.Hint = "what somebody edited stays; move its folder away, and the next run writes the catalogue's"
	case len(s.Kx.Held) > 0:
		e.Hint = "if it is meant to go, say --confirm-removals; --claim is for what was in an owned folder before"
	}
	return e
}

func (a *app) leaveTargets(c *cli.Command, r *deliver.Reconciler, targets []deliver.SyncTarget) error {
	dirs := make([]string, len(targets))
	for i, t := range targets {
		dirs[i] = t.Dir
	}
	left, err := r.Leave(dirs)
	if err != nil {
		return err
	}
	var failed []error
	for _, l := range left {
		if l.Error != "" {
			failed = append(failed, hubapi.Errorf(hubapi.Internal, "%s was not left: %s", l.Dir, l.Error))
		}
	}
	if c.Bool("json") {
		if err := a.printJSON(map[string]any{"left": append([]deliver.LeftTarget{}, left...)}); err != nil {
			return err
		}
		return errors.Join(failed...)
	}
	if len(left) == 0 {
		a.printf("there is no target to leave\n")
	}
	for _, l := range left {
		a.printf("left %s: %d skills removed\n", l.Dir, len(l.Removed))
		for _, s := range l.Stayed {
			a.printf("  stays  %s: %s\n", s.Slug, s.Reason)
		}
		if l.Unregistered {
			a.printf("  taken out of OpenClaw's configuration\n")
		}
	}
	return errors.Join(failed...)
}
