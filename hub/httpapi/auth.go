package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// Authenticator finds out who calls. Its error is a *hubapi.Error, Unauthorized
// unless the request itself is wrong.
type Authenticator interface {
	Authenticate(r *http.Request) (hub.Principal, error)
}

// DevLocal takes everyone for the local admin: --dev-allow-local, and commands in
// the hub's own process.
func DevLocal() Authenticator { return devLocal{} }

type devLocal struct{}

func (devLocal) Authenticate(*http.Request) (hub.Principal, error) { return hub.LocalAdmin(), nil }

// LocalKey takes who shows the key of server.json for the local admin. An empty
// key lets nobody in.
func LocalKey(key string) Authenticator {
	return localKey{sum: sha256.Sum256([]byte(key)), set: key != ""}
}

type localKey struct {
	sum [32]byte
	set bool
}

func (k localKey) Authenticate(r *http.Request) (hub.Principal, error) {
	shown, err := Credential(r)
	if err != nil {
		return hub.Principal{}, err
	}
	sum := sha256.Sum256([]byte(shown))
	if subtle.ConstantTimeCompare(sum[:], k.sum[:]) != 1 || !k.set {
		return hub.Principal{}, hubapi.Errorf(hubapi.Unauthorized, "the key is not known to this hub")
	}
	return hub.LocalAdmin(), nil
}

// Credential is the one key that a request shows, in Authorization: Bearer or in
// X-API-Key. More than one is an error: a proxy and we might each read another.
func Credential(r *http.Request) (string, error) {
	bearers, keys := r.Header.Values("Authorization"), r.Header.Values("X-Api-Key")
	switch {
	case len(bearers)+len(keys) > 1:
		return "", hubapi.Errorf(hubapi.Invalid, "the request shows more than one key")
	case len(keys) == 1 && keys[0] != "":
		return keys[0], nil
	case len(bearers) == 1:
		scheme, key, _ := strings.Cut(bearers[0], " ")
		if key = strings.TrimSpace(key); strings.EqualFold(scheme, "Bearer") && key != "" {
			return key, nil
		}
	}
	return "", hubapi.Errorf(hubapi.Unauthorized, "this hub needs a key").
		WithHint("send it as Authorization: Bearer KEY or X-API-Key: KEY; commands take --token-file")
}
