package cli

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/scaffold"
	"github.com/kortecx/kx/scan"
)

// outputOf is a zero value of what a command prints with --json, by its path in the
// tree. The reference page lists the keys; a test keeps the table complete.
func outputOf(path string) any {
	switch path {
	case "kx new skill":
		return struct {
			Name   string   `json:"name"`
			Format string   `json:"format"`
			Path   string   `json:"path"`
			Files  []string `json:"files"`
		}{}
	case "kx new connector":
		return scaffold.Connector{}
	case "kx check":
		return struct {
			Reports []conformance.Report `json:"reports"`
			conformance.Summary
		}{}
	case "kx scan":
		return struct {
			Reports []scan.Report `json:"reports"`
			scan.Summary
		}{}
	case "kx fmt":
		return struct {
			Packs   []mended `json:"packs"`
			Changed bool     `json:"changed"`
			Written bool     `json:"written"`
		}{}
	case "kx mcp":
		return mcpEntry{}
	case "kx convert":
		return converted{}
	case "kx schema":
		return struct {
			Schemas []string `json:"schemas"`
		}{}
	case "kx sign":
		return signResult{}
	case "kx verify":
		return verified{}
	case "kx push":
		return hubapi.PushResult{}
	case "kx pull":
		return pulled{}
	case "kx show":
		return releaseShown{}
	case "kx search":
		return hubapi.SearchResult{}
	case "kx agents":
		return agentList{}
	case "kx doctor":
		return diagnosis{}
	case "kx serve", "kazma serve":
		return struct {
			Address string `json:"address"`
			Data    string `json:"data"`
			PID     int    `json:"pid"`
		}{}
	case "kx demo":
		return demoResult{}
	case "kx completion", "kazma completion":
		return struct {
			Shell  string `json:"shell"`
			Script string `json:"script"`
		}{}
	case "kx man", "kazma man":
		return manWritten{}
	case "kx version", "kazma version":
		return build{}
	}
	for _, more := range []func(string) any{keysOutput, reviewOutput, catalogOutput, operateOutput, kazmaOutput} {
		if v := more(path); v != nil {
			return v
		}
	}
	return nil
}

func keysOutput(path string) any {
	switch path {
	case "kx trust list", "kx trust add", "kx trust remove", "kx trust block", "kx trust unblock":
		return policyDoc{}
	case "kx trust publisher init", "kx trust publisher rotate", "kx trust publisher revoke", "kx trust publisher show", "kx trust publisher publish":
		return publisherDoc{}
	case "kx trust publisher sign":
		return pendingDoc{}
	case "kx trust show":
		return publisherIn{}
	case "kx trust check":
		return trustChecked{}
	case "kx keys new", "kx keys show", "kx keys import":
		return keyInfo{}
	case "kx keys list":
		return struct {
			Keys []keyInfo `json:"keys"`
		}{}
	case "kx keys export":
		return struct {
			Name string `json:"name"`
			PEM  string `json:"pem"`
		}{}
	case "kx keys remove":
		return struct {
			Name    string `json:"name"`
			Removed bool   `json:"removed"`
		}{}
	}
	return nil
}

func reviewOutput(path string) any {
	switch path {
	case "kx inbox list":
		return hubapi.Inbox{}
	case "kx inbox show":
		return hubapi.InboxDetail{}
	case "kx inbox diff":
		return hubapi.Diff{}
	case "kx inbox watch":
		return hubapi.Event{}
	case "kx inbox approve", "kx inbox reject", "kx inbox quarantine", "kx inbox defer", "kx inbox edit", "kx inbox repropose",
		"kx hub withdraw", "kx hub deprecate":
		return hubapi.InboxMove{}
	case "kx fleet list":
		return fleetListed{}
	case "kx fleet show":
		return hubapi.FleetNode{}
	case "kx fleet remove":
		return hubapi.NodeRemoved{}
	case "kx log verify":
		return logSeen{}
	case "kx log prove":
		return logProven{}
	case "kx log audit":
		return hubclient.LogAudit{}
	case "kx log show":
		return logShown{}
	}
	return nil
}

func catalogOutput(path string) any {
	switch path {
	case "kx skills add":
		return hubapi.CatalogAdded{}
	case "kx skills list":
		return hubapi.CatalogList{}
	case "kx skills show":
		return hubapi.CatalogForm{}
	case "kx skills remove":
		return hubapi.CatalogRemoved{}
	case "kx sync":
		return syncOutput{}
	case "kx skills find":
		return foundIn{}
	case "kx skills install":
		return installedAll{}
	case "kx skills update":
		return updated{}
	case "kx skills rollback":
		return rolledBack{}
	case "kx skills outdated":
		return outdatedList{}
	case "kx skills merge-lock":
		return mergedLock{}
	}
	return nil
}

func operateOutput(path string) any {
	switch path {
	case "kx hub token new":
		return hubapi.KeyMade{}
	case "kx hub token list":
		return hubapi.KeyList{}
	case "kx hub token revoke":
		return hubapi.Key{}
	case "kx hub tenant show": // of one tenant: an element of the list
		return hubapi.TenantList{}
	case "kx hub tenant set", "kx hub tenant new":
		return hubapi.Tenant{}
	case "kx hub fsck", "kx hub backup", "kx hub restore":
		return storeReport{}
	case "kx hub migrate":
		return struct {
			Place   string          `json:"place"`
			Pending int             `json:"pending"`
			Steps   []migrationStep `json:"steps"`
		}{}
	case "kx hub export":
		return exported{}
	case "kx hub import":
		return imported{}
	case "kx hub gc":
		return struct {
			Place        string `json:"place"`
			Removed      int    `json:"removed"`
			RemovedBytes int64  `json:"removed_bytes"`
		}{}
	}
	return nil
}

func kazmaOutput(path string) any {
	switch path {
	case "kazma wizard":
		return WizardResult{}
	case "kazma hub sign":
		return struct {
			Name      string `json:"name"`
			File      string `json:"file"`
			Checksum  string `json:"checksum"`
			Signature string `json:"signature"`
		}{}
	case "kazma hub validate":
		return struct {
			Path     string   `json:"path"`
			Passed   bool     `json:"passed"`
			Errors   []string `json:"errors"`
			Warnings []string `json:"warnings"`
			Score    float64  `json:"score"`
		}{}
	case "kazma hub search":
		return kazmaHits{}
	case "kazma hub info":
		return kazmaDescription{}
	case "kazma hub list":
		return kazmaListing{}
	case "kazma hub install", "kazma hub update":
		return kazmaInstalled{}
	case "kazma hub uninstall":
		return kazmaRemoved{}
	case "kazma hub verify":
		return kazmaVerified{}
	case "kazma hub register":
		return hubapi.PushResult{}
	case "kazma hub import-registry":
		return kazmaImported{}
	case "kazma hub publish":
		return kazmaPublication{}
	case "kazma hub submit":
		return kazmaSubmission{}
	case "kazma hub status", "kazma hub badge", "kazma hub check-certification":
		return hubapi.KazmaCertification{}
	case "kazma hub certified":
		return hubapi.KazmaPage{}
	case "kazma hub stats":
		return hubapi.KazmaStats{}
	case "kazma hub certify", "kazma hub revoke":
		return hubapi.Badge{}
	case "kazma hub attest":
		return hubapi.Requirement{}
	}
	return nil
}

// maxOutputDepth bounds how deep keys are listed: below it there are documents that
// have a schema of their own.
const maxOutputDepth = 3

// outputKeys lists the keys of a JSON document as name: type, nested ones with dots.
func outputKeys(v any) []string {
	var keys []string
	listKeys(&keys, "", reflect.TypeOf(v), 0)
	return keys
}

func listKeys(keys *[]string, prefix string, t reflect.Type, depth int) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || isText(t) || depth >= maxOutputDepth {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			listKeys(keys, prefix, f.Type, depth)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		word := typeWord(f.Type)
		if slices.Contains(strings.Split(options, ","), "omitempty") || slices.Contains(strings.Split(options, ","), "omitzero") {
			word += ", may be absent"
		}
		*keys = append(*keys, prefix+name+": "+word)
		listKeys(keys, prefix+name+".", f.Type, depth+1)
	}
}

func isText(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// typeWord is a Go type in the words of JSON.
func typeWord(t reflect.Type) string {
	if t == reflect.TypeFor[json.RawMessage]() {
		return "any value"
	}
	if isText(t) {
		return "string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeWord(t.Elem()) + " or null"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string, base64"
		}
		return "list of " + typeWord(t.Elem())
	case reflect.Map:
		return "object of " + typeWord(t.Elem())
	case reflect.Struct:
		return "object"
	case reflect.Interface:
		return "any value"
	}
	return "number"
}
