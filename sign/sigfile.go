package sign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// MaxSignatureFile is the most bytes of a signature file.
const MaxSignatureFile = 1 << 20

// signatureFileVersion is the only "v" there is so far.
const signatureFileVersion = 1

// SignatureFile is what lies beside a pack as <name>@<version>.sig.json: signed
// statements about it, an HMAC over its digest, or both.
type SignatureFile struct {
	DSSE []Envelope
	HMAC *Pair // nil: none. The checksum is the 64 hex digits of the pack's digest.
}

type wireSignatureFile struct {
	V    int            `json:"v"`
	DSSE []wireEnvelope `json:"dsse"`
	HMAC *Pair          `json:"hmac,omitempty"`
}

// ReadSignatureFile reads one strictly, and checks nothing against keys: Verify
// does that.
func ReadSignatureFile(data []byte) (*SignatureFile, error) {
	if len(data) > MaxSignatureFile {
		return nil, refuse(IDTooLarge, "the signature file has %d bytes; at most %d are read", len(data), MaxSignatureFile)
	}
	var w wireSignatureFile
	if err := strictjson.Unmarshal(data, &w); err != nil {
		return nil, &Error{ID: IDFormat, Text: fmt.Sprintf("the signature file: %v", err), Err: err}
	}
	if w.V != signatureFileVersion {
		return nil, refuse(IDFormat, "the signature file has version %d; this program reads %d", w.V, signatureFileVersion)
	}
	f := &SignatureFile{HMAC: w.HMAC}
	signatures := 0
	for _, envelope := range w.DSSE {
		e, err := envelope.read()
		if err != nil {
			return nil, err
		}
		if len(e.Signatures) == 0 {
			return nil, refuse(IDFormat, "an envelope in the signature file has no signature")
		}
		if signatures += len(e.Signatures); signatures > MaxSignatures {
			return nil, refuse(IDTooLarge, "the signature file has more than %d signatures", MaxSignatures)
		}
		f.DSSE = append(f.DSSE, e)
	}
	if f.HMAC != nil {
		if err := f.HMAC.check(); err != nil {
			return nil, err
		}
	}
	if f.Empty() {
		return nil, refuse(IDFormat, "the signature file holds no signature")
	}
	return f, nil
}

// Empty reports whether the file would hold nothing.
func (f *SignatureFile) Empty() bool { return len(f.DSSE) == 0 && f.HMAC == nil }

// check holds the form of a pair where both halves are needed.
func (p Pair) check() error {
	if !isHex256(p.Checksum) {
		return refuse(IDChecksumFormat, "checksum %.80q is not 64 lower-case hex digits", p.Checksum)
	}
	if !isHex256(p.Signature) {
		return refuse(IDSignatureFormat, "signature %.80q is not 64 lower-case hex digits", p.Signature)
	}
	return nil
}

// Marshal writes the file: indented, one line end at its end, the same bytes for
// the same signatures in whatever order they were added.
func (f *SignatureFile) Marshal() ([]byte, error) {
	sorted := slices.Clone(f.DSSE)
	for i := range sorted {
		sorted[i].Signatures = slices.Clone(sorted[i].Signatures)
		sorting.Sort(sorted[i].Signatures, compareSignatures)
	}
	sorting.Sort(sorted, func(a, b Envelope) int {
		return cmp.Or(slices.CompareFunc(a.Signatures, b.Signatures, compareSignatures), bytes.Compare(a.Payload, b.Payload))
	})
	w := wireSignatureFile{V: signatureFileVersion, DSSE: []wireEnvelope{}, HMAC: f.HMAC}
	for _, e := range sorted {
		w.DSSE = append(w.DSSE, e.wire())
	}
	data, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot write the signature file: %w", err)
	}
	data = append(data, '\n')
	if _, err := ReadSignatureFile(data); err != nil {
		return nil, err
	}
	return data, nil
}

func compareSignatures(a, b Signature) int {
	return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), bytes.Compare(a.Sig, b.Sig))
}

// Add puts the signatures of e into the file. What the key by signed before is
// replaced, whichever version of the pack it was about.
func (f *SignatureFile) Add(e Envelope, by PublicKey) error {
	id := by.ID()
	var kept []Envelope
	total := len(e.Signatures)
	for _, old := range f.DSSE {
		pae := PAE(old.PayloadType, old.Payload)
		old.Signatures = slices.DeleteFunc(slices.Clone(old.Signatures), func(s Signature) bool {
			return s.KeyID == id || by.verify(pae, s.Sig)
		})
		if total += len(old.Signatures); len(old.Signatures) > 0 {
			kept = append(kept, old)
		}
	}
	if total > MaxSignatures {
		return refuse(IDTooLarge, "the signature file would have more than %d signatures", MaxSignatures)
	}
	same := func(old Envelope) bool {
		return old.PayloadType == e.PayloadType && bytes.Equal(old.Payload, e.Payload)
	}
	if i := slices.IndexFunc(kept, same); i >= 0 {
		kept[i].Signatures = append(kept[i].Signatures, e.Signatures...)
	} else {
		kept = append(kept, e)
	}
	f.DSSE = kept
	return nil
}

// FileName is the name of a pack's signature file, <name>@<version>.sig.json, or
// <name>.sig.json for a pack without a version. Whatever is not a letter, a digit
// or one of "._-+" is written as % and two hex digits, so that different packs have
// different files and every file system takes them.
func FileName(name, version string) (string, error) {
	if name == "" {
		return "", refuse(IDFileName, "a signature file is named after its pack, and this one has no name")
	}
	file := escapeName(name)
	if version != "" {
		file += "@" + escapeName(version)
	}
	file += ".sig.json"
	if fault := pack.CheckPath(file); fault != nil || strings.HasPrefix(file, ".") {
		return "", refuse(IDFileName, "the signature of %q at version %q cannot have a file: %q is not a portable file name", name, version, file)
	}
	return file, nil
}

// ReadBeside finds the signature of a pack in the folder that holds its folder, by one
// rule for all who look: named after its version, else after its name alone, else,
// where the pack says no version, the only one that is named after any. names lists the
// folder; read gives a file, fs.ErrNotExist without it. Nil without a signature; several
// that could each be meant are an error, and so is what cannot be read.
func ReadBeside(name, version string, names func() []string, read func(file string) ([]byte, error)) ([]byte, error) {
	candidates := []string{version, ""}
	for i, v := range candidates {
		file, err := FileName(name, v)
		if err != nil {
			return nil, nil // no file can be called so, then
		}
		candidates[i] = file
	}
	if version == "" {
		var found []string
		prefix := escapeName(name) + "@"
		for _, file := range names() {
			if strings.HasPrefix(file, prefix) && strings.HasSuffix(file, ".sig.json") {
				found = append(found, file)
			}
		}
		if len(found) > 1 {
			return nil, refuse(IDFileName, "%d signatures lie beside %s, and it does not say which version it is", len(found), name)
		}
		candidates = append(candidates, found...)
	}
	for _, file := range candidates {
		data, err := read(file)
		if err == nil {
			return data, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, nil
}

func escapeName(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._-+", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}
