package cli

import (
	"crypto/rand"
	"os"
	"sync"
	"testing"

	"github.com/kortecx/kx/internal/fsx"
)

// One of two kx that ran for the first time read the owner id while the other wrote it,
// and gave up; a power cut could leave an empty one, with which no kx worked any more.
func TestFirstRunsAtTheSameTimeHaveOneOwner(t *testing.T) {
	for range 40 {
		env, _, _ := testEnv(t, nil)
		env.Rand = rand.Reader
		var group sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			group.Go(func() {
				a := &app{Env: env, program: "kx"}
				id, err := a.ownerID()
				if err != nil {
					t.Error(err)
				}
				ids[i] = id
			})
		}
		group.Wait()
		for _, id := range ids {
			if id == "" || id != ids[0] {
				t.Fatalf("the owners are %q", ids)
			}
		}
		files, err := os.ReadDir(env.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if fsx.IsStaged(f.Name()) {
				t.Errorf("%s is left over", f.Name())
			}
		}
	}
}
