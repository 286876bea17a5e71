// Package memtest keeps what tests write in memory, where a machine has a place for it.
//
// Tests make and remove tens of thousands of small files. A disk's file system takes more
// time for that than everything else that tests do: ext4 without a journal looks, for each
// new file, through all that were removed in the last minutes. What a killed process leaves
// is the same in memory. Where KX_TEST_ALL asks for every test, and where TMPDIR names a
// place, tests write where they would without this package, so that .ci/run runs all of
// them on a disk.
//
// A package's TestMain calls Run. Tests only.
package memtest

import (
	"os"
	"testing"
)

// enough is the least room in memory that is taken: several times what all tests hold at
// once, which is some 100 MB. Containers often have 64 MB.
const enough = 512 << 20

// Run runs the tests of a package with their temporary folders in memory.
func Run(m *testing.M) int {
	defer Use()()
	return m.Run()
}

// Use is Run for a TestMain that runs its tests some other way. It gives the function that
// removes what is left.
func Use() (remove func()) {
	if os.Getenv("TMPDIR") != "" || os.Getenv("KX_TEST_ALL") != "" || !roomy(place, enough) {
		return func() {}
	}
	dir, err := os.MkdirTemp(place, "kx-")
	if err != nil {
		return func() {}
	}
	_ = os.Chmod(dir, 0o755) // as /tmp is: some tests go on as another user
	_ = os.Setenv("TMPDIR", dir)
	return func() { _ = os.RemoveAll(dir) }
}
