package mcpapi_test

import (
	"os"
	"testing"

	"github.com/kortecx/kx/hub/storetest"
)

// R12: no goroutine is left behind.
func TestMain(m *testing.M) { os.Exit(storetest.RunAll(m)) }
