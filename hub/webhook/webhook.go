// Package webhook tells other programs what happens to releases: what was proposed,
// approved, rejected, quarantined, withdrawn. It posts to addresses that the
// operator of a server names, signed with a secret that both know.
//
// A delivery may come twice, after a crash or from two servers of one database, and
// never out of order: events have numbers. What cannot be delivered waits and is
// tried again, for ever, so that nothing is left out.
//
// Call Run for as long as the server runs.
package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/sign"
)

// The headers of a delivery. The signature is "hmac-sha256=" and the hex HMAC of
// the timestamp, a dot and the body; who takes deliveries refuses old timestamps.
const (
	SignatureHeader = "X-KX-Signature"
	TimestampHeader = "X-KX-Timestamp" // Unix seconds
	signatureStart  = "hmac-sha256="
)

// How often the hub is asked, and how long a receiver may take.
const (
	pollEvery   = time.Second
	postTimeout = 10 * time.Second
	firstPause  = 2 * time.Second
	longPause   = 5 * time.Minute
)

// Delivery is the body of a POST.
type Delivery struct {
	V      int            `json:"v"`
	Tenant string         `json:"tenant"`
	Events []hubapi.Event `json:"events"` // oldest first, at least one
}

// Hook is one address that is told about one tenant.
type Hook struct {
	Tenant string
	URL    string
	Secret []byte // empty: not signed
}

// ParseHook reads [TENANT=]URL; without a tenant it is the local one. The address is
// http or https and names a host. It is the operator's own, so one on this machine or
// in a private network is fine.
func ParseHook(text string, secret []byte) (Hook, error) {
	hook := Hook{Tenant: hub.LocalTenant, URL: text, Secret: secret}
	if tenant, rest, found := strings.Cut(text, "="); found && !strings.ContainsAny(tenant, ":/") {
		hook.Tenant, hook.URL = tenant, rest
	}
	u, err := url.Parse(hook.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		// The address is not repeated: its query may hold a secret.
		return Hook{}, hubapi.Errorf(hubapi.Usage, "a webhook needs the http or https address of a receiver").WithHint("[TENANT=]https://host/path")
	}
	if u.User != nil {
		return Hook{}, hubapi.Errorf(hubapi.Usage, "a webhook's address may not hold a user or password")
	}
	return hook, nil
}

// id is what the hub's store knows the hook by.
func (h Hook) id() string {
	sum := sha256.Sum256([]byte(h.Tenant + "\x00" + h.URL))
	return hex.EncodeToString(sum[:16])
}

// place is the hook for logs: an address may hold a secret in its path or query.
func (h Hook) place() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return h.Tenant
	}
	return h.Tenant + "=" + u.Scheme + "://" + u.Host
}

// Check makes the hooks known to the hub: from now on they are told what happens. A
// tenant that is not there is an error, which no later try would mend.
func Check(ctx context.Context, h *hub.Hub, hooks []Hook) error {
	for _, hook := range hooks {
		if _, _, err := h.Untold(ctx, hook.Tenant, hook.id()); err != nil {
			return err
		}
	}
	return nil
}

// Sender delivers to hooks.
type Sender struct {
	Hub       *hub.Hub
	Hooks     []Hook
	Transport http.RoundTripper
	UserAgent string
	Now       func() time.Time
	Log       *slog.Logger
}

// Run delivers until ctx ends. Each hook has its own pace, so that a receiver that
// does not answer holds up no other.
func (s *Sender) Run(ctx context.Context) {
	client := &http.Client{
		Transport: s.Transport, Timeout: postTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it answers with a redirect, which is not followed")
		},
	}
	var all sync.WaitGroup
	for _, hook := range s.Hooks {
		all.Go(func() { s.run(ctx, client, hook) })
	}
	all.Wait()
}

func (s *Sender) run(ctx context.Context, client *http.Client, hook Hook) {
	pause, failing := pollEvery, false
	for {
		more, err := false, error(nil)
		// A fault of ours is like one of the receiver: it holds up this hook alone.
		if p := workers.Catch(func() { more, err = s.deliver(ctx, client, hook) }); p != nil {
			more, err = false, fmt.Errorf("internal fault: %v", p)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				s.Log.Warn("webhook not delivered; it is tried again", "webhook", hook.place(), "error", err.Error())
			}
			pause, failing = longer(pause, failing), true
		default:
			if failing {
				s.Log.Info("webhook delivered again", "webhook", hook.place())
			}
			if pause, failing = pollEvery, false; more {
				pause = 0
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// longer is the next pause after a failure: twice the last, somewhere in its upper
// half, so that many hooks do not come back at once.
func longer(pause time.Duration, again bool) time.Duration {
	if !again {
		return firstPause
	}
	pause = min(2*pause, longPause)
	return pause/2 + time.Duration(rand.Int64N(int64(pause/2)+1))
}

// deliver posts what the hook was not told yet. More says that there may be more.
func (s *Sender) deliver(ctx context.Context, client *http.Client, hook Hook) (more bool, err error) {
	events, after, err := s.Hub.Untold(ctx, hook.Tenant, hook.id())
	if err != nil {
		return false, err
	}
	// What has begun is ended, also when the server is told to stop: a receiver that
	// took a delivery is not to get it again.
	ctx = context.WithoutCancel(ctx)
	if len(events.Events) > 0 {
		if err := s.post(ctx, client, hook, events.Events); err != nil {
			return false, err
		}
	}
	_, err = s.Hub.Told(ctx, hook.id(), after, events.Next)
	return events.Next > after, err
}

func (s *Sender) post(ctx context.Context, client *http.Client, hook Hook, events []hubapi.Event) error {
	body, err := json.Marshal(Delivery{V: 1, Tenant: hook.Tenant, Events: events})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(body))
	if err != nil {
		return withoutAddress(err)
	}
	stamp := strconv.FormatInt(s.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", s.UserAgent)
	r.Header.Set(TimestampHeader, stamp)
	if len(hook.Secret) > 0 {
		r.Header.Set(SignatureHeader, Signature(hook.Secret, stamp, body))
	}
	answer, err := client.Do(r)
	if err != nil {
		return withoutAddress(err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	_ = answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("the receiver answers %d", answer.StatusCode)
	}
	return nil
}

// Signature is the value of SignatureHeader.
func Signature(secret []byte, timestamp string, body []byte) string {
	return signatureStart + sign.MAC(secret, timestamp+"."+string(body))
}

// withoutAddress is the reason of a failed request without the address, which may
// hold a secret.
func withoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
