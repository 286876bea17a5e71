package conformance

import (
	"bytes"
	"encoding/json"

	"github.com/kortecx/kx/internal/termtext"
)

// jsonWriter prints {"reports":[…],"packs":N,"passed":P,"failed":F}, one report a
// line.
type jsonWriter struct{ *output }

func (j *jsonWriter) Report(r *Report) error {
	doc, err := compactJSON(r)
	if err != nil {
		return err
	}
	if j.sum.Packs == 0 {
		j.str("{\"reports\":[\n")
	} else {
		j.str(",\n")
	}
	j.count(r)
	_, err = j.w.Write(doc)
	return err
}

func (j *jsonWriter) Close() error {
	if j.sum.Packs == 0 {
		j.str("{\"reports\":[")
	} else {
		j.str("\n")
	}
	totals, err := json.Marshal(j.sum)
	if err != nil {
		return err
	}
	j.str("],", string(totals[1:]), "\n")
	return j.w.Flush()
}

// compactJSON is a value as compact JSON that is harmless on a terminal.
func compactJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return termtext.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
