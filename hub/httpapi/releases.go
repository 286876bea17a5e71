package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

func (a *api) push(c *call) error {
	approve, err := c.q.boolean("approve")
	if err != nil {
		return err
	}
	origin, err := c.origin()
	if err != nil {
		return err
	}
	if c.r.ContentLength > hubapi.MaxArchive {
		return hubapi.Errorf(hubapi.TooLarge, "the body is larger than %d bytes", hubapi.MaxArchive)
	}
	archive, err := a.archives.Read(http.MaxBytesReader(c.w, c.r.Body, hubapi.MaxArchive))
	if err != nil {
		return bodyError(err)
	}
	in := hub.PublishInput{
		Name: archive.Top, Author: c.q["author"], Version: c.q["version"],
		Signature: archive.Signature, Approve: approve, Origin: origin, Files: make([]pack.File, len(archive.Files)),
	}
	for i, f := range archive.Files {
		in.Files[i] = pack.File(f)
	}
	result, err := a.hub.Publish(c.r.Context(), c.p, in)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if result.Unchanged {
		status = http.StatusOK
	}
	c.w.Header().Set("Location", "/api/v1/releases/"+result.Author+"/"+result.Name+"/"+url.PathEscape(result.Version))
	writeJSON(c.w, status, result)
	return nil
}

// origin is what makes a push a mined candidate.
func (c *call) origin() (*hubapi.Origin, error) {
	text, asked := c.q["origin"]
	if !asked {
		return nil, nil
	}
	var origin hubapi.Origin
	if err := strictjson.Unmarshal([]byte(text), &origin); err != nil {
		return nil, hubapi.Errorf(hubapi.Invalid, "the query parameter origin: %v", err)
	}
	return &origin, nil
}

func (a *api) archive(c *call) error {
	ref, err := c.ref()
	if err != nil {
		return err
	}
	// Who may see the release is asked before whether they have it already.
	release, err := a.hub.Release(c.r.Context(), c.p, ref)
	if err != nil {
		return err
	}
	etag := `"` + release.Digest + `"`
	if c.kept(etag) {
		return nil
	}
	out, err := a.hub.Archive(c.r.Context(), c.p, ref)
	if err != nil {
		return err
	}
	archive := hubapi.Archive{Top: out.Release.Name, Files: make([]hubapi.File, len(out.Files))}
	for i, f := range out.Files {
		archive.Files[i] = hubapi.File(f)
	}
	var buf bytes.Buffer
	if err := a.archives.Write(&buf, archive); err != nil {
		return err
	}
	c.w.Header().Set("Content-Disposition", `attachment; filename="`+out.Release.Name+`.tar.gz"`)
	c.send(etag, "application/gzip", buf.Bytes())
	return nil
}

func (a *api) signature(c *call) error {
	ref, err := c.ref()
	if err != nil {
		return err
	}
	data, err := a.hub.Signature(c.r.Context(), c.p, ref)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	_, _ = c.w.Write(data)
	return nil
}

func (a *api) file(c *call) error {
	ref, err := c.ref()
	if err != nil {
		return err
	}
	file, err := a.hub.File(c.r.Context(), c.p, ref, c.r.PathValue("path"))
	if err != nil {
		return err
	}
	etag := fmt.Sprintf(`"%x"`, pack.FileSum(file))
	if c.kept(etag) {
		return nil
	}
	// A pack's files are a stranger's: never a type that a browser would run.
	mediaType := "application/octet-stream"
	if utf8.Valid(file.Data) {
		mediaType = "text/plain; charset=utf-8"
	}
	c.send(etag, mediaType, file.Data)
	return nil
}

// kept answers 304 where the caller has what etag names. A release never changes,
// so its bytes may be kept, but whether the caller may still see it is asked each
// time.
func (c *call) kept(etag string) bool {
	c.w.Header().Set("ETag", etag)
	c.w.Header().Set("Cache-Control", "private, no-cache")
	if !unchanged(c.r, etag) {
		return false
	}
	c.w.WriteHeader(http.StatusNotModified)
	return true
}

func (c *call) send(etag, mediaType string, data []byte) {
	c.w.Header().Set("ETag", etag)
	c.w.Header().Set("Content-Type", mediaType)
	c.w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	_, _ = c.w.Write(data)
}
