package conformance

import (
	"bytes"
	"sort"
	"strconv"
	"strings"

	"github.com/kortecx/kx/pack"
)

// The checks, in the words that reports print. The kortecx names and all gate
// numbers are those of the reference harness; the checks of the other formats
// carry the number of the idea that is nearest.
const (
	checkLoads        = "pack_loads"
	checkRoundtrip    = "canonical_roundtrip"
	checkAuthority    = "no_authority_keys"
	checkWish         = "wish_grammar"
	checkInstructions = "instructions_bounded"
	checkDeclarative  = "pack_is_declarative"
	checkEmptyGrant   = "empty_grant_binds_to_zero"

	checkFrontmatter = "frontmatter_valid"
	checkFolderName  = "name_matches_folder"
	checkDescription = "description_useful"
	checkPortable    = "files_portable"
	checkLinks       = "links_resolve"

	checkManifest    = "manifest_valid"
	checkEntry       = "entry_point_contained"
	checkPermissions = "permissions_known"
	checkServers     = "mcp_servers_valid"
	checkIntegrity   = "integrity_fields_wellformed"

	gateDeclarative = 3
	gateAuthority   = 5
	gateBounded     = 7
	gateLoads       = 10
)

const (
	kortecxManifest     = "skill.json"
	kortecxInstructions = "instructions.md"
)

// kortecx runs the seven checks of the reference. Where the pack does not load
// it runs those that the faults do not hide.
func (j *judgement) kortecx(manifest func() []byte) {
	m := j.kortecxManifest(manifest)
	j.portable(kortecxManifest)
	if j.in.Pack != nil {
		j.report.Discovered = len(m.Tools)
	}
	seen := m != nil || !j.blind(kortecxManifest)

	j.check(checkLoads, gateLoads, "the manifest and "+plural(len(j.files()), "file")+" were read")
	detail := ""
	if m != nil {
		detail = j.roundtrip(m)
	}
	j.judged(m != nil, checkRoundtrip, gateLoads, detail)
	j.judged(seen, checkAuthority, gateAuthority, "no key of the manifest claims authority")
	j.judged(m != nil, checkWish, gateAuthority, wishes(m))
	j.judged(!j.touched(kortecxInstructions), checkInstructions, gateBounded, j.instructionsDetail())
	j.check(checkDeclarative, gateDeclarative, "only declarative files, none of them executable")
	if m != nil {
		j.check(checkEmptyGrant, gateAuthority, j.emptyGrant(m))
	}
}

// kortecxManifest is the manifest, also of a pack that does not load for another
// reason than its manifest.
func (j *judgement) kortecxManifest(again func() []byte) *pack.KortecxManifest {
	if j.in.Pack != nil {
		return j.in.Pack.Kortecx
	}
	if j.blind(kortecxManifest) {
		return nil
	}
	data := again()
	if data == nil {
		return nil
	}
	m, faults, _ := pack.ParseManifest(data, pack.PackForm)
	if len(faults) > 0 {
		return nil
	}
	return m
}

// roundtrip proves that the manifest survives being stored: with a reference to
// instructions in it, canonical bytes read back as stored give the same bytes.
// The stored form is longer than the pack form, so a manifest just under the cap
// fails here and nowhere else.
func (j *judgement) roundtrip(m *pack.KortecxManifest) string {
	stored := *m
	stored.InstructionsRef = strings.Repeat("0", 64)
	first := stored.Canonical()
	at := pack.Place{File: kortecxManifest}
	again, faults, _ := pack.ParseManifest(first, pack.StoredForm)
	switch {
	case len(first) > pack.MaxManifest:
		j.own("canonical.too-large", at,
			"the stored form is "+strconv.Itoa(len(first))+" bytes, over the cap of "+strconv.Itoa(pack.MaxManifest),
			"a catalog adds 86 bytes for the reference to the instructions: shorten the description")
	case len(faults) > 0:
		j.own("canonical.roundtrip", at, "the stored form does not read back: "+faults[0].Text, "")
	case !bytes.Equal(again.Canonical(), first):
		j.own("canonical.roundtrip", at, "the stored form does not read back to the same bytes", "")
	}
	return strconv.Itoa(len(first)) + " canonical bytes read back identically"
}

// emptyGrant intersects the wishes with a caller who holds nothing. A wish that
// survived would mean that asking for a tool is enough to get it.
func (j *judgement) emptyGrant(m *pack.KortecxManifest) string {
	var granted map[string]string
	bound := 0
	for id, version := range m.Tools {
		if v, ok := granted[id]; ok && v == version {
			bound++
		}
	}
	if bound > 0 {
		j.own("grant.not-empty", pack.Place{File: kortecxManifest, Pointer: "/tools"},
			plural(bound, "wish")+" would be fireable for a caller who holds no grant", "")
	}
	return plural(len(m.Tools), "wished tool") + " and no grant bind to " + plural(bound, "tool")
}

// wishes lists id@version in ascending order.
func wishes(m *pack.KortecxManifest) string {
	if m == nil {
		return ""
	}
	if len(m.Tools) == 0 {
		return "wishes for no tool"
	}
	list := make([]string, 0, len(m.Tools))
	for id, version := range m.Tools {
		list = append(list, id+"@"+version)
	}
	sort.Strings(list)
	return clip(strings.Join(list, ", "))
}

func (j *judgement) files() []pack.File {
	if j.in.Pack == nil {
		return nil
	}
	return j.in.Pack.Files
}

func (j *judgement) instructionsDetail() string {
	if j.in.Pack == nil {
		return "within " + strconv.Itoa(pack.MaxInstructions) + " bytes"
	}
	return strconv.Itoa(len(j.in.Pack.Instructions())) + " of at most " + strconv.Itoa(pack.MaxInstructions) + " bytes"
}

// blind tells whether a fault kept the reader from understanding the manifest,
// so that silence about the rest proves nothing.
func (j *judgement) blind(manifest string) bool {
	for _, f := range j.in.Faults {
		if hidesRest(f, manifest) {
			return true
		}
	}
	return false
}

// touched tells whether any fault is about the named file.
func (j *judgement) touched(file string) bool {
	for _, f := range j.in.Faults {
		if f.Place.File == file {
			return true
		}
	}
	return false
}
