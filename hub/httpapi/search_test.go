package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/timetest"
)

// F16: whatever a query holds, it is text.
func TestSearchTakesAnyText(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	seed(t, s, 20)
	for _, q := range []string{
		strings.Repeat("*", 10<<10), strings.Repeat(`"`, 10<<10), strings.Repeat("%", 10<<10), strings.Repeat("\x00", 10<<10),
		strings.Repeat("a", 10<<10), strings.Repeat("NEAR(a b) ", 1000), strings.Repeat("a* OR ", 1500), strings.Repeat("ﷺ", 3000),
		strings.Repeat("\u0301", 5000), strings.Repeat("翻", 3000), "name:*", `"unbalanced`, "(", "a AND NOT b", "'; DROP TABLE releases; --",
		"\u202e\u2066x", strings.Repeat("a b c d e f g h i j k l m ", 400),
	} {
		begun := time.Now()
		// Not over the wire, where a request line of that length is refused before.
		r := httptest.NewRequest(http.MethodGet, "/api/v1/search?q="+url.QueryEscape(q), nil)
		r.Host = "127.0.0.1"
		a := s.inProcess(r)
		if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusBadRequest {
			t.Errorf("%.20q: %s %s", q, a.Status, a.body)
		}
		if took := time.Since(begun); took > timetest.Limit(time.Second) { // 100 ms on a machine that is not busy
			t.Errorf("%.20q took %v", q, took)
		}
	}
	for _, q := range []string{strings.Repeat("x", 16<<10+1), "\xff"} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/search?q="+url.QueryEscape(q), nil)
		r.Host = "127.0.0.1"
		if a := s.inProcess(r); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%.20q: %s", q, a.Status)
		}
	}
}

func TestSearchParametersAreStrict(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	seed(t, s, 3)
	for _, query := range []string{
		"tags=mail", "tag=", "tag=mail,", "tag=,mail", "tag=mail&tag=x", "capability=", "author=", "format=", "format=zip",
		"status=", "status=fine", "cursor=", "cursor=AAAA", "limit=x", "limit=-1", "q=a&q=b", "tag=%ff",
		"tag=" + strings.Repeat("a,", 20) + "a",
	} {
		if a := s.get("/api/v1/search?" + query); a.StatusCode != http.StatusBadRequest || a.refusal(t).Code != hubapi.Invalid {
			t.Errorf("%s: %s", query, a.Status)
		}
	}
	for name, tt := range map[string]struct {
		q    string
		o    hubclient.SearchOptions
		want int
	}{
		"all":            {"", hubclient.SearchOptions{}, 3},
		"a tag":          {"", hubclient.SearchOptions{Tags: []string{"MAIL"}}, 3},
		"two tags":       {"", hubclient.SearchOptions{Tags: []string{"mail", "x"}}, 0},
		"a wished tool":  {"sorting", hubclient.SearchOptions{Capabilities: []string{"gmail/read"}}, 3},
		"another author": {"", hubclient.SearchOptions{Author: "acme"}, 0},
		"a format":       {"", hubclient.SearchOptions{Format: "kortecx"}, 3},
		"everything at once": {"pack 2", hubclient.SearchOptions{
			Tags: []string{"mail"}, Capabilities: []string{"gmail/read"}, Author: hub.LocalAuthor, Format: "kortecx", Status: hubapi.Active,
		}, 1},
		"what waits": {"", hubclient.SearchOptions{Status: hubapi.Staged}, 0},
	} {
		out, err := s.client.Search(t.Context(), tt.q, tt.o)
		if err != nil || out.Total != tt.want || len(out.Items) != tt.want {
			t.Errorf("%s: %d of %d, %v", name, len(out.Items), out.Total, err)
		}
	}
	first, err := s.client.Search(t.Context(), "mail", hubclient.SearchOptions{Limit: 2})
	if err != nil || first.NextCursor == "" || len(first.Items[0].Matches) == 0 || first.Items[0].Matches[0].Kind != hubapi.MatchExact {
		t.Fatalf("a page: %+v, %v", first, err)
	}
	rest, err := s.client.Search(t.Context(), "mail", hubclient.SearchOptions{Limit: 2, Cursor: first.NextCursor})
	if err != nil || len(rest.Items) != 1 || rest.NextCursor != "" {
		t.Errorf("the rest: %+v, %v", rest, err)
	}
	if _, err := s.client.Search(t.Context(), "mai", hubclient.SearchOptions{Cursor: first.NextCursor}); hubapi.AsError(err).Code != hubapi.Invalid {
		t.Errorf("a cursor of another search: %v", err)
	}
}
