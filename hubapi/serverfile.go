package hubapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/strictjson"
)

const (
	serverFileName = "server.json"
	serverFileMax  = 16 << 10
)

// ServerFile is DATA/server.json: how the commands of the same user find the
// server that holds the data directory, and the key that they show it. It exists
// while a server runs; after a crash it is stale until the next one starts.
type ServerFile struct {
	V       int    `json:"v"`       // 1
	Address string `json:"address"` // base URL, such as http://127.0.0.1:50151
	PID     int    `json:"pid"`
	Key     string `json:"key"` // local admin key of this run
}

// WriteServerFile writes DATA/server.json, readable by the user alone. The caller
// holds the data directory's lock.
func WriteServerFile(dir string, s ServerFile) error {
	s.V = 1
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return fsx.WriteFileAt(filepath.Join(dir, serverFileName), append(data, '\n'), 0o600)
}

// ReadServerFile reads DATA/server.json; the error is fs.ErrNotExist where no
// server has written one. That the file is there does not say that the server
// still runs: who may not have the lock of the data directory knows.
func ReadServerFile(dir string) (ServerFile, error) {
	root, err := fsx.Open(dir)
	if err != nil {
		return ServerFile{}, err
	}
	data, err := root.ReadFile(serverFileName, serverFileMax)
	if err := errors.Join(err, root.Close()); err != nil {
		return ServerFile{}, err
	}
	var s ServerFile
	if err := strictjson.UnmarshalLax(data, &s); err != nil {
		return ServerFile{}, fmt.Errorf("%s: %w", filepath.Join(dir, serverFileName), err)
	}
	if s.V != 1 || s.Address == "" || s.PID <= 0 || s.Key == "" {
		return ServerFile{}, fmt.Errorf("%s: not a server file that this kx reads", filepath.Join(dir, serverFileName))
	}
	return s, nil
}

// RemoveServerFile removes DATA/server.json if it is still s, so that a server
// that ends late does not take away its successor's. Call it before the lock of
// the data directory is given up.
func RemoveServerFile(dir string, s ServerFile) error {
	found, err := ReadServerFile(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if found.PID != s.PID || found.Key != s.Key {
		return nil
	}
	root, err := fsx.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(root.Remove(serverFileName), root.Close())
}
