package httpapi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"net/http"
	"sync"
)

// packedOpenAPI is openapi.json, which describes the API in OpenAPI 3.1, a tenth as
// large. A test writes both from the routes and the wire types (see openapi_test.go),
// and fails when they have moved on.
//
//go:embed openapi.json.gz
var packedOpenAPI []byte

var unpackedOpenAPI = sync.OnceValue(func() []byte {
	r, err := gzip.NewReader(bytes.NewReader(packedOpenAPI))
	if err != nil {
		panic(err) // the program was built with it
	}
	doc, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return doc
})

// OpenAPI is the description of the API in OpenAPI 3.1, as /openapi.json serves it. It
// is not to be changed.
func OpenAPI() []byte { return unpackedOpenAPI() }

func (a *api) openAPI(c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "max-age=3600")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(OpenAPI())
	return nil
}
