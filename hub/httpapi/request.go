package httpapi

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// loopbackHost tells whether a Host header names this machine to itself.
func loopbackHost(host string) bool {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// fromNetwork tells whether a connection comes from network.
func fromNetwork(network netip.Prefix, remote string) bool {
	addr, err := netip.ParseAddrPort(remote)
	return err == nil && network.Contains(addr.Addr().Unmap().WithZone(""))
}

// plainPath refuses a path that some program on the way may read as another one:
// empty and dotted segments, escaped separators, control characters.
func plainPath(u *url.URL) bool {
	escaped := u.EscapedPath()
	if escaped == "/" {
		return true
	}
	if !strings.HasPrefix(escaped, "/") || path.Clean(escaped) != strings.TrimSuffix(escaped, "/") {
		return false
	}
	for segment := range strings.SplitSeq(escaped[1:], "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "." || plain == ".." || strings.ContainsAny(plain, `/\`) {
			return false
		}
		if strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return false
		}
	}
	return true
}

// params are the query parameters of a request: known ones, each at most once.
type params map[string]string

func readParams(raw string, known []string) (params, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Invalid, "the query string cannot be read: %v", err)
	}
	out := params{}
	for name, all := range values {
		if !slices.Contains(known, name) {
			e := hubapi.Errorf(hubapi.Invalid, "unknown query parameter %.80q", name)
			if len(known) > 0 {
				e = e.WithHint("known here: %s", strings.Join(known, ", "))
			}
			return nil, e
		}
		if len(all) > 1 {
			return nil, hubapi.Errorf(hubapi.Invalid, "the query parameter %q is there twice", name)
		}
		out[name] = all[0]
	}
	return out, nil
}

// number is 0 for a parameter that is absent.
func (p params) number(name string) (int, error) {
	text, ok := p[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, hubapi.Errorf(hubapi.Invalid, "the query parameter %s must be a number, not %.80q", name, text)
	}
	return n, nil
}

func (p params) boolean(name string) (bool, error) {
	switch p[name] {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	}
	return false, hubapi.Errorf(hubapi.Invalid, "the query parameter %s must be true or false, not %.80q", name, p[name])
}

// readJSON reads a body of at most limit bytes strictly into v. An empty body is
// refused unless optional is set.
func (c *call) readJSON(v any, limit int64, optional bool) error {
	data, err := c.body(limit)
	if err != nil || optional && len(data) == 0 {
		return err
	}
	return unreadable(data, strictjson.Unmarshal(data, v))
}

// readLax is readJSON for bodies of programs that may say more than we know of.
func (c *call) readLax(v any, limit int64) error {
	data, err := c.body(limit)
	if err != nil {
		return err
	}
	return unreadable(data, strictjson.UnmarshalLax(data, v))
}

func (c *call) body(limit int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if err != nil {
		return nil, bodyError(err)
	}
	return data, nil
}

// unreadable says what is wrong with a body, and where.
func unreadable(data []byte, err error) error {
	if fault, ok := errors.AsType[*strictjson.Fault](err); ok {
		line, column := strictjson.Position(data, fault.Offset)
		return hubapi.Errorf(hubapi.Invalid, "the body: %s", fault.Text).With(hubapi.Detail{
			ID: fault.ID, Message: fault.Text, Line: line, Column: column, Pointer: fault.Pointer,
		})
	}
	if err != nil {
		return hubapi.Errorf(hubapi.Invalid, "the body: %v", err)
	}
	return nil
}

// bodyError explains why a body could not be read to its end.
func bodyError(err error) error {
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return hubapi.Errorf(hubapi.TooLarge, "the body is larger than %d bytes", e.Limit)
	}
	if _, ok := errors.AsType[*hubapi.Error](err); ok {
		return err
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return hubapi.Errorf(hubapi.Timeout, "the body came too slowly")
	}
	return hubapi.Errorf(hubapi.Invalid, "the body ended early")
}

// ref is the release that the path names.
func (c *call) ref() (hubapi.Ref, error) {
	r := hubapi.Ref{Author: c.r.PathValue("author"), Name: c.r.PathValue("name"), Version: c.r.PathValue("version")}
	if r.Author == hubapi.AnyAuthor {
		r.Author = ""
	} else if err := hubapi.CheckAuthor(r.Author); err != nil {
		return r, err
	}
	if err := hubapi.CheckName(r.Name); err != nil {
		return r, err
	}
	if r.Version == "" { // a path that has none: an empty segment is never routed
		return r, nil
	}
	return r, hubapi.CheckVersion(r.Version)
}

// unchanged tells whether the caller already has what etag names.
func unchanged(r *http.Request, etag string) bool {
	for _, line := range r.Header["If-None-Match"] {
		for tag := range strings.SplitSeq(line, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == etag || tag == "*" {
				return true
			}
		}
	}
	return false
}
