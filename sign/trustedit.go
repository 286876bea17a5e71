package sign

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kortecx/kx/internal/yamledit"
)

// BlockKind is a list of what is blocked, as a policy spells it.
type BlockKind string

// The lists.
const (
	BlockedDigests    BlockKind = "digests"
	BlockedKeys       BlockKind = "keys"
	BlockedPublishers BlockKind = "publishers"
	BlockedSkills     BlockKind = "skills"
)

// BlockKindOf tells which list something to be blocked belongs into: a digest, the
// id of a key, author/name, or an author.
func BlockKindOf(id string) (BlockKind, bool) {
	switch {
	case isPackDigest(id):
		return BlockedDigests, true
	case isKeyID(id):
		return BlockedKeys, true
	case isSkillName(id):
		return BlockedSkills, true
	case isNamespace(id):
		return BlockedPublishers, true
	}
	return "", false
}

// ParseScope reads author/*, author/name, or author alone, which means author/*.
func ParseScope(text string) (Scope, error) {
	if isNamespace(text) {
		return Scope(text + "/*"), nil
	}
	if !isScope(text) {
		return "", refuse(IDPolicyInvalid, "a scope is AUTHOR, AUTHOR/* or AUTHOR/NAME, not %.80q", text)
	}
	return Scope(text), nil
}

// newPolicy is where a policy begins that nobody wrote before. What it does not
// cover stays as it was without one.
const newPolicy = `# Whom kx trusts with what; docs/settings.md has the grammar.
version: 1
default:
  level: audit # strict refuses what nothing below covers, warn warns of it
`

// PutPublisher gives the text of a policy with what is wanted of a scope, in place
// of what was wanted of the same scope before. Everything else stays byte for byte.
// No text at all is a policy that says nothing yet. The result is a valid policy.
func PutPublisher(text []byte, p Publisher) ([]byte, error) {
	return editPolicy(text, func(text []byte, was TrustPolicy) ([]byte, error) {
		item := p.item()
		at := slices.IndexFunc(was.Publishers, func(one Publisher) bool { return one.Scope == p.Scope })
		if at < 0 {
			return yamledit.AddItem(text, []string{"publishers"}, item)
		}
		return yamledit.ReplaceItem(text, []string{"publishers"}, at, &item)
	})
}

// AllowUnsigned gives the text of a policy with a scope that may come unsigned.
func AllowUnsigned(text []byte, scope Scope) ([]byte, error) {
	return editPolicy(text, func(text []byte, was TrustPolicy) ([]byte, error) {
		if slices.Contains(was.Unsigned, scope) {
			return text, nil
		}
		return yamledit.AddItem(text, []string{"unsigned"}, scalar(string(scope)))
	})
}

// RemoveScope gives the text of a policy without a scope, under publishers and under
// unsigned. One that is not there is IDTrustScope.
func RemoveScope(text []byte, scope Scope) ([]byte, error) {
	return editPolicy(text, func(text []byte, was TrustPolicy) ([]byte, error) {
		publisher := slices.IndexFunc(was.Publishers, func(one Publisher) bool { return one.Scope == scope })
		unsigned := slices.Index(was.Unsigned, scope)
		if publisher < 0 && unsigned < 0 {
			return nil, refuse(IDTrustScope, "the policy has no scope %q", scope)
		}
		var err error
		if publisher >= 0 {
			text, err = yamledit.ReplaceItem(text, []string{"publishers"}, publisher, nil)
		}
		if unsigned >= 0 && err == nil {
			text, err = yamledit.ReplaceItem(text, []string{"unsigned"}, unsigned, nil)
		}
		return text, err
	})
}

// PutBlock gives the text of a policy that blocks one thing more. One that is
// blocked already gets the new reason.
func PutBlock(text []byte, kind BlockKind, b Block) ([]byte, error) {
	return editPolicy(text, func(text []byte, was TrustPolicy) ([]byte, error) {
		item := scalar(b.ID)
		if b.Reason != "" {
			item = mapping(yamledit.Entry{Key: "id", Value: scalar(b.ID)}, yamledit.Entry{Key: "reason", Value: scalar(b.Reason)})
		}
		at := slices.IndexFunc(was.Blocked.Of(kind), func(one Block) bool { return one.ID == b.ID })
		if at < 0 {
			return yamledit.AddItem(text, []string{"blocked", string(kind)}, item)
		}
		return yamledit.ReplaceItem(text, []string{"blocked", string(kind)}, at, &item)
	})
}

// RemoveBlock gives the text of a policy that does not block one thing any more. One
// that is not blocked is IDTrustBlocked.
func RemoveBlock(text []byte, kind BlockKind, id string) ([]byte, error) {
	return editPolicy(text, func(text []byte, was TrustPolicy) ([]byte, error) {
		at := slices.IndexFunc(was.Blocked.Of(kind), func(one Block) bool { return one.ID == id })
		if at < 0 {
			return nil, refuse(IDTrustBlocked, "the policy does not block %q", id)
		}
		return yamledit.ReplaceItem(text, []string{"blocked", string(kind)}, at, nil)
	})
}

// Of is one of the lists.
func (b Blocked) Of(kind BlockKind) []Block {
	switch kind {
	case BlockedDigests:
		return b.Digests
	case BlockedKeys:
		return b.Keys
	case BlockedPublishers:
		return b.Publishers
	}
	return b.Skills
}

// editPolicy changes a valid policy into a valid policy, or not at all.
func editPolicy(text []byte, edit func([]byte, TrustPolicy) ([]byte, error)) ([]byte, error) {
	if len(text) == 0 {
		text = []byte(newPolicy)
	}
	was, err := ParseTrustPolicy(text)
	if err != nil {
		return nil, err
	}
	after, err := edit(text, was)
	if err != nil {
		return nil, err
	}
	if _, err := ParseTrustPolicy(after); err != nil {
		return nil, err
	}
	return after, nil
}

// item is a publisher as a policy has it.
func (p Publisher) item() yamledit.Value {
	m := mapping(yamledit.Entry{Key: "scope", Value: scalar(string(p.Scope))})
	add := func(key string, v yamledit.Value) {
		m.Map.Entries = append(m.Map.Entries, yamledit.Entry{Key: key, Value: v})
	}
	if len(p.Keys) > 0 {
		add("keys", list(p.Keys...))
		if p.Threshold != 1 {
			add("threshold", scalar(strconv.Itoa(p.Threshold)))
		}
	}
	if require := p.Requires(); len(require) > 0 {
		add("require", list(require...))
	}
	if p.MinAge > 0 {
		add("minAge", scalar(DurationText(p.MinAge)))
	}
	if p.HMAC != Accept {
		add("kazmaHMAC", scalar(string(p.HMAC)))
	}
	return m
}

// Requires is what must be fulfilled, in the words of a policy.
func (p Publisher) Requires() []string {
	out := []string{}
	for _, r := range []struct {
		is   bool
		what string
	}{{p.Author, requireAuthor}, {p.LogProof, requireLog}, {p.Hub, requireHub}} {
		if r.is {
			out = append(out, r.what)
		}
	}
	return out
}

// DurationText is a duration without the units that are zero: 72h.
func DurationText(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
		if hours, ok := strings.CutSuffix(text, "h0m"); ok {
			text = hours + "h"
		}
	}
	return text
}

func scalar(text string) yamledit.Value { return yamledit.Value{Kind: yamledit.Scalar, Text: text} }

func list(texts ...string) yamledit.Value {
	v := yamledit.Value{Kind: yamledit.Sequence}
	for _, text := range texts {
		v.Items = append(v.Items, scalar(text))
	}
	return v
}

func mapping(entries ...yamledit.Entry) yamledit.Value {
	return yamledit.Value{Kind: yamledit.Map, Map: &yamledit.Mapping{Entries: entries}}
}

// Requirements reads what a scope must fulfil, in the words of a policy or without
// their second halves: author, log, hub.
func Requirements(words []string, p *Publisher) error {
	for _, word := range words {
		switch word {
		case requireAuthor, "author":
			p.Author = true
		case requireLog, "log":
			p.LogProof = true
		case requireHub, "hub":
			p.Hub = true
		default:
			return refuse(IDPolicyInvalid, "%.40q cannot be required; %s, %s and %s can", word, requireAuthor, requireLog, requireHub)
		}
	}
	return nil
}
