package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
)

// A full disk said the same about each of a hundred skills, in a hundred lines.
func TestFailuresOfOneCauseShareALine(t *testing.T) {
	disk := func(i int, why error) error {
		name := fmt.Sprint("s", i)
		return &deliver.DiskError{Doing: "install", Slug: name, Err: &fs.PathError{Op: "create", Path: "/disk/" + name, Err: why}}
	}
	var errs []error
	for i := range 100 {
		errs = append(errs, nil, disk(i, syscall.ENOSPC))
	}
	errs = append(errs, disk(100, syscall.EACCES), errors.New("other"), errors.New("other"), disk(101, syscall.EACCES))
	tree := func(a *app) *cli.Command {
		return a.group("kx", "test", "", a.leaf("fill", "fail often", spec{}, []cli.Flag{jsonFlag()}, func(context.Context, *cli.Command) error {
			return failures("were not installed", errs)
		}))
	}
	env, _, stderr := testEnv(t, nil, "fill")
	run(env, "kx", tree)
	want := strings.Join([]string{
		"kx: 104 of 204 were not installed: install s0: create /disk/s0: no space left on device; the same for s1, s2, s3 and 96 more (--json lists them all)",
		"  install s100: create /disk/s100: permission denied; the same for s101",
		"  other",
		"  hint: free some space on that disk, and run it again",
		"",
	}, "\n")
	if got := stderr.String(); got != want {
		t.Errorf("%s", got)
	}
	env, stdout, _ := testEnv(t, nil, "fill", "--json")
	if code := run(env, "kx", tree); code != hubapi.NoSpace.Exit() || strings.Count(stdout.String(), `"message"`) != 1+104 {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

func TestRowsOfOneCauseShareALine(t *testing.T) {
	var done []installed
	for _, dir := range []string{"a", "b"} {
		for i := range 4 {
			name := fmt.Sprint("s", i)
			d := installed{Name: name, Path: filepath.Join(dir, name), step: &deliver.Step{}}
			if i > 0 {
				d.step.Err = &deliver.DiskError{Doing: "install", Slug: name, Err: &fs.PathError{Op: "create", Path: d.Path, Err: syscall.ENOSPC}}
			}
			done = append(done, d)
		}
	}
	got := ""
	for _, d := range fewFailed(done) {
		got += filepath.ToSlash(d.Path) + d.others + "\n"
	}
	if want := "a/s0\na/s1; the same for s2, s3\nb/s0\nb/s1; the same for s2, s3\n"; got != want {
		t.Errorf("%s", got)
	}
}

// A skill that failed in two folders was named as another one that failed.
func TestTheFirstOfACauseIsNoneOfTheOthers(t *testing.T) {
	var errs []error
	for _, at := range []string{"a/s0", "b/s0", "a/s1", "b/s1"} {
		errs = append(errs, &deliver.DiskError{Doing: "install", Slug: filepath.Base(at), Err: &fs.PathError{Op: "create", Path: at, Err: syscall.ENOSPC}})
	}
	got := alike(errs)
	if len(got) != 1 || got[0].first != 0 || got[0].others() != "; the same for s1" {
		t.Errorf("%+v", got)
	}
}

// What a lock's skills are told of came in another order each time, as they are judged
// several at a time.
func TestRemarksAreInOneOrder(t *testing.T) {
	told := func(first, second string) string {
		env, _, stderr := testEnv(t, nil, "remark")
		run(env, "kx", func(a *app) *cli.Command {
			return a.group("kx", "test", "", a.leaf("remark", "say something", spec{}, nil, func(context.Context, *cli.Command) error {
				var n notes
				for _, name := range []string{first, second} {
					n.Warn("%s is odd", name)
					n.Unsigned(name)
				}
				lines := n.lines()
				n.print(a)
				if got := strings.Count(stderr.String(), "\n"); got != len(lines) {
					t.Errorf("%d lines are printed of %q", got, lines)
				}
				for i, line := range strings.Split(strings.TrimSpace(stderr.String()), "\n") {
					if !strings.HasSuffix(line, lines[i]) {
						t.Errorf("%q is not %q", line, lines[i])
					}
				}
				return nil
			}))
		})
		return stderr.String()
	}
	if one, other := told("a", "b"), told("b", "a"); one != other || !strings.Contains(one, "a is odd") {
		t.Errorf("%q, then %q", one, other)
	}
}
