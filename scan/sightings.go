package scan

import "strings"

// sightings is what the one pass over a document saw besides the literals of patterns,
// so that no pass of its own is needed for that. Signs and tokens are of the raw text,
// and all that it has are there unless the normal text joins words.
type sightings struct {
	alone  int    // words of one character that follow each other
	signs  uint32 // patterns of the pre-scan, by bit, of which a sign was seen
	tokens uint64 // shapes of secrets, by bit, that may be there
}

func (s *sightings) add(set *compiledSet, literal int) {
	s.signs |= set.signs[literal]
	s.tokens |= set.tokens[literal]
}

// tokenLiterals are what the normal text has at the beginning of a word where the raw
// text has the literal of a shape there. An underscore at the end of it may be taken for
// emphasis, and is a space then.
func tokenLiterals(shape *secretKind) []string {
	literal := lowerASCII(shape.literal)
	if begin, ok := strings.CutSuffix(literal, "_"); ok {
		return []string{literal, begin + " "}
	}
	return []string{literal}
}
