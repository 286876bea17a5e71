package hubapi

// SitePath is where a site lists its skills (Agent Skills discovery 0.2.0).
const SitePath = "/.well-known/agent-skills/"

// SiteSchema marks a list of that version.
const SiteSchema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

// What the url of a SiteSkill leads to.
const (
	SiteText    = "skill-md" // the SKILL.md, which is the whole skill
	SiteArchive = "archive"  // a .tar.gz or .zip with SKILL.md at its top
)

// SiteIndex is the list: GET /.well-known/agent-skills/index.json.
type SiteIndex struct {
	Schema string      `json:"$schema"`
	Skills []SiteSkill `json:"skills"`
}

// SiteSkill is one skill of a site. Files and Release are ours; other readers pass
// over them.
type SiteSkill struct {
	Name        string       `json:"name"`
	Type        string       `json:"type"`
	Description string       `json:"description"`
	URL         string       `json:"url"`    // relative to the list, or absolute
	Digest      string       `json:"digest"` // "sha256:" + 64 hex digits, of what URL leads to
	Files       []SiteFile   `json:"files,omitempty"`
	Release     *SiteRelease `json:"kx,omitempty"`
}

// SiteFile is one file of a skill, which a kx site also serves by itself below
// SitePath + name.
type SiteFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"` // "sha256:" + 64 hex digits
}

// SiteRelease is the release of a hub that a skill was made of.
type SiteRelease struct {
	Author  string `json:"author"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"` // "sp1:" + 64 hex digits, of the pack
	Format  string `json:"format"`
}
