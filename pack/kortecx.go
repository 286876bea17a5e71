package pack

// KortecxManifest is a skill.json (kortecx.skill/v1), as written: versions are
// kept as text, tags in their order.
type KortecxManifest struct {
	Schema          string
	Name            string
	Version         string // "1" when absent
	Description     string
	Tags            []string
	InstructionsRef string // 64 hex digits in stored form, empty in pack form
	Tools           map[string]string
}
