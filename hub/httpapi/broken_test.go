package httpapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kortecx/kx/hub/httpapi"
)

// R9: requests whose ends two readers would see in different places, and garbage, alone
// and behind a request that is whole. None of it is read as a second request.
func TestBrokenRequests(t *testing.T) {
	t.Parallel()
	s := start(t, httpapi.DevLocal())
	body := archiveOf(t, "triage", kortecx("triage", "1", "text"))
	head := "POST /api/v1/releases HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	for name, request := range map[string]string{
		"two lengths":              fmt.Sprintf("%sContent-Length: %d\r\nContent-Length: 5\r\n\r\n%s", head, len(body), body),
		"a length with a sign":     fmt.Sprintf("%sContent-Length: +%d\r\n\r\n%s", head, len(body), body),
		"a negative length":        head + "Content-Length: -1\r\n\r\n" + string(body),
		"a length of 20 digits":    head + "Content-Length: 99999999999999999999\r\n\r\n" + string(body),
		"a blank before the colon": fmt.Sprintf("%sContent-Length : %d\r\n\r\n%s", head, len(body), body),
		"a folded header":          fmt.Sprintf("%sX-A: b\r\n Content-Length: %d\r\n\r\n%s", head, len(body), body),
		"two encodings":            head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunk,
		"an unknown encoding":      head + "Transfer-Encoding: xchunked\r\n\r\n" + chunk,
		"a negative chunk":         head + "Transfer-Encoding: chunked\r\n\r\n-" + chunk,
		"a long chunk extension":   head + "Transfer-Encoding: chunked\r\n\r\n5;" + big(1<<20) + "\r\nhello\r\n0\r\n\r\n",
		"long trailers":            head + "Transfer-Encoding: chunked\r\n\r\n" + strings.TrimSuffix(chunk, "\r\n") + "X-A: " + big(1<<20) + "\r\n\r\n",
		"two hosts":                "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
		"no host":                  "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",
		"another host in the path": "GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"a NUL in a header":        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: a\x00b\r\nConnection: close\r\n\r\n",
		"a line end in the path":   "GET /health\rz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"words":                    "hello world\r\n\r\n",
		"bytes":                    "\x16\x03\x01\x02\x00\x01\x00\xfc\x03\x03" + strings.Repeat("\x00", 500),
		"HTTP/2 and bytes":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 200),
	} {
		got := s.talk(request)
		if status, _, _ := strings.Cut(strings.TrimPrefix(got, "HTTP/1.1 "), " "); strings.HasPrefix(got, "HTTP/1.1 ") && (status < "400" || status > "501" || status == "500") {
			t.Errorf("%s: %.100q", name, got)
		}
	}
	s.empty()

	whole := fmt.Sprintf("POST /api/v1/releases HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	got := s.exchange(whole+"\x00\xffGARBAGE / HTTP/1.1\r\n\r\n", false)
	if !strings.HasPrefix(got, "HTTP/1.1 201") || !strings.Contains(got, "\r\n\r\n400 Bad Request") {
		t.Errorf("garbage behind a push: %.100q", got)
	}
	inside := archiveOf(t, "other", kortecx("other", "1", "text"))
	hidden := fmt.Sprintf("POST /api/v1/releases HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(inside), inside)
	s.talk(fmt.Sprintf("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(hidden), hidden))
	if got := s.get("/api/v1/releases/-/other/1"); got.StatusCode != http.StatusNotFound {
		t.Errorf("the body of a request was read as a request: %s", got.Status)
	}
	if got := s.request(http.MethodPost, "/api/v1/releases", bytes.NewReader(body)); got.StatusCode != http.StatusOK {
		t.Errorf("the push that was whole: %s %s", got.Status, got.body)
	}
}
