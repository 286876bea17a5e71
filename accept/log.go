package accept

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// Evidence is where a log has a release, and what shows it.
type Evidence struct {
	Origin      string
	VKey        string // of the log
	Index, Size int64
	Time        time.Time
	Entry       string // the exact leaf
	Proof       translog.Proof
}

// Facts are what a trust policy asks of a log; nil is no evidence.
func (e *Evidence) Facts(why string) sign.LogFacts {
	if e == nil {
		return sign.LogFacts{Why: why}
	}
	return sign.LogFacts{Proved: true, At: e.Time, VKey: e.VKey}
}

// OpenLog looks at a hub's log; nil where there is none, with the reason.
func OpenLog(ctx context.Context, required bool, hub *hubclient.Client) (view *hubclient.LogView, why string, err error) {
	open := hub.OpenLog
	if hub.Own() {
		open = hub.PeekLog
	}
	view, err = open(ctx)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.Unsupported {
		if required {
			return nil, "", e.WithHint("leave --require-log out to take the release all the same")
		}
		return nil, e.Message, nil
	}
	if err != nil {
		return nil, "", err
	}
	if view.Checkpoint.Size == 0 && !required {
		return nil, "the hub's log is empty", nil
	}
	return view, "", nil
}

// ProveIn refuses a release that the log does not have, or has differently.
func ProveIn(ctx context.Context, view *hubclient.LogView, release hubapi.Release) (*Evidence, error) {
	proven, err := view.ProveRelease(ctx, release)
	if err != nil {
		return nil, err
	}
	return &Evidence{
		Origin: view.Checkpoint.Origin, VKey: view.VKey, Index: proven.Proof.Index, Size: view.Checkpoint.Size,
		Time: proven.Parsed.Time, Entry: proven.Entry, Proof: proven.Proof,
	}, nil
}

// logLook is one look at a hub's log for many releases. The log is opened again for
// a release that is newer than the look. It is safe for concurrent use.
type logLook struct {
	mu     sync.Mutex
	view   *hubclient.LogView
	why    string // why the hub has no log
	proven map[string]*Evidence
}

// of is what was proven of a release.
func (l *logLook) of(r hubapi.Release) *Evidence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.proven[r.Ref()]
}

func (l *logLook) remember(r hubapi.Release, e *Evidence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.proven == nil {
		l.proven = map[string]*Evidence{}
	}
	l.proven[r.Ref()] = e
}

// prove is what the log proves of a release, with the reason why nothing was proved; said tells that it is
// not the first release of which that is so.
func (l *logLook) prove(ctx context.Context, required bool, hub *hubclient.Client, release hubapi.Release) (e *Evidence, why string, said bool, err error) {
	view, why, said, err := l.look(ctx, nil, required, hub)
	if err != nil || view == nil {
		return nil, why, said, err
	}
	if e, err = ProveIn(ctx, view, release); err != nil {
		if view, why, _, err = l.look(ctx, view, required, hub); err != nil || view == nil {
			return nil, why, false, err
		}
		if e, err = ProveIn(ctx, view, release); err != nil {
			return nil, "", false, err
		}
	}
	l.remember(release, e)
	return e, "", false, nil
}

// look is the log as it was seen last, or as it is now where that was stale. Again
// tells that it was known before that there is none.
func (l *logLook) look(ctx context.Context, stale *hubclient.LogView, required bool, hub *hubclient.Client) (view *hubclient.LogView, why string, again bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.why != "":
		return nil, l.why, true, nil
	case l.view == nil || l.view == stale:
		if l.view, l.why, err = OpenLog(ctx, required, hub); err != nil {
			return nil, "", false, err
		}
	}
	return l.view, l.why, false, nil
}

// ProofFile is what log evidence is kept as: a C2SP tlog-proof with its entry. Nil
// for an entry that does not name its release, which would prove it to nobody.
func (e *Evidence) ProofFile() []byte {
	if e == nil {
		return nil
	}
	if entry, err := translog.ParseEntry([]byte(e.Entry)); err != nil || entry.Op != translog.Publish {
		return nil
	}
	whole := e.Proof
	whole.Extra = []byte(e.Entry)
	return []byte(whole.Text())
}

// ProofName is the file that holds the proof of a release in the user's own store.
func ProofName(subject string, digest pack.Digest) string {
	sum := sha256.Sum256([]byte(subject + "\n" + string(digest)))
	return hex.EncodeToString(sum[:16]) + translog.ProofSuffix
}

// keepProof keeps a log's proof of an accepted release where the user's policy asks for
// one, so that kx verify can judge the copy without the hub.
func (g *Gate) keepProof(r hubapi.Release) error {
	policy, err := g.o.Policy()
	subject := r.Author + "/" + r.Name
	if policy == nil || !policy.WantsLog(subject) {
		return err
	}
	text := g.log.of(r).ProofFile()
	if text == nil {
		return nil
	}
	memory, err := g.o.Memory()
	if err != nil {
		return err
	}
	root, err := fsx.OpenOrCreate(memory.Proofs, 0o700)
	if err != nil {
		return err
	}
	return errors.Join(root.WriteFile(ProofName(subject, pack.Digest(r.Digest)), text, 0o600), root.Close())
}
