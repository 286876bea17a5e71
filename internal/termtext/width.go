package termtext

import "github.com/mattn/go-runewidth"

// cells measures text as terminals show it, whatever the locale says: the width of
// ambiguous characters is a guess, and narrow is the usual one.
var cells = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

// Width is how many columns a text takes that holds nothing which Escape would
// replace.
func Width(s string) int { return cells.StringWidth(s) }

// Truncate is the beginning of s that fits into n columns together with the tail,
// or s when it fits as it is.
func Truncate(s string, n int, tail string) string { return cells.Truncate(s, n, tail) }

// Fitting is the longest beginning of s that has at most n columns, and at least one
// character.
func Fitting(s string, n int) string {
	used := 0
	for i, r := range s {
		w := cells.RuneWidth(r)
		if used+w > n && i > 0 {
			return s[:i]
		}
		used += w
	}
	return s
}
