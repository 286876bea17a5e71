package hub

import (
	"slices"

	"github.com/kortecx/kx/hubapi"
)

// Role is what a principal is for.
type Role string

// The roles. Each may do what its own work needs and no more: an operator's key
// and an agent's key are never the same.
const (
	Admin     Role = "admin"     // everything in its tenant
	Reviewer  Role = "reviewer"  // sees and moves what waits for review, publishes
	Publisher Role = "publisher" // publishes, sees what is active
	Agent     Role = "agent"     // publishes for review, sees what is active
	Node      Role = "node"      // sees what is active
)

// WithArticle is the role as a sentence names one who has it, such as "an agent".
func (r Role) WithArticle() string {
	if r == Admin || r == Agent {
		return "an " + string(r)
	}
	return "a " + string(r)
}

// LocalTenant is the tenant of a hub that one person runs for themselves, and
// LocalAuthor the namespace of who has none.
const (
	LocalTenant = "local"
	LocalAuthor = "local"
)

// Principal is who calls. It belongs to one tenant and sees nothing of others.
type Principal struct {
	ID     string
	Tenant string
	Role   Role
	// Authors are the namespaces that it may publish under, the default first.
	Authors []string
}

// LocalAdmin is the user of their own hub: in process, through the key in
// server.json, or with --dev-allow-local. It is one principal, so that a catalog
// is the same whichever way it is reached.
func LocalAdmin() Principal {
	return Principal{ID: "local-dev", Tenant: LocalTenant, Role: Admin}
}

// LocalAgent is who pulls skills from the user's own hub: the same person's agent,
// without the rights of the person.
func LocalAgent() Principal {
	return Principal{ID: "local-agent", Tenant: LocalTenant, Role: Agent}
}

// AsAgent is p where only agents call. An admin's key is refused there, because
// whatever an agent reads could make it use that key; a reviewer is an agent. The
// user of their own hub is LocalAgent.
func (p Principal) AsAgent() (Principal, error) {
	if err := p.check(); err != nil {
		return Principal{}, err
	}
	switch {
	case p.ID == LocalAdmin().ID && p.Tenant == LocalTenant && p.Role == Admin:
		return LocalAgent(), nil
	case p.Role == Admin:
		return Principal{}, hubapi.Errorf(hubapi.Forbidden, "an admin's key is not for agents").
			WithHint("give the agent a key of its own: hub token new --role agent")
	case p.Role == Reviewer:
		p.Role = Agent
	}
	return p, nil
}

// KazmaPublisher is who shows the shared secret of the Kazma routes.
func KazmaPublisher() Principal {
	return Principal{ID: "kazma-secret", Tenant: LocalTenant, Role: Publisher}
}

func (p Principal) publishes() bool {
	return p.reviews() || p.Role == Publisher || p.Role == Agent
}

func (p Principal) reviews() bool { return p.Role == Admin || p.Role == Reviewer }

// check refuses a principal that no authenticator can have made.
func (p Principal) check() error {
	known := slices.Contains([]Role{Admin, Reviewer, Publisher, Agent, Node}, p.Role)
	if p.ID == "" || p.Tenant == "" || !known {
		return hubapi.Errorf(hubapi.Unauthorized, "no principal")
	}
	return nil
}

// author picks the namespace of a release: the one that the pack names, else the
// one that was asked for, else the principal's default.
func (p Principal) author(asked, inPack string) (string, error) {
	if inPack != "" {
		if err := hubapi.CheckAuthor(inPack); err != nil {
			return "", hubapi.AsError(err).WithHint("the manifest's author is the namespace that the skill is published under")
		}
		if asked != "" && asked != inPack {
			return "", hubapi.Errorf(hubapi.Invalid, "the manifest names the author %q, not %q", inPack, asked).
				WithHint("leave the author out, or change the manifest")
		}
		asked = inPack
	}
	switch {
	case asked == "" && len(p.Authors) > 0:
		return p.Authors[0], nil
	case asked == "":
		return LocalAuthor, nil
	}
	if err := hubapi.CheckAuthor(asked); err != nil {
		return "", err
	}
	if p.Role == Admin && p.Tenant == LocalTenant || slices.Contains(p.Authors, asked) || len(p.Authors) == 0 && asked == LocalAuthor {
		return asked, nil
	}
	return "", hubapi.Errorf(hubapi.Forbidden, "this key may not publish as %q", asked).
		WithHint("publish under one of the key's own authors, or have a key made with --author %s", asked)
}
