package scan

import (
	"regexp"
	"slices"
)

// What regular expressions are given at most. A window is what is looked at
// around one literal; the next window of the same rule starts half a window on.
const (
	windowBefore = 260
	windowAfter  = 520
	windowStep   = 260
	matchBudget  = 2 << 20 // bytes for one report, and 8 for each of its bytes
	maxSpan      = 420     // of a match in prose: what is further apart does not belong together
)

// signalKind names what a match means for rules that combine several.
type signalKind string

// signal is a match that counts together with others.
type signal struct {
	kind     signalKind
	rule     string
	severity Severity // what the context left of it
	doc, at  int      // index of the document, offset in its normal text
	unit     int
	lowered  bool // the context made it count for less
}

// hit is a literal that was seen.
type hit struct {
	literal, start, end int32
}

// match runs every pattern over the units of a document.
func (s *scanner) match(d *document) {
	hits := s.hits[:0]
	unit := 0
	alone := s.set.finder.each(d.text, func(literal, start, end int) {
		d.seen.add(s.set, literal)
		for unit < len(d.units) && d.units[unit].end <= start {
			unit++
		}
		if unit == len(d.units) || d.units[unit].start > start || d.units[unit].end < end {
			return
		}
		d.units[unit].marks |= s.set.marks[literal]
		d.marks |= s.set.marks[literal]
		if s.set.rules[literal] != nil {
			hits = append(hits, hit{int32(literal), int32(start), int32(end)})
		}
	})
	s.hits, d.seen.alone = hits, alone
	for i := range d.sections {
		d.sections[i].marks = marksOf(d.sections[i].title)
	}
	if len(hits) == 0 {
		return
	}
	done := zeros(&s.done, len(s.set.patterns)) // offsets from which a pattern looks again
	whole := lacking{d.text, zeros(&s.vain, s.set.groups)}
	unit = 0
	for _, h := range hits {
		start, end := int(h.start), int(h.end)
		for d.units[unit].end <= start {
			unit++
		}
		for _, number := range s.set.rules[h.literal] {
			if end <= done[number] {
				continue
			}
			p := &s.set.patterns[number]
			u := &d.units[unit]
			if p.in&u.in == 0 {
				continue
			}
			from, to := p.window(u.start, u.end, start, end)
			a, b, ok := start-from, end-from, true
			if len(p.re) > 0 { // else the literals are all that there is
				a, b, ok = s.find(p, &whole, from, to)
			}
			if !ok {
				done[number] = p.again(to, end)
				continue
			}
			done[number] = max(from+b, end)
			s.matched(p, d, unit, from+a, from+b)
		}
	}
}

// zeros is a list of zeros in the memory of another one.
func zeros(list *[]int, n int) []int {
	*list = slices.Grow((*list)[:0], n)[:n]
	clear(*list)
	return *list
}

// window is what a pattern is given around one of its literals, within a unit.
func (p *compiled) window(from, to, start, end int) (int, int) {
	if p.starts {
		return start, min(to, end+windowAfter)
	}
	return max(from, end-windowBefore), min(to, end+windowAfter)
}

// again is the offset from which a pattern looks again when it found nothing.
func (p *compiled) again(to, end int) int {
	if p.starts {
		return 0
	}
	return min(to, end+windowStep)
}

// lacking remembers which groups of words that patterns need are nowhere in a text, so
// that they are not looked for in one window after the other.
type lacking struct {
	text string
	// in says of each group in how many bytes it was looked for in vain, or one of the
	// two below; nil remembers nothing.
	in []int
}

const (
	somewhere = -1 // in the text
	nowhere   = -2
)

// window tells whether no word of a group is in a part of the text. To look in all of the
// text pays once much of it was looked in.
func (l *lacking) window(number int, words []string, from, to int) bool {
	if l.in != nil && l.in[number] == nowhere {
		return true
	}
	if l.in != nil && l.in[number] == 0 && (to-from)*4 > len(l.text) {
		l.in[number] = somewhere
		if !containsAny(l.text, words) {
			l.in[number] = nowhere
			return true
		}
	}
	if containsAny(l.text[from:to], words) {
		return false
	}
	if l.in == nil || l.in[number] == somewhere {
		return true
	}
	if l.in[number] += to - from; l.in[number] > len(l.text)/4 {
		l.in[number] = nowhere
		if containsAny(l.text, words) {
			l.in[number] = somewhere
		}
	}
	return true
}

// find matches a pattern against a window of a text; the offsets that it gives
// are of the window.
func (s *scanner) find(p *compiled, whole *lacking, from, to int) (start, end int, ok bool) {
	text := whole.text
	window := text[from:to]
	cost := len(window)
	if p.starts {
		if from > 0 && isWord(text[from-1]) && isWord(text[from]) {
			return 0, 0, false
		}
		cost /= 8 // one place to start at
	}
	for i, group := range p.need {
		if whole.window(p.groups+i, group, max(0, from-p.back), to) {
			return 0, 0, false
		}
	}
	if s.budget -= cost; s.budget < 0 {
		s.spent = true
		return 0, 0, false
	}
	for _, re := range p.re {
		// Of several alternatives, the one that matches first counts, as in the
		// expression that they are of.
		alternatives := re()
		for i := range alternatives {
			if !alternatives[i].possible(window) {
				continue
			}
			a, b, found := p.within(alternatives[i].re(), text, from, to)
			if found && (!ok || a < start) {
				start, end, ok = a, b, true
			}
			if ok && (start == 0 || p.starts) {
				return start, end, true
			}
		}
		if ok {
			return start, end, true
		}
	}
	return 0, 0, false
}

// within looks for a match of one expression that fits the rest of the rule.
func (p *compiled) within(re *regexp.Regexp, text string, from, to int) (start, end int, ok bool) {
	window := text[from:to]
	for tries, skip := 0, 0; tries < 3; tries++ {
		at := re.FindStringIndex(window[skip:])
		if at == nil {
			return 0, 0, false
		}
		start, end = skip+at[0], skip+at[1]
		if p.fits(text, from+start, from+end) {
			return start, end, true
		}
		// Expressions have no bounds on their gaps, which would make them large
		// and slow: a match that is too wide may hold a fitting one.
		if p.starts {
			break
		}
		skip = start + 1
	}
	return 0, 0, false
}

func (p *compiled) fits(text string, start, end int) bool {
	if p.in&inCode == 0 && end-start > maxSpan {
		return false
	}
	if also := p.also(); len(also) > 0 && !matchesAny(also, text[max(0, start-p.back):end]) {
		return false
	}
	if unless := p.unless(); unless != nil && unless.MatchString(text[max(0, start-40):start]) {
		return false
	}
	return !matchesAny(p.not(), text[start:min(len(text), end+40)])
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if holdsRare(text, w, rarest(w)) {
			return true
		}
	}
	return false
}

// matched judges a match and keeps it.
func (s *scanner) matched(p *compiled, d *document, number, start, end int) {
	u := &d.units[number]
	severity, reason := s.temper(p, d, number, start, end), ""
	switch p.judge {
	case judgeHost:
		severity, reason = s.judgeHosts(p, d, u, severity, start, end)
	case judgeRegex:
		if text := d.text[u.start:u.end]; detectorPattern(text, start-u.start, end-u.start) {
			severity = Info
		}
	case judgeSecret:
		severity = s.judgeDestination(p, d, u, severity, start, end)
	case judgePackage:
		severity, reason = judgePackages(d.text[start:u.end], severity)
	case judgeNone:
	}
	if severity == "" {
		return
	}
	if p.fact != "" {
		base := p.Severity
		if base == "" {
			base = High
		}
		s.signals = append(s.signals, signal{p.fact, p.ID, severity, s.number(d), start, number, base.Rank()-severity.Rank() >= 2})
	}
	if p.Severity == "" { // a pattern that only signals
		return
	}
	s.add(d, &p.Rule, severity, d.origin(start), d.rawText(start, end), reason)
}

// number is the index of a document.
func (s *scanner) number(d *document) int {
	for i := range s.docs {
		if &s.docs[i] == d {
			return i
		}
	}
	return 0
}
