package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
)

// failedMany is an error about several things: all that is known of each, and what people
// read, where those that failed for the same reason share a line.
type failedMany struct{ all, brief *hubapi.Error }

func (e *failedMany) Error() string { return e.all.Error() }

// Unwrap gives the whole error, which --json shows.
func (e *failedMany) Unwrap() error { return e.all }

// failedAlike are failures of one cause.
type failedAlike struct {
	first int      // index of the first
	names []string // of the other skills that are not named in its text
}

// alike groups errors by cause: what the disk says of many skills, or the same words. The
// order is that of the first of each. What is nil is no failure.
func alike(errs []error) (out []failedAlike) {
	seen, named := map[string]int{}, map[[2]string]bool{}
	for i, err := range errs {
		if err == nil {
			continue
		}
		cause, name := causeOf(err)
		key := [2]string{cause, name}
		at, again := seen[cause]
		switch {
		case !again:
			seen[cause] = len(out)
			out = append(out, failedAlike{first: i})
		case name != "" && !named[key]:
			out[at].names = append(out[at].names, name)
		}
		named[key] = true
	}
	return out
}

// causeOf names the cause of a failure, and the skill where that is not part of it.
func causeOf(err error) (cause, name string) {
	if disk, ok := errors.AsType[*deliver.DiskError](err); ok {
		return "disk: " + disk.Cause(), disk.Slug
	}
	e := asHubError(err)
	return firstID(e) + ": " + e.Message, ""
}

// others says which others failed as the first did.
func (g failedAlike) others() string {
	const few = 3
	switch n := len(g.names); {
	case n == 0:
		return ""
	case n <= few:
		return "; the same for " + strings.Join(g.names, ", ")
	default:
		return fmt.Sprintf("; the same for %s and %d more (--json lists them all)", strings.Join(g.names[:few], ", "), n-few)
	}
}

// fewFailed leaves out what failed in the same folder for the same reason as another one,
// which names it.
func fewFailed(done []installed) (out []installed) {
	byDir := map[string]int{} // index in groups
	var groups []failedAlike
	for _, d := range done {
		if d.step != nil && d.step.Err != nil {
			cause, _ := causeOf(d.step.Err)
			key := filepath.Dir(d.Path) + "\n" + cause
			if at, again := byDir[key]; again {
				groups[at].names = append(groups[at].names, d.Name)
				continue
			}
			byDir[key] = len(groups)
			groups = append(groups, failedAlike{first: len(out)})
		}
		out = append(out, d)
	}
	for _, g := range groups {
		out[g.first].others = g.others()
	}
	return out
}
