package storetest

import (
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

func testEmbeddings(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	first := s.addRelease(releaseOf(skill, "1", hubapi.Active)).Seq
	second := s.addRelease(releaseOf(skill, "2", hubapi.Staged)).Seq
	s.write(func(w hub.Writer) error {
		for _, put := range []struct {
			release int64
			model   string
			data    string
		}{{first, "old", "\x01old"}, {first, "m", "\x00\x01\xff"}, {second, "m", "2"}} {
			if err := w.PutEmbedding(put.release, put.model, []byte(put.data)); err != nil {
				return err
			}
		}
		return nil
	})
	s.read(func(r hub.Reader) error {
		for _, tt := range []struct {
			model    string
			releases []int64
			want     map[int64]string
		}{
			{"m", []int64{second, first, 1 << 40}, map[int64]string{first: "\x00\x01\xff", second: "2"}},
			{"m", []int64{second}, map[int64]string{second: "2"}},
			{"old", []int64{first, second}, map[int64]string{}},
			{"m", nil, map[int64]string{}},
		} {
			got := map[int64]string{}
			err := r.Embeddings(tt.model, tt.releases, func(release int64, data []byte) error {
				got[release] = string(data)
				return nil
			})
			if err != nil {
				return err
			}
			equal(t, "vectors of "+tt.model, got, tt.want)
		}
		return nil
	})
}
