package hubclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/translog"
)

// LogMemory is where a client keeps the last checkpoint that it saw of a hub's
// logs, one small file for each hub: without it, nobody would notice a hub that
// shows everybody another past.
type LogMemory struct {
	Dir string // made when it is first needed
	// Name is the file's, without .json; empty takes it from the endpoint.
	Name string
}

const maxMemory = 1 << 20

// remembered is the content of a memory's file.
type remembered struct {
	V        int    `json:"v"` // 1
	Endpoint string `json:"endpoint"`
	// Callers say which log each key was shown; keys are kept as the beginning of
	// their SHA-256.
	Callers map[string]string `json:"callers"`
	Logs    []rememberedLog   `json:"logs"`
}

type rememberedLog struct {
	Origin     string `json:"origin"`
	VKey       string `json:"vkey"`
	Checkpoint string `json:"checkpoint"` // the signed note
}

func (r *remembered) log(origin string) *rememberedLog {
	for i := range r.Logs {
		if r.Logs[i].Origin == origin {
			return &r.Logs[i]
		}
	}
	return nil
}

func (m *LogMemory) file() string { return filepath.Join(m.Dir, m.Name+".json") }

// memoryName makes a file name of an endpoint.
func memoryName(host, path string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(host))
	if path == "" && strings.Count(plain, "_") <= 1 && len(plain) < 200 {
		return plain
	}
	sum := sha256.Sum256([]byte(host + path))
	return plain[:min(len(plain), 100)] + "-" + hex.EncodeToString(sum[:6])
}

// load reads the memory; one that does not exist is empty. A file that cannot be
// read is an error: to go on without it would be to forget on an attacker's behalf.
func (m *LogMemory) load() (*remembered, error) {
	out := &remembered{V: 1, Callers: map[string]string{}}
	root, err := fsx.Open(m.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, m.broken(err)
	}
	defer root.Close()
	data, err := root.ReadFile(m.Name+".json", maxMemory)
	// Another command may be putting a newer one in its place.
	for tries := 0; err != nil && !errors.Is(err, fs.ErrNotExist) && tries < 20; tries++ {
		data, err = root.ReadFile(m.Name+".json", maxMemory)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, m.broken(err)
	}
	if err := strictjson.Unmarshal(data, out); err != nil {
		return nil, m.broken(err)
	}
	if out.V != 1 {
		return nil, m.broken(fmt.Errorf("it has version %d", out.V))
	}
	if out.Callers == nil {
		out.Callers = map[string]string{}
	}
	return out, nil
}

func (m *LogMemory) broken(err error) error {
	return hubapi.Errorf(hubapi.Usage, "what is remembered of the hub's log cannot be read from %s: %v", m.file(), err).
		WithHint("look at the file; removing it forgets what was seen of the log")
}

func (m *LogMemory) write(name string, v any) (string, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", err
	}
	root, err := fsx.OpenOrCreate(m.Dir, 0o700)
	if err != nil {
		return "", err
	}
	err = root.WriteFile(name, append(data, '\n'), 0o600)
	return filepath.Join(m.Dir, name), errors.Join(err, root.Close())
}

// save keeps a newer checkpoint. What another process saved meanwhile stays where it
// is newer still.
func (m *LogMemory) save(endpoint, caller string, log rememberedLog, size int64) error {
	if err := fsx.EnsureDir(m.Dir, 0o700); err != nil {
		return err
	}
	unlock, err := fsx.LockDir(m.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := m.load()
	if err != nil {
		return err
	}
	if there := now.log(log.Origin); there == nil {
		now.Logs = append(now.Logs, log)
	} else if c, err := translog.OpenCheckpoint([]byte(there.Checkpoint), there.VKey); err != nil || c.Size < size {
		*there = log
	} else if now.Callers[caller] == log.Origin {
		return nil
	}
	now.Endpoint = endpoint
	now.Callers[caller] = log.Origin
	_, err = m.write(m.Name+".json", now)
	return err
}

// evidence is what shows that a hub told two stories.
type evidence struct {
	V         int    `json:"v"` // 1
	ID        string `json:"id"`
	Text      string `json:"text"`
	Endpoint  string `json:"endpoint"`
	VKey      string `json:"vkey"`       // that the remembered note verifies with
	VKeyShown string `json:"vkey_shown"` // that the hub gives now
	Before    string `json:"before"`     // the signed note that was remembered
	Now       string `json:"now"`        // the signed note that the hub gives now
}

// keep writes both notes beside the memory. The same evidence is one file.
func (m *LogMemory) keep(e evidence) (string, error) {
	e.V = 1
	sum := sha256.Sum256([]byte(e.Before + "\x00" + e.Now + "\x00" + e.VKeyShown))
	return m.write(m.Name+".evidence-"+hex.EncodeToString(sum[:6])+".json", e)
}

// KnownLogs are the verifier keys of all logs that memories in dir hold: what was
// seen and verified before counts as known, and nothing else does.
func KnownLogs(dir string) ([]string, error) {
	root, err := fsx.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := root.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.Contains(name, ".evidence-") || !e.Type().IsRegular() {
			continue
		}
		seen, err := (&LogMemory{Dir: dir, Name: name}).load()
		if err != nil {
			return nil, err
		}
		for _, log := range seen.Logs {
			out = append(out, log.VKey)
		}
	}
	return out, nil
}

// MemoryName is a file name that stands for the hub of the client, the same as its
// log's memory has.
func (c *Client) MemoryName() string {
	if c.memory == nil {
		return "own"
	}
	return c.memory.Name
}
