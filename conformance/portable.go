package conformance

import (
	"errors"
	"strconv"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// hintOf is what a refusal of the hub's rules advises.
func hintOf(err error) string {
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e.Hint
	}
	return ""
}

// portable remarks on names and versions that are right by the format's own grammar
// and that a hub refuses, or some disk: better now than when somebody publishes.
// manifest is the file that names them.
func (j *judgement) portable(manifest string) {
	p := j.in.Pack
	if p == nil {
		return
	}
	name := pack.Place{File: manifest, Pointer: "/name"}
	switch fault := pack.CheckPath(p.Name); {
	case fault != nil:
		j.own("name.portable", name, strconv.Quote(clip(p.Name))+" is no name for a folder on every system: "+fault.Text,
			"choose another name; no hub takes this one")
	case p.Format != pack.Kortecx && hubapi.CheckName(p.Name) != nil:
		j.own("name.portable", name, "no hub takes the name "+strconv.Quote(clip(p.Name)), hintOf(hubapi.CheckName(p.Name)))
	}
	if p.Version == "" || p.Format == pack.Kortecx {
		return
	}
	if err := hubapi.CheckVersion(p.Version); err != nil {
		at := pack.Place{File: manifest, Pointer: "/version"}
		if p.SkillMD != nil && p.SkillMD.Metadata["version"] != "" {
			at.Pointer = "/metadata/version"
		}
		j.own("version.portable", at, "no hub takes the version "+strconv.Quote(clip(p.Version)), hintOf(err))
	}
}
