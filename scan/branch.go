package scan

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
)

// branch is one alternative of an expression, with what a text must hold for it to
// match. Looking for literals costs a small part of what the expression does, and
// an alternative by itself is small enough for the fast engine of package regexp.
type branch struct {
	need [][]string // of each group one
	re   func() *regexp.Regexp
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
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil { // the set of rules is tested
		panic(err)
	}
	var out []branch
	for _, alternative := range alternatives(parsed) {
		out = append(out, branch{
			need: required(alternative),
			re:   sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(alternative.String()) }),
		})
	}
	return out
}

// alternatives gives the branches of an alternation, also behind assertions that
// all of them begin with.
func alternatives(re *syntax.Regexp) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpAlternate:
		if len(re.Sub) <= maxBranches {
			var out []*syntax.Regexp
			for _, sub := range re.Sub {
				out = append(out, alternatives(sub)...)
			}
			return out
		}
	case syntax.OpConcat:
		last := len(re.Sub) - 1
		for _, sub := range re.Sub[:last] {
			if sub.Op != syntax.OpWordBoundary && sub.Op != syntax.OpBeginText {
				return []*syntax.Regexp{re}
			}
		}
		inner := alternatives(re.Sub[last])
		if len(inner) == 1 || len(inner) > maxBranches {
			break
		}
		var out []*syntax.Regexp
		for _, sub := range inner {
			out = append(out, &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: append(slices.Clone(re.Sub[:last]), sub)})
		}
		return out
	}
	return []*syntax.Regexp{re}
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
		slices.SortStableFunc(out, func(a, b []string) int { return rarity(b) - rarity(a) })
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
	for _, group := range b.need {
		if !containsAny(text, group) {
			return false
		}
	}
	return true
}

// lazyBranches parts an expression when it is tried for the first time.
func lazyBranches(expression string) func() []branch {
	return sync.OnceValue(func() []branch { return branches(fragments.Replace(expression)) })
}
