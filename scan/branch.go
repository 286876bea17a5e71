package scan

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"github.com/kortecx/kx/internal/sorting"
)

// branch is one alternative of an expression, with what a text must hold for it to
// match. Looking for literals costs a small part of what the expression does, and
// an alternative by itself is small enough for the fast engine of package regexp.
type branch struct {
	need   [][]string // of each group one
	source string
	re     func() *regexp.Regexp
	guard  *guard
}

// Bounds on the literals of a group: a longer list costs more than it saves, a
// shorter literal is everywhere.
const (
	maxGroup     = 40
	minLiteral   = 2
	maxGroups    = 4
	maxBranches  = 60
	maxLiteralIn = 12
)

// branches parts an expression into its alternatives.
func branches(expression string) []branch {
	var out []branch
	for _, alternative := range alternatives("", expression) {
		parsed, err := syntax.Parse(alternative, syntax.Perl)
		if err != nil { // the set of rules is tested
			panic(err)
		}
		out = append(out, branch{
			need:   required(parsed),
			source: alternative,
			guard:  &guard{},
			re:     sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(alternative) }),
		})
	}
	return out
}

// alternatives gives the branches of an alternation, also within a group and
// behind assertions that all of them begin with. It parts the source, as writing a
// parsed expression costs more than everything else.
func alternatives(prefix, expression string) []string {
	parts := topLevel(expression)
	if len(parts) > 1 && len(parts) <= maxBranches {
		var out []string
		for _, part := range parts {
			out = append(out, alternatives(prefix, part)...)
		}
		return out
	}
	if len(parts) == 1 {
		for _, assertion := range [...]string{`\b`, `\A`} {
			if rest, ok := strings.CutPrefix(expression, assertion); ok {
				return alternatives(prefix+assertion, rest)
			}
		}
		if inner, ok := strings.CutPrefix(expression, "(?:"); ok && groupEnd(expression) == len(expression) {
			return alternatives(prefix, strings.TrimSuffix(inner, ")"))
		}
	}
	return []string{prefix + "(?:" + expression + ")"}
}

// topLevel parts an expression at the bars outside of groups and classes.
func topLevel(expression string) []string {
	var out []string
	start := 0
	for i := 0; i < len(expression); {
		if expression[i] == '|' {
			out = append(out, expression[start:i])
			start = i + 1
		}
		i = next(expression, i)
	}
	return append(out, expression[start:])
}

// next is the offset behind the character, escape, class or group at an offset.
func next(expression string, i int) int {
	switch expression[i] {
	case '\\':
		return i + 2
	case '[':
		i++
		if i < len(expression) && expression[i] == '^' {
			i++
		}
		if i < len(expression) && expression[i] == ']' {
			i++
		}
		for i < len(expression) && expression[i] != ']' {
			if expression[i] == '\\' {
				i++
			}
			i++
		}
		return i + 1
	case '(':
		return i + groupEnd(expression[i:])
	}
	return i + 1
}

// groupEnd is the length of the group that an expression begins with.
func groupEnd(expression string) int {
	for i := 1; i < len(expression); i = next(expression, i) {
		if expression[i] == ')' {
			return i + 1
		}
	}
	return len(expression)
}

// required lists groups of literals, of each of which one is in every match.
func required(re *syntax.Regexp) [][]string {
	var out [][]string
	switch re.Op {
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			out = append(out, required(sub)...)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpLiteral, syntax.OpAlternate:
		if group := literalsOf(re); group != nil {
			out = append(out, group)
		}
	}
	if len(out) > maxGroups {
		// The ones that are seldom seen: with few and long literals.
		sorting.Stable(out, func(a, b []string) int { return rarity(b) - rarity(a) })
		out = out[:maxGroups]
	}
	return out
}

func rarity(group []string) int {
	shortestOne := maxLiteralIn
	for _, s := range group {
		shortestOne = min(shortestOne, len(s))
	}
	return 16*shortestOne - len(group)
}

// literalsOf gives literals of which every match has one, nil if there are none
// that would be worth looking for.
func literalsOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if s := string(re.Rune); len(s) >= minLiteral && re.Flags&syntax.FoldCase == 0 {
			return []string{s}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literalsOf(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if group := literalsOf(sub); group != nil && (best == nil || rarity(group) > rarity(best)) {
				best = group
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			group := literalsOf(sub)
			if group == nil || len(all)+len(group) > maxGroup {
				return nil
			}
			all = append(all, group...)
		}
		return all
	}
	return nil
}

// possible tells whether a text holds what a branch needs.
func (b *branch) possible(text string) bool {
	if a := b.guard.made.Load(); a != nil {
		return a.possible(text)
	}
	for _, group := range b.need {
		if !containsAny(text, group) {
			return false
		}
	}
	return !b.guard.impossible(b.source, text)
}

// matchesAny tells whether one of the branches matches somewhere in a text.
func matchesAny(list []branch, text string) bool {
	for i := range list {
		if list[i].possible(text) && list[i].re().MatchString(text) {
			return true
		}
	}
	return false
}

// lazyBranches parts an expression when it is tried for the first time. Of an
// empty one there are none.
func lazyBranches(expression string) func() []branch {
	if expression == "" {
		return func() []branch { return nil }
	}
	return sync.OnceValue(func() []branch { return branches(fragments.Replace(expression)) })
}
