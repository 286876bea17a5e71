package hubclient

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// Archive is a release with its files, which were hashed and read again here.
type Archive struct {
	Release hubapi.Release
	Name    string
	Digest  pack.Digest
	Files   []pack.File // ascending by path
	Pack    *pack.Pack
}

// Archive fetches a release whole. What does not hash to the digest that the hub
// gives for it is refused, and so is what a hub would not have taken: a pack with
// faults or with files that do not belong into one, of another format, name or
// version than the hub says.
func (c *Client) Archive(ctx context.Context, ref hubapi.Ref) (*Archive, error) {
	release, err := c.Release(ctx, ref)
	if err != nil {
		return nil, err
	}
	format := pack.Format(release.Format)
	if !slices.Contains(pack.Formats, format) {
		return nil, fetchError(hubapi.Internal, "fetch.type", "the hub says that %s has the format %.40q, which is none", release.Ref(), release.Format)
	}
	exact := hubapi.Ref{Author: release.Author, Name: release.Name, Version: release.Version}
	data, err := c.do(ctx, request{method: http.MethodGet, path: releasePath(exact, "archive"), accept: typeGzip, limit: maxPacked})
	if err != nil {
		return nil, err
	}
	in, err := c.archives.Read(bytes.NewReader(data))
	if err != nil {
		e := *hubapi.AsError(err)
		e.Message = fmt.Sprintf("the archive of %s from the hub at %s cannot be used: %s", exact, c.base.Redacted(), e.Message)
		if e.Hint == "" {
			e.Hint = "try again; if it stays so, tell the hub's operator"
		}
		return nil, &e
	}
	out := &Archive{Release: release, Name: in.Top, Files: make([]pack.File, len(in.Files))}
	for i, f := range in.Files {
		out.Files[i] = pack.File(f)
	}
	out.Digest = pack.DigestFiles(out.Files)
	if string(out.Digest) != release.Digest {
		return nil, fetchError(hubapi.Internal, "fetch.digest", "the hub says that %s is %.80s, but what it sent is %s", exact, release.Digest, out.Digest).
			WithHint("do not use it; tell the hub's operator")
	}
	if in.Top != release.Name {
		return nil, fetchError(hubapi.Internal, "fetch.digest", "the archive of %s holds a folder called %.80q", exact, in.Top)
	}
	if out.Pack, err = readPack(release, out.Files); err != nil {
		return nil, err
	}
	return out, nil
}

// readPack reads what a hub sent as the pack that it says it is.
func readPack(release hubapi.Release, files []pack.File) (*pack.Pack, error) {
	in := pack.Read(release.Name, files, pack.Options{Format: pack.Format(release.Format)})
	if faults := slices.Concat(in.Faults, in.Layout); len(faults) > 0 || in.Pack == nil {
		e := hubapi.Errorf(hubapi.Invalid, "what the hub sent as %s is no pack that it may have: %s", release.Ref(), faults.Error()).
			WithHint("do not use it; tell the hub's operator")
		for _, f := range faults {
			e.Details = append(e.Details, hubapi.Detail{
				ID: f.ID, Message: f.Text,
				File: f.Place.File, Line: f.Place.Line, Column: f.Place.Column, Pointer: f.Place.Pointer,
			})
		}
		return nil, e
	}
	for _, f := range files {
		// By these files installers know their own folders.
		if base := strings.ToLower(f.Path[strings.LastIndexByte(f.Path, '/')+1:]); base == ".kx-owned" || base == ".memclaw-owned" {
			e := hubapi.Errorf(hubapi.Invalid, "what the hub sent as %s has the file %q, which only an installer writes", release.Ref(), f.Path)
			return nil, e.With(hubapi.Detail{ID: "install.reserved-name", Message: e.Message, File: f.Path})
		}
	}
	p := in.Pack
	if p.Name != release.Name || p.Format != pack.SkillMD && p.Version != release.Version || p.Author != "" && p.Author != release.Author {
		return nil, fetchError(hubapi.Internal, "fetch.type", "what the hub sent as %s calls itself %.80q, version %.80q, of %.80q", release.Ref(), p.Name, p.Version, p.Author)
	}
	return p, nil
}

// Signature fetches the signature file of a release; NotFound means unsigned.
func (c *Client) Signature(ctx context.Context, ref hubapi.Ref) ([]byte, error) {
	if ref.Version == "" {
		release, err := c.Release(ctx, ref)
		if err != nil {
			return nil, err
		}
		ref = hubapi.Ref{Author: release.Author, Name: release.Name, Version: release.Version}
	}
	data, err := c.do(ctx, request{method: http.MethodGet, path: releasePath(ref, "signature"), limit: hubapi.MaxSignature})
	if err == nil && len(data) == 0 {
		return nil, fetchError(hubapi.Internal, "fetch.type", "the hub's signature of %s is empty", ref)
	}
	return data, err
}
