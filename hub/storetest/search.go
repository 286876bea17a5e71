package storetest

import (
	"errors"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

func testSearchDocs(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	one := s.addRelease(releaseOf(skill, "1", hubapi.Staged)).Seq
	two := s.addRelease(releaseOf(skill, "2", hubapi.Staged)).Seq
	put := func(release int64, data []byte) {
		s.write(func(w hub.Writer) error {
			return w.PutSearchDoc(hub.SearchDoc{Tenant: hub.LocalTenant, Release: release, Data: data})
		})
	}
	docs := func(tenant string, after int64) (got []hub.SearchDoc) {
		s.read(func(r hub.Reader) error {
			return r.SearchDocs(tenant, after, func(d hub.SearchDoc) error {
				got = append(got, d)
				return nil
			})
		})
		return got
	}
	change := func(tenant string) (n int64) {
		s.read(func(r hub.Reader) (err error) {
			n, err = r.SearchChange(tenant)
			return err
		})
		return n
	}
	doc := func(release, change int64, data []byte) hub.SearchDoc {
		return hub.SearchDoc{Tenant: hub.LocalTenant, Release: release, Change: change, Data: data}
	}
	equal(t, "before the first", change(hub.LocalTenant), int64(0))
	put(one, []byte("a\x00\xff"))
	put(two, []byte{})
	equal(t, "two changes", change(hub.LocalTenant), int64(2))
	equal(t, "both", docs(hub.LocalTenant, 0), []hub.SearchDoc{doc(one, 1, []byte("a\x00\xff")), doc(two, 2, []byte{})})
	equal(t, "behind the first", docs(hub.LocalTenant, 1), []hub.SearchDoc{doc(two, 2, []byte{})})
	equal(t, "of another tenant", len(docs("elsewhere", 0))+int(change("elsewhere")), 0)

	put(one, nil)
	equal(t, "one taken out, as a change", docs(hub.LocalTenant, 2), []hub.SearchDoc{doc(one, 3, nil)})
	equal(t, "one taken out, from the start", docs(hub.LocalTenant, 0), []hub.SearchDoc{doc(two, 2, []byte{})})
	put(one, []byte("b"))
	equal(t, "and back", docs(hub.LocalTenant, 0), []hub.SearchDoc{doc(two, 2, []byte{}), doc(one, 4, []byte("b"))})

	// What is taken back has no number: the next change has the next one.
	failed := hubapi.Errorf(hubapi.Conflict, "no")
	err := s.Write(t.Context(), func(w hub.Writer) error {
		return errors.Join(w.PutSearchDoc(hub.SearchDoc{Tenant: hub.LocalTenant, Release: two, Data: []byte("x")}), failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("a failed write: %v", err)
	}
	put(two, []byte("c"))
	equal(t, "the next change", docs(hub.LocalTenant, 4), []hub.SearchDoc{doc(two, 5, []byte("c"))})
	stop := s.Read(t.Context(), func(r hub.Reader) error {
		return r.SearchDocs(hub.LocalTenant, 0, func(hub.SearchDoc) error { return failed })
	})
	if !errors.Is(stop, failed) {
		t.Errorf("an error of the caller: %v", stop)
	}
	s.read(func(r hub.Reader) error {
		tenants, err := r.SearchTenants()
		equal(t, "tenants", tenants, []string{hub.LocalTenant})
		return err
	})
}
