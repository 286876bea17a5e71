package sqlstore

import (
	"database/sql"
	"strings"
)

func (t *tx) Embeddings(model string, releases []int64, fn func(release int64, data []byte) error) error {
	if len(releases) == 0 {
		return nil
	}
	// Twice as many at each step, so that a connection keeps few statements.
	places := 1
	for places < len(releases) {
		places *= 2
	}
	args := make([]any, 1, 1+places)
	args[0] = model
	for i := range places {
		args = append(args, releases[min(i, len(releases)-1)])
	}
	return t.query(func(rows *sql.Rows) error {
		var (
			release int64
			data    []byte
		)
		if err := rows.Scan(&release, &data); err != nil {
			return err
		}
		return fn(release, data)
	}, "SELECT release, vector FROM embeddings WHERE model = ? AND release IN (?"+strings.Repeat(", ?", places-1)+") ORDER BY release", args...)
}

func (t *tx) PutEmbedding(release int64, model string, data []byte) error {
	_, err := t.exec(`INSERT INTO embeddings (release, model, vector) VALUES (?, ?, ?)
  ON CONFLICT (release) DO UPDATE SET model = excluded.model, vector = excluded.vector`, release, model, data)
	return err
}
