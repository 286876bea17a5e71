package hub

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
)

// Action is what somebody, or the hub by itself, does to a release. The audit
// trail names it.
type Action string

// The actions.
const (
	Publish    Action = "publish"
	Stage      Action = "stage"
	Promote    Action = "promote"
	Approve    Action = "approve"
	Supersede  Action = "superseded"
	Reject     Action = "reject"
	Quarantine Action = "quarantine"
	Defer      Action = "defer"
	Edit       Action = "edit"
	Withdraw   Action = "withdraw"
	Deprecate  Action = "deprecate"
	Repropose  Action = "repropose"
	Expire     Action = "expire"
)

// Transition is one move that a release can make. What is not in Lifecycle cannot
// happen.
type Transition struct {
	Action Action
	From   hubapi.Status // empty: the release is new
	To     hubapi.Status
	Any    []Role // may do it to every release of their tenant
	Own    []Role // may do it to the releases of authors of theirs
	Hub    bool   // the hub does it by itself
	If     string // what has to hold besides
}

// Lifecycle is the whole table. docs/lifecycle.md is written from it.
func Lifecycle() []Transition {
	var out []Transition
	for _, row := range moves {
		for _, status := range row.from {
			row.move.From = status
			out = append(out, row.move)
		}
	}
	return out
}

var (
	reviewers = []Role{Admin, Reviewer}
	authors   = []Role{Publisher, Agent}
)

// moves is the table by action: what leads to one status from several is one row.
var moves = []struct {
	from []hubapi.Status
	move Transition
}{
	{[]hubapi.Status{""}, Transition{Action: Publish, To: hubapi.Staged, Own: []Role{Admin, Reviewer, Publisher, Agent}, If: "content that was rejected is taken again only after its cool-off, from reviewers at once"}},
	{[]hubapi.Status{""}, Transition{Action: Publish, To: hubapi.Quarantined, Own: []Role{Admin, Reviewer, Publisher, Agent}, If: "the scan found something critical"}},
	{[]hubapi.Status{""}, Transition{Action: Publish, To: hubapi.Candidate, Own: []Role{Admin}, If: "mined, with its origin"}},
	{[]hubapi.Status{hubapi.Candidate}, Transition{Action: Stage, To: hubapi.Staged, Any: reviewers, Hub: true, If: "by the hub: all six gates pass"}},
	{[]hubapi.Status{hubapi.Candidate}, Transition{Action: Promote, To: hubapi.Active, Hub: true, If: "all six gates pass, the scan is clean, the tenant has auto_promote_clean, and it was made from what is active"}},
	{[]hubapi.Status{hubapi.Staged}, Transition{Action: Approve, To: hubapi.Active, Any: reviewers, If: "not one's own unless the tenant has self_approve; its content is what was pushed; a scan finds nothing critical; what it was made from is still active, or an admin forces it"}},
	{[]hubapi.Status{hubapi.Active}, Transition{Action: Supersede, To: hubapi.Deprecated, Hub: true, If: "another release of the skill becomes active"}},
	{[]hubapi.Status{hubapi.Staged}, Transition{Action: Supersede, To: hubapi.Stale, Hub: true, If: "it was edited: the edited release takes its place"}},
	{[]hubapi.Status{hubapi.Candidate, hubapi.Staged, hubapi.Quarantined, hubapi.Active}, Transition{Action: Reject, To: hubapi.Rejected, Any: reviewers, If: "with a reason; a cool-off begins"}},
	{[]hubapi.Status{hubapi.Candidate, hubapi.Staged, hubapi.Active, hubapi.Deprecated}, Transition{Action: Quarantine, To: hubapi.Quarantined, Any: reviewers, Hub: true, If: "with a reason; by the hub: newer rules find something critical"}},
	{[]hubapi.Status{hubapi.Staged}, Transition{Action: Defer, To: hubapi.Staged, Any: reviewers, If: "it goes to the end of the inbox"}},
	{[]hubapi.Status{hubapi.Staged}, Transition{Action: Edit, To: hubapi.Staged, Any: reviewers, If: "as a new release, by whoever edited it"}},
	{[]hubapi.Status{hubapi.Candidate, hubapi.Staged}, Transition{Action: Withdraw, To: hubapi.Stale, Any: reviewers, Own: authors, If: "the proposal is taken back"}},
	{[]hubapi.Status{hubapi.Active}, Transition{Action: Withdraw, To: hubapi.Deprecated, Any: reviewers, Own: []Role{Publisher}, If: "nothing takes its place"}},
	{[]hubapi.Status{hubapi.Deprecated}, Transition{Action: Withdraw, To: hubapi.Deprecated, Any: reviewers, Own: []Role{Publisher}, If: "it was replaced: nobody gets it by its version any more"}},
	{[]hubapi.Status{hubapi.Active}, Transition{Action: Deprecate, To: hubapi.Deprecated, Any: reviewers, Own: []Role{Publisher}, If: "nothing takes its place"}},
	{[]hubapi.Status{hubapi.Rejected}, Transition{Action: Repropose, To: hubapi.Staged, Any: reviewers, Own: authors, If: "by authors: after its cool-off; it ends with this"}},
	{[]hubapi.Status{hubapi.Quarantined}, Transition{Action: Repropose, To: hubapi.Staged, Any: reviewers, If: "a scan finds nothing critical, or an admin forces it"}},
	{[]hubapi.Status{hubapi.Deprecated, hubapi.Stale, hubapi.Staged}, Transition{Action: Repropose, To: hubapi.Staged, Any: reviewers, Own: authors, If: "what is active now becomes its base"}},
	{[]hubapi.Status{hubapi.Candidate, hubapi.Staged}, Transition{Action: Expire, To: hubapi.Stale, Hub: true, If: "nobody moved it for the tenant's stale_days"}},
}

// Actions are those that people ask for by name, in the order of the table.
func Actions() []Action {
	return []Action{Stage, Approve, Reject, Quarantine, Defer, Edit, Withdraw, Deprecate, Repropose}
}

// hubItself is who the audit trail names for what the hub does by itself.
const hubItself = "hub"

// owns says whether the release is one of p's own authors.
func (p Principal) owns(row ReleaseRow) bool {
	return row.PublishedBy == p.ID || slices.Contains(p.Authors, row.Author)
}

// mayEver refuses an action that p's role never may do, before anything is looked
// up, so that the refusal says nothing about what is there.
func (p Principal) mayEver(a Action) error {
	for _, t := range Lifecycle() {
		if t.Action == a && (slices.Contains(t.Any, p.Role) || slices.Contains(t.Own, p.Role)) {
			return nil
		}
	}
	e := hubapi.Errorf(hubapi.Forbidden, "%s may not %s", p.Role.WithArticle(), a)
	if a == Approve || a == Reject || a == Quarantine || a == Defer || a == Edit || a == Stage {
		return e.With(hubapi.Detail{ID: "SKILLS_INBOX_FORBIDDEN", Message: e.Message})
	}
	return e
}

// step finds the row of the table by which p may do a to the release that ref was
// resolved to. What p may not see is absent here too, under the name that p used.
func (p Principal) step(a Action, row ReleaseRow, ref hubapi.Ref) (Transition, error) {
	var from []string
	known, others := false, false
	for _, t := range Lifecycle() {
		if t.Action != a || len(t.Any)+len(t.Own) == 0 {
			continue
		}
		if slices.Contains(t.Any, p.Role) || slices.Contains(t.Own, p.Role) && p.owns(row) {
			if t.From == row.Status {
				return t, nil
			}
			known = true
			from = append(from, string(t.From))
		} else if t.From == row.Status {
			others = true
		}
	}
	switch {
	case !p.seesByVersion(row) && !p.owns(row):
		return Transition{}, absent(ref)
	case others || !known:
		return Transition{}, hubapi.Errorf(hubapi.Forbidden, "%s may not %s %s", p.Role.WithArticle(), a, refOf(row))
	}
	e := hubapi.Errorf(hubapi.Conflict, "%s is %s, only a release that is %s can be moved by %q", refOf(row), row.Status, orList(from), a)
	if a == Approve {
		e.Message = fmt.Sprintf("%s is %s, only a staged release can be approved", refOf(row), row.Status)
		switch row.Status {
		case hubapi.Active:
		case hubapi.Quarantined:
			e.Hint = quarantinedHint(row)
		default:
			e.Hint = fmt.Sprintf("put it up for review again: kx inbox repropose %s", refOf(row))
		}
	}
	return Transition{}, e
}

// quarantinedHint is what can be done where a quarantined release was to be approved.
func quarantinedHint(row ReleaseRow) string {
	return fmt.Sprintf("kx inbox show %s says why; reject it, or push a mended one as another version; kx inbox repropose %s scans it again, and with --force an admin overrules the scan", refOf(row), refOf(row))
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// sees is the one rule of who sees which release of their own tenant.
func (p Principal) sees(row ReleaseRow) bool {
	return row.Tenant == p.Tenant && (row.Status == hubapi.Active || p.reviews())
}

// seesByVersion is the rule for who names exactly this one: what was reviewed and has been
// replaced since stays for the locks that have it.
func (p Principal) seesByVersion(row ReleaseRow) bool {
	return p.sees(row) || row.Tenant == p.Tenant && row.Status == hubapi.Deprecated && row.Note.ReplacedBy != ""
}

// move makes one step: the status changes if it is still what the step starts
// from, the search words follow, and the audit trail has it, all in w's
// transaction. It gives the row as it is then.
func (h *Hub) move(w Writer, p Principal, t Transition, row ReleaseRow, note ReviewNote, now time.Time, said string) (ReleaseRow, error) {
	moved, err := w.Move(row.Seq, t.From, t.To, now, p.ID)
	if err != nil {
		return row, err
	}
	if !moved {
		return row, hubapi.Errorf(hubapi.Conflict, "%s changed meanwhile", refOf(row)).WithHint("look at it again")
	}
	if t.From == hubapi.Active && t.To != hubapi.Active {
		if err := dropDocument(w, row); err != nil {
			return row, err
		}
	}
	row.Status, row.UpdatedAt = t.To, now
	if t.Action != Supersede {
		note.ReplacedBy = ""
	}
	if t.To == hubapi.Active {
		row.ApprovedAt, row.ApprovedBy = now, p.ID
		if err := putDocument(w, row); err != nil {
			return row, err
		}
	}
	op := logged(t)
	if op == "" && row.Note.ReplacedBy != "" {
		op = translog.Withdraw // whoever named its version got it until now
	}
	if note != row.Note {
		if err := w.Annotate(row.Seq, note); err != nil {
			return row, err
		}
		row.Note = note
	}
	if err := h.audit(w, p, string(t.Action), row, said); err != nil {
		return row, err
	}
	if op != "" {
		return row, h.logRelease(w, p, op, row, said)
	}
	return row, nil
}

// logged is what the transparency log calls a step, empty for one that it does not
// hold: a release that was replaced was not taken back.
func logged(t Transition) translog.Op {
	switch {
	case t.To == hubapi.Active:
		return translog.Publish
	case t.To == hubapi.Quarantined:
		return translog.Quarantine
	case t.Action == Withdraw, t.From == hubapi.Active && t.Action != Supersede:
		return translog.Withdraw
	}
	return ""
}

// byHub is the row of the table for what the hub does by itself.
func byHub(a Action, from hubapi.Status) (Transition, error) {
	for _, t := range Lifecycle() {
		if t.Action == a && t.From == from && t.Hub {
			return t, nil
		}
	}
	return Transition{}, hubapi.Errorf(hubapi.Conflict, "a release that is %s cannot be moved by %q", from, a)
}

// itself is the hub as the one who acts.
func itself(tenant string) Principal { return Principal{ID: hubItself, Tenant: tenant} }
