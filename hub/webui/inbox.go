package webui

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// find asks the hub for what the catalogue shows.
func (s *site) find(v *visit, q string) (hubapi.SearchResult, error) {
	return s.hub.Search(v.r.Context(), v.p, hub.SearchQuery{Text: q, Limit: 100})
}

func (s *site) inbox(v *visit) error {
	box, err := s.hub.Inbox(v.r.Context(), v.p, 200, false)
	if err != nil {
		return err
	}
	s.render(v, http.StatusOK, "inbox.html", page{Title: "Inbox", Notice: v.r.URL.Query().Get("done"), Data: box})
	return nil
}

// reviewPage is one release as its reviewer sees it.
type reviewPage struct {
	hubapi.InboxDetail
	Active *hubapi.Release
	Files  []fileDiff
	Text   string
	May    map[string]bool
}

func (s *site) review(v *visit) error {
	ref := refOf(v.r)
	detail, err := s.hub.InboxDetail(v.r.Context(), v.p, ref, true)
	if err != nil {
		return err
	}
	p := reviewPage{InboxDetail: detail, May: map[string]bool{}}
	for _, action := range detail.Actions {
		p.May[action] = true
	}
	if detail.Item.Content != nil {
		p.Text = *detail.Item.Content
	}
	next, err := s.hub.Archive(v.r.Context(), v.p, ref)
	if err != nil {
		return err
	}
	var before hub.ArchiveOut
	if active, err := s.hub.Archive(v.r.Context(), v.p, hubapi.Ref{Author: ref.Author, Name: ref.Name}); err == nil && active.Release.Version != ref.Version {
		before = active
		p.Active = &before.Release
	}
	p.Files = diffFiles(before.Files, next.Files)
	s.render(v, http.StatusOK, "review.html", page{Title: detail.Release.Ref(), Data: p})
	return nil
}

// move is a reviewer's decision.
func (s *site) move(v *visit) error {
	if err := v.checkForm(); err != nil {
		return err
	}
	form := v.r.PostForm
	in := hubapi.Review{Reason: strings.TrimSpace(form.Get("reason")), Force: form.Get("force") == "yes"}
	action := hub.Action(v.r.PathValue("action"))
	if days := form.Get("cooloff_days"); days != "" {
		n, err := strconv.Atoi(days)
		if err != nil {
			return hubapi.Errorf(hubapi.Invalid, "the days of the cool-off are a number")
		}
		in.CooloffDays = n
	}
	if action == hub.Edit {
		// Browsers send CRLF; packs are written with LF.
		content := strings.ReplaceAll(form.Get("content"), "\r\n", "\n")
		in.Content = &content
	}
	moved, err := s.hub.Act(v.r.Context(), v.p, refOf(v.r), action, in)
	if err != nil {
		return err
	}
	done := moved.Release.Ref() + " is " + string(moved.NewStatus)
	if moved.Detail != nil {
		done += ": " + *moved.Detail
	}
	http.Redirect(v.w, v.r, "/inbox?done="+url.QueryEscape(done), http.StatusSeeOther)
	return nil
}
