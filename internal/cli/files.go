package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Limits on small files that a user names. What is larger is another file than the
// one that was meant.
const (
	maxSettings   = 64 << 10 // kx.yaml and config.yaml
	maxToken      = 64 << 10
	maxSecret     = 1 << 20
	maxPassphrase = 64 << 10
	maxAuthority  = 4 << 20 // the certificates of a whole system are about 300 KiB
)

// readCapped reads a file of at most limit bytes; a longer one comes back cut at
// the limit, for the parser to refuse with its own reason. Only a regular file is
// read: a pipe would make us wait, and a device may have no end.
func readCapped(path string, limit int64) ([]byte, error) {
	seen, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Base(path))
	}
	// Something else may have taken the name since the look, a pipe too.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(seen, opened) {
		return nil, fmt.Errorf("%s changed while it was read", filepath.Base(path))
	}
	data := make([]byte, min(limit, opened.Size()))
	n, err := f.ReadAt(data, 0)
	if err != nil && (n < len(data) || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	return slices.Clip(data[:n]), nil
}

// readLimited is readCapped for files that no parser judges: a longer one is an
// error.
func readLimited(path string, limit int64) ([]byte, error) {
	data, err := readCapped(path, limit+1)
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", filepath.Base(path), limit)
	}
	return data, err
}
