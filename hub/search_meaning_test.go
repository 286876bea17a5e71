package hub_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// bagOfWords is a model that knows which words mean the same and nothing else: a
// text is the sum of a fixed random vector for each of its meanings.
type bagOfWords struct {
	mu     sync.Mutex
	same   map[string]string
	broken bool
	asked  int
}

func (b *bagOfWords) Model() string { return "bag" }

func (b *bagOfWords) Embed(_ context.Context, texts []string) ([][]float32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.broken {
		return nil, errors.New("out of order")
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 64)
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			if same, ok := b.same[word]; ok {
				word = same
			}
			for j := range v {
				sum := sha256.Sum256(fmt.Append(nil, word, j))
				v[j] += float32(binary.BigEndian.Uint32(sum[:]))/math.MaxUint32 - 0.5
			}
		}
		out[i] = v
	}
	return out, nil
}

func (b *bagOfWords) set(broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = broken
}

func meaningHub(t *testing.T, model hub.Embedder) *fixture {
	f := newHub(t)
	f.Hub = hub.New(f.store, hub.Config{Now: func() time.Time { return f.now }, Embedder: model})
	return f
}

func described(name, description string) hub.PublishInput {
	text := "---\nname: " + name + "\ndescription: " + description + "\n---\n\nText.\n"
	return hub.PublishInput{Name: name, Files: []pack.File{{Path: "SKILL.md", Data: []byte(text)}}, Approve: true}
}

func TestSearchFindsByMeaning(t *testing.T) {
	model := &bagOfWords{same: map[string]string{"ship": "deploy", "roll": "deploy", "software": "code"}}
	f := meaningHub(t, model)
	add := func(name, description string) { f.pushed(local, described(name, description)) }
	add("release-train", "deploy code")
	add("mailbox", "sort letters into boxes")
	add("ship-log", "ship")
	waiting := described("waiting", "ship software")
	waiting.Approve = false
	f.pushed(local, waiting)

	search := func(q hub.SearchQuery) hubapi.SearchResult {
		t.Helper()
		out, err := f.Search(t.Context(), local, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range out.Items {
			sum := 0.0
			for _, m := range item.Matches {
				sum += m.Points
			}
			if diff := sum - item.Score; diff > 0.01 || diff < -0.01 {
				t.Errorf("%q: the matches of %s add up to %v, its score is %v", q.Text, item.Name, sum, item.Score)
			}
		}
		return out
	}
	names := func(out hubapi.SearchResult) (names string) {
		for _, item := range out.Items {
			names += item.Name + " "
		}
		return strings.TrimSpace(names)
	}

	// Before anything is embedded, words alone are found.
	if got := names(search(hub.SearchQuery{Text: "ship software"})); got != "" {
		t.Errorf("found %q before any meaning is known", got)
	}
	if made, err := f.EmbedPending(t.Context()); err != nil || made != 3 {
		t.Fatalf("made %d vectors: %v", made, err)
	}
	if made, err := f.EmbedPending(t.Context()); err != nil || made != 0 {
		t.Fatalf("made %d vectors again: %v", made, err)
	}
	out := search(hub.SearchQuery{Text: "ship software"})
	if got := names(out); !strings.HasPrefix(got, "release-train") || strings.Contains(got, "mailbox") || strings.Contains(got, "waiting") {
		t.Errorf("found %q", got)
	}
	if m := out.Items[0].Matches; len(m) != 1 || m[0].Kind != hubapi.MatchMeaning || m[0].Likeness < 0.3 {
		t.Errorf("explained by %+v", m)
	}
	// A release with the very word stands before one that only means it.
	if got := names(search(hub.SearchQuery{Text: "ship"})); !strings.HasPrefix(got, "ship-log release-train") {
		t.Errorf("found %q", got)
	}
	if got := names(search(hub.SearchQuery{Text: "ship software", Author: "nobody"})); got != "" {
		t.Errorf("found %q past a filter", got)
	}

	// Pages make up the whole.
	all, cursor, pages := "", "", 0
	for {
		page := search(hub.SearchQuery{Text: "ship", Limit: 1, Cursor: cursor})
		all += names(page) + " "
		if cursor = page.NextCursor; cursor == "" || pages > 10 {
			break
		}
		pages++
	}
	if want := names(search(hub.SearchQuery{Text: "ship"})); strings.TrimSpace(all) != want {
		t.Errorf("pages give %q, the whole is %q", all, want)
	}

	// What is withdrawn is not near any more.
	if _, err := f.Act(t.Context(), local, hubapi.Ref{Name: "release-train"}, hub.Withdraw, hubapi.Review{Reason: "old"}); err != nil {
		t.Fatal(err)
	}
	if got := names(search(hub.SearchQuery{Text: "ship software"})); strings.Contains(got, "release-train") {
		t.Errorf("found %q after it was withdrawn", got)
	}

	// An endpoint that fails costs one try, and words are found all the same.
	model.set(true)
	asked := model.asked
	for range 3 {
		out := search(hub.SearchQuery{Text: "letters"})
		if names(out) != "mailbox" || out.Note == "" {
			t.Errorf("found %q with the note %q", names(out), out.Note)
		}
	}
	if model.asked != asked+1 {
		t.Errorf("a failing endpoint was asked %d times", model.asked-asked)
	}
	add("late", "deploy later")
	if _, err := f.EmbedPending(t.Context()); hubapi.AsError(err).Code != hubapi.Unavailable {
		t.Errorf("a failing endpoint gives %v", err)
	}
	model.set(false)
	if made, err := f.EmbedPending(t.Context()); err != nil || made != 1 {
		t.Errorf("made %d vectors after it recovered: %v", made, err)
	}
}

// A second hub over the same store reads the vectors that the first one made.
func TestMeaningsAreMadeOnce(t *testing.T) {
	model := &bagOfWords{same: map[string]string{"ship": "deploy"}}
	f := meaningHub(t, model)
	f.pushed(local, described("train", "deploy"))
	if made, err := f.EmbedPending(t.Context()); err != nil || made != 1 {
		t.Fatalf("made %d: %v", made, err)
	}
	second := hub.New(f.store, hub.Config{Now: func() time.Time { return f.now }, Embedder: model})
	asked := model.asked
	if made, err := second.EmbedPending(t.Context()); err != nil || made != 0 || model.asked != asked {
		t.Fatalf("made %d, asked %d times: %v", made, model.asked-asked, err)
	}
	out, err := second.Search(t.Context(), local, hub.SearchQuery{Text: "ship"})
	if err != nil || len(out.Items) != 1 {
		t.Fatalf("found %+v: %v", out.Items, err)
	}
}
