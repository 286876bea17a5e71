package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubclient"
)

// F3, F4: what cuts slow requests off. That net/http does it is its own test.
func TestServersDoNotWaitForEver(t *testing.T) {
	s := httpapi.NewServer(http.NotFoundHandler())
	if s.ReadHeaderTimeout != 5*time.Second || s.ReadTimeout != 30*time.Second || s.IdleTimeout != time.Minute || s.WriteTimeout == 0 {
		t.Errorf("%+v", s)
	}
}

func TestHTTP2WithoutTLS(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	c, err := hubclient.New(hubclient.Config{Endpoint: s.url, Transport: &transport})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(t.Context(), hubclient.PushInput{Name: "triage", Files: kortecx("triage", "1", "text")}); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodGet, s.url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil || resp.ProtoMajor != 2 {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// R16: what was acknowledged before the end is there, and the end comes in time.
func TestServeDrains(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	inside := make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(inside)
		time.Sleep(200 * time.Millisecond)
		s.handler.ServeHTTP(w, r)
	})
	go func() { done <- httpapi.Serve(ctx, httpapi.NewServer(slow), l) }()
	var wg sync.WaitGroup
	wg.Go(func() {
		resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("a request that had begun: %v", err)
			return
		}
		_ = resp.Body.Close()
	})
	<-inside
	cancel()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
	wg.Wait()
	if _, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
		t.Error("the listener is still open")
	}
}
