package sqlstore

import "database/sql"

func (t *tx) WebhookAfter(hook string) (int64, error) {
	return one(all(t.session, scanNumber, "SELECT after FROM webhooks WHERE id = ?", hook))
}

func (t *tx) LastAudit(tenant string) (int64, error) {
	return one(all(t.session, scanNumber, "SELECT COALESCE(MAX(seq), 0) FROM audit WHERE tenant = ?", tenant))
}

func (t *tx) AddWebhook(hook, tenant string, after int64) error {
	_, err := t.exec("INSERT INTO webhooks (id, tenant, after) VALUES (?, ?, ?)", hook, tenant, after)
	return err
}

func (t *tx) MoveWebhook(hook string, from, to int64) (bool, error) {
	return t.changed("UPDATE webhooks SET after = ? WHERE id = ? AND after = ?", to, hook, from)
}

func scanNumber(rows *sql.Rows) (n int64, err error) { return n, rows.Scan(&n) }
