package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
)

func leaf(i int) hub.LogRow {
	return hub.LogRow{
		Entry: fmt.Appendf(nil, "leaf %d", i), Op: "submit", Name: fmt.Sprintf("skill-%d", i%3),
		Principal: "someone", Note: fmt.Sprintf("note %d", i),
	}
}

func testLog(t *testing.T, open Opener) {
	s := opened(t, open)
	s.read(func(r hub.Reader) error {
		_, err := r.LogHub()
		absent(t, "log key", err)
		tree, err := r.LogTree(hub.LocalTenant)
		equal(t, "size of nothing", tree.Size, int64(0))
		rows, _ := r.LogEntries(hub.LocalTenant, 0, 10)
		equal(t, "entries of nothing", len(rows), 0)
		return err
	})
	first := hub.LogHubRow{Host: "local", Seed: make([]byte, 32)}
	second := hub.LogHubRow{Host: "hub.example", Seed: append(make([]byte, 31), 1)}
	for _, row := range []hub.LogHubRow{first, second} {
		s.write(func(w hub.Writer) error { return w.PutLogHub(row) })
		s.read(func(r hub.Reader) error {
			got, err := r.LogHub()
			equal(t, "log key", got, row)
			return err
		})
	}

	release := s.addRelease(releaseOf(s.addSkill("skill-1", "acme"), "1", hubapi.Staged)).Seq
	var tree translog.Tree
	for i := range 20 {
		row := leaf(i)
		if i == 4 || i == 7 {
			row.Release, row.Nonce = release, []byte{byte(i)}
		}
		if i == 4 {
			row.Op = "publish"
		}
		var index int64
		s.write(func(w hub.Writer) (err error) {
			index, err = w.AppendLog(hub.LocalTenant, row)
			return err
		})
		equal(t, "index", index, int64(i))
		tree, _ = tree.Append(translog.LeafHash(row.Entry))
	}
	s.read(func(r hub.Reader) error {
		got, err := r.LogTree(hub.LocalTenant)
		if err != nil {
			return err
		}
		equal(t, "size", got.Size, int64(20))
		equal(t, "root", got.Root(), tree.Root())
		rows, err := r.LogEntries(hub.LocalTenant, 3, 2)
		if err != nil {
			return err
		}
		want := []hub.LogRow{leaf(3), leaf(4)}
		want[0].Index, want[1].Index = 3, 4
		want[1].Op, want[1].Release, want[1].Nonce = "publish", release, []byte{4}
		equal(t, "entries", rows, want)
		rows, err = r.LogEntriesNamed(hub.LocalTenant, "skill-1", 2, 3)
		if err != nil {
			return err
		}
		var indexes []int64
		for _, row := range rows {
			indexes = append(indexes, row.Index)
		}
		equal(t, "entries of one name", indexes, []int64{4, 7, 10})
		row, err := r.LoggedRelease(hub.LocalTenant, "skill-1", release)
		equal(t, "what published a release", row.Index, int64(4))
		if err != nil {
			return err
		}
		_, err = r.LoggedRelease(hub.LocalTenant, "skill-1", release+1)
		absent(t, "a release that was not logged", err)

		nodes := translog.Nodes(func(indexes []int64) ([][]byte, error) { return r.LogHashes(hub.LocalTenant, indexes) })
		at := translog.Checkpoint{Size: 20, Root: tree.Root()}
		for i := range int64(20) {
			proof, err := translog.Inclusion(20, i, nodes)
			if err != nil {
				return err
			}
			if err := translog.CheckInclusion(proof, at, i, translog.LeafHash(leaf(int(i)).Entry)); err != nil {
				return err
			}
		}
		_, err = r.LogHashes(hub.LocalTenant, []int64{3, 20})
		absent(t, "hashes of no entry", err)
		releases, err := r.ReleasesBehind(hub.LocalTenant, 0, 10)
		equal(t, "releases", len(releases), 1)
		if err != nil {
			return err
		}
		releases, err = r.ReleasesBehind(hub.LocalTenant, release, 10)
		equal(t, "releases behind the last", len(releases), 0)
		return err
	})
}

// Entries of many writers at once, some of them taken back, stand without gaps.
func testLogConcurrent(t *testing.T, open Opener) {
	s := opened(t, open)
	s.write(func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "other"}) })
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			tenant := []string{hub.LocalTenant, "other"}[i%2]
			err := s.Write(s.Context(), func(w hub.Writer) error {
				if _, err := w.AppendLog(tenant, leaf(i)); err != nil {
					return err
				}
				if i%5 == 0 {
					return errOops
				}
				return nil
			})
			if (err == nil) == (i%5 == 0) {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	s.read(func(r hub.Reader) error {
		for _, tenant := range []string{hub.LocalTenant, "other"} {
			stored, err := r.LogTree(tenant)
			if err != nil {
				return err
			}
			rows, err := r.LogEntries(tenant, 0, 100)
			if err != nil {
				return err
			}
			var tree translog.Tree
			for i, row := range rows {
				equal(t, "index", row.Index, int64(i))
				tree, _ = tree.Append(translog.LeafHash(row.Entry))
			}
			equal(t, "size", stored.Size, int64(24))
			equal(t, "root of "+tenant, stored.Root(), tree.Root())
		}
		return nil
	})
}
