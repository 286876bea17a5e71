package mcpapi_test

import (
	"fmt"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/mcpapi"
)

// The hot path over HTTP: read_skill, and a page of skills/list, of 200 skills.
func BenchmarkServe(b *testing.B) {
	s := start(b, mcpapi.Options{Loopback: true})
	for i := range 200 {
		name := fmt.Sprintf("skill-%d", i)
		s.push(hub.LocalAdmin(), "local", true, name, skillMD(name, "Does what number "+fmt.Sprint(i)+" does.", "", "Do it."))
	}
	b.Run("read_skill", func(b *testing.B) {
		for b.Loop() {
			s.call("read_skill", map[string]any{"name": "skill-7"})
		}
	})
	b.Run("search_skills", func(b *testing.B) {
		for b.Loop() {
			s.call("search_skills", map[string]any{"query": "number 7"})
		}
	})
	b.Run("skills/list", func(b *testing.B) {
		for b.Loop() {
			s.result(modernEra, "skills/list", nil)
		}
	})
}
