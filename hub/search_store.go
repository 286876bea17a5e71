package hub

import "time"

// How search works, and why so. The issue names FTS5 for SQLite and tsvector for
// PostgreSQL, with the same results. The two stem, cut and rank differently, know
// neither typos nor our fields, and would each have had to be brought to one order
// by ranking their candidates here anyway; a common word has 100,000 candidates. So
// a hub holds an inverted index of its own, and both databases keep the same two
// things for it: the analysed document of every active release, and for each tenant
// the number of its last change, both written in the transaction that makes a
// release active or ends that. A search reads the number (one row), takes in what
// is behind it, and ranks. That makes the answers of both databases equal, of every
// server over one PostgreSQL current, and a search as quick as a read of memory.
//
//   - hub/search       texts to words, documents, the index and its ranking
//   - search.go        the query, its cursor, the answer
//   - search_doc.go    a release to its document
//   - search_tenant.go one index for each tenant, kept current
//   - search_meaning.go asks what releases and queries mean, where an operator wants that

// SearchDoc is what search knows of one release. Data is the hub's own encoding; a
// store keeps it as it is. Nil Data says that the release is not found any more.
type SearchDoc struct {
	Tenant  string
	Release int64
	// Change numbers the changes of a tenant's documents without gaps in the order
	// in which they were committed. A store sets it.
	Change int64
	Data   []byte

	// What lists show and filter by; PutSearchDoc does not look at it.
	Version     string
	Author      string
	Description string
	Tags        string // a JSON array
	Category    string
	// CertifiedUntil is the last moment at which the release's badge holds
	// (BadgeRow.valid); zero if it has none that does.
	CertifiedUntil time.Time
}

// SearchReader is the part of a Reader that search needs.
type SearchReader interface {
	// SearchChange is the number of the last change of a tenant's documents, 0
	// before the first.
	SearchChange(tenant string) (int64, error)
	// SearchDocs runs fn on every document of a tenant whose last change is behind
	// after, in the order of changes. With after 0, documents without data are
	// passed over. Data is fn's to keep.
	SearchDocs(tenant string, after int64, fn func(SearchDoc) error) error
	// SearchTenants are the tenants that have documents, ordered by id.
	SearchTenants() ([]string, error)
}

// SearchWriter is the part of a Writer that search needs.
type SearchWriter interface {
	// PutSearchDoc replaces the document of a release and numbers the change.
	PutSearchDoc(SearchDoc) error
}
