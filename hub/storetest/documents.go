package storetest

import (
	"errors"
	"testing"

	"github.com/kortecx/kx/hub"
)

func testDocuments(t *testing.T, open Opener) {
	s := opened(t, open)
	doc := func(collection, id, data string, second int) hub.DocumentRow {
		return hub.DocumentRow{
			Tenant: hub.LocalTenant, Collection: collection, ID: id, Fleet: "f1", Data: data,
			CreatedBy: "ann", UpdatedBy: "ann", CreatedAt: at(second), UpdatedAt: at(second),
		}
	}
	put := func(d hub.DocumentRow) {
		s.Helper()
		s.write(func(w hub.Writer) error { return w.PutPlainDocument(d) })
	}
	s.write(func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "elsewhere"}) })
	first, second, third := doc("b", "1", `{"x":"é\u0000"}`, 1), doc("a", "2", `{}`, 2), doc("b", "0", `{"y":1}`, 1)
	put(first)
	put(second)
	put(third)
	away := doc("b", "1", `{"away":true}`, 3)
	away.Tenant = "elsewhere"
	put(away)
	list := func(collection string) (rows []hub.DocumentRow) {
		s.Helper()
		s.read(func(r hub.Reader) error {
			return r.PlainDocuments(hub.LocalTenant, collection, func(d hub.DocumentRow) error {
				rows = append(rows, d)
				return nil
			})
		})
		return rows
	}
	equal(t, "all", list(""), []hub.DocumentRow{second, third, first})
	equal(t, "one collection", list("b"), []hub.DocumentRow{third, first})
	equal(t, "no such collection", list("c"), nil)
	s.read(func(r hub.Reader) error {
		got, err := r.PlainDocument(hub.LocalTenant, "b", "1")
		equal(t, "one", got, first)
		_, none := r.PlainDocument(hub.LocalTenant, "a", "1")
		absent(t, "another collection", none)
		counts, countErr := r.CountPlain(hub.LocalTenant)
		equal(t, "counts", counts, []hub.CollectionCount{{Name: "a", Count: 1, Bytes: 2}, {Name: "b", Count: 2, Bytes: int64(len(first.Data) + len(third.Data))}})
		stop, seen := errors.New("enough"), 0
		got2 := r.PlainDocuments(hub.LocalTenant, "", func(hub.DocumentRow) error { seen++; return stop })
		equal(t, "an error ends it", errors.Is(got2, stop) && seen == 1, true)
		return errors.Join(err, countErr)
	})
	changed := doc("b", "1", `{"x":2}`, 9)
	changed.Fleet, changed.CreatedBy, changed.UpdatedBy = "", "bob", "bob"
	put(changed)
	changed.CreatedBy, changed.CreatedAt = "ann", first.CreatedAt
	equal(t, "changed, not made again", list("b"), []hub.DocumentRow{changed, third})
	s.write(func(w hub.Writer) error {
		was, err := w.DropPlainDocument(hub.LocalTenant, "b", "1")
		equal(t, "it was there", was, true)
		again, againErr := w.DropPlainDocument(hub.LocalTenant, "b", "1")
		equal(t, "it was not there again", again, false)
		return errors.Join(err, againErr)
	})
	equal(t, "dropped", list("b"), []hub.DocumentRow{third})

	seq := func(tenant string) (n int64) {
		s.Helper()
		s.read(func(r hub.Reader) (err error) {
			n, err = r.AuditSeq(tenant)
			return err
		})
		return n
	}
	equal(t, "no audit yet", seq("elsewhere"), 0)
	s.write(func(w hub.Writer) error { return w.AddAudit(hub.AuditRow{Tenant: "elsewhere", At: at(1)}) })
	before := seq("elsewhere")
	s.write(func(w hub.Writer) error { return w.AddAudit(hub.AuditRow{Tenant: hub.LocalTenant, At: at(1)}) })
	equal(t, "each tenant has its own", seq("elsewhere"), before)
	equal(t, "it grows", before > 0 && seq(hub.LocalTenant) > before, true)
}
