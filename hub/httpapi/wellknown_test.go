package httpapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
)

func skillFolder(name string, more ...pack.File) hubclient.PushInput {
	text := "---\nname: " + name + "\ndescription: Sorts what came in. Use it every morning.\n---\n\n# " + name + "\n\nRead it.\n"
	return hubclient.PushInput{Name: name, Version: "1", Approve: true, Files: append([]pack.File{{Path: "SKILL.md", Data: []byte(text)}}, more...)}
}

// The site of a tenant is for its own; that of the local tenant is for everybody once
// it is public, and a public log makes no public catalog. A wrong key is never
// nobody's.
func TestWhoReadsTheSite(t *testing.T) {
	s := start(t, keyed{})
	put := func(row hub.TenantRow) {
		t.Helper()
		if err := s.store.Write(context.Background(), func(w hub.Writer) error { return w.PutTenant(row) }); err != nil {
			t.Fatal(err)
		}
	}
	admin := hub.Principal{ID: "a", Tenant: hub.LocalTenant, Role: hub.Admin, Authors: []string{"acme"}}
	in := skillFolder("alpha", pack.File{Path: "more.md", Data: []byte("more\n")})
	if _, err := s.hub.Publish(t.Context(), admin, hub.PublishInput{Name: in.Name, Version: "1", Files: in.Files, Approve: true}); err != nil {
		t.Fatal(err)
	}
	put(hub.TenantRow{ID: "team", PublicCatalog: true})
	paths := []string{hubapi.SitePath + "index.json", hubapi.SitePath + "alpha.tar.gz", hubapi.SitePath + "alpha/SKILL.md"}
	for _, row := range []hub.TenantRow{{ID: hub.LocalTenant}, {ID: hub.LocalTenant, PublicLog: true}} {
		put(row)
		for _, path := range paths {
			for _, header := range [][]string{nil, {"Authorization", "Bearer bad"}} {
				if a := s.get(path, header...); a.StatusCode != http.StatusUnauthorized {
					t.Errorf("%+v: %s with %v: %s", row, path, header, a.Status)
				}
			}
		}
	}
	put(hub.TenantRow{ID: hub.LocalTenant, PublicCatalog: true})
	for _, path := range paths {
		a := s.get(path)
		if a.StatusCode != http.StatusOK || a.Header.Get("Etag") == "" {
			t.Errorf("public %s: %s %s", path, a.Status, a.body)
		}
		if again := s.get(path, "If-None-Match", a.Header.Get("Etag")); again.StatusCode != http.StatusNotModified || len(again.body) > 0 {
			t.Errorf("%s again: %s %s", path, again.Status, again.body)
		}
		if a := s.get(path, "Authorization", "Bearer bad"); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("public %s with a wrong key: %s", path, a.Status)
		}
	}
	// A key reads its own tenant's, which is empty, and not the public one.
	if a := s.get(paths[0], "Authorization", "Bearer good"); a.StatusCode != http.StatusOK || len(siteIndex(t, a.body).Skills) != 0 {
		t.Errorf("the other tenant: %s %s", a.Status, a.body)
	}
	if a := s.get(paths[2], "Authorization", "Bearer good"); a.StatusCode != http.StatusNotFound {
		t.Errorf("the other tenant: %s %s", a.Status, a.body)
	}
}

func siteIndex(t *testing.T, data []byte) hubapi.SiteIndex {
	t.Helper()
	var out hubapi.SiteIndex
	if err := json.Unmarshal(data, &out); err != nil || out.Schema != hubapi.SiteSchema {
		t.Fatalf("%v: %s", err, data)
	}
	return out
}

// What the list says of a digest is what its address gives, and only what is active
// is in it.
func TestTheSiteListsWhatIsActive(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	for _, in := range []hubclient.PushInput{
		skillFolder("alpha"), skillFolder("beta-two", pack.File{Path: "scripts/run.sh", Data: []byte("#!/bin/sh\n"), Executable: true}), skillFolder("gone"),
		{Name: "beta.two", Version: "1", Approve: true, Files: []pack.File{
			{Path: "instructions.md", Data: []byte("Sort it.\n")},
			{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"beta.two","version":"1","description":"d"}`)},
		}},
		{Name: "gamma", Version: "1", Approve: true, Files: []pack.File{
			{Path: "instructions.md", Data: []byte("Sort it.\n")},
			{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"gamma","version":"1","description":"d"}`)},
		}},
	} {
		if _, err := s.client.Push(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	waits := skillFolder("waits")
	waits.Approve = false
	if _, err := s.client.Push(t.Context(), waits); err != nil {
		t.Fatal(err)
	}
	list := siteIndex(t, s.get(hubapi.SitePath+"index.json").body)
	names := map[string]hubapi.SiteSkill{}
	for _, skill := range list.Skills {
		names[skill.Name] = skill
		a := s.get(hubapi.SitePath + skill.URL)
		if digest := fmt.Sprintf("sha256:%x", sha256.Sum256(a.body)); digest != skill.Digest {
			t.Errorf("%s: %s is %s, the list says %s", skill.Name, skill.URL, digest, skill.Digest)
		}
		for _, f := range skill.Files {
			a := s.get(hubapi.SitePath + skill.Name + "/" + f.Path)
			if digest := fmt.Sprintf("sha256:%x", sha256.Sum256(a.body)); digest != f.Digest || int64(len(a.body)) != f.Size {
				t.Errorf("%s of %s: %s, the list says %+v", f.Path, skill.Name, digest, f)
			}
		}
	}
	if len(list.Skills) != 4 || names["beta-two"].Release.Name != "beta-two" || names["gamma"].Type != hubapi.SiteText || names["beta-two"].Type != hubapi.SiteArchive {
		t.Errorf("listed: %+v", list.Skills)
	}
	if _, err := s.client.Withdraw(t.Context(), hubapi.Ref{Name: "gone"}, "over"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"waits/SKILL.md", "waits.tar.gz", "gone/SKILL.md", "alpha/none.md", "alpha.zip", "none.tar.gz", "alpha/..%2Fbeta-two%2FSKILL.md"} {
		if a := s.get(hubapi.SitePath + path); a.StatusCode != http.StatusNotFound && a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	if list := siteIndex(t, s.get(hubapi.SitePath+"index.json").body); len(list.Skills) != 3 {
		t.Errorf("after a withdrawal: %+v", list.Skills)
	}
}
