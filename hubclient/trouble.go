package hubclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// remoteCode keeps a hub from choosing an exit code that says something about this
// machine: what the user typed, that they interrupted, that our own wait ended.
func remoteCode(code hubapi.Code) hubapi.Code {
	switch code {
	case hubapi.Usage:
		return hubapi.Invalid
	case hubapi.Interrupted, hubapi.Timeout:
		return hubapi.Unavailable
	}
	return code
}

const (
	useHTTPS = "give an endpoint that begins with https://"
	useHTTP  = "if the hub speaks plain HTTP, give an endpoint that begins with http://"
	useCA    = "if the hub's certificate is by an authority of your own, name its file with --tls-ca"
	useName  = "give the endpoint by the name that the hub's certificate is for"
)

// tlsHint says what to do about an error that comes from TLS on one side only, or
// from a certificate; it is empty for others.
func (c *Client) tlsHint(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return useName
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return useCA
	}
	_, record := errors.AsType[tls.RecordHeaderError](err)
	switch text := err.Error(); {
	case errors.Is(err, http.ErrSchemeMismatch), record, c.base.Scheme == "https" && strings.Contains(text, "tls: first record does not look like"):
		return useHTTP
	case c.base.Scheme == "http" && strings.Contains(text, `malformed HTTP response "\x15\x03`):
		return useHTTPS // a TLS alert
	}
	return ""
}
