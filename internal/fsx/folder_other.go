//go:build !linux

package fsx

// OpenFolder opens the folder at dir, which may be a symbolic link.
func OpenFolder(dir string) (Folder, error) { return OpenPlainFolder(dir) }
