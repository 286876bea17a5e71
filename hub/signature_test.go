package hub_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// SignFiles reads what package sign writes.
func TestSignFiles(t *testing.T) {
	p := pack.Read("triage", kortecx("triage", "1", "text"), pack.Options{}).Pack
	key, err := sign.NewPrivateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	statement, err := sign.NewStatement(p, sign.StatementOptions{Author: "acme", SignedAt: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := sign.Sign(statement, key)
	if err != nil {
		t.Fatal(err)
	}
	var file sign.SignatureFile
	if err := file.Add(envelope, key.Public()); err != nil {
		t.Fatal(err)
	}
	pair, err := sign.HMACPair(p, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	file.HMAC = &pair
	data, err := file.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := hub.SignFiles{}.Signed(data)
	if err != nil {
		t.Fatal(err)
	}
	digest := string(p.Digest())
	if diff := cmp.Diff([]hub.Signed{{Subject: "acme/triage", Version: "1", Digest: digest, KeyID: key.Public().ID()}, {Digest: digest}}, got); diff != "" {
		t.Error(diff)
	}

	f := newHub(t)
	real := hub.New(f.store, hub.Config{Now: time.Now})
	in := hub.PublishInput{Name: "triage", Files: p.Files, Signature: data}
	if out, err := real.Publish(t.Context(), publisher, in); err != nil || !out.Signed {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = real.Publish(t.Context(), elsewhere, hub.PublishInput{Name: "triage", Files: kortecx("triage", "2", "text"), Signature: data})
	refused(t, "another version", err, hubapi.Invalid)
	in.Signature = []byte(`{"v":1,"dsse":[]}`)
	_, err = real.Publish(t.Context(), publisher, in)
	if e := refused(t, "no signature in it", err, hubapi.Invalid); e.ID() != sign.IDFormat {
		t.Errorf("id %s", e.ID())
	}
}
