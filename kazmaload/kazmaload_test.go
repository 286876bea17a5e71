package kazmaload

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

const (
	manifest = "name: demo\nversion: 1.0.0\ndescription: Shows how loading works.\nauthor: acme\nlicense: MIT\n"
	entry    = "entry_point: main:Demo\n"
	code     = "class Demo:\n    pass\n"
)

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func secret(text string) sign.Secrets { return sign.Secrets{Current: []byte(text)} }

// signed gives the files of a skill that was signed with a secret.
func signed(t *testing.T, key string, extra string) map[string]string {
	t.Helper()
	in := pack.Read("demo", []pack.File{
		{Path: "main.py", Data: []byte(code)},
		{Path: pack.Kazma.ManifestFile(), Data: []byte(manifest + entry + extra)},
	}, pack.Options{})
	if in.Pack == nil {
		t.Fatal(in.Faults)
	}
	text, _, err := sign.SignKazma(in.Pack, []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"main.py": code, "skill_manifest.yaml": string(text)}
}

func with(files map[string]string, name, text string) map[string]string {
	out := map[string]string{}
	for k, v := range files {
		out[k] = v
	}
	out[name] = text
	return out
}

func without(files map[string]string, lines ...string) map[string]string {
	out := with(files, "", "")
	delete(out, "")
	var kept []string
	for line := range strings.Lines(out["skill_manifest.yaml"]) {
		if !slices.ContainsFunc(lines, func(key string) bool { return strings.HasPrefix(line, key+":") }) {
			kept = append(kept, line)
		}
	}
	out["skill_manifest.yaml"] = strings.Join(kept, "")
	return out
}

// The table of the source document and of spec 3, and the reference's own test cases
// (hub_loader, skill_checksum), with our outcome.
func TestVerificationOnLoad(t *testing.T) {
	good := signed(t, "test-secret", "")
	plain := map[string]string{"main.py": code, "skill_manifest.yaml": manifest + entry}
	key := secret("test-secret")
	for _, tt := range []struct {
		name    string
		files   map[string]string
		secrets sign.Secrets
		policy  Policy
		id      string // of the refusal; empty: it is loaded
		says    string // in the refusal's message, or in a warning
	}{
		{"signed, right secret", good, key, Policy{}, "", ""},
		{"signed, right secret, signing is demanded", good, key, Policy{RequireSigned: true}, "", ""},
		{"file changed after signing", with(good, "main.py", code+"evil = True\n"), key, Policy{}, "sign.digest", "checksum mismatch"},
		{"file changed after signing, no secret", with(good, "main.py", "x = 1\n"), sign.Secrets{}, Policy{WithoutSecret: true}, "sign.digest", "tampered"},
		{"line ends of the file changed", with(good, "main.py", strings.ReplaceAll(code, "\n", "\r\n")), key, Policy{}, "sign.digest", ""},
		{"wrong secret", good, secret("another"), Policy{}, "sign.hmac", "signature verification failed"},
		{"secret with spaces is another one", good, secret(" test-secret "), Policy{}, "sign.hmac", ""},
		{"no secret", good, sign.Secrets{}, Policy{}, "sign.no-secret", "KAZMA_SECRET is not set"},
		{"no secret, and that was agreed to", good, sign.Secrets{}, Policy{WithoutSecret: true}, "", "was not checked"},
		{"previous secret", good, sign.Secrets{Current: []byte("new"), Previous: [][]byte{[]byte("test-secret")}}, Policy{}, "", "previous 1 secret"},
		{"unsigned", plain, sign.Secrets{}, Policy{}, "", "loaded unsigned"},
		{"unsigned, secret known", plain, key, Policy{}, "", "loaded unsigned"},
		{"unsigned, signing is demanded", plain, key, Policy{RequireSigned: true}, "sign.unsigned", "only signed skills"},
		{"both lines deleted, signing is demanded", without(good, "checksum", "signature"), key, Policy{RequireSigned: true}, "sign.unsigned", ""},
		{"signature deleted (12 no. 2)", without(good, "signature"), key, Policy{}, "sign.downgraded", "vouches for nothing"},
		{"signature deleted, no secret (12 no. 2)", without(good, "signature"), sign.Secrets{}, Policy{}, "sign.downgraded", ""},
		{"checksum deleted", without(good, "checksum"), key, Policy{}, "sign.no-checksum", ""},
		{"checksum is empty, null, false or 0 (12 no. 2)", with(good, "skill_manifest.yaml", manifest+entry+"checksum: 0\nsignature: "+strings.Repeat("a", 64)+"\n"), key, Policy{}, "sign.checksum-format", ""},
		{"checksum with a prefix", with(plain, "skill_manifest.yaml", manifest+entry+"checksum: sha256:"+sign.Checksum([]byte(code))+"\n"), key, Policy{}, "sign.checksum-format", ""},
		{"checksum in upper case", with(plain, "skill_manifest.yaml", manifest+entry+"checksum: "+strings.ToUpper(sign.Checksum([]byte(code)))+"\n"), key, Policy{}, "sign.checksum-format", ""},
		{"checksum twice (12 no. 14)", with(plain, "skill_manifest.yaml", manifest+entry+"checksum: junk\nchecksum: "+sign.Checksum([]byte(code))+"\n"), key, Policy{}, "yaml.duplicate-key", ""},
		{"signature is a list", with(plain, "skill_manifest.yaml", manifest+entry+"checksum: "+sign.Checksum([]byte(code))+"\nsignature: [a]\n"), key, Policy{}, "sign.signature-format", ""},
		{"signature copied to a skill with other code (12 no. 3)", with(signed(t, "test-secret", "tags: [x]\n"), "main.py", "other\n"), key, Policy{}, "sign.digest", ""},

		{"manifest is corrupted", with(good, "skill_manifest.yaml", "{{{{invalid yaml"), key, Policy{}, "yaml.syntax", ""},
		{"manifest is not UTF-8", with(good, "skill_manifest.yaml", manifest+"x: \"\xff\"\n"), key, Policy{}, "yaml.invalid-utf8", ""},
		{"manifest is a list", with(good, "skill_manifest.yaml", "- a\n"), key, Policy{}, "yaml.not-mapping", ""},
		{"manifest with only a name", with(good, "skill_manifest.yaml", "name: demo\n"), key, Policy{}, "version.missing", ""},
		{"entry_point is a number", with(plain, "skill_manifest.yaml", manifest+"entry_point: [1]\n"), key, Policy{}, "entry.type", ""},
		{"entry of a module that is not there", with(plain, "skill_manifest.yaml", manifest+"entry_point: nonexistent_module:SomeClass\n"), key, Policy{}, "entry.missing", "entry_point"},
		{"no entry_point, main.py is there", with(plain, "skill_manifest.yaml", manifest), key, Policy{}, "", ""},
		{"no entry_point and no main.py", map[string]string{"other.py": "", "skill_manifest.yaml": manifest}, key, Policy{}, "load.no-entry", ""},
		{"entry outside of the folder (12 no. 1)", with(plain, "skill_manifest.yaml", manifest+"entry_point: ../elsewhere/main:Demo\n"), key, Policy{}, "entry.path", ""},
		{"entry by an absolute path (12 no. 1)", with(plain, "skill_manifest.yaml", manifest+"entry_point: /tmp/main:Demo\n"), key, Policy{}, "entry.path", ""},
		{"entry_point of the source document", with(plain, "skill_manifest.yaml", manifest+"entry_point: main.py\n"), key, Policy{}, "", "the original Kazma looks elsewhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, filepath.Join(t.TempDir(), "demo"), tt.files)
			got, err := Load(dir, tt.secrets, tt.policy)
			said := ""
			switch {
			case err != nil:
				e := hubapi.AsError(err)
				if e.ID() != tt.id {
					t.Fatalf("refused with %s (%v), want %q", e.ID(), err, tt.id)
				}
				said = e.Message
			case tt.id != "":
				t.Fatalf("it was loaded, want %s", tt.id)
			default:
				said = strings.Join(got.Warnings, "\n")
				data, ok := got.Pack.File(got.Manifest.EntryFile)
				if !ok || string(data) != tt.files["main.py"] {
					t.Errorf("what is to be run is %q", data)
				}
			}
			if !strings.Contains(said, tt.says) {
				t.Errorf("it says %q, want %q in it", said, tt.says)
			}
		})
	}
}

// Section 12 no. 1: the reference verifies nothing when the entry is in a folder of
// its own, beside which there is no manifest.
func TestAnEntryInASubfolderIsVerified(t *testing.T) {
	for _, form := range []string{"pkg.mod:X", "pkg/mod:X", "pkg/mod.py"} {
		files := map[string]string{
			"pkg/mod.py":          "class X: pass\n",
			"skill_manifest.yaml": manifest + "entry_point: " + form + "\nchecksum: " + strings.Repeat("0", 64) + "\nsignature: " + strings.Repeat("0", 64) + "\n",
		}
		_, err := Load(write(t, filepath.Join(t.TempDir(), "demo"), files), secret("x"), Policy{})
		if id := hubapi.AsError(err).ID(); err == nil || id != "sign.digest" {
			t.Errorf("%s: %v (%s), want sign.digest", form, err, id)
		}
	}
}

func TestLinksInASkillAreRefused(t *testing.T) {
	dir := write(t, filepath.Join(t.TempDir(), "demo"), map[string]string{"skill_manifest.yaml": manifest + entry})
	outside := write(t, t.TempDir(), map[string]string{"real.py": code})
	if err := os.Symlink(filepath.Join(outside, "real.py"), filepath.Join(dir, "main.py")); err != nil {
		if os.Getenv("KX_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("no links here:", err)
	}
	if _, err := Load(dir, sign.Secrets{}, Policy{}); err == nil || hubapi.AsError(err).ID() != "pack.symlink" {
		t.Errorf("%v, want pack.symlink", err)
	}
}

// compiled is the head of compiled Python, and something behind it.
func compiled(flags uint32, modified time.Time, size int) string {
	b := []byte{0xcb, 0x0d, 0x0d, 0x0a}
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = binary.LittleEndian.AppendUint32(b, uint32(modified.Unix()))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	return string(b) + "code"
}

// Section 12 no. 4: the reference runs a cache instead of the source that it verified.
func TestBytecodeThatCouldRunIsRefused(t *testing.T) {
	then := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		name, file, text string
		refused          bool
	}{
		{"of this source, as an interpreter leaves it", "__pycache__/main.cpython-312.pyc", compiled(0, then, len(code)), true},
		{"never checked against its source", "__pycache__/main.cpython-312.pyc", compiled(1, then, 1), true},
		{"checked by a hash, which says nothing about who made it", "__pycache__/main.cpython-312.pyc", compiled(3, then, 1), true},
		{"of an older source", "__pycache__/main.cpython-312.pyc", compiled(0, then.Add(-time.Hour), len(code)), false},
		{"of a source with another size", "__pycache__/main.cpython-312.opt-1.pyc", compiled(0, then, 1), false},
		{"too short to say", "__pycache__/main.cpython-312.pyc", "short", true},
		{"of no source", "__pycache__/gone.cpython-312.pyc", compiled(0, then, 1), true},
		{"beside its source", "main.pyc", compiled(0, then, 1), true},
		{"in a package", "pkg/__pycache__/helper.cpython-312.pyc", compiled(1, then, 1), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := with(signed(t, "s", ""), tt.file, tt.text)
			files["pkg/helper.py"] = ""
			dir := write(t, filepath.Join(t.TempDir(), "demo"), files)
			if err := os.Chtimes(filepath.Join(dir, "main.py"), then, then); err != nil {
				t.Fatal(err)
			}
			got, err := Load(dir, secret("s"), Policy{})
			if tt.refused {
				if err == nil || hubapi.AsError(err).ID() != IDBytecode {
					t.Fatalf("%v, want %s", err, IDBytecode)
				}
				return
			}
			if err != nil || len(got.Warnings) == 0 {
				t.Fatalf("%v, %+v; want a warning", err, got)
			}
			if _, there := got.Pack.File(tt.file); there {
				t.Error("the compiled file is among what is to be run")
			}
		})
	}
}

// The signature covers the entry file alone: what runs in its place is not loaded.
func TestModulesThatShadowTheEntryAreRefused(t *testing.T) {
	for file, id := range map[string]string{
		"main.cpython-311-x86_64-linux-gnu.so": "pack.extension-module",
		"helper.pyd":                           "pack.extension-module",
		"main/__init__.py":                     "pack.shadowed-module",
		"main/__init__.pyc":                    IDBytecode,
	} {
		dir := write(t, filepath.Join(t.TempDir(), "demo"), with(signed(t, "s", ""), file, "x"))
		if _, err := Load(dir, secret("s"), Policy{}); err == nil || hubapi.AsError(err).ID() != id {
			t.Errorf("%s: %v, want %s", file, err, id)
		}
	}
}

// hub list refuses such a folder, and so does every look at it alone.
func TestAFolderThatIsALinkIsRefused(t *testing.T) {
	root := t.TempDir()
	dir := write(t, filepath.Join(root, "demo"), signed(t, "s", ""))
	link := filepath.Join(root, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("no links here:", err)
	}
	for _, at := range []string{link, link + string(filepath.Separator)} {
		if _, err := Load(at, secret("s"), Policy{}); err == nil || hubapi.AsError(err).ID() != IDLink {
			t.Errorf("%s: %v, want %s", at, err, IDLink)
		}
	}
}

func TestWhatIsNoSkillIsNotFound(t *testing.T) {
	for _, dir := range []string{filepath.Join(t.TempDir(), "nonexistent"), t.TempDir()} {
		_, err := Load(dir, sign.Secrets{}, Policy{})
		if err == nil || hubapi.AsError(err).Code != hubapi.NotFound {
			t.Errorf("%s: %v, want not found", dir, err)
		}
	}
}

// Weakness 15 of the Kazma hub, hub_loader "load_all": one bad skill hides no other, and each is
// told of with its reason.
func TestDiscoverTellsOfEverySkill(t *testing.T) {
	root := t.TempDir()
	good := signed(t, "s", "")
	write(t, filepath.Join(root, "a-good"), good)
	write(t, filepath.Join(root, "b-tampered"), with(good, "main.py", "evil\n"))
	write(t, filepath.Join(root, "c-not-utf8"), map[string]string{"skill_manifest.yaml": "name: \xff\n"})
	write(t, filepath.Join(root, "d-int-entry"), map[string]string{"skill_manifest.yaml": manifest + "entry_point: {a: 1}\n"})
	write(t, filepath.Join(root, "e-no-skill"), map[string]string{"README.md": "nothing"})
	write(t, filepath.Join(root, "f-folder"), map[string]string{"skill_manifest.yaml/x": "a folder"})
	write(t, filepath.Join(root, "z-good"), map[string]string{"main.py": "", "skill_manifest.yaml": manifest})
	write(t, root, map[string]string{"file.txt": ""})
	linked := os.Symlink(filepath.Join(root, "a-good"), filepath.Join(root, "y-link")) == nil

	got, err := Discover(context.Background(), root, secret("s"), Policy{})
	if err != nil {
		t.Fatal(err)
	}
	var loaded, refused []string
	for _, l := range got.Loaded {
		loaded = append(loaded, l.Folder)
		if l.Pack != nil {
			t.Error("the files of every skill are held")
		}
	}
	for _, r := range got.Refused {
		refused = append(refused, r.Folder+" "+r.Err.ID())
	}
	if want := []string{"a-good", "z-good"}; !slices.Equal(loaded, want) {
		t.Errorf("loaded %v, want %v", loaded, want)
	}
	want := []string{"b-tampered sign.digest", "c-not-utf8 yaml.invalid-utf8", "d-int-entry entry.type", "f-folder pack.not-regular"}
	if linked {
		want = append(want, "y-link load.link")
	}
	if !slices.Equal(refused, want) {
		t.Errorf("refused %v, want %v", refused, want)
	}
	if !slices.ContainsFunc(got.Loaded[1].Warnings, func(w string) bool { return strings.Contains(w, "a-good") }) {
		t.Errorf("%v: nothing says that two folders have one name", got.Loaded[1].Warnings)
	}
	if none, err := Discover(context.Background(), filepath.Join(root, "nowhere"), sign.Secrets{}, Policy{}); err != nil || len(none.Loaded) > 0 {
		t.Errorf("without a folder: %v, %v", none, err)
	}
	if _, err := Discover(context.Background(), filepath.Join(root, "file.txt"), sign.Secrets{}, Policy{}); err == nil {
		t.Error("a file was taken for a folder of skills")
	}
}

// hub_loader "reload after edit": nothing is remembered between two looks.
func TestLoadSeesAnEdit(t *testing.T) {
	dir := write(t, filepath.Join(t.TempDir(), "demo"), map[string]string{"main.py": "a = 1\n", "skill_manifest.yaml": manifest})
	for _, text := range []string{"a = 1\n", "a = 2\n"} {
		write(t, dir, map[string]string{"main.py": text})
		got, err := Load(dir, sign.Secrets{}, Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if data, _ := got.Pack.File("main.py"); string(data) != text {
			t.Errorf("%q, want %q", data, text)
		}
	}
}
