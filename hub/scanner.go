package hub

import (
	"encoding/json"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// ScanResult is what a Scanner says about one pack; its time is set by the hub.
type ScanResult = hubapi.Scan

// Scanner judges the content of packs. It is deterministic and safe for
// concurrent use. The State that it leaves empty follows from the counts.
type Scanner interface {
	Scan(p *pack.Pack) ScanResult
	// Rules is the version of its rule set, not empty.
	Rules() string
}

// scan asks the scanner, nil without one.
func (h *Hub) scan(p *pack.Pack) *hubapi.Scan {
	if h.scanner == nil {
		return nil
	}
	s := h.scanner.Scan(p)
	s.Rules, s.ScannedAt = h.scanner.Rules(), h.now()
	if s.State == "" {
		s.State = hubapi.ScanClean
	}
	if s.Critical > 0 {
		s.State = hubapi.ScanQuarantined
	}
	if s.Findings == nil {
		s.Findings = []hubapi.Finding{}
	}
	return &s
}

// dirty says whether a release may not go on with this scan. What could not be
// judged may not; what nobody judges may.
func dirty(s *hubapi.Scan) bool { return s != nil && s.State != hubapi.ScanClean }

// scanRefused is the refusal of a move that wanted a clean scan.
func scanRefused(what string, s *hubapi.Scan) *hubapi.Error {
	e := hubapi.Errorf(hubapi.Precondition, "%s: rescan refused: the scan found %d critical things", what, s.Critical)
	if s.State == hubapi.ScanFailed {
		e.Message = what + ": rescan refused: the content could not be judged"
	}
	for _, f := range s.Findings[:min(len(s.Findings), maxDetails)] {
		if f.Severity == "critical" {
			e.Details = append(e.Details, hubapi.Detail{ID: f.Rule, Message: f.Message, File: f.File, Line: f.Line, Column: f.Column})
		}
	}
	return e.WithHint("mend it and push it as another version, or quarantine it")
}

func evidence(origin *hubapi.Origin, s *hubapi.Scan) EvidenceRow {
	var row EvidenceRow
	if origin != nil {
		row.Origin = asJSON(origin)
	}
	if s != nil {
		row.Scan, row.Rules = asJSON(s), s.Rules
	}
	return row
}

// scanOf reads the stored scan, nil when there is none.
func scanOf(row EvidenceRow) (*hubapi.Scan, error) {
	if row.Scan == "" {
		return nil, nil
	}
	var s hubapi.Scan
	if err := json.Unmarshal([]byte(row.Scan), &s); err != nil {
		return nil, hubapi.Errorf(hubapi.Internal, "the stored scan of a release is damaged: %v", err)
	}
	return &s, nil
}

func originOf(row EvidenceRow) (hubapi.Origin, error) {
	var o hubapi.Origin
	if row.Origin == "" {
		return o, nil
	}
	if err := json.Unmarshal([]byte(row.Origin), &o); err != nil {
		return o, hubapi.Errorf(hubapi.Internal, "the stored origin of a release is damaged: %v", err)
	}
	return o, nil
}

// asJSON writes wire types, which hold nothing that cannot be written.
func asJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}
