package mcpapi

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// Handler serves h to the agents that auth knows.
func Handler(h *hub.Hub, auth Authenticator, o Options) http.Handler {
	s := newService(h, o)
	g := &gate{service: s, auth: auth}
	g.protocol = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		return s.of(caller(r.Context())).server
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// The gate judges the Host: behind a proxy on this machine it is another one.
		DisableLocalhostProtection: true,
	})
	return g
}

// gate lets requests in: on every method, whatever comes behind it.
type gate struct {
	service  *service
	auth     Authenticator
	protocol http.Handler
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if !g.hostAllowed(r.Host) {
		refuse(w, http.StatusMisdirectedRequest, hubapi.Errorf(hubapi.Forbidden, "this hub does not answer as %q", clip(r.Host, 100)))
		return
	}
	listed, err := g.origin(r)
	if err != nil {
		refuse(w, http.StatusForbidden, err)
		return
	}
	if listed != "" {
		header.Set("Access-Control-Allow-Origin", listed)
		header.Set("Access-Control-Expose-Headers", "WWW-Authenticate")
		header.Add("Vary", "Origin")
		if r.Method == http.MethodOptions {
			header.Set("Access-Control-Allow-Methods", http.MethodPost)
			header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, X-Api-Key")
			header.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	if r.Method != http.MethodPost {
		header.Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, hubapi.Errorf(hubapi.Invalid, "the method %s is not allowed here", clip(r.Method, 20)))
		return
	}
	if r.URL.RawQuery != "" {
		refuse(w, http.StatusBadRequest, hubapi.Errorf(hubapi.Invalid, "there is no query here; a key goes into the header Authorization: Bearer KEY"))
		return
	}
	p, err := g.auth.Authenticate(r)
	if err == nil {
		p, err = p.AsAgent()
	}
	if err != nil {
		e := hubapi.AsError(err)
		refuse(w, e.Code.HTTP(), e)
		return
	}
	message, err := readMessage(w, r)
	if err != nil {
		e := hubapi.AsError(err)
		refuse(w, e.Code.HTTP(), e)
		return
	}
	if code, why := faultOf(r, message); code != 0 {
		answerFault(w, http.StatusBadRequest, code, json.RawMessage("null"), hubapi.Errorf(hubapi.Invalid, "%s", why))
		return
	}
	out := newStream(w)
	defer out.end()
	told := &faults{ResponseWriter: out}
	g.protocol.ServeHTTP(told, r.WithContext(withPrincipal(r.Context(), p)))
	told.end(message)
}

// refuse answers with a JSON-RPC error that belongs to no request, as clients of the
// protocol read it.
func refuse(w http.ResponseWriter, status int, err error) {
	e := hubapi.AsError(err)
	switch e.Code {
	case hubapi.Unauthorized:
		// Without resource_metadata: there is no authorization server to name.
		w.Header().Set("WWW-Authenticate", "Bearer")
	case hubapi.RateLimited, hubapi.Unavailable:
		w.Header().Set("Retry-After", "1")
	}
	answerFault(w, status, codeRequest, json.RawMessage("null"), e)
}

// hostAllowed judges the Host header, so that no web page can have a browser talk to
// the hub under a name of its own.
func (g *gate) hostAllowed(host string) bool {
	o := g.service.options
	name := hostname(host)
	switch {
	case o.Loopback:
		return isLoopback(name)
	case len(o.Hosts) == 0:
		return true
	}
	return slices.ContainsFunc(o.Hosts, func(known string) bool { return strings.EqualFold(known, name) })
}

// hostname is a Host without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// origin refuses a request of a web page that may not call. For one of Options it
// gives the origin.
func (g *gate) origin(r *http.Request) (listed string, err error) {
	all := r.Header.Values("Origin")
	if len(all) == 0 {
		return "", nil
	}
	refused := hubapi.Errorf(hubapi.Forbidden, "a page of another site may not call this hub").
		WithHint("its operator can allow an origin with --mcp-origin")
	if len(all) > 1 {
		return "", refused
	}
	if slices.Contains(g.service.options.Origins, all[0]) {
		return all[0], nil
	}
	// The Host was found to be this machine's, so an origin equal to it is no page
	// that only calls itself so.
	u, err := url.Parse(all[0])
	if err != nil || !g.service.options.Loopback || !strings.EqualFold(u.Host, r.Host) || u.Scheme != "http" && u.Scheme != "https" {
		return "", refused
	}
	return "", nil
}

// withPrincipal hands the caller on to what answers.
func withPrincipal(ctx context.Context, p hub.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}
