package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// Fingerprint says which cluster of work a mined candidate comes from: "fp:v1:"
// and 64 hex digits, equal for the same goal in other words' order, plural or
// entity order (spec of the mined candidates; its vectors are in the tests). The
// hub computes it and takes none from outside: who may choose it could have the
// work of others rejected.
func Fingerprint(o hubapi.Origin) string {
	goal := stems(o.Goal)
	slices.Sort(goal)
	goal = slices.Compact(goal)
	goal = goal[:min(6, len(goal))]
	entities := slices.Clone(o.Entities)
	slices.Sort(entities)
	entities = entities[:min(5, len(entities))]
	steps := make([]string, len(o.Steps))
	for i, step := range o.Steps {
		words := stems(step)
		steps[i] = strings.Join(words[:min(4, len(words))], " ")
	}
	sum := sha256.Sum256([]byte("goal=" + strings.Join(goal, " ") +
		"\ndomain=" + strings.ToLower(strings.TrimSpace(o.Domain)) +
		"\nentities=" + strings.Join(entities, ",") +
		"\nsteps=" + strings.Join(steps, "|")))
	return "fp:v1:" + hex.EncodeToString(sum[:])
}

// stems are the words of a phrase in lower case, without those that say nothing
// and without the plural's s.
func stems(phrase string) []string {
	const empty = " a an and are as at be by for from in is it of on or that the this to with "
	var out []string
	for _, word := range strings.FieldsFunc(strings.ToLower(phrase), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.Contains(empty, " "+word+" ") {
			continue
		}
		if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
			word = word[:len(word)-1]
		}
		out = append(out, word)
	}
	return out
}

// maxPlainText is the longest text that is compared by its sense, in bytes: nobody
// reads longer ones, and a push is to stay quick.
const maxPlainText = 512 << 10

// contentFingerprint is what a rejection of a pushed pack remembers: "fp:text:"
// and the hash of what the pack tells an agent, without its name, author and
// version, and without case, white space, hidden characters and compatibility
// forms. Another version number or a new line break is the same content.
func contentFingerprint(p *pack.Pack) string {
	h := sha256.New()
	part := func(name string, data []byte) {
		text := string(data)
		if len(data) <= maxPlainText && utf8.Valid(data) {
			text = plainText(text)
		}
		fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(text), text)
	}
	part("description", []byte(p.Description))
	ids := make([]string, 0, len(p.Tools))
	for id, version := range p.Tools {
		ids = append(ids, id+"@"+version)
	}
	slices.Sort(ids)
	part("tools", []byte(strings.Join(ids, " ")))
	for _, f := range p.Files {
		switch {
		case f.Path != p.Format.ManifestFile():
			part(f.Path, f.Data)
		case p.Format == pack.Kazma:
			part("manifest", withoutKeys(f.Data, "name", "version", "author", "checksum", "signature"))
		case p.Format == pack.SkillMD:
			part("body", p.SkillMD.Body)
		}
	}
	return "fp:text:" + hex.EncodeToString(h.Sum(nil))
}

// plainText is a text without what does not change its sense.
func plainText(s string) string {
	var out strings.Builder
	for _, word := range strings.Fields(norm.NFKC.String(s)) {
		word = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return unicode.ToLower(r)
		}, word)
		if word != "" {
			out.WriteString(word)
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// withoutKeys drops top-level lines of a flat YAML text.
func withoutKeys(data []byte, keys ...string) []byte {
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		key, _, found := strings.Cut(line, ":")
		if !found || !slices.Contains(keys, key) {
			out.WriteString(line)
		}
	}
	return []byte(out.String())
}
