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

// A second push with a weaker signature file once replaced the first one, which
// stripped the author's signature.
func TestPushingAgainStripsNoSignature(t *testing.T) {
	p := pack.Read("triage", kortecx("triage", "1", "text"), pack.Options{}).Pack
	signed := func(hmac string, keys ...sign.PrivateKey) []byte {
		t.Helper()
		var file sign.SignatureFile
		for _, key := range keys {
			statement, err := sign.NewStatement(p, sign.StatementOptions{Author: "acme", SignedAt: time.Unix(1, 0)})
			if err != nil {
				t.Fatal(err)
			}
			envelope, err := sign.Sign(statement, key)
			if err != nil {
				t.Fatal(err)
			}
			if err := file.Add(envelope, key.Public()); err != nil {
				t.Fatal(err)
			}
		}
		if hmac != "" {
			pair, err := sign.HMACPair(p, []byte(hmac))
			if err != nil {
				t.Fatal(err)
			}
			file.HMAC = &pair
		}
		data, err := file.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var keys [2]sign.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = sign.NewPrivateKey(rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	f := newHub(t)
	h := hub.New(f.store, hub.Config{Now: time.Now})
	for i, step := range []struct {
		push []byte
		dsse int
		hmac bool
	}{
		{signed("", keys[0]), 1, false},
		{signed("a secret"), 1, true},
		{signed("", keys[0]), 1, true},
		{signed("another secret", keys[1]), 2, true},
	} {
		out, err := h.Publish(t.Context(), publisher, hub.PublishInput{Name: "triage", Files: p.Files, Signature: step.push})
		if err != nil || out.Unchanged != (i > 0) {
			t.Fatalf("push %d: %+v, %v", i, out, err)
		}
		data, err := h.Signature(t.Context(), admin, hubapi.Ref{Author: "acme", Name: "triage", Version: "1"})
		if err != nil {
			t.Fatal(err)
		}
		file, err := sign.ReadSignatureFile(data)
		if err != nil || len(file.DSSE) != step.dsse || (file.HMAC != nil) != step.hmac {
			t.Errorf("after push %d: %d envelopes, HMAC %v, %v", i, len(file.DSSE), file.HMAC, err)
		}
		result := sign.Verify(p, sign.VerifyInput{SignatureFile: data, Trusted: []sign.NamedKey{{Name: "author", Key: keys[0].Public()}}, Now: time.Unix(1<<31, 0), KazmaPolicy: sign.Off})
		if result.Signature != sign.Trusted {
			t.Errorf("after push %d the author's signature is %s: %v", i, result.Signature, result.Problems)
		}
	}
}

// A version at the end of what every reader counts once broke the automatic ones.
func TestAutomaticVersionsGoOn(t *testing.T) {
	f := newHub(t)
	h := hub.New(f.store, hub.Config{Now: time.Now})
	push := func(version, text string) string {
		t.Helper()
		files := []pack.File{{Path: "SKILL.md", Data: []byte("---\nname: notes\ndescription: Keeps notes. Use when asked.\n---\n" + text + "\n")}}
		out, err := h.Publish(t.Context(), publisher, hub.PublishInput{Name: "notes", Files: files, Version: version})
		if err != nil {
			t.Fatal(err)
		}
		return out.Version
	}
	for i, step := range []struct{ version, want string }{
		{"", "1"},
		{"3", "3"},
		{"", "4"},
		{"9007199254740991", "9007199254740991"},
		{"", "9007199254740992"},
		{"", "9007199254740993"},
		{"9223372036854775807", "9223372036854775807"},
		{"", "9007199254740994"},
	} {
		if got := push(step.version, string(rune('a'+i))); got != step.want {
			t.Errorf("push %d: version %s, want %s", i, got, step.want)
		}
	}
}
