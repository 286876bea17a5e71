//go:build !linux

package fsx

func (r *osRoot) LookOver(name string) (Sight, error) { return lookOver(r, name) }

// LookAgain is LookOver, which knows best how this system is asked.
func (r *osRoot) LookAgain(name, _ string) (Sight, error) { return r.LookOver(name) }
