package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/mcpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/workers"
)

// tickTime is how often a server promotes candidates and lets proposals grow stale.
const tickTime = time.Minute

// listening is where a server can be reached, and over what.
type listening struct {
	address string
	tls     *tls.Config  // nil: plain
	proxy   netip.Prefix // whose connections alone are taken; invalid: everybody's
	local   bool         // only this machine can reach the address
}

// here says whether only this machine is meant to reach it. A proxy on this machine
// speaks for others.
func (l listening) here() bool { return l.local && !l.proxy.IsValid() }

func listenFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "listen", Value: "127.0.0.1:50151", Usage: "listen on `ADDRESS`; port 0 takes a free one"},
		&cli.StringFlag{Name: "tls-cert", Usage: "serve TLS with the certificate in this PEM `FILE`"},
		&cli.StringFlag{Name: "tls-key", Usage: "serve TLS with the private key in this PEM `FILE`"},
		&cli.StringFlag{Name: "trusted-proxy", Usage: "take connections from the proxy at `ADDRESS` (or a network such as 10.0.0.0/24) only, which does the TLS"},
	}
}

// listenAt reads the flags. What others can reach needs TLS, here or in a proxy:
// keys are sent with every request.
func (a *app) listenAt(c *cli.Command) (listening, error) {
	l := listening{address: c.String("listen")}
	host, _, err := net.SplitHostPort(l.address)
	if err != nil {
		return l, usagef("--listen %s: %v", l.address, err).WithHint("write it as HOST:PORT, such as 127.0.0.1:50151")
	}
	ip := net.ParseIP(host)
	l.local = host == "localhost" || ip != nil && ip.IsLoopback()
	cert, key := c.String("tls-cert"), c.String("tls-key")
	if (cert == "") != (key == "") {
		return l, usagef("--tls-cert and --tls-key go together")
	}
	if cert != "" {
		pair, err := a.keyPair(cert, key)
		if err != nil {
			return l, usagef("cannot read the certificate and its key: %v", err)
		}
		l.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	if text := c.String("trusted-proxy"); text != "" {
		if l.proxy, err = proxyNetwork(text); err != nil {
			return l, err
		}
	}
	switch {
	case l.local:
		return l, nil
	case c.Bool("dev-allow-local"):
		return l, usagef("--listen %s: --dev-allow-local makes everybody administrator, so it is for loopback addresses only", l.address)
	case l.tls == nil && !l.proxy.IsValid():
		return l, usagef("--listen %s: others can reach this address, and keys would cross the network in clear", l.address).
			WithHint("give --tls-cert and --tls-key, or --trusted-proxy with the address of the proxy that does the TLS")
	}
	return l, nil
}

// keyPair reads a certificate and its key. Links are followed, because what renews
// certificates keeps them behind links.
func (a *app) keyPair(cert, key string) (pair tls.Certificate, err error) {
	const most = 4 << 20
	var data [2][]byte
	for i, name := range []string{cert, key} {
		f, err := os.OpenFile(a.path(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return pair, err
		}
		data[i], err = io.ReadAll(io.LimitReader(f, most+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return pair, err
		}
		if len(data[i]) > most {
			return pair, fmt.Errorf("%s is larger than %d bytes", name, most)
		}
	}
	return tls.X509KeyPair(data[0], data[1])
}

func proxyNetwork(text string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked(), nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, usagef("--trusted-proxy needs an address such as 10.0.0.5, or a network such as 10.0.0.0/24, not %.80q", text)
	}
	return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
}

// doors are the listeners of a server: the one that was asked for, and where that
// one is not plain HTTP on loopback a second one that is, for the user's own
// commands.
type doors struct {
	at    listening
	main  net.Listener
	local net.Listener // nil: the main one serves the user's commands too
}

func openDoors(ctx context.Context, at listening) (*doors, error) {
	var config net.ListenConfig
	main, err := config.Listen(ctx, "tcp", at.address)
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Unavailable, "cannot listen: %v", err).WithHint("--listen 127.0.0.1:0 takes a free port")
	}
	d := &doors{at: at, main: main}
	if at.here() && at.tls == nil {
		return d, nil
	}
	if d.local, err = config.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, errors.Join(hubapi.Errorf(hubapi.Unavailable, "cannot listen for your own commands: %v", err), main.Close())
	}
	return d, nil
}

// address is what clients are told.
func (d *doors) address() string {
	if d.at.tls != nil {
		return "https://" + d.main.Addr().String()
	}
	return "http://" + d.main.Addr().String()
}

// own is the address for the commands of the same user.
func (d *doors) own() string {
	if d.local != nil {
		return "http://" + d.local.Addr().String()
	}
	return d.address()
}

func (d *doors) close() error {
	err := d.main.Close()
	if d.local != nil {
		err = errors.Join(err, d.local.Close())
	}
	return err
}

// serve serves h until ctx ends or one of the doors fails. The main door's requests
// go through observe.
func (d *doors) serve(ctx context.Context, h *hub.Hub, auth httpapi.Authenticator, pages http.Handler, agents mcpapi.Options, log *slog.Logger, observe func(http.Handler) http.Handler) error {
	handler := func(o httpapi.Options) http.Handler {
		o.Log = log
		agents := agents
		if agents.Loopback = o.Loopback; o.Loopback {
			agents.Hosts = nil // the names under which others know it
		}
		o.MCP = mcpapi.Handler(h, auth, agents)
		return httpapi.Handler(h, auth, o)
	}
	main := httpapi.NewServer(observe(handler(httpapi.Options{Loopback: d.at.here(), From: d.at.proxy, Pages: pages})))
	main.TLSConfig = d.at.tls
	if d.local == nil {
		return httpapi.Serve(ctx, main, d.main)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- httpapi.Serve(ctx, httpapi.NewServer(handler(httpapi.Options{Loopback: true})), d.local)
	}()
	err := httpapi.Serve(ctx, main, d.main)
	stop()
	return errors.Join(err, <-ended)
}

// logged runs what a server does by itself, and tells whether it came to its end. A panic
// is a mistake of ours: it is logged as one of a request is, and the server goes on.
func logged(task string, log *slog.Logger, do func()) bool {
	p := workers.Catch(do)
	if p != nil {
		p.Log(log, "task", task)
	}
	return p == nil
}

// keepUp is logged for what goes on as long as the server does: it begins again at the next
// tick.
func keepUp(ctx context.Context, task string, log *slog.Logger, do func()) {
	for !logged(task, log, do) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(tickTime):
		}
	}
}

// upkeep is what a server does by itself beside answering: it judges again what
// older rules judged, and ticks. It ends with ctx.
func upkeep(ctx context.Context, h *hub.Hub, log *slog.Logger) {
	scanned, quarantined, err := h.Rescan(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		log.Error("rescan failed", "error", err.Error())
	case scanned > 0:
		log.Info("rescanned", "releases", scanned, "quarantined", quarantined)
	}
	ticker := time.NewTicker(tickTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := h.TickAll(ctx); err != nil && ctx.Err() == nil {
			log.Error("promotion failed", "error", err.Error())
		}
	}
}
