package source

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/kortecx/kx/hubapi"
)

// GitOptions say how repositories are reached. https is spoken by kx itself, unless
// System; ssh is always left to the user's own git and ssh, which know the user's
// keys, agents, proxies and known hosts.
type GitOptions struct {
	System  bool   // use the user's git for https too
	Program string // the user's git; empty looks for "git" in PATH
	// Token gives a token for a host, or nothing. It is asked only when that host wants
	// to know who is there, and before git's credential helpers.
	Token func(host string) string
	// Prompts lets ssh ask for a passphrase on the terminal.
	Prompts bool
	// TempDir is where the user's git may put a bare repository; empty: the system's
	// folder for such things. It is removed again.
	TempDir string
}

// bySystem tells whether a repository is fetched by the user's git.
func (s *Sources) bySystem(ref Ref) bool {
	return s.Git.System || isSCP(ref.Location) || strings.HasPrefix(ref.Location, "ssh://")
}

// token is what the caller has for a host.
func (s *Sources) token(u *url.URL) *githttp.BasicAuth {
	if s.Git.Token == nil {
		return nil
	}
	if token := s.Git.Token(u.Host); token != "" {
		return &githttp.BasicAuth{Username: "x-access-token", Password: token}
	}
	return nil
}

// credentials are what is known for a host: the caller's token, else what git's
// credential helpers give. Nil without an error means that nobody knows any. They go
// by https only, or to this machine.
func (s *Sources) credentials(ctx context.Context, u *url.URL) (*githttp.BasicAuth, error) {
	if u.Scheme != "https" && !loopback(u.Hostname()) {
		return nil, nil
	}
	if auth := s.token(u); auth != nil {
		return auth, nil
	}
	g, err := s.newGit(u.Scheme)
	if err != nil {
		return nil, nil // without git there are no helpers
	}
	defer g.remove()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ask := "protocol=" + u.Scheme + "\nhost=" + u.Host + "\npath=" + strings.TrimPrefix(u.Path, "/") + "\n\n"
	out, err := g.run(ctx, ask, "credential", "fill")
	if err != nil {
		return nil, nil // git says so when no helper knows anything
	}
	var auth githttp.BasicAuth
	for line := range strings.Lines(string(out)) {
		switch key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "="); key {
		case "username":
			auth.Username = value
		case "password":
			auth.Password = value
		}
	}
	if auth.Password == "" {
		return nil, nil
	}
	return &auth, nil
}

// userGit runs the user's git in an empty bare repository of its own, so that no
// configuration of the folder where kx was called has a say.
type userGit struct {
	program string
	dir     string
	allow   string
	options []string
	prompts bool
}

func (s *Sources) newGit(scheme string) (*userGit, error) {
	program := s.Git.Program
	if program == "" {
		var err error
		if program, err = exec.LookPath("git"); err != nil {
			return nil, hubapi.Errorf(hubapi.Unsupported, "git is needed for this and was not found").
				WithHint("install git, or use the https address of the repository")
		}
	}
	dir, err := os.MkdirTemp(s.Git.TempDir, "kx-git-*")
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Unavailable, "no folder for git: %v", err)
	}
	g := &userGit{program: program, dir: dir, allow: "https:ssh", prompts: s.Git.Prompts}
	if scheme == "http" {
		g.allow += ":http"
	}
	return g, nil
}

func (g *userGit) remove() { _ = os.RemoveAll(g.dir) }

// run gives what git writes. Its arguments come from us; what a user typed stands
// behind "--" only.
func (g *userGit) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	base := []string{
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "protocol.file.allow=never", "-c", "protocol.ext.allow=never",
		"-c", "http.followRedirects=false", "-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false",
		"-c", "fetch.writeCommitGraph=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "transfer.bundleURI=false",
	}
	cmd := exec.CommandContext(ctx, g.program, slices.Concat(base, g.options, args)...)
	cmd.Dir = g.dir
	cmd.WaitDelay = 5 * time.Second
	env := slices.DeleteFunc(cmd.Environ(), func(v string) bool {
		for _, name := range []string{"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_OBJECT_DIRECTORY=", "GIT_ALTERNATE_OBJECT_DIRECTORIES=", "GIT_NAMESPACE=", "GIT_TRACE", "GIT_CURL_VERBOSE="} {
			if strings.HasPrefix(v, name) {
				return true
			}
		}
		return false
	})
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL="+g.allow, "GIT_CEILING_DIRECTORIES="+filepath.Dir(g.dir), "LC_ALL=C")
	if !g.prompts {
		env = append(env, "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
		if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "GIT_SSH") }) {
			env = append(env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
		}
	}
	cmd.Env = env
	cmd.Stdin = strings.NewReader(stdin)
	var out, complaint capped
	out.limit, complaint.limit = 64<<20, 64<<10
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, &gitFailure{err: err, text: complaint.buf.String()}
	}
	if out.over {
		return nil, fail(hubapi.TooLarge, "fetch.too-large", "git answers with more than %d MiB", out.limit>>20)
	}
	return out.buf.Bytes(), nil
}

// capped keeps the beginning of what a program writes.
type capped struct {
	buf   bytes.Buffer
	limit int
	over  bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.limit - c.buf.Len()
	if len(p) > room {
		c.over = true
		c.buf.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return c.buf.Write(p)
}

type gitFailure struct {
	err  error
	text string
}

func (e *gitFailure) Error() string { return e.err.Error() + ": " + e.text }

// reason is the line that says most: git's own, or what ssh said before git could only
// say that it read nothing.
func (e *gitFailure) reason() string {
	last := ""
	for line := range strings.Lines(e.text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "warning:") || strings.HasPrefix(line, "@"):
			continue
		case last != "" && (strings.HasPrefix(line, "Host key verification failed") || strings.HasPrefix(line, "fatal: Could not read from remote")):
			return last
		}
		last = line
		if (strings.HasPrefix(line, "fatal:") || strings.HasPrefix(line, "error:")) && !strings.HasPrefix(line, "fatal: Could not read from remote") {
			break
		}
	}
	return last
}

// word puts a failure of git into the vocabulary.
func (e *gitFailure) word(ref Ref) error {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(e.text, w) })
	}
	last := e.reason()
	switch {
	case has("not our ref") && isCommit(ref.Rev):
		return commitGone(ref, ref.Rev)
	case has("REMOTE HOST IDENTIFICATION HAS CHANGED"):
		return fail(hubapi.Unauthorized, "source.auth", "the host key of %s has changed: %s", ref.Location, clip(last)).
			WithHint("somebody may be in between; ask who runs the host before you trust the new key")
	case has("Host key verification failed"):
		return fail(hubapi.Unauthorized, "source.auth", "the host key of %s is not known: %s", ref.Location, clip(last)).
			WithHint("connect once with ssh and compare the key")
	case has("Authentication failed", "could not read Username", "Permission denied", "terminal prompts disabled", "could not read Password", "returned error: 403", "returned error: 401"):
		return fail(hubapi.Unauthorized, "source.auth", "%s is private, or is not there: %s", ref.Location, clip(last)).
			WithHint("ssh needs a key in your agent, https a token in KX_GIT_TOKEN or git's credential helper")
	case has("not found", "does not appear to be a git repository", "does not exist"):
		return fail(hubapi.NotFound, "source.not-found", "there is no repository at %s: %s", ref.Location, clip(last))
	case has("redirect"):
		return fail(hubapi.Invalid, "url.redirect", "%s sends us on to another address, which is not followed", ref.Location)
	}
	return fail(hubapi.Unavailable, "fetch.unreachable", "git cannot read %s: %s", ref.Location, clip(last))
}

func wordGit(ref Ref, err error) error {
	if e, ok := errors.AsType[*gitFailure](err); ok {
		return e.word(ref)
	}
	return err
}

// openRemote prepares the user's git for one remote: the protocol it may speak, and
// the addresses that were checked, which it must use.
func (s *Sources) openRemote(ctx context.Context, ref Ref) (*userGit, error) {
	scheme, host, port, pin := "ssh", "", "22", false
	if isSCP(ref.Location) {
		_, rest, _ := strings.Cut(ref.Location, "@")
		host, _, _ = strings.Cut(rest, ":")
	} else {
		u, err := checkURL(ref.Location)
		if err != nil {
			return nil, err
		}
		scheme, host, port, pin = u.Scheme, u.Hostname(), portOf(u), u.Scheme != "ssh"
		if scheme == "http" {
			if _, err := s.web(ctx, u, 0, nil); err != nil {
				return nil, err
			}
		}
	}
	if err := s.Net.checkHosts(); err != nil {
		return nil, err
	}
	w := &web{net: s.Net}
	if loopback(host) && !s.Net.Recorded {
		w.typed = net.JoinHostPort(host, port)
	}
	addrs, err := w.addresses(ctx, host, port)
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return nil, e
	}
	if err != nil && pin {
		return nil, fail(hubapi.Unavailable, "fetch.unreachable", "cannot find %s: %v", host, err)
	}
	g, err := s.newGit(scheme) // a name that only ssh's configuration knows stays with ssh
	if err != nil {
		return nil, err
	}
	if pin && net.ParseIP(host) == nil {
		var list []string
		for _, a := range addrs {
			list = append(list, a.String())
		}
		g.options = []string{"-c", "http.curloptResolve=" + host + ":" + port + ":" + strings.Join(list, ",")}
	}
	return g, nil
}

// lsRemote asks a repository for its branches and tags by the user's git.
func (g *userGit) lsRemote(ctx context.Context, ref Ref) (names, error) {
	n := names{refs: map[string]plumbing.Hash{}}
	out, err := g.run(ctx, "", "ls-remote", "--", ref.Location)
	if err != nil {
		return n, wordGit(ref, err)
	}
	peeled := map[string]plumbing.Hash{}
	for line := range strings.Lines(string(out)) {
		id, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if !ok || !isCommit(id) {
			continue
		}
		h := plumbing.NewHash(id)
		if tag, ok := strings.CutSuffix(name, "^{}"); ok {
			peeled[tag] = h
			continue
		}
		switch {
		case name == "HEAD":
			n.head = h
		case strings.HasPrefix(name, "refs/heads/"), strings.HasPrefix(name, "refs/tags/"):
			n.refs[name] = h
		}
	}
	for name, h := range peeled {
		n.refs[name] = h
	}
	return n, nil
}

// fetchBySystem reads a repository with the user's git, into a bare repository that
// is removed again.
func (s *Sources) fetchBySystem(ctx context.Context, ref Ref, limits Limits) (*Fetched, error) {
	g, err := s.openRemote(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer g.remove()
	n, err := g.lsRemote(ctx, ref)
	if err != nil {
		return nil, err
	}
	if _, err := g.run(ctx, "", "init", "--quiet", "--bare", "--template="); err != nil {
		return nil, wordGit(ref, err)
	}
	c := &commits{names: n}
	found, commit, err := c.resolve(ref)
	everything := err != nil && isShort(ref.Rev)
	if err != nil && !everything {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	over := g.watch(ctx, limits.Packed, stop)
	s.progress(Progress{Ref: ref, What: "receiving"})
	fetch := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"}
	if everything {
		_, err = g.run(ctx, "", append(fetch, "--", ref.Location, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")...)
	} else {
		_, err = g.run(ctx, "", append(fetch, "--depth=1", "--", ref.Location, commit.String())...)
	}
	if over.Load() {
		return nil, fail(hubapi.TooLarge, "fetch.too-large", "the source sends more than %d MiB", limits.Packed>>20)
	}
	if err != nil {
		return nil, wordGit(ref, err)
	}
	opened, closeRepo, err := openGit(g.dir)
	if err != nil {
		return nil, err
	}
	defer closeRepo()
	if everything {
		if found, commit, err = opened.resolve(ref); err != nil {
			return nil, err
		}
	}
	return readCommit(ctx, opened.objects, found, commit, limits)
}

// watch ends a fetch that takes more room than a source may. Git has no such limit
// of its own.
func (g *userGit) watch(ctx context.Context, limit int64, stop context.CancelCauseFunc) *atomic.Bool {
	over := new(atomic.Bool)
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var size int64
			_ = filepath.WalkDir(g.dir, func(_ string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					if info, err := e.Info(); err == nil {
						size += info.Size()
					}
				}
				return nil
			})
			if size > limit {
				over.Store(true)
				stop(errors.New("too large"))
				return
			}
		}
	}()
	return over
}
