package httpapi

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// kazmaParams reads the parameters of a Kazma request by the rules of the
// reference's framework, and collects what is wrong with them.
type kazmaParams struct {
	values url.Values
	faults []hubapi.KazmaFault
}

func (q *kazmaParams) fault(name, kind, msg, input string, ctx map[string]any) {
	q.faults = append(q.faults, hubapi.KazmaFault{Type: kind, Loc: []string{"query", name}, Msg: msg, Input: clipped(input), Ctx: ctx})
}

func clipped(s string) string {
	if len(s) > maxKazmaEcho {
		s = s[:maxKazmaEcho]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// given is the value of a parameter. One that is there twice is refused: the last
// would win in the reference, the first elsewhere.
func (q *kazmaParams) given(name string) (string, bool) {
	all := q.values[name]
	if len(all) > 1 {
		q.fault(name, "too_many_values", "Input should be given once", all[0], nil)
		return "", false
	}
	if len(all) == 0 {
		return "", false
	}
	return all[0], true
}

func (q *kazmaParams) text(name string) string {
	text, _ := q.given(name)
	return text
}

// number is fallback for a parameter that is absent; most 0 means no upper limit.
func (q *kazmaParams) number(name string, fallback, least, most int) int {
	text, ok := q.given(name)
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err != nil:
		q.fault(name, "int_parsing", "Input should be a valid integer, unable to parse string as an integer", text, nil)
	case n < least:
		q.fault(name, "greater_than_equal", "Input should be greater than or equal to "+strconv.Itoa(least), text, map[string]any{"ge": least})
	case most > 0 && n > most:
		q.fault(name, "less_than_equal", "Input should be less than or equal to "+strconv.Itoa(most), text, map[string]any{"le": most})
	default:
		return n
	}
	return fallback
}

func (q *kazmaParams) boolean(name string) *bool {
	text, ok := q.given(name)
	if !ok {
		return nil
	}
	var value bool
	switch strings.ToLower(text) {
	case "1", "true", "t", "yes", "y", "on":
		value = true
	case "0", "false", "f", "no", "n", "off":
	default:
		q.fault(name, "bool_parsing", "Input should be a valid boolean, unable to interpret input", text, nil)
		return nil
	}
	return &value
}

func (q *kazmaParams) refusal() error { return unprocessable(q.faults) }

func unprocessable(faults []hubapi.KazmaFault) error {
	if len(faults) == 0 {
		return nil
	}
	return &kazmaError{http.StatusUnprocessableEntity, faults}
}

// kazmaSubmission reads the body of a submission. Keys that it does not know are
// ignored, as in the reference; keys that are there twice are not.
func (c *call) kazmaSubmission() (hub.SubmitInput, error) {
	var in hub.SubmitInput
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxKazmaBody))
	if err != nil {
		return in, bodyError(err)
	}
	fault := func(kind, msg string, loc ...string) hubapi.KazmaFault {
		return hubapi.KazmaFault{Type: kind, Loc: append([]string{"body"}, loc...), Msg: msg}
	}
	if len(data) == 0 {
		return in, unprocessable([]hubapi.KazmaFault{fault("missing", "Field required")})
	}
	node, broken := strictjson.Parse(data)
	if len(broken) > 0 {
		return in, unprocessable([]hubapi.KazmaFault{fault("json_invalid", "JSON decode error: "+broken[0].Text, strconv.Itoa(broken[0].Offset))})
	}
	if node.Kind != strictjson.Object {
		return in, unprocessable([]hubapi.KazmaFault{fault("model_attributes_type", "Input should be a valid dictionary or object to extract fields from")})
	}
	var faults []hubapi.KazmaFault
	member := func(name string) *strictjson.Node {
		for _, m := range node.Members {
			if m.Name == name {
				return m.Value
			}
		}
		faults = append(faults, fault("missing", "Field required", name))
		return nil
	}
	if m := member("manifest"); m != nil {
		if m.Kind != strictjson.Object {
			faults = append(faults, fault("dict_type", "Input should be a valid dictionary", "manifest"))
		}
		in.Manifest = data[m.Offset:m.End]
	}
	for _, text := range []struct {
		name string
		to   *string
	}{{"source_url", &in.SourceURL}, {"submitter_id", &in.SubmitterID}} {
		if m := member(text.name); m != nil {
			if m.Kind != strictjson.String {
				faults = append(faults, fault("string_type", "Input should be a valid string", text.name))
			}
			*text.to = m.Text
		}
	}
	return in, unprocessable(faults)
}
