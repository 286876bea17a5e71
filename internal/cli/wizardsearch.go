package cli

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/source"
)

// Hub names the hub that is asked.
func (h *WizardHost) Hub() string {
	a, _ := h.listening()
	s, err := a.settings(h.c)
	switch {
	case err != nil:
		return asHubError(err).Message
	case s.endpoint != "":
		at, err := url.Parse(s.endpoint)
		if err != nil {
			return "an address that cannot be read"
		}
		return at.Redacted()
	}
	return "your own, in " + h.Show(s.hubDir)
}

// Search finds skills: those in the folder or archive that text is the path of, else
// in the hub and in the caller's catalog. The address of a place beyond this machine
// is not followed; the page names it.
func (h *WizardHost) Search(ctx context.Context, text string) (*WizardPage, error) {
	text = strings.TrimSpace(text)
	if ref, ok := h.elsewhere(text); ok {
		if ref.Remote() {
			return &WizardPage{Place: text}, nil
		}
		return h.list(ctx, ref)
	}
	a, _ := h.listening()
	page := &WizardPage{}
	err := a.withHub(ctx, h.c, func(hub *hubclient.Client) error {
		found, err := hub.Search(ctx, text, hubclient.SearchOptions{Limit: wizardPage})
		if err != nil {
			return err
		}
		page.Total, page.Note = found.Total, found.Note
		page.DidYouMean = found.DidYouMean[:min(len(found.DidYouMean), maxSuggests)]
		for _, item := range found.Items[:min(len(found.Items), wizardPage)] {
			page.Items = append(page.Items, WizardFound{
				Ref: item.Author + "/" + item.Name, Name: item.Name, Author: item.Author,
				Version: item.Version, Summary: item.Summary, From: "hub",
			})
		}
		return searchCatalog(ctx, hub, text, page)
	})
	return page, err
}

// elsewhere tells whether a text names a source other than the hub.
func (h *WizardHost) elsewhere(text string) (source.Ref, bool) {
	ref, err := h.parse(text)
	return ref, err == nil && ref.Kind != source.Hub
}

func (h *WizardHost) parse(text string) (source.Ref, error) {
	refs, err := h.a.parseRefs([]string{h.expand(strings.TrimSpace(text))})
	if err != nil {
		return source.Ref{}, err
	}
	return refs[0].ref, nil
}

// expand puts the home in place of ~, which no shell does inside of a wizard.
func (h *WizardHost) expand(text string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok && h.a.HomeDir != "" {
		return filepath.Join(h.a.HomeDir, rest)
	}
	return text
}

// sources are those of every command that reads sources; git asks nothing, because
// the terminal is in use.
func (h *WizardHost) sources(hub source.HubReader) *source.Sources {
	a, _ := h.listening()
	s, _ := a.sources(h.c, hub)
	return s
}

// Look lists the skills of a place, which may be beyond this machine.
func (h *WizardHost) Look(ctx context.Context, place string) (*WizardPage, error) {
	ref, err := h.parse(place)
	if err != nil {
		return nil, err
	}
	return h.list(ctx, ref)
}

// list fetches a source and keeps what it holds.
func (h *WizardHost) list(ctx context.Context, ref source.Ref) (*WizardPage, error) {
	fetched, err := h.sources(nil).Fetch(ctx, ref)
	if err != nil {
		return nil, err
	}
	page := &WizardPage{Total: len(fetched.Found)}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range fetched.Found {
		found := &fetched.Found[i]
		item := WizardFound{Ref: skillRef(fetched, found).String(), Name: found.Name, From: fetched.Ref.String()}
		if found.Faults != nil {
			item.Fault = asHubError(found.Faults).Message
		} else {
			item.Version, item.Author, item.Summary = found.Pack.Version, found.Pack.Author, found.Pack.Description
			if deliver.CheckName(found.Pack) != nil {
				item.Fault = "no folder can have its name; kx skills install --as gives it another"
			}
		}
		page.Items = append(page.Items, item)
		h.found[item.Ref] = accept.Incoming{Fetched: fetched, Found: found}
	}
	return page, nil
}

// searchCatalog adds what the caller's catalog has. A catalog keeps no files, so only
// what the hub has a release of can be installed.
func searchCatalog(ctx context.Context, hub *hubclient.Client, text string, page *WizardPage) error {
	list, err := hub.CatalogAll(ctx)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && (e.Code == hubapi.Forbidden || e.Code == hubapi.Unauthorized || e.Code == hubapi.NotFound || e.Code == hubapi.Unsupported) {
		return nil // a key that has no catalog finds nothing in it
	}
	if err != nil {
		return err
	}
	released := map[string]int{}
	for i, item := range page.Items {
		released[item.Name] = i
	}
	for _, s := range list.Skills {
		if !holdsWords(text, s.Name, s.Description, strings.Join(s.Tags, " ")) {
			continue
		}
		if at, ok := released[s.Name]; ok {
			page.Items[at].From = "hub and your catalog"
			continue
		}
		if len(page.Items) >= wizardPage {
			return nil
		}
		item := WizardFound{Ref: s.Name, Name: s.Name, Version: s.Version, Summary: s.Description, From: "your catalog"}
		if release, err := hub.Release(ctx, hubapi.Ref{Name: s.Name}); err == nil && accept.OnlyReviewed(release) == nil {
			item.Ref, item.Author, item.Version = release.Author+"/"+release.Name, release.Author, release.Version
		} else {
			item.Fault = "only in your catalog, and a catalog keeps no files; publish it with kx push"
		}
		page.Items, page.Total = append(page.Items, item), page.Total+1
	}
	return nil
}

// holdsWords tells whether every word stands somewhere in the fields.
func holdsWords(text string, fields ...string) bool {
	all := strings.ToLower(strings.Join(fields, " "))
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}
