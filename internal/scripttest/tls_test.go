package scripttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/internal/cli"
)

// certificate makes one for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// A server on an address that others can reach: TLS and keys for them, and a door of
// their own for the commands of its user.
func TestServingOthersOverTLS(t *testing.T) {
	t.Parallel()
	s := newSession(t.TempDir())
	cert, key := certificate(t)
	write(t, s.dir, "cert.pem", cert)
	write(t, s.dir, "key.pem", key)
	s.step(t, "new skill triage")
	code, stdout, stderr := s.run(t.Context(), "kx", "hub token new --role publisher --author acme")
	if code != 0 {
		t.Fatal(stderr)
	}
	token := strings.TrimSpace(stdout)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	env := cli.System()
	env.Context, env.Dir, env.HomeDir = ctx, s.dir, s.dir
	env.Args = strings.Fields("kx serve --listen 0.0.0.0:0 --tls-cert cert.pem --tls-key key.pem --json")
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), in, io.Discard
	env.Getenv = func(name string) string { return s.vars[name] }
	ended := make(chan int, 1)
	go func() { ended <- cli.Kx(env) }()
	var server struct{ Address string }
	if err := json.NewDecoder(out).Decode(&server); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(server.Address, "https://"), "]:")
	if port == "" {
		_, port, _ = strings.Cut(strings.TrimPrefix(server.Address, "https://"), ":")
	}
	endpoint := "https://127.0.0.1:" + port
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"search --endpoint " + endpoint + " --tls-ca cert.pem --token " + token:      {0, "nothing active"},
		"push triage --endpoint " + endpoint + " --tls-ca cert.pem --token " + token: {0, "acme/triage@1"},
		"search --endpoint " + endpoint + " --tls-ca cert.pem":                       {1, "needs a key"},
		"search --endpoint " + endpoint + " --token " + token:                        {1, "certificate"},
		"search --endpoint http://127.0.0.1:" + port + " --token " + token:           {1, "https://"},
		"hub token list": {0, "publisher"},
	} {
		code, stdout, stderr := s.run(t.Context(), "kx", line)
		if code != want.code || !strings.Contains(stdout+stderr, want.says) {
			t.Errorf("kx %s: exit %d\n%s%s", line, code, stdout, stderr)
		}
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, ".kx", "hub", "server.json"))
	if err != nil || !strings.Contains(string(raw), `"http://127.0.0.1:`) || strings.Contains(string(raw), port) {
		t.Errorf("server.json: %s (%v)", raw, err)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("the interrupted server exits %d", code)
	}
}
