package mcpapi

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A cursor is the key of the last item of a page, with a sum over it and the list
// that it belongs to: one that was made up, or is of another list, is refused. It is
// not secret, and whoever forges one asks for another part of what they may see.
const cursorSum = 12

func newCursor(list, after string) string {
	return base64.RawURLEncoding.EncodeToString(append(sumCursor(list, after), after...))
}

func sumCursor(list, after string) []byte {
	sum := sha256.Sum256([]byte("kx mcp cursor\n" + list + "\n" + after))
	return sum[:cursorSum]
}

// readCursor gives the key behind which a page begins, empty for the first one.
func readCursor(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	refused := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not one of this list; start again without it"}
	if len(cursor) > 4096 {
		return "", refused
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(data) <= cursorSum {
		return "", refused
	}
	after := string(data[cursorSum:])
	if string(sumCursor(list, after)) != string(data[:cursorSum]) {
		return "", refused
	}
	return after, nil
}
