package hub

// SearchDoc is what search knows of one release. Data is the hub's own encoding; a
// store keeps it as it is. Nil Data says that the release is not found any more.
type SearchDoc struct {
	Tenant  string
	Release int64
	// Change numbers the changes of a tenant's documents without gaps in the order
	// in which they were committed. A store sets it.
	Change int64
	Data   []byte
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
