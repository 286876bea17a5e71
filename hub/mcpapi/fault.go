package mcpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// Codes of JSON-RPC for what is no request that could be answered.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeInternal = -32603
)

// maxFault is how much of the library's explanation of a fault is kept, in bytes.
const maxFault = 300

// readMessage reads the whole body, so that a fault in it can be told apart from others.
func readMessage(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, hubapi.Errorf(hubapi.TooLarge, "a message may have %d MiB", maxBody>>20)
	}
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Invalid, "the message did not arrive whole")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// faultOf judges what the library takes for a message although it is none: it reads the
// first of several, and an object that asks nothing it takes for an answer. The code is 0
// when there is nothing to say against it.
func faultOf(r *http.Request, message []byte) (code int, why string) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return 0, "" // the library refuses the type
	}
	if !json.Valid(message) {
		return codeParse, "the message is not JSON"
	}
	var m struct {
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(message, &m) == nil && m.Method == nil && m.Result == nil && m.Error == nil {
		return codeRequest, "the message has no method"
	}
	return 0, ""
}

// faults is a response in which the library's plain text about a bad message becomes what
// clients of the protocol read, a JSON-RPC error.
type faults struct {
	http.ResponseWriter
	status int // 0: nothing is held back
	text   []byte
}

// Unwrap lets http.ResponseController reach what is below.
func (f *faults) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *faults) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(f.Header().Get("Content-Type"), "text/plain") {
		f.status = status
		return
	}
	f.ResponseWriter.WriteHeader(status)
}

func (f *faults) Write(p []byte) (int, error) {
	if f.status == 0 {
		return f.ResponseWriter.Write(p)
	}
	f.text = append(f.text, p[:min(len(p), maxFault-len(f.text))]...)
	return len(p), nil
}

// Flush implements http.Flusher.
func (f *faults) Flush() {
	if f.status == 0 {
		_ = http.NewResponseController(f.ResponseWriter).Flush()
	}
}

// end answers what was held back. It must be called before the handler returns.
func (f *faults) end(message []byte) {
	if f.status == 0 {
		return
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(f.text), ""))
	f.Header().Del("Content-Length")
	code, id := codeRequest, json.RawMessage("null")
	e := hubapi.Errorf(hubapi.Invalid, "%s", text)
	switch {
	case f.status >= http.StatusInternalServerError:
		code, e = codeInternal, hubapi.Errorf(hubapi.Internal, "%s", text)
	case f.status == http.StatusBadRequest:
		if method, asked, ok := request(message); ok && strings.Contains(text, method) && strings.Contains(text, "not handled") {
			code, id, e = codeMethod, asked, hubapi.Errorf(hubapi.NotFound, "there is no method %.100q", method)
		}
	}
	answerFault(f.ResponseWriter, f.status, code, id, e)
}

// request gives method and id of a message that is one request.
func request(message []byte) (method string, id json.RawMessage, ok bool) {
	var m struct {
		Version string          `json:"jsonrpc"`
		Method  string          `json:"method"`
		ID      json.RawMessage `json:"id"`
	}
	err := json.Unmarshal(message, &m)
	return m.Method, m.ID, err == nil && m.Version == "2.0" && m.Method != "" && len(m.ID) > 0 && m.ID[0] != 'n'
}

// answerFault writes a JSON-RPC error.
func answerFault(w http.ResponseWriter, status, code int, id json.RawMessage, e *hubapi.Error) {
	message := e.Message
	if e.Hint != "" {
		message += "; " + e.Hint
	}
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": code, "message": message, "data": map[string]any{"code": errorCode(e)}},
	})
	if err != nil { // what is in it was JSON before
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
