package hubapi

import "time"

// BadgeLevel is how much a badge vouches for.
type BadgeLevel string

// The levels, each with everything of the one before.
const (
	BadgeBasic    BadgeLevel = "basic"
	BadgeStandard BadgeLevel = "standard"
	BadgePremium  BadgeLevel = "premium"
)

// BadgeLevels are the levels in ascending order.
func BadgeLevels() []BadgeLevel { return []BadgeLevel{BadgeBasic, BadgeStandard, BadgePremium} }

// Label is what people call a badge of this level.
func (l BadgeLevel) Label() string { return "Kazma-Certified " + l.Title() }

// Title is the level with a capital; anything that is no level is "Unknown".
func (l BadgeLevel) Title() string {
	switch l {
	case BadgeBasic:
		return "Basic"
	case BadgeStandard:
		return "Standard"
	case BadgePremium:
		return "Premium"
	}
	return "Unknown"
}

// Requirement is one requirement of a level and whether a release meets it.
type Requirement struct {
	ID  string `json:"id"`
	Met bool   `json:"met"`
	// How it is decided: "evaluated" from the release's own files, "attested" by
	// a reviewer, or "combined" from other requirements.
	How    string     `json:"how"`
	Reason string     `json:"reason"` // what was seen, or what the reviewer wrote
	By     string     `json:"by,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// Badge is a certification of one release: of its author, name and version and of
// the bytes that its digest names.
type Badge struct {
	SkillID   string     `json:"skill_id"`
	Author    string     `json:"author"`
	Name      string     `json:"name"`
	Version   string     `json:"version"`
	Digest    string     `json:"digest"`
	Level     BadgeLevel `json:"level"`
	Label     string     `json:"label"`
	IssuedAt  time.Time  `json:"issued_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	IssuedBy  string     `json:"issued_by"`
	// Valid says whether it can be relied on now; Reason says why not.
	Valid        bool       `json:"valid"`
	Reason       string     `json:"reason"`
	Revoked      bool       `json:"revoked"`
	RevokeReason string     `json:"revoke_reason,omitempty"`
	RevokedBy    string     `json:"revoked_by,omitempty"`
	RevokedAt    *time.Time `json:"revoked_at,omitempty"`
	// Requirements are the ids of what was met when it was issued.
	Requirements []string `json:"requirements"`
}

// BadgeIssue is the body of PUT /api/v1/badges/{author}/{name}/{version}.
type BadgeIssue struct {
	Level BadgeLevel `json:"level"`
}

// BadgeReason is the body of the revoke and lift routes of a badge.
type BadgeReason struct {
	Reason string `json:"reason"`
}

// BadgeAttest is the body of POST /api/v1/badges/{author}/{name}/{version}/attest.
type BadgeAttest struct {
	Requirement string `json:"requirement"`
	Met         bool   `json:"met"`
	Reason      string `json:"reason"`
}

// BadgeRequirements answers GET /api/v1/badges/{author}/{name}/{version}/requirements.
type BadgeRequirements struct {
	SkillID      string        `json:"skill_id"`
	Digest       string        `json:"digest"`
	Score        float64       `json:"score"` // of the lint, 0 to 100
	Requirements []Requirement `json:"requirements"`
	// Qualifies are the levels for which everything is met.
	Qualifies []BadgeLevel `json:"qualifies"`
}

// BadgeList answers GET /api/v1/badges: the badges of active releases by name.
type BadgeList struct {
	Items   []Badge `json:"items"`
	HasMore bool    `json:"has_more"`
}

// BadgeStats answers GET /api/v1/badges/stats. Revoked badges count nowhere but in
// Revoked.
type BadgeStats struct {
	Total   int                `json:"total"`
	ByLevel map[BadgeLevel]int `json:"by_level"`
	Recent  int                `json:"issued_last_30_days"`
	Revoked int                `json:"revoked"`
}
