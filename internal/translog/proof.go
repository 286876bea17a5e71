package translog

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
)

// Proof is what shows offline that an entry is in a log: the text of C2SP
// tlog-proof, kept in a file that ends in .tlog-proof.
type Proof struct {
	// Extra is what the proof carries besides, unproven by itself: kx keeps the
	// entry in it, so that one file is enough. Nil for none.
	Extra  []byte
	Index  int64
	Hashes []Hash
	Note   []byte // the signed checkpoint
}

// MaxProof is the most bytes of a proof that are read.
const MaxProof = maxProof

// ProofSuffix is how the names of proofs end.
const ProofSuffix = ".tlog-proof"

const (
	proofHead = "c2sp.org/tlog-proof@v1"
	maxHashes = 64
	maxProof  = MaxCheckpoint + 112<<10 // an entry of MaxEntry bytes in base64, and the hashes
)

// Text is the proof in its file.
func (p Proof) Text() string {
	var b strings.Builder
	b.WriteString(proofHead + "\n")
	if p.Extra != nil {
		b.WriteString("extra " + base64.StdEncoding.EncodeToString(p.Extra) + "\n")
	}
	b.WriteString("index " + strconv.FormatInt(p.Index, 10) + "\n")
	for _, h := range p.Hashes {
		b.WriteString(h.String() + "\n")
	}
	b.WriteString("\n")
	b.Write(p.Note)
	return b.String()
}

// ParseProof reads what Text writes. It verifies nothing.
func ParseProof(data []byte) (Proof, error) {
	head, signed, ok := bytes.Cut(data, []byte("\n\n"))
	if len(data) > maxProof || !ok || len(signed) == 0 {
		return Proof{}, refuse(IDFormat, "not a proof of a log")
	}
	lines := strings.Split(string(head), "\n")
	var extra []byte
	if len(lines) > 1 {
		if text, ok := strings.CutPrefix(lines[1], "extra "); ok {
			var err error
			if extra, err = base64.StdEncoding.Strict().DecodeString(text); err != nil || base64.StdEncoding.EncodeToString(extra) != text {
				return Proof{}, refuse(IDFormat, "a proof of a log has an extra line that is not base64")
			}
			lines = append(lines[:1:1], lines[2:]...)
		}
	}
	if lines[0] != proofHead || len(lines) < 2 || len(lines) > 2+maxHashes {
		return Proof{}, refuse(IDFormat, "not a proof of a log")
	}
	digits, ok := strings.CutPrefix(lines[1], "index ")
	index, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || index < 0 || strconv.FormatInt(index, 10) != digits {
		return Proof{}, refuse(IDFormat, "a proof of a log has no index")
	}
	p := Proof{Extra: extra, Index: index, Note: signed}
	for _, line := range lines[2:] {
		h, err := ParseHash(line)
		if err != nil {
			return Proof{}, err
		}
		p.Hashes = append(p.Hashes, h)
	}
	return p, nil
}

// Check verifies that the proof shows that the entry is in the log of the verifier
// key, and gives the checkpoint that it is in.
func (p Proof) Check(entry []byte, vkey string) (Checkpoint, error) {
	c, err := OpenCheckpoint(p.Note, vkey)
	if err != nil {
		return Checkpoint{}, err
	}
	return c, CheckInclusion(p.Hashes, c, p.Index, LeafHash(entry))
}
