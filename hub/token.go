package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hubapi"
)

const (
	keyBytes  = 32
	keyMark   = "kx_" // lets a secret scanner know one when it sees one
	keyPrefix = len(keyMark) + 8
	// maxRate is the highest rate that can be set, and what a key has that may
	// write and was given none: enough for every honest client, not for a loop
	// that has run away.
	maxRate     = 60_000
	maxAuthors  = 100
	maxKeyLabel = 100 // bytes
)

// Credential is what a valid key stands for.
type Credential struct {
	Principal Principal
	Rate      int // requests a minute; 0 means no limit
}

// Authenticate finds out whose key that is. An unknown, expired or revoked key is
// the same Unauthorized. The lookup is by the key's SHA-256, so its time says
// nothing about the key.
func (h *Hub) Authenticate(ctx context.Context, key string) (Credential, error) {
	unknown := hubapi.Errorf(hubapi.Unauthorized, "the key is not known to this hub").
		WithHint("it may have expired or been revoked; an admin makes another with: kx hub token new")
	if !strings.HasPrefix(key, keyMark) || len(key) != len(keyMark)+2*keyBytes {
		return Credential{}, unknown
	}
	row, err := h.keyWithSum(ctx, sha256.Sum256([]byte(key)))
	if errors.Is(err, ErrNoRow) || err == nil && keyState(row, h.now()) != "valid" {
		return Credential{}, unknown
	}
	if err != nil {
		return Credential{}, refusal(err)
	}
	return Credential{
		Principal: Principal{ID: row.ID, Tenant: row.Tenant, Role: row.Role, Authors: row.Authors},
		Rate:      rateOf(row),
	}, nil
}

// knownKeys are the keys that were shown since a mark of the store.
type knownKeys struct {
	mu   sync.Mutex
	mark int64
	rows map[Sum]KeyRow
}

const maxKnownKeys = 1000

// keyWithSum is the row of a key. It asks the store only after a write, where nobody else
// writes to it.
func (h *Hub) keyWithSum(ctx context.Context, sum Sum) (row KeyRow, err error) {
	k := &h.known
	mark, alone := h.store.Mark() // before the look, so that what it finds holds at least since then
	if alone {
		k.mu.Lock()
		row, found := k.rows[sum]
		found = found && k.mark == mark
		k.mu.Unlock()
		if found {
			return row, nil
		}
	}
	err = h.store.Look(ctx, func(r Reader) (err error) {
		row, err = r.KeyWithSum(sum)
		return err
	})
	if err == nil && alone {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.mark != mark || k.rows == nil || len(k.rows) >= maxKnownKeys {
			k.mark, k.rows = mark, map[Sum]KeyRow{}
		}
		k.rows[sum] = row
	}
	return row, err
}

func rateOf(row KeyRow) int {
	if row.Rate > 0 || row.Role == Admin || row.Role == Reviewer {
		return row.Rate
	}
	return maxRate
}

func keyState(row KeyRow, now time.Time) string {
	switch {
	case !row.RevokedAt.IsZero():
		return "revoked"
	case !row.ExpiresAt.IsZero() && !now.Before(row.ExpiresAt):
		return "expired"
	}
	return "valid"
}

// NewKey makes a key. The answer holds it, this once: only its SHA-256 is kept.
func (h *Hub) NewKey(ctx context.Context, p Principal, in hubapi.NewKey) (hubapi.KeyMade, error) {
	tenant := cmp.Or(in.Tenant, p.Tenant)
	if err := p.administers(tenant); err != nil {
		return hubapi.KeyMade{}, err
	}
	row := KeyRow{
		Tenant: tenant, Role: Role(in.Role), Authors: in.Authors, Name: in.Name, Rate: in.Rate,
		CreatedAt: h.now(), CreatedBy: p.ID,
	}
	if in.ExpiresAt != nil {
		row.ExpiresAt = in.ExpiresAt.UTC().Truncate(time.Microsecond)
	}
	if err := checkKey(row); err != nil {
		return hubapi.KeyMade{}, err
	}
	secret := make([]byte, keyBytes+8)
	if _, err := io.ReadFull(h.random, secret); err != nil {
		return hubapi.KeyMade{}, hubapi.Errorf(hubapi.Internal, "no randomness for a key: %v", err)
	}
	key := keyMark + hex.EncodeToString(secret[:keyBytes])
	row.ID = "k" + hex.EncodeToString(secret[keyBytes:])
	row.Sum, row.Prefix = sha256.Sum256([]byte(key)), key[:keyPrefix]
	err := h.write(ctx, func(w Writer) error {
		if _, err := w.Tenant(tenant); err != nil {
			if errors.Is(err, ErrNoRow) {
				return noTenant(tenant).WithHint("make it with: kx hub tenant new %s", tenant)
			}
			return err
		}
		if err := w.AddKey(row); err != nil {
			return err
		}
		return h.auditTenant(w, p, tenant, "token-new", strings.TrimSpace(row.ID+" "+string(row.Role)+" "+strings.Join(row.Authors, ",")))
	})
	if err != nil {
		return hubapi.KeyMade{}, err
	}
	return hubapi.KeyMade{Key: h.key(row), Token: key}, nil
}

func checkKey(row KeyRow) error {
	if !slices.Contains([]Role{Admin, Reviewer, Publisher, Agent, Node}, row.Role) {
		return hubapi.Errorf(hubapi.Invalid, "%.80q is no role", row.Role).
			WithHint("roles are admin, reviewer, publisher, agent and node")
	}
	if len(row.Authors) > 0 && row.Role == Node {
		return hubapi.Errorf(hubapi.Invalid, "a node publishes nothing, so its key has no authors")
	}
	if len(row.Authors) > maxAuthors {
		return hubapi.Errorf(hubapi.Invalid, "a key has at most %d authors", maxAuthors)
	}
	for i, author := range row.Authors {
		if err := hubapi.CheckAuthor(author); err != nil {
			return err
		}
		if slices.Contains(row.Authors[:i], author) {
			return hubapi.Errorf(hubapi.Invalid, "the author %q is named twice", author)
		}
	}
	if len(row.Name) > maxKeyLabel || strings.ContainsFunc(row.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return hubapi.Errorf(hubapi.Invalid, "the name of a key is one line of at most %d bytes", maxKeyLabel)
	}
	if err := within("rate_per_minute", row.Rate, 0, maxRate); err != nil {
		return err
	}
	if !row.ExpiresAt.IsZero() && !row.ExpiresAt.After(row.CreatedAt) {
		return hubapi.Errorf(hubapi.Invalid, "the key would have expired already, at %s", row.ExpiresAt.Format(time.RFC3339))
	}
	return nil
}

// Keys lists the keys of a tenant, oldest first; an empty id is p's own.
func (h *Hub) Keys(ctx context.Context, p Principal, tenant string) (hubapi.KeyList, error) {
	tenant = cmp.Or(tenant, p.Tenant)
	if err := p.administers(tenant); err != nil {
		return hubapi.KeyList{}, err
	}
	out := hubapi.KeyList{Keys: []hubapi.Key{}}
	err := h.read(ctx, func(r Reader) error {
		if _, err := r.Tenant(tenant); err != nil {
			if errors.Is(err, ErrNoRow) {
				return noTenant(tenant)
			}
			return err
		}
		rows, err := r.Keys(tenant)
		for _, row := range rows {
			out.Keys = append(out.Keys, h.key(row))
		}
		return err
	})
	return out, err
}

// RevokeKey ends a key at once and for good: the one with that id, else the one
// key of p's tenant with that name that was not revoked. A key that was revoked
// before stays as it is, which is no error.
func (h *Hub) RevokeKey(ctx context.Context, p Principal, id string) (hubapi.Key, error) {
	if err := p.administers(p.Tenant); err != nil {
		return hubapi.Key{}, err
	}
	var row KeyRow
	err := h.write(ctx, func(w Writer) (err error) {
		if row, err = findKey(w, p, id); err != nil {
			return err
		}
		now := h.now()
		revoked, err := w.RevokeKey(row.ID, now, p.ID)
		if err != nil || !revoked {
			return err
		}
		row.RevokedAt, row.RevokedBy = now, p.ID
		return h.auditTenant(w, p, row.Tenant, "token-revoke", row.ID)
	})
	return h.key(row), err
}

func findKey(r Reader, p Principal, name string) (KeyRow, error) {
	row, err := r.Key(name)
	if err == nil && (row.Tenant == p.Tenant || p.operates()) {
		return row, nil
	}
	if err != nil && !errors.Is(err, ErrNoRow) {
		return row, err
	}
	all, err := r.Keys(p.Tenant)
	if err != nil {
		return row, err
	}
	named := slices.DeleteFunc(all, func(k KeyRow) bool { return name == "" || k.Name != name || !k.RevokedAt.IsZero() })
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return row, hubapi.Errorf(hubapi.NotFound, "there is no key %.80q", name).WithHint("kx hub token list shows the ids")
	}
	return row, hubapi.Errorf(hubapi.Conflict, "%d keys are called %q", len(named), name).WithHint("name one by its id; kx hub token list shows them")
}

func (h *Hub) key(row KeyRow) hubapi.Key {
	key := hubapi.Key{
		ID: row.ID, Prefix: row.Prefix, Name: row.Name, Tenant: row.Tenant, Role: string(row.Role), Authors: row.Authors,
		Rate: row.Rate, State: keyState(row, h.now()), CreatedAt: row.CreatedAt, CreatedBy: row.CreatedBy,
	}
	if key.Authors == nil {
		key.Authors = []string{}
	}
	if !row.ExpiresAt.IsZero() {
		key.ExpiresAt = &row.ExpiresAt
	}
	if !row.RevokedAt.IsZero() {
		key.RevokedAt = &row.RevokedAt
	}
	return key
}
