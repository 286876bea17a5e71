package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
)

// LogProblem is one thing that CheckLog found.
type LogProblem struct {
	ID   string
	Text string
}

// CheckLog is the function of that name on one view of h's store.
func (h *Hub) CheckLog(ctx context.Context, tenant string) (problems []LogProblem, err error) {
	err = h.read(ctx, func(r Reader) error {
		problems, err = CheckLog(r, tenant)
		return err
	})
	return problems, err
}

// CheckLog compares a tenant's log with itself and with the releases, on what the
// store holds: entries without gaps that can be read, the hashes that belong to
// them, the tree that they make, one digest for each version, and releases that are
// what the log says. It is for fsck; clients do the same from outside. Times that
// go back are no problem: the order of a log is that of its entries.
func CheckLog(r LogReader, tenant string) ([]LogProblem, error) {
	stored, err := r.LogTree(tenant)
	if err != nil {
		return []LogProblem{{translog.IDFormat, fmt.Sprintf("the tree of the log: %v", err)}}, nil
	}
	if stored.Size == 0 {
		return nil, nil
	}
	c := &logCheck{LogReader: r, tenant: tenant, audit: translog.NewAudit(), releases: map[int64]loggedRelease{}}
	if err := c.readReleases(); err != nil {
		return nil, err
	}
	tree, err := c.readEntries(stored.Size)
	if err != nil {
		return nil, err
	}
	if tree.Size != stored.Size || tree.Root() != stored.Root() {
		c.found(translog.IDMismatch, "the entries of the log do not make its tree")
	}
	for _, f := range c.audit.Findings() {
		if !f.Warning {
			c.found(f.ID, "%s", f.Text)
		}
	}
	c.compare()
	return c.problems, nil
}

type loggedRelease struct {
	name, version, digest string
	active                bool
}

type logCheck struct {
	LogReader
	tenant   string
	audit    *translog.Audit
	releases map[int64]loggedRelease
	problems []LogProblem
}

func (c *logCheck) found(id, format string, args ...any) {
	const most = 100
	if len(c.problems) < most {
		c.problems = append(c.problems, LogProblem{id, fmt.Sprintf(format, args...)})
	}
}

func (c *logCheck) readReleases() error {
	for after := int64(0); ; {
		rows, err := c.ReleasesBehind(c.tenant, after, maxLogPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.Seq
			c.releases[row.Seq] = loggedRelease{row.Author + "/" + row.Name, row.Version, row.Digest, row.Status == hubapi.Active}
		}
	}
}

// readEntries replays the log up to size, or to where it breaks off.
func (c *logCheck) readEntries(size int64) (tree translog.Tree, err error) {
	for tree.Size < size {
		rows, err := c.LogEntries(c.tenant, tree.Size, maxLogPage)
		if err != nil {
			return tree, err
		}
		indexes := make([]int64, 0, len(rows))
		for _, row := range rows {
			indexes = append(indexes, row.Index)
		}
		hashes, err := c.LogHashes(c.tenant, indexes)
		if err != nil {
			return tree, err
		}
		if len(rows) == 0 {
			c.found(translog.IDMismatch, "entry %d of %d is missing", tree.Size, size)
			return tree, nil
		}
		for i, row := range rows {
			if row.Index != tree.Size {
				c.found(translog.IDMismatch, "entry %d of %d is missing", tree.Size, size)
				return tree, nil
			}
			var want []byte
			tree, want = tree.Append(translog.LeafHash(row.Entry))
			if string(hashes[i]) != string(want) {
				c.found(translog.IDMismatch, "the hashes of entry %d are not those of its content", row.Index)
			}
			c.audit.Add(row.Index, row.Entry)
			if about, ok := c.releases[row.Release]; ok && row.Nonce != nil {
				c.audit.Reveal(row.Index, row.Entry, row.Nonce, about.name, about.version)
			}
		}
	}
	return tree, nil
}

// compare holds the releases against the log, both ways.
func (c *logCheck) compare() {
	active := map[string]string{}
	for _, seq := range slices.Sorted(maps.Keys(c.releases)) {
		r := c.releases[seq]
		ref := r.name + "@" + r.version
		if r.active {
			active[r.name] = r.version
		}
		said, ok := c.audit.Version(r.name, r.version)
		switch {
		case !ok:
			c.found(translog.IDMissing, "%s is not in the log", ref)
		case said.Digest != r.digest:
			c.found(translog.IDMismatch, "%s is %s, the log says %s", ref, r.digest, said.Digest)
		case r.active && c.audit.Active()[r.name] != r.version:
			c.found(translog.IDMismatch, "%s is active, the log does not say so", ref)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.audit.Active())) {
		if version := c.audit.Active()[name]; active[name] != version {
			c.found(translog.IDMismatch, "%s@%s is not active, the log says that it is", name, version)
		}
	}
}
