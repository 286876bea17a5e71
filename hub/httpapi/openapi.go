package httpapi

import (
	_ "embed"
	"net/http"
)

// openAPI3 describes the API in OpenAPI 3.1. A test writes it from the routes and the
// wire types (see openapi_test.go), and fails when they have moved on.
//
//go:embed openapi.json
var openAPI3 []byte

// OpenAPI is the description of the API in OpenAPI 3.1, as /openapi.json serves it. It
// is not to be changed.
func OpenAPI() []byte { return openAPI3 }

func (a *api) openAPI(c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "max-age=3600")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(openAPI3)
	return nil
}
