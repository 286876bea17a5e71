// Package hubapi is what a hub and its clients say to each other: the wire types
// of /api/v1, the grammar of references, the archive that carries a pack, the file
// by which a running server is found, and the one error vocabulary that every face
// maps from. Who may do what is not decided here but in package hub.
//
// Start at Error for the vocabulary, at ParseRef for what people type.
package hubapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kortecx/kx/internal/sorting"
)

// Code is the class of an error. The table below is the only place where it is
// mapped to a protocol or to an exit code.
type Code string

// The error codes.
const (
	Invalid      Code = "invalid"      // the request or the pack is wrong; sending it again will not help
	Unauthorized Code = "unauthorized" // no principal: missing or unknown key
	Forbidden    Code = "forbidden"    // the principal may not do this
	NotFound     Code = "not_found"    // absent, or not visible to this principal: the same answer
	Conflict     Code = "conflict"     // another state than the caller assumed
	Precondition Code = "precondition" // the move is not allowed from this state
	TooLarge     Code = "too_large"    // over a documented limit
	Unsupported  Code = "unsupported"  // this server does not do that
	RateLimited  Code = "rate_limited" // too many requests of this key; wait
	Timeout      Code = "timeout"      // a wait ended before the answer
	Unavailable  Code = "unavailable"  // try again later
	NoSpace      Code = "no_space"     // a disk is full: the server's, or the one that is written to
	Internal     Code = "internal"     // a fault of the server
	Usage        Code = "usage"        // the command line or the configuration is wrong
	Interrupted  Code = "interrupted"  // the user stopped it
)

// mapping is one row of the table.
type mapping struct {
	http int
	exit int
}

// Exit codes of both programs; design.md "Exit codes and output". kx verify adds
// its own (see package sign).
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitTimeout     = 3
	ExitInterrupted = 130
)

var table = map[Code]mapping{
	Invalid:      {400, ExitFailed},
	Unauthorized: {401, ExitFailed},
	Forbidden:    {403, ExitFailed},
	NotFound:     {404, ExitFailed},
	Conflict:     {409, ExitFailed},
	Precondition: {422, ExitFailed},
	TooLarge:     {413, ExitFailed},
	Unsupported:  {501, ExitFailed},
	RateLimited:  {429, ExitFailed},
	Timeout:      {504, ExitTimeout},
	Unavailable:  {503, ExitFailed},
	NoSpace:      {507, ExitFailed},
	Internal:     {500, ExitFailed},
	Usage:        {400, ExitUsage},
	Interrupted:  {499, ExitInterrupted},
}

// Refusals are the codes that a hub answers with, by their status.
func Refusals() []Code {
	codes := slices.DeleteFunc(slices.Collect(maps.Keys(table)), func(c Code) bool { return c == Usage || c == Interrupted })
	sorting.Sort(codes, func(a, b Code) int { return cmp.Compare(a.HTTP(), b.HTTP()) })
	return codes
}

// HTTP is the status that carries c.
func (c Code) HTTP() int {
	if row, ok := table[c]; ok {
		return row.http
	}
	return 500
}

// Exit is the exit code of a command that ends with c.
func (c Code) Exit() int {
	if row, ok := table[c]; ok {
		return row.exit
	}
	return ExitFailed
}

// Detail is one fault inside an error, with its place.
type Detail struct {
	ID      string `json:"id"`
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Pointer string `json:"pointer,omitempty"`
}

// Error is what a hub answers when it refuses, and what every command ends with.
type Error struct {
	Code    Code     `json:"code"`
	Message string   `json:"message"` // lower case, no full stop, no secret
	Hint    string   `json:"hint,omitempty"`
	Details []Detail `json:"details,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an error of code c.
//
// A thousand places call it or WithHint; put in the place of each call, the two take 100 KB
// of each program.
//
//go:noinline
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// AsError puts any error into the vocabulary: an *Error inside err as it is,
// anything else as Internal. Nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(Internal, "%v", err)
}

// CodeOf is the class of an HTTP status that came without a body of ours.
func CodeOf(status int) Code {
	for _, c := range []Code{
		Invalid, Unauthorized, Forbidden, NotFound, Conflict, Precondition, TooLarge,
		Unsupported, RateLimited, Timeout, Unavailable, NoSpace,
	} {
		if c.HTTP() == status {
			return c
		}
	}
	switch {
	case status == 408:
		return Timeout
	case status == 502:
		return Unavailable
	case status >= 400 && status < 500:
		return Invalid
	}
	return Internal
}

// ErrorBody is the JSON document of every refusal over HTTP.
type ErrorBody struct {
	Error *Error `json:"error"`
	// Detail is the older form of the same, on the routes whose clients read it.
	Detail string `json:"detail,omitempty"`
}

// With adds one fault with its place.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func (e *Error) With(d Detail) *Error {
	e.Details = append(e.Details, d)
	return e
}

// ID is the machine id of the first detail, or empty.
func (e *Error) ID() string {
	if len(e.Details) == 0 {
		return ""
	}
	return e.Details[0].ID
}

// WithHint adds what the user can do next.
//
//go:noinline
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
