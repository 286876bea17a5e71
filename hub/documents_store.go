package hub

import "time"

// DocumentReader is the part of a Reader about plain documents.
type DocumentReader interface {
	PlainDocument(tenant, collection, id string) (DocumentRow, error)
	// PlainDocuments runs fn on the documents of a tenant's collection, of all
	// when it is empty: the last changed first, then by collection and id. An error
	// of fn ends it.
	PlainDocuments(tenant, collection string, fn func(DocumentRow) error) error
	// CountPlain counts a tenant's, ordered by collection.
	CountPlain(tenant string) ([]CollectionCount, error)
	// AuditSeq is the sequence number of the last row of a tenant's audit trail, 0
	// before the first. It grows with every change of a release.
	AuditSeq(tenant string) (int64, error)
}

// DocumentWriter is the part of a Writer about plain documents.
type DocumentWriter interface {
	// PutPlainDocument adds a document, or changes the one with that collection and
	// id: not who made it, and when.
	PutPlainDocument(DocumentRow) error
	// DropPlainDocument says whether it was there.
	DropPlainDocument(tenant, collection, id string) (bool, error)
}

// DocumentRow is one plain document.
type DocumentRow struct {
	Tenant     string
	Collection string
	ID         string
	Fleet      string // empty: of none
	Data       string // a JSON object
	CreatedBy  string
	UpdatedBy  string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// CollectionCount is how much a collection holds.
type CollectionCount struct {
	Name  string
	Count int
	Bytes int64 // of data
}
