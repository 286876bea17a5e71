package hubclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
)

// mcpLine is one line of an agent: a message, or what is known of one that was too large.
type mcpLine struct {
	message []byte
	large   bool
	id      json.RawMessage // of a message that was too large; null when it was not found
}

// tailBytes is how much of the end of a message that is too large is kept: many agents
// write its id there.
const tailBytes = 512

// readLines sends the lines of in that are not blank. Of one that is too large no more is
// kept than of the largest that is not.
func readLines(ctx context.Context, in io.Reader, lines chan<- mcpLine) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(reader)
		line.message = bytes.TrimSpace(line.message)
		if line.large || len(line.message) > 0 {
			select {
			case lines <- line:
			case <-ctx.Done():
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads up to the end of a line, or of in. It reads the rest of a line that is
// too large and lets it go.
func readLine(reader *bufio.Reader) (mcpLine, error) {
	var line mcpLine
	var tail []byte
	for {
		part, err := reader.ReadSlice('\n')
		if !line.large {
			line.message = append(line.message, part...)
			line.large = len(bytes.TrimRight(line.message, "\r\n")) > maxMessage
		}
		if line.large {
			tail = lastOf(tail, part)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if line.large {
			line.id = idOfLarge(line.message, tail)
			line.message = nil
		}
		return line, err
	}
}

// lastOf is the end of what tail and part are together, in the room of tail.
func lastOf(tail, part []byte) []byte {
	part = part[max(0, len(part)-tailBytes):]
	tail = append(tail[:0], tail[max(0, len(tail)+len(part)-tailBytes):]...)
	return append(tail, part...)
}

// idAtEnd is the id as the last member of a message. What stands before the brace that
// ends a message is a member of the message itself.
var idAtEnd = regexp.MustCompile(`"id"\s*:\s*("[^"\\]*"|-?[0-9]+)\s*\}\s*$`)

// idOfLarge finds the id of a message by its beginning and its end, so that who waits for
// an answer gets one.
func idOfLarge(begin, end []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(begin))
	d.UseNumber()
	if open, err := d.Token(); err == nil && open == json.Delim('{') {
		for {
			name, err := d.Token()
			if err != nil {
				break
			}
			var value json.RawMessage
			if d.Decode(&value) != nil {
				break
			}
			if name == "id" {
				return value
			}
		}
	}
	if at := idAtEnd.FindSubmatch(end); at != nil {
		return bytes.Clone(at[1])
	}
	return json.RawMessage("null")
}
