package httpapi

import (
	"net/http"

	"github.com/kortecx/kx/hubapi"
)

// maxHeartbeat is the body of a heartbeat in bytes.
const maxHeartbeat = 384 << 10

// fleetRoutes are what nodes report and what their operators see of it. The shapes are
// those of the MemClaw fleet API.
func (a *api) fleetRoutes() map[string]methods {
	return map[string]methods{
		"/api/v1/fleet":           {http.MethodGet: {params: "tenant_id", legacy: true, serve: a.fleets}},
		"/api/v1/fleet/heartbeat": {http.MethodPost: {legacy: true, serve: a.heartbeat}},
		"/api/v1/fleet/nodes": {
			http.MethodGet: {params: "tenant_id fleet_id status node_name limit", legacy: true, serve: a.nodes},
		},
		"/api/v1/fleet/nodes/{node_id}": {
			http.MethodGet:    {params: "tenant_id", legacy: true, serve: a.node},
			http.MethodDelete: {params: "tenant_id", legacy: true, serve: a.removeNode},
		},
	}
}

func (a *api) heartbeat(c *call) error {
	var in hubapi.Heartbeat
	if err := c.readLax(&in, maxHeartbeat); err != nil {
		return err
	}
	return c.answer(a.hub.Heartbeat(c.r.Context(), c.p, in))
}

func (a *api) nodes(c *call) error {
	if err := c.ownTenant(); err != nil {
		return err
	}
	q := hubapi.FleetQuery{Fleet: c.q["fleet_id"], Name: c.q["node_name"], Status: hubapi.NodeStatus(c.q["status"])}
	var err error
	if q.Limit, err = c.q.number("limit"); err != nil {
		return err
	}
	return c.answer(a.hub.FleetNodes(c.r.Context(), c.p, q))
}

func (a *api) node(c *call) error {
	if err := c.ownTenant(); err != nil {
		return err
	}
	return c.answer(a.hub.FleetNode(c.r.Context(), c.p, c.r.PathValue("node_id")))
}

func (a *api) removeNode(c *call) error {
	if err := c.ownTenant(); err != nil {
		return err
	}
	return c.answer(a.hub.RemoveNode(c.r.Context(), c.p, c.r.PathValue("node_id")))
}

func (a *api) fleets(c *call) error {
	if err := c.ownTenant(); err != nil {
		return err
	}
	return c.answer(a.hub.Fleets(c.r.Context(), c.p))
}
