// Package sorting sorts slices by a comparison, as slices.SortFunc does, but with one
// copy of the algorithm instead of one for every type of element: each of those costs
// the programs some 20 KB, and there are dozens.
//
// It is not for hot loops: elements are compared and swapped by way of reflection. Call
// Sort, or Stable where equals must keep their order.
package sorting

import "sort"

// Sort sorts ascending by cmp. Equals may change places.
func Sort[S ~[]E, E any](s S, cmp func(a, b E) int) {
	sort.Slice(s, func(i, j int) bool { return cmp(s[i], s[j]) < 0 })
}

// Stable is Sort that keeps the order of equals.
func Stable[S ~[]E, E any](s S, cmp func(a, b E) int) {
	sort.SliceStable(s, func(i, j int) bool { return cmp(s[i], s[j]) < 0 })
}
