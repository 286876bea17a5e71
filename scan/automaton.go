package scan

import (
	"encoding/binary"
	"regexp/syntax"
	"sort"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// automaton says in one pass that an expression matches nowhere in a text, which is
// what it is nearly always asked. Package regexp takes about a hundred nanoseconds
// a byte for that, this takes two or three.
//
// It may say that there is a match where there is none: assertions such as \b count
// as true, and what is no ASCII counts as any such character. It never says that
// there is none where there is one. So package regexp has the last word on where a
// match is, and what is found does not depend on this.
//
// Its states are made when a text first leads to them.
type automaton struct {
	prog     *syntax.Prog
	anchored bool
	classes  [256]uint8
	width    int // number of classes

	mu     sync.Mutex
	index  map[string]int
	states []state
	begin  []uint32
	seen   []uint32 // of an instruction: the last closure that it was put into
	round  uint32
}

// state is a set of instructions, and the state that a class of bytes leads to:
// 1 + its index, 0 while it is not known.
type state struct {
	insts []uint32
	match bool
	next  []uint16
}

// Classes of the bytes that are no ASCII. A byte within a character may stand for
// itself, as a text may have been cut there.
const (
	classLead   = 0
	classWithin = 1
)

// maxStates bounds the memory of one automaton to a few hundred kilobytes. One that
// would have more gives up.
const maxStates = 600

// warmUp is how many bytes an expression is given before it has an automaton: one
// that is seldom asked would not pay for making it.
const warmUp = 2 << 10

// guard is the automaton of an expression that is asked often enough.
type guard struct {
	asked atomic.Int32
	once  sync.Once
	made  atomic.Pointer[automaton]
}

// impossible tells that an expression matches nowhere in a text. False says nothing.
func (g *guard) impossible(expression, text string) bool {
	a := g.made.Load()
	if a == nil {
		if g.asked.Load() < warmUp {
			g.asked.Add(int32(len(text)))
			return false
		}
		g.once.Do(func() { g.made.Store(newAutomaton(expression)) })
		if a = g.made.Load(); a == nil { // another one makes it
			return false
		}
	}
	return !a.possible(text)
}

func newAutomaton(expression string) *automaton {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil { // the rules are tested
		panic(err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		panic(err)
	}
	a := &automaton{
		prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0,
		index: map[string]int{}, seen: make([]uint32, len(prog.Inst)),
	}
	a.classify()
	a.round++
	a.begin = a.closure(nil, uint32(prog.Start))
	a.state(a.begin)
	return a
}

// classify parts the bytes into classes that no instruction tells apart.
func (a *automaton) classify() {
	var edge [utf8.RuneSelf + 1]bool
	for i := range a.prog.Inst {
		in := &a.prog.Inst[i]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1:
			for j := 0; j < len(in.Rune); j += 2 {
				low, high := in.Rune[j], in.Rune[min(j+1, len(in.Rune)-1)]
				edge[min(low, utf8.RuneSelf)], edge[min(high+1, utf8.RuneSelf)] = true, true
			}
			if len(in.Rune) == 1 && syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
				for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
					edge[min(r, utf8.RuneSelf)], edge[min(r+1, utf8.RuneSelf)] = true, true
				}
			}
		case syntax.InstRuneAnyNotNL:
			edge['\n'], edge['\n'+1] = true, true
		}
	}
	class := classWithin
	for c := range utf8.RuneSelf {
		if c == 0 || edge[c] {
			class++
		}
		a.classes[c] = uint8(class)
	}
	for c := utf8.RuneSelf; c < 256; c++ {
		a.classes[c] = classLead
		if c < 0xc0 {
			a.classes[c] = classWithin
		}
	}
	a.width = class + 1
}

// possible tells whether the expression may match somewhere in a text.
func (a *automaton) possible(text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.states[0].match {
		return true
	}
	at := 0
	for i := range len(text) {
		c := a.classes[text[i]]
		to := a.states[at].next[c]
		if to == 0 {
			n := a.step(at, c, text[i])
			if n < 0 {
				return true
			}
			to = uint16(n + 1)
			a.states[at].next[c] = to
		}
		at = int(to) - 1
		s := &a.states[at]
		if s.match {
			return true
		}
		if len(s.insts) == 0 {
			return false // anchored, and nothing goes on
		}
	}
	return false
}

// step is the state that a byte leads to from another one, -1 if there are too many.
func (a *automaton) step(from int, class, c uint8) int {
	a.round++
	var next []uint32
	for _, pc := range a.states[from].insts {
		in := &a.prog.Inst[pc]
		if class > classWithin && in.MatchRune(rune(c)) || class <= classWithin && beyondASCII(in) {
			next = a.closure(next, in.Out)
		}
	}
	if class == classWithin {
		for _, pc := range a.states[from].insts {
			next = a.closure(next, pc)
		}
	}
	if !a.anchored {
		next = a.closure(next, uint32(a.prog.Start))
	}
	return a.state(next)
}

// beyondASCII tells whether an instruction takes a character that is no ASCII.
func beyondASCII(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	case syntax.InstRune, syntax.InstRune1:
		if len(in.Rune) == 1 && syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			return true // k and s have such a form
		}
		return len(in.Rune) > 0 && in.Rune[len(in.Rune)-1] >= utf8.RuneSelf
	}
	return false
}

// closure adds what is reached from an instruction without a byte.
func (a *automaton) closure(set []uint32, pc uint32) []uint32 {
	if a.seen[pc] == a.round {
		return set
	}
	a.seen[pc] = a.round
	in := &a.prog.Inst[pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return a.closure(a.closure(set, in.Out), in.Arg)
	case syntax.InstNop, syntax.InstCapture, syntax.InstEmptyWidth:
		return a.closure(set, in.Out)
	case syntax.InstFail:
		return set
	}
	return append(set, pc)
}

// state is the index of the state of a set, -1 if there are too many.
func (a *automaton) state(set []uint32) int {
	sort.Slice(set, func(i, j int) bool { return set[i] < set[j] })
	key := make([]byte, 0, 4*len(set))
	s := state{insts: set, next: make([]uint16, a.width)}
	for _, pc := range set {
		key = binary.LittleEndian.AppendUint32(key, pc)
		s.match = s.match || a.prog.Inst[pc].Op == syntax.InstMatch
	}
	if n, ok := a.index[string(key)]; ok {
		return n
	}
	if len(a.states) >= maxStates {
		return -1
	}
	a.states = append(a.states, s)
	a.index[string(key)] = len(a.states) - 1
	return len(a.states) - 1
}
