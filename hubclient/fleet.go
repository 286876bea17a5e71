package hubclient

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/kortecx/kx/hubapi"
)

const (
	// MaxListedNodes is how many nodes a list can have here.
	MaxListedNodes = 2000
	maxNodes       = 128 << 20 // bytes of the answer that lists them, most of which is passed over
	maxNode        = 8 << 20   // one node with a thousand skills
)

// Heartbeat tells the hub that a node is there.
func (c *Client) Heartbeat(ctx context.Context, in hubapi.Heartbeat) (hubapi.HeartbeatAnswer, error) {
	var out hubapi.HeartbeatAnswer
	err := c.exchangeJSON(ctx, request{method: http.MethodPost, path: []string{"fleet", "heartbeat"}}, in, &out)
	return out, err
}

// FleetNodes lists nodes, the newest heartbeat first; limit 0 means MaxListedNodes.
func (c *Client) FleetNodes(ctx context.Context, q hubapi.FleetQuery) ([]hubapi.NodeBrief, error) {
	query := url.Values{}
	set(query, "fleet_id", q.Fleet)
	set(query, "node_name", q.Name)
	set(query, "status", string(q.Status))
	setLimit(query, min(cmp.Or(q.Limit, MaxListedNodes), MaxListedNodes))
	out := []hubapi.NodeBrief{}
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"fleet", "nodes"}, query: query, limit: maxNodes}, &out)
	return out, err
}

// FleetNode shows the node with that id or, where no node has it, with that name.
func (c *Client) FleetNode(ctx context.Context, node string) (hubapi.FleetNode, error) {
	var out hubapi.FleetNode
	id, err := c.nodeID(ctx, node)
	if err == nil {
		err = c.call(ctx, request{method: http.MethodGet, path: []string{"fleet", "nodes", id}, limit: maxNode}, &out)
	}
	if err == nil && out.NodeID != id {
		err = fetchError(hubapi.Internal, "fetch.type", "the hub was asked for the node %s and answers with %.80q", id, out.NodeID)
	}
	if err != nil {
		return hubapi.FleetNode{}, err
	}
	return out, nil
}

// RemoveNode makes the hub forget the node with that id or name.
func (c *Client) RemoveNode(ctx context.Context, node string) (hubapi.NodeRemoved, error) {
	var out hubapi.NodeRemoved
	id, err := c.nodeID(ctx, node)
	if err == nil {
		err = c.call(ctx, request{method: http.MethodDelete, path: []string{"fleet", "nodes", id}}, &out)
	}
	return out, err
}

// Fleets counts the nodes of each fleet.
func (c *Client) Fleets(ctx context.Context) (hubapi.FleetList, error) {
	var out hubapi.FleetList
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"fleet"}, limit: maxList}, &out)
	return out, err
}

// nodeID finds the id of a node that is given by its id or its name. A name wins: a
// machine may be called like the id of another one.
func (c *Client) nodeID(ctx context.Context, node string) (string, error) {
	named, err := c.FleetNodes(ctx, hubapi.FleetQuery{Name: node, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(named) == 1 && named[0].NodeName == node && isNodeID(named[0].NodeID) {
		return named[0].NodeID, nil
	}
	if isNodeID(node) {
		return node, nil
	}
	return "", hubapi.Errorf(hubapi.NotFound, "the hub has no node %.80q", node).WithHint("the nodes that there are: kx fleet list")
}

// isNodeID keeps what is no id out of paths.
func isNodeID(s string) bool {
	if len(s) != 33 || s[0] != 'n' {
		return false
	}
	for _, c := range s[1:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
