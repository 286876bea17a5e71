package cli

import (
	"os"
	"testing"

	"github.com/kortecx/kx/internal/memtest"
)

func TestMain(m *testing.M) { os.Exit(memtest.Run(m)) }
