package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

var errOops = errors.New("oops")

func testRollback(t *testing.T, open Opener) {
	s := opened(t, open)
	err := s.Write(t.Context(), func(w hub.Writer) error {
		if _, err := w.AddSkill(hub.SkillRow{Tenant: hub.LocalTenant, Name: "gone", Author: "acme", NextInteger: 1}); err != nil {
			return err
		}
		if err := w.PutContent(sum("gone"), []byte("gone")); err != nil {
			return err
		}
		return hubapi.Errorf(hubapi.Conflict, "no")
	})
	if e, ok := errors.AsType[*hubapi.Error](err); !ok || e.Code != hubapi.Conflict {
		t.Errorf("the error of the function came back as %v", err)
	}
	s.read(func(r hub.Reader) error {
		_, err := r.Skill(hub.LocalTenant, "gone")
		absent(t, "skill", err)
		_, err = r.Content(sum("gone"))
		absent(t, "content", err)
		return nil
	})
}

func testOwnView(t *testing.T, open Opener) {
	s := opened(t, open)
	s.write(func(w hub.Writer) error {
		id, err := w.AddSkill(hub.SkillRow{Tenant: hub.LocalTenant, Name: "triage", Author: "acme", NextInteger: 1})
		if err != nil {
			return err
		}
		got, err := w.Skill(hub.LocalTenant, "triage")
		equal(t, "id", got.ID, id)
		return err
	})
}

func testSnapshot(t *testing.T, open Opener) {
	s := opened(t, open)
	s.read(func(r hub.Reader) error {
		if _, err := r.Skill(hub.LocalTenant, "triage"); !errors.Is(err, hub.ErrNoRow) {
			t.Fatalf("before: %v", err)
		}
		s.addSkill("triage", "acme")
		_, err := r.Skill(hub.LocalTenant, "triage")
		absent(t, "what was written after the read began", err)
		return nil
	})
	s.read(func(r hub.Reader) error {
		_, err := r.Skill(hub.LocalTenant, "triage")
		return err
	})
}

func testSerial(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	const writers = 100
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			err := s.Write(context.Background(), func(w hub.Writer) error {
				got, err := w.Skill(hub.LocalTenant, "triage")
				if err != nil {
					return err
				}
				return w.SetNextInteger(skill.ID, got.NextInteger+1)
			})
			if err != nil {
				t.Error(err)
			}
			// What was acknowledged is seen by every later read.
			s.read(func(r hub.Reader) error {
				got, err := r.Skill(hub.LocalTenant, "triage")
				if got.NextInteger < 2 {
					t.Errorf("a read after an acknowledgement saw %d", got.NextInteger)
				}
				return err
			})
		})
	}
	wg.Wait()
	s.read(func(r hub.Reader) error {
		got, err := r.Skill(hub.LocalTenant, "triage")
		equal(t, "count of all writers", got.NextInteger, writers+1)
		return err
	})
}

// testMixed makes sure that a write that fails takes none of those with it that
// happen to be committed together.
func testMixed(t *testing.T, open Opener) {
	s := opened(t, open)
	const writers = 60
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			err := s.Write(context.Background(), func(w hub.Writer) error {
				row := hub.SkillRow{Tenant: hub.LocalTenant, Name: fmt.Sprintf("s%02d", i), Author: "acme", NextInteger: 1}
				if _, err := w.AddSkill(row); err != nil {
					return err
				}
				switch i % 3 {
				case 0:
					return errOops
				case 1:
					_, err := w.AddSkill(row) // the database itself refuses
					return err
				}
				return nil
			})
			if (err == nil) != (i%3 == 2) {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	s.read(func(r hub.Reader) error {
		for i := range writers {
			_, err := r.Skill(hub.LocalTenant, fmt.Sprintf("s%02d", i))
			if (err == nil) != (i%3 == 2) {
				t.Errorf("skill %d: %v", i, err)
			}
		}
		return nil
	})
}

func testPanic(t *testing.T, open Opener) {
	s := opened(t, open)
	func() {
		defer func() {
			if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "boom") {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = s.Write(t.Context(), func(w hub.Writer) error {
			if _, err := w.AddSkill(hub.SkillRow{Tenant: hub.LocalTenant, Name: "gone", Author: "acme", NextInteger: 1}); err != nil {
				return err
			}
			panic("boom")
		})
	}()
	s.addSkill("after", "acme")
	s.read(func(r hub.Reader) error {
		_, err := r.Skill(hub.LocalTenant, "gone")
		absent(t, "what a panic wrote", err)
		return nil
	})
}

func testContext(t *testing.T, open Opener) {
	s := opened(t, open)
	ctx, cancel := context.WithCancel(context.Background())
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Write(context.Background(), func(hub.Writer) error {
			close(inside)
			<-leave
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-inside
	ran := false
	wg.Go(func() {
		err := s.Write(ctx, func(hub.Writer) error {
			ran = true
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a write whose context ended: %v", err)
		}
	})
	time.Sleep(10 * time.Millisecond)
	cancel()
	time.Sleep(10 * time.Millisecond)
	close(leave)
	wg.Wait()
	s.addSkill("after", "acme")
	if ran {
		t.Error("a write ran whose caller was told that it did not")
	}
}

func testReopen(t *testing.T, open Opener) {
	first := opened(t, open)
	skill := first.addSkill("triage", "acme")
	row := first.addRelease(releaseOf(skill, "1", hubapi.Staged))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := opened(t, open)
	second.read(func(r hub.Reader) error {
		got, err := r.Release(skill.ID, "1")
		equal(t, "release", got, row)
		return err
	})
	// Sequence numbers are never used again.
	next := second.addRelease(releaseOf(skill, "2", hubapi.Staged))
	if next.Seq <= row.Seq {
		t.Errorf("sequence %d after %d", next.Seq, row.Seq)
	}
}

func testClosed(t *testing.T, open Opener) {
	s := opened(t, open)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), func(hub.Writer) error { return nil }); err == nil {
		t.Error("a closed store took a write")
	}
	for what, read := range map[string]func(context.Context, func(hub.Reader) error) error{"read": s.Read, "look": s.Look} {
		if err := read(t.Context(), func(hub.Reader) error { return nil }); err == nil {
			t.Errorf("a closed store took a %s", what)
		}
	}
}

// testLook: a look sees every write that was acknowledged before it, and gives what its
// function said.
func testLook(t *testing.T, open Opener) {
	s := opened(t, open)
	for i := range 20 {
		s.write(func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "t", CooloffDays: 1 + i}) })
		var got hub.TenantRow
		if err := s.Look(t.Context(), func(r hub.Reader) (err error) {
			got, err = r.Tenant("t")
			return err
		}); err != nil || got.CooloffDays != 1+i {
			t.Fatalf("after write %d: %+v, %v", i, got, err)
		}
	}
	if err := s.Look(t.Context(), func(r hub.Reader) error {
		_, err := r.Tenant("elsewhere")
		return err
	}); !errors.Is(err, hub.ErrNoRow) {
		t.Errorf("what is not there: %v", err)
	}
}

// testMark: every acknowledged write moves the mark, and a read does not.
func testMark(t *testing.T, open Opener) {
	s := opened(t, open)
	seen := map[int64]bool{}
	for i := range 5 {
		s.write(func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "t", CooloffDays: 1 + i}) })
		s.read(func(r hub.Reader) error {
			_, err := r.Tenant("t")
			return err
		})
		mark, _ := s.Mark()
		again, _ := s.Mark()
		if seen[mark] || again != mark {
			t.Errorf("after write %d: mark %d, then %d", i, mark, again)
		}
		seen[mark] = true
	}
}
