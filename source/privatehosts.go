package source

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// own tells whether a host is one of the user's network.
func (n Net) own(host string) bool {
	host = hostAlike(host)
	return slices.ContainsFunc(n.PrivateHosts, func(own string) bool { return hostAlike(own) == host })
}

// hostAlike is a host in the one spelling that all of its spellings share.
func hostAlike(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// checkHosts refuses entries of PrivateHosts that no host is called: they would open
// nothing, without a word.
func (n Net) checkHosts() error {
	for _, entry := range n.PrivateHosts {
		if why := notAHost(entry); why != "" {
			return hubapi.Errorf(hubapi.Usage, "KX_PRIVATE_HOSTS names %q, which is no host: %s", clip(entry), why).
				WithHint("name hosts as they are called, such as git.example.org or 10.0.0.1, with commas between them; every port of theirs is open then")
		}
	}
	return nil
}

// notAHost says why a text is neither the name of a host nor an address; empty when it is.
func notAHost(text string) string {
	if _, err := netip.ParseAddr(text); err == nil {
		return ""
	}
	_, _, err := net.SplitHostPort(text)
	switch {
	case strings.Contains(text, "://"):
		return "it is a URL"
	case strings.ContainsAny(text, "*?") || strings.HasPrefix(text, "."):
		return "it stands for several, and each is to be named"
	case strings.Contains(text, "/"):
		return "it has a slash"
	case err == nil:
		return "it has a port"
	case strings.HasPrefix(text, "["):
		return "an address has no brackets here"
	}
	if err := checkHost(text); err != nil {
		return hubapi.AsError(err).Message
	}
	return ""
}
