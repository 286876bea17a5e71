package hubapi

import "encoding/json"

// MaxPublisher is the most bytes of one signed list of an author's keys.
const MaxPublisher = 64 << 10

// PublisherChain is an author's signed lists of keys, oldest first, those behind the
// version that was asked for. What they say is for the reader to verify: package sign
// follows them.
type PublisherChain struct {
	Author  string            `json:"author"`
	Version int64             `json:"version"` // of the newest one, which Items may not reach
	Items   []json.RawMessage `json:"items"`   // DSSE envelopes
}
