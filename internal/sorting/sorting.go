// Package sorting sorts slices by a comparison, as slices.SortFunc does, but with one
// copy of the algorithm instead of one for every type of element: each of those costs
// the programs some 20 KB, and there are dozens.
//
// It is not for hot loops: an element costs two calls more. Call Sort, or Stable where
// equals must keep their order.
package sorting

import "sort"

// Sort sorts ascending by cmp. Equals may change places.
func Sort[S ~[]E, E any](s S, cmp func(a, b E) int) { sort.Sort(over(s, cmp)) }

// Stable is Sort that keeps the order of equals.
func Stable[S ~[]E, E any](s S, cmp func(a, b E) int) { sort.Stable(over(s, cmp)) }

func over[S ~[]E, E any](s S, cmp func(a, b E) int) slice {
	return slice{
		n:    len(s),
		less: func(i, j int) bool { return cmp(s[i], s[j]) < 0 },
		swap: func(i, j int) { s[i], s[j] = s[j], s[i] },
	}
}

// slice is a slice to package sort.
type slice struct {
	n    int
	less func(i, j int) bool
	swap func(i, j int)
}

func (s slice) Len() int           { return s.n }
func (s slice) Less(i, j int) bool { return s.less(i, j) }
func (s slice) Swap(i, j int)      { s.swap(i, j) }
