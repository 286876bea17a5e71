package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// The Kazma routes are apart from the others because an id holds slashes, raw or
// escaped, and because every refusal is {"detail": …}.
const (
	kazmaSkills      = "/api/v1/skills"
	kazmaSearchPath  = kazmaSkills + "/search"
	kazmaSubmitPath  = kazmaSkills + "/submit"
	kazmaStatsPath   = "/api/v1/stats"
	kazmaHealthPath  = "/api/v1/health"
	notKazma         = kazmaSkills + "/installable" // a route of others
	secretHeader     = "X-Kazma-Secret"
	maxKazmaEcho     = 200       // bytes of an id that a refusal repeats
	maxKazmaBody     = 512 << 10 // bytes of a submission: a manifest of 64 KiB, escaped
	maxKazmaSearched = 1000      // items of a search, which has no pages
)

func isKazma(path string) bool {
	if path == notKazma || strings.HasPrefix(path, notKazma+"/") {
		return false
	}
	return path == kazmaSkills || strings.HasPrefix(path, kazmaSkills+"/") || path == kazmaStatsPath || path == kazmaHealthPath
}

// kazmaError is a refusal whose detail or status the vocabulary does not have.
type kazmaError struct {
	status int
	detail any
}

func (e *kazmaError) Error() string { return fmt.Sprint(e.detail) }

// serveKazma answers the Kazma routes.
func (a *api) serveKazma(w http.ResponseWriter, r *http.Request) {
	err := a.kazma(&call{w: w, r: r})
	if err == nil {
		return
	}
	body, status := hubapi.KazmaRefusal{}, 0
	if e, ok := errors.AsType[*kazmaError](err); ok {
		body.Detail, status = e.detail, e.status
	} else {
		e := hubapi.AsError(err)
		a.refusalHeader(w.Header(), e)
		body.Detail, status = e.Message, e.Code.HTTP()
		if e.Code == hubapi.Invalid {
			body.Errors = e.Details
		}
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, status, body)
}

func (a *api) kazma(c *call) error {
	path := c.r.URL.Path
	allow, write, serve := http.MethodGet, false, a.kazmaList
	switch id, below := strings.CutPrefix(path, kazmaSkills+"/"); {
	case path == kazmaHealthPath:
		serve = nil
	case path == kazmaStatsPath:
		serve = a.kazmaStats
	case path == kazmaSearchPath:
		serve = a.kazmaSearch
	case path == kazmaSubmitPath && c.r.Method != http.MethodGet:
		allow, serve = http.MethodPost, a.kazmaSubmit
	case !below: // the list
	default:
		part := ""
		for _, end := range []string{"certification", "download"} {
			if rest, ok := strings.CutSuffix(id, "/"+end); ok {
				id, part = rest, end
			}
		}
		write = part == "download"
		serve = func(c *call) error { return a.kazmaByID(c, id, part) }
	}
	if c.r.Method != allow {
		c.w.Header().Set("Allow", allow)
		return &kazmaError{http.StatusMethodNotAllowed, http.StatusText(http.StatusMethodNotAllowed)}
	}
	if err := a.origins.Check(c.r); err != nil {
		return hubapi.Errorf(hubapi.Forbidden, "a page of another site may not write here")
	}
	if serve == nil {
		writeJSON(c.w, http.StatusOK, hubapi.KazmaHealth{Status: "ok", Version: hubapi.KazmaVersion})
		return nil
	}
	if len(c.r.Header.Values(secretHeader)) > 1 {
		return hubapi.Errorf(hubapi.Invalid, "the request has more than one %s header", secretHeader)
	}
	if allow == http.MethodPost {
		return serve(c) // reads the body before it asks who calls, as the reference does
	}
	var err error
	if c.p, err = a.kazmaCaller(c.r, write); err != nil {
		return err
	}
	return serve(c)
}

// kazmaCaller is who makes a Kazma request: the holder of the shared secret or of one
// of our own keys. What the reference asks the secret for (write) needs one of the
// two; reads are as open as the rest of the hub, and the secret opens them too.
func (a *api) kazmaCaller(r *http.Request, write bool) (hub.Principal, error) {
	if write || len(r.Header.Values(secretHeader)) > 0 {
		r = markKazmaWrite(r)
	}
	return a.auth.Authenticate(r)
}

// DevServer is DevLocal for a server, which others on the machine reach. Whoever
// makes a write of the Kazma routes must show the secret or some key even here: they
// are fail-closed, however the server was started.
func DevServer(kazmaSecret string) Authenticator {
	return devServer{secret: sharedSecret(strings.TrimSpace(kazmaSecret))}
}

type devServer struct{ secret sharedSecret }

func (d devServer) Authenticate(r *http.Request) (hub.Principal, error) {
	if kazmaWrite(r) {
		if p, done, err := d.secret.judge(r); done {
			return p, err
		}
	}
	return hub.LocalAdmin(), nil
}

func (a *api) kazmaList(c *call) error {
	q := kazmaQuery(c.r.URL)
	page := q.number("page", 1, 1, 0)
	perPage := q.number("per_page", 20, 1, 100)
	list := hub.KazmaQuery{
		Category: q.text("category"), Certified: q.boolean("certified"),
		Limit: perPage, Offset: offset(page, perPage),
	}
	switch q.text("sort") {
	case "name", "":
		list.Sort = hub.ByName
	case "version":
		list.Sort = hub.ByVersion
	}
	if err := q.refusal(); err != nil {
		return err
	}
	items, total, err := a.hub.KazmaList(c.r.Context(), c.p, list)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, hubapi.KazmaPage{Items: items, Total: total, Page: page, PerPage: perPage})
	return nil
}

// offset does not overflow: a page that far away is empty anyway.
func offset(page, perPage int) int {
	const far = 1 << 31
	if page-1 > far/perPage {
		return far
	}
	return (page - 1) * perPage
}

func (a *api) kazmaSearch(c *call) error {
	q := kazmaQuery(c.r.URL)
	list := hub.KazmaQuery{
		Text: q.text("q"), Category: q.text("category"), Certified: q.boolean("certified"), Limit: maxKazmaSearched,
	}
	if err := q.refusal(); err != nil {
		return err
	}
	items, total, err := a.hub.KazmaList(c.r.Context(), c.p, list)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, hubapi.KazmaFound{Items: items, Total: total, Query: list.Text})
	return nil
}

func (a *api) kazmaStats(c *call) error {
	return c.answer(a.hub.KazmaStats(c.r.Context(), c.p))
}

// kazmaByID answers the routes of one skill, or of one submission.
func (a *api) kazmaByID(c *call, id, part string) error {
	ctx := c.r.Context()
	missing := "Skill not found: "
	if part == "certification" {
		missing = "No certification for: "
		if hubapi.IsSubmissionID(id) {
			sub, err := a.hub.Submission(ctx, c.p, id)
			if err == nil {
				writeJSON(c.w, http.StatusOK, submissionStatus(sub))
			}
			return unseen(err, missing, id)
		}
	}
	ref, err := hubapi.ParseKazmaID(id)
	if err != nil {
		return unseen(hubapi.Errorf(hubapi.NotFound, ""), missing, id)
	}
	switch part {
	case "certification":
		var badge hubapi.Badge
		if badge, err = a.hub.Badge(ctx, c.p, ref); err == nil {
			out := certification(badge)
			out.SkillID = id
			writeJSON(c.w, http.StatusOK, out)
		}
	case "download":
		err = a.kazmaDownload(c, ref)
	default:
		var detail hubapi.KazmaDetail
		if detail, err = a.hub.KazmaSkill(ctx, c.p, ref); err == nil {
			writeJSON(c.w, http.StatusOK, detail)
		}
	}
	return unseen(err, missing, id)
}

// unseen words what is not there as the reference does.
func unseen(err error, missing, id string) error {
	if err == nil || hubapi.AsError(err).Code != hubapi.NotFound {
		return err
	}
	if len(id) > maxKazmaEcho {
		id = id[:maxKazmaEcho] + "..."
	}
	return &kazmaError{http.StatusNotFound, missing + strings.ToValidUTF8(id, "\uFFFD")}
}

func certification(b hubapi.Badge) hubapi.KazmaCertification {
	issued, expires := hubapi.KazmaTime(b.IssuedAt), hubapi.KazmaTime(b.ExpiresAt)
	out := hubapi.KazmaCertification{
		SkillID: b.SkillID, Level: string(b.Level), IssuedAt: &issued, ExpiresAt: &expires,
		RequirementsMet: map[string]bool{"valid": b.Valid},
	}
	for _, id := range b.Requirements {
		out.RequirementsMet[id] = true
	}
	return out
}

func submissionStatus(s hubapi.Submission) hubapi.KazmaCertification {
	out := hubapi.KazmaCertification{SkillID: s.SkillID, Level: "none", RequirementsMet: map[string]bool{"valid": false}}
	if s.Badge != nil {
		out = certification(*s.Badge)
	}
	out.SubmissionID, out.Status = s.ID, s.Status
	if s.Release != nil {
		out.Release = s.Release.Ref()
	}
	return out
}

// kazmaDownload sends the whole pack. Its files are at the top of the archive, where
// a Kazma client looks for skill_manifest.yaml.
func (a *api) kazmaDownload(c *call, ref hubapi.Ref) error {
	release, err := a.hub.Release(c.r.Context(), c.p, ref)
	if err != nil {
		return err
	}
	etag := `"kazma-` + release.Digest + `"`
	if c.kept(etag) {
		return nil
	}
	out, err := a.hub.Archive(c.r.Context(), c.p, hubapi.Ref{Author: release.Author, Name: release.Name, Version: release.Version})
	if err != nil {
		return err
	}
	archive := hubapi.Archive{Files: make([]hubapi.File, len(out.Files))}
	for i, f := range out.Files {
		archive.Files[i] = hubapi.File(f)
	}
	var buf bytes.Buffer
	if err := a.archives.Write(&buf, archive); err != nil {
		return err
	}
	sum := sha256.Sum256(buf.Bytes())
	header := c.w.Header()
	header.Set("Content-Disposition", "attachment; filename="+release.Name+".tar.gz")
	header.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
	c.send(etag, "application/gzip", buf.Bytes())
	return nil
}

func (a *api) kazmaSubmit(c *call) error {
	in, err := c.kazmaSubmission()
	if err != nil {
		return err
	}
	if c.p, err = a.kazmaCaller(c.r, true); err != nil {
		return err
	}
	sub, err := a.hub.Submit(c.r.Context(), c.p, in)
	if err != nil {
		if e := hubapi.AsError(err); e.Code == hubapi.Invalid {
			refused := *e
			refused.Message = "Invalid manifest: " + e.Message
			return &refused
		}
		return err
	}
	message := "Skill submitted for certification review"
	if sub.Status != hubapi.SubmissionPending {
		message = "Skill is published already: its release is " + sub.Status
	}
	writeJSON(c.w, http.StatusOK, hubapi.KazmaSubmitted{
		SubmissionID: sub.ID, SkillID: sub.SkillID, Status: sub.Status, Message: message,
	})
	return nil
}

// submission answers GET /api/v1/submissions/{id}, in our own shape.
func (a *api) submission(c *call) error {
	return c.answer(a.hub.Submission(c.r.Context(), c.p, c.r.PathValue("id")))
}

func kazmaQuery(u *url.URL) *kazmaParams {
	q := &kazmaParams{}
	// Parameters of other names are ignored, broken ones too, as in the reference.
	q.values, _ = url.ParseQuery(u.RawQuery)
	return q
}
