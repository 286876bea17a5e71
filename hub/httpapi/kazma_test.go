package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
)

// F10, F11 and weaknesses 5 and 11 of the Kazma hub: its shared secret opens its write routes
// and no other; unset it opens none; it is compared as bytes.
func TestKazmaSecret(t *testing.T) {
	store, err := sqlstore.Open(t.Context(), storetest.TempDir(t), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h := hub.New(store, hub.Config{Now: time.Now})
	made, err := h.NewKey(t.Context(), hub.LocalAdmin(), hubapi.NewKey{Role: "publisher", Authors: []string{"bob"}})
	if err != nil {
		t.Fatal(err)
	}
	const secret = "geheimnis ÄÖÜ 秘密"
	ask := func(configured string, header ...string) (int, hubapi.ErrorBody, hub.Principal) {
		t.Helper()
		var seen hub.Principal
		a := Handler(h, Keys(h, KeyOptions{KazmaSecret: configured, Now: time.Now}), Options{}).(*api)
		a.mux.HandleFunc("/api/v1/test", a.route(methods{http.MethodPost: {kazma: true, legacy: true, serve: func(c *call) error {
			seen = c.p
			return nil
		}}}))
		r := httptest.NewRequest(http.MethodPost, "http://hub.example/api/v1/test", nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Add(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		var body hubapi.ErrorBody
		_ = json.Unmarshal(w.Body.Bytes(), &body)
		return w.Code, body, seen
	}
	for name, tt := range map[string]struct {
		configured string
		header     []string
		want       int
		detail     string
	}{
		"right":              {secret, []string{"X-Kazma-Secret", secret}, 200, ""},
		"right, with spaces": {secret, []string{"X-Kazma-Secret", "  " + secret + "\t"}, 200, ""},
		"wrong":              {secret, []string{"X-Kazma-Secret", "geheimnis"}, 401, "Unauthorized — provide a valid X-Kazma-Secret header"},
		"not ASCII":          {secret, []string{"X-Kazma-Secret", "\xff\xfe"}, 401, "Unauthorized — provide a valid X-Kazma-Secret header"},
		"empty":              {secret, []string{"X-Kazma-Secret", ""}, 401, "Unauthorized — provide a valid X-Kazma-Secret header"},
		"none":               {secret, nil, 401, "Unauthorized — provide a valid X-Kazma-Secret header"},
		"two":                {secret, []string{"X-Kazma-Secret", secret, "X-Kazma-Secret", "x"}, 400, ""},
		"with a key":         {secret, []string{"X-Kazma-Secret", secret, "X-API-Key", made.Token}, 400, ""},
		"a key alone":        {secret, []string{"X-API-Key", made.Token}, 200, ""},
		"unset, empty":       {"", []string{"X-Kazma-Secret", ""}, 401, "KAZMA_SECRET not configured"},
		"unset":              {"", []string{"X-Kazma-Secret", "x"}, 401, "KAZMA_SECRET not configured"},
		"blank, blank":       {"  ", []string{"X-Kazma-Secret", "  "}, 401, "KAZMA_SECRET not configured"},
		"unset, a key":       {"", []string{"X-API-Key", made.Token}, 200, ""},
	} {
		code, body, seen := ask(tt.configured, tt.header...)
		if code != tt.want || !strings.HasPrefix(body.Detail, tt.detail) {
			t.Errorf("%s: %d %+v", name, code, body)
		}
		if code == 200 && (seen.Role != hub.Publisher || seen.Tenant != hub.LocalTenant) {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}
