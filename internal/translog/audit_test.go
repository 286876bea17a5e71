package translog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/translog"
)

func TestAudit(t *testing.T) {
	digest := func(c string) string { return "sp1:" + strings.Repeat(c, 64) }
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	nonce := make([]byte, translog.NonceSize)
	release := func(op translog.Op, name, version, d string) translog.Entry {
		return translog.Entry{Op: op, Name: name, Version: version, Digest: digest(d), KeyID: "-", Time: at}
	}
	hidden := release(translog.Submit, translog.HiddenName(nonce, "acme/new", "1"), "1", "a")
	late, early := release(translog.Publish, "acme/x", "2", "a"), release(translog.Publish, "acme/x", "3", "b")
	late.Time, early.Time = at.Add(time.Hour), time.Unix(0, 0)
	for name, tt := range map[string]struct {
		entries []translog.Entry
		then    func(a *translog.Audit, raw [][]byte)
		want    []string
		active  map[string]string
	}{
		"the usual": {
			entries: []translog.Entry{
				hidden, release(translog.Publish, "acme/new", "1", "a"), release(translog.Publish, "acme/new", "2", "b"),
				release(translog.Publish, "acme/old", "1", "c"), release(translog.Withdraw, "acme/old", "1", "c"),
				release(translog.Quarantine, "acme/new", "1", "a"),
				{Op: translog.Revoke, Name: "acme", Version: "1", Digest: translog.None, KeyID: strings.Repeat("a", 64), Time: at},
			},
			then: func(a *translog.Audit, raw [][]byte) {
				a.Reveal(0, raw[0], nonce, "acme/new", "1")
				a.Clock(at.Add(time.Hour))
			},
			active: map[string]string{"acme/new": "2"},
		},
		"two digests": {
			entries: []translog.Entry{release(translog.Publish, "acme/x", "1", "a"), release(translog.Publish, "acme/x", "1", "b")},
			want:    []string{"log.mismatch@1"}, active: map[string]string{"acme/x": "1"},
		},
		"two digests, one of them hidden": {
			entries: []translog.Entry{hidden, release(translog.Publish, "acme/new", "1", "b")},
			then:    func(a *translog.Audit, raw [][]byte) { a.Reveal(0, raw[0], nonce, "acme/new", "1") },
			want:    []string{"log.mismatch@0"}, active: map[string]string{"acme/new": "1"},
		},
		"revealed wrongly": {
			entries: []translog.Entry{hidden},
			then: func(a *translog.Audit, raw [][]byte) {
				a.Reveal(0, raw[0], nonce, "acme/other", "1")
				a.Reveal(0, raw[0], nil, "acme/new", "1")
			},
			want: []string{"log.mismatch@0", "log.mismatch@0"}, active: map[string]string{},
		},
		"taken back, never there": {
			entries: []translog.Entry{release(translog.Withdraw, "acme/x", "1", "a")},
			want:    []string{"log.mismatch@0"}, active: map[string]string{},
		},
		"times": {
			entries: []translog.Entry{late, early},
			then:    func(a *translog.Audit, _ [][]byte) { a.Clock(time.Unix(0, 0).Add(-48 * time.Hour)) },
			want:    []string{"clock.suspect@1 warning", "clock.suspect@1 warning"}, active: map[string]string{"acme/x": "3"},
		},
		"1970 here": {
			entries: []translog.Entry{release(translog.Publish, "acme/x", "1", "a")},
			then:    func(a *translog.Audit, _ [][]byte) { a.Clock(time.Unix(0, 0)) },
			want:    []string{"clock.suspect@0 warning"}, active: map[string]string{"acme/x": "1"},
		},
		"1970 there": {
			entries: []translog.Entry{early},
			want:    []string{"clock.suspect@0 warning"}, active: map[string]string{"acme/x": "3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := translog.NewAudit()
			var raw [][]byte
			for i, e := range tt.entries {
				data, err := e.Marshal()
				if err != nil {
					t.Fatal(err)
				}
				raw = append(raw, data)
				a.Add(int64(i), data)
			}
			if tt.then != nil {
				tt.then(a, raw)
			}
			var got []string
			for _, f := range a.Findings() {
				line := fmt.Sprintf("%s@%d", f.ID, f.Index)
				if f.Warning {
					line += " warning"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff, a.Findings())
			}
			if diff := cmp.Diff(tt.active, a.Active()); diff != "" {
				t.Error(diff)
			}
		})
	}
	a := translog.NewAudit()
	for i := range 1000 {
		a.Add(int64(i), []byte("nonsense"))
	}
	if len(a.Findings()) != 100 {
		t.Errorf("%d findings are kept", len(a.Findings()))
	}
	a = translog.NewAudit()
	a.Add(3, nil)
	if f := a.Findings(); len(f) != 2 || f[0].ID != translog.IDMismatch || a.Size() != 4 {
		t.Errorf("a gap: %+v", f)
	}
	if _, ok := a.Version("acme/x", "1"); ok {
		t.Error("a version that is not there")
	}
}
