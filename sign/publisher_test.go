package sign

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// documentOf is a document with the keys whose numbers are given.
func documentOf(t testing.TB, version int64, prev string, threshold int, keys ...byte) PublisherDocument {
	t.Helper()
	d := PublisherDocument{Owner: "acme", Version: version, Prev: prev, Threshold: threshold, Expires: "2027-01-01T00:00:00Z"}
	for _, k := range keys {
		public := seedKey(t, k).Public()
		d.Keys = append(d.Keys, PublisherKey{ID: public.ID(), Public: public.String()})
	}
	return d
}

func published(t testing.TB, d PublisherDocument, signers ...byte) Publication {
	t.Helper()
	var keys []PrivateKey
	for _, s := range signers {
		keys = append(keys, seedKey(t, s))
	}
	p, err := SignPublication(d, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// reopened reads a publication as somebody else would.
func reopened(t testing.TB, p Publication) (Publication, error) {
	t.Helper()
	data, err := p.Envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return ReadPublication(data)
}

// Weakness 6 of the Kazma hub: keys could be neither changed nor taken back.
func TestRotations(t *testing.T) {
	first := published(t, documentOf(t, 1, "", 1, 1, 2), 1)
	second := published(t, documentOf(t, 2, first.Sum(), 2, 2, 3), 2, 3)
	third := published(t, documentOf(t, 3, second.Sum(), 1, 3), 2, 3)
	if got, err := first.Follow(second, third); err != nil || got.Document.Version != 3 {
		t.Fatalf("%+v %v", got.Document, err)
	}
	if got, err := second.Follow(first, second, third); err != nil || got.Document.Version != 3 {
		t.Fatalf("from the second on: %+v %v", got.Document, err)
	}
	withRevoked := documentOf(t, 2, first.Sum(), 1, 2)
	withRevoked.Revoked = []RevokedKey{{ID: first.Document.Keys[0].ID, At: "2026-11-30T00:00:00Z", Reason: Compromised}}
	revoked := published(t, withRevoked, 2)
	other := documentOf(t, 2, first.Sum(), 1, 1)
	other.Owner = "beta"
	for _, tt := range []struct {
		name string
		from Publication
		next []Publication
		id   string
	}{
		{"G15: version 3 behind version 1", first, []Publication{third}, IDRotateChain},
		{"G15: version 3 by version 1 keys", first, []Publication{published(t, documentOf(t, 3, second.Sum(), 1, 1), 1)}, IDRotateChain},
		{"G15: version 3 named version 2", first, []Publication{published(t, documentOf(t, 2, second.Sum(), 1, 3), 2, 3)}, IDRotateChain},
		{"G16: an older one", third, []Publication{first, second}, IDRotateRollback},
		{"another of the same version", second, []Publication{first, published(t, documentOf(t, 2, first.Sum(), 1, 2), 2)}, IDRotateFork},
		{"signed by the new keys alone", first, []Publication{published(t, documentOf(t, 2, first.Sum(), 1, 3), 3)}, IDRotateChain},
		{"signed by the old keys alone", first, []Publication{published(t, documentOf(t, 2, first.Sum(), 1, 3), 1)}, IDRotateThreshold},
		{"signed by too few of the old", second, []Publication{published(t, documentOf(t, 3, second.Sum(), 1, 3), 3)}, IDRotateChain},
		{"a revocation taken back", revoked, []Publication{published(t, documentOf(t, 3, revoked.Sum(), 1, 2), 2)}, IDRotateChain},
		{"another owner", first, []Publication{published(t, other, 1)}, IDRotateChain},
	} {
		got, err := tt.from.Follow(tt.next...)
		wantID(t, err, tt.id)
		if got.Document.Version != tt.from.Document.Version {
			t.Errorf("%s: it went on to version %d", tt.name, got.Document.Version)
		}
	}
	// One key that signs twice is one.
	twice := published(t, documentOf(t, 1, "", 2, 1, 2), 1)
	twice.Envelope.Signatures = append(twice.Envelope.Signatures, twice.Envelope.Signatures[0])
	if _, err := reopened(t, twice); err == nil {
		t.Error("one key met a threshold of two")
	}
	at := func(s string) time.Time {
		when, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	if err := first.Valid(at("2026-12-01T00:00:00Z")); err != nil {
		t.Error(err)
	}
	wantID(t, first.Valid(at("2100-01-01T00:00:00Z")), IDRotateExpired) // G22
	wantID(t, first.Valid(at("1970-01-01T00:00:00Z")), IDClock)
}

func TestPublisherDocumentsAreReadStrictly(t *testing.T) {
	key := seedKey(t, 1)
	good := documentOf(t, 1, "", 1, 1)
	payload, err := good.Payload()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPublication(forge(key, string(PublisherKind), payload)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(string) string{
		"white space":     func(s string) string { return s + " " },
		"an unknown key":  func(s string) string { return `{"x":1,` + s[1:] },
		"a key twice":     func(s string) string { return `{"owner":"acme",` + s[1:] },
		"no owner":        func(s string) string { return replaced(s, `"acme"`, `""`) },
		"a wide owner":    func(s string) string { return replaced(s, `"acme"`, `"acme/x"`) },
		"version 0":       func(s string) string { return replaced(s, `"version":1`, `"version":0`) },
		"version 2 alone": func(s string) string { return replaced(s, `"version":1`, `"version":2`) },
		"threshold 0":     func(s string) string { return replaced(s, `"threshold":1`, `"threshold":0`) },
		"threshold 2":     func(s string) string { return replaced(s, `"threshold":1`, `"threshold":2`) },
		"another id":      func(s string) string { return replaced(s, good.Keys[0].ID, keyA) },
		"no expiry":       func(s string) string { return replaced(s, "2027-01-01T00:00:00Z", "") },
		"a zone":          func(s string) string { return replaced(s, "2027-01-01T00:00:00Z", "2027-01-01T00:00:00+01:00") },
	} {
		_, err := OpenPublication(forge(key, string(PublisherKind), []byte(change(string(payload)))))
		if err == nil {
			t.Errorf("%s is read", name)
			continue
		}
		wantID(t, err, IDRotateInvalid)
	}
	_, err = OpenPublication(forge(key, string(SnapshotDocument), payload))
	wantID(t, err, IDPayloadType)
	_, err = OpenPublication(forge(seedKey(t, 9), string(PublisherKind), payload))
	wantID(t, err, IDRotateThreshold)
}

func replaced(s, old, now string) string { return strings.Replace(s, old, now, 1) }

// A chain of rotations is followed whole. Without one of its links, with two of them
// exchanged, or with one that others made, nobody gets behind the place.
func TestChainsOfRotationsHoldTogether(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pick := func(label string, most byte) []byte {
			return rapid.SliceOfNDistinct(rapid.ByteRange(1, most), 1, 4, rapid.ID).Draw(r, label)
		}
		keys := pick("keys", 9)
		threshold := rapid.IntRange(1, len(keys)).Draw(r, "threshold")
		chain := []Publication{published(t, documentOf(t, 1, "", threshold, keys...), keys...)}
		for n := int64(2); n <= int64(rapid.IntRange(2, 6).Draw(r, "length")); n++ {
			next := pick("next keys", 9)
			nextThreshold := rapid.IntRange(1, len(next)).Draw(r, "next threshold")
			signers := slices.Concat(keys[:threshold], next[:nextThreshold])
			chain = append(chain, published(t, documentOf(t, n, chain[n-2].Sum(), nextThreshold, next...), signers...))
			keys, threshold = next, nextThreshold
		}
		for i := range chain {
			again, err := reopened(t, chain[i])
			if err != nil {
				r.Fatal(err)
			}
			chain[i] = again
		}
		last := int64(len(chain))
		if got, err := chain[0].Follow(chain[1:]...); err != nil || got.Document.Version != last {
			r.Fatalf("%d of %d: %v", got.Document.Version, last, err)
		}
		if len(chain) < 3 {
			return
		}
		at := rapid.IntRange(1, len(chain)-2).Draw(r, "at")
		broken := slices.Clone(chain)
		switch rapid.IntRange(0, 2).Draw(r, "fault") {
		case 0:
			broken = slices.Delete(broken, at, at+1)
		case 1:
			broken[at], broken[at+1] = broken[at+1], broken[at]
		default: // strangers' keys, everything else in order
			forged := documentOf(t, int64(at+1), chain[at-1].Sum(), 1, 20)
			broken[at] = published(t, forged, 20)
		}
		if got, err := broken[0].Follow(broken[1:]...); err == nil || got.Document.Version != 1 {
			r.Fatalf("a broken chain leads to version %d: %v", got.Document.Version, err)
		}
	})
}

func FuzzReadPublication(f *testing.F) {
	data, err := published(f, documentOf(f, 1, "", 1, 1), 1).Envelope.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPublication(data)
		if err != nil {
			return
		}
		if _, err := p.Document.Payload(); err != nil {
			t.Error(err)
		}
	})
}

// G13: a revoked key counts by the reason, and by what a log had before.
func TestRevokedKeysCountByTheReason(t *testing.T) {
	d := documentOf(t, 1, "", 1, 1)
	superseded, compromised := seedKey(t, 2).Public().ID(), seedKey(t, 3).Public().ID()
	d.Revoked = []RevokedKey{{superseded, "2026-06-01T00:00:00Z", Superseded}, {compromised, "2026-06-01T00:00:00Z", Compromised}}
	p := published(t, d, 1)
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	at := func(month time.Month) LogFacts {
		return LogFacts{Proved: true, At: time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC)}
	}
	for _, tt := range []struct {
		name string
		key  string
		log  LogFacts
		now  time.Time
		id   string
	}{
		{"a key of the author", p.Document.Keys[0].ID, LogFacts{}, now, ""},
		{"a superseded one", superseded, LogFacts{}, now, ""},
		{"a compromised one, logged before", compromised, at(5), now, ""},
		{"a compromised one, logged at that time", compromised, at(6), now, IDTrustRevoked},
		{"a compromised one, logged later", compromised, at(7), now, IDTrustRevoked},
		{"a compromised one, in no log", compromised, LogFacts{}, now, IDTrustRevoked},
		{"somebody else's", keyB, at(5), now, IDTrustPublisher},
		{"a list that ran out", p.Document.Keys[0].ID, at(5), now.AddDate(80, 0, 0), IDRotateExpired},
	} {
		got := p.Judge(Result{Signature: Trusted, Signers: []Signer{{KeyID: tt.key}}}, tt.log, tt.now)
		id := ""
		if len(got) > 0 {
			id = got[0].ID
		}
		if id != tt.id {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	if got := p.Judge(Result{Signature: Unsigned}, LogFacts{}, now); len(got) != 0 {
		t.Errorf("unsigned: %+v", got)
	}
}

// A list that two keys must sign is signed by one after the other, and what was bent
// on the way is noticed.
func TestPendingPublications(t *testing.T) {
	d := documentOf(t, 1, "", 2, 1, 2)
	p := published(t, d, 1)
	data, err := p.Envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPublication(data); err == nil {
		t.Fatal("one of two signatures is taken for enough")
	}
	pending, err := ReadPending(data)
	if err != nil || len(pending.Signers()) != 1 || !pending.Names(d.Keys[1].ID) || pending.Names(strings.Repeat("0", 64)) {
		t.Fatal(pending.Signers(), err)
	}
	both, err := pending.Sign(seedKey(t, 2), seedKey(t, 1))
	if err != nil || len(both.Signers()) != 2 || len(both.Envelope.Signatures) != 2 || len(pending.Envelope.Signatures) != 1 {
		t.Fatal(both.Signers(), err)
	}
	if data, err = both.Envelope.Marshal(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPublication(data); err != nil {
		t.Fatal(err)
	}
	both.Envelope.Signatures[1].Sig[0] ^= 1
	if data, err = both.Envelope.Marshal(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPending(data); err == nil {
		t.Fatal("a wrong signature is read")
	}
}
