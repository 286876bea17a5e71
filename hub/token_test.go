package hub_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

func (f *fixture) key(p hub.Principal, in hubapi.NewKey) hubapi.KeyMade {
	f.Helper()
	made, err := f.NewKey(f.Context(), p, in)
	if err != nil {
		f.Fatal(err)
	}
	return made
}

// A key that was shown before is refused once it is revoked, whoever does that.
func TestKeysThatWereShownBefore(t *testing.T) {
	f := newHub(t)
	for name, by := range map[string]*hub.Hub{"itself": f.Hub, "another hub of its store": hub.New(f.store, hub.Config{Now: time.Now})} {
		made := f.key(admin, hubapi.NewKey{Role: "node"})
		for range 2 {
			if who, err := f.Authenticate(t.Context(), made.Token); err != nil || who.Principal.ID != made.ID {
				t.Errorf("%+v, %v", who, err)
			}
		}
		if _, err := by.RevokeKey(t.Context(), admin, made.ID); err != nil {
			t.Fatal(err)
		}
		_, err := f.Authenticate(t.Context(), made.Token)
		refused(t, "revoked by "+name, err, hubapi.Unauthorized)
	}
}

func TestKeys(t *testing.T) {
	f := newHub(t)
	ends := f.now.Add(time.Hour)
	made := f.key(admin, hubapi.NewKey{Role: "publisher", Authors: []string{"acme", "acme-labs"}, Name: "laptop", ExpiresAt: &ends, Rate: 7})
	if !strings.HasPrefix(made.Token, "kx_") || len(made.Token) != 67 || made.Prefix != made.Token[:11] || made.State != "valid" {
		t.Errorf("%+v", made)
	}
	who, err := f.Authenticate(t.Context(), made.Token)
	want := hub.Credential{Principal: hub.Principal{ID: made.ID, Tenant: "team", Role: hub.Publisher, Authors: []string{"acme", "acme-labs"}}, Rate: 7}
	if diff := cmp.Diff(want, who); diff != "" || err != nil {
		t.Error(diff, err)
	}
	unknown := func(key string) string {
		t.Helper()
		_, err := f.Authenticate(t.Context(), key)
		out, _ := json.Marshal(refused(t, "key", err, hubapi.Unauthorized))
		return string(out)
	}
	never := unknown("kx_" + strings.Repeat("0", 64))
	for _, key := range []string{"", "kx_", made.ID, made.Prefix, strings.ToUpper(made.Token), made.Token + "0", made.Token[:66], made.Token + " ", strings.Repeat("x", 1<<20)} {
		if got := unknown(key); got != never {
			t.Errorf("%.80q: %s", key, got)
		}
	}
	// Expired, revoked and never made are the same answer.
	f.now = ends
	if got := unknown(made.Token); got != never {
		t.Errorf("expired: %s", got)
	}
	f.now = ends.Add(-time.Minute)
	if _, err := f.RevokeKey(t.Context(), admin, made.ID); err != nil {
		t.Fatal(err)
	}
	if got := unknown(made.Token); got != never {
		t.Errorf("revoked: %s", got)
	}
	if again, err := f.RevokeKey(t.Context(), admin, made.ID); err != nil || again.State != "revoked" {
		t.Errorf("revoked twice: %+v, %v", again, err)
	}
	list, err := f.Keys(t.Context(), admin, "")
	if err != nil || len(list.Keys) != 1 || list.Keys[0].State != "revoked" || list.Keys[0].RevokedAt == nil {
		t.Errorf("%+v, %v", list, err)
	}
	trail := strings.Join(f.trail("team"), "\n")
	if !strings.Contains(trail, "token-new") || strings.Count(trail, "token-revoke") != 1 || strings.Contains(trail, made.Token) {
		t.Errorf("%s", trail)
	}
}

// Only the SHA-256 of a key is in the store.
func TestKeysAreNotStored(t *testing.T) {
	f := newHub(t)
	made := f.key(admin, hubapi.NewKey{Role: "node"})
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(f.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || bytes.Contains(data, []byte(made.Token[11:])) {
			t.Errorf("%s holds the key (%v)", filepath.Base(file), err)
		}
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	f := newHub(t)
	past := f.now.Add(-time.Second)
	many := make([]string, 101)
	for i := range many {
		many[i] = "a" + strings.Repeat("x", i%60)
	}
	for name, in := range map[string]hubapi.NewKey{
		"no role":        {},
		"an unknown one": {Role: "root"},
		"no author":      {Role: "agent", Authors: []string{"Not An Author"}},
		"twice":          {Role: "agent", Authors: []string{"acme", "acme"}},
		"many":           {Role: "agent", Authors: many},
		"a node's":       {Role: "node", Authors: []string{"acme"}},
		"expired":        {Role: "agent", ExpiresAt: &past},
		"rate":           {Role: "agent", Rate: -1},
		"huge rate":      {Role: "agent", Rate: 60_001},
		"lines":          {Role: "agent", Name: "a\nb"},
	} {
		_, err := f.NewKey(t.Context(), admin, in)
		refused(t, name, err, hubapi.Invalid)
	}
	for _, p := range []hub.Principal{reviewer, publisher, agent, node} {
		_, err := f.NewKey(t.Context(), p, hubapi.NewKey{Role: "node"})
		refused(t, p.ID, err, hubapi.Forbidden)
		_, err = f.Keys(t.Context(), p, "")
		refused(t, p.ID, err, hubapi.Forbidden)
		_, err = f.RevokeKey(t.Context(), p, "k1")
		refused(t, p.ID, err, hubapi.Forbidden)
	}
	if n := len(f.trail("team")); n != 0 {
		t.Errorf("refusals left %d traces", n)
	}
}

// F21: an admin manages their own tenant; another one is as absent as none.
func TestF21AnotherTenantIsAbsent(t *testing.T) {
	f := newHub(t)
	made := f.key(admin, hubapi.NewKey{Role: "node", Name: "n"})
	say := func(what string, err error) string {
		t.Helper()
		out, _ := json.Marshal(refused(t, what, err, hubapi.NotFound))
		return string(out)
	}
	for what, ask := range map[string]func(tenant string) error{
		"new key": func(tenant string) error {
			_, err := f.NewKey(t.Context(), elsewhere, hubapi.NewKey{Role: "admin", Tenant: tenant})
			return err
		},
		"keys":   func(tenant string) error { _, err := f.Keys(t.Context(), elsewhere, tenant); return err },
		"tenant": func(tenant string) error { _, err := f.Tenant(t.Context(), elsewhere, tenant); return err },
		"set": func(tenant string) error {
			_, err := f.SetTenant(t.Context(), elsewhere, tenant, hubapi.TenantChange{SelfApprove: yes()})
			return err
		},
	} {
		a, b := say(what, ask("team")), say(what, ask("none"))
		if strings.ReplaceAll(a, "team", "none") != b {
			t.Errorf("%s: %s, of what is absent %s", what, a, b)
		}
	}
	_, there := f.RevokeKey(t.Context(), elsewhere, made.ID)
	_, absent := f.RevokeKey(t.Context(), elsewhere, "k0")
	if a, b := say("revoke", there), say("revoke", absent); strings.ReplaceAll(a, made.ID, "k0") != b {
		t.Errorf("%s, of what is absent %s", a, b)
	}
	if _, err := f.Authenticate(t.Context(), made.Token); err != nil {
		t.Error(err)
	}
	if list, err := f.Tenants(t.Context(), elsewhere); err != nil || len(list.Tenants) != 1 || list.Tenants[0].ID != "other" {
		t.Errorf("%+v, %v", list, err)
	}
	// Who runs the hub manages all.
	if _, err := f.RevokeKey(t.Context(), local, made.ID); err != nil {
		t.Error(err)
	}
	if list, err := f.Tenants(t.Context(), local); err != nil || len(list.Tenants) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestRevokeByName(t *testing.T) {
	f := newHub(t)
	f.key(admin, hubapi.NewKey{Role: "node", Name: "laptop"})
	f.key(admin, hubapi.NewKey{Role: "node", Name: "box"})
	f.key(admin, hubapi.NewKey{Role: "node", Name: "box"})
	if key, err := f.RevokeKey(t.Context(), admin, "laptop"); err != nil || key.Name != "laptop" || key.State != "revoked" {
		t.Errorf("%+v, %v", key, err)
	}
	for name, code := range map[string]hubapi.Code{"laptop": hubapi.NotFound, "box": hubapi.Conflict, "": hubapi.NotFound, "nobody": hubapi.NotFound} {
		_, err := f.RevokeKey(t.Context(), admin, name)
		refused(t, name, err, code)
	}
}

func TestTenantSettings(t *testing.T) {
	f := newHub(t)
	made, err := f.NewTenant(t.Context(), local, hubapi.NewTenant{ID: "fresh", Settings: hubapi.TenantChange{CooloffDays: num(5)}})
	want := hubapi.TenantSettings{
		OptedIn: true, InboxMaxPending: 50, CooloffDays: 5, MinClusterSize: 3, MinDistinctAgents: 3,
		FreshnessWindowDays: 14, DescriptionMaxBytes: 160, BodyMaxBytes: 40000,
	}
	if diff := cmp.Diff(want, made.Settings); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, err = f.NewTenant(t.Context(), local, hubapi.NewTenant{ID: "fresh"})
	refused(t, "again", err, hubapi.Conflict)
	for _, id := range []string{"", "Fresh", "../x", "a b", strings.Repeat("x", 65)} {
		_, err = f.NewTenant(t.Context(), local, hubapi.NewTenant{ID: id})
		refused(t, id, err, hubapi.Invalid)
	}
	_, err = f.NewTenant(t.Context(), admin, hubapi.NewTenant{ID: "mine"})
	refused(t, "an admin of another tenant", err, hubapi.Forbidden)
	for name, c := range map[string]hubapi.TenantChange{
		"inbox": {InboxMaxPending: num(201)}, "inbox below": {InboxMaxPending: num(-1)}, "cool-off": {CooloffDays: num(0)},
		"cool-off above": {CooloffDays: num(366)}, "stale": {StaleDays: num(-1)}, "bytes": {BodyMaxBytes: num(0)}, "cluster": {MinClusterSize: num(0)},
	} {
		before, err := f.Tenant(t.Context(), admin, "")
		if err != nil {
			t.Fatal(err)
		}
		c.SelfApprove = yes()
		_, err = f.SetTenant(t.Context(), admin, "", c)
		refused(t, name, err, hubapi.Invalid)
		if after, err := f.Tenant(t.Context(), admin, ""); err != nil || before != after {
			t.Errorf("%s: a refusal changed %+v to %+v, %v", name, before, after, err)
		}
	}
	out, err := f.SetTenant(t.Context(), admin, "", hubapi.TenantChange{PublicLog: yes(), StaleDays: num(9)})
	if err != nil || !out.Settings.PublicLog || out.Settings.StaleDays != 9 || out.Settings.SelfApprove {
		t.Errorf("%+v, %v", out, err)
	}
	if trail := f.trail("team"); len(trail) != 1 || !strings.Contains(trail[0], "tenant-set") || !strings.Contains(trail[0], "StaleDays:9") {
		t.Errorf("%q", trail)
	}
	if _, err := f.SetTenant(t.Context(), admin, "", hubapi.TenantChange{StaleDays: num(9)}); err != nil || len(f.trail("team")) != 1 {
		t.Errorf("no change left a trace (%v)", err)
	}
	for _, p := range []hub.Principal{reviewer, publisher, agent, node} {
		_, err := f.SetTenant(t.Context(), p, "", hubapi.TenantChange{SelfApprove: yes()})
		refused(t, p.ID, err, hubapi.Forbidden)
		_, err = f.Tenant(t.Context(), p, "")
		refused(t, p.ID, err, hubapi.Forbidden)
	}
}
