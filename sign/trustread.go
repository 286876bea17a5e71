package sign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/internal/yamledit"
)

// What a publisher can be required to fulfil, as a policy spells it.
const (
	requireAuthor = "author-signature"
	requireLog    = "log-proof"
	requireHub    = "hub-signature"
)

// ParseTrustPolicy reads a policy strictly. The error is an *Error with the id
// policy.invalid that names the line.
func ParseTrustPolicy(data []byte) (TrustPolicy, error) {
	doc, faults, _ := yamledit.Parse(data)
	if len(faults) > 0 {
		return TrustPolicy{}, refuse(IDPolicyInvalid, "%d:%d: %s", faults[0].Line, faults[0].Column, faults[0].Text)
	}
	r := policyReader{}
	p := r.policy(doc)
	if r.err != nil {
		return TrustPolicy{}, r.err
	}
	return p, nil
}

// policyReader keeps the first fault, so that reading needs no check at each step.
type policyReader struct{ err error }

func (r *policyReader) fail(line int, format string, args ...any) {
	if r.err == nil {
		r.err = refuse(IDPolicyInvalid, "line %d: %s", line, fmt.Sprintf(format, args...))
	}
}

// entries refuses keys that are not known.
func (r *policyReader) entries(m *yamledit.Mapping, known ...string) {
	for _, e := range m.Entries {
		if !slices.Contains(known, e.Key) {
			r.fail(e.Line, "unknown key %.40q; known here: %s", e.Key, strings.Join(known, ", "))
		}
	}
}

func (r *policyReader) mapping(v *yamledit.Value, what string) *yamledit.Mapping {
	if v == nil {
		return &yamledit.Mapping{}
	}
	if v.Kind != yamledit.Map {
		r.fail(v.Line, "%s must be a mapping", what)
		return &yamledit.Mapping{}
	}
	return v.Map
}

func (r *policyReader) text(v *yamledit.Value, what string) string {
	if v == nil {
		return ""
	}
	if v.Kind != yamledit.Scalar || v.Text == "" {
		r.fail(v.Line, "%s must be a text", what)
	}
	return v.Text
}

func (r *policyReader) list(v *yamledit.Value, what string, valid func(string) bool) []string {
	if v == nil {
		return nil
	}
	if v.Kind != yamledit.Sequence {
		r.fail(v.Line, "%s must be a list", what)
		return nil
	}
	var out []string
	for i := range v.Items {
		text := r.text(&v.Items[i], "an element of "+what)
		if !valid(text) || slices.Contains(out, text) {
			r.fail(v.Items[i].Line, "%.80q cannot stand in %s, or stands there twice", text, what)
		}
		out = append(out, text)
	}
	return out
}

// blocks reads a list of what is blocked: each a text, or a mapping of id and reason.
func (r *policyReader) blocks(v *yamledit.Value, what string, valid func(string) bool) []Block {
	if v == nil {
		return nil
	}
	if v.Kind != yamledit.Sequence {
		r.fail(v.Line, "%s must be a list", what)
		return nil
	}
	var out []Block
	for i := range v.Items {
		item, one := &v.Items[i], Block{}
		if item.Kind == yamledit.Map {
			r.entries(item.Map, "id", "reason")
			one.Reason = r.text(item.Map.Get("reason"), "reason")
			id := item.Map.Get("id")
			if id == nil {
				r.fail(item.Line, "an element of %s needs an id", what)
				continue
			}
			one.ID = r.text(id, "id")
		} else {
			one.ID = r.text(item, "an element of "+what)
		}
		if _, twice := find(out, one.ID); twice || !valid(one.ID) {
			r.fail(item.Line, "%.80q cannot stand in %s, or stands there twice", one.ID, what)
		}
		out = append(out, one)
	}
	return out
}

func isPackDigest(s string) bool {
	digits, ok := strings.CutPrefix(s, "sp1:")
	return ok && isHex256(digits)
}

func isSkillName(s string) bool { return isScope(s) && !strings.HasSuffix(s, "/*") }

func isKeyID(s string) bool { return isHex256(s) }

func isRequirement(s string) bool {
	return s == requireAuthor || s == requireLog || s == requireHub
}

func isScope(s string) bool {
	author, name, ok := strings.Cut(s, "/")
	return ok && isNamespace(author) && (name == "*" || isNamespace(name))
}

func (r *policyReader) policy(doc *yamledit.Mapping) TrustPolicy {
	r.entries(doc, "version", "default", "hub", "publishers", "blocked", "unsigned")
	if v := doc.Get("version"); v == nil || v.Text != "1" {
		r.fail(1, "version must be 1")
	}
	p := TrustPolicy{Level: Strict}
	if v := doc.Get("default"); v != nil {
		m := r.mapping(v, "default")
		r.entries(m, "level")
		p.Level = TrustLevel(r.text(m.Get("level"), "level"))
		if !slices.Contains([]TrustLevel{Strict, Warn, Audit}, p.Level) {
			r.fail(v.Line, "level must be strict, warn or audit")
		}
	}
	if v := doc.Get("hub"); v != nil {
		m := r.mapping(v, "hub")
		r.entries(m, "vkey")
		p.Log = r.text(m.Get("vkey"), "vkey")
		if _, _, err := translog.SplitVerifierKey(p.Log); err != nil {
			r.fail(v.Line, "hub needs the vkey of its log, as kx log verify shows it")
		}
	}
	if v := doc.Get("publishers"); v != nil {
		if v.Kind != yamledit.Sequence {
			r.fail(v.Line, "publishers must be a list")
		}
		for i := range v.Items {
			one := r.publisher(&v.Items[i])
			if slices.ContainsFunc(p.Publishers, func(other Publisher) bool { return other.Scope == one.Scope }) {
				r.fail(v.Items[i].Line, "the scope %q stands twice", one.Scope)
			}
			if one.Hub && p.Log == "" {
				r.fail(v.Items[i].Line, "hub-signature needs the hub's vkey, under hub")
			}
			p.Publishers = append(p.Publishers, one)
		}
	}
	blocked := r.mapping(doc.Get("blocked"), "blocked")
	r.entries(blocked, "digests", "keys", "publishers", "skills")
	p.Blocked = Blocked{
		Digests:    r.blocks(blocked.Get("digests"), "digests", isPackDigest),
		Keys:       r.blocks(blocked.Get("keys"), "keys", isKeyID),
		Publishers: r.blocks(blocked.Get("publishers"), "publishers", isNamespace),
		Skills:     r.blocks(blocked.Get("skills"), "skills", isSkillName),
	}
	for _, scope := range r.list(doc.Get("unsigned"), "unsigned", isScope) {
		p.Unsigned = append(p.Unsigned, Scope(scope))
	}
	return p
}

func (r *policyReader) publisher(v *yamledit.Value) Publisher {
	m := r.mapping(v, "a publisher")
	r.entries(m, "scope", "keys", "threshold", "require", "minAge", "kazmaHMAC")
	p := Publisher{Threshold: 1, HMAC: Accept}
	scope := r.text(m.Get("scope"), "scope")
	if !isScope(scope) {
		r.fail(v.Line, "a scope is author/* or author/name, not %.80q", scope)
	}
	p.Scope, p.Keys = Scope(scope), r.list(m.Get("keys"), "keys", isKeyID)
	if t := m.Get("threshold"); t != nil {
		if _, err := fmt.Sscanf(t.Text, "%d", &p.Threshold); err != nil || fmt.Sprint(p.Threshold) != t.Text {
			r.fail(t.Line, "threshold must be a number")
		}
	}
	// Keys that nobody has to use would be a policy that allows everything.
	p.Author = m.Get("require") == nil && len(p.Keys) > 0
	for _, what := range r.list(m.Get("require"), "require", isRequirement) {
		p.Author = p.Author || what == requireAuthor
		p.LogProof = p.LogProof || what == requireLog
		p.Hub = p.Hub || what == requireHub
	}
	if len(p.Keys) > 0 && !p.Author {
		r.fail(v.Line, "keys without author-signature among what is required decide nothing")
	}
	if !p.Author && !p.LogProof && !p.Hub && m.Get("minAge") == nil && m.Get("kazmaHMAC") == nil {
		r.fail(v.Line, "the publisher of %q has to fulfil nothing", scope)
	}
	if p.Threshold < 1 || p.Author && p.Threshold > len(p.Keys) {
		r.fail(v.Line, "threshold %d cannot be met by %d keys", p.Threshold, len(p.Keys))
	}
	if age := m.Get("minAge"); age != nil {
		d, err := time.ParseDuration(age.Text)
		if err != nil || d < 0 {
			r.fail(age.Line, "minAge must be a duration such as 72h")
		}
		p.MinAge = d
	}
	if h := m.Get("kazmaHMAC"); h != nil {
		policy, err := ParsePolicy(h.Text)
		if err != nil {
			r.fail(h.Line, "kazmaHMAC must be require, accept or off")
		}
		p.HMAC = policy
	}
	return p
}
