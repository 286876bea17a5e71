package hubapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hubapi"
)

func TestParseKazmaID(t *testing.T) {
	for id, want := range map[string]hubapi.Ref{
		"kazma-hub://alice/my-skill@1.2.3": {Author: "alice", Name: "my-skill", Version: "1.2.3"},
		"alice/my-skill@1.2.3":             {Author: "alice", Name: "my-skill", Version: "1.2.3"},
		"alice/my-skill":                   {Author: "alice", Name: "my-skill"},
		"my-skill":                         {Name: "my-skill"},
	} {
		got, err := hubapi.ParseKazmaID(id)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", id, err, diff)
		}
	}
	for _, id := range []string{
		"", "kazma-hub://", "kazma-hub://alice/my-skill", "kazma-hub://my-skill@1", "kazma-hub:///@", "Kazma-Hub://a/b@1",
		"kazma-hub://a/b@1\n", "kazma-hub://a/../b@1", "kazma-hub://a/../../x@1", "kazma-hub://a/b/c@1", "kazma-hub://a/b@1@2",
		"kazma-hub://kazma-hub://a/b@1", "a/b@..", "../x@1", "/a/b@1", "a/b@1/", "\x00", "\xff/a@1",
	} {
		if ref, err := hubapi.ParseKazmaID(id); err == nil || hubapi.AsError(err).Code != hubapi.Invalid {
			t.Errorf("%q: %v, %v", id, ref, err)
		}
	}
}

func TestIsSubmissionID(t *testing.T) {
	const id = "01234567-89ab-4cde-8f01-23456789abcd"
	if !hubapi.IsSubmissionID(id) {
		t.Error(id)
	}
	for _, other := range []string{"", "acme/demo", strings.ToUpper(id), id + "0", strings.Replace(id, "-", "0", 1), strings.Replace(id, "-4", "-1", 1), strings.Replace(id, "-8f", "-cf", 1)} {
		if hubapi.IsSubmissionID(other) {
			t.Error(other)
		}
	}
}

func TestKazmaTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("x", 3600))
	if got := hubapi.KazmaTime(at); got != "2026-01-02T02:04:05.000006+00:00" {
		t.Error(got)
	}
}

// What is read as an id can be written as one and read again, and is no path that
// leaves a folder.
func FuzzParseKazmaID(f *testing.F) {
	for _, seed := range []string{"kazma-hub://alice/my-skill@1.2.3", "a/b", "a", "kazma-hub://a/../x@1", "a/b@1@2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		ref, err := hubapi.ParseKazmaID(id)
		if err != nil {
			return
		}
		for _, part := range []string{ref.Author, ref.Name, ref.Version} {
			if part == "." || part == ".." || strings.ContainsAny(part, "/\\\x00\n@") {
				t.Errorf("%q has the part %q", id, part)
			}
		}
		if ref.Author == "" || ref.Version == "" {
			return
		}
		if again, err := hubapi.ParseKazmaID(hubapi.KazmaID(ref)); err != nil || again != ref {
			t.Errorf("%q: %v, %v", id, again, err)
		}
	})
}
