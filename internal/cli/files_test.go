//go:build unix

package cli

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// place is a working directory with a KX_HOME of its own.
type place struct {
	t    *testing.T
	dir  string
	vars map[string]string
}

func newPlace(t *testing.T) *place {
	dir := t.TempDir()
	return &place{t, dir, map[string]string{"KX_HOME": filepath.Join(dir, ".home")}}
}

func (p *place) kxWith(stdin, name string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := p.env(append([]string{name}, args...)...)
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(stdin), &out, &errs
	code = Kx(env)
	return code, out.String(), errs.String()
}

// env is the surroundings of kx here, but for its streams.
func (p *place) env(args ...string) Env {
	return Env{
		Args: append([]string{"kx"}, args...), Getenv: func(k string) string { return p.vars[k] },
		Dir: p.dir, HomeDir: p.dir, OS: "linux", Now: time.Now, Rand: rand.Reader,
	}
}

func (p *place) kx(args ...string) (code int, stdout, stderr string) {
	return p.kxWith("", args[0], args[1:]...)
}

func (p *place) must(args ...string) string {
	p.t.Helper()
	code, stdout, stderr := p.kx(args...)
	if code != 0 {
		p.t.Fatalf("kx %v ends with %d:\n%s", args, code, stderr)
	}
	return stdout
}

// refuses wants a usage error that has a text and none of the others.
func (p *place) refuses(line, want string, never ...string) {
	p.t.Helper()
	code, _, stderr := p.kx(strings.Fields(line)...)
	if code != hubapi.ExitUsage || !strings.Contains(stderr, want) {
		p.t.Errorf("kx %s ends with %d, without %q:\n%s", line, code, want, stderr)
	}
	for _, text := range never {
		if strings.Contains(stderr, text) {
			p.t.Errorf("kx %s shows %q:\n%s", line, text, stderr)
		}
	}
}

func (p *place) write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func TestSettingsFilesAreReadStrictly(t *testing.T) {
	p := newPlace(t)
	for content, want := range map[string]string{
		"root:$6$hash:19000:0\n":                   "kx.yaml:1:",
		"root: hash\n":                             "kx.yaml:1: unknown setting; known here: endpoint, author",
		"endpont: x\n":                             "did you mean endpoint?",
		"# hash\nendpoint: [hash]\n":               "kx.yaml:2: endpoint must be one text",
		"endpoint: {root: hash}\n":                 "endpoint must be one text",
		"author:\n":                                "author must be one text",
		"author: null\n":                           "author must be one text",
		"author: a\nauthor: hash\n":                "kx.yaml:2:1: the file cannot be read as settings [yaml.duplicate-key]",
		"author: a\n" + strings.Repeat("#", 1<<16): "larger than 65536 bytes",
	} {
		p.write("kx.yaml", content)
		p.refuses("search", want, "root", "hash")
		_ = os.Remove(filepath.Join(p.dir, "kx.yaml"))
	}
	p.write("shadow", "author: hash\n")
	if err := os.Symlink("shadow", filepath.Join(p.dir, "kx.yaml")); err != nil {
		t.Fatal(err)
	}
	p.refuses("search", "not a regular file", "hash")
	_ = os.Remove(filepath.Join(p.dir, "kx.yaml"))
	if err := syscall.Mkfifo(filepath.Join(p.dir, "kx.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.refuses("search", "not a regular file")
}

func TestFilesOfTheUserAreBounded(t *testing.T) {
	p := newPlace(t)
	p.must("new", "skill", "triage")
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("big", strings.Repeat("x", 5<<20))
	for _, line := range []string{
		"search --endpoint http://127.0.0.1:1 --token-file %s",
		"search --endpoint https://127.0.0.1:1 --tls-ca %s",
		"sign triage --hmac --secret-file %s",
		"verify triage --previous-secret-file %s",
		"keys new me --passphrase-file %s",
	} {
		for _, file := range []string{"pipe", "/dev/zero", "triage"} {
			p.refuses(fmt.Sprintf(line, file), "not a regular file")
		}
		p.refuses(fmt.Sprintf(line, "big"), "larger than")
	}
	p.refuses("verify triage --signature pipe", "not a regular file")
	if code, stdout, _ := p.kx("verify", "triage", "--signature", "big"); code == 0 || !strings.Contains(stdout, "sign.too-large") {
		t.Errorf("%d %s", code, stdout)
	}
	if code, _, stderr := p.kxWith(strings.Repeat("x", maxSecret+1), "sign", "triage", "--hmac", "--secret-file", "-"); code != hubapi.ExitUsage {
		t.Errorf("%d %s", code, stderr)
	}
}

func TestLongTargetsMakeNothing(t *testing.T) {
	p := newPlace(t)
	p.must("new", "skill", "triage")
	for _, long := range []string{"deep/" + strings.Repeat("x", 256), strings.Repeat("deep/", 900)} {
		for _, args := range [][]string{{"new", "skill", "q", "--dir", long}, {"demo", "--dir", long}} {
			code, _, stderr := p.kx(args...)
			if code == 0 || !strings.Contains(stderr, "too long") || len(stderr) > 1000 {
				t.Errorf("%.60q: %d %.300s", args, code, stderr)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(p.dir, "deep")); err == nil {
		t.Error("something was made")
	}
}

func TestSigningTogetherKeepsEverySignature(t *testing.T) {
	p := newPlace(t)
	p.must("new", "skill", "triage")
	const signers = 6
	for i := range signers {
		p.must("keys", "new", fmt.Sprintf("key%d", i))
	}
	var group sync.WaitGroup
	for i := range signers {
		group.Go(func() {
			if code, _, stderr := p.kx("sign", "triage", "--key", fmt.Sprintf("key%d", i), "--author", "acme"); code != 0 {
				t.Errorf("%d: %s", i, stderr)
			}
		})
	}
	group.Wait()
	data, err := os.ReadFile(filepath.Join(p.dir, "triage@1.sig.json"))
	if n := bytes.Count(data, []byte(`"keyid"`)); err != nil || n != signers {
		t.Errorf("%d of %d signatures are left, %v", n, signers, err)
	}
}

func TestSigningKeepsTheModeOfAManifest(t *testing.T) {
	p := newPlace(t)
	p.must("new", "skill", "triage", "--format", "kazma")
	p.write("secret", "a shared secret of some length")
	manifest := filepath.Join(p.dir, "triage", "skill_manifest.yaml")
	if err := os.Chmod(manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	p.must("sign", "triage", "--secret-file", "secret")
	if info, err := os.Stat(manifest); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestKeysAreNotShown(t *testing.T) {
	p := newPlace(t)
	p.must("new", "skill", "triage")
	p.must("keys", "new", "me")
	pem, err := os.ReadFile(filepath.Join(p.dir, ".home", "keys", "me.key"))
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Split(string(pem), "\n")[1]
	for _, args := range [][]string{
		{"sign", "triage", "--key", string(pem)},
		{"sign", "triage", "--key", "PRIVATE KEY-----\n" + body},
		{"keys", "show", "-----BEGIN X-----" + body},
		{"push", string(pem)},
		{"check", "--format", string(pem), "triage"},
		{"sign", "triage", "--key", string(pem), "--json"},
	} {
		code, stdout, stderr := p.kx(args...)
		if code == 0 || strings.Contains(stdout+stderr, body) || strings.Contains(stdout+stderr, "BEGIN") {
			t.Errorf("%d:\n%s%s", code, stdout, stderr)
		}
	}
	q := newPlace(t)
	for mode, warned := range map[os.FileMode]bool{0o644: true, 0o640: true, 0o600: false, 0o400: false} {
		q.write("mine", string(pem))
		if err := os.Chmod(filepath.Join(q.dir, "mine"), mode); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := q.kx("keys", "import", fmt.Sprintf("me%o", mode), "mine")
		if code != 0 || strings.Contains(stderr, "chmod 600 mine") != warned {
			t.Errorf("%o: %d %s", mode, code, stderr)
		}
		_ = os.Remove(filepath.Join(q.dir, "mine"))
	}
}

func TestHomeIsAFolderOfItsOwn(t *testing.T) {
	p := newPlace(t)
	for _, home := range []string{"~", "~/kx", "~root/kx"} {
		p.vars["KX_HOME"] = home
		p.refuses("keys list", "was not expanded")
	}
	p.vars["KX_HOME"] = "here"
	_, _, stderr := p.kx("keys", "new", "me")
	if strings.Count(stderr, "KX_HOME is relative") != 1 {
		t.Error(stderr)
	}
	if _, err := os.Lstat(filepath.Join(p.dir, "here", "keys", "me.key")); err != nil {
		t.Error(err)
	}
}

func TestMessagesAboutFlagsAreOurs(t *testing.T) {
	p := newPlace(t)
	p.must("new", "skill", "triage")
	for line, want := range map[string]string{
		"sign triage --expires 3x":                 "kx: --expires needs a duration such as 720h",
		"sign triage --expires=":                   "kx: --expires needs a duration such as 720h",
		"check triage -j many":                     "kx: -j needs a whole number",
		"check triage --jobs 99999999999999999999": "kx: --jobs needs a whole number",
		"check triage --jobs -1":                   "kx: --jobs needs a positive number",
		"check triage --strict=perhaps":            "kx: --strict is true or false",
		"check triage --format":                    "kx: --format needs a value",
		"check triage -v":                          "kx: unknown flag -v\n  hint: kx check --help\n",
		"check triage -x":                          "kx: unknown flag -x\n  hint: kx check --help\n",
		"check triage --strct":                     "did you mean --strict?",
		"sign triage --version 1/2":                "cannot be a version in a hub",
		"new skill q --tool a/b@latest":            "skill.tools[a/b]",
	} {
		p.refuses(line, want, "strconv", "parse", "time:")
	}
	p.must("check", "triage", "-j", "9223372036854775807")
}

func TestCommandsOfTheDemoAreNotItsOwn(t *testing.T) {
	p := newPlace(t)
	if out := p.must("demo"); strings.Contains(out, "kx demo kx") {
		t.Error(out)
	}
}
