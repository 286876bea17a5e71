package hubapi

import "time"

// Key is one key of a hub, without the key itself.
type Key struct {
	ID        string     `json:"id"`
	Prefix    string     `json:"prefix"` // its first characters
	Name      string     `json:"name"`
	Tenant    string     `json:"tenant"`
	Role      string     `json:"role"`
	Authors   []string   `json:"authors"`
	Rate      int        `json:"rate_per_minute"` // 0 means the default of the role
	State     string     `json:"state"`           // valid, expired or revoked
	CreatedAt time.Time  `json:"created_at"`
	CreatedBy string     `json:"created_by"`
	ExpiresAt *time.Time `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// KeyList answers GET /api/v1/admin/tokens.
type KeyList struct {
	Keys []Key `json:"keys"`
}

// NewKey is the body of POST /api/v1/admin/tokens. An empty tenant is the
// caller's.
type NewKey struct {
	Role      string     `json:"role"`
	Tenant    string     `json:"tenant,omitempty"`
	Name      string     `json:"name,omitempty"`
	Authors   []string   `json:"authors,omitempty"`
	Rate      int        `json:"rate_per_minute,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// KeyMade answers it. Token is the key itself, this once.
type KeyMade struct {
	Key
	Token string `json:"token"`
}

// Tenant is a tenant with its settings as they are in force.
type Tenant struct {
	ID       string         `json:"id"`
	Settings TenantSettings `json:"settings"`
}

// TenantSettings are the settings of a tenant.
type TenantSettings struct {
	OptedIn             bool `json:"opted_in"`
	SelfApprove         bool `json:"self_approve"`
	AutoPromoteClean    bool `json:"auto_promote_clean"`
	PublicLog           bool `json:"public_log"`
	PublicCatalog       bool `json:"public_catalog"`
	InboxMaxPending     int  `json:"inbox_max_pending"`
	CooloffDays         int  `json:"cooloff_days"`
	StaleDays           int  `json:"stale_days"`
	MinClusterSize      int  `json:"min_cluster_size"`
	MinDistinctAgents   int  `json:"min_distinct_agents"`
	FreshnessWindowDays int  `json:"freshness_window_days"`
	DescriptionMaxBytes int  `json:"description_max_bytes"`
	BodyMaxBytes        int  `json:"body_max_bytes"`
}

// TenantChange is the body of PUT /api/v1/admin/tenants/{id}: what is absent
// stays.
type TenantChange struct {
	OptedIn             *bool `json:"opted_in,omitempty"`
	SelfApprove         *bool `json:"self_approve,omitempty"`
	AutoPromoteClean    *bool `json:"auto_promote_clean,omitempty"`
	PublicLog           *bool `json:"public_log,omitempty"`
	PublicCatalog       *bool `json:"public_catalog,omitempty"`
	InboxMaxPending     *int  `json:"inbox_max_pending,omitempty"`
	CooloffDays         *int  `json:"cooloff_days,omitempty"`
	StaleDays           *int  `json:"stale_days,omitempty"`
	MinClusterSize      *int  `json:"min_cluster_size,omitempty"`
	MinDistinctAgents   *int  `json:"min_distinct_agents,omitempty"`
	FreshnessWindowDays *int  `json:"freshness_window_days,omitempty"`
	DescriptionMaxBytes *int  `json:"description_max_bytes,omitempty"`
	BodyMaxBytes        *int  `json:"body_max_bytes,omitempty"`
}

// NewTenant is the body of POST /api/v1/admin/tenants.
type NewTenant struct {
	ID       string       `json:"id"`
	Settings TenantChange `json:"settings"`
}

// TenantList answers GET /api/v1/admin/tenants.
type TenantList struct {
	Tenants []Tenant `json:"tenants"`
}
