package hubclient

import (
	"encoding/hex"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// answers refuses a release that is not the one that was asked for, or that has
// no reference that may be used as a path.
func answers(release hubapi.Release, ref hubapi.Ref) error {
	got, err := hubapi.ParseRef(release.Ref())
	if err != nil || got.Author != release.Author || got.Name != release.Name || got.Version != release.Version ||
		got.Author == "" || got.Version == "" || got.Name != ref.Name ||
		ref.Author != "" && got.Author != ref.Author || ref.Version != "" && got.Version != ref.Version {
		return fetchError(hubapi.Internal, "fetch.type", "the hub was asked for %s and answers with %.200q", ref, release.Ref())
	}
	return nil
}

// pushed refuses the answer to a push that is about something else.
func pushed(release hubapi.Release, in PushInput) error {
	sent := hubapi.Ref{Author: in.Author, Name: in.Name, Version: in.Version}
	if p := pack.Read(in.Name, in.Files, pack.Options{}).Pack; p != nil {
		sent.Name = p.Name
		if p.Format != pack.SkillMD {
			sent.Version = p.Version
		}
	}
	if err := answers(release, sent); err != nil {
		return err
	}
	if digest := pack.DigestFiles(in.Files); string(digest) != release.Digest {
		return fetchError(hubapi.Internal, "fetch.digest", "the hub was sent %s and says that it has %.80s", digest, release.Digest).
			WithHint("do not trust this hub; tell its operator")
	}
	return nil
}

// added refuses the answer to a catalog add that is about something else. A
// manifest that cannot be read here is for the hub alone to judge.
func added(got hubapi.CatalogAdded, in hubapi.CatalogAdd) error {
	form := pack.StoredForm
	if in.Instructions != nil {
		form = pack.PackForm
	}
	m, faults, _ := pack.ParseManifest([]byte(in.Manifest), form)
	if len(faults) > 0 {
		return nil
	}
	ref := m.InstructionsRef
	if in.Instructions != nil {
		ref = pack.InstructionsRef([]byte(*in.Instructions))
	}
	switch {
	case got.Name != m.Name:
		return fetchError(hubapi.Internal, "fetch.type", "the hub was sent %q and says that it added %.80q", m.Name, got.Name)
	case got.InstructionsRef != ref, got.SkillRef != m.SkillRef(ref):
		return fetchError(hubapi.Internal, "fetch.digest", "the hub was sent %s with the skill_ref %s and says that it added %.80q", m.Name, m.SkillRef(ref), got.SkillRef).
			WithHint("do not trust this hub; tell its operator")
	}
	return nil
}

// moved refuses the answer to a move that is about something else. What an edit
// makes has a version of its own.
func moved(got hubapi.InboxMove, ref hubapi.Ref, action string, err error) (hubapi.InboxMove, error) {
	if err != nil {
		return hubapi.InboxMove{}, err
	}
	if action == "edit" {
		ref.Version = ""
	}
	if err := answers(got.Release, ref); err != nil {
		return hubapi.InboxMove{}, err
	}
	if got.Slug != ref.Name || got.NewStatus != got.Release.Status || action == "approve" && got.NewStatus != hubapi.Active {
		return hubapi.InboxMove{}, fetchError(hubapi.Internal, "fetch.type", "the hub was asked to %s %s and answers that %.80q is %.40q now", action, ref, got.Slug, got.NewStatus)
	}
	sum, ok := strings.CutPrefix(got.Release.Digest, "sp1:")
	if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != 32 {
		return hubapi.InboxMove{}, fetchError(hubapi.Internal, "fetch.digest", "the hub gives %s the digest %.80q, which is none", got.Release.Ref(), got.Release.Digest)
	}
	return got, nil
}
