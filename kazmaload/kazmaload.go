// Package kazmaload decides whether a kazma skill in a folder may be loaded, by the
// table "verification on load (fail-closed)" of the Kazma documentation and the
// stricter rules that docs/kazma-compat.md lists. It finds the skills of a folder
// and reads from kazma.yaml where that folder is.
//
// It runs nothing, and fetches and places nothing: source and deliver do that. It
// knows the one shared-secret signature that Kazma knows; signatures by keys are
// for package sign.
//
// Call Load for one folder, Discover for all in a folder of skills, Judge for a
// pack that is not on disk yet, and ReadSettings for kazma.yaml.
package kazmaload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// Ids of refusals that have none elsewhere, in hubapi.Detail. What is wrong with a
// manifest or a signature has the id that pack or sign gives it.
const (
	IDBytecode = "load.bytecode"    // compiled Python that may run instead of the source
	IDNoEntry  = "load.no-entry"    // nothing can load it
	IDLink     = "load.link"        // the folder is a symbolic link
	IDSettings = "load.kazma-yaml"  // kazma.yaml cannot be read
	IDVariable = "load.no-variable" // kazma.yaml names a variable that is not set
)

// Policy is what a skill must have beyond what it says of itself.
type Policy struct {
	// RequireSigned refuses skills without a signature, which are loaded with a
	// warning otherwise.
	RequireSigned bool
	// WithoutSecret takes a skill whose signature cannot be checked, because no
	// secret is known here. Its checksum must be right.
	WithoutSecret bool
}

// Loaded is a skill that may be loaded.
type Loaded struct {
	Folder   string // the name of its folder; the skill's own is in Manifest
	Dir      string // the folder's path; empty from Judge
	Manifest *pack.KazmaManifest
	Digest   pack.Digest
	HMAC     sign.HMACResult
	// Warnings are for people, one sentence each, lower case, no full stop.
	Warnings []string
	// Pack has the bytes that were judged, which are those to run. It is nil from
	// Discover.
	Pack *pack.Pack
}

// Load reads the kazma skill in dir and judges it. The error is a *hubapi.Error:
// NotFound for a folder that holds no kazma skill, Invalid for one that must not be
// loaded, each with the reason's id.
func Load(dir string, secrets sign.Secrets, policy Policy) (*Loaded, error) {
	// A separator at the end would look behind the link.
	if info, err := os.Lstat(filepath.Clean(dir)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, linked(filepath.Base(dir))
	}
	in, err := pack.Inspect(dir, pack.Options{Format: pack.Kazma, LeaveBytecode: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hubapi.Errorf(hubapi.NotFound, "there is no folder %s", dir)
	}
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Invalid, "%v", err)
	}
	if len(in.Faults) > 0 {
		return nil, faulty(in)
	}
	out, err := Judge(in.Pack, secrets, policy)
	if err != nil {
		return nil, err
	}
	out.Dir = dir
	if len(in.Bytecode) == 0 {
		return out, nil
	}
	root, err := fsx.Open(dir)
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Invalid, "%v", err)
	}
	defer root.Close()
	stale, err := judgeBytecode(root, in)
	if err != nil {
		return nil, err
	}
	if stale > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d files of compiled Python are of other sources than those that are here, and are not looked at", stale))
	}
	return out, nil
}

// Judge is Load for a pack that was read already; its name stands for the folder's.
func Judge(p *pack.Pack, secrets sign.Secrets, policy Policy) (*Loaded, error) {
	m := p.Kazma
	if m == nil {
		return nil, refused(p.Name, "pack.no-manifest", "", "it is a %s pack, and Kazma loads only those with a %s", p.Format, pack.Kazma.ManifestFile())
	}
	if m.EntryFile == "" {
		return nil, refused(p.Name, IDNoEntry, "add entry_point: module:ClassName to the manifest", "it has neither an entry_point nor a main.py")
	}
	hmac := sign.Accept
	if policy.RequireSigned {
		hmac = sign.Require
	}
	out := &Loaded{Folder: p.Name, Manifest: m, Digest: p.Digest(), Pack: p, HMAC: sign.VerifyKazma(p, secrets, hmac)}
	if problem := out.HMAC.Problem; problem != nil {
		if problem.ID != sign.IDNoSecret || !policy.WithoutSecret {
			return nil, refused(p.Name, problem.ID, hintFor(problem.ID), "%s", wording(problem))
		}
		out.Warnings = append(out.Warnings, "its signature was not checked: KAZMA_SECRET is not set")
	}
	switch out.HMAC.State {
	case sign.HMACDowngraded:
		// Whoever can change the entry file can change the checksum with it: half of
		// the pair says no more than nothing, and looks like more.
		return nil, refused(p.Name, sign.IDDowngraded, "sign the skill again, or remove the checksum to leave it unsigned",
			"it has a checksum and no signature, so the checksum vouches for nothing")
	case sign.HMACUnsigned:
		out.Warnings = append(out.Warnings, "it has no checksum and is loaded unsigned: nothing says that it is as its author wrote it")
	}
	if out.HMAC.Secret > 1 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("it was signed with the %s secret; sign it again with the current one", out.HMAC.Secret))
	}
	if file, _, fault := pack.ResolveEntry(m.EntryPoint); m.EntryPoint != "" && (fault != nil || !referenceFinds(m.EntryPoint, file)) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("entry_point %q means %s here, and the original Kazma looks elsewhere; write module:ClassName with a module at the top", m.EntryPoint, file))
	}
	return out, nil
}

// referenceFinds tells whether the loader and the signing of the reference both mean
// the file that we mean.
func referenceFinds(entryPoint, file string) bool {
	class, found := strings.CutPrefix(entryPoint, strings.TrimSuffix(file, ".py")+":")
	return found && class != "" && !strings.Contains(file, "/")
}

// wording keeps the first words of the reference's errors, which people search for.
func wording(f *sign.Finding) string {
	switch f.ID {
	case sign.IDDigest:
		return "checksum mismatch: " + f.Text + "; it may have been tampered with"
	case sign.IDHMAC:
		return "signature verification failed: " + f.Text
	case sign.IDNoSecret:
		return "it has a signature but KAZMA_SECRET is not set, so nothing can check it"
	case sign.IDUnsigned:
		return "it is not signed, and only signed skills are to be loaded"
	}
	return f.Text
}

func hintFor(id string) string {
	switch id {
	case sign.IDDigest, sign.IDHMAC:
		return "get the skill again from where it came; if the change is yours, sign it again with kazma hub sign"
	case sign.IDNoSecret:
		return "export KAZMA_SECRET, the secret that the skill was signed with"
	case sign.IDUnsigned, sign.IDDowngraded:
		return "sign it with kazma hub sign once you have read it"
	}
	return ""
}

// refused is the error for a skill that must not be loaded.
func refused(name, id, hint, format string, args ...any) *hubapi.Error {
	why := fmt.Sprintf(format, args...)
	e := hubapi.Errorf(hubapi.Invalid, "the skill %s was refused: %s", name, why)
	e.Details = []hubapi.Detail{{ID: id, Message: why}}
	e.Hint = hint
	return e
}

func linked(name string) *hubapi.Error {
	return refused(name, IDLink, "put the folder itself in its place", "its folder is a symbolic link, which may lead somewhere else tomorrow")
}

// faulty is refused for what is no skill that can be read.
func faulty(in *pack.Inspection) *hubapi.Error {
	first := in.Faults[0]
	e := refused(in.Name, first.ID, first.Hint, "%s", first.Error())
	if first.ID == "pack.no-manifest" {
		e.Code = hubapi.NotFound
	}
	e.Details = nil
	for _, f := range in.Faults {
		e.Details = append(e.Details, hubapi.Detail{
			ID: f.ID, Message: f.Text,
			File: f.Place.File, Line: f.Place.Line, Column: f.Place.Column, Pointer: f.Place.Pointer,
		})
	}
	return e
}
