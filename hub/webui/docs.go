package webui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
)

// openAPI is what the page shows of an OpenAPI 3.1 document of ours: no more of the
// format is read than the hub's own document uses.
type openAPI struct {
	Info struct {
		Title       string
		Description string
	}
	Tags       []apiTag
	Paths      map[string]map[string]apiOperation
	Components struct{ Schemas map[string]apiSchema }
}

type apiTag struct{ Name, Description string }

type apiOperation struct {
	ID          string `json:"operationId"`
	Summary     string
	Tags        []string
	Security    []map[string][]string
	Parameters  []apiParameter
	RequestBody struct {
		Content map[string]apiContent
	}
	Responses map[string]struct {
		Description string
		Content     map[string]apiContent
	}
}

type apiParameter struct {
	Name, In string
	Required bool
}

type apiContent struct{ Schema apiSchema }

type apiSchema struct {
	Ref                  string `json:"$ref"`
	Type                 any    // a word or a list of them
	Format               string
	Items                *apiSchema
	AdditionalProperties any // true, false, or a schema
	Properties           map[string]apiSchema
	Required             []string
}

// docsPage is the reference of the API.
type docsPage struct {
	Description string
	Groups      []docsGroup
	Types       []docsType
	Refusals    []docsRefusal
}

type docsGroup struct {
	Name, Does string
	Operations []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Does string
	Public                 bool
	Parameters             []apiParameter
	Bodies                 []docsContent // what is sent
	Answers                []docsContent // what comes back
}

// docsContent is a body: its status when it is an answer, its media type, its type.
type docsContent struct {
	Status, Media string
	Type          docsTypeName
}

// docsTypeName is the name of a type, with the type of ours that it is made of.
type docsTypeName struct{ Before, Type, After string }

type docsType struct {
	Name   string
	Fields []docsField
}

type docsField struct {
	Name     string
	Type     docsTypeName
	Optional bool
}

type docsRefusal struct {
	Code   hubapi.Code
	Status int
}

// methodOrder is how the methods of one path are listed.
var methodOrder = []string{"get", "post", "put", "delete"}

// readDocs turns the document into the page.
func readDocs(data []byte) (docsPage, error) {
	var doc openAPI
	if err := json.Unmarshal(data, &doc); err != nil {
		return docsPage{}, fmt.Errorf("the API's description cannot be read: %w", err)
	}
	page := docsPage{Description: doc.Info.Description}
	groups := map[string]*docsGroup{}
	for _, tag := range doc.Tags {
		groups[tag.Name] = &docsGroup{Name: tag.Name, Does: tag.Description}
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		methods := slices.Collect(maps.Keys(doc.Paths[path]))
		sorting.Sort(methods, func(a, b string) int {
			return cmp.Compare(slices.Index(methodOrder, a), slices.Index(methodOrder, b))
		})
		for _, method := range methods {
			op := doc.Paths[path][method]
			tag := ""
			if len(op.Tags) > 0 {
				tag = op.Tags[0]
			}
			if groups[tag] == nil {
				groups[tag] = &docsGroup{Name: tag}
				doc.Tags = append(doc.Tags, apiTag{Name: tag})
			}
			groups[tag].Operations = append(groups[tag].Operations, op.shown(method, path))
		}
	}
	for _, tag := range doc.Tags {
		page.Groups = append(page.Groups, *groups[tag.Name])
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		page.Types = append(page.Types, doc.Components.Schemas[name].shown(name))
	}
	for _, code := range hubapi.Refusals() {
		page.Refusals = append(page.Refusals, docsRefusal{code, code.HTTP()})
	}
	return page, nil
}

func (op apiOperation) shown(method, path string) docsOperation {
	out := docsOperation{
		ID: op.ID, Method: strings.ToUpper(method), Path: path, Does: op.Summary,
		Public: len(op.Security) == 0, Parameters: op.Parameters,
	}
	for _, media := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
		out.Bodies = append(out.Bodies, docsContent{Media: media, Type: op.RequestBody.Content[media].Schema.name()})
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		shown := status
		if status == "default" {
			shown = "refused"
		}
		content := op.Responses[status].Content
		for _, media := range slices.Sorted(maps.Keys(content)) {
			out.Answers = append(out.Answers, docsContent{Status: shown, Media: media, Type: content[media].Schema.name()})
		}
	}
	return out
}

func (s apiSchema) shown(name string) docsType {
	t := docsType{Name: name}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		t.Fields = append(t.Fields, docsField{Name: field, Type: s.Properties[field].name(), Optional: !slices.Contains(s.Required, field)})
	}
	return t
}

// name says what a schema is in a few words.
func (s apiSchema) name() docsTypeName {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return docsTypeName{Type: name}
	}
	word, null := "", ""
	switch t := s.Type.(type) {
	case string:
		word = t
	case []any:
		for _, each := range t {
			if each == "null" {
				null = " or null"
			} else if text, ok := each.(string); ok {
				word = text
			}
		}
	}
	switch {
	case word == "array" && s.Items != nil:
		of := s.Items.name()
		return docsTypeName{Before: "list of " + of.Before, Type: of.Type, After: of.After + null}
	case word == "object" && s.AdditionalProperties != nil:
		if values, ok := s.AdditionalProperties.(map[string]any); ok {
			data, err := json.Marshal(values)
			var of apiSchema
			if err == nil && json.Unmarshal(data, &of) == nil {
				named := of.name()
				return docsTypeName{Before: "object of " + named.Before, Type: named.Type, After: named.After + null}
			}
		}
	case word == "":
		word = "any"
	case s.Format == "date-time":
		word = "time (RFC 3339)"
	case s.Format == "binary":
		word = "bytes"
	}
	return docsTypeName{Before: word + null}
}

// documented tells whether there is anything for /docs to show.
func (s *site) documented() bool { return len(s.o.OpenAPI) > 0 }

// docs needs no key, as the document itself needs none: it says nothing of what is in
// the hub.
func (s *site) docs(w http.ResponseWriter, r *http.Request) {
	v := &visit{w: w, r: r}
	v.session, v.p, _ = s.authenticate(w, r)
	if !s.documented() {
		s.failed(v, s.nothing(v))
		return
	}
	reference, err := s.reference()
	if err != nil {
		s.failed(v, err)
		return
	}
	s.render(v, http.StatusOK, "docs.html", page{Title: "The hub's API", Data: reference})
}
