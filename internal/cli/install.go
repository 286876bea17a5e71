package cli

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

const markerName = deliver.MarkerFile

// ownerID is what marks folders as written by this user's kx: a random id in
// KX_HOME, made when it is first needed.
func (a *app) ownerID() (string, error) {
	home, err := a.home()
	if err != nil {
		return "", err
	}
	root, err := fsx.OpenOrCreate(home.data, 0o700)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for range 2 {
		id, err := readOwner(root)
		if !errors.Is(err, fs.ErrNotExist) {
			return id, err
		}
		if id, err = a.newOwner(); err != nil {
			return "", err
		}
		// Markers will name it: it is on the disk before any of them.
		err = fsx.PutFile(root, ownerFile, []byte(id+"\n"), 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", hubapi.Errorf(hubapi.Internal, "the owner id in %s cannot be read back", home.data)
}

// knownOwner is ownerID without making one: empty when nothing was installed yet.
func (a *app) knownOwner() (string, error) {
	home, err := a.home()
	if err != nil {
		return "", err
	}
	root, err := fsx.Open(home.data)
	var id string
	if err == nil {
		id, err = readOwner(root)
		err = errors.Join(err, root.Close())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return id, err
}

// ownerIDToRead is knownOwner with an id that nobody has where there is none yet.
func (a *app) ownerIDToRead() (string, error) {
	id, err := a.knownOwner()
	if err == nil && id == "" {
		return a.newOwner()
	}
	return id, err
}

const (
	ownerFile  = "owner"
	ownerBytes = 16
)

func (a *app) newOwner() (string, error) {
	random := make([]byte, ownerBytes)
	_, err := io.ReadFull(a.Rand, random)
	return hex.EncodeToString(random), err
}

// readOwner reads the owner id below KX_HOME; the error is fs.ErrNotExist when there is
// none.
func readOwner(root fsx.Root) (string, error) {
	data, err := root.ReadFile(ownerFile, 128)
	if err != nil && errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if id := strings.TrimSpace(string(data)); err == nil && len(id) == hex.EncodedLen(ownerBytes) {
		return id, nil
	}
	return "", hubapi.Errorf(hubapi.Invalid, "%s does not hold an owner id", filepath.Join(root.Name(), ownerFile)).
		WithHint("remove it; skills that were installed before become foreign to this kx")
}

// judgeInstalled compares an installed skill with its marker, and the marker with
// the signature that was kept in it.
func (a *app) judgeInstalled(c *cli.Command, dir string, input sign.VerifyInput) (verified, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return verified{}, err
	}
	root, err := fsx.Open(filepath.Dir(absolute))
	if err != nil {
		return verified{}, err
	}
	defer root.Close()
	state, err := deliver.Check(root, filepath.Base(absolute))
	if err != nil {
		return verified{}, err
	}
	if state.Status != deliver.Owned {
		return verified{}, hubapi.Errorf(hubapi.Invalid, "%s was not installed by kx: %s", dir, state.Why)
	}
	m := state.Marker
	if len(m.Signature) > 0 {
		input.SignatureFile = m.Signature
	}
	if file := c.String("signature"); file != "" {
		if input.SignatureFile, err = readCapped(a.path(file), sign.MaxSignatureFile+1); err != nil {
			return verified{}, usagef("cannot read the signature: %v", err)
		}
	}
	input.ExpectedSubject = first(c.String("author"), m.Author) + "/" + m.Name
	input.ExpectedVersion = first(c.String("version"), m.Version)
	v := verified{Installed: true, subject: m.Author + "/" + m.Name}
	if len(m.Signature) > 0 && first(c.String("author"), m.Author) == "" {
		input.ExpectedSubject, v.subject = "", "" // from no hub: only the signature says whose it is
	}
	if m.Format == pack.Kortecx {
		v.Result = sign.VerifyRecord(recordOf(m), input)
	} else {
		in, err := pack.Inspect(dir, pack.Options{Format: m.Format})
		if err != nil {
			return verified{}, err
		}
		v.Result = sign.VerifyInspection(in, input)
	}
	v.Name, v.Version, v.Format = m.Name, m.Version, m.Format
	v.Signed = v.Signature != sign.Unsigned
	for _, d := range state.Differences {
		v.OnDisk = append(v.OnDisk, diskMismatch{Change: string(d.Change), Path: d.Path})
	}
	if len(state.Differences) > 0 {
		text := "the folder is not as it was installed"
		v.Problems = append([]sign.Finding{{ID: sign.IDDigest, Text: strings.Join(append([]string{text}, state.Doubts...), "; ")}}, v.Problems...)
		v.OK, v.Exit = false, sign.ExitIntegrity
	}
	return v, nil
}

func recordOf(m *deliver.Marker) sign.Record {
	r := sign.Record{Name: m.Name, Version: m.Version}
	for _, f := range m.PackFiles {
		r.Files = append(r.Files, sign.StatementFile{Path: f.Path, Size: f.Size, SHA256: f.SHA256})
	}
	return r
}
