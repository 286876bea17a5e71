package snapshot

import (
	"context"
	"errors"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
)

// Outcome is what became of one release.
type Outcome string

// The outcomes.
const (
	Taken     Outcome = "taken"     // it is new here; Status says where it stands
	Unchanged Outcome = "unchanged" // it was here
	Refused   Outcome = "refused"   // the hub, or the snapshot itself, does not let it in
	Checked   Outcome = "checked"   // a dry run found nothing against it in the snapshot
)

// Result is one release of an import.
type Result struct {
	Ref     string        `json:"ref"`
	Digest  string        `json:"digest"`
	Outcome Outcome       `json:"outcome"`
	Status  hubapi.Status `json:"status,omitempty"`
	Error   string        `json:"error,omitempty"`
	ID      string        `json:"id,omitempty"` // of the refusal
}

// ImportOptions say how a snapshot is taken in.
type ImportOptions struct {
	Approve bool // as a reviewer, make each release active at once
	DryRun  bool // read and verify everything, push nothing
	Each    func(Result)
}

// Import pushes every release to hub, under the author and version that it had. One
// that is refused does not keep the others out. The error is for a hub that cannot
// be reached or a caller who may not publish at all; refusals are in the results.
func (s *Snapshot) Import(ctx context.Context, hub *hubclient.Client, o ImportOptions) error {
	for _, e := range s.Entries {
		result := Result{Ref: e.Ref(), Digest: e.Digest}
		err := s.importOne(ctx, hub, e, o, &result)
		if err != nil {
			if fatal(err) {
				return err
			}
			refusal := hubapi.AsError(err)
			result.Outcome, result.Error, result.ID = Refused, refusal.Message, refusal.ID()
		}
		o.Each(result)
	}
	return nil
}

// fatal tells whether no further release can fare better.
func fatal(err error) bool {
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok {
		return true
	}
	switch e.Code {
	case hubapi.Unauthorized, hubapi.Unavailable, hubapi.Timeout, hubapi.Interrupted, hubapi.NoSpace:
		return true
	}
	return false
}

func (s *Snapshot) importOne(ctx context.Context, hub *hubclient.Client, e Entry, o ImportOptions, result *Result) error {
	archive, err := s.Release(e)
	if err != nil {
		return err
	}
	if o.DryRun {
		result.Outcome = Checked
		return nil
	}
	files := make([]pack.File, len(archive.Files))
	for i, f := range archive.Files {
		files[i] = pack.File(f)
	}
	pushed, err := hub.Push(ctx, hubclient.PushInput{
		Name: e.Name, Files: files, Author: e.Author, Version: e.Version, Signature: archive.Signature, Approve: o.Approve,
	})
	if err != nil {
		return err
	}
	result.Outcome, result.Status = Taken, pushed.Status
	if pushed.Unchanged {
		result.Outcome = Unchanged
	}
	return nil
}
