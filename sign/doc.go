// Package sign vouches for packs and checks what others vouched for: HMACs in the
// notation of the Kazma reference, Ed25519 signatures over a statement about every
// file of a pack (DSSE around an in-toto Statement), the keys for them, and the
// comparison of a pack with all of that.
//
// It does not decide whom to trust: callers pass the keys and the policy. It does
// not scan content, keep a log or fetch anything, and it reads no environment, no
// clock and no command line. Randomness comes from an io.Reader, with one
// exception: what protects a private key with a passphrase (age) has its own.
//
// To check a pack, call Verify, or VerifyInspection for a folder on disk. To sign
// one: Signable, NewStatement, Sign, SignatureFile.Add, and write what Marshal
// gives under FileName, beside the pack folder and not in it. Keyring keeps keys.
//
// # Exit codes
//
// kx verify ends with Result.ExitCode, which is that of the gravest problem:
//
//	0   verified; or unsigned where that is allowed, with a warning
//	10  integrity: the content is not what was signed, expected or declared
//	11  signature: unreadable, forged, of something else, or gone although known
//	12  trust: no key or secret that is trusted here, or not valid at this time
//
// Problems come in this order of gravity: a signature that is none (11), one about
// another author, name or version (11), a stripped one (11), content that differs
// (10), an HMAC that is none (11), a time outside validity (12), and who signed
// (12). Warnings do not change the code.
//
// # Compatibility
//
// The payload of a statement, the signature file, the HMACs and the key ids are
// formats: what was signed with one release of this package verifies with every
// later one, byte for byte. testdata/vectors holds them for other implementations.
// JSON keys of Result only grow.
package sign
