package source

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// git runs the system's git in a folder, away from the user's configuration.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("KX_TEST_ALL") != "" {
			t.Fatal("git is not on this machine")
		}
		t.Skip("git is not on this machine")
	}
}

// repository makes a repository with one commit on a branch of an unusual name.
func repository(t *testing.T, files map[string]string) (dir, commit string) {
	t.Helper()
	needGit(t)
	dir = write(t, files)
	git(t, dir, "init", "--quiet", "--initial-branch=trunk")
	return dir, commitAll(t, dir)
}

func commitAll(t *testing.T, dir string) string {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "--quiet", "--allow-empty", "-m", "change")
	return git(t, dir, "rev-parse", "HEAD")
}

// serveGit serves the repositories below root by git's own HTTP server.
func serveGit(t *testing.T, root string, around func(http.Handler) http.Handler) string {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	var h http.Handler = &cgi.Handler{
		Path: path, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_1=false"},
	}
	if around != nil {
		h = around(h)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestARepositoryIsReadAtABranchATagAndACommit(t *testing.T) {
	dir, _ := repository(t, map[string]string{
		"skills/alpha/SKILL.md": skill("alpha"), "skills/alpha/scripts/run.sh": "#!/bin/sh\n", "skills/beta/SKILL.md": skill("beta"),
		"node_modules/x/SKILL.md": skill("x"),
	})
	git(t, dir, "update-index", "--chmod=+x", "skills/alpha/scripts/run.sh")
	git(t, dir, "config", "core.fileMode", "false")
	git(t, dir, "commit", "--quiet", "--amend", "-m", "with the bit")
	first := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "tag", "-a", "-m", "one", "v1")
	if err := os.WriteFile(filepath.Join(dir, "skills", "beta", "SKILL.md"), []byte(skill("beta")+"new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	second := commitAll(t, dir)
	git(t, dir, "branch", "feature/x", first)

	root := t.TempDir()
	git(t, root, "clone", "--quiet", "--bare", dir, "r.git")
	url := serveGit(t, root, nil) + "/r.git"
	for name, s := range map[string]*Sources{"built in": {}, "system": {Git: GitOptions{System: true}}} {
		for _, tt := range []struct{ text, commit, paths string }{
			{url, second, "skills/alpha skills/beta"},
			{url + "@trunk", second, "skills/alpha skills/beta"},
			{url + "@v1", first, "skills/alpha skills/beta"},
			{url + "@feature/x", first, "skills/alpha skills/beta"},
			{url + "@" + second, second, "skills/alpha skills/beta"},
			{url + "@" + first[:8], first, "skills/alpha skills/beta"},
			{url + "//skills/beta@v1", first, "skills/beta"},
			{strings.TrimSuffix(url, ".git") + ".git//skills", second, "skills/alpha skills/beta"},
		} {
			got := fetch(t, s, tt.text)
			if got.Revision != tt.commit || strings.Join(paths(got), " ") != tt.paths {
				t.Errorf("%s: %s is %s with %q, want %s with %s", name, tt.text, got.Revision, paths(got), tt.commit, tt.paths)
			}
		}
		got := fetch(t, s, url)
		alpha, err := got.Pick("alpha")
		if err != nil {
			t.Fatal(err)
		}
		run := alpha.Pack.Files[slices.IndexFunc(alpha.Pack.Files, func(f pack.File) bool { return f.Path == "scripts/run.sh" })]
		if !run.Executable {
			t.Errorf("%s: the execute bit of scripts/run.sh is lost", name)
		}
		tree, err := s.Fetch(t.Context(), Ref{Kind: Git, Location: url, Tree: "feature/x/skills/beta"})
		if err != nil || tree.Revision != first || tree.Ref.Rev != "feature/x" || tree.Ref.Path != "skills/beta" || tree.Ref.Tree != "" {
			t.Errorf("%s: a web address: %+v, %v", name, tree, err)
		}
		_, err = s.Fetch(t.Context(), parse(t, url+"@nothing"))
		refused(t, err, "source.no-rev")
		gone := strings.Repeat("eb52d42f", 5)
		_, err = s.Fetch(t.Context(), parse(t, url+"@"+gone))
		if e := refused(t, err, "source.no-rev"); e.Message != url+" no longer has the commit "+gone || !strings.Contains(e.Hint, "name a branch") {
			t.Errorf("%s: %s (%s)", name, e.Message, e.Hint)
		}
		_, err = s.Fetch(t.Context(), parse(t, url+"//nothing"))
		refused(t, err, "source.not-found")
		_, err = s.Fetch(t.Context(), parse(t, strings.Replace(url, "r.git", "no.git", 1)))
		refused(t, err, "source.not-found")
	}
	for _, at := range []string{dir, filepath.Join(root, "r.git")} {
		s := &Sources{Dir: filepath.Dir(at)}
		for rev, commit := range map[string]string{"HEAD": second, "v1": first, "feature/x": first, first: first, first[:9]: first} {
			got := fetch(t, s, "./"+filepath.Base(at)+"@"+rev)
			if got.Revision != commit || len(got.Found) != 2 {
				t.Errorf("%s@%s is %s with %q", at, rev, got.Revision, paths(got))
			}
		}
	}
}

func TestARepositoryThatIsAPackMayHaveAnotherName(t *testing.T) {
	dir, _ := repository(t, map[string]string{"SKILL.md": skill("triage"), "more/SKILL.md": skill("more")})
	got := fetch(t, &Sources{Dir: filepath.Dir(dir)}, "./"+filepath.Base(dir)+"@HEAD")
	if f, err := got.Pick(""); err != nil || f.Name != "triage" || f.Path != "" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestABranchAndATagOfOneNameAreAmbiguous(t *testing.T) {
	dir, first := repository(t, map[string]string{"a/SKILL.md": skill("a")})
	git(t, dir, "tag", "x")
	commitAll(t, dir)
	git(t, dir, "branch", "x")
	s := &Sources{Dir: filepath.Dir(dir)}
	_, err := s.Fetch(t.Context(), parse(t, "./"+filepath.Base(dir)+"@x"))
	refused(t, err, "source.ambiguous")
	if got := fetch(t, s, "./"+filepath.Base(dir)+"@refs/tags/x"); got.Revision != first {
		t.Errorf("the tag is %s, want %s", got.Revision, first)
	}
}

// E4 and E6: submodules, filters and large files are said, links refused.
func TestWhatARepositoryHoldsIsNeverRun(t *testing.T) {
	dir, _ := repository(t, map[string]string{
		"a/SKILL.md": skill("a"), "a/big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
		".gitattributes": "*.bin filter=lfs\n", "bad/SKILL.md": skill("bad"),
	})
	symlink(t, "/etc/passwd", filepath.Join(dir, "bad", "secret.md"))
	git(t, dir, "update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,sub")
	git(t, dir, "add", "bad")
	git(t, dir, "commit", "--quiet", "-m", "x")
	got := fetch(t, &Sources{Dir: filepath.Dir(dir)}, "./"+filepath.Base(dir)+"@HEAD")
	var ids []string
	for _, n := range got.Notes {
		ids = append(ids, n.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"source.filter", "source.lfs", "source.submodule"}) {
		t.Errorf("notes %q", ids)
	}
	refused(t, second(got.Pick("bad")), "pack.symlink")
	if _, err := got.Pick("a"); err != nil {
		t.Error(err)
	}
}

// E5: the names that other disks take for .git.
func TestAnEntryThatMeansGitsOwnFolderIsRefused(t *testing.T) {
	dir, _ := repository(t, map[string]string{"a/SKILL.md": skill("a")})
	blob := git(t, dir, "rev-parse", "HEAD:a/SKILL.md")
	for _, name := range []string{".git", ".GIT", "git~1", ".g\u200cit"} {
		tree := makeTree(t, dir, "100644 blob "+blob+"\t"+name+"\n")
		commit := git(t, dir, "commit-tree", "-m", "x", tree)
		git(t, dir, "update-ref", "refs/heads/evil", commit)
		_, err := (&Sources{Dir: filepath.Dir(dir)}).Fetch(t.Context(), parse(t, "./"+filepath.Base(dir)+"@evil"))
		refused(t, err, "path.dotgit")
	}
}

func makeTree(t *testing.T, dir, text string) string {
	t.Helper()
	cmd := exec.Command("git", "mktree")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestLimitsOfARepository(t *testing.T) {
	dir, _ := repository(t, map[string]string{"a/SKILL.md": skill("a"), "a/zeros.txt": strings.Repeat("0", 5<<20)})
	root := t.TempDir()
	git(t, root, "clone", "--quiet", "--bare", dir, "r.git")
	url := serveGit(t, root, nil) + "/r.git"
	_, err := (&Sources{Limits: Limits{Bytes: 1 << 20}}).Fetch(t.Context(), parse(t, url))
	refused(t, err, "fetch.too-large")
	_, err = (&Sources{Limits: Limits{Objects: 2}}).Fetch(t.Context(), parse(t, url))
	refused(t, err, "source.too-many")
	_, err = (&Sources{Limits: Limits{Packed: 600}}).Fetch(t.Context(), parse(t, url))
	refused(t, err, "fetch.too-large")
}

// E11, peers 7: a token is for its own host, and is in no error and no record.
func TestCredentialsGoToWhoAsksForThemAndNowhereElse(t *testing.T) {
	dir, _ := repository(t, map[string]string{"a/SKILL.md": skill("a")})
	root := t.TempDir()
	git(t, root, "clone", "--quiet", "--bare", dir, "r.git")
	var seen []string
	url := serveGit(t, root, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, ok := r.BasicAuth()
			seen = append(seen, user+":"+password)
			if !ok || password != "s3cret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}) + "/r.git"
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/r.git")

	s := &Sources{Git: GitOptions{Token: func(h string) string {
		if h == host {
			return "s3cret"
		}
		return "other"
	}}}
	got := fetch(t, s, url)
	if seen[0] != ":" || !slices.Contains(seen, "x-access-token:s3cret") || slices.Contains(seen, "x-access-token:other") {
		t.Errorf("the server saw %q", seen)
	}
	if strings.Contains(got.Ref.String(), "s3cret") {
		t.Errorf("the token is in %s", got.Ref)
	}

	// Without a token git's own helpers are asked.
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "credential.helper")
	t.Setenv("GIT_CONFIG_VALUE_0", "!f() { test \"$1\" = get && echo username=me && echo password=s3cret; }; f")
	if got := fetch(t, &Sources{}, url); len(got.Found) != 1 {
		t.Errorf("by the helper: %+v", got)
	}
	t.Setenv("GIT_CONFIG_VALUE_0", "!f() { test \"$1\" = get && echo username=me && echo password=wr0ng; }; f")
	_, err := (&Sources{}).Fetch(t.Context(), parse(t, url))
	if e := refused(t, err, "source.auth"); strings.Contains(e.Error()+e.Hint, "wr0ng") || e.Code != hubapi.Unauthorized {
		t.Errorf("%v: %s", e.Code, e)
	}
	t.Setenv("GIT_CONFIG_VALUE_0", "")
	_, err = (&Sources{}).Fetch(t.Context(), parse(t, url))
	refused(t, err, "source.auth")
}

// E6: a folder of a repository that is reached through a link of its tree, or that is a
// file, is refused; neither is followed.
func TestAFolderOfARepositoryIsNoLinkAndNoFile(t *testing.T) {
	dir, _ := repository(t, map[string]string{"skills/alpha/SKILL.md": skill("alpha")})
	symlink(t, "skills", filepath.Join(dir, "link"))
	commitAll(t, dir)
	for name, s := range map[string]*Sources{"built in": {Dir: filepath.Dir(dir)}, "system": {Dir: filepath.Dir(dir), Git: GitOptions{System: true}}} {
		for path, id := range map[string]string{"link": "pack.symlink", "link/alpha": "pack.symlink", "skills/alpha/SKILL.md": "source.not-folder", "skills/alpha/SKILL.md/x": "source.not-folder"} {
			_, err := s.Fetch(t.Context(), parse(t, "./"+filepath.Base(dir)+"//"+path+"@HEAD"))
			if refusal(err) != id {
				t.Errorf("%s: %s: %v, want %s", name, path, err, id)
			}
		}
	}
}
