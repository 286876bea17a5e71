package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// siteRoutes are the hub as a web site that lists its skills, for installers that
// know nothing of hubs.
func (a *api) siteRoutes() map[string]methods {
	public := func(serve func(*call, hub.Principal) error) methods {
		return methods{http.MethodGet: {public: true, serve: a.reading(serve)}}
	}
	return map[string]methods{
		hubapi.SitePath + "index.json":       public(a.siteIndex),
		hubapi.SitePath + "{archive}":        public(a.siteArchive),
		hubapi.SitePath + "{name}/{path...}": public(a.siteFile),
	}
}

func (a *api) siteIndex(c *call, p hub.Principal) error {
	index, err := a.hub.SiteIndex(c.r.Context(), p)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(index); err != nil {
		return err
	}
	c.sendKept("application/json", b.Bytes())
	return nil
}

// sendKept answers with data, or says that the caller has it.
func (c *call) sendKept(mediaType string, data []byte) {
	if etag := fmt.Sprintf(`"%x"`, sha256.Sum256(data)); !c.kept(etag) {
		c.send(etag, mediaType, data)
	}
}

func (a *api) siteArchive(c *call, p hub.Principal) error {
	name, ok := strings.CutSuffix(c.r.PathValue("archive"), ".tar.gz")
	if !ok {
		return hubapi.Errorf(hubapi.NotFound, "there is no such path: the list is %sindex.json", hubapi.SitePath)
	}
	data, err := a.hub.SiteArchive(c.r.Context(), p, name)
	if err != nil {
		return err
	}
	c.sendKept("application/gzip", data)
	return nil
}

func (a *api) siteFile(c *call, p hub.Principal) error {
	file, err := a.hub.SiteFile(c.r.Context(), p, c.r.PathValue("name"), c.r.PathValue("path"))
	if err != nil {
		return err
	}
	// A pack's files are a stranger's: never a type that a browser would run.
	mediaType := "application/octet-stream"
	if utf8.Valid(file.Data) {
		mediaType = "text/plain; charset=utf-8"
	}
	c.sendKept(mediaType, file.Data)
	return nil
}
