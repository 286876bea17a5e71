package conformance

import (
	"strings"

	"github.com/kortecx/kx/pack"
)

const kazmaManifest = "skill_manifest.yaml"

// unheard is the detail of a check that found nothing in a pack that does not load
// for another reason.
const unheard = "nothing wrong was found"

// kazma runs the checks of a Kazma skill.
func (j *judgement) kazma() {
	seen := !j.blind(kazmaManifest)
	j.portable(kazmaManifest)
	entry, permissions, servers, integrity := unheard, unheard, unheard, unheard
	if p := j.in.Pack; p != nil {
		m := p.Kazma
		entry = m.EntryFile + " is a file of the pack"
		permissions = listed(m.Permissions, "asks for no permission")
		servers = plural(len(m.MCPServers), "server")
		integrity = integrityDetail(m)
	}
	j.check(checkLoads, gateLoads, plural(len(j.files()), "file")+" read")
	j.judged(j.read(kazmaManifest), checkManifest, gateLoads, "every required key is there and well-formed")
	j.judged(seen, checkEntry, gateDeclarative, entry)
	j.judged(seen, checkPermissions, gateAuthority, permissions)
	j.judged(seen, checkServers, gateAuthority, servers)
	j.judged(seen, checkIntegrity, gateAuthority, integrity)
	j.check(checkPortable, gateDeclarative, "every path can be stored on every system")
}

// integrityDetail says which of the two fields are there. Whether they are true
// is the business of kx verify.
func integrityDetail(m *pack.KazmaManifest) string {
	switch {
	case m.Checksum == "":
		return "not signed"
	case m.Signature == "":
		return "a checksum without a signature"
	}
	return "checksum and signature are well-formed"
}

func listed(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return clip(strings.Join(list, ", "))
}
