package sign

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

const (
	privateSuffix = ".key"
	publicSuffix  = ".pub"

	privateMode = 0o600
	publicMode  = 0o644
	othersMask  = 0o077
)

// Keyring is a directory of keys: <name>.key (private, readable by its owner alone)
// and <name>.pub. A name with only the second is somebody else's key. Whatever is
// in the ring is trusted, so nothing else may write to the directory.
type Keyring struct {
	root fsx.Root
}

// NewKeyring uses the directory that root is open on, which stays the caller's to
// close.
func NewKeyring(root fsx.Root) *Keyring { return &Keyring{root: root} }

// Entry is one name in a ring.
type Entry struct {
	Name      string    `json:"name"`
	Key       PublicKey `json:"key"` // zero when Problem is set
	Private   bool      `json:"private"`
	Encrypted bool      `json:"encrypted"`
	Problem   string    `json:"problem,omitempty"` // why the key cannot be used
	ProblemID string    `json:"problem_id,omitempty"`
}

// NamedKey is a public key and what it is called here.
type NamedKey struct {
	Name string
	Key  PublicKey
	Own  bool // the ring has the private half
}

// Ask is called when a passphrase is needed, with the name of the key.
type Ask func(name string) (string, error)

// CheckKeyName tells why name cannot be that of a key.
func CheckKeyName(name string) error {
	if !isNamespace(name) || pack.CheckPath(name+privateSuffix) != nil {
		return refuse(IDKeyName, "%.80q is not a name for a key", name).
			hint("use lower-case letters, digits, dots, dashes and underscores, 64 at most, a letter or digit first")
	}
	return nil
}

// New makes a key from 32 bytes of rand and stores both halves. Without a seal the
// private one is stored unencrypted. A name that is taken is refused.
func (r *Keyring) New(name string, rand io.Reader, seal *Seal) (PublicKey, error) {
	if err := r.free(name); err != nil {
		return PublicKey{}, err
	}
	key, err := NewPrivateKey(rand)
	if err != nil {
		return PublicKey{}, err
	}
	var data []byte
	if seal == nil {
		data, err = key.PEM()
	} else {
		data, err = key.Encrypt(*seal)
	}
	if err != nil {
		return PublicKey{}, err
	}
	return key.Public(), r.store(name, data, key.Public())
}

// Import stores a key that ParsePublicKey or ParsePrivateKey reads. An encrypted
// private key stays encrypted; ask is called for its passphrase, because only the
// open key tells which public key belongs to it.
func (r *Keyring) Import(name string, data []byte, ask Ask) (Entry, error) {
	if err := r.free(name); err != nil {
		return Entry{}, err
	}
	encrypted := IsEncrypted(data)
	if !encrypted && !strings.Contains(string(data[:min(len(data), MaxKeyFile)]), privatePEM) {
		key, err := ParsePublicKey(data)
		if err != nil {
			return Entry{}, err
		}
		return Entry{Name: name, Key: key}, r.store(name, nil, key)
	}
	key, err := ParsePrivateKey(data, ask.about(name))
	if err != nil {
		return Entry{}, err
	}
	entry := Entry{Name: name, Key: key.Public(), Private: true, Encrypted: encrypted}
	return entry, r.store(name, data, key.Public())
}

// List gives every name in ascending order, with what is wrong where a key cannot
// be used.
func (r *Keyring) List() ([]Entry, error) {
	files, err := r.root.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("cannot list the keys: %w", err)
	}
	private := make(map[string]bool) // by name
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), privateSuffix); ok {
			private[name] = true
		} else if name, ok := strings.CutSuffix(file.Name(), publicSuffix); ok && !private[name] {
			private[name] = false
		}
	}
	entries := []Entry{}
	for _, name := range slices.Sorted(maps.Keys(private)) {
		if strings.HasPrefix(name, ".") {
			continue // left behind by a run that was killed before it was done
		}
		entries = append(entries, r.entry(name, private[name]))
	}
	return entries, nil
}

func (r *Keyring) entry(name string, private bool) Entry {
	e := Entry{Name: name, Private: private}
	err := CheckKeyName(name)
	if err == nil {
		e.Key, err = r.Public(name)
	}
	if err == nil && private {
		var data []byte
		if data, err = r.readPrivate(name); err == nil {
			e.Encrypted = IsEncrypted(data)
			if !e.Encrypted {
				_, err = r.open(name, data, e.Key, nil)
			}
		}
	}
	if err != nil {
		e.Key, e.Problem = PublicKey{}, err.Error()
		if known, ok := errors.AsType[*Error](err); ok {
			e.ProblemID = known.ID
		}
	}
	return e
}

// Get gives the private key called name. One that its group or others may access
// is refused: it may have been copied.
func (r *Keyring) Get(name string, ask Ask) (PrivateKey, error) {
	public, err := r.Public(name)
	if err != nil {
		return PrivateKey{}, err
	}
	data, err := r.readPrivate(name)
	if errors.Is(err, fs.ErrNotExist) {
		return PrivateKey{}, refuse(IDKeyPublicOnly, "only the public half of key %s is here, so it cannot sign", name)
	}
	if err != nil {
		return PrivateKey{}, err
	}
	return r.open(name, data, public, ask)
}

// open reads a private key and holds it against the public key of the same name,
// which is the one that others were given.
func (r *Keyring) open(name string, data []byte, public PublicKey, ask Ask) (PrivateKey, error) {
	key, err := ParsePrivateKey(data, ask.about(name))
	if err != nil {
		return PrivateKey{}, about(name+privateSuffix, err)
	}
	if key.Public() != public {
		return PrivateKey{}, refuse(IDKeyMismatch, "%s%s and %s%s do not belong together", name, privateSuffix, name, publicSuffix)
	}
	return key, nil
}

// Public gives the public key called name.
func (r *Keyring) Public(name string) (PublicKey, error) {
	if err := CheckKeyName(name); err != nil {
		return PublicKey{}, err
	}
	data, err := r.root.ReadFile(name+publicSuffix, MaxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := r.root.Lstat(name + privateSuffix); statErr == nil {
			return PublicKey{}, &Error{
				ID: IDKeyMismatch, Text: fmt.Sprintf("%s%s is here and %s%s is not", name, privateSuffix, name, publicSuffix), Err: err,
				Hint: "import the private key again under another name; if kx keys new was interrupted, remove it and make it again",
			}
		}
		return PublicKey{}, &Error{ID: IDKeyMissing, Text: fmt.Sprintf("there is no key called %s", name), Err: err}
	}
	if err != nil {
		return PublicKey{}, fmt.Errorf("cannot read key %s: %w", name, err)
	}
	key, err := ParsePublicKey(data)
	if err != nil {
		return PublicKey{}, about(name+publicSuffix, err)
	}
	return key, nil
}

// Export gives the public half as PEM. The private half has no export: it is the
// file <name>.key.
func (r *Keyring) Export(name string) ([]byte, error) {
	key, err := r.Public(name)
	if err != nil {
		return nil, err
	}
	return key.PEM(), nil
}

// Remove deletes both halves. A private key that is not stored elsewhere is gone.
func (r *Keyring) Remove(name string) error {
	if err := CheckKeyName(name); err != nil {
		return err
	}
	found := false
	// The private half goes first: should the second removal fail, the ring is
	// left with a public key and not with a half that cannot be used.
	for _, suffix := range []string{privateSuffix, publicSuffix} {
		switch err := r.root.Remove(name + suffix); {
		case err == nil:
			found = true
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("cannot remove key %s: %w", name, err)
		}
	}
	if !found {
		return &Error{ID: IDKeyMissing, Text: fmt.Sprintf("there is no key called %s", name), Err: fs.ErrNotExist}
	}
	return r.root.Sync(".")
}

// Trusted gives every public key of the ring, own and imported. A file that cannot
// be used is an error and not a key less: somebody decided to trust it.
func (r *Keyring) Trusted() ([]NamedKey, error) {
	entries, err := r.List()
	if err != nil {
		return nil, err
	}
	keys := make([]NamedKey, 0, len(entries))
	for _, e := range entries {
		if e.Problem != "" {
			// A private half that others can read may not sign, but verifying needs
			// the public half alone. Where there is none, nobody was given it yet.
			public, err := r.Public(e.Name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil || e.ProblemID != IDKeyMode {
				return nil, fmt.Errorf("key %q in the ring cannot be used: %s", e.Name, e.Problem)
			}
			e.Key = public
		}
		keys = append(keys, NamedKey{Name: e.Name, Key: e.Key, Own: e.Private})
	}
	return keys, nil
}

// free refuses a name that is no name or is taken.
func (r *Keyring) free(name string) error {
	if err := CheckKeyName(name); err != nil {
		return err
	}
	for _, suffix := range []string{privateSuffix, publicSuffix} {
		switch _, err := r.root.Lstat(name + suffix); {
		case err == nil:
			return taken(name, nil)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("cannot look for key %s: %w", name, err)
		}
	}
	return nil
}

func taken(name string, err error) error {
	return &Error{ID: IDKeyExists, Text: fmt.Sprintf("there is a key called %s already", name), Hint: "remove it first, or choose another name", Err: err}
}

// store writes the halves that there are, the private one first: a public key
// whose private half was lost could be in use elsewhere.
func (r *Keyring) store(name string, private []byte, public PublicKey) error {
	if private != nil {
		if err := r.create(name, name+privateSuffix, private, privateMode); err != nil {
			return err
		}
	}
	return r.create(name, name+publicSuffix, public.PEM(), publicMode)
}

// create writes one file whole or not at all, and never over another. What a run that was
// killed left of a private key goes with the next key that is stored.
func (r *Keyring) create(name, file string, data []byte, mode fs.FileMode) error {
	err := fsx.PutFile(r.root, file, data, mode)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return taken(name, err)
	}
	return fmt.Errorf("cannot store key %s: %w", name, err)
}

// readPrivate checks the mode before it reads. Windows keeps access elsewhere than
// in the mode, so it is not asked there.
func (r *Keyring) readPrivate(name string) ([]byte, error) {
	file := name + privateSuffix
	info, err := r.root.Lstat(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read key %s: %w", name, err)
	}
	if mode := info.Mode().Perm(); mode&othersMask != 0 && runtime.GOOS != "windows" {
		return nil, refuse(IDKeyMode, "%s has mode %04o, so others may have read it", file, mode).
			hint("chmod 600 " + file + ", and make a new key if somebody else uses this machine")
	}
	data, err := r.root.ReadFile(file, MaxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read key %s: %w", name, err)
	}
	return data, nil
}

func (ask Ask) about(name string) func() (string, error) {
	if ask == nil {
		return nil
	}
	return func() (string, error) { return ask(name) }
}

// about puts the name of the file before a refusal and keeps its id.
func about(file string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		named := *e
		named.Text = file + ": " + e.Text
		return &named
	}
	return fmt.Errorf("%s: %w", file, err)
}
