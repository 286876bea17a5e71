package webhook_test

import (
	"os"
	"testing"

	"github.com/kortecx/kx/internal/timetest"
)

func TestMain(m *testing.M) {
	timetest.ManyWait(8)
	os.Exit(m.Run())
}
