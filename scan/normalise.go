package scan

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normal is a text in the form that rules are matched against: compatibility
// forms, letters that look like Latin ones, case, invisible characters and HTML
// entities are gone. Lines stay lines.
type normal struct {
	text string
	// at and raw are the places where the distance between an offset of text
	// and the offset of the raw text that it came from changes.
	at, raw []int32
	// joined tells that a word goes on where none does in the raw text, by a letter that
	// looks like one of ASCII or without what nobody sees.
	joined bool
}

// origin gives the raw offset of an offset of the normal text.
func (n *normal) origin(offset int) int {
	i := sort.Search(len(n.at), func(i int) bool { return int(n.at[i]) > offset }) - 1
	if i < 0 {
		return offset
	}
	return int(n.raw[i]) + offset - int(n.at[i])
}

// normalise reads raw text of any encoding; bytes that are not UTF-8 become '?'.
func normalise(raw string) normal {
	w := normaliser{raw: raw}
	w.out.Grow(len(raw))
	for i := 0; i < len(raw); {
		n := seek(raw, i, foldByte)
		if n > i { // nothing but letters in lower case
			w.joined = w.joined || i > 0 && isWord(raw[i]) && w.endsInWord()
			w.mark(i)
			writeLower(&w.out, raw[i:n])
			i = n
			continue
		}
		switch c := raw[i]; {
		case c == '\r':
			if i+1 < len(raw) && raw[i+1] == '\n' {
				i++
				continue
			}
			w.byte(i, '\n')
			i++
		case c == '&':
			i += w.entity(i)
		default:
			i += w.rune(i)
		}
	}
	return normal{text: w.out.String(), at: w.at, raw: w.from, joined: w.joined}
}

type normaliser struct {
	raw      string
	out      strings.Builder
	at, from []int32
	delta    int
	joined   bool
}

func (w *normaliser) endsInWord() bool {
	s := w.out.String()
	return s != "" && isWord(s[len(s)-1])
}

// mark notes that what is written next comes from the raw offset from.
func (w *normaliser) mark(from int) {
	if d := from - w.out.Len(); d != w.delta {
		w.delta = d
		w.at = append(w.at, int32(w.out.Len()))
		w.from = append(w.from, int32(from))
	}
}

func (w *normaliser) byte(from int, c byte) {
	w.mark(from)
	w.out.WriteByte(c)
}

func (w *normaliser) text(from int, s string) {
	for i := range len(s) {
		w.mark(from)
		w.out.WriteByte(s[i])
	}
}

// rune writes the character at i and gives its length.
func (w *normaliser) rune(i int) int {
	r, size := utf8.DecodeRuneInString(w.raw[i:])
	switch {
	case r == utf8.RuneError && size == 1:
		w.byte(i, '?')
	case r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3, r >= 0x3041 && r <= 0x30ff:
		w.mark(i)
		w.out.WriteString(w.raw[i : i+size]) // nothing to fold in the bulk of CJK
	case unseen(r):
	default:
		w.folded(i, r)
	}
	return size
}

func (w *normaliser) folded(i int, r rune) {
	if s := lookalike(r); s != "" {
		w.text(i, s)
		return
	}
	if r >= 0x300 && r <= 0x36f { // an accent of its own
		return
	}
	for _, k := range norm.NFKC.String(string(r)) {
		if s := lookalike(k); s != "" {
			w.text(i, s)
			continue
		}
		k = unicode.ToLower(k)
		if base := norm.NFD.String(string(k)); base[0] < utf8.RuneSelf && len(base) > 1 {
			w.text(i, base[:1]) // é and the like
			continue
		}
		if unicode.IsSpace(k) {
			k = ' '
		}
		w.text(i, string(k))
	}
}

// unseen tells which characters are taken out before matching.
func unseen(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	case r < 0x200b:
		return false
	}
	return unicode.Is(unicode.Cf, r)
}

// entity writes what the HTML entity at i stands for, or the ampersand itself,
// and gives the length of what was read.
func (w *normaliser) entity(i int) int {
	s := w.raw[i:]
	end := strings.IndexByte(s[:min(len(s), 12)], ';')
	if end < 2 {
		w.byte(i, '&')
		return 1
	}
	r := entityRune(s[1:end])
	switch {
	case r == 0:
		w.byte(i, '&')
		return 1
	case r < utf8.RuneSelf:
		w.byte(i, byte(unicode.ToLower(r)))
	case !unseen(r):
		w.folded(i, r)
	}
	return end + 1
}

// entityRune decodes the inside of an entity; 0 for one that is not known.
func entityRune(name string) rune {
	if name[0] != '#' {
		switch name {
		case "lt":
			return '<'
		case "gt":
			return '>'
		case "amp":
			return '&'
		case "quot":
			return '"'
		case "apos":
			return '\''
		case "nbsp":
			return ' '
		case "sol":
			return '/'
		case "colon":
			return ':'
		case "period":
			return '.'
		case "vert":
			return '|'
		case "zwnj", "zwj", "shy":
			return 0xad
		}
		return 0
	}
	base, digits := rune(10), name[1:]
	if len(digits) > 1 && (digits[0] == 'x' || digits[0] == 'X') {
		base, digits = 16, digits[1:]
	}
	var v rune
	for i := range len(digits) {
		d := hexDigit(digits[i])
		if d < 0 || rune(d) >= base || v > unicode.MaxRune {
			return 0
		}
		v = v*base + rune(d)
	}
	if v < ' ' || v > unicode.MaxRune {
		return 0
	}
	return v
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// lookalike gives the Latin letters or the ASCII sign that a character is taken
// for by eye, or "". Case is folded with it: capitals of other scripts often look
// like Latin capitals where their small letters do not.
func lookalike(r rune) string {
	switch {
	case r < 0xa0:
		return ""
	case r < 0x370:
		return latinLookalike(r)
	case r < 0x400:
		return pick(r, "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαοντρικυχϲϳε", "abezhikmnoptyxaovtpikuxcje")
	case r < 0x530:
		return pick(r, "АВЕЅІЈКМНОРСТУХЪаесорхуіјѕһԁԛԝӏқкмтвн", "abesijkmhopctyxbaecopxyijshdqwlkkmtbh")
	case r < 0x590:
		return pick(r, "օսհոցզքՕՍ", "ouhngqpou")
	case r >= 0x13a0 && r < 0x1400:
		return pick(r, "ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃ", "abcdeghijklmprstvwz")
	case r >= 0x1d00 && r < 0x1d30:
		return pick(r, "ᴀʙᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢ", "abcdejkmoptuvwz")
	case r >= 0x2010 && r <= 0x206f:
		return punctuation(r)
	}
	switch r {
	case 0x2215:
		return "/"
	case 0x2212:
		return "-"
	case 0x2223:
		return "|"
	case 0x3002:
		return "."
	case 0xa4f2:
		return "i"
	case 0xa4d0:
		return "b"
	}
	return ""
}

func latinLookalike(r rune) string {
	switch r {
	case 0xa0:
		return " "
	case 0xab, 0xbb:
		return `"`
	case 0xb4:
		return "'"
	case 0xad:
		return ""
	}
	return pick(r, "ıƒɑɡɩɪʀʏʜʟɴ", "ifagiiryhln")
}

func punctuation(r rune) string {
	switch {
	case r <= 0x2015:
		return "-"
	case r >= 0x2018 && r <= 0x201b, r == 0x2032:
		return "'"
	case r >= 0x201c && r <= 0x201f, r == 0x2033:
		return `"`
	case r == 0x2044:
		return "/"
	case r == 0x202f, r == 0x205f:
		return " "
	}
	return ""
}

// pick gives the ASCII letter at the place that r has among from.
func pick(r rune, from, to string) string {
	n := 0
	for _, f := range from {
		if f == r {
			return to[n : n+1]
		}
		n++
	}
	return ""
}
