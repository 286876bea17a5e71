package deliver

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkWorkspace is a lock of 1,000 skills with its folders: what a command does
// with it, without the program around it.
func BenchmarkWorkspace(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint("install/", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				prepareProject(b, dir)
				wanted := manyWanted(b, dir, n)
				b.StartTimer()
				must(b, withWorkspace(b, dir, func(_ fatal, w *Workspace) error {
					return firstFault(w.Apply(w.Plan(context.Background(), wanted)))
				}))
			}
		})
	}
	b.Run("list/1000", func(b *testing.B) {
		dir := b.TempDir()
		prepareProject(b, dir)
		must(b, withWorkspace(b, dir, func(_ fatal, w *Workspace) error {
			return firstFault(w.Apply(w.Plan(context.Background(), manyWanted(b, dir, 1000))))
		}))
		for b.Loop() {
			must(b, withWorkspace(b, dir, func(_ fatal, w *Workspace) error {
				if got := len(w.List()); got != 1000 {
					b.Fatalf("%d are listed", got)
				}
				return nil
			}))
		}
	})
}

func prepareProject(b testing.TB, dir string) {
	b.Helper()
	put(b, dir, "project/mine.txt", "mine")
}

func manyWanted(b testing.TB, dir string, n int) []Wanted {
	b.Helper()
	out := make([]Wanted, n)
	for i := range out {
		out[i] = wantSkill(b, fmt.Sprint("skill-", i), "1", Spot{Dir: filepath.Join(dir, "project", "a"), Agents: []string{"claude-code"}})
	}
	return out
}
