package sqlstore

import (
	"database/sql"
	"strings"
)

func (t *tx) Embeddings(model string, releases []int64, fn func(release int64, data []byte) error) error {
	if len(releases) == 0 {
		return nil
	}
	args := []any{model}
	for _, release := range releases {
		args = append(args, release)
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
	}, "SELECT release, vector FROM embeddings WHERE model = ? AND release IN (?"+strings.Repeat(", ?", len(releases)-1)+") ORDER BY release", args...)
}

func (t *tx) PutEmbedding(release int64, model string, data []byte) error {
	_, err := t.exec(`INSERT INTO embeddings (release, model, vector) VALUES (?, ?, ?)
  ON CONFLICT (release) DO UPDATE SET model = excluded.model, vector = excluded.vector`, release, model, data)
	return err
}
