package source

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// fail is an error with the id that a row of the refusals has.
func fail(c hubapi.Code, id, format string, args ...any) *hubapi.Error {
	e := hubapi.Errorf(c, format, args...)
	return e.With(hubapi.Detail{ID: id, Message: e.Message})
}

// faults puts what is wrong with a pack into the vocabulary.
func faults(where string, list pack.Errors) error {
	if len(list) == 0 {
		return nil
	}
	e := hubapi.Errorf(hubapi.Invalid, "%s is not a pack that can be used: %s", where, list[0].Error())
	if more := len(list) - 1; more > 0 {
		e.Message += fmt.Sprintf(" (and %d more)", more)
	}
	e.Hint = list[0].Hint
	for _, f := range list {
		e.Details = append(e.Details, hubapi.Detail{
			ID: f.ID, Message: f.Text,
			File: f.Place.File, Line: f.Place.Line, Column: f.Place.Column, Pointer: f.Place.Pointer,
		})
	}
	return e
}

// asError keeps an error of the vocabulary and gives another one a code.
func asError(err error, c hubapi.Code, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*pack.Error](err); ok {
		return hubapi.Errorf(hubapi.Invalid, "%s", e.Text).WithHint("%s", e.Hint).With(hubapi.Detail{ID: e.ID, Message: e.Text, File: e.Place.File})
	}
	return hubapi.Errorf(c, "%s: %v", fmt.Sprintf(format, args...), err)
}

// withPlace puts the source before a message that does not name it: of several sources,
// nobody could tell which is meant.
func withPlace(ref Ref, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || ref.Location == "" || namesPlace(e.Message, ref) {
		return err
	}
	told := *e
	told.Message = ref.Location + ": " + e.Message
	told.Details = slices.Clone(e.Details)
	for i := range told.Details {
		if told.Details[i].Message == e.Message {
			told.Details[i].Message = told.Message
		}
	}
	return &told
}

// namesPlace tells whether a message has the place of ref, or what everybody knows it by.
// Within a longer word it is none.
func namesPlace(message string, ref Ref) bool {
	short := path.Base(strings.TrimRight(ref.Location, "/"))
	if u, err := url.Parse(ref.Location); err == nil && ref.Remote() {
		short = u.Hostname()
	}
	named, err := regexp.MatchString(`(^|[^\w.-])(`+regexp.QuoteMeta(ref.Location)+`|`+regexp.QuoteMeta(short)+`)($|[^\w.-])`, message)
	return named && err == nil
}

// clip keeps a hostile value from filling a message.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
