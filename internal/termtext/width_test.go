package termtext

import "testing"

func TestWidthAndFitting(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		in    int
		fits  string
	}{
		{"", 0, 3, ""},
		{"abc", 3, 2, "ab"},
		{"日本語", 6, 5, "日本"},
		{"日本語", 6, 1, "日"}, // one character at least, or nobody would come to an end
		{"مرحبا", 5, 3, "مرح"},
		{"e\u0301te", 3, 1, "e\u0301"},
		{"👩‍👧x", 3, 4, "👩‍👧"},
		{"…─", 2, 1, "…"},
	} {
		if got := Width(tc.text); got != tc.width {
			t.Errorf("Width(%q) = %d, want %d", tc.text, got, tc.width)
		}
		if got := Fitting(tc.text, tc.in); got != tc.fits {
			t.Errorf("Fitting(%q, %d) = %q, want %q", tc.text, tc.in, got, tc.fits)
		}
	}
	if got := Truncate("日本語です", 5, "…"); got != "日本…" {
		t.Errorf("Truncate gave %q", got)
	}
}
