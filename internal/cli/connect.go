package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
)

func (a *app) lockWait() time.Duration { return cmp.Or(a.LockWait, 10*time.Second) }

// waitingFor says who has the user's own hub, when it is waited for.
func (a *app) waitingFor(locked *sqlstore.LockedError) {
	who := "another process"
	if locked.PID > 0 {
		who = fmt.Sprintf("process %d", locked.PID)
	}
	a.waitSaid(fmt.Sprintf("waiting for %s, which has the hub in %s open", who, termtext.Escape(locked.Dir)))
}

func (a *app) waitSaid(text string) {
	if a.waits != nil {
		a.waits(text)
		return
	}
	a.note("%s: %s", a.program, text)
}

// withHub calls use with a client of the hub that the command is about: the
// endpoint, else the server that holds the user's own hub, else that hub in this
// process. It is the same client, and the same requests, in all three cases.
func (a *app) withHub(ctx context.Context, c *cli.Command, use func(*hubclient.Client) error) error {
	return a.withHubOpened(ctx, c, sqlstore.Open, use)
}

// openStore opens the store of the user's own hub.
type openStore func(ctx context.Context, dir string, o sqlstore.Options) (*sqlstore.Store, error)

func (a *app) withHubOpened(ctx context.Context, c *cli.Command, open openStore, use func(*hubclient.Client) error) error {
	s, err := a.settings(c)
	if err != nil {
		return err
	}
	if s.endpoint != "" {
		trust, err := a.authorities(c, s.endpoint)
		if err != nil {
			return err
		}
		return a.useClient(hubclient.Config{
			Endpoint: s.endpoint, Token: s.token, TLS: trust, Memory: &hubclient.LogMemory{Dir: s.home.logs()},
		}, use)
	}
	if c.String("tls-ca") != "" {
		return usagef("--tls-ca needs an https --endpoint")
	}
	own := &hubclient.LogMemory{Dir: s.home.logs(), Name: s.memory}
	store, err := open(ctx, s.hubDir, sqlstore.Options{Now: a.Now, Wait: a.lockWait(), Waiting: a.waitingFor})
	if locked, ok := errors.AsType[*sqlstore.LockedError](err); ok && locked.Server != nil {
		return a.useClient(hubclient.Config{Endpoint: locked.Server.Address, Token: locked.Server.Key, Own: true, Memory: own}, use)
	}
	if err != nil {
		return err
	}
	handler := httpapi.Handler(hub.New(store, hub.Config{Now: a.Now, Scanner: hub.ContentScanner{}}), httpapi.DevLocal(), httpapi.Options{})
	err = a.useClient(hubclient.Config{Endpoint: "http://127.0.0.1", Transport: httpapi.InProcess(handler), Own: true, Memory: own}, use)
	return errors.Join(err, store.Close())
}

func (a *app) useClient(config hubclient.Config, use func(*hubclient.Client) error) error {
	config.UserAgent = a.program + "/" + a.build().Version
	if wanted := a.Getenv("KX_HUB_TIMEOUT"); wanted != "" {
		var err error
		if config.Timeout, err = time.ParseDuration(wanted); err != nil || config.Timeout <= 0 {
			return usagef("KX_HUB_TIMEOUT is %q, which is no time", wanted).WithHint("write how long a hub may take for an answer, such as 90s or 2m")
		}
	}
	if !config.Own {
		config.Slow = func(hub string) { a.waitSaid("waiting for the hub at " + termtext.Escape(hub)) }
	}
	client, err := hubclient.New(config)
	if err != nil {
		return err
	}
	return use(client)
}

// authorities are those in --tls-ca; nil means the system's own.
func (a *app) authorities(c *cli.Command, endpoint string) (*tls.Config, error) {
	file := c.String("tls-ca")
	if file == "" {
		return nil, nil
	}
	if !strings.HasPrefix(endpoint, "https://") {
		return nil, usagef("--tls-ca needs an https endpoint, not %s", endpoint)
	}
	pem, err := readLimited(a.path(file), maxAuthority)
	if err != nil {
		return nil, usagef("cannot read the certificate authorities: %v", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usagef("%s holds no certificate", file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
