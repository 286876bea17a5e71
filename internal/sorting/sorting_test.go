package sorting

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type item struct{ key, place int }

func byKey(a, b item) int { return cmp.Compare(a.key, b.key) }

func TestSortsAsSlicesDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(rt, "keys")
		items := make([]item, len(keys))
		for i, key := range keys {
			items[i] = item{key, i}
		}
		sorted, stable, want := slices.Clone(items), slices.Clone(items), slices.Clone(items)
		slices.SortStableFunc(want, byKey)
		Sort(sorted, byKey)
		Stable(stable, byKey)
		if !slices.IsSortedFunc(sorted, byKey) || len(sorted) != len(items) {
			rt.Fatalf("%v", sorted)
		}
		if !slices.Equal(stable, want) {
			rt.Fatalf("%v, want %v", stable, want)
		}
	})
}
