package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// attributesLine makes git call the merge driver.
const attributesLine = deliver.LockFile + " merge=kx-lock"

func (a *app) skillsMergeLock() *cli.Command {
	return a.leaf("merge-lock", "merge two versions of kx-lock.json by skill, for git", spec{
		args: "[BASE OURS THEIRS]", max: 3, there: 1,
		long: "The merge driver of git for kx-lock.json: writes the result into OURS. What one side changed is taken, folders of a\n" +
			"skill are merged on their own, and a skill on which the sides disagree is kept twice between marks; then the exit\n" +
			"code is 1, and no command uses the file until somebody has decided.\n\n" +
			"With --setup it names the file in .gitattributes and says which two git config lines make git use it. Git keeps\n" +
			"them for each clone, because they run a program: run them in every one.",
		examples: []example{{"skills merge-lock --setup", "once for a project"}},
	}, []cli.Flag{
		&cli.BoolFlag{Name: "setup", Usage: "write .gitattributes in the project, and print the git config lines"},
		jsonFlag(),
	}, a.runMergeLock)
}

// mergedLock is the --json document of kx skills merge-lock.
type mergedLock struct {
	Path      string   `json:"path"`      // what was written
	Conflicts []string `json:"conflicts"` // skills on which the sides disagree
	Config    []string `json:"config,omitempty"`
}

func (a *app) runMergeLock(_ context.Context, c *cli.Command) error {
	if c.Bool("setup") {
		return a.setUpMergeLock(c)
	}
	if c.NArg() != 3 {
		return usagef("name the three versions as git does: BASE OURS THEIRS, or say --setup")
	}
	var sides [3][]byte
	for i := range sides {
		path := a.path(c.Args().Get(i))
		data, err := readLimited(path, 1<<24)
		if err != nil {
			return usagef("cannot read %s: %v", c.Args().Get(i), err)
		}
		sides[i] = data
	}
	merged, conflicts, err := deliver.MergeLocks(sides[0], sides[1], sides[2])
	if err != nil {
		return err
	}
	ours := a.path(c.Args().Get(1))
	if err := fsx.WriteFileAt(ours, merged, 0o644); err != nil {
		return err
	}
	if conflicts == nil {
		conflicts = []string{}
	}
	if c.Bool("json") {
		if err := a.printJSON(mergedLock{Path: ours, Conflicts: conflicts}); err != nil {
			return err
		}
	} else if len(conflicts) == 0 {
		name := c.Args().Get(1)
		if strings.HasPrefix(name, ".merge_file_") { // git's, which nobody has ever seen
			name = deliver.LockFile
		}
		a.printf("merged %s\n", name)
	}
	if len(conflicts) == 0 {
		return nil
	}
	return hubapi.Errorf(hubapi.Conflict, "the sides disagree about %s", strings.Join(conflicts, ", ")).
		With(hubapi.Detail{ID: deliver.IDLockConflict, Message: "both lines are kept between marks", File: deliver.LockFile}).
		WithHint("keep one line of each and take the marks out, then run kx skills install")
}

// inRepository tells whether git works in a folder: it or one above has .git, a folder or
// the file of a worktree.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

func (a *app) setUpMergeLock(c *cli.Command) error {
	if c.NArg() > 0 {
		return usagef("--setup merges nothing, so no versions can be named")
	}
	project, err := a.findProject()
	if err != nil {
		return err
	}
	if project == "" {
		if project, err = filepath.Abs(a.path(".")); err != nil {
			return err
		}
	}
	if !inRepository(project) {
		return usagef("%s is in no git repository, and only git reads .gitattributes", project).
			WithHint("stand in the project, after git init or git clone")
	}
	file := filepath.Join(project, ".gitattributes")
	data, err := readLimited(file, maxSettings)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := false
	for line := range strings.Lines(string(data)) {
		known = known || strings.Join(strings.Fields(line), " ") == attributesLine
	}
	if !known {
		if len(data) > 0 && data[len(data)-1] != '\n' {
			data = append(data, '\n')
		}
		if err := fsx.WriteFileAt(file, append(data, attributesLine+"\n"...), 0o644); err != nil {
			return err
		}
	}
	doc := mergedLock{Path: file, Conflicts: []string{}, Config: []string{
		`git config merge.kx-lock.name "kx-lock.json by skill"`,
		`git config merge.kx-lock.driver "kx skills merge-lock %O %A %B"`,
	}}
	if c.Bool("json") {
		return a.printJSON(doc)
	}
	a.printf("%s names the lock; in every clone run:\n", file)
	for _, line := range doc.Config {
		a.printf("  %s\n", line)
	}
	return nil
}
