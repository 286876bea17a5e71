package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

const manifest = `{"schema":"kortecx.skill/v1","name":"triage","version":"2","description":"Sorts","tags":["b","a"],"tools":{"retrieve":"1","gmail/read":"01"}}`

func stored(ref string) string {
	return strings.Replace(manifest, `"version"`, `"instructions_ref":"`+ref+`","version"`, 1)
}

func (f *fixture) added(p hub.Principal, manifest, body string) hubapi.CatalogAdded {
	f.Helper()
	out, err := f.CatalogAdd(f.Context(), p, "", []byte(manifest), []byte(body))
	if err != nil {
		f.Fatal(err)
	}
	return out
}

func TestCatalogAddShowListRemove(t *testing.T) {
	f := newHub(t)
	f.tools["gmail/read"] = "01"
	f.tools["retrieve"] = "2"
	ref := pack.InstructionsRef([]byte("# Body\n"))
	m, _, _ := pack.ParseManifest([]byte(manifest), pack.PackForm)
	want := hubapi.CatalogAdded{Name: "triage", InstructionsRef: ref, SkillRef: m.SkillRef(ref)}
	if diff := cmp.Diff(want, f.added(publisher, manifest, "# Body\n")); diff != "" {
		t.Error(diff)
	}
	// Neither spaces nor the order of keys make another skill.
	spaced := strings.ReplaceAll(manifest, ",", " ,\n")
	want.Deduplicated = true
	if diff := cmp.Diff(want, f.added(publisher, spaced, "# Body\n")); diff != "" {
		t.Error(diff)
	}
	form, err := f.CatalogForm(t.Context(), publisher, "triage")
	if err != nil {
		t.Fatal(err)
	}
	wantForm := hubapi.CatalogForm{
		Found: true,
		Summary: &hubapi.CatalogSummary{
			Description: "Sorts", InstructionsRef: ref, Name: "triage", SkillRef: want.SkillRef, Tags: []string{"b", "a"}, Version: "2",
		},
		Wishes: []hubapi.Wish{
			{Registered: true, ToolID: "gmail/read", ToolVersion: "01"},
			{Registered: false, ToolID: "retrieve", ToolVersion: "1"},
		},
		InstructionsPreview: "# Body\n",
	}
	if diff := cmp.Diff(wantForm, form); diff != "" {
		t.Error(diff)
	}
	list, err := f.CatalogList(t.Context(), publisher, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	wantList := hubapi.CatalogList{Skills: []hubapi.CatalogSkill{{
		Description: "Sorts", InstructionsRef: ref, Name: "triage", SkillRef: want.SkillRef,
		Tags: []string{"b", "a"}, Tools: map[string]string{"retrieve": "1", "gmail/read": "01"}, Version: "2",
	}}}
	if diff := cmp.Diff(wantList, list); diff != "" {
		t.Error(diff)
	}

	// It is the principal's own: nobody else sees it, in search neither.
	for _, p := range []hub.Principal{stranger, admin, elsewhere} {
		if form, err := f.CatalogForm(t.Context(), p, "triage"); err != nil || form.Found || form.Summary != nil || form.Wishes == nil {
			t.Errorf("%s: %+v, %v", p.ID, form, err)
		}
		if out, err := f.CatalogRemove(t.Context(), p, "triage"); err != nil || out.Removed {
			t.Errorf("%s removed it: %v", p.ID, err)
		}
	}
	if out, err := f.Search(t.Context(), publisher, hub.SearchQuery{Text: "triage"}); err != nil || out.Total != 0 {
		t.Errorf("search finds a catalog: %+v, %v", out, err)
	}
	for _, want := range []bool{true, false} {
		if out, err := f.CatalogRemove(t.Context(), publisher, "triage"); err != nil || out.Removed != want {
			t.Errorf("removed %v, %v; want %v", out.Removed, err, want)
		}
	}
}

func TestCatalogKeepsTheInstructions(t *testing.T) {
	f := newHub(t)
	preview := func() string {
		t.Helper()
		form, err := f.CatalogForm(t.Context(), publisher, "triage")
		if err != nil {
			t.Fatal(err)
		}
		return form.InstructionsPreview
	}
	added := f.added(publisher, manifest, "# Body\n")
	again := f.added(publisher, stored(added.InstructionsRef), "")
	if !again.Deduplicated || again.SkillRef != added.SkillRef || preview() != "# Body\n" {
		t.Errorf("added again by its ref: %+v, preview %q", again, preview())
	}
	// Another manifest over the same instructions keeps them too.
	other := f.added(publisher, strings.Replace(stored(added.InstructionsRef), "Sorts", "Sorts mail", 1), "")
	if other.Deduplicated || preview() != "# Body\n" {
		t.Errorf("changed description: %+v, preview %q", other, preview())
	}
	// Another ref is other instructions, which nobody has sent.
	elsewhere := f.added(publisher, stored(strings.Repeat("a", 64)), "")
	if elsewhere.Deduplicated || preview() != "" {
		t.Errorf("another ref: %+v, preview %q", elsewhere, preview())
	}
	// The last write wins, whatever its version is.
	if last := f.added(publisher, strings.Replace(manifest, `"2"`, `"1"`, 1), "# Other\n"); last.Deduplicated || preview() != "# Other\n" {
		t.Errorf("%+v, preview %q", last, preview())
	}
}

func TestCatalogRefusals(t *testing.T) {
	f := newHub(t)
	ref := strings.Repeat("b", 64)
	for name, tt := range map[string]struct {
		name, manifest, body string
		want                 string
	}{
		"no manifest":              {"", "", "x", "no manifest"},
		"not JSON":                 {"", "{", "x", "json.syntax"},
		"an unknown key":           {"", `{"schema":"kortecx.skill/v1","name":"a","x":1}`, "x", "json.unknown-field"},
		"an authority key":         {"", `{"schema":"kortecx.skill/v1","name":"a","grant":"x"}`, "x", "authority.key"},
		"too large a manifest":     {"", strings.Repeat(" ", 65537), "x", "manifest.too-large"},
		"too large a body":         {"", manifest, strings.Repeat("x", 262145), "262145"},
		"a blank body":             {"", manifest, " \n\t", "blank"},
		"a body and a ref":         {"", stored(ref), "x", "instructions_ref"},
		"neither body nor ref":     {"", manifest, "", "instructions_ref"},
		"a ref that is none":       {"", stored(strings.Repeat("B", 64)), "", "instructions_ref"},
		"another name in the path": {"other", manifest, "x", `"other"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.CatalogAdd(t.Context(), publisher, tt.name, []byte(tt.manifest), []byte(tt.body))
			refused(t, name, err, hubapi.Invalid, tt.want)
		})
	}
	if list, err := f.CatalogList(t.Context(), publisher, 0, ""); err != nil || len(list.Skills) != 0 || list.Skills == nil {
		t.Errorf("after refusals: %+v, %v", list, err)
	}
	if _, err := f.CatalogAdd(t.Context(), publisher, "triage", []byte(manifest), []byte(strings.Repeat("x", 262144))); err != nil {
		t.Errorf("the largest body: %v", err)
	}
	_, err := f.CatalogAdd(t.Context(), hub.Principal{}, "", []byte(manifest), []byte("x"))
	refused(t, "nobody", err, hubapi.Unauthorized)
}

func TestCatalogPages(t *testing.T) {
	f := newHub(t)
	for i := range 260 {
		f.added(publisher, fmt.Sprintf(`{"schema":"kortecx.skill/v1","name":"s%03d"}`, i), "x")
	}
	for _, tt := range []struct {
		limit int
		after string
		want  int
		first string
		more  bool
	}{
		{0, "", 100, "s000", true},
		{2, "", 2, "s000", true},
		{2, "s001", 2, "s002", true},
		{1000, "", 256, "s000", true},
		{256, "s003", 256, "s004", false},
		{10, "s255", 4, "s256", false},
		{10, "zzz", 0, "", false},
		{1, "\xff'", 0, "", false},
	} {
		list, err := f.CatalogList(t.Context(), publisher, tt.limit, tt.after)
		first := ""
		if len(list.Skills) > 0 {
			first = list.Skills[0].Name
		}
		if err != nil || len(list.Skills) != tt.want || list.HasMore != tt.more || first != tt.first {
			t.Errorf("limit %d after %q: %d from %q, more %v, %v", tt.limit, tt.after, len(list.Skills), first, list.HasMore, err)
		}
	}
	_, err := f.CatalogList(t.Context(), publisher, -1, "")
	refused(t, "a negative limit", err, hubapi.Invalid)
}

func TestPreviewCutsBetweenCharacters(t *testing.T) {
	f := newHub(t)
	rapid.Check(t, func(rt *rapid.T) {
		body := strings.Repeat(rapid.StringN(1, 7, 20).Draw(rt, "piece")+"x", rapid.IntRange(1, 1500).Draw(rt, "times"))
		if rapid.Bool().Draw(rt, "broken") {
			body = "\xff\xfe" + body
		}
		if _, err := f.CatalogAdd(t.Context(), publisher, "", []byte(manifest), []byte(body)); err != nil {
			rt.Fatal(err)
		}
		form, err := f.CatalogForm(t.Context(), publisher, "triage")
		if err != nil {
			rt.Fatal(err)
		}
		text, whole := form.InstructionsPreview, strings.ToValidUTF8(body, "\uFFFD")
		if len(text) > 4096 || !utf8.ValidString(text) || !strings.HasPrefix(whole, text) {
			rt.Fatalf("a preview of %d bytes", len(text))
		}
		if form.PreviewTruncated != (len(whole) > 4096) || !form.PreviewTruncated && text != whole || form.PreviewTruncated && len(text) < 4093 {
			rt.Fatalf("truncated %v, %d of %d bytes", form.PreviewTruncated, len(text), len(whole))
		}
	})
}
