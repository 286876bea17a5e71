// Package hubclient talks to a hub over HTTP. It trusts a hub no further than it
// must: answers are bounded, redirects refused, the key goes to the one endpoint
// only, and what an archive holds is hashed again before it is handed out.
//
// It knows nothing of how a hub works inside; for the hub in one's own process the
// caller gives a Transport that calls its handler.
//
// Call New. Every error is a *hubapi.Error, that of the hub where it gave one.
package hubclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/translog"
)

// Limits on answers in bytes, unpacked, and on the whole of one call. What is as large
// as an archive may take longer, and what one's own hub does may be a lot of work.
const (
	maxDetail      = 1 << 20 // what is about one thing
	maxList        = 4 << 20 // pages of lists, and differences
	maxRefusal     = 64 << 10
	maxContents    = 64 << 20 // an inbox with the contents of 200 releases
	maxTile        = 256 * (2 + translog.MaxEntry)
	maxPacked      = hubapi.MaxArchive
	defaultTimeout = 30 * time.Second
	longer         = 4 // times
)

// Config says which hub, and who is calling.
type Config struct {
	Endpoint  string // base URL, such as http://127.0.0.1:50151
	Token     string // empty: none is sent
	UserAgent string
	// Transport carries the requests; nil means a plain one that heeds no proxy.
	Transport http.RoundTripper
	// TLS is for the transport that is used when Transport is nil.
	TLS *tls.Config
	// Timeout is for one call with all its attempts; 0 means 30 seconds. Archives, what
	// is as large as one, and one's own hub have four times as long.
	Timeout time.Duration
	// Memory keeps what was seen of the hub's log; nil keeps nothing.
	Memory *LogMemory
	// Slow is told the hub's address once, when a call takes longer than a second; it
	// may run beside everything else.
	Slow func(hub string)
	// Own says that the hub is the user's own, whichever way it is reached.
	Own bool
	// Prefix is the path of the API below the endpoint; empty means /api/v1.
	Prefix string
	// APIKey sends the token as X-API-Key, as hubs of others want it.
	APIKey bool
}

// Client is one hub as one caller sees it. It is safe for concurrent use.
type Client struct {
	base     *url.URL
	token    string
	agent    string
	timeout  time.Duration
	http     *http.Client
	archives hubapi.Archiver
	memory   *LogMemory
	own      bool
	prefix   string // with a slash at both ends
	apiKey   bool
	slow     func() // once
}

// slowAfter is when people begin to ask themselves whether anything happens.
const slowAfter = time.Second

// New makes a client. It does not connect.
func New(c Config) (*Client, error) {
	base, err := url.Parse(c.Endpoint)
	switch {
	case err != nil && lacksScheme(c.Endpoint):
		return nil, usage("the endpoint %q does not say http:// or https://", c.Endpoint).WithHint("write http://%s", c.Endpoint)
	case err != nil:
		return nil, usage("the endpoint is not a URL")
	case base.Scheme != "http" && base.Scheme != "https" && lacksScheme(c.Endpoint):
		return nil, usage("the endpoint %q does not say http:// or https://", c.Endpoint).WithHint("write http://%s", c.Endpoint)
	case base.User != nil:
		return nil, usage("the endpoint must not hold a user or password").With(hubapi.Detail{ID: "url.userinfo", Message: "user or password in a URL"})
	case (base.Scheme != "http" && base.Scheme != "https" || base.Host == "") && strings.Contains(c.Endpoint, "@"):
		return nil, usage("the endpoint is not a URL with http:// or https:// and a host") // a password may be in it
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, usage("the endpoint %q is not a URL with http:// or https:// and a host", c.Endpoint)
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, usage("the endpoint %q must not have a query or a fragment", c.Endpoint)
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r < ' ' || r >= 0x7f }):
		return nil, usage("the token has characters that no token has: it is printable ASCII").
			WithHint("copy it again; a line break in it is a common mistake")
	}
	prefix := "/api/v1/"
	if given := strings.Trim(c.Prefix, "/"); given != "" {
		prefix = "/" + given + "/"
	}
	if strings.ContainsFunc(prefix, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`%?#\\"<>`, r) }) || strings.Contains(prefix, "//") || strings.Contains(prefix+"/", "/../") {
		return nil, usage("the path %q cannot be where an API is", c.Prefix)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = ""
	transport := c.Transport
	if transport == nil {
		transport = &http.Transport{
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSClientConfig:       c.TLS,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: time.Minute,
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       30 * time.Second,
			ForceAttemptHTTP2:     true,
		}
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	memory := c.Memory
	if memory != nil && memory.Name == "" {
		memory = &LogMemory{Dir: memory.Dir, Name: memoryName(base.Host, base.Path)}
	}
	slow := func() {}
	if c.Slow != nil {
		slow = sync.OnceFunc(func() { c.Slow(base.Redacted()) })
	}
	return &Client{
		slow: slow, memory: memory, own: c.Own, prefix: prefix, apiKey: c.APIKey,
		base: base, token: c.Token, agent: c.UserAgent, timeout: timeout,
		archives: hubapi.Archiver{AnyRatio: true},
		http: &http.Client{
			Transport: transport,
			CheckRedirect: func(r *http.Request, _ []*http.Request) error {
				return fetchError(hubapi.Internal, "fetch.redirect", "the hub sends the request on to %s, which is not followed", r.URL.Redacted()).
					WithHint("give the hub's own address as the endpoint")
			},
		},
	}, nil
}

// lacksScheme tells whether endpoint would be a URL with http:// in front. What has
// a user in it is not repeated in a message.
func lacksScheme(endpoint string) bool {
	if strings.Contains(endpoint, "://") || strings.Contains(endpoint, "@") {
		return false
	}
	u, err := url.Parse("http://" + endpoint)
	return err == nil && u.Hostname() != "" && (u.Port() != "" || strings.Contains(u.Hostname(), ".") || u.Hostname() == "localhost")
}

func usage(format string, args ...any) *hubapi.Error {
	return hubapi.Errorf(hubapi.Usage, format, args...)
}

func fetchError(c hubapi.Code, id, format string, args ...any) *hubapi.Error {
	e := hubapi.Errorf(c, format, args...)
	return e.With(hubapi.Detail{ID: id, Message: e.Message})
}

// request is one call of the API.
type request struct {
	method string
	path   []string // segments below the API's prefix, not escaped
	top    bool     // path is not below it
	query  url.Values
	body   []byte
	kind   string // media type of body
	accept string // media type of the answer; empty means JSON
	secret string // shown as X-Kazma-Secret in place of the token
	limit  int    // bytes of the answer; 0 means maxDetail
}

// do makes the call and gives the bytes of the answer, within the client's time.
func (c *Client) do(ctx context.Context, q request) ([]byte, error) {
	timeout := c.timeout
	if c.own || q.limit > maxList || len(q.body) > maxDetail {
		timeout *= longer
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer time.AfterFunc(slowAfter, c.slow).Stop()
	data, err := c.exchange(ctx, q)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, c.tooSlow(timeout)
	case ctx.Err() != nil:
		return nil, hubapi.Errorf(hubapi.Interrupted, "interrupted")
	}
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return nil, e
	}
	return nil, c.unreachable(err)
}

func (c *Client) tooSlow(after time.Duration) error {
	return fetchError(hubapi.Timeout, "fetch.timeout", "the hub at %s did not answer in time: it had %s", c.base.Redacted(), after).
		WithHint("try again; KX_HUB_TIMEOUT gives it longer")
}

func (c *Client) unreachable(err error) error {
	// The text of url.Error repeats the method and the whole URL.
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && !isDial(err) {
		return fetchError(hubapi.Timeout, "fetch.timeout", "the hub at %s did not answer in time: %v", c.base.Redacted(), err)
	}
	if hint := c.tlsHint(err); hint != "" {
		return fetchError(hubapi.Unavailable, "fetch.tls", "cannot talk to the hub at %s: %v", c.base.Redacted(), err).WithHint("%s", hint)
	}
	e := hubapi.Errorf(hubapi.Unavailable, "cannot reach the hub at %s: %v", c.base.Redacted(), err)
	if host := c.base.Hostname(); host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return e.WithHint("is this its address, and does it run?")
	}
	return e.WithHint("start one with: kx serve --dev-allow-local")
}

func (c *Client) exchange(ctx context.Context, q request) ([]byte, error) {
	r, err := c.newRequest(ctx, q)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(r)
	if err != nil {
		return nil, err
	}
	done := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated
	limit := q.limit
	switch {
	case !done:
		limit = maxRefusal
	case limit == 0:
		limit = maxDetail
	}
	data, err := c.read(resp, limit)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && !done && e.ID() == "fetch.too-large" {
		data, err = nil, nil // the status says enough
	}
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, c.refusal(resp, data)
	}
	want := q.accept
	if want == "" {
		want = typeJSON
	}
	if got := mediaType(resp); got != want {
		return nil, fetchError(hubapi.Internal, "fetch.type", "the server at %s answers %s with %q where a hub answers with %q", c.base.Redacted(), asked(resp), got, want).
			WithHint("is this the address of a kx hub?")
	}
	return data, nil
}

const (
	typeJSON = "application/json"
	typeGzip = "application/gzip"
)

func (c *Client) newRequest(ctx context.Context, q request) (*http.Request, error) {
	u := *c.base
	segments := make([]string, len(q.path))
	for i, s := range q.path {
		segments[i] = url.PathEscape(s)
	}
	below := c.prefix
	if q.top {
		below = "/"
	}
	u.Path += below + strings.Join(q.path, "/")
	u.RawPath = c.base.EscapedPath() + below + strings.Join(segments, "/")
	u.RawQuery = q.query.Encode()
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if q.kind != "" {
		r.Header.Set("Content-Type", q.kind)
	}
	if c.agent != "" {
		r.Header.Set("User-Agent", c.agent)
	}
	switch {
	case q.secret != "":
		r.Header.Set("X-Kazma-Secret", q.secret)
	case c.token != "" && c.apiKey:
		r.Header.Set("X-API-Key", c.token)
	case c.token != "":
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// send retries while there is nobody to talk to: a server that is being started.
// The request has not been sent then, so it may be sent again.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	const attempts = 1 + 6
	wait := 25 * time.Millisecond
	for attempt := 1; ; attempt++ {
		resp, err := c.http.Do(r)
		if err == nil || attempt == attempts || !notConnected(err) {
			return resp, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-r.Context().Done():
			timer.Stop()
			return nil, err
		case <-timer.C:
		}
		wait = min(2*wait, 400*time.Millisecond)
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// notConnected is true when dialling failed, but not for a host that is not there.
func notConnected(err error) bool {
	_, dns := errors.AsType[*net.DNSError](err)
	return isDial(err) && !dns
}

func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// maxForeseen is how many bytes of an answer memory is made for before they are there.
const maxForeseen = 8 << 20

// asked is what an answer is about: method and path of its request.
func asked(resp *http.Response) string {
	if resp.Request == nil {
		return "the request"
	}
	return resp.Request.Method + " " + resp.Request.URL.Path
}

// read takes the whole body, up to the limit.
func (c *Client) read(resp *http.Response, limit int) ([]byte, error) {
	var body bytes.Buffer
	if n := resp.ContentLength; n > 0 {
		// To grow step by step takes five times as much memory as a large answer has.
		// What a server says alone is worth no more than this.
		body.Grow(int(min(n, int64(limit), maxForeseen)) + bytes.MinRead)
	}
	_, err := body.ReadFrom(io.LimitReader(resp.Body, int64(limit)+1))
	data := body.Bytes()
	switch {
	case len(data) > limit:
		return nil, fetchError(hubapi.Internal, "fetch.too-large", "the answer of the hub at %s to %s is larger than %d KiB", c.base.Redacted(), asked(resp), limit>>10)
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && resp.ContentLength > int64(len(data)):
		return nil, fetchError(hubapi.Unavailable, "fetch.short", "the answer of the hub at %s to %s ended early", c.base.Redacted(), asked(resp)).WithHint("try again")
	case err != nil:
		return nil, err
	}
	return data, nil
}

func mediaType(resp *http.Response) string {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// refusal is the hub's own error where the answer holds one, else what the status
// says.
func (c *Client) refusal(resp *http.Response, data []byte) error {
	if mediaType(resp) == typeJSON {
		var body hubapi.ErrorBody
		if strictjson.UnmarshalLax(data, &body) == nil && body.Error != nil && body.Error.Code != "" {
			body.Error.Code = remoteCode(body.Error.Code)
			if resp.StatusCode >= http.StatusInternalServerError && !c.own {
				// What went wrong there is nobody's fault here, and it says little of itself.
				body.Error.Message = fmt.Sprintf("the hub at %s could not do %s: %s", c.base.Redacted(), asked(resp), body.Error.Message)
			}
			return body.Error
		}
		if e := kazmaRefusal(resp.StatusCode, data); e != nil {
			e.Code = remoteCode(e.Code)
			if !c.own {
				// Such a server says little more than "Not Found".
				e.Message = fmt.Sprintf("the hub at %s refused %s: %s", c.base.Redacted(), asked(resp), e.Message)
			}
			return e
		}
	}
	if resp.StatusCode == http.StatusBadRequest && c.base.Scheme == "http" && bytes.Contains(data, []byte("HTTP request to an HTTPS server")) {
		return fetchError(hubapi.Unavailable, "fetch.tls", "the server at %s speaks TLS only", c.base.Redacted()).WithHint("%s", useHTTPS)
	}
	if resp.StatusCode < 400 {
		return fetchError(hubapi.Internal, "fetch.type", "the server at %s answers %s to %s where a hub would not", c.base.Redacted(), resp.Status, asked(resp))
	}
	return hubapi.Errorf(remoteCode(hubapi.CodeOf(resp.StatusCode)), "the server at %s answers %s to %s", c.base.Redacted(), resp.Status, asked(resp))
}

// call makes a call whose answer is JSON and fills out with it. Keys that this
// client does not know are passed over: the hub may be newer.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func (c *Client) call(ctx context.Context, q request, out any) error {
	_, err := c.sized(ctx, q, out)
	return err
}

// sized is call that also gives the bytes of the answer.
func (c *Client) sized(ctx context.Context, q request, out any) (int, error) {
	data, err := c.do(ctx, q)
	if err != nil {
		return 0, err
	}
	if err := strictjson.UnmarshalLax(data, out); err != nil {
		return 0, fetchError(hubapi.Internal, "fetch.type", "the answer of the hub at %s to %s %s cannot be read: %v", c.base.Redacted(), q.method, c.prefix+strings.Join(q.path, "/"), err)
	}
	return len(data), nil
}
