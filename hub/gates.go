package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// GateInput is all that the six gates look at.
type GateInput struct {
	Now         time.Time
	Settings    hubapi.TenantSettings
	Origin      hubapi.Origin
	Fingerprint string
	Cooling     bool         // content with that fingerprint was rejected and is in its cool-off
	Scan        *hubapi.Scan // nil: nothing has scanned it
	Base        string       // digest that it was made from; empty: from nothing
	Active      string       // digest that is active now
}

// Gates are the six conditions of an automatic promotion, in their order. What is
// missing does not pass.
func Gates(in GateInput) []hubapi.Gate {
	gate := func(name string, pass bool, format string, args ...any) hubapi.Gate {
		return hubapi.Gate{Gate: name, Pass: pass, Why: fmt.Sprintf(format, args...)}
	}
	s, o := in.Settings, in.Origin
	gates := []hubapi.Gate{
		gate("volume", o.ClusterSize >= s.MinClusterSize, "%d runs, at least %d are wanted", o.ClusterSize, s.MinClusterSize),
		gate("diversity", o.DistinctAgents >= s.MinDistinctAgents, "%d agents, at least %d are wanted", o.DistinctAgents, s.MinDistinctAgents),
	}
	switch {
	case o.WindowEnd == nil:
		gates = append(gates, gate("freshness", false, "no window_end"))
	default:
		age := in.Now.Sub(*o.WindowEnd)
		most := time.Duration(s.FreshnessWindowDays) * 24 * time.Hour
		gates = append(gates, gate("freshness", age <= most && age >= -time.Hour, "seen last %s, at most %d days ago is wanted",
			o.WindowEnd.UTC().Format(time.RFC3339), s.FreshnessWindowDays))
	}
	switch {
	case in.Fingerprint == "":
		gates = append(gates, gate("poison", false, "no fingerprint"))
	case in.Cooling:
		gates = append(gates, gate("poison", false, "the same was rejected and is in its cool-off"))
	default:
		gates = append(gates, gate("poison", true, "not rejected lately"))
	}
	switch {
	case in.Scan == nil:
		gates = append(gates, gate("scan", false, "not scanned"))
	default:
		gates = append(gates, gate("scan", in.Scan.State == hubapi.ScanClean && in.Scan.Critical == 0, "%s, %d critical", in.Scan.State, in.Scan.Critical))
	}
	switch in.Base {
	case "":
		gates = append(gates, gate("hash_binding", true, "not an update"))
	case in.Active:
		gates = append(gates, gate("hash_binding", true, "made from what is active"))
	default:
		gates = append(gates, gate("hash_binding", false, "made from %s, which is not active", in.Base))
	}
	return gates
}

// gatesOf asks the gates about a stored release.
func (h *Hub) gatesOf(r Reader, tenant TenantRow, row ReleaseRow) ([]hubapi.Gate, error) {
	stored, err := r.Evidence(row.Seq)
	if err != nil {
		return nil, err
	}
	in := GateInput{Now: h.now(), Settings: settingsOf(tenant), Fingerprint: row.Fingerprint, Base: row.Note.Base}
	if in.Scan, err = scanOf(stored); err != nil {
		return nil, err
	}
	if in.Origin, err = originOf(stored); err != nil {
		return nil, err
	}
	if in.Cooling, _, err = h.cooling(r, row.Tenant, row.Fingerprint); err != nil {
		return nil, err
	}
	now, err := r.Releases(row.Skill, hubapi.Active, 1)
	if err != nil {
		return nil, err
	}
	if len(now) == 1 {
		in.Active = now[0].Digest
	}
	return Gates(in), nil
}

// cooling says whether content with that fingerprint is in a cool-off, and until
// when.
func (h *Hub) cooling(r Reader, tenant, fingerprint string) (bool, CooloffRow, error) {
	if fingerprint == "" {
		return false, CooloffRow{}, nil
	}
	row, err := r.Cooloff(tenant, fingerprint)
	if errors.Is(err, ErrNoRow) {
		return false, CooloffRow{}, nil
	}
	return err == nil && row.Until.After(h.now()), row, err
}

// What one tick looks at in one tenant, at most.
const (
	tickBatch = 50
	tickMost  = 1000
)

// Tick promotes the candidates of a tenant that pass all gates, oldest first, and
// lets grow stale what nobody moved for the tenant's stale_days. Each release is a
// transaction of its own; one that changed meanwhile, or fails, is held and the
// others go on. It is what a server does every minute; p must be an admin.
func (h *Hub) Tick(ctx context.Context, p Principal) (hubapi.Promotion, error) {
	if err := p.check(); err != nil {
		return hubapi.Promotion{}, err
	}
	if p.Role != Admin {
		return hubapi.Promotion{}, hubapi.Errorf(hubapi.Forbidden, "%s may not start a promotion", p.Role.WithArticle())
	}
	return h.tick(ctx, p.Tenant)
}

// TickAll is Tick for every tenant. It goes on after a fault and gives the first.
func (h *Hub) TickAll(ctx context.Context) error {
	var tenants []TenantRow
	err := h.read(ctx, func(r Reader) (err error) {
		tenants, err = r.Tenants()
		return err
	})
	for _, tenant := range tenants {
		if _, failed := h.tick(ctx, tenant.ID); err == nil {
			err = failed
		}
	}
	return err
}

func (h *Hub) tick(ctx context.Context, tenant string) (hubapi.Promotion, error) {
	out := hubapi.Promotion{Candidates: []hubapi.GatedRelease{}}
	var err error
	if out.Stale, err = h.expire(ctx, tenant); err != nil {
		return out, err
	}
	for after := int64(0); out.Scanned < tickMost; {
		rows, err := h.oldest(ctx, tenant, hubapi.Candidate, after)
		if err != nil || len(rows) == 0 {
			return out, err
		}
		for _, row := range rows {
			after = row.Seq
			h.promoteOne(ctx, row, &out)
		}
	}
	return out, nil
}

func (h *Hub) oldest(ctx context.Context, tenant string, status hubapi.Status, after int64) (rows []ReleaseRow, err error) {
	err = h.read(ctx, func(r Reader) error {
		rows, err = r.OldestReleases(tenant, status, after, tickBatch)
		return err
	})
	return rows, err
}

// promoteOne promotes one candidate or holds it.
func (h *Hub) promoteOne(ctx context.Context, row ReleaseRow, out *hubapi.Promotion) {
	out.Scanned++
	result := hubapi.GatedRelease{Ref: refOf(row).String(), Status: row.Status}
	holds := func(r Reader) (now ReleaseRow, tenant TenantRow, held bool, err error) {
		if tenant, err = r.Tenant(row.Tenant); err != nil {
			return now, tenant, false, err
		}
		if now, err = r.Release(row.Skill, row.Version); err != nil {
			return now, tenant, false, err
		}
		result.Status = hubapi.Candidate
		result.Gates, err = h.gatesOf(r, tenant, now)
		return now, tenant, slices.ContainsFunc(result.Gates, func(g hubapi.Gate) bool { return !g.Pass }), err
	}
	held := false
	err := h.read(ctx, func(r Reader) (err error) {
		_, _, held, err = holds(r)
		return err
	})
	if err == nil && !held { // only what passes needs the writer
		err = h.promote(ctx, row, holds, &result)
	}
	if err != nil {
		result.Status = hubapi.Candidate
		result.Gates = append(result.Gates, hubapi.Gate{Gate: "move", Why: hubapi.AsError(err).Message})
	}
	switch result.Status {
	case hubapi.Active:
		out.AutoApproved++
	case hubapi.Staged:
		out.Promoted++
	default:
		out.Held++
	}
	out.Candidates = append(out.Candidates, result)
}

// promote asks the gates again, in the transaction, and moves what still passes.
func (h *Hub) promote(ctx context.Context, row ReleaseRow, holds func(Reader) (ReleaseRow, TenantRow, bool, error), result *hubapi.GatedRelease) error {
	return h.write(ctx, func(w Writer) error {
		now, tenant, held, err := holds(w)
		if err != nil || held {
			return err
		}
		live, err := w.Releases(now.Skill, hubapi.Active, 1)
		if err != nil {
			return err
		}
		action := Stage
		// What was not made from the active release does not replace it unseen.
		if tenant.AutoPromoteClean && (len(live) == 0 || now.Note.Base == live[0].Digest) {
			action = Promote
		}
		t, err := byHub(action, now.Status)
		if err != nil {
			return err
		}
		if t.To == hubapi.Active {
			if _, err := h.supersede(w, itself(row.Tenant), now); err != nil {
				return err
			}
		}
		now, err = h.move(w, itself(row.Tenant), t, now, now.Note, h.now(), "all gates passed")
		result.Status = now.Status
		return err
	})
}

// expire lets grow stale what nobody moved for long.
func (h *Hub) expire(ctx context.Context, tenant string) (int, error) {
	var settings TenantRow
	err := h.read(ctx, func(r Reader) (err error) {
		settings, err = r.Tenant(tenant)
		return err
	})
	if err != nil || settings.StaleDays <= 0 {
		return 0, err
	}
	limit := h.now().Add(-time.Duration(settings.StaleDays) * 24 * time.Hour)
	stale := 0
	for _, status := range []hubapi.Status{hubapi.Candidate, hubapi.Staged} {
		t, err := byHub(Expire, status)
		if err != nil {
			return stale, err
		}
		for after, seen := int64(0), 0; seen < tickMost; {
			rows, err := h.oldest(ctx, tenant, status, after)
			if err != nil {
				return stale, err
			}
			if len(rows) == 0 {
				break
			}
			for _, row := range rows {
				after, seen = row.Seq, seen+1
				if row.UpdatedAt.After(limit) {
					continue
				}
				err := h.write(ctx, func(w Writer) error {
					_, err := h.move(w, itself(tenant), t, row, row.Note, h.now(), fmt.Sprintf("not moved for %d days", settings.StaleDays))
					return err
				})
				if err == nil {
					stale++
				} else if hubapi.AsError(err).Code != hubapi.Conflict {
					return stale, err
				}
			}
		}
	}
	return stale, nil
}

// Rescan judges again, with the scanner's present rules, what waits for review, is
// active, or was replaced and is still given by its version, and was judged by others,
// and quarantines what has become critical. It says how many it judged and quarantined. A server does it when it starts.
func (h *Hub) Rescan(ctx context.Context) (scanned, quarantined int, err error) {
	if h.scanner == nil {
		return 0, 0, nil
	}
	var tenants []TenantRow
	if err := h.read(ctx, func(r Reader) (err error) {
		tenants, err = r.Tenants()
		return err
	}); err != nil {
		return 0, 0, err
	}
	for _, tenant := range tenants {
		for _, status := range []hubapi.Status{hubapi.Candidate, hubapi.Staged, hubapi.Active, hubapi.Deprecated} {
			for after := int64(0); ; {
				rows, err := h.oldest(ctx, tenant.ID, status, after)
				if err != nil {
					return scanned, quarantined, err
				}
				if len(rows) == 0 {
					break
				}
				for _, row := range rows {
					after = row.Seq
					if status == hubapi.Deprecated && row.Note.ReplacedBy == "" {
						continue // nobody gets it
					}
					did, dirty, err := h.rescanOne(ctx, row)
					if err != nil {
						return scanned, quarantined, err
					}
					if did {
						scanned++
					}
					if dirty {
						quarantined++
					}
				}
			}
		}
	}
	return scanned, quarantined, nil
}

func (h *Hub) rescanOne(ctx context.Context, row ReleaseRow) (did, moved bool, err error) {
	var (
		stored EvidenceRow
		again  *hubapi.Scan
	)
	err = h.read(ctx, func(r Reader) error {
		if stored, err = r.Evidence(row.Seq); err != nil || stored.Rules == h.scanner.Rules() {
			return err
		}
		p, err := storedPack(r, row)
		if err != nil {
			return err
		}
		again = h.scan(p)
		return nil
	})
	if err != nil || again == nil {
		return false, false, err
	}
	err = h.write(ctx, func(w Writer) error {
		moved = false
		now, err := w.Release(row.Skill, row.Version)
		if err != nil || now.Status != row.Status {
			return err // whoever moved it looked at it
		}
		fresh := evidence(nil, again)
		fresh.Origin = stored.Origin
		if err := w.SetEvidence(row.Seq, fresh); err != nil || again.Critical == 0 {
			return err
		}
		t, err := byHub(Quarantine, now.Status)
		if err != nil {
			return err
		}
		note := now.Note
		note.Reason = fmt.Sprintf("the rules %s found %d critical things", again.Rules, again.Critical)
		moved = true
		_, err = h.move(w, itself(row.Tenant), t, now, note, h.now(), note.Reason)
		return err
	})
	return err == nil, moved && err == nil, err
}
