package conformance

// jsonWriter prints {"reports":[…],"packs":N,"passed":P,"failed":F}, one report a
// line.
type jsonWriter struct{ *output }

func (j *jsonWriter) Report(r *Report) error {
	j.count(r)
	return j.Item(r)
}

func (j *jsonWriter) Close() error { return j.EndItems(j.sum) }
