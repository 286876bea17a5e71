//go:build unix

package source

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
)

// fakeSSH stands for ssh between git and a repository: it notes how it was called, and
// then runs what would run at the other end. Hosts of some names refuse as ssh does.
const fakeSSH = `#!/bin/sh
printf '%s\n' "$*" >>"$KX_TEST_SSH/calls"
while :; do
	case "$1" in
	-o|-p) shift 2 ;;
	-o*|-4|-6) shift ;;
	-*) echo "ssh: unknown option $1" >&2; exit 255 ;;
	*) break ;;
	esac
done
case "$1" in
*unknown*)
	echo 'No ED25519 host key is known for unknown.example.com and you have requested strict checking.' >&2
	echo 'Host key verification failed.' >&2; exit 255 ;;
*changed*)
	echo '@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @' >&2
	echo 'Offending ECDSA key in /home/me/.ssh/known_hosts:3' >&2
	echo 'Host key verification failed.' >&2; exit 255 ;;
*private*) echo 'git@private.example.com: Permission denied (publickey).' >&2; exit 255 ;;
*silent*) exit 255 ;;
esac
shift
eval "set -- $*"
[ "$1" = git-upload-pack ] || { echo "no $1 here" >&2; exit 1; }
exec git upload-pack "$KX_TEST_SSH/${2#/}"
`

// overSSH is a folder with a bare repository r.git, where ssh is the one above.
func overSSH(t *testing.T) (s *Sources, dir, first, second string) {
	t.Helper()
	at, first := repository(t, map[string]string{"skills/alpha/SKILL.md": skill("alpha"), "skills/beta/SKILL.md": skill("beta")})
	git(t, at, "tag", "-a", "-m", "one", "v1")
	second = commitAll(t, at)
	dir = t.TempDir()
	git(t, dir, "clone", "--quiet", "--bare", at, "team/r.git")
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(fakeSSH), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KX_TEST_SSH", dir)
	t.Setenv("GIT_SSH_COMMAND", filepath.Join(dir, "ssh"))
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	return &Sources{Net: Net{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	}, AllowPrivate: true}}, dir, first, second
}

// calls are how ssh was called since they were last looked at.
func calls(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "calls")
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	_ = os.Remove(file)
	return string(data)
}

// Peers 7: what is private is read by the user's own git and ssh.
func TestARepositoryIsReadOverSSH(t *testing.T) {
	s, dir, first, second := overSSH(t)
	for _, tt := range []struct{ text, commit, paths, called string }{
		{"ssh://git@git.example.com:2222/team/r.git", second, "skills/alpha skills/beta", "-p 2222 git@git.example.com git-upload-pack '/team/r.git'"},
		{"ssh://git.example.com/team/r.git@v1", first, "skills/alpha skills/beta", " git.example.com git-upload-pack '/team/r.git'"},
		{"git@git.example.com:team/r.git", second, "skills/alpha skills/beta", " git@git.example.com git-upload-pack 'team/r.git'"},
		{"git@git.example.com:team/r.git//skills/beta@trunk", second, "skills/beta", " git@git.example.com git-upload-pack 'team/r.git'"},
		{"git@git.example.com:team/r.git@" + first, first, "skills/alpha skills/beta", "git-upload-pack"},
		{"git@git.example.com:team/r.git@" + first[:8], first, "skills/alpha skills/beta", "git-upload-pack"},
	} {
		got := fetch(t, s, tt.text)
		if got.Revision != tt.commit || strings.Join(paths(got), " ") != tt.paths {
			t.Errorf("%s is %s with %q", tt.text, got.Revision, paths(got))
		}
		if seen := calls(t, dir); !strings.Contains(seen, tt.called) {
			t.Errorf("%s: ssh was called\n%s", tt.text, seen)
		}
	}
}

// Where the user chose no ssh, it is told to ask nothing, unless it may.
func TestSSHAsksNothingUnlessItMay(t *testing.T) {
	s, dir, _, _ := overSSH(t)
	t.Setenv("GIT_SSH_COMMAND", "")
	if err := os.Unsetenv("GIT_SSH_COMMAND"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, prompts := range []bool{false, true} {
		s.Git.Prompts = prompts
		fetch(t, s, "git@git.example.com:team/r.git")
		if seen := calls(t, dir); strings.Contains(seen, "-oBatchMode=yes") == prompts {
			t.Errorf("prompts %t: %s", prompts, seen)
		}
	}
}

func TestWhatSSHRefusesIsSaid(t *testing.T) {
	s, _, _, _ := overSSH(t)
	for _, tt := range []struct {
		text, id string
		code     hubapi.Code
		says     []string
	}{
		{"git@unknown.example.com:team/r.git", "source.auth", hubapi.Unauthorized, []string{"host key", "No ED25519 host key is known for unknown.example.com", "compare"}},
		{"ssh://git@changed.example.com/team/r.git", "source.auth", hubapi.Unauthorized, []string{"host key", "changed", "known_hosts:3", "somebody"}},
		{"git@private.example.com:team/r.git", "source.auth", hubapi.Unauthorized, []string{"Permission denied (publickey)", "key in your agent"}},
		{"git@silent.example.com:team/r.git", "fetch.unreachable", hubapi.Unavailable, []string{"silent.example.com"}},
		{"git@git.example.com:team/none.git", "source.not-found", hubapi.NotFound, []string{"no repository"}},
	} {
		_, err := s.Fetch(t.Context(), parse(t, tt.text))
		e := refused(t, err, tt.id)
		for _, word := range tt.says {
			if !strings.Contains(e.Message+"; "+e.Hint, word) {
				t.Errorf("%s: no %q in %s; %s", tt.text, word, e.Message, e.Hint)
			}
		}
		if e.Code != tt.code {
			t.Errorf("%s: %s", tt.text, e.Code)
		}
	}
}

// E1 and E2: what looks like an option is neither a host nor a repository, also in a
// reference that was not typed, as from a lock: ssh is not even called.
func TestAnOptionIsNoHostOfSSH(t *testing.T) {
	s, dir, _, _ := overSSH(t)
	mark := filepath.Join(dir, "pwned")
	for _, text := range []string{
		"ssh://-oProxyCommand=touch " + mark + "/r.git", "ssh://git@-oProxyCommand=touch " + mark + "/r.git", "ssh://-oProxyCommand=x/r.git",
		"git@-oProxyCommand=touch " + mark + ":r.git", "-oProxyCommand=touch " + mark, "-oProxyCommand=x@git.example.com:r.git", "--upload-pack=touch " + mark,
	} {
		if ref, err := Parse(text, ParseOptions{}); err == nil {
			t.Errorf("%q is %+v", text, ref)
		}
		if _, err := s.Fetch(t.Context(), Ref{Kind: Git, Location: text}); err == nil {
			t.Errorf("%q was fetched", text)
		}
	}
	// A path that looks like one stays a path.
	_, err := s.Fetch(t.Context(), Ref{Kind: Git, Location: "git@git.example.com:--upload-pack=touch " + mark})
	if err == nil {
		t.Error("it was fetched")
	}
	if seen := calls(t, dir); strings.Contains(seen, "ProxyCommand") {
		t.Errorf("ssh was called: %s", seen)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a command was run")
	}
}
