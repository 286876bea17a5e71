package source

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// Net is how other machines are reached. Addresses of private networks, of this
// machine and of cloud metadata are refused when they are dialled, whatever name they
// hide behind, and so is plain http. Three things lift that: AllowPrivate; a host's name in
// PrivateHosts, for its addresses in private networks; and the user having typed
// http://127.0.0.1:PORT, [::1] or localhost, which lifts it for that very host and port. The
// zero value is the network of this machine.
type Net struct {
	AllowPrivate bool
	// PrivateHosts are hosts of the user's own network, by their whole names or addresses:
	// an entry that is neither is refused. They lift nothing for this machine, for clouds'
	// metadata and for plain http.
	PrivateHosts []string
	// Recorded says that the user did not type the source, a file names it: then
	// nothing but AllowPrivate and PrivateHosts lift the refusals.
	Recorded  bool
	UserAgent string
	TLS       *tls.Config // nil: the system's authorities
	// Resolve gives the addresses of a host; nil asks the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked; nil uses the system.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const maxRedirects = 5

// web is an HTTP client for one source. It keeps the first refusal, because
// libraries between it and the caller put errors into words of their own.
type web struct {
	net   Net
	typed string // host:port that the user typed, when it means this machine
	http  *http.Client

	mu      sync.Mutex
	refusal *hubapi.Error
	left    int64 // bytes that may still be received
	limit   int64
	report  func(int64)
}

// web makes the client for a source at an address.
func (s *Sources) web(ctx context.Context, u *url.URL, limit int64, report func(int64)) (*web, error) {
	if err := s.Net.checkHosts(); err != nil {
		return nil, err
	}
	w := &web{net: s.Net, left: limit, limit: limit, report: report}
	if loopback(u.Hostname()) && !s.Net.Recorded {
		w.typed = net.JoinHostPort(u.Hostname(), portOf(u))
	}
	if u.Scheme == "http" && w.typed == "" && !s.Net.AllowPrivate {
		if _, err := w.addresses(ctx, u.Hostname(), portOf(u)); err != nil {
			return nil, err
		}
		return nil, fail(hubapi.Invalid, "url.insecure", "%s is plain http: anybody on the way can change what is read", u).
			WithHint("use https")
	}
	w.http = &http.Client{
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if err := checkRedirect(r, via); err != nil {
				return w.refuse(err)
			}
			return nil
		},
	}
	w.http.Transport = &webTransport{web: w, next: &http.Transport{
		DialContext:           w.dial,
		TLSClientConfig:       s.Net.TLS,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       10 * time.Second,
		ForceAttemptHTTP2:     true,
	}}
	return w, nil
}

func (w *web) close() { w.http.CloseIdleConnections() }

func (w *web) refuse(e *hubapi.Error) *hubapi.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refusal == nil {
		w.refusal = e
	}
	return e
}

// why gives the refusal behind an error, where there was one.
func (w *web) why(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.refusal != nil {
		return w.refusal
	}
	return err
}

// checkRedirect decides whether an answer may send us on.
func checkRedirect(r *http.Request, via []*http.Request) *hubapi.Error {
	refused := func(why string) *hubapi.Error {
		return fail(hubapi.Invalid, "url.redirect", "%s sends us on to %s, which is not followed: %s", via[0].URL.Redacted(), clip(r.URL.Redacted()), why)
	}
	switch {
	case len(via) > maxRedirects:
		return refused("it does so too often")
	case r.URL.Scheme != "https" && r.URL.Scheme != "http":
		return refused("only http and https are")
	case r.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https":
		return refused("it is plain http")
	case r.URL.User != nil:
		return refused("the address has a user in it")
	}
	if first := via[0].URL; r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
		r.Header.Del("Authorization")
		r.Header.Del("Cookie")
	}
	return nil
}

// webTransport counts what comes in, after it was unpacked.
type webTransport struct {
	*web
	next http.RoundTripper
}

func (t *webTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.net.UserAgent != "" && (r.Header.Get("User-Agent") == "" || strings.HasPrefix(r.Header.Get("User-Agent"), "go-git/")) {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", t.net.UserAgent)
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		if e, ok := errors.AsType[*hubapi.Error](err); ok {
			if r.Response != nil {
				e = fail(hubapi.Invalid, "url.redirect", "%s sends us on to %s, which is not followed: %s", r.Response.Request.URL.Redacted(), clip(r.URL.Redacted()), e.Message)
			}
			return nil, t.refuse(e)
		}
		return nil, err
	}
	resp.Body = &counted{ReadCloser: resp.Body, web: t.web}
	return resp, nil
}

// counted ends a body that is larger than what a source may be.
type counted struct {
	io.ReadCloser
	web *web
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.web.mu.Lock()
	c.web.left -= int64(n)
	over, got, report := c.web.left < 0, c.web.limit-c.web.left, c.web.report
	c.web.mu.Unlock()
	if over {
		return 0, c.web.refuse(fail(hubapi.TooLarge, "fetch.too-large", "the source sends more than %d MiB", c.web.limit>>20))
	}
	if report != nil {
		report(got)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, c.web.refuse(fail(hubapi.Unavailable, "fetch.short", "the answer ended early").WithHint("try again"))
	}
	return n, err
}

// dial connects to an address that it has checked itself, so that a name which is
// asked for twice cannot lead to another place the second time.
func (w *web) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := w.addresses(ctx, host, port)
	if err != nil {
		return nil, err
	}
	dial := w.net.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	var first error
	for _, a := range addrs {
		conn, err := dial(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// addresses are those of a host, all of them checked.
func (w *web) addresses(ctx context.Context, host, port string) ([]netip.Addr, error) {
	addrs, err := lookup(ctx, w.net, host)
	if err != nil {
		return nil, err
	}
	if w.net.AllowPrivate {
		return addrs, nil
	}
	for _, a := range addrs {
		kind := private(a)
		if kind == "" || w.typed == net.JoinHostPort(host, port) && a.Unmap().IsLoopback() || kind == privateNetwork && w.net.own(host) {
			continue
		}
		e := fail(hubapi.Forbidden, "url.private", "%s is %s: sources are not read from there", describe(host, a), kind)
		if kind == privateNetwork {
			return nil, e.WithHint("if you mean it, allow it with --allow-private, or for good with KX_PRIVATE_HOSTS=%s", host)
		}
		return nil, e.WithHint("if you mean it, allow it with --allow-private")
	}
	return addrs, nil
}

func describe(host string, a netip.Addr) string {
	if host == a.String() {
		return host
	}
	return host + " (" + a.String() + ")"
}

func lookup(ctx context.Context, n Net, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	resolve := n.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return addrs, err
}

// privateNetwork is what there is behind a router of one's own.
const privateNetwork = "a private network"

// cloudMetadata are the addresses at which a machine in a cloud learns its own keys.
const cloudMetadata = "where clouds keep their metadata"

// shut are networks beyond those that package netip knows, or within them, and what they
// are.
var shut = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this machine"},
	{netip.MustParsePrefix("100.100.100.200/32"), cloudMetadata}, // Alibaba
	{netip.MustParsePrefix("fd00:ec2::/32"), cloudMetadata},      // AWS
	{netip.MustParsePrefix("fd20:ce::/32"), cloudMetadata},       // Google
	{netip.MustParsePrefix("100.64.0.0/10"), privateNetwork},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("198.18.0.0/15"), privateNetwork},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("fec0::/10"), privateNetwork},
}

// private says what kind of address must not be reached unasked; empty for one that
// anybody may reach. Addresses that carry another one inside are judged by that.
func private(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		b := a.As16()
		switch {
		case netip.MustParsePrefix("64:ff9b::/96").Contains(a), netip.MustParsePrefix("64:ff9b:1::/48").Contains(a), netip.MustParsePrefix("::/96").Contains(a) && b[12] != 0:
			return private(netip.AddrFrom4([4]byte(b[12:])))
		case netip.MustParsePrefix("2002::/16").Contains(a):
			return private(netip.AddrFrom4([4]byte(b[2:6])))
		}
	}
	for _, s := range shut {
		if s.prefix.Contains(a) {
			return s.what
		}
	}
	switch {
	case a.IsLoopback(), a.IsUnspecified():
		return "this machine"
	case a.IsPrivate():
		return privateNetwork
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast(), a.IsInterfaceLocalMulticast():
		return "the local link, " + cloudMetadata
	case a.IsMulticast():
		return "a multicast address"
	}
	return ""
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443", "ssh": "22"}[u.Scheme]
}

// answer is what a server sent.
type answer struct {
	data   []byte
	status int
	header http.Header
}

// get asks for one document of at most limit bytes. The answer is 200, or 304 where
// an entity tag was sent along; a status that says that nothing is there gives
// NotFound.
func (w *web) get(ctx context.Context, address string, limit int64, header http.Header) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fail(hubapi.Invalid, "url.syntax", "%q is not a URL", clip(address))
	}
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := w.http.Do(r)
	if err != nil {
		return nil, w.unreachable(r.URL, err)
	}
	defer resp.Body.Close()
	where := r.URL.Redacted()
	switch {
	case resp.StatusCode == http.StatusNotModified && r.Header.Get("If-None-Match") != "":
		return &answer{status: resp.StatusCode, header: resp.Header}, nil
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return nil, fail(hubapi.NotFound, "fetch.status", "%s answers %s", where, clip(resp.Status))
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode < 300:
		return nil, fail(hubapi.Unavailable, "fetch.type", "%s answers %s, which is not the whole document", where, clip(resp.Status))
	default:
		return nil, fail(hubapi.CodeOf(resp.StatusCode), "fetch.status", "%s answers %s", where, clip(resp.Status))
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, w.unreachable(r.URL, err)
	case int64(len(data)) > limit:
		return nil, fail(hubapi.TooLarge, "fetch.too-large", "%s is larger than %d KiB", where, limit>>10)
	}
	return &answer{data: data, status: resp.StatusCode, header: resp.Header}, nil
}

// unreachable words an error of the network.
func (w *web) unreachable(u *url.URL, err error) error {
	if e := w.why(err); e != err {
		return e
	}
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // its text repeats the method and the URL
	}
	return fail(hubapi.Unavailable, "fetch.unreachable", "cannot read from %s: %v", u.Host, err)
}

func (a *answer) mediaType() string {
	t, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}
