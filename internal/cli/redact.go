package cli

import (
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// What the text of a key begins with, or has in its first line.
var keyMarks = [...]string{"-----BEGIN", "PRIVATE KEY", "AGE-SECRET-KEY-"}

// keyInArguments refuses a private key on the command line, where other users of the
// machine see it and the shell keeps it.
func (a *app) keyInArguments() error {
	for _, arg := range a.Args[min(1, len(a.Args)):] {
		if strings.Contains(arg, "-----BEGIN") && strings.Contains(arg, "PRIVATE KEY") || strings.Contains(arg, "AGE-SECRET-KEY-") {
			return usagef("an argument holds the text of a private key; others can see a command line").
				WithHint("keep the key in a file: %s keys import NAME FILE, then --key NAME", a.program)
		}
	}
	return nil
}

// withoutKeys takes the text of keys out of an error: a message may quote a part of
// an argument.
func (a *app) withoutKeys(e *hubapi.Error) *hubapi.Error {
	if !slices.ContainsFunc(a.Args, hasKeyMark) {
		return e
	}
	clean := *e
	clean.Message, clean.Hint = withoutKey(e.Message), withoutKey(e.Hint)
	clean.Details = slices.Clone(e.Details)
	for i := range clean.Details {
		clean.Details[i].Message = withoutKey(clean.Details[i].Message)
	}
	return &clean
}

func hasKeyMark(s string) bool {
	return slices.ContainsFunc(keyMarks[:], func(mark string) bool { return strings.Contains(s, mark) })
}

// withoutKey cuts a text where a key begins in it.
func withoutKey(s string) string {
	for _, mark := range append(keyMarks[:], "BEGIN ") { // a message may have lost the dashes
		if at := strings.Index(s, mark); at >= 0 {
			s = s[:at] + "(a key, not shown)"
		}
	}
	return s
}
