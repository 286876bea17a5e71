package pack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHiddenRunes(t *testing.T) {
	flag := func(region string) string {
		var b strings.Builder
		b.WriteRune(blackFlag)
		for _, r := range region {
			b.WriteRune(0xe0000 + r)
		}
		b.WriteRune(0xe007f)
		return b.String()
	}
	tests := []struct {
		row, name string
		in        string
		want      string
	}{
		{name: "ASCII", in: "plain\ttext\r\n"},
		{name: "languages", in: "Größe, naïve, 日本語、한국어, Ελληνικά, עברית, فارسی, हिन्दी, ไทย, € “quotes” – dash\u00a0nbsp"},
		{row: "H1", name: "tags", in: "Hello\U000E0048\U000E0069", want: "5:U+E0048 9:U+E0069"},
		{row: "H3", name: "zero width space", in: "cu\u200brl", want: "2:U+200B"},
		{row: "H4", name: "family", in: "\U0001F468\u200d\U0001F469\u200d\U0001F467"},
		{row: "H4", name: "heart on fire", in: "\u2764\ufe0f\u200d\U0001F525"},
		{row: "H4", name: "skin tone and profession", in: "\U0001F469\U0001F3FD\u200d\U0001F4BB"},
		{row: "H4", name: "rainbow flag", in: "\U0001F3F3\ufe0f\u200d\U0001F308"},
		{row: "H4", name: "keycap", in: "1\ufe0f\u20e3 #\ufe0f\u20e3"},
		{row: "H4", name: "selectors", in: "☀\ufe0f ©\ufe0f ➡\ufe0f ⌨\ufe0f ☺\ufe0e"},
		{row: "H4", name: "Arabic with RLM", in: "مرحبا (kx)\u200f، أهلا\nplain"},
		{row: "H4", name: "Persian ZWNJ", in: "می\u200cخواهم"},
		{row: "H4", name: "Hindi and Sinhala joiners", in: "क्\u200dष ශ්\u200dරී"},
		{row: "H4", name: "Khmer and Thai break marks", in: "ភាសា\u200bខ្មែរ ไทย\u200bไทย"},
		{row: "H4", name: "ideographic variant", in: "葛\U000E0100"},
		{row: "H4", name: "Scotland", in: flag("gbsct") + flag("gbeng") + flag("gbwls")},
		{name: "a flag that spells", in: flag("curl"), want: "4:U+E0063 8:U+E0075 12:U+E0072 16:U+E006C 20:U+E007F"},
		{name: "RLM in English", in: "مرحبا\nrun\u200f this", want: "14:U+200F"},
		{name: "bidi override", in: "a\u202eb\u2066c", want: "1:U+202E 5:U+2066"},
		{name: "override in Arabic", in: "مرحبا\u202e", want: "10:U+202E"},
		{name: "ZWJ between letters", in: "a\u200db", want: "1:U+200D"},
		{name: "ZWNJ between letters", in: "a\u200cb", want: "1:U+200C"},
		{name: "selector behind a letter", in: "a\ufe0f\ufe01", want: "1:U+FE0F 4:U+FE01"},
		{name: "selectors behind an emoji", in: "☺\ufe0f\ufe0f\U000E0101", want: "6:U+FE0F 9:U+E0101"},
		{name: "others", in: "a\u00adb\u2060c\ufeffd\u3164e\u115ff\u180eg\ufff9h\u034fi", want: "1:U+00AD 4:U+2060 8:U+FEFF 12:U+3164 16:U+115F 20:U+180E 24:U+FFF9 28:U+034F"},
		{name: "not UTF-8", in: "a\xff\xe2\x80b"},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.name, func(t *testing.T) {
			var got []string
			for at, r := range HiddenRunes([]byte(tt.in)) {
				got = append(got, fmt.Sprintf("%d:U+%04X", at, r))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSkillMDHidden(t *testing.T) {
	text := "---\nname: demo\ndescription: Does\u200b things.\n---\nHello\U000E0048\U000E0069\nx \u202e\n"
	in := Read("demo", skillFolder(text), Options{})
	want := "text.hidden-unicode@SKILL.md:3:18\ntext.hidden-unicode@SKILL.md:5:6\ntext.hidden-unicode@SKILL.md:6:3"
	if diff := cmp.Diff(want, said(in.Warnings)); diff != "" {
		t.Fatal(diff)
	}
	for i, part := range []string{"a zero-width character (U+200B)", "a tag character (U+E0048) that people do not see and models read, with 1 more", "a bidirectional control (U+202E)"} {
		if !strings.Contains(in.Warnings[i].Text, part) {
			t.Errorf("%q", in.Warnings[i].Text)
		}
	}
	in = Read("demo", skillFolder(skillHead+strings.Repeat("a\u200b", 100)), Options{})
	if n := len(in.Warnings); n != maxRemarks+1 || !strings.HasPrefix(in.Warnings[n-1].Text, "80 more") {
		t.Errorf("%d warnings, the last %v", n, in.Warnings[n-1])
	}
}

func TestHiddenRunesAtEveryOffset(t *testing.T) {
	for before := range 40 {
		for behind := range 20 {
			text := strings.Repeat("a", before) + "\u200b" + strings.Repeat("b", behind) + "\u2060"
			var got []int
			for at := range HiddenRunes([]byte(text)) {
				got = append(got, at)
			}
			if want := []int{before, before + 3 + behind}; !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	}
}
