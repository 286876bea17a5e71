// Package pack reads skill packs: a folder that tells an agent how to do a job
// and which tools it wishes for. It knows the three formats (kortecx, kazma,
// skill-md), their grammars, the canonical bytes and identities that the
// references define, and the one content digest that the rest of kx uses.
//
// It judges nothing beyond "is this a pack of its format": style, content
// scanning and signatures live in conformance, scan and sign.
//
// Call Open for a folder on disk, Read for files that are already in memory.
// Both answer with everything that is wrong, not only the first fault.
package pack

import (
	"io/fs"
	"sort"
)

// Format names the grammar that a pack is written in.
type Format string

// The formats.
const (
	Kortecx Format = "kortecx"  // skill.json + instructions.md [+ README.md]
	Kazma   Format = "kazma"    // skill_manifest.yaml + entry file
	SkillMD Format = "skill-md" // an Agent Skills folder with SKILL.md
)

// Formats lists every format in the order in which help texts name them.
var Formats = []Format{Kortecx, Kazma, SkillMD}

// ManifestFile is the name of the file that makes a folder a pack of f.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func (f Format) ManifestFile() string {
	switch f {
	case Kortecx:
		return "skill.json"
	case Kazma:
		return "skill_manifest.yaml"
	case SkillMD:
		return "SKILL.md"
	}
	return ""
}

// Limits on what is read. The first two are the kortecx reference's caps; the
// others are what MCP hosts enforce on a skill folder.
const (
	MaxManifest     = 64 << 10  // bytes of skill.json, skill_manifest.yaml or SKILL.md frontmatter
	MaxInstructions = 256 << 10 // bytes of instructions.md
	MaxFiles        = 512       // files in a kazma or skill-md folder
	MaxBytes        = 16 << 20  // bytes of all files together
	MaxDepth        = 16        // folders below the pack's own
)

// File is one regular file of a pack, held in memory.
type File struct {
	Path       string // relative to the pack, "/" separated
	Data       []byte
	Executable bool // any execute bit; meaningful for skill-md only
}

// Mode is what the file has on disk.
func (f File) Mode() fs.FileMode {
	if f.Executable {
		return 0o755
	}
	return 0o644
}

// Pack is one skill pack that was read whole. Exactly one of the three manifest
// fields is set, according to Format.
type Pack struct {
	Format      Format
	Name        string
	Version     string // empty for a skill-md pack that names none
	Author      string // empty unless the manifest names one (kazma)
	Description string
	Tags        []string
	Tools       map[string]string // wishes: tool id to version; kortecx only

	Kortecx *KortecxManifest
	Kazma   *KazmaManifest
	SkillMD *SkillMDManifest

	Files    []File   // every file of the pack, ascending by path
	Warnings []*Error // accepted, but worth saying; errors under --strict
}

// File gives the content of one file of the pack.
func (p *Pack) File(path string) ([]byte, bool) {
	i := sort.Search(len(p.Files), func(i int) bool { return p.Files[i].Path >= path })
	if i < len(p.Files) && p.Files[i].Path == path {
		return p.Files[i].Data, true
	}
	return nil, false
}

// Instructions is the prose that an agent reads: instructions.md of a kortecx
// pack, the body of SKILL.md. A kazma pack has none.
func (p *Pack) Instructions() []byte {
	switch p.Format {
	case Kortecx:
		data, _ := p.File("instructions.md")
		return data
	case SkillMD:
		return p.SkillMD.Body
	}
	return nil
}

// Options for Open, Read and Inspect.
type Options struct {
	// Format picks the grammar where a folder could be read as two; empty
	// means: the one whose manifest file is there.
	Format Format
	// LeaveBytecode leaves compiled Python out of a kazma folder that is read from
	// disk, and names it in Inspection.Bytecode. Without it, that is a fault: a pack
	// that is published has none. Where a skill has run, interpreters have put it.
	LeaveBytecode bool
}

// Inspection is everything that was learnt about a folder, whether or not it
// is a pack.
type Inspection struct {
	Format Format // empty when no manifest was found
	Name   string // the manifest's name as far as it could be read, else the folder's
	Pack   *Pack  // nil when Faults is not empty

	// Faults are the reasons why it cannot be read as a pack, the one that
	// the reference reports first at index 0.
	Faults Errors
	// Layout are faults that do not keep a pack from being read and used: files
	// around it that may not be there, execute bits, a description over the
	// limit of its specification. Loading ignores them, as the references do;
	// checking, signing and publishing refuse them.
	Layout Errors
	// Warnings are accepted with a remark.
	Warnings []*Error
	// Bytecode are the files that Options.LeaveBytecode left out, ascending.
	Bytecode []string
}

// Err is nil for a readable pack, else all Faults as one error.
func (in *Inspection) Err() error {
	if len(in.Faults) == 0 {
		return nil
	}
	return in.Faults
}
