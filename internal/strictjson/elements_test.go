package strictjson

import (
	"strings"
	"testing"
)

func TestElements(t *testing.T) {
	for _, c := range []struct{ in, want, fault string }{
		{in: `[]`, want: ``},
		{in: ` [ 1, {"a":[2]} ,"x" ] `, want: `1|{"a":[2]}|"x"`},
		{in: `{"other":{"documents":[9]},"documents":[{"a":1},null]}`, want: `{"a":1}|null`},
		{in: `{"documents":null}`, want: `none`},
		{in: `{"other":[1]}`, want: `none`},
		{in: `null`, want: `none`},
		{in: `7`, fault: "expected an array, found a number"},
		{in: `{"documents":"x"}`, fault: "expected an array, found a string"},
		{in: `{"documents":[],"documents":[1]}`, fault: "json.duplicate"},
		{in: `[{"a":1,"a":2}]`, fault: "json.duplicate"},
		{in: `[1,]`, fault: "json.syntax"},
		{in: `[1] 2`, fault: "json."},
		{in: `[` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40) + `]`, fault: "json.depth"},
		{in: `[` + strings.Repeat(`1,`, maxLaxNodes) + `1]`, fault: "json.too-many"},
	} {
		elements, err := Elements([]byte(c.in), "documents")
		name := c.in[:min(len(c.in), 40)]
		if c.fault != "" {
			f, _ := err.(*Fault)
			if f == nil || !strings.Contains(f.ID+" "+f.Text, c.fault) {
				t.Errorf("%s: %v, want %s", name, err, c.fault)
			}
			continue
		}
		got := "none"
		if elements != nil {
			got = ""
			for i, e := range elements {
				if i > 0 {
					got += "|"
				}
				got += string(e)
			}
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}
