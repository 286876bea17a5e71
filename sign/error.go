package sign

import "fmt"

// Error is a refusal with a stable machine id.
type Error struct {
	ID   string // one of the ids below
	Text string // lower case, no full stop
	Hint string // what to do next, where we know it; may be empty
	Err  error  // the cause, where there is one that callers may look at
}

// Error gives the text; the hint is left to printers.
func (e *Error) Error() string { return e.Text }

// Unwrap gives the cause, if any.
func (e *Error) Unwrap() error { return e.Err }

// The ids of refusals and findings, grouped by the exit code of kx verify that
// they lead to (see ExitCodeOf).
const (
	// What was read is not what was vouched for.
	IDDigest   = "sign.digest"   // files, digest or checksum differ
	IDHardlink = "pack.hardlink" // a file of the pack has a second name on this disk: refused when signing

	// The signature itself, or what it is about.
	IDInvalid         = "sign.invalid"          // the signature is not one of these bytes by that key
	IDFormat          = "sign.format"           // not a signature file or envelope that we read
	IDTooLarge        = "sign.too-large"        // over MaxSignatureFile bytes or MaxSignatures signatures
	IDPayloadType     = "sign.payload-type"     // an envelope about something else than a statement
	IDStatement       = "sign.statement"        // a signed statement that breaks its own grammar
	IDDuplicateSigner = "sign.duplicate-signer" // one key signed twice in one file
	IDSubject         = "sign.subject"          // signed as another author or name
	IDVersion         = "sign.version"          // signed as another version
	IDStripped        = "sign.stripped"         // known to be signed, and is not any more
	IDNoChecksum      = "sign.no-checksum"      // signature: without checksum:
	IDChecksumFormat  = "sign.checksum-format"  // a checksum that is not 64 lower-case hex digits
	IDSignatureFormat = "sign.signature-format" // the same of an HMAC signature
	IDHMAC            = "sign.hmac"             // no known secret made the signature
	IDDowngraded      = "sign.downgraded"       // checksum: without signature: proves nothing about who wrote it

	// Who signed, and when.
	IDUnsigned     = "sign.unsigned"      // no signature at all
	IDUnknownKey   = "sign.unknown-key"   // signed by a key that is not known here
	IDUntrustedKey = "sign.untrusted-key" // signed by a key that is known and not trusted
	IDNoSecret     = "sign.no-secret"     // carries an HMAC and no secret is known here
	IDExpired      = "sign.expired"       // the statement's expiry has passed
	IDNotYetValid  = "sign.not-yet-valid" // signed in the future
	IDClock        = "clock.suspect"      // this machine's clock cannot be right

	// Remarks that refuse nothing by themselves.
	IDMode      = "sign.mode"       // an execute bit differs from the signed one
	IDNoVersion = "sign.no-version" // the signer bound no version

	// Keys, secrets and names.
	IDSecretEmpty   = "sign.secret-empty"
	IDWeakKey       = "sign.weak-key"       // a small-order point or a non-canonical encoding
	IDKeyFormat     = "sign.key-format"     // not a key in a form that we read
	IDKeyType       = "sign.key-type"       // a key of another kind
	IDKeyMode       = "sign.key-mode"       // a private key that others can read
	IDKeyName       = "sign.key-name"       // not a name for a key
	IDKeyExists     = "sign.key-exists"     // the ring has that name already
	IDKeyMissing    = "sign.key-missing"    // the ring has no such key
	IDKeyPublicOnly = "sign.key-public"     // only the public half is here
	IDKeyLocked     = "sign.key-locked"     // needs a passphrase
	IDPassphrase    = "sign.key-passphrase" // a wrong or empty passphrase
	IDKeyMismatch   = "sign.key-mismatch"   // the two files of one key do not belong together
	IDFileName      = "sign.file-name"      // cannot be part of a file name
)

// Exit codes of kx verify; the package comment has the table.
const (
	ExitVerified  = 0
	ExitIntegrity = 10
	ExitSignature = 11
	ExitTrust     = 12
)

// ExitCodeOf is the exit code of a verification whose gravest problem has this
// id. Ids of other packages count as integrity: a folder that is not the pack it
// should be.
func ExitCodeOf(id string) int {
	switch id {
	case IDInvalid, IDFormat, IDTooLarge, IDPayloadType, IDStatement, IDDuplicateSigner,
		IDSubject, IDVersion, IDStripped, IDNoChecksum, IDChecksumFormat, IDSignatureFormat, IDHMAC, IDDowngraded:
		return ExitSignature
	case IDUnsigned, IDUnknownKey, IDUntrustedKey, IDNoSecret, IDExpired, IDNotYetValid, IDClock:
		return ExitTrust
	}
	return ExitIntegrity
}

// Not inlined, for the size of the programs.
//
//go:noinline
func refuse(id, format string, args ...any) *Error {
	return &Error{ID: id, Text: fmt.Sprintf(format, args...)}
}

func (e *Error) hint(text string) *Error {
	e.Hint = text
	return e
}
