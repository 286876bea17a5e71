package sign

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type kazmaVectors struct {
	Valid []struct {
		Name       string
		SecretHex  string `json:"secret_hex"`
		FileSHA256 string `json:"file_sha256"`
		Signature  string
		FileHex    string `json:"file_hex"`
	}
	MustNotMatch             map[string]string `json:"must_not_match"`
	RegistryManifestChecksum []struct {
		Data      json.RawMessage
		Canonical string
		SHA256    string
	} `json:"registry_manifest_checksum"`
	AgentSkillMD []struct {
		Name      string
		FileHex   string `json:"file_hex"`
		RawSHA256 string `json:"raw_sha256"`
		Checksum  string
		Signature string
	} `json:"agent_skill_md"`
}

func readKazmaVectors(t testing.TB) kazmaVectors {
	t.Helper()
	var v kazmaVectors
	readVectors(t, "kazma-signing.json", &v)
	return v
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	data, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestKazmaVectors(t *testing.T) {
	vectors := readKazmaVectors(t)
	if len(vectors.Valid) < 13 {
		t.Fatalf("only %d vectors were read", len(vectors.Valid))
	}
	for _, v := range vectors.Valid {
		t.Run(v.Name, func(t *testing.T) {
			checksum := Checksum(unhex(t, v.FileHex))
			if checksum != v.FileSHA256 {
				t.Errorf("checksum %s, want %s", checksum, v.FileSHA256)
			}
			secret := unhex(t, v.SecretHex)
			got := MAC(secret, checksum)
			if got != v.Signature {
				t.Errorf("signature %s, want %s", got, v.Signature)
			}
			if which := (Secrets{Current: secret}).Match(checksum, v.Signature); which != 1 {
				t.Errorf("the signature matches %v, want current", which)
			}
			for how, wrong := range vectors.MustNotMatch {
				if got == wrong {
					t.Errorf("the signature is the wrong one called %s", how)
				}
			}
		})
	}
}

// These are the vectors of the reference that are too long or too odd for the file.
func TestKazmaVectorsInText(t *testing.T) {
	for _, v := range []struct{ name, secret, data, checksum, signature string }{
		{"LF", "test-secret", "print('hi')\n", "caf026f25d7140209f98072605307a438914b9ce6f3c14b23d15d9667241de52", "38b4e78efbb19197627e05d753c67d5597e8d95d7159863940e03a597dd126ca"},
		{"CRLF", "test-secret", "print('hi')\r\n", "93992425ce06a5c516b85df1849ea044964771ba23a442a6f29176aab29f8ae2", "5ca58d27b79e35bed842ee3693b85a66d3b67bc09457327dba087a9ba6730b13"},
		{"empty", "test-secret", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "47328de566cdf631f81d64219c3007baf584881f67b1dceec7439958edbcd76e"},
		{"secret with LF", "test-secret\n", "print('hi')\n", "caf026f25d7140209f98072605307a438914b9ce6f3c14b23d15d9667241de52", "f16c345f1346f8690553409f2b9c01926eadb19a08e73df4b9e82b7b9c7c5471"},
		{"padded secret", "  padded  ", "x = 1\n", "9e26bf369911c45c243c684147b23fc9e1dcfcf257d299a1c632016a6fcd33f4", "691c3dbcaeee605c8517aa4ed820f2d6b18377b4ccd1df6e053900e4524e3341"},
		{"hex-looking secret", strings.Repeat("00112233445566778899aabbccddeeff", 2), "x = 1\n", "9e26bf369911c45c243c684147b23fc9e1dcfcf257d299a1c632016a6fcd33f4", "d72b37cfe43e90140a51be330bc307cd9ddeef14a461d3271dee784c05782085"},
		{"1 MiB", "test-secret", strings.Repeat("a", 1<<20), "9bc1b2a288b26af7257a36277ae3816a7d4f16e89c1e7e77d0a5c48bad62b360", "0b8d2dd4f17a20a65fbaf84f9b31811f0fa7f20fc0dfd974d46c4d4fafa6898c"},
	} {
		t.Run(v.name, func(t *testing.T) {
			got := Pair{Checksum: Checksum([]byte(v.data)), Signature: MAC([]byte(v.secret), v.checksum)}
			if diff := cmp.Diff(Pair{v.checksum, v.signature}, got); diff != "" {
				t.Errorf("pair (-want +got):\n%s", diff)
			}
		})
	}
}

// The two wrong ways that people try first must stay wrong.
func TestMACIsOverTheHexDigits(t *testing.T) {
	wrong := readKazmaVectors(t).MustNotMatch
	checksum := "5d6943532bcacce45a14f1fcf2bbc1e43f86bf05ff0eac70d3ea18bd6e68c720"
	secret := []byte("test-secret")
	for how, message := range map[string]string{
		"hmac_over_raw_32_byte_digest": string(unhex(t, checksum)),
		"hmac_over_uppercase_hex":      strings.ToUpper(checksum),
		"hmac_over_hex_plus_newline":   checksum + "\n",
		"hmac_over_file_bytes":         "class Demo:\n    pass\n",
	} {
		if got := MAC(secret, message); got != wrong[how] {
			t.Errorf("%s is not made the way the vector says: %s", how, got)
		}
		if (Secrets{Current: secret}).Match(checksum, wrong[how]) != 0 {
			t.Errorf("%s is accepted", how)
		}
	}
}

func TestChecksumText(t *testing.T) {
	for _, v := range readKazmaVectors(t).AgentSkillMD {
		data := unhex(t, v.FileHex)
		if got := Checksum(data); got != v.RawSHA256 {
			t.Errorf("%s: raw checksum %s, want %s", v.Name, got, v.RawSHA256)
		}
		got, err := ChecksumText(data)
		if err != nil || got != v.Checksum {
			t.Errorf("%s: text checksum %s, %v, want %s", v.Name, got, err, v.Checksum)
		}
		if mac := MAC([]byte("test-secret"), got); mac != v.Signature {
			t.Errorf("%s: signature %s, want %s", v.Name, mac, v.Signature)
		}
	}
	for text, same := range map[string]string{"a\rb": "a\nb", "a\r\r\nb": "a\n\nb", "\ufeffa": "\ufeffa"} {
		got, err := ChecksumText([]byte(text))
		if err != nil || got != Checksum([]byte(same)) {
			t.Errorf("%q: %s, %v, want the checksum of %q", text, got, err, same)
		}
	}
	_, err := ChecksumText([]byte("a\xff"))
	wantID(t, err, IDFormat)
}

// Weakness 7 of the Kazma hub: secrets of one character, and made up ones.
func TestCheckSecret(t *testing.T) {
	for _, tt := range []struct {
		secret   string
		warnings int
		id       string
	}{
		{"", 0, IDSecretEmpty},
		{"0123456789abcdef", 0, ""},
		{"0123456789abcde", 1, ""},
		{"0123456789abcdef\n", 1, ""},
		{"\u00a00123456789abcdef", 1, ""},
		{" x ", 2, ""},
		{strings.Repeat("\xff\x00", 8), 0, ""}, // bytes, not text
	} {
		warnings, err := CheckSecret([]byte(tt.secret))
		wantID(t, err, tt.id)
		if len(warnings) != tt.warnings {
			t.Errorf("%q: warnings %q, want %d", tt.secret, warnings, tt.warnings)
		}
	}
}

func TestSecretSources(t *testing.T) {
	for value, want := range map[string]string{
		"plain": "plain", "  x y \n": "x y", "\u2003x\u0085": "x", "\x1cx\x1f": "x", "": "", " \t\n": "",
		"a\xff ": "a\xff", "00ff": "00ff",
	} {
		if got := SecretFromEnv(value); string(got) != want || want == "" && got != nil {
			t.Errorf("KAZMA_SECRET=%q gives %q, want %q", value, got, want)
		}
	}
	for content, want := range map[string]string{
		"x": "x", "x\n": "x", "x\r\n": "x", "x\n\n": "x\n", "x\r": "x\r", " x ": " x ", "\n": "", "x\r\r\n": "x\r",
	} {
		if got := SecretFromFile([]byte(content)); string(got) != want {
			t.Errorf("a file with %q gives %q, want %q", content, got, want)
		}
	}
}

func TestSecretsMatch(t *testing.T) {
	checksum := Checksum([]byte("x"))
	secrets := Secrets{Current: []byte("new"), Previous: [][]byte{[]byte("older"), nil, []byte("oldest"), []byte("new")}}
	for secret, want := range map[string]Which{"new": 1, "older": 2, "oldest": 4, "other": 0, "": 0} {
		if got := secrets.Match(checksum, MAC([]byte(secret), checksum)); got != want {
			t.Errorf("signed with %q: matches %v, want %v", secret, got, want)
		}
	}
	good := MAC([]byte("new"), checksum)
	for _, bad := range []string{"", strings.ToUpper(good), good[:63], good + "\n", "é" + good[2:]} {
		if got := secrets.Match(checksum, bad); got != 0 {
			t.Errorf("signature %q matches %v", bad, got)
		}
	}
	if !(Secrets{Previous: [][]byte{nil, {}}}).Empty() || secrets.Empty() {
		t.Error("Empty is wrong")
	}
	text, err := json.Marshal([]Which{0, 1, 2, 3})
	if want := `["none","current","previous 1","previous 2"]`; err != nil || string(text) != want {
		t.Errorf("as JSON %s, %v, want %s", text, err, want)
	}
}

func TestHMACAgreesWithOpenSSL(t *testing.T) {
	openssl := need(t, "openssl")
	for _, v := range readKazmaVectors(t).Valid {
		checksum := Checksum(unhex(t, v.FileHex))
		out := run(t, []byte(checksum), openssl, "mac", "-digest", "SHA256", "-macopt", "hexkey:"+v.SecretHex, "HMAC")
		got := strings.ToLower(string(bytes.TrimSpace([]byte(out))))
		if want := MAC(unhex(t, v.SecretHex), checksum); got != want {
			t.Errorf("%s: openssl says %s, we say %s", v.Name, got, want)
		}
	}
}
