//go:build !linux

package fsx

func (r *osRoot) LookOver(name string) (Sight, error) { return lookOver(r, name) }
