//go:build !linux && !darwin

package fsx

import (
	"errors"
	"os"
)

const (
	renameNoReplace = 1
	renameExchange  = 2
)

func renameAt(*os.File, string, *os.File, string, int) error { return errors.ErrUnsupported }
