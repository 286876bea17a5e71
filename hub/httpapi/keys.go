package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// KeyOptions for Keys.
type KeyOptions struct {
	// Local is the key in server.json, which stands for the user of the machine.
	Local string
	// KazmaSecret opens the Kazma write routes to who shows it in
	// X-Kazma-Secret; empty opens them to nobody.
	KazmaSecret string
	// Now is the clock of the rate limits.
	Now func() time.Time
}

// Keys knows the keys that h keeps, the one in server.json, and on the write routes
// of Kazma the shared secret. A key may be expired or revoked between two requests.
func Keys(h *hub.Hub, o KeyOptions) Authenticator {
	return &keys{
		hub: h, local: LocalKey(o.Local), limits: limits{now: o.Now, buckets: map[string]*bucket{}},
		secret: sharedSecret(strings.TrimSpace(o.KazmaSecret)),
	}
}

type keys struct {
	hub    *hub.Hub
	local  Authenticator
	secret sharedSecret
	limits limits
}

func (k *keys) Authenticate(r *http.Request) (hub.Principal, error) {
	if kazmaWrite(r) {
		if p, done, err := k.secret.judge(r); done {
			return p, err
		}
	}
	shown, err := Credential(r)
	if err != nil {
		return hub.Principal{}, err
	}
	if p, err := k.local.Authenticate(r); err == nil {
		return p, nil
	}
	known, err := k.hub.Authenticate(r.Context(), shown)
	if err != nil {
		return hub.Principal{}, err
	}
	return known.Principal, k.limits.take(known.Principal.ID, known.Rate)
}

// sharedSecret is KAZMA_SECRET without the space around it.
type sharedSecret string

// judge judges the shared secret. Done is false for a request that shows another
// credential instead.
func (s sharedSecret) judge(r *http.Request) (p hub.Principal, done bool, err error) {
	shown := r.Header.Values("X-Kazma-Secret")
	others := len(r.Header.Values("Authorization")) + len(r.Header.Values("X-Api-Key"))
	switch {
	case len(shown)+others > 1 && len(shown) > 0:
		return p, true, hubapi.Errorf(hubapi.Invalid, "the request shows more than one key")
	case len(shown) == 0 && others > 0:
		return p, false, nil
	case s == "":
		return p, true, hubapi.Errorf(hubapi.Unauthorized, "KAZMA_SECRET not configured — auth required for hub write operations")
	}
	// The sums are compared, so that the time says nothing about the length
	// either. Header bytes are the secret's own, in whatever alphabet.
	want := sha256.Sum256([]byte(s))
	got := sha256.Sum256([]byte(strings.TrimSpace(strings.Join(shown, ""))))
	if len(shown) == 0 || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return p, true, hubapi.Errorf(hubapi.Unauthorized, "Unauthorized — provide a valid X-Kazma-Secret header")
	}
	return hub.KazmaPublisher(), true, nil
}

type kazmaWriteKey struct{}

// markKazmaWrite says that the request came in on a write route of Kazma, the only
// ones that X-Kazma-Secret opens.
func markKazmaWrite(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), kazmaWriteKey{}, true))
}

func kazmaWrite(r *http.Request) bool {
	marked, _ := r.Context().Value(kazmaWriteKey{}).(bool)
	return marked
}

// limits are the rate limits of all keys. There are as many buckets as keys that
// were used, since only valid keys get here.
type limits struct {
	now     func() time.Time
	mu      sync.Mutex
	buckets map[string]*bucket
}

// bucket holds as many requests as its key may make in a minute, and fills at that
// rate.
type bucket struct {
	left float64
	at   time.Time
}

func (l *limits) take(id string, perMinute int) error {
	if perMinute <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, rate := l.now(), float64(perMinute)
	b := l.buckets[id]
	if b == nil {
		b = &bucket{left: rate, at: now}
		l.buckets[id] = b
	}
	// A clock that goes back fills nothing.
	b.left = min(rate, b.left+max(0, now.Sub(b.at).Minutes())*rate)
	b.at = now
	if b.left < 1 {
		wait := math.Ceil((1 - b.left) / rate * 60)
		return hubapi.Errorf(hubapi.RateLimited, "this key makes more than its %d requests a minute", perMinute).
			WithHint("wait %.0f s", wait)
	}
	b.left--
	return nil
}
