package deliver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manySkills is the number that the design gives its bars for.
const manySkills = 1000

func manyRows(n int) []map[string]any {
	rows := make([]map[string]any, n)
	text := strings.Repeat("Read the message, then decide what it is about.\n", 60)
	for i := range rows {
		rows[i] = row(fmt.Sprintf("skill-%04d", i), fmt.Sprintf("# Skill %d\n\n%s", i, text))
	}
	return rows
}

// BenchmarkReconcileUnchanged is a run in which nothing happened: one conditional
// request, and a look at every folder.
func BenchmarkReconcileUnchanged(b *testing.B) {
	g := newRig(b)
	g.hub.rows, g.hub.etag = manyRows(manySkills), `"one"`
	g.sync(OwnedTarget)
	g.now = g.now.Add(time.Minute)
	g.sync(OwnedTarget)
	g.hub.asked = nil
	b.ResetTimer()
	for range b.N {
		if s := g.sync(OwnedTarget); !s.Kx.Unchanged || len(s.Installed) != manySkills {
			b.Fatal(lists(s))
		}
	}
	if len(g.hub.asked) != b.N {
		b.Fatalf("%d requests in %d runs", len(g.hub.asked), b.N)
	}
}

// BenchmarkReconcileVerified is the same, with every file hashed.
func BenchmarkReconcileVerified(b *testing.B) {
	g := newRig(b)
	g.hub.rows, g.hub.etag = manyRows(manySkills), `"one"`
	g.sync(OwnedTarget)
	b.ResetTimer()
	for range b.N {
		g.sync(OwnedTarget, func(r *Reconciler) { r.Verify = true })
	}
}

// BenchmarkReconcileCold writes everything, durably.
func BenchmarkReconcileCold(b *testing.B) {
	base := b.TempDir()
	rows := manyRows(manySkills)
	for i := range b.N {
		b.StopTimer()
		at := filepath.Join(base, fmt.Sprint(i))
		must(b, os.Mkdir(at, 0o755))
		g := rigIn(b, at)
		g.hub.rows = rows
		b.StartTimer()
		s, err := g.reconciler().Run(context.Background(), g.targets(OwnedTarget), nil)
		if err != nil || len(s.Added) != manySkills {
			b.Fatal(err, lists(s))
		}
	}
}
