package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// app is one run of one program.
type app struct {
	Env
	program string
	root    *cli.Command
	out     *output // behind Stdout
	printed bool    // a JSON document went to standard output

	waits        func(string) // takes what is waited for; nil: standard error does
	relativeHome bool         // it was said that KX_HOME is relative

	grace atomic.Int64 // nanoseconds that an interrupted command may take to end
}

// Kx runs the kx command line and gives its exit code.
func Kx(env Env) int { return run(env, "kx", kxTree) }

// Kazma runs the kazma command line and gives its exit code.
func Kazma(env Env) int { return run(env, "kazma", kazmaTree) }

func run(env Env, program string, tree func(*app) *cli.Command) int {
	a := &app{Env: env, program: program, out: &output{w: env.Stdout}}
	a.Stdout = a.out
	a.grace.Store(int64(defaultGrace))
	a.root = tree(a)
	a.finish(a.root)
	if a.completes(env.Args[min(1, len(env.Args)):]) {
		return hubapi.ExitOK
	}
	if err := a.keyInArguments(); err != nil {
		return a.exit(err)
	}
	ctx := env.Context
	if ctx == nil {
		ctx = context.Background()
	}
	args := jsonLast(a.root, helpAlone(a.root, env.Args))
	done := make(chan error, 1)
	go func() { done <- a.guarded(ctx, args) }()
	select {
	case err := <-done:
		return a.exit(err)
	case <-ctx.Done():
	}
	// What a command writes to disk is old or new at any moment, so one that does
	// not end by itself (it waits for standard input, say) is left behind.
	select {
	case err := <-done:
		return a.exit(err)
	case <-time.After(time.Duration(a.grace.Load())):
		return a.exit(context.Canceled)
	}
}

// jsonLast moves --json from in front of a sub-command behind it: every command has
// the flag, so it may stand anywhere.
func jsonLast(root *cli.Command, args []string) []string {
	found, c := false, root
	kept := make([]string, 0, len(args)+1)
	for i, arg := range args {
		sub := c.Command(arg)
		switch {
		case i == 0:
		case arg == "--json" && len(c.Commands) > 0:
			found = true
			continue
		case sub == nil:
			if kept = append(kept, args[i:]...); found {
				return beforeRest(kept)
			}
			return kept
		default:
			c = sub
		}
		kept = append(kept, arg)
	}
	if found {
		return append(kept, "--json")
	}
	return kept
}

// beforeRest adds --json in front of "--", behind which there are arguments only.
func beforeRest(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return slices.Insert(args, i, "--json")
	}
	return append(args, "--json")
}

// defaultGrace is how long an interrupted command may take to end.
const defaultGrace = 2 * time.Second

// exitError ends a command whose own output has already said everything, with the
// exit code that this output means.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// report prints err and gives the exit code: the only place where an error becomes
// a number.
func (a *app) report(err error) int {
	if err == nil {
		return hubapi.ExitOK
	}
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	e := a.withoutKeys(asHubError(err))
	shown := e
	if many, ok := errors.AsType[*failedMany](err); ok {
		shown = a.withoutKeys(many.brief)
	}
	message, details := shown.Message, shown.Details
	if len(details) > 0 && strings.HasSuffix(message, details[0].Message) {
		message, details = message+idSuffix(details[0].ID), details[1:]
	}
	fmt.Fprintf(a.Stderr, "%s: %s\n", a.program, termtext.Escape(message))
	for _, d := range details[:min(len(details), maxDetails)] {
		fmt.Fprintf(a.Stderr, "  %s\n", termtext.Escape(detailLine(d)))
	}
	if more := len(details) - maxDetails; more > 0 {
		fmt.Fprintf(a.Stderr, "  and %d more; --json lists them all\n", more)
	}
	if e.Hint != "" {
		fmt.Fprintf(a.Stderr, "  hint: %s\n", termtext.Escape(e.Hint))
	}
	if a.wantsJSON() && !a.printed {
		_ = a.printJSON(map[string]*hubapi.Error{"error": e})
	}
	return e.Code.Exit()
}

// wantsJSON looks at the arguments themselves, because an error may come before
// any flag was parsed.
func (a *app) wantsJSON() bool {
	for _, arg := range a.Args[min(1, len(a.Args)):] {
		if arg == "--" {
			return false
		}
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	return false
}

// asHubError puts any error into the one vocabulary.
func asHubError(err error) *hubapi.Error {
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e
	}
	if faults, ok := errors.AsType[pack.Errors](err); ok {
		return packError(faults)
	}
	if fault, ok := errors.AsType[*pack.Error](err); ok {
		return packError(pack.Errors{fault})
	}
	if e, ok := errors.AsType[*sign.Error](err); ok {
		return signError(e)
	}
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return hubapi.Errorf(hubapi.Invalid, "%v", err).With(hubapi.Detail{ID: "path.too-long", Message: err.Error()})
	case errors.Is(err, context.Canceled):
		return hubapi.Errorf(hubapi.Interrupted, "interrupted")
	case errors.Is(err, context.DeadlineExceeded):
		return hubapi.Errorf(hubapi.Timeout, "%v", err)
	case fsx.IsNoSpace(err):
		return hubapi.Errorf(hubapi.NoSpace, "%s", onOneLine(err)).WithHint("free some space on that disk, and run it again")
	case errors.Is(err, fs.ErrNotExist):
		return hubapi.Errorf(hubapi.NotFound, "%s", onOneLine(err))
	}
	return hubapi.Errorf(hubapi.Internal, "%s", onOneLine(err))
}

// onOneLine is the text of an error, without the line ends that errors.Join writes.
func onOneLine(err error) string {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err.Error()
	}
	var parts, texts []string
	for _, e := range many.Unwrap() {
		parts, texts = append(parts, e.Error()), append(texts, onOneLine(e))
	}
	if strings.Join(parts, "\n") != err.Error() {
		return err.Error()
	}
	return strings.Join(texts, "; ")
}

// packError maps the faults of a pack.
func packError(faults pack.Errors) *hubapi.Error {
	e := &hubapi.Error{Code: hubapi.Invalid, Message: faults[0].Error(), Hint: faults[0].Hint}
	for _, f := range faults {
		e.Details = append(e.Details, detailOf(f))
	}
	return e
}

// signError maps a refusal of package sign.
func signError(e *sign.Error) *hubapi.Error {
	code := hubapi.Invalid
	switch e.ID {
	case sign.IDKeyMissing:
		code = hubapi.NotFound
	case sign.IDKeyExists:
		code = hubapi.Conflict
	}
	return &hubapi.Error{Code: code, Message: e.Text, Hint: e.Hint, Details: []hubapi.Detail{{ID: e.ID, Message: e.Text}}}
}

func detailOf(f *pack.Error) hubapi.Detail {
	return hubapi.Detail{
		ID: f.ID, Message: f.Text,
		File: f.Place.File, Line: f.Place.Line, Column: f.Place.Column, Pointer: f.Place.Pointer,
	}
}

func detailLine(d hubapi.Detail) string {
	at := pack.Place{File: d.File, Line: d.Line, Column: d.Column, Pointer: d.Pointer}.String()
	switch {
	case at == "":
		return d.Message + idSuffix(d.ID)
	default:
		return at + ": " + d.Message + idSuffix(d.ID)
	}
}

func idSuffix(id string) string {
	if id == "" {
		return ""
	}
	return " [" + id + "]"
}

// usagef is a mistake on the command line or in the configuration: exit 2.
//
//go:noinline
func usagef(format string, args ...any) *hubapi.Error {
	return hubapi.Errorf(hubapi.Usage, format, args...)
}

// printJSON writes the one document of --json.
func (a *app) printJSON(v any) error {
	a.printed = true
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.Stdout.Write(termtext.JSON(b.Bytes()))
	return err
}

// note writes a line for people to standard error.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.Stderr, format+"\n", args...)
}

// printf writes to standard output; arguments are made safe for a terminal.
func (a *app) printf(format string, args ...any) {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = termtext.Escape(s)
		}
	}
	fmt.Fprintf(a.Stdout, format, args...)
}
