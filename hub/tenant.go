package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// Defaults of a tenant's settings.
const (
	defaultInboxMaxPending  = 50
	defaultCooloffDays      = 30
	defaultMinClusterSize   = 3
	defaultMinAgents        = 3
	defaultFreshnessDays    = 14
	defaultDescriptionBytes = 160
	defaultBodyBytes        = 40000
)

// settingsOf are the settings as they are in force.
func settingsOf(t TenantRow) hubapi.TenantSettings {
	s := hubapi.TenantSettings{
		OptedIn: !t.OptedOut, SelfApprove: t.SelfApprove, AutoPromoteClean: t.AutoPromoteClean, PublicLog: t.PublicLog, PublicCatalog: t.PublicCatalog,
		InboxMaxPending:     cmp.Or(t.InboxMaxPending, defaultInboxMaxPending),
		CooloffDays:         cmp.Or(t.CooloffDays, defaultCooloffDays),
		StaleDays:           t.StaleDays,
		MinClusterSize:      cmp.Or(t.MinClusterSize, defaultMinClusterSize),
		MinDistinctAgents:   cmp.Or(t.MinAgents, defaultMinAgents),
		FreshnessWindowDays: cmp.Or(t.FreshnessDays, defaultFreshnessDays),
		DescriptionMaxBytes: cmp.Or(t.DescriptionBytes, defaultDescriptionBytes),
		BodyMaxBytes:        cmp.Or(t.BodyBytes, defaultBodyBytes),
	}
	if t.InboxMuted {
		s.InboxMaxPending = 0
	}
	return s
}

// changeTenant applies a change, or says what is wrong with it.
func changeTenant(t *TenantRow, c hubapi.TenantChange) error {
	flag := func(to *bool, from *bool, flipped bool) {
		if from != nil {
			*to = *from != flipped
		}
	}
	flag(&t.OptedOut, c.OptedIn, true)
	flag(&t.SelfApprove, c.SelfApprove, false)
	flag(&t.AutoPromoteClean, c.AutoPromoteClean, false)
	flag(&t.PublicLog, c.PublicLog, false)
	flag(&t.PublicCatalog, c.PublicCatalog, false)
	if c.InboxMaxPending != nil {
		if err := within("inbox_max_pending", *c.InboxMaxPending, 0, maxInbox); err != nil {
			return err
		}
		t.InboxMuted, t.InboxMaxPending = *c.InboxMaxPending == 0, *c.InboxMaxPending
	}
	for _, n := range []struct {
		name      string
		to, from  *int
		low, high int
	}{
		{"cooloff_days", &t.CooloffDays, c.CooloffDays, 1, maxCooloffDays},
		{"stale_days", &t.StaleDays, c.StaleDays, 0, 3650},
		{"min_cluster_size", &t.MinClusterSize, c.MinClusterSize, 1, 1_000_000},
		{"min_distinct_agents", &t.MinAgents, c.MinDistinctAgents, 1, 1_000_000},
		{"freshness_window_days", &t.FreshnessDays, c.FreshnessWindowDays, 1, 3650},
		{"description_max_bytes", &t.DescriptionBytes, c.DescriptionMaxBytes, 1, 64 << 10},
		{"body_max_bytes", &t.BodyBytes, c.BodyMaxBytes, 1, 16 << 20},
	} {
		if n.from == nil {
			continue
		}
		if err := within(n.name, *n.from, n.low, n.high); err != nil {
			return err
		}
		*n.to = *n.from
	}
	return nil
}

func within(name string, n, low, high int) error {
	if n < low || n > high {
		return hubapi.Errorf(hubapi.Invalid, "%s is a number from %d to %d, not %d", name, low, high, n)
	}
	return nil
}

// operates says whether p runs the hub itself: an admin of the tenant local, whose
// key only a user of the machine can have made.
func (p Principal) operates() bool { return p.Role == Admin && p.Tenant == LocalTenant }

// administers refuses who may not manage the tenant. A tenant that is not one's
// own is absent.
func (p Principal) administers(tenant string) error {
	if err := p.check(); err != nil {
		return err
	}
	switch {
	case p.Role != Admin:
		return hubapi.Errorf(hubapi.Forbidden, "%s may not manage a tenant", p.Role.WithArticle())
	case p.Tenant != tenant && !p.operates():
		return noTenant(tenant)
	}
	return nil
}

func noTenant(id string) *hubapi.Error {
	return hubapi.Errorf(hubapi.NotFound, "the hub has no tenant %.80q", id)
}

// Settings are those of p's own tenant.
func (h *Hub) Settings(ctx context.Context, p Principal) (hubapi.TenantSettings, error) {
	if err := p.check(); err != nil {
		return hubapi.TenantSettings{}, err
	}
	var out hubapi.TenantSettings
	err := h.read(ctx, func(r Reader) error {
		row, err := r.Tenant(p.Tenant)
		out = settingsOf(row)
		return err
	})
	return out, err
}

// Tenant shows a tenant; an empty id is p's own.
func (h *Hub) Tenant(ctx context.Context, p Principal, id string) (hubapi.Tenant, error) {
	id = cmp.Or(id, p.Tenant)
	if err := p.administers(id); err != nil {
		return hubapi.Tenant{}, err
	}
	var out hubapi.Tenant
	err := h.read(ctx, func(r Reader) error {
		row, err := r.Tenant(id)
		if errors.Is(err, ErrNoRow) {
			return noTenant(id)
		}
		out = hubapi.Tenant{ID: row.ID, Settings: settingsOf(row)}
		return err
	})
	return out, err
}

// Tenants lists the tenants that p administers.
func (h *Hub) Tenants(ctx context.Context, p Principal) (hubapi.TenantList, error) {
	if err := p.administers(p.Tenant); err != nil {
		return hubapi.TenantList{}, err
	}
	out := hubapi.TenantList{Tenants: []hubapi.Tenant{}}
	err := h.read(ctx, func(r Reader) error {
		rows, err := r.Tenants()
		for _, row := range rows {
			if row.ID == p.Tenant || p.operates() {
				out.Tenants = append(out.Tenants, hubapi.Tenant{ID: row.ID, Settings: settingsOf(row)})
			}
		}
		return err
	})
	return out, err
}

// NewTenant adds a tenant: opted in, and its authors may not approve their own
// releases. Only who operates the hub may.
func (h *Hub) NewTenant(ctx context.Context, p Principal, in hubapi.NewTenant) (hubapi.Tenant, error) {
	if err := p.check(); err != nil {
		return hubapi.Tenant{}, err
	}
	if !p.operates() {
		return hubapi.Tenant{}, hubapi.Errorf(hubapi.Forbidden, "only an admin of the tenant %s adds tenants", LocalTenant)
	}
	if hubapi.CheckAuthor(in.ID) != nil {
		return hubapi.Tenant{}, hubapi.Errorf(hubapi.Invalid, "%.80q cannot be the name of a tenant", in.ID).
			WithHint("it starts with a-z or 0-9, goes on with a-z, 0-9, '.', '_' or '-', and has at most %d bytes", hubapi.MaxName)
	}
	row := TenantRow{ID: in.ID}
	if err := changeTenant(&row, in.Settings); err != nil {
		return hubapi.Tenant{}, err
	}
	err := h.write(ctx, func(w Writer) error {
		if _, err := w.Tenant(in.ID); !errors.Is(err, ErrNoRow) {
			return cmp.Or(err, error(hubapi.Errorf(hubapi.Conflict, "there is a tenant %q already", in.ID)))
		}
		if err := w.PutTenant(row); err != nil {
			return err
		}
		return h.auditTenant(w, p, in.ID, "tenant-new", "")
	})
	return hubapi.Tenant{ID: row.ID, Settings: settingsOf(row)}, err
}

// SetTenant changes settings; they hold from the next request on. An empty id is
// p's own tenant.
func (h *Hub) SetTenant(ctx context.Context, p Principal, id string, c hubapi.TenantChange) (hubapi.Tenant, error) {
	id = cmp.Or(id, p.Tenant)
	if err := p.administers(id); err != nil {
		return hubapi.Tenant{}, err
	}
	var out hubapi.Tenant
	err := h.write(ctx, func(w Writer) error {
		row, err := w.Tenant(id)
		if errors.Is(err, ErrNoRow) {
			return noTenant(id)
		}
		if err != nil {
			return err
		}
		before := settingsOf(row)
		if err := changeTenant(&row, c); err != nil {
			return err
		}
		out = hubapi.Tenant{ID: id, Settings: settingsOf(row)}
		if err := w.PutTenant(row); err != nil || before == out.Settings {
			return err
		}
		return h.auditTenant(w, p, id, actTenantSet, settingsChange(before, out.Settings))
	})
	return out, err
}

// actTenantSet is a change of settings in the audit trail; its note is settingsChange.
const actTenantSet = "tenant-set"

// settingsChange says what changed, for the audit trail.
func settingsChange(before, after hubapi.TenantSettings) string {
	a, b := fmt.Sprintf("%+v", before), fmt.Sprintf("%+v", after)
	was, is := strings.Fields(strings.Trim(a, "{}")), strings.Fields(strings.Trim(b, "{}"))
	var out []string
	for i := range is {
		if was[i] != is[i] {
			out = append(out, is[i])
		}
	}
	return strings.Join(out, " ")
}

func (h *Hub) auditTenant(w Writer, p Principal, tenant, action, note string) error {
	return w.AddAudit(AuditRow{Tenant: tenant, At: h.now(), Principal: p.ID, Action: action, Note: note})
}
