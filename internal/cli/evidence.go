package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/sign"
)

func (h homeDirs) proofs() string { return filepath.Join(h.logs(), "proofs") }

// logFacts finds out whether a log has what was verified: by the proof that is
// named, lies beside it or was kept when it was installed, else by asking the hub.
// What cannot be proved is no error: the facts say why.
func (a *app) logFacts(ctx context.Context, c *cli.Command, v *verified, policy *sign.TrustPolicy, subject string) (sign.LogFacts, error) {
	home, err := a.home()
	if err != nil {
		return sign.LogFacts{}, err
	}
	known, err := hubclient.KnownLogs(home.logs())
	if err != nil {
		return sign.LogFacts{}, err
	}
	if policy != nil && policy.Log != "" {
		known = append(known, policy.Log)
	}
	files := append(v.proofs, filepath.Join(home.proofs(), accept.ProofName(subject, v.Digest)))
	if file := c.String("log-proof"); file != "" {
		files = []string{a.path(file)}
	}
	var why string
	for _, file := range files {
		data, err := readCapped(file, translog.MaxProof+1)
		if errors.Is(err, fs.ErrNotExist) && c.String("log-proof") == "" {
			continue
		}
		if err != nil {
			return sign.LogFacts{}, usagef("cannot read the proof: %v", err)
		}
		facts, err := factsOf(data, known, subject, v)
		if err == nil {
			return facts, nil
		}
		why = fmt.Sprintf("%s: %v", filepath.Base(file), err)
	}
	if c.Bool("offline") || c.String("log-proof") != "" || subject == "" {
		return sign.LogFacts{Why: first(why, "no proof lies beside it")}, nil
	}
	facts, err := a.factsFromHub(ctx, c, home, subject, v)
	if err != nil {
		return sign.LogFacts{Why: first(why, asHubError(err).Message)}, ctx.Err()
	}
	return facts, nil
}

// factsOf reads a proof that was kept in a file, and holds it against what was
// verified.
func factsOf(data []byte, known []string, subject string, v *verified) (sign.LogFacts, error) {
	proof, err := translog.ParseProof(data)
	if err != nil {
		return sign.LogFacts{}, err
	}
	entry, err := translog.ParseEntry(proof.Extra)
	switch {
	case err != nil:
		return sign.LogFacts{}, errors.New("the proof does not carry its entry")
	case entry.Op != translog.Publish:
		return sign.LogFacts{}, fmt.Errorf("the proof is of a release that was not published: the log says %s", entry.Op)
	case entry.Name != subject || entry.Digest != string(v.Digest):
		return sign.LogFacts{}, fmt.Errorf("the proof is about %s with the digest %s", entry.Name, entry.Digest)
	case v.Version != "" && entry.Version != v.Version:
		return sign.LogFacts{}, fmt.Errorf("the proof is about version %s", entry.Version)
	}
	origin, _, _ := strings.Cut(string(proof.Note), "\n")
	for _, vkey := range known {
		if of, _, err := translog.SplitVerifierKey(vkey); err != nil || of != origin {
			continue
		}
		if _, err := proof.Check(proof.Extra, vkey); err != nil {
			return sign.LogFacts{}, err
		}
		return sign.LogFacts{Proved: true, At: entry.Time, VKey: vkey}, nil
	}
	return sign.LogFacts{}, fmt.Errorf("the proof is by the log %q, whose key is not known here", origin)
}

// factsFromHub asks the hub of the settings, where there is one: a hub is not made
// for a question.
func (a *app) factsFromHub(ctx context.Context, c *cli.Command, home homeDirs, subject string, v *verified) (sign.LogFacts, error) {
	s, err := a.settings(c)
	if err != nil {
		return sign.LogFacts{}, err
	}
	if _, err := os.Stat(home.hub()); s.endpoint == "" && err != nil {
		return sign.LogFacts{Why: "no hub is named that could prove it"}, nil
	}
	author, name, _ := strings.Cut(subject, "/")
	facts := sign.LogFacts{}
	err = a.withHub(ctx, c, func(hub *hubclient.Client) error {
		release, err := hub.Release(ctx, hubapi.Ref{Author: author, Name: name, Version: v.Version})
		if err != nil {
			return err
		}
		if release.Digest != string(v.Digest) {
			facts.Why = fmt.Sprintf("the hub has %s with the digest %s", release.Ref(), release.Digest)
			return nil
		}
		view, why, err := accept.OpenLog(ctx, false, hub)
		if err != nil || view == nil {
			facts.Why = why
			return err
		}
		e, err := accept.ProveIn(ctx, view, release)
		if err == nil && e.ProofFile() == nil {
			facts.Why = "the log has it, but not as published"
			return nil
		}
		facts = e.Facts("")
		return err
	})
	return facts, err
}
