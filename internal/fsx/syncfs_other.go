//go:build !linux

package fsx

import "errors"

func (r *osRoot) syncWhole(string) error { return errors.ErrUnsupported }
