package webui

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheInstallLineNamesItsHub(t *testing.T) {
	b := newSite(t, true)
	b.publish("triage", "1", "# Triage\n\nSort.\n", true)
	_, page := b.get("/skills/acme/triage")
	if want := "kx skills install acme/triage --to .claude/skills --endpoint " + b.server.URL + "</code>"; !strings.Contains(page, want) {
		t.Errorf("no %q in %s", want, page)
	}
}

func TestEndpointOfARequest(t *testing.T) {
	for _, c := range []struct {
		host   string
		secure bool
		want   string
	}{
		{"hub.example:50151", false, "http://hub.example:50151"},
		{"hub.example", true, "https://hub.example"},
		{"[::1]:50151", false, "'http://[::1]:50151'"},
		{"", false, ""},
		{"a;touch.x", false, ""},
		{"$(id)", false, ""},
		{"a'b", false, ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		if got := (&site{o: Options{Secure: c.secure}}).endpoint(r); got != c.want {
			t.Errorf("%q: %q, not %q", c.host, got, c.want)
		}
	}
}
