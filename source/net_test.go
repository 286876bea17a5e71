package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/timetest"
)

// pretend is a network in which names have the addresses that the test gives them and
// every address leads to one server.
func pretend(t *testing.T, server *httptest.Server, names map[string][]string) Net {
	t.Helper()
	return Net{
		TLS: server.Client().Transport.(*http.Transport).TLSClientConfig,
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			list, ok := names[host]
			if !ok {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			var out []netip.Addr
			for _, a := range list {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
}

// quietTLS is a server that does not log what its clients break off.
func quietTLS(h http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	return server
}

// E8: the address that is dialled counts, however it is written or found.
func TestPrivateAddressesAreRefusedHoweverTheyAreWritten(t *testing.T) {
	server := quietTLS(http.NotFoundHandler())
	defer server.Close()
	n := pretend(t, server, map[string][]string{
		"localhost.": {"127.0.0.1"}, "inside.example": {"10.0.0.1"}, "half.example": {"192.0.2.1", "10.0.0.1"}, "v6.example": {"fd00::1"},
		"mapped.example": {"::ffff:127.0.0.1"}, "nat.example": {"64:ff9b::7f00:1"}, "six.example": {"2002:7f00:1::"}, "shared.example": {"100.64.0.1"}, "zero.example": {"0.0.0.0"},
		"aws.example": {"fd00:ec2::254"}, "google.example": {"fd20:ce::254"}, "alibaba.example": {"100.100.100.200"},
	})
	for _, text := range []string{
		"http://169.254.169.254/", "https://169.254.169.254/latest", "http://[::ffff:127.0.0.1]/", "http://0/", "http://2130706433/", "http://0x7f000001/", "http://127.1/",
		"http://localhost./", "https://inside.example", "https://half.example/x.zip", "https://v6.example/a.git", "https://mapped.example", "https://nat.example",
		"https://six.example", "https://shared.example", "https://zero.example", "https://[fe80::1]/", "https://192.168.1.1:8443/x.git",
		"ssh://git@10.0.0.1/x.git", "git@inside.example:x/y",
	} {
		ref, err := Parse(text, ParseOptions{})
		if err == nil {
			_, err = (&Sources{Net: n}).Fetch(t.Context(), ref)
		}
		if refusal(err) != "url.private" {
			t.Errorf("%s: %v, want url.private", text, err)
		}
	}
	n.AllowPrivate = true
	_, err := (&Sources{Net: n}).Fetch(t.Context(), parse(t, "https://inside.example/x.zip"))
	if id := refusal(err); id == "url.private" || id == "" {
		t.Errorf("allowed: %v", err)
	}
	n.AllowPrivate = false
	// A host of one's own network is that very host, and only while it is in it.
	n.PrivateHosts = []string{"Inside.example", "v6.example.", "10.0.0.1", "mapped.example", "nat.example", "zero.example", "169.254.169.254", "localhost.", "aws.example", "google.example", "alibaba.example"}
	for text, want := range map[string]string{
		"https://inside.example/x.zip": "", "https://v6.example/x.zip": "", "https://INSIDE.example./x.zip": "", "https://10.0.0.1/x.zip": "",
		"https://half.example/x.zip": "url.private", "https://sub.inside.example/x.zip": "fetch.unreachable", "https://shared.example/x.zip": "url.private",
		"https://mapped.example/x.zip": "url.private", "https://nat.example/x.zip": "url.private", "https://zero.example/x.zip": "url.private",
		"https://169.254.169.254/x.zip": "url.private", "https://localhost./x.zip": "url.private",
		// Not all of the metadata of clouds is on the local link.
		"https://aws.example/x.zip": "url.private", "https://google.example/x.zip": "url.private", "https://alibaba.example/x.zip": "url.private", "http://inside.example/x.zip": "url.insecure",
	} {
		_, err := (&Sources{Net: n}).Fetch(t.Context(), parse(t, text))
		if id := refusal(err); want != "" && id != want || want == "" && id == "url.private" || err == nil {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	n.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	}
	_, err = (&Sources{Net: n}).Fetch(t.Context(), parse(t, "http://plain.example/x.zip"))
	refused(t, err, "url.insecure")
}

// E10: a name whose answer changes between the check and the connection.
func TestTheAddressThatWasCheckedIsDialled(t *testing.T) {
	server := quietTLS(http.NotFoundHandler())
	defer server.Close()
	asked := 0
	var dialled []string
	n := pretend(t, server, nil)
	n.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		asked++
		if asked > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	}
	dial := n.Dial
	n.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return dial(ctx, network, address)
	}
	_, _ = (&Sources{Net: n}).Fetch(t.Context(), parse(t, "https://example.com/x.zip"))
	if len(dialled) != 1 || dialled[0] != "192.0.2.1:443" {
		t.Errorf("dialled %q after %d questions", dialled, asked)
	}
}

// E9: a redirect is another address, and credentials do not go there.
func TestRedirectsAreCheckedAgain(t *testing.T) {
	var mu sync.Mutex
	to, auth := "", []string{}
	server := quietTLS(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		auth = append(auth, r.Host+" "+r.Header.Get("Authorization"))
		if r.Host == "example.com" && r.URL.Path != "/here.zip" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = w.Write(zipped(t, member{"a/SKILL.md", skill("a")}))
	}))
	defer server.Close()
	n := pretend(t, server, map[string][]string{"example.com": {"192.0.2.1"}, "www.example.com": {"192.0.2.1"}, "cdn.example.com": {"192.0.2.2"}, "inside.example": {"127.0.0.1"}})
	for _, target := range []string{
		"http://127.0.0.1:1/x.zip", "https://127.0.0.1:1/x.zip", "https://inside.example/x.zip", "file:///etc/passwd", "http://other.example/x.zip",
		"https://user@other.example/x.zip", "https://example.com/again.zip", "gopher://x/",
	} {
		mu.Lock()
		to = target
		mu.Unlock()
		_, err := (&Sources{Net: n}).Fetch(t.Context(), parse(t, "https://example.com/x.zip"))
		if refusal(err) != "url.redirect" {
			t.Errorf("to %s: %v, want url.redirect", target, err)
		}
	}
	to = "https://cdn.example.com/x.zip"
	if got := fetch(t, &Sources{Net: n}, "https://example.com/x.zip"); len(got.Found) != 1 {
		t.Errorf("a redirect to another public host: %+v", got)
	}

	// Credentials stay with the origin, and a subdomain is another one.
	auth = nil
	to = "https://www.example.com/x.zip"
	w, err := (&Sources{Net: n}).web(t.Context(), mustURL(t, "https://example.com"), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if _, err := w.get(t.Context(), "https://example.com/x.zip", 1<<20, http.Header{"Authorization": {"Bearer s3cret"}}); err != nil {
		t.Fatal(err)
	}
	if len(auth) != 2 || auth[0] != "example.com Bearer s3cret" || auth[1] != "www.example.com " {
		t.Errorf("the servers saw %q", auth)
	}
}

// E14, E15 and E16: what is no document, not all of it, or too much of it.
func TestAnswersThatAreNotTheWholeDocument(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 4<<20))
	_ = z.Close()
	release := make(chan struct{})
	server := quietTLS(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page.zip":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<html>sign in</html>"))
		case "/part.zip":
			w.WriteHeader(http.StatusPartialContent)
		case "/short.zip":
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write([]byte("PK"))
		case "/slow.zip":
			for i := 0; ; i++ {
				select {
				case <-r.Context().Done():
					return
				case <-release:
					return
				case <-time.After(20 * time.Millisecond):
					_, _ = w.Write([]byte("x"))
					_ = http.NewResponseController(w).Flush()
				}
			}
		case "/bomb.zip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/endless.zip":
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/page.git/info/refs":
			_, _ = w.Write([]byte("<html>sign in</html>"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	defer close(release)
	n := pretend(t, server, map[string][]string{"example.com": {"192.0.2.1"}})
	for path, id := range map[string]string{
		"page.zip": "fetch.type", "part.zip": "fetch.type", "short.zip": "fetch.short", "slow.zip": "fetch.timeout", "bomb.zip": "fetch.too-large",
		"endless.zip": "fetch.too-large", "gone.zip": "fetch.status", "page.git": "fetch.type", "": "source.not-found", "none.git": "source.not-found",
	} {
		s := &Sources{Net: n, Limits: Limits{Packed: 1 << 20, Timeout: timetest.Limit(2 * time.Second)}}
		if path == "slow.zip" {
			s.Limits.Timeout = 150 * time.Millisecond
		}
		_, err := s.Fetch(t.Context(), parse(t, "https://example.com/"+path))
		if refusal(err) != id || strings.Count(err.Error(), "example.com") != 1 {
			t.Errorf("%s: %v, want %s", path, err, id)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&Sources{Net: n}).Fetch(ctx, parse(t, "https://example.com/x.zip"))
	if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("given up: %v", err)
	}
}

// An entry that no host is called opened nothing, and nobody was told.
func TestPrivateHostsAreHosts(t *testing.T) {
	for entry, why := range map[string]string{
		"inside.example": "", "Inside.example.": "", "my_host": "", "10.0.0.1": "", "fd00::1": "", "FD00:0:0::1": "",
		"inside.example:8443": "it has a port", "10.0.0.1:443": "it has a port", "[fd00::1]:443": "it has a port",
		"https://inside.example": "it is a URL", "*.example": "it stands for several", ".example": "it stands for several",
		"10.0.0.0/8": "it has a slash", "inside.example/x": "it has a slash", "[fd00::1]": "no brackets",
		"inside example": "not a name", "me@inside.example": "not a name", "bücher.example": "its real name is", "0x7f000001": "another spelling of an address", "": "not a name",
	} {
		n := Net{PrivateHosts: []string{"other.example", entry}, Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, nil }}
		texts := []string{"https://example.com/x.zip"}
		if why != "" { // else git would be asked to connect
			texts = append(texts, "git@example.com:x/y")
		}
		for _, text := range texts {
			_, err := (&Sources{Net: n}).Fetch(t.Context(), parse(t, text))
			e, ok := errors.AsType[*hubapi.Error](err)
			refused := ok && strings.Contains(e.Message, "KX_PRIVATE_HOSTS")
			if refused != (why != "") || refused && (e.Code != hubapi.Usage || !strings.Contains(e.Message, strconv.Quote(entry)) || !strings.Contains(e.Message, why)) {
				t.Errorf("%q, %s: %v, want %q", entry, text, err, why)
			}
		}
	}
	if n := (Net{PrivateHosts: []string{"FD00:0:0::1"}}); !n.own("fd00::1") || n.own("fd00::2") {
		t.Error("an address in another spelling is another host")
	}
}
