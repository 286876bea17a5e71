package hub_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/sign"
)

// keysOf makes private keys by name, and the list entries of their public halves.
func keysOf(t *testing.T, names ...string) map[string]sign.PrivateKey {
	t.Helper()
	root, err := fsx.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ring, out := sign.NewKeyring(root), map[string]sign.PrivateKey{}
	for i, name := range names {
		if _, err := ring.New(name, bytes.NewReader(bytes.Repeat([]byte{byte(i + 1)}, 64)), nil); err != nil {
			t.Fatal(err)
		}
		if out[name], err = ring.Get(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func listed(t *testing.T, d sign.PublisherDocument, in []sign.PrivateKey, signers ...sign.PrivateKey) ([]byte, sign.Publication) {
	t.Helper()
	d.Threshold, d.Expires = 1, "2126-01-01T00:00:00Z"
	for _, k := range in {
		d.Keys = append(d.Keys, sign.PublisherKey{ID: k.Public().ID(), Public: k.Public().String()})
	}
	p, err := sign.SignPublication(d, signers...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.Envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data, p
}

func TestKeysOfAnAuthor(t *testing.T) {
	f := newHub(t)
	keys := keysOf(t, "a", "b", "c")
	a, b, c := keys["a"], keys["b"], keys["c"]
	put := func(p hub.Principal, author string, data []byte) string {
		t.Helper()
		_, err := f.PutPublisher(t.Context(), p, author, data)
		if err == nil {
			return ""
		}
		e := hubapi.AsError(err)
		if len(e.Details) > 0 {
			return e.Details[0].ID
		}
		return string(e.Code)
	}
	firstData, first := listed(t, sign.PublisherDocument{Owner: "acme", Version: 1}, []sign.PrivateKey{a}, a)
	secondData, second := listed(t, sign.PublisherDocument{Owner: "acme", Version: 2, Prev: first.Sum()}, []sign.PrivateKey{b}, a, b)
	revoking := sign.PublisherDocument{Owner: "acme", Version: 3, Prev: second.Sum(), Revoked: []sign.RevokedKey{{ID: b.Public().ID(), At: "2026-01-01T00:00:00Z", Reason: sign.Compromised}}}
	thirdData, third := listed(t, revoking, []sign.PrivateKey{c}, b, c)
	byFirst, _ := listed(t, sign.PublisherDocument{Owner: "acme", Version: 3, Prev: first.Sum()}, []sign.PrivateKey{a}, a)
	for i, tt := range []struct {
		who    hub.Principal
		author string
		data   []byte
		id     string
	}{
		{stranger, "acme", firstData, string(hubapi.Forbidden)},
		{agent, "acme", firstData, string(hubapi.Forbidden)},
		{hub.Principal{}, "acme", firstData, string(hubapi.Unauthorized)},
		{publisher, "acme-labs", firstData, sign.IDRotateInvalid},
		{publisher, "acme", secondData, sign.IDRotateChain},
		{publisher, "acme", []byte("{}"), sign.IDFormat},
		{publisher, "acme", make([]byte, hubapi.MaxPublisher+1), sign.IDTooLarge},
		{publisher, "acme", firstData, ""},
		{publisher, "acme", firstData, ""}, // again is no error, and no second entry
		{publisher, "acme", byFirst, sign.IDRotateChain},
		{publisher, "acme", secondData, ""},
		{publisher, "acme", firstData, sign.IDRotateRollback},
		{publisher, "acme", byFirst, sign.IDRotateChain},
		{publisher, "acme", thirdData, ""},
	} {
		if got := put(tt.who, tt.author, tt.data); got != tt.id {
			t.Errorf("step %d: %q, want %q", i, got, tt.id)
		}
	}
	var said []string
	for _, e := range f.leaves(admin) {
		said = append(said, string(e.Op)+" "+e.Name+" "+e.Version+" "+e.Digest+" "+e.KeyID)
	}
	want := []string{
		"publisher acme 1 sha256:" + first.Sum() + " -", "publisher acme 2 sha256:" + second.Sum() + " -",
		"publisher acme 3 sha256:" + third.Sum() + " -", "revoke acme 3 " + translog.None + " " + b.Public().ID(),
	}
	if got, _ := json.Marshal(said); string(got) != string(must(json.Marshal(want))) {
		t.Errorf("the log says %s", got)
	}
	f.sound("team")
	chain, err := f.PublisherChain(t.Context(), stranger, "acme", 1)
	if err != nil || chain.Version != 3 || len(chain.Items) != 2 || !bytes.Equal(chain.Items[0], secondData) {
		t.Errorf("%+v %v", chain, err)
	}
	if _, err := f.PublisherChain(t.Context(), hub.LocalAdmin(), "acme", 0); hubapi.AsError(err).Code != hubapi.NotFound {
		t.Errorf("another tenant: %v", err)
	}
}

func must(data []byte, _ error) []byte { return data }
