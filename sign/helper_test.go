package sign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kortecx/kx/pack"
)

var (
	signedAt = time.Date(2026, time.November, 29, 0, 0, 0, 0, time.UTC)
	now      = signedAt.Add(time.Hour)
)

// seedKey is the key whose seed is 32 bytes that start with first and count up.
func seedKey(t testing.TB, first byte) PrivateKey {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = first + byte(i)
	}
	key, err := NewPrivateKey(bytes.NewReader(seed))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// vectorKey is the key of testdata/vectors/signing.json.
func vectorKey(t testing.TB) PrivateKey { return seedKey(t, 0) }

func named(name string, key PrivateKey) NamedKey { return NamedKey{Name: name, Key: key.Public()} }

func readVectors(t testing.TB, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

type signingVectors struct {
	Digest struct {
		Files map[string]string
		SP1   string
	}
	DSSE struct {
		KeyID           string
		PAESHA256       string `json:"pae_sha256"`
		Payload         string
		PayloadSHA256   string `json:"payload_sha256"`
		PayloadType     string `json:"payload_type"`
		PublicKeyBase64 string `json:"public_key_base64"`
		SignatureBase64 string `json:"signature_base64"`
	}
}

func readSigningVectors(t testing.TB) signingVectors {
	t.Helper()
	var v signingVectors
	readVectors(t, "signing.json", &v)
	return v
}

type file struct{ path, data string }

func readPack(t testing.TB, name string, files ...file) *pack.Pack {
	t.Helper()
	in := inspect(name, files...)
	if err := in.Err(); err != nil {
		t.Fatalf("the fixture %s is no pack: %v", name, err)
	}
	return in.Pack
}

func inspect(name string, files ...file) *pack.Inspection {
	var list []pack.File
	for _, f := range files {
		list = append(list, pack.File{Path: f.path, Data: []byte(f.data)})
	}
	return pack.Read(name, list, pack.Options{})
}

// helloFiles is the kortecx pack of the vectors.
func helloFiles() []file {
	return []file{
		{"README.md", "Docs.\n"},
		{"instructions.md", "# Hello\nRetrieve first.\n"},
		{"skill.json", `{"schema":"kortecx.skill/v1","name":"hello","version":"1","tools":{"retrieve":"1"}}` + "\n"},
	}
}

func helloPack(t testing.TB) *pack.Pack { return readPack(t, "hello", helloFiles()...) }

const kazmaManifest = `# what it does is in main.py
name: greeter
version: "1.2.0"
description: Says hello to whoever asks for it
author: acme
license: MIT
entry_point: main:Greeter # the class
`

const kazmaEntry = "class Greeter:\n    pass\n"

func kazmaPack(t testing.TB, manifest string) *pack.Pack {
	return readPack(t, "greeter", file{"main.py", kazmaEntry}, file{"notes.txt", "later\n"}, file{"skill_manifest.yaml", manifest})
}

func skillPack(t testing.TB) *pack.Pack {
	p := readPack(t, "notes", file{"SKILL.md", "---\nname: notes\ndescription: Takes notes when asked to.\n---\n\n# Notes\n\nWrite them down.\n"},
		file{"scripts/save.sh", "#!/bin/sh\ncat\n"})
	i := slices.IndexFunc(p.Files, func(f pack.File) bool { return f.Path == "scripts/save.sh" })
	p.Files[i].Executable = true
	return p
}

// with is the pack with its files changed and its manifest as it was.
func with(p *pack.Pack, change func(files []pack.File) []pack.File) *pack.Pack {
	changed := *p
	changed.Files = nil
	for _, f := range p.Files {
		f.Data = slices.Clone(f.Data)
		changed.Files = append(changed.Files, f)
	}
	changed.Files = change(changed.Files)
	slices.SortFunc(changed.Files, func(a, b pack.File) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return &changed
}

func statementOf(t testing.TB, p *pack.Pack, o StatementOptions) Statement {
	t.Helper()
	if o.SignedAt.IsZero() {
		o.SignedAt = signedAt
	}
	s, err := NewStatement(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func envelopeOf(t testing.TB, s Statement, key PrivateKey) Envelope {
	t.Helper()
	e, err := Sign(s, key)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// forge signs any payload whatever, as a broken or hostile signer would.
func forge(key PrivateKey, payloadType string, payload []byte) Envelope {
	return Envelope{
		PayloadType: payloadType, Payload: payload,
		Signatures: []Signature{{KeyID: key.Public().ID(), Sig: key.sign(PAE(payloadType, payload))}},
	}
}

// fileOf writes a signature file without the checks of Marshal.
func fileOf(t testing.TB, envelopes ...Envelope) []byte {
	t.Helper()
	w := wireSignatureFile{V: 1, DSSE: []wireEnvelope{}}
	for _, e := range envelopes {
		w.DSSE = append(w.DSSE, e.wire())
	}
	data, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// signed is the signature file of p by key as acme.
func signed(t testing.TB, p *pack.Pack, key PrivateKey) []byte {
	t.Helper()
	return fileOf(t, envelopeOf(t, statementOf(t, p, StatementOptions{Author: "acme"}), key))
}

// wantID fails unless err is a refusal with that id; empty means no error.
func wantID(t testing.TB, err error, id string) {
	t.Helper()
	if id == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.ID != id {
		t.Errorf("got %v, want a refusal with id %s", err, id)
		return
	}
	if e.Text == "" || e.Text[len(e.Text)-1] == '.' {
		t.Errorf("the text %q is empty or ends in a full stop", e.Text)
	}
}

// need finds a program that a test compares us with.
func need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("KX_TEST_ALL") == "1" {
		t.Fatalf("KX_TEST_ALL=1 and %s is not installed", program)
	}
	t.Skipf("%s is not installed", program)
	return ""
}

func run(t testing.TB, stdin []byte, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, stderr.Bytes())
	}
	return string(out)
}
