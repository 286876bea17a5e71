package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kortecx/kx/hubapi"
)

var update = flag.Bool("update", false, "write openapi.json from the routes and the wire types")

// operation is what the routes do not say of themselves.
type operation struct {
	tag, does string
	in        any    // JSON body; nil for none
	out       any    // JSON answer; nil for another kind
	body      string // content type of a body that is not JSON
	answer    string // content type of an answer that is not JSON
	status    string // of success; empty means 200
}

const (
	tarGzip = "application/gzip"
	text    = "text/plain; charset=utf-8"
	octets  = "application/octet-stream"
)

var operations = map[string]operation{
	"GET /healthz":      {tag: "operate", does: "Is the server alive", out: map[string]string{}},
	"GET /readyz":       {tag: "operate", does: "Can it take writes now", out: map[string]string{}},
	"GET /openapi.json": {tag: "operate", does: "This description", out: map[string]any{}},

	"GET /.well-known/agent-skills/index.json":       {tag: "site", does: "The active skills, as sites list them (Agent Skills discovery 0.2)", out: hubapi.SiteIndex{}},
	"GET /.well-known/agent-skills/{archive}":        {tag: "site", does: "A skill as NAME.tar.gz with SKILL.md at its top", answer: tarGzip},
	"GET /.well-known/agent-skills/{name}/{path...}": {tag: "site", does: "One file of a skill", answer: octets},

	"POST /api/v1/releases":                                          {tag: "releases", does: "Publish a pack for review", body: tarGzip, out: hubapi.PushResult{}, status: "201"},
	"GET /api/v1/releases/{author}/{name}":                           {tag: "releases", does: "The active release of a skill", out: hubapi.Release{}},
	"GET /api/v1/releases/{author}/{name}/{version}":                 {tag: "releases", does: "One release", out: hubapi.Release{}},
	"GET /api/v1/releases/{author}/{name}/{version}/archive":         {tag: "releases", does: "Its files as a deterministic tar.gz, with an ETag", answer: tarGzip},
	"GET /api/v1/releases/{author}/{name}/{version}/signature":       {tag: "releases", does: "Its signature file", answer: "application/json"},
	"GET /api/v1/releases/{author}/{name}/{version}/files/{path...}": {tag: "releases", does: "One of its files", answer: octets},
	"GET /api/v1/releases/{author}/{name}/{version}/diff":            {tag: "releases", does: "What differs from another release", out: hubapi.Diff{}},
	"POST /api/v1/releases/{author}/{name}/{version}/withdraw":       {tag: "releases", does: "Take an active release back", in: hubapi.Review{}, out: hubapi.InboxMove{}},
	"POST /api/v1/releases/{author}/{name}/{version}/deprecate":      {tag: "releases", does: "Mark a release as not to be used any more", in: hubapi.Review{}, out: hubapi.InboxMove{}},
	"GET /api/v1/search":                                             {tag: "releases", does: "Search", out: hubapi.SearchResult{}},
	"GET /api/v1/events":                                             {tag: "review", does: "The audit trail behind a sequence number", out: hubapi.Events{}},
	"GET /api/v1/skills-inbox":                                       {tag: "review", does: "What waits for review", out: hubapi.Inbox{}},
	"GET /api/v1/skills-inbox/{slug}":                                {tag: "review", does: "One release as its reviewer sees it", out: hubapi.InboxDetail{}},
	"GET /api/v1/skills-inbox/{slug}/diff":                           {tag: "review", does: "What it changes", out: hubapi.Diff{}},
	"POST /api/v1/skills-inbox/{slug}/{action}":                      {tag: "review", does: "approve, reject, quarantine, defer, edit, stage or repropose", in: hubapi.Review{}, out: hubapi.InboxMove{}},
	"GET /api/v1/catalog":                                            {tag: "catalog", does: "The caller's own catalog", out: hubapi.CatalogList{}},
	"PUT /api/v1/catalog":                                            {tag: "catalog", does: "Put a skill into it", in: hubapi.CatalogAdd{}, out: hubapi.CatalogAdded{}},
	"GET /api/v1/catalog/{name}":                                     {tag: "catalog", does: "One skill of it", out: hubapi.CatalogForm{}},
	"PUT /api/v1/catalog/{name}":                                     {tag: "catalog", does: "Put a skill of this name into it", in: hubapi.CatalogAdd{}, out: hubapi.CatalogAdded{}},
	"DELETE /api/v1/catalog/{name}":                                  {tag: "catalog", does: "Take a skill out of it", out: hubapi.CatalogRemoved{}},
	"GET /checkpoint":                                                {tag: "log", does: "The signed checkpoint (C2SP tlog-tiles)", answer: text},
	"GET /tile/{path...}":                                            {tag: "log", does: "A tile of hashes or entries (C2SP tlog-tiles)", answer: octets},
	"GET /api/v1/log":                                                {tag: "log", does: "Its state and key", out: hubapi.Log{}},
	"GET /api/v1/log/proof":                                          {tag: "log", does: "An inclusion proof (index) or a consistency proof (from)", out: hubapi.LogProof{}},
	"GET /api/v1/log/entries":                                        {tag: "log", does: "Its entries", out: hubapi.LogEntries{}},
	"GET /api/v1/log/releases":                                       {tag: "log", does: "What the hub's own index says of every release", out: hubapi.LogReleases{}},
	"GET /api/v1/admin/tokens":                                       {tag: "admin", does: "List keys", out: hubapi.KeyList{}},
	"POST /api/v1/admin/tokens":                                      {tag: "admin", does: "Make a key; it is shown once", in: hubapi.NewKey{}, out: hubapi.KeyMade{}, status: "201"},
	"DELETE /api/v1/admin/tokens/{id}":                               {tag: "admin", does: "Revoke a key", out: hubapi.Key{}},
	"GET /api/v1/admin/tenants":                                      {tag: "admin", does: "List tenants", out: hubapi.TenantList{}},
	"POST /api/v1/admin/tenants":                                     {tag: "admin", does: "Make a tenant", in: hubapi.NewTenant{}, out: hubapi.Tenant{}, status: "201"},
	"GET /api/v1/admin/tenants/{id}":                                 {tag: "admin", does: "A tenant and its settings", out: hubapi.Tenant{}},
	"PUT /api/v1/admin/tenants/{id}":                                 {tag: "admin", does: "Change settings of a tenant", in: hubapi.TenantChange{}, out: hubapi.Tenant{}},
	"POST /api/v1/admin/promote":                                     {tag: "admin", does: "Run the promotion of candidates now", out: hubapi.Promotion{}},
	"GET /api/v1/publishers/{author}":                                {tag: "publishers", does: "An author's signed lists of keys, oldest first", out: hubapi.PublisherChain{}},
	"PUT /api/v1/publishers/{author}":                                {tag: "publishers", does: "Publish the next list of an author's keys", in: json.RawMessage{}, out: hubapi.PublisherChain{}},
	"GET /api/v1/badges":                                             {tag: "badges", does: "List badges", out: hubapi.BadgeList{}},
	"GET /api/v1/badges/stats":                                       {tag: "badges", does: "Count badges", out: hubapi.BadgeStats{}},
	"GET /api/v1/badges/{author}/{name}":                             {tag: "badges", does: "The badge of the active release", out: hubapi.Badge{}},
	"GET /api/v1/badges/{author}/{name}/{version}":                   {tag: "badges", does: "The badge of one release; with .svg behind the version, as a picture", out: hubapi.Badge{}},
	"PUT /api/v1/badges/{author}/{name}/{version}":                   {tag: "badges", does: "Evaluate a release and issue its badge", in: hubapi.BadgeIssue{}, out: hubapi.Badge{}},
	"GET /api/v1/badges/{author}/{name}/{version}/requirements":      {tag: "badges", does: "What the release meets", out: hubapi.BadgeRequirements{}},
	"POST /api/v1/badges/{author}/{name}/{version}/attest":           {tag: "badges", does: "Attest what only a person can", in: hubapi.BadgeAttest{}, out: hubapi.Requirement{}},
	"POST /api/v1/badges/{author}/{name}/{version}/revoke":           {tag: "badges", does: "Revoke a badge", in: hubapi.BadgeReason{}, out: hubapi.Badge{}},
	"POST /api/v1/badges/{author}/{name}/{version}/lift":             {tag: "badges", does: "Lift a revocation", in: hubapi.BadgeReason{}, out: hubapi.Badge{}},
	"GET /api/v1/documents":                                          {tag: "documents", does: "Documents of a collection, the last changed first", out: hubapi.DocumentList{}},
	"POST /api/v1/documents":                                         {tag: "documents", does: "Write a document; a skill waits for review", in: hubapi.DocumentWrite{}, out: hubapi.DocumentWritten{}},
	"POST /api/v1/documents/query":                                   {tag: "documents", does: "Documents of a collection whose members have given values", in: hubapi.DocumentQuery{}, out: hubapi.DocumentList{}},
	"POST /api/v1/documents/search":                                  {tag: "documents", does: "Find documents by their words", in: hubapi.DocumentSearch{}, out: hubapi.DocumentHits{}},
	"GET /api/v1/documents/collections":                              {tag: "documents", does: "Count the documents of every collection", out: hubapi.CollectionList{}},
	"GET /api/v1/documents/{id...}":                                  {tag: "documents", does: "One document of a collection", out: hubapi.Document{}},
	"DELETE /api/v1/documents/{id...}":                               {tag: "documents", does: "Delete a document; an active skill is withdrawn", out: hubapi.DocumentDeleted{}},
	"POST /api/v1/skills/installable":                                {tag: "documents", does: "The whole catalogue that nodes reconcile, with an ETag", in: hubapi.InstallableQuery{}, out: []hubapi.InstallableRow{}},
	"POST /api/v1/auth/verify":                                       {tag: "documents", does: "The tenant of a key", in: hubapi.KeyVerify{}, out: hubapi.KeyVerified{}},
	"GET /api/v1/fleet":                                              {tag: "fleet", does: "Count the nodes of each fleet", out: hubapi.FleetList{}},
	"POST /api/v1/fleet/heartbeat":                                   {tag: "fleet", does: "Say that a node is there, and what it has", in: hubapi.Heartbeat{}, out: hubapi.HeartbeatAnswer{}},
	"GET /api/v1/fleet/nodes":                                        {tag: "fleet", does: "List nodes, the newest heartbeat first; metadata.kx says how each differs from what is active", out: []hubapi.FleetNode{}},
	"GET /api/v1/fleet/nodes/{node_id}":                              {tag: "fleet", does: "One node with all of its skills", out: hubapi.FleetNode{}},
	"DELETE /api/v1/fleet/nodes/{node_id}":                           {tag: "fleet", does: "Forget a machine", out: hubapi.NodeRemoved{}},
	"GET /api/v1/submissions/{id}":                                   {tag: "kazma", does: "What became of a submission", out: hubapi.Submission{}},
}

// kazmaOperations are dispatched by hand, because their ids hold slashes.
var kazmaOperations = map[string]operation{
	"GET /api/v1/health":                    {tag: "kazma", does: "Is the server alive", out: hubapi.KazmaHealth{}},
	"GET /api/v1/stats":                     {tag: "kazma", does: "Count skills", out: hubapi.KazmaStats{}},
	"GET /api/v1/skills":                    {tag: "kazma", does: "List active skills (page, per_page, sort, category, certified)", out: hubapi.KazmaPage{}},
	"GET /api/v1/skills/search":             {tag: "kazma", does: "Search active skills (q, category, certified)", out: hubapi.KazmaFound{}},
	"POST /api/v1/skills/submit":            {tag: "kazma", does: "Submit a manifest", in: hubapi.KazmaSubmit{}, out: hubapi.KazmaSubmitted{}},
	"GET /api/v1/skills/{id}":               {tag: "kazma", does: "One skill; its id may hold slashes", out: hubapi.KazmaDetail{}},
	"GET /api/v1/skills/{id}/certification": {tag: "kazma", does: "Its certification", out: hubapi.KazmaCertification{}},
	"GET /api/v1/skills/{id}/download":      {tag: "kazma", does: "Its files as a tar.gz", answer: tarGzip},
}

// tags say of the routes under them who may call them; a key's role decides the rest.
var tags = []*huma.Tag{
	{Name: "releases", Description: "Publish, find and fetch. Every key finds and fetches what is active, publishers and agents publish for review, reviewers see the rest."},
	{Name: "review", Description: "What waits for review, and what happened. For keys of reviewers and admins."},
	{Name: "catalog", Description: "The working set of skills of whoever calls: nobody else sees or changes it."},
	{Name: "documents", Description: "Skills as documents, and other documents, as MemClaw has them; and what machines install."},
	{Name: "fleet", Description: "The machines that have skills installed. Nodes report; reviewers and admins see; admins forget."},
	{Name: "badges", Description: "Certification. Every key sees badges, reviewers and admins give and revoke them, admins lift a revocation."},
	{Name: "log", Description: "The transparency log of what was approved and withdrawn, which everybody may verify."},
	{Name: "publishers", Description: "The keys that authors stand for. Every key reads them; who publishes as an author puts that author's."},
	{Name: "admin", Description: "Keys and tenants. For keys of admins, of their own tenant alone unless they run the hub."},
	{Name: "kazma", Description: "The routes of the Kazma hub, shape for shape."},
	{Name: "site", Description: "What agents that look for skills on web sites read. A key shows what is active in its tenant; without one it is what is active in local, where the hub was told so."},
	{Name: "operate", Description: "For those who run the hub."},
}

var pathParam = regexp.MustCompile(`\{([a-z_]+)(\.\.\.)?\}`)

func describe(t *testing.T) []byte {
	t.Helper()
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "kx hub", Version: "1", Description: "Publish, review, find and fetch skill packs. Every refusal is an ErrorBody."},
		Paths:   map[string]*huma.PathItem{},
		Tags:    tags,
		Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer"},
			"key":    {Type: "apiKey", In: "header", Name: "X-API-Key"},
		}},
	}
	add := func(method, pattern, params string, public bool, op operation) {
		path := pathParam.ReplaceAllString(pattern, "{$1}")
		out := &huma.Operation{
			OperationID: strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(method+" "+path), "-"), "-"),
			Summary:     op.does, Tags: []string{op.tag}, Responses: map[string]*huma.Response{},
		}
		if !public {
			out.Security = []map[string][]string{{"bearer": {}}, {"key": {}}}
		}
		for _, found := range pathParam.FindAllStringSubmatch(pattern, -1) {
			out.Parameters = append(out.Parameters, &huma.Param{Name: found[1], In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
		}
		for name := range strings.FieldsSeq(params) {
			out.Parameters = append(out.Parameters, &huma.Param{Name: name, In: "query", Schema: &huma.Schema{Type: "string"}})
		}
		switch {
		case op.in != nil:
			out.RequestBody = &huma.RequestBody{Content: jsonContent(registry, op.in)}
		case op.body != "":
			out.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{op.body: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
		}
		success := &huma.Response{Description: "done"}
		if op.out != nil {
			success.Content = jsonContent(registry, op.out)
		} else {
			success.Content = map[string]*huma.MediaType{op.answer: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}
		}
		status := op.status
		if status == "" {
			status = "200"
		}
		out.Responses[status] = success
		out.Responses["default"] = &huma.Response{Description: "refused", Content: jsonContent(registry, hubapi.ErrorBody{})}
		item := doc.Paths[path]
		if item == nil {
			item = &huma.PathItem{}
			doc.Paths[path] = item
		}
		switch method {
		case http.MethodGet:
			item.Get = out
		case http.MethodPost:
			item.Post = out
		case http.MethodPut:
			item.Put = out
		case http.MethodDelete:
			item.Delete = out
		default:
			t.Fatalf("no place for the method %s", method)
		}
	}
	seen := map[string]bool{}
	for pattern, m := range (&api{}).routes() {
		if strings.HasSuffix(pattern, "/{$}") {
			continue // the same path with a slash at its end
		}
		for method, e := range m {
			key := method + " " + pattern
			op, ok := operations[key]
			if !ok {
				t.Errorf("%s is not described: add it to operations", key)
				continue
			}
			seen[key] = true
			add(method, pattern, e.params, e.public, op)
		}
	}
	for key := range operations {
		if !seen[key] {
			t.Errorf("%s is described and is no route", key)
		}
	}
	for key, op := range kazmaOperations {
		method, pattern, _ := strings.Cut(key, " ")
		if !isKazma(pattern) {
			t.Errorf("%s is no Kazma route", key)
		}
		add(method, pattern, "", strings.HasPrefix(key, "GET") && !strings.HasSuffix(key, "download"), op)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	// Through a map, so that keys are sorted and the bytes do not depend on huma.
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatal(err)
	}
	mayGrow(plain)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(plain); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mayGrow takes out what forbids other members: answers get new keys, and a client
// that was made from this description must go on working.
func mayGrow(node any) {
	switch n := node.(type) {
	case map[string]any:
		if closed, ok := n["additionalProperties"].(bool); ok && !closed {
			delete(n, "additionalProperties")
		}
		for _, v := range n {
			mayGrow(v)
		}
	case []any:
		for _, v := range n {
			mayGrow(v)
		}
	}
}

func jsonContent(registry huma.Registry, v any) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(reflect.TypeOf(v), true, "")}}
}

func TestOpenAPIIsCurrent(t *testing.T) {
	doc := describe(t)
	if *update {
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(doc)
		if err := errors.Join(err, w.Close(), os.WriteFile("openapi.json", doc, 0o644), os.WriteFile("openapi.json.gz", packed.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(doc, committed) || !bytes.Equal(doc, OpenAPI()) {
		t.Error("openapi.json or openapi.json.gz differs from the routes and the wire types; run: go test ./hub/httpapi -run OpenAPI -update")
	}
}

func TestOpenAPINamesTheAnswersOfReleases(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	for schema, keys := range map[string][]string{
		"Release":   {"name", "author", "version", "status", "digest"},
		"ErrorBody": {"error"},
		"InboxItem": {"slug", "doc_id", "content_hash"},
	} {
		for _, key := range keys {
			if _, ok := doc.Components.Schemas[schema].Properties[key]; !ok {
				have := []string{}
				for k := range doc.Components.Schemas[schema].Properties {
					have = append(have, k)
				}
				slices.Sort(have)
				t.Errorf("the schema %s has no %q, only %v", schema, key, have)
			}
		}
	}
}
