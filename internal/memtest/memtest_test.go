package memtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUse(t *testing.T) {
	for _, tt := range []struct {
		name, temp, all string
		memory          bool
	}{
		{"by itself", "", "", roomy(place, enough)},
		{"a place that is named", t.TempDir(), "", false},
		{"every test is asked for", "", "1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TMPDIR", tt.temp)
			t.Setenv("KX_TEST_ALL", tt.all)
			remove := Use()
			dir := os.Getenv("TMPDIR")
			if got := dir != tt.temp; got != tt.memory {
				t.Fatalf("TMPDIR is %q", dir)
			}
			if !tt.memory {
				remove()
				return
			}
			if !strings.HasPrefix(dir, place) {
				t.Errorf("%s is not below %s", dir, place)
			}
			if err := os.WriteFile(filepath.Join(dir, "left"), nil, 0o600); err != nil {
				t.Error(err)
			}
			remove()
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", dir, err)
			}
		})
	}
}

func TestRoomy(t *testing.T) {
	if roomy(filepath.Join(t.TempDir(), "nowhere"), 1) {
		t.Error("a folder that is not there has room")
	}
	if place != "" && roomy(place, 1<<62) {
		t.Error("there is room for more than there is memory")
	}
	if place != "" && roomy("/proc", 0) {
		t.Error("what is not a file system in memory is taken for one")
	}
}
