package httpapi_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
)

func TestBadgeRoutes(t *testing.T) {
	k := newKazma(t, dev, "")
	k.active(kazmaFiles("bob", "alpha", "1.0.0", ""))
	const path = "/api/v1/badges/bob/alpha/1.0.0"
	k.get(404, path)
	k.get(404, path+".svg")
	call := func(status int, method, part, body string) map[string]any {
		t.Helper()
		return k.json(status, k.send(method, path+part, body))
	}
	if got := k.get(200, path+"/requirements"); !cmp.Equal(got["qualifies"], []any{"basic"}) || got["score"] != 100. {
		t.Error(got)
	}
	for body, status := range map[string]int{``: 400, `{}`: 400, `{"level":"gold"}`: 400, `{"level":"basic","x":1}`: 400, `{"level":"premium"}`: 422} {
		call(status, "PUT", "", body)
	}
	if got := call(200, "PUT", "", `{"level":"basic"}`); got["valid"] != true || got["label"] != "Kazma-Certified Basic" || got["expires_at"] != "2027-07-01T02:03:04.000005Z" {
		t.Error(got)
	}
	if got := k.get(200, "/api/v1/badges/-/alpha"); got["skill_id"] != "kazma-hub://bob/alpha@1.0.0" {
		t.Error(got)
	}
	if got := k.get(200, "/api/v1/badges?level=basic&limit=1"); len(got["items"].([]any)) != 1 || got["has_more"] != false {
		t.Error(got)
	}
	if got := k.get(200, "/api/v1/badges?after_name=alpha"); len(got["items"].([]any)) != 0 {
		t.Error(got)
	}
	k.get(400, "/api/v1/badges?level=gold")
	call(400, "POST", "/attest", `{"requirement":"manifest_valid","met":true,"reason":"x"}`)
	call(400, "POST", "/attest", `{"requirement":"test_coverage_80","met":true,"reason":" "}`)
	for _, requirement := range []string{"code_review_approved", "test_coverage_80"} {
		call(200, "POST", "/attest", `{"requirement":"`+requirement+`","met":true,"reason":"looked at it"}`)
	}
	if got := call(200, "PUT", "", `{"level":"standard"}`); got["level"] != "standard" || len(got["requirements"].([]any)) != 7 {
		t.Error(got)
	}
	call(409, "POST", "/lift", `{"reason":"x"}`)
	call(400, "POST", "/revoke", `{"reason":""}`)
	if got := call(200, "POST", "/revoke", `{"reason":"a hole"}`); got["valid"] != false || got["reason"] != "revoked: a hole" {
		t.Error(got)
	}
	call(409, "PUT", "", `{"level":"basic"}`)
	if got := k.get(200, "/api/v1/badges/stats"); !cmp.Equal(got, map[string]any{
		"total": 0., "by_level": map[string]any{"basic": 0., "standard": 0., "premium": 0.}, "issued_last_30_days": 0., "revoked": 1.,
	}) {
		t.Error(got)
	}
	call(200, "POST", "/lift", `{"reason":"it was none"}`)
	if got := k.get(200, "/api/v1/badges/stats"); got["total"] != 1. || got["issued_last_30_days"] != 1. {
		t.Error(got)
	}
}

func TestBadgePicture(t *testing.T) {
	k := newKazma(t, dev, "")
	k.active(kazmaFiles("bob", "alpha", "1.0.0", ""))
	k.certify("bob/alpha")
	got := k.send("GET", "/api/v1/badges/bob/alpha/1.0.0.svg", "")
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "image/svg+xml" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatal(got.Status, got.Header)
	}
	for _, fact := range []string{`<?xml`, `viewBox="0 0 200 60"`, `rx="8"`, `fill="#22c55e"`, `y="25"`, `font-size="12"`, `>Kazma-Certified<`, `y="45"`, `font-size="14"`, `>Basic<`} {
		if !strings.Contains(string(got.body), fact) {
			t.Errorf("%s is not in %s", fact, got.body)
		}
	}
	for name, tt := range map[string]struct {
		badge hubapi.Badge
		facts []string
	}{
		"standard": {hubapi.Badge{Level: hubapi.BadgeStandard, Valid: true}, []string{"#3b82f6", ">Standard<"}},
		"premium":  {hubapi.Badge{Level: hubapi.BadgePremium, Valid: true}, []string{"#eab308", ">Premium<"}},
		"other":    {hubapi.Badge{Level: `"><script>`, Valid: true}, []string{"#6b7280", ">Unknown<"}},
		"revoked":  {hubapi.Badge{Level: hubapi.BadgeBasic, Revoked: true}, []string{"#6b7280", ">Revoked<"}},
		"expired":  {hubapi.Badge{Level: hubapi.BadgeBasic, Reason: "expired"}, []string{"#6b7280", ">Expired<"}},
		"hostile":  {hubapi.Badge{Author: `"><script>`, Name: "&", Version: "'", Level: hubapi.BadgeBasic, Valid: true}, []string{"&lt;script&gt;", "&amp;"}},
	} {
		svg := string(httpapi.BadgeSVG(tt.badge))
		for _, fact := range tt.facts {
			if !strings.Contains(svg, fact) {
				t.Errorf("%s: %s is not in %s", name, fact, svg)
			}
		}
		if strings.Contains(svg, "<script") {
			t.Errorf("%s: not escaped: %s", name, svg)
		}
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
