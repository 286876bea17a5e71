package sqlstore

import (
	"database/sql"
	"time"

	"github.com/kortecx/kx/hub"
)

const selectKey = `SELECT id, sha256, prefix, tenant, role, authors, name, rate, created_at, created_by,
  expires_at, revoked_at, revoked_by FROM keys `

func scanKey(rows *sql.Rows) (hub.KeyRow, error) {
	var (
		k                hub.KeyRow
		sum              []byte
		role, authors    string
		created          int64
		expires, revoked sql.NullInt64
	)
	if err := rows.Scan(&k.ID, &sum, &k.Prefix, &k.Tenant, &role, &authors, &k.Name, &k.Rate,
		&created, &k.CreatedBy, &expires, &revoked, &k.RevokedBy); err != nil {
		return k, err
	}
	k.Role, k.CreatedAt = hub.Role(role), fromMicros(created)
	k.ExpiresAt, k.RevokedAt = fromMicrosOrNull(expires), fromMicrosOrNull(revoked)
	if err := fromJSON(authors, &k.Authors); err != nil {
		return k, err
	}
	var err error
	k.Sum, err = asSum(sum)
	return k, err
}

func (t *tx) Key(id string) (hub.KeyRow, error) {
	return one(all(t.session, scanKey, selectKey+"WHERE id = ?", id))
}

func (t *tx) KeyWithSum(sum hub.Sum) (hub.KeyRow, error) {
	return one(all(t.session, scanKey, selectKey+"WHERE sha256 = ?", sum[:]))
}

func (t *tx) Keys(tenant string) ([]hub.KeyRow, error) {
	return all(t.session, scanKey, selectKey+"WHERE tenant = ? ORDER BY created_at, id", tenant)
}

func (t *tx) AddKey(k hub.KeyRow) error {
	_, err := t.exec(`INSERT INTO keys (id, sha256, prefix, tenant, role, authors, name, rate, created_at, created_by,
  expires_at, revoked_at, revoked_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.Sum[:], k.Prefix, k.Tenant, string(k.Role), asJSON(k.Authors), k.Name, k.Rate,
		micros(k.CreatedAt), k.CreatedBy, microsOrNull(k.ExpiresAt), microsOrNull(k.RevokedAt), k.RevokedBy)
	return err
}

func (t *tx) RevokeKey(id string, at time.Time, by string) (bool, error) {
	return t.changed("UPDATE keys SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL", micros(at), by, id)
}
