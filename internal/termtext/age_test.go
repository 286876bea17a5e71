package termtext_test

import (
	"testing"
	"time"

	"github.com/kortecx/kx/internal/termtext"
)

func TestAgo(t *testing.T) {
	for age, want := range map[time.Duration]string{
		-time.Hour: "now", 999 * time.Millisecond: "now", time.Second: "1 s ago", 119 * time.Second: "119 s ago",
		2 * time.Minute: "2 min ago", 119 * time.Minute: "119 min ago", 2 * time.Hour: "2 h ago", 47 * time.Hour: "47 h ago",
		48 * time.Hour: "2 days ago", 1000 * time.Hour: "41 days ago",
	} {
		if got := termtext.Ago(age); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
}
