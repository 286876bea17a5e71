package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"regexp"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
)

// LogReader is the transparency log in a view of a store. There is one log for
// each tenant; its entries are numbered from 0, without gaps.
type LogReader interface {
	// LogHub is absent until the log is first asked for.
	LogHub() (LogHubRow, error)
	// LogTree is the empty tree where nothing was logged.
	LogTree(tenant string) (translog.Tree, error)
	// LogEntries begin at the index first.
	LogEntries(tenant string, first int64, limit int) ([]LogRow, error)
	// LogEntriesNamed are those about one skill, or one owner.
	LogEntriesNamed(tenant, name string, first int64, limit int) ([]LogRow, error)
	// LoggedRelease is the last publish of a release, else its last entry.
	LoggedRelease(tenant, name string, release int64) (LogRow, error)
	// LogHashes gives what translog.Nodes reads.
	LogHashes(tenant string, indexes []int64) ([][]byte, error)
	// ReleasesBehind are a tenant's with a sequence number above after, oldest
	// first, whatever their status.
	ReleasesBehind(tenant string, after int64, limit int) ([]ReleaseRow, error)
}

// LogWriter adds to the log.
type LogWriter interface {
	PutLogHub(LogHubRow) error
	// AppendLog gives the index of the new entry.
	AppendLog(tenant string, r LogRow) (int64, error)
}

// LogHubRow is what all logs of a hub share.
type LogHubRow struct {
	Host string // the first part of every log's origin
	Seed []byte // of the key that signs checkpoints, 32 bytes
}

// LogRow is an entry with what its leaf does not say.
type LogRow struct {
	Index     int64
	Entry     []byte // the exact leaf
	Op        string
	Name      string // of the skill, or the owner, in clear
	Release   int64  // 0: not about one
	Nonce     []byte // nil when the leaf has the name in clear
	Principal string // who did it
	Note      string
}

// logRelease writes an entry about a release into the log, in the transaction that
// changes it. A release that was never active is not named: its entry can be shown
// to be about it only by who was told the nonce.
func (h *Hub) logRelease(w Writer, p Principal, op translog.Op, row ReleaseRow, note string) error {
	index, err := h.appendRelease(w, p, op, row, note)
	if err != nil || index > 0 {
		return err
	}
	return h.logEarlier(w, p, row)
}

// logEarlier writes the releases that a tenant had before there was a log behind
// its first entry, so that the log names all of them. Those that are active come
// last: each is then the last of its skill that was published.
func (h *Hub) logEarlier(w Writer, p Principal, first ReleaseRow) error {
	const note = "was there before the log"
	var active []ReleaseRow
	for after := int64(0); ; {
		rows, err := w.ReleasesBehind(first.Tenant, after, maxLogPage)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			after = row.Seq
			op := translog.Submit
			switch {
			case row.Seq == first.Seq:
				continue
			case row.Status == hubapi.Active:
				active = append(active, row)
				continue
			case !row.ApprovedAt.IsZero():
				op = translog.Publish
			}
			if _, err := h.appendRelease(w, p, op, row, note); err != nil {
				return err
			}
			if op == translog.Publish && row.Status != hubapi.Deprecated {
				if _, err := h.appendRelease(w, p, translog.Withdraw, row, note); err != nil {
					return err
				}
			}
		}
	}
	for _, row := range active {
		if _, err := h.appendRelease(w, p, translog.Publish, row, note); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hub) appendRelease(w Writer, p Principal, op translog.Op, row ReleaseRow, note string) (int64, error) {
	keyID, err := h.signerOf(w, row)
	if err != nil {
		return 0, err
	}
	e := translog.Entry{
		Op: op, Name: row.Author + "/" + row.Name, Version: row.Version,
		Digest: row.Digest, KeyID: keyID, Time: h.now(),
	}
	log := LogRow{Op: string(op), Name: row.Name, Release: row.Seq, Principal: p.ID, Note: note}
	if op != translog.Publish && row.ApprovedAt.IsZero() {
		log.Nonce = make([]byte, translog.NonceSize)
		if _, err := io.ReadFull(h.random, log.Nonce); err != nil {
			return 0, err
		}
		e.Name = translog.HiddenName(log.Nonce, e.Name, e.Version)
	}
	if log.Entry, err = e.Marshal(); err != nil {
		return 0, logError(err)
	}
	return w.AppendLog(row.Tenant, log)
}

// signerOf is the key that a release's signature names, which proves nothing by
// itself: who trusts keys checks the signature.
func (h *Hub) signerOf(r Reader, row ReleaseRow) (string, error) {
	if row.Signature == nil {
		return translog.None, nil
	}
	file, err := content(r, *row.Signature)
	if err != nil {
		return "", err
	}
	signed, err := h.readSignature(file)
	if err != nil {
		return "", err
	}
	for _, s := range signed {
		if id, err := hex.DecodeString(s.KeyID); err == nil && len(id) == 32 && hex.EncodeToString(id) == s.KeyID {
			return s.KeyID, nil
		}
	}
	return translog.None, nil
}

// logError puts a refusal of the log's formats into the vocabulary.
func logError(err error) error {
	if e, ok := errors.AsType[*translog.Error](err); ok {
		out := hubapi.Errorf(hubapi.Internal, "the log: %s", e.Text)
		return out.With(hubapi.Detail{ID: e.ID, Message: out.Message})
	}
	return err
}

// logTenant is the tenant whose log p reads. A principal that is none reads the
// local tenant's, if that is public.
func logTenant(r Reader, p Principal) (TenantRow, error) {
	if p.ID == "" && p.Tenant == "" {
		tenant, err := r.Tenant(LocalTenant)
		if err == nil && tenant.PublicLog {
			return tenant, nil
		}
		return TenantRow{}, hubapi.Errorf(hubapi.Unauthorized, "the log of this hub needs a key")
	}
	if err := p.check(); err != nil {
		return TenantRow{}, err
	}
	return r.Tenant(p.Tenant)
}

// onLog runs fn on one view, with the tenant whose log p reads.
func (h *Hub) onLog(ctx context.Context, p Principal, fn func(r Reader, tenant string, tree translog.Tree) error) error {
	return h.read(ctx, func(r Reader) error {
		tenant, err := logTenant(r, p)
		if err != nil {
			return err
		}
		tree, err := r.LogTree(tenant.ID)
		if err != nil {
			return logError(err)
		}
		return logError(fn(r, tenant.ID, tree))
	})
}

// defaultLogHost stands for a hub that only its own machine knows.
const defaultLogHost = "local"

var logHost = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(:[0-9]{1,5})?$`)

// logHub is the hub's log key, which is made when it is first needed.
func (h *Hub) logHub(ctx context.Context) (row LogHubRow, err error) {
	there := true
	err = h.read(ctx, func(r Reader) error {
		row, err = r.LogHub()
		if there = !errors.Is(err, ErrNoRow); !there {
			return nil
		}
		return err
	})
	if there || err != nil {
		return row, err
	}
	err = h.write(ctx, func(w Writer) error {
		row, err = h.makeLogHub(w, defaultLogHost)
		return err
	})
	return row, err
}

func (h *Hub) makeLogHub(w Writer, host string) (LogHubRow, error) {
	row, err := w.LogHub()
	if !errors.Is(err, ErrNoRow) {
		return row, err
	}
	seed, err := translog.NewSeed(h.random)
	if err != nil {
		return LogHubRow{}, err
	}
	row = LogHubRow{Host: host, Seed: seed}
	return row, w.PutLogHub(row)
}

// CheckLogHost refuses a host that no log can be called after.
func CheckLogHost(host string) error {
	if !logHost.MatchString(host) {
		return hubapi.Errorf(hubapi.Usage, "%q cannot name a log: it takes a host name in lower case, with a port if need be", host)
	}
	return nil
}

// SetLogHost names the host that the hub's logs are called after: their origins are
// HOST/TENANT. It can be done until something was logged; afterwards another name
// would make every client that remembers the log refuse it.
func (h *Hub) SetLogHost(ctx context.Context, host string) error {
	if err := CheckLogHost(host); err != nil {
		return err
	}
	return h.write(ctx, func(w Writer) error {
		row, err := h.makeLogHub(w, host)
		if err != nil || row.Host == host {
			return err
		}
		tenants, err := w.Tenants()
		if err != nil {
			return err
		}
		for _, tenant := range tenants {
			if tree, err := w.LogTree(tenant.ID); err != nil || tree.Size > 0 {
				if err != nil {
					return logError(err)
				}
				return hubapi.Errorf(hubapi.Conflict, "the logs of this hub are called after %q and have entries: they cannot be called after %q any more", row.Host, host)
			}
		}
		row.Host = host
		return w.PutLogHub(row)
	})
}

// checkpoint is the state of p's log and the key that signs it.
func (h *Hub) checkpoint(ctx context.Context, p Principal) (c translog.Checkpoint, key translog.Key, public bool, err error) {
	// Who may not read the log must not be able to make it get a key.
	var tenant TenantRow
	var tree translog.Tree
	err = h.read(ctx, func(r Reader) error {
		if tenant, err = logTenant(r, p); err != nil {
			return err
		}
		tree, err = r.LogTree(tenant.ID)
		return logError(err)
	})
	if err != nil {
		return c, key, false, err
	}
	row, err := h.logHub(ctx)
	if err != nil {
		return c, key, false, err
	}
	if key, err = translog.KeyFromSeed(row.Seed); err != nil {
		return c, key, false, logError(err)
	}
	c = translog.Checkpoint{Origin: row.Host + "/" + tenant.ID, Size: tree.Size, Root: tree.Root()}
	return c, key, tenant.PublicLog, nil
}

// Checkpoint is the signed state of p's log. It is signed when it is asked for:
// the tree that it speaks of is what the last transaction made durable, and the
// same tree gives the same bytes on every server.
func (h *Hub) Checkpoint(ctx context.Context, p Principal) ([]byte, error) {
	c, key, _, err := h.checkpoint(ctx, p)
	if err != nil {
		return nil, err
	}
	note, err := key.Sign(c)
	return note, refusal(err)
}

// LogState describes p's log.
func (h *Hub) LogState(ctx context.Context, p Principal) (hubapi.Log, error) {
	c, key, public, err := h.checkpoint(ctx, p)
	if err != nil {
		return hubapi.Log{}, err
	}
	vkey, err := key.VerifierKey(c.Origin)
	return hubapi.Log{Origin: c.Origin, VKey: vkey, Size: c.Size, Root: c.Root.String(), Public: public}, refusal(err)
}

// LogTile gives a tile of p's log. What the log
// does not reach yet is NotFound.
func (h *Hub) LogTile(ctx context.Context, p Principal, t translog.Tile) (data []byte, err error) {
	err = h.onLog(ctx, p, func(r Reader, tenant string, tree translog.Tree) error {
		if !t.In(tree.Size) {
			return hubapi.Errorf(hubapi.NotFound, "the log of %d entries has no %s", tree.Size, t.Path())
		}
		if t.Level != translog.Entries {
			data, err = translog.HashTile(t, nodes(r, tenant))
			return err
		}
		rows, err := r.LogEntries(tenant, t.First(), t.Width)
		if err != nil {
			return err
		}
		entries := make([][]byte, len(rows))
		for i, row := range rows {
			if row.Index != t.First()+int64(i) {
				return damagedLog(t.First() + int64(i))
			}
			entries[i] = row.Entry
		}
		if len(rows) != t.Width {
			return damagedLog(t.First() + int64(len(rows)))
		}
		data, err = translog.EncodeBundle(entries)
		return err
	})
	return data, err
}

func damagedLog(index int64) error {
	e := hubapi.Errorf(hubapi.Internal, "the log has lost entry %d", index).WithHint("restore the hub from a backup")
	return e.With(hubapi.Detail{ID: translog.IDMismatch, Message: e.Message})
}

func nodes(r Reader, tenant string) translog.NodeReader {
	return translog.Nodes(func(indexes []int64) ([][]byte, error) {
		out, err := r.LogHashes(tenant, indexes)
		if errors.Is(err, ErrNoRow) {
			return nil, damagedLog(indexes[0])
		}
		return out, err
	})
}

// LogInclusion proves that the entry at index is in p's log at that size; size 0
// means its present one.
func (h *Hub) LogInclusion(ctx context.Context, p Principal, index, size int64) (out hubapi.LogProof, err error) {
	err = h.onLog(ctx, p, func(r Reader, tenant string, tree translog.Tree) error {
		if size == 0 {
			size = tree.Size
		}
		if size > tree.Size || index >= size || index < 0 {
			return hubapi.Errorf(hubapi.NotFound, "the log has %d entries: there is no proof of entry %d in %d", tree.Size, index, size)
		}
		proof, err := translog.Inclusion(size, index, nodes(r, tenant))
		out = hubapi.LogProof{Index: &index, Size: size, Hashes: hashTexts(proof)}
		return err
	})
	return out, err
}

// LogConsistency proves that p's log at size begins with what it was at from; size
// 0 means its present one.
func (h *Hub) LogConsistency(ctx context.Context, p Principal, from, size int64) (out hubapi.LogProof, err error) {
	err = h.onLog(ctx, p, func(r Reader, tenant string, tree translog.Tree) error {
		if size == 0 {
			size = tree.Size
		}
		if size > tree.Size || from > size || from < 0 {
			return hubapi.Errorf(hubapi.NotFound, "the log has %d entries: there is no proof from %d to %d", tree.Size, from, size)
		}
		proof, err := translog.Consistency(from, size, nodes(r, tenant))
		out = hubapi.LogProof{From: &from, Size: size, Hashes: hashTexts(proof)}
		return err
	})
	return out, err
}

func hashTexts(hashes []translog.Hash) []string {
	out := make([]string, len(hashes))
	for i, h := range hashes {
		out[i] = h.String()
	}
	return out
}

// maxLogPage is the most items of one answer about the log.
const maxLogPage = 1000

// LogEntries lists entries of p's log from first on, those of one skill or owner
// when ref has a name. Reviewers are told who did it, and what hidden names mean;
// to others the entries of what was never active are not there under their name.
// Limit 0 means 100; more than 1,000 is 1,000.
func (h *Hub) LogEntries(ctx context.Context, p Principal, ref hubapi.Ref, first int64, limit int) (out hubapi.LogEntries, err error) {
	if limit, err = clamp(limit, 100, maxLogPage); err != nil {
		return out, err
	}
	err = h.onLog(ctx, p, func(r Reader, tenant string, _ translog.Tree) error {
		out = hubapi.LogEntries{Items: []hubapi.LogEntry{}}
		var rows []LogRow
		if ref.Name != "" {
			rows, err = r.LogEntriesNamed(tenant, ref.Name, first, limit+1)
		} else {
			rows, err = r.LogEntries(tenant, first, limit+1)
		}
		if err != nil {
			return err
		}
		if len(rows) > limit {
			out.Next = &rows[limit].Index
			rows = rows[:limit]
		}
		for _, row := range rows {
			item, err := logEntry(r, p, row)
			if err != nil {
				return err
			}
			if ref.Name != "" && !logMatches(item, ref) {
				continue
			}
			out.Items = append(out.Items, item)
		}
		return nil
	})
	return out, err
}

// logMatches tells whether an entry of a skill's name is about what ref means. One
// whose name is hidden from the caller is about nothing.
func logMatches(item hubapi.LogEntry, ref hubapi.Ref) bool {
	if item.Name == "" || ref.Version != "" && ref.Version != item.Version {
		return false
	}
	return ref.Author == "" || item.Name == ref.Author+"/"+ref.Name || item.Name == ref.Author
}

func logEntry(r Reader, p Principal, row LogRow) (hubapi.LogEntry, error) {
	e, err := translog.ParseEntry(row.Entry)
	if err != nil {
		return hubapi.LogEntry{}, err
	}
	item := hubapi.LogEntry{
		Index: row.Index, Entry: string(row.Entry), Op: string(e.Op), Time: e.Time, Digest: e.Digest, KeyID: e.KeyID,
	}
	if p.reviews() {
		item.Principal, item.Note = row.Principal, row.Note
	}
	if !e.Hidden() {
		item.Name, item.Version = e.Name, e.Version
		return item, nil
	}
	if !p.reviews() {
		return item, nil
	}
	releases, err := r.ReleasesBySeq([]int64{row.Release})
	if err != nil || len(releases) == 0 {
		return item, err
	}
	item.Name, item.Version = releases[0].Author+"/"+releases[0].Name, releases[0].Version
	item.Nonce = hex.EncodeToString(row.Nonce)
	return item, nil
}

// LogReleases lists what the hub's index says, to be held against the log: to
// reviewers every release behind the sequence number after, to others the active
// ones. Next is the number to go on with.
func (h *Hub) LogReleases(ctx context.Context, p Principal, after int64, limit int) (out hubapi.LogReleases, err error) {
	if limit, err = clamp(limit, 100, maxLogPage); err != nil {
		return out, err
	}
	err = h.onLog(ctx, p, func(r Reader, tenant string, _ translog.Tree) error {
		out = hubapi.LogReleases{Items: []hubapi.LogRelease{}}
		rows, err := r.ReleasesBehind(tenant, after, limit+1)
		if err != nil {
			return err
		}
		if len(rows) > limit {
			rows = rows[:limit]
			out.Next = &rows[limit-1].Seq
		}
		for _, row := range rows {
			if row.Status != hubapi.Active && !p.reviews() {
				continue
			}
			item := hubapi.LogRelease{Name: row.Name, Author: row.Author, Version: row.Version, Status: row.Status, Digest: row.Digest}
			log, err := r.LoggedRelease(tenant, row.Name, row.Seq)
			if err == nil {
				item.LogIndex = &log.Index
			} else if !errors.Is(err, ErrNoRow) {
				return err
			}
			out.Items = append(out.Items, item)
		}
		return nil
	})
	return out, err
}

// addLog tells where a release is in the log, to who may see the release.
func addLog(r Reader, row ReleaseRow, out *hubapi.Release) error {
	log, err := r.LoggedRelease(row.Tenant, row.Name, row.Seq)
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	out.LogIndex = &log.Index
	out.LogNonce = hex.EncodeToString(log.Nonce)
	return nil
}
