package hubclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/workers"
)

const (
	// maxMessage is how many bytes a message to a hub may have, maxReply one of its
	// answers: the largest file of a skill, escaped.
	maxMessage = 4 << 20
	maxReply   = 128 << 20
	// maxCalls is how many requests of one agent are under way at a time.
	maxCalls = 32

	modernEra = "2026-07-28" // the first revision of the protocol without a handshake
)

// ServeMCP carries the messages of the Model Context Protocol between an agent that
// has started this program and the hub: one message a line on in and out, each of
// them a request to the hub's /mcp. It ends when in does, after the answers to what
// came before. What the hub cannot be asked is answered with an error, so that no
// agent waits; the error of ServeMCP is that of in or out.
func (c *Client) ServeMCP(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &mcpSession{client: c, out: out, calls: make(chan struct{}, maxCalls), running: map[string]context.CancelFunc{}}
	read := make(chan error, 1)
	lines := make(chan mcpLine)
	go func() {
		defer close(lines)
		read <- readLines(ctx, in, lines)
	}()
	for {
		select {
		case line, more := <-lines:
			if !more {
				s.endStreams()
				s.wait.Wait()
				return errors.Join(<-read, s.failed())
			}
			if line.large {
				s.fail(line.id, -32600, fmt.Sprintf("the message is larger than %d MiB", maxMessage>>20))
				break
			}
			s.take(ctx, line.message)
		case <-ctx.Done():
			// A read from a terminal or a pipe cannot be interrupted: it is left.
			s.endStreams()
			s.wait.Wait()
			return s.failed()
		}
		if err := s.failed(); err != nil {
			stop()
			s.wait.Wait()
			return err
		}
	}
}

// mcpSession is one agent.
type mcpSession struct {
	client *Client
	calls  chan struct{}
	wait   sync.WaitGroup

	outMu sync.Mutex
	out   io.Writer
	err   error // of out

	mu      sync.Mutex
	version string // that a handshake agreed on
	running map[string]context.CancelFunc
	streams []context.CancelFunc
}

// mcpMessage is what has to be known of a message to send it on.
type mcpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
		Name      json.RawMessage `json:"name"`
		URI       json.RawMessage `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

func (m *mcpMessage) call() bool { return len(m.ID) > 0 && string(m.ID) != "null" }

// take sends a message on. The handshake is waited for, because what follows it
// depends on what it agreed on; all else may overtake.
func (s *mcpSession) take(ctx context.Context, line []byte) {
	var m mcpMessage
	if err := json.Unmarshal(line, &m); err != nil {
		code, text := -32700, "the message is not JSON"
		if json.Valid(line) {
			code, text = -32600, "the message is not one request"
		}
		s.fail(json.RawMessage("null"), code, text)
		return
	}
	if m.Method == nil {
		if m.Result == nil && m.Error == nil {
			s.fail(json.RawMessage("null"), -32600, "the message has no method")
		}
		return // an answer: nothing was asked
	}
	if *m.Method == "notifications/cancelled" {
		s.mu.Lock()
		cancel := s.running[string(m.Params.RequestID)]
		s.mu.Unlock()
		if cancel != nil {
			cancel() // a request that is given up ends its connection
		}
		return
	}
	if *m.Method == "initialize" {
		s.exchange(ctx, &m, line)
		return
	}
	stream := *m.Method == "subscriptions/listen"
	if !stream {
		select {
		case s.calls <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	if m.call() {
		s.running[string(m.ID)] = cancel
	}
	if stream {
		s.streams = append(s.streams, cancel)
	}
	s.mu.Unlock()
	s.wait.Go(func() {
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.running, string(m.ID))
			s.mu.Unlock()
			if !stream {
				<-s.calls
			}
		}()
		if p := workers.Catch(func() { s.exchange(ctx, &m, line) }); p != nil && m.call() {
			s.fail(m.ID, -32603, fmt.Sprintf("internal fault: %v", p.Value))
		}
	})
}

// endStreams ends what would never end by itself.
func (s *mcpSession) endStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.streams {
		cancel()
	}
}

// exchange sends one message and writes what comes back.
func (s *mcpSession) exchange(ctx context.Context, m *mcpMessage, line []byte) {
	if *m.Method != "subscriptions/listen" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.client.timeout)
		defer cancel()
	}
	answered, err := s.post(ctx, m, line)
	if err == nil && !answered && m.call() {
		err = hubapi.Errorf(hubapi.Internal, "the hub did not answer the request")
	}
	if err == nil || !m.call() || answered {
		return
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the agent does not wait any more
	}
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok {
		e = hubapi.AsError(s.client.unreachable(err))
	}
	text := e.Message
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	s.fail(m.ID, -32603, text)
}

// post says whether the message was answered.
func (s *mcpSession) post(ctx context.Context, m *mcpMessage, line []byte) (answered bool, err error) {
	r, err := s.client.newRequest(ctx, request{method: http.MethodPost, path: []string{"mcp"}, top: true, body: line, kind: typeJSON})
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	s.describe(r.Header, m)
	resp, err := s.client.send(r)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch kind := mediaType(resp); {
	case resp.StatusCode == http.StatusAccepted:
		return !m.call(), nil
	case resp.StatusCode == http.StatusOK && kind == "text/event-stream":
		return s.relayEvents(m, resp.Body)
	default:
		data, err := s.client.read(resp, maxReply)
		if err != nil {
			return false, err
		}
		if kind == typeJSON {
			if ok := s.relay(m, data); ok {
				return true, nil
			}
		}
		if resp.StatusCode == http.StatusNotFound {
			return false, hubapi.Errorf(hubapi.Unsupported, "the server at %s has no /mcp", s.client.base.Redacted()).
				WithHint("is it a kx hub, and new enough?")
		}
		return false, s.client.refusal(resp, data)
	}
}

// describe sets the headers that repeat what is in the message.
func (s *mcpSession) describe(h http.Header, m *mcpMessage) {
	version := m.Params.Meta.Version
	if version == "" {
		s.mu.Lock()
		version = s.version
		s.mu.Unlock()
		if version != "" && *m.Method != "initialize" {
			h.Set("Mcp-Protocol-Version", version)
		}
		return
	}
	h.Set("Mcp-Protocol-Version", headerText(version))
	if version < modernEra {
		return
	}
	h.Set("Mcp-Method", headerText(*m.Method))
	var name string
	switch *m.Method {
	case "tools/call", "prompts/get":
		_ = json.Unmarshal(m.Params.Name, &name) // the hub refuses what is no text
	case "resources/read":
		_ = json.Unmarshal(m.Params.URI, &name)
	default:
		return
	}
	h.Set("Mcp-Name", headerText(name))
}

// headerText writes text that no header can hold in the protocol's own way.
func headerText(s string) string {
	plain := !strings.HasPrefix(s, "=?base64?") && strings.TrimSpace(s) == s
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// relayEvents writes the messages of a stream of events as they come.
func (s *mcpSession) relayEvents(m *mcpMessage, body io.Reader) (answered bool, err error) {
	scanner := bufio.NewScanner(body)
	scanner.Buffer(nil, maxReply)
	var data []byte
	for scanner.Scan() {
		line := scanner.Bytes()
		if len(line) == 0 {
			if len(data) > 0 && s.relay(m, data) {
				answered = true
			}
			data = data[:0]
			continue
		}
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(text, []byte(" "))...)
		}
	}
	if len(data) > 0 && s.relay(m, data) {
		answered = true
	}
	return answered, scanner.Err()
}

// relay writes one message of the hub, and says whether it was the answer to m.
// Errors that belong to no request are given the one that they answer.
func (s *mcpSession) relay(m *mcpMessage, data []byte) (answer bool) {
	var head struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Result  *struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
		Error *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data,omitempty"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &head) != nil || head.JSONRPC != "2.0" {
		return false
	}
	none := len(head.ID) == 0 || string(head.ID) == "null"
	switch {
	case head.Method != nil:
		s.write(data)
		return false
	case head.Error != nil && none && m.call():
		out, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": head.Error})
		if err != nil {
			return false
		}
		s.write(out)
		return true
	case none:
		return head.Error != nil
	}
	if *m.Method == "initialize" && head.Result != nil {
		s.mu.Lock()
		s.version = head.Result.Version
		s.mu.Unlock()
	}
	s.write(data)
	return true
}

func (s *mcpSession) fail(id json.RawMessage, code int, text string) {
	out, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	if err != nil {
		out = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"the request cannot be answered"}}`, code)
	}
	s.write(out)
}

// write writes one message as one line.
func (s *mcpSession) write(data []byte) {
	if bytes.ContainsAny(data, "\r\n") {
		var compact bytes.Buffer
		if json.Compact(&compact, data) != nil {
			return
		}
		data = compact.Bytes()
	}
	s.outMu.Lock()
	defer s.outMu.Unlock()
	if s.err == nil {
		_, s.err = s.out.Write(append(data[:len(data):len(data)], '\n'))
	}
}

func (s *mcpSession) failed() error {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	return s.err
}
