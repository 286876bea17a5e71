package hub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
)

func BenchmarkKazmaList(b *testing.B) {
	store, err := sqlstore.Open(b.Context(), storetest.TempDir(b), sqlstore.Options{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	h := hub.New(store, hub.Config{Now: time.Now})
	if err := store.Write(b.Context(), func(w hub.Writer) error {
		for i := range 1000 {
			name := fmt.Sprintf("skill-%04d", i)
			skill, err := w.AddSkill(hub.SkillRow{Tenant: hub.LocalTenant, Name: name, Author: "acme", NextInteger: 1})
			if err != nil {
				return err
			}
			seq, err := w.AddRelease(hub.ReleaseRow{
				Skill: skill, Tenant: hub.LocalTenant, Version: "1.0.0", Status: hubapi.Active, Digest: "sp1:" + name, Format: "kazma",
				Description: "What " + name + " does", Tags: []string{"a", "b"}, CreatedAt: time.Now(), UpdatedAt: time.Now(),
			})
			if err != nil {
				return err
			}
			if err := w.SetCategory(seq, fmt.Sprint("category-", i%10)); err != nil {
				return err
			}
			if err := w.PutSearchDoc(hub.SearchDoc{Tenant: hub.LocalTenant, Release: seq, Data: []byte{}}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]hub.KazmaQuery{
		"by name":  {Sort: hub.ByName, Limit: 20},
		"category": {Sort: hub.ByName, Category: "category-3", Limit: 20},
		"search":   {Text: "skill-04", Limit: 1000},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, _, err := h.KazmaList(b.Context(), hub.LocalAdmin(), q); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
