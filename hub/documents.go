package hub

import (
	"context"

	"github.com/kortecx/kx/hubapi"
)

func notYet() error { return hubapi.Errorf(hubapi.Unsupported, "this hub keeps no documents yet") }

// ReadDocument gives one document.
func (h *Hub) ReadDocument(ctx context.Context, p Principal, collection, id string) (hubapi.Document, error) {
	return hubapi.Document{}, notYet()
}

// QueryDocuments gives documents of one collection.
func (h *Hub) QueryDocuments(ctx context.Context, p Principal, q hubapi.DocumentQuery) (hubapi.DocumentList, error) {
	return hubapi.DocumentList{}, notYet()
}

// SearchDocuments finds documents by their words.
func (h *Hub) SearchDocuments(ctx context.Context, p Principal, q hubapi.DocumentSearch) (hubapi.DocumentHits, error) {
	return hubapi.DocumentHits{}, notYet()
}

// WriteDocument writes one document.
func (h *Hub) WriteDocument(ctx context.Context, p Principal, in hubapi.DocumentWrite) (hubapi.DocumentWritten, error) {
	return hubapi.DocumentWritten{}, notYet()
}

// DeleteDocument deletes one document.
func (h *Hub) DeleteDocument(ctx context.Context, p Principal, collection, id string) (hubapi.DocumentDeleted, error) {
	return hubapi.DocumentDeleted{}, notYet()
}

// Collections counts the documents of every collection.
func (h *Hub) Collections(ctx context.Context, p Principal) (hubapi.CollectionList, error) {
	return hubapi.CollectionList{}, notYet()
}

// Installable is the catalogue that nodes reconcile.
func (h *Hub) Installable(ctx context.Context, p Principal, q hubapi.InstallableQuery) (hubapi.Installable, error) {
	return hubapi.Installable{}, notYet()
}

// SubmitSkill proposes a skill as text.
func (h *Hub) SubmitSkill(ctx context.Context, p Principal, in hubapi.SkillSubmit) (hubapi.SkillSubmitted, error) {
	return hubapi.SkillSubmitted{}, notYet()
}
