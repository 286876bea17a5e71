package mcpapi

import "net/http"

// Gate is what Handler has before the protocol, before another one.
func Gate(auth Authenticator, protocol http.Handler, o Options) http.Handler {
	return &gate{service: newService(nil, o), auth: auth, protocol: protocol}
}
