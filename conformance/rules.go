package conformance

import (
	"sort"
	"strings"

	"github.com/kortecx/kx/pack"
)

// area groups rules that the same check answers for, whatever the format.
type area int

const (
	areaLoad         area = iota // the folder or a file could not be read as text of its format
	areaManifest                 // a value of the manifest breaks its grammar
	areaName                     // the manifest's name against the folder's
	areaDescription              // the description
	areaAuthority                // the manifest claims what only a caller can grant
	areaWish                     // wished tools
	areaCanonical                // the stored form
	areaGrant                    // wishes against grants
	areaInstructions             // the prose
	areaFolder                   // what lies in the folder
	areaLinks                    // references from the prose to files
	areaEntry                    // the code that a manifest points at
	areaPermissions
	areaServers
	areaIntegrity // checksum and signature fields
	areas
)

// checkTable names the check of each format that owns an area.
var checkTable = [areas]struct{ kortecx, kazma, skillMD string }{
	areaLoad:         {checkLoads, checkLoads, checkLoads},
	areaManifest:     {checkLoads, checkManifest, checkFrontmatter},
	areaName:         {checkLoads, checkManifest, checkFolderName},
	areaDescription:  {checkLoads, checkManifest, checkDescription},
	areaAuthority:    {checkAuthority, checkManifest, checkFrontmatter},
	areaWish:         {checkWish, checkManifest, checkFrontmatter},
	areaCanonical:    {checkRoundtrip, checkManifest, checkFrontmatter},
	areaGrant:        {checkEmptyGrant, checkManifest, checkFrontmatter},
	areaInstructions: {checkInstructions, checkManifest, checkInstructions},
	areaFolder:       {checkDeclarative, checkPortable, checkPortable},
	areaLinks:        {checkDeclarative, checkPortable, checkLinks},
	areaEntry:        {checkLoads, checkEntry, checkFrontmatter},
	areaPermissions:  {checkLoads, checkPermissions, checkFrontmatter},
	areaServers:      {checkLoads, checkServers, checkFrontmatter},
	areaIntegrity:    {checkLoads, checkIntegrity, checkFrontmatter},
}

// Rule is one kind of finding.
type Rule struct {
	ID       string
	Severity Severity // without --strict
	area     area
	hides    bool   // in a manifest, nothing behind the fault was judged
	Summary  string // what is wrong when it fires, one sentence
}

// Check names the check of a format that a finding of this rule fails.
func (r Rule) Check(f pack.Format) string {
	row := checkTable[r.area]
	switch f {
	case pack.Kortecx:
		return row.kortecx
	case pack.Kazma:
		return row.kazma
	case pack.SkillMD:
		return row.skillMD
	}
	return checkLoads
}

// families are the ids that only some formats can meet, by what stands before the
// dot.
var families = map[string][]pack.Format{
	"authority": {pack.Kortecx}, "canonical": {pack.Kortecx}, "grant": {pack.Kortecx}, "json": {pack.Kortecx},
	"manifest": {pack.Kortecx}, "ref": {pack.Kortecx}, "schema": {pack.Kortecx}, "tool": {pack.Kortecx},
	"author": {pack.Kazma}, "capabilities": {pack.Kazma}, "entry": {pack.Kazma}, "kazma": {pack.Kazma},
	"mcp": {pack.Kazma}, "min-core-version": {pack.Kazma}, "permissions": {pack.Kazma}, "sign": {pack.Kazma},
	"allowed-tools": {pack.SkillMD}, "body": {pack.SkillMD}, "compatibility": {pack.SkillMD}, "frontmatter": {pack.SkillMD},
	"key": {pack.SkillMD}, "link": {pack.SkillMD}, "metadata": {pack.SkillMD},
	"yaml": {pack.Kazma, pack.SkillMD},
}

// Formats lists the formats that can meet the rule.
func (r Rule) Formats() []pack.Format {
	family, _, _ := strings.Cut(r.ID, ".")
	if some, ok := families[family]; ok {
		return append([]pack.Format(nil), some...)
	}
	return append([]pack.Format(nil), pack.Formats...)
}

// help says where a finding of the rule counts, for tools that show it.
func (r Rule) help() string {
	var checks []string
	for _, f := range r.Formats() {
		checks = append(checks, r.Check(f)+" of a "+string(f)+" pack")
	}
	fails := " It fails the check "
	if r.Severity == Warning {
		fails = " Under --strict it fails the check "
	}
	return r.Summary + fails + strings.Join(checks, ", ") + "."
}

// Rules is every rule that a report can name, ascending by id.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// ruleByID finds a rule. A test keeps the table complete.
func ruleByID(id string) (Rule, bool) {
	i := sort.Search(len(rules), func(i int) bool { return rules[i].ID >= id })
	if i < len(rules) && rules[i].ID == id {
		return rules[i], true
	}
	return Rule{ID: id, Severity: Error, area: areaManifest, Summary: "The pack breaks a rule of its format."}, false
}

// checkOf names the check that owns a fault. A version is judged by one rule
// wherever it stands; below /tools it is part of a wish.
func checkOf(f pack.Format, e *pack.Error) string {
	rule, _ := ruleByID(e.ID)
	if f == pack.Kortecx && rule.area == areaManifest && strings.HasPrefix(e.Place.Pointer, "/tools/") {
		return checkWish
	}
	return rule.Check(f)
}

// hidesRest tells whether a fault kept the rest of the manifest from being read.
func hidesRest(e *pack.Error, manifest string) bool {
	if e.Place.File != manifest && e.Place.File != "" {
		return false
	}
	rule, _ := ruleByID(e.ID)
	return rule.hides
}
