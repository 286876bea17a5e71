package webui

import (
	"net/http"
	"net/url"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/termtext"
)

// maxNodesShown is how many machines one page lists.
const maxNodesShown = 500

// fleetPage is the list of machines, and what it can be narrowed to.
type fleetPage struct {
	All                    int // in every fleet
	Online, Stale, Offline int
	Fleets                 []string
	Fleet                  string
	Status                 hubapi.NodeStatus
	Statuses               []hubapi.NodeStatus
	Nodes                  []nodeRow
	Cut                    bool
}

// nodeRow is one machine, and how long ago it was heard of.
type nodeRow struct {
	hubapi.FleetNode
	State hubapi.NodeState
	Heard string
}

func (s *site) fleet(v *visit) error {
	fleets, err := s.hub.Fleets(v.r.Context(), v.p)
	if err != nil {
		return err
	}
	p := fleetPage{
		All: fleets.Nodes, Fleet: v.r.URL.Query().Get("fleet"), Status: hubapi.NodeStatus(v.r.URL.Query().Get("status")),
		Statuses: []hubapi.NodeStatus{hubapi.NodeOnline, hubapi.NodeStale, hubapi.NodeOffline},
	}
	for _, f := range fleets.Fleets {
		p.Online, p.Stale, p.Offline = p.Online+f.Online, p.Stale+f.Stale, p.Offline+f.Offline
		if f.FleetID != nil {
			p.Fleets = append(p.Fleets, *f.FleetID)
		}
	}
	nodes, err := s.hub.FleetNodes(v.r.Context(), v.p, hubapi.FleetQuery{Fleet: p.Fleet, Status: p.Status, Limit: maxNodesShown + 1})
	if err != nil {
		return err
	}
	if p.Cut = len(nodes) > maxNodesShown; p.Cut {
		nodes = nodes[:maxNodesShown]
	}
	for _, n := range nodes {
		p.Nodes = append(p.Nodes, s.row(n))
	}
	s.render(v, http.StatusOK, "fleet.html", page{Title: "Fleet", Notice: v.r.URL.Query().Get("done"), Data: p})
	return nil
}

func (s *site) row(n hubapi.FleetNode) nodeRow {
	return nodeRow{FleetNode: n, State: n.Metadata.Kx, Heard: s.ago(n.LastHeartbeat)}
}

func (s *site) ago(at time.Time) string { return termtext.Ago(s.o.Now().Sub(at)) }

// nodePage is everything about one machine.
type nodePage struct {
	nodeRow
	Success string // how long ago the last one was; empty without one
	Lists   []skillList
	Notes   []noteList
	Remove  bool // the visitor may
}

// skillList is one part of a machine's skills under its heading.
type skillList struct {
	ID, Title, Help string
	Skills          []hubapi.NodeSkill
}

type noteList struct {
	ID, Title string
	Notes     []hubapi.ReconcileNote
}

func (s *site) node(v *visit) error {
	n, err := s.hub.FleetNode(v.r.Context(), v.p, v.r.PathValue("node"))
	if err != nil {
		return err
	}
	p := nodePage{nodeRow: s.row(n), Remove: v.p.Role == hub.Admin}
	if at := p.State.LastSuccessAt; at != nil {
		p.Success = s.ago(*at)
	}
	skills := p.State.Skills
	p.Lists = []skillList{
		{"missing", "Missing", "Active, and not on this machine.", skills.Missing},
		{"outdated", "Outdated", "On this machine, while another release is active.", skills.Outdated},
		{"extra", "Not active any more", "On this machine, and not active.", skills.Extra},
	}
	names := func(list []string) (notes []hubapi.ReconcileNote) {
		for _, name := range list {
			notes = append(notes, hubapi.ReconcileNote{Slug: name})
		}
		return notes
	}
	p.Notes = []noteList{
		{"collisions", "Collisions: folders of others", names(skills.Collisions)},
		{"skipped", "Skipped", skills.Skipped},
		{"failed", "Failed", skills.Failed},
		{"kept", "Edited by a person, and kept", skills.Kept},
		{"held", "Held back from removal", skills.Held},
		{"protected", "Protected", names(skills.Protected)},
	}
	s.render(v, http.StatusOK, "node.html", page{Title: escapeLines(n.NodeName), Data: p})
	return nil
}

// removeNode is an admin's decision that a machine is gone.
func (s *site) removeNode(v *visit) error {
	if err := v.checkForm(); err != nil {
		return err
	}
	removed, err := s.hub.RemoveNode(v.r.Context(), v.p, v.r.PathValue("node"))
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.r, "/fleet?done="+url.QueryEscape(removed.NodeName+" is removed"), http.StatusSeeOther)
	return nil
}
