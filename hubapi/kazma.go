package hubapi

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// KazmaScheme begins the id of a release in the Kazma routes,
// kazma-hub://author/name@version.
const KazmaScheme = "kazma-hub://"

// KazmaVersion is what GET /api/v1/health says: the version of the Kazma API whose
// shapes these are, not ours.
const KazmaVersion = "0.2.0"

// KazmaID is the id of a release in the Kazma routes.
func KazmaID(r Ref) string { return KazmaScheme + r.Author + "/" + r.Name + "@" + r.Version }

// ParseKazmaID reads kazma-hub://author/name@version, its form in a URL
// (kazma-hub%3A%2F%2Fauthor%2Fname%40version), and the short forms that ParseRef
// reads. With the scheme all three parts must be there, as in the reference; unlike
// it, each has a grammar, so that no id leaves a folder. The error is an *Error of
// code Invalid.
func ParseKazmaID(id string) (Ref, error) {
	ref, err := parseKazmaID(id)
	if err == nil || !strings.Contains(id, "%") {
		return ref, err
	}
	if plain, escaped := url.PathUnescape(id); escaped == nil {
		if ref, err := parseKazmaID(plain); err == nil {
			return ref, nil
		}
	}
	return Ref{}, err
}

func parseKazmaID(id string) (Ref, error) {
	rest, full := strings.CutPrefix(id, KazmaScheme)
	ref, err := parseRef(rest)
	if err != nil {
		return Ref{}, err
	}
	if full && (ref.Author == "" || ref.Version == "") {
		return Ref{}, Errorf(Invalid, "%q is not a skill id", clip(id)).WithHint("write %sAUTHOR/NAME@VERSION", KazmaScheme)
	}
	return ref, nil
}

// IsSubmissionID tells a submission's id (a UUID of version 4) from a skill's.
func IsSubmissionID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		default:
			return false
		}
	}
	return id[14] == '4' && strings.IndexByte("89ab", id[19]) >= 0
}

// KazmaSkill is one active release as the Kazma routes list it.
type KazmaSkill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Author      string   `json:"author"`
	Description *string  `json:"description"`
	Version     string   `json:"version"`
	Category    *string  `json:"category"`
	Tags        []string `json:"tags"`
	Certified   bool     `json:"certified"`
	Downloads   int      `json:"downloads"` // always 0: nobody is counted
}

// KazmaDetail answers GET /api/v1/skills/{id}. Times are as KazmaTime writes them.
type KazmaDetail struct {
	KazmaSkill
	CreatedAt *string `json:"created_at"`
	UpdatedAt *string `json:"updated_at"`
}

// KazmaPage answers GET /api/v1/skills.
type KazmaPage struct {
	Items   []KazmaSkill `json:"items"`
	Total   int          `json:"total"`
	Page    int          `json:"page"`
	PerPage int          `json:"per_page"`
}

// KazmaFound answers GET /api/v1/skills/search.
type KazmaFound struct {
	Items []KazmaSkill `json:"items"`
	Total int          `json:"total"`
	Query string       `json:"query"`
}

// KazmaStats answers GET /api/v1/stats. A skill without a category counts as
// "uncategorized".
type KazmaStats struct {
	TotalSkills    int            `json:"total_skills"`
	CertifiedCount int            `json:"certified_count"`
	ByCategory     map[string]int `json:"by_category"`
}

// KazmaHealth answers GET /api/v1/health.
type KazmaHealth struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// KazmaCertification answers GET /api/v1/skills/{id}/certification. RequirementsMet
// holds "valid", which is true for a badge that can be relied on now, and every
// requirement of the badge's level. The last three are there only when the id is a
// submission's.
type KazmaCertification struct {
	SkillID         string          `json:"skill_id"`
	Level           string          `json:"level"` // "none" for a submission without a badge
	IssuedAt        *string         `json:"issued_at"`
	ExpiresAt       *string         `json:"expires_at"`
	RequirementsMet map[string]bool `json:"requirements_met"`

	SubmissionID string `json:"submission_id,omitempty"`
	Status       string `json:"status,omitempty"`
	Release      string `json:"release,omitempty"` // the reference of the release that it became
}

// KazmaSubmit is the body of POST /api/v1/skills/submit.
type KazmaSubmit struct {
	Manifest    json.RawMessage `json:"manifest"`
	SourceURL   string          `json:"source_url"`
	SubmitterID string          `json:"submitter_id"`
}

// KazmaSubmitted answers POST /api/v1/skills/submit.
type KazmaSubmitted struct {
	SubmissionID string `json:"submission_id"`
	SkillID      string `json:"skill_id"`
	Status       string `json:"status"`
	Message      string `json:"message"`
}

// Submission is a manifest that was submitted, and what became of it.
type Submission struct {
	ID          string    `json:"submission_id"`
	SkillID     string    `json:"skill_id"`
	SourceURL   string    `json:"source_url"`
	SubmitterID string    `json:"submitter_id"` // what the submitter said
	SubmittedBy string    `json:"submitted_by"` // the principal that it was
	SubmittedAt time.Time `json:"submitted_at"`
	// Status is "pending" until a push of this author, name and version arrives,
	// then the status of that release.
	Status  string   `json:"status"`
	Release *Release `json:"release"`
	Badge   *Badge   `json:"badge"`
}

// SubmissionPending is the status of a submission whose code has not come.
const SubmissionPending = "pending"

// KazmaRefusal is the body of every refusal of the Kazma routes. Detail is text, or
// for 422 a list of KazmaFault.
type KazmaRefusal struct {
	Detail any      `json:"detail"`
	Errors []Detail `json:"errors,omitempty"` // of a manifest, each with its place
}

// KazmaFault is one fault of a query or body, as the reference's framework says it.
type KazmaFault struct {
	Type  string         `json:"type"`
	Loc   []string       `json:"loc"`
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
}

// KazmaTime writes a time as the reference does: ISO 8601, UTC, microseconds.
func KazmaTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }
