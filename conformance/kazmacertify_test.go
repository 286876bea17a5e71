package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/pack"
)

const certManifest = "name: demo\nversion: 1.0.0\ndescription: Shows how signing works.\nauthor: acme\nlicense: MIT\nentry_point: main:Demo\n"

func TestCheckCertification(t *testing.T) {
	six := []string{ReqManifest, ReqLint, ReqCritical, reqEntry, reqDescription, reqLicense}
	for name, tt := range map[string]struct {
		manifest        string
		python          string
		unmet           []string
		score           float64
		basic, standard bool
	}{
		"all":        {certManifest, "class Demo: pass\n", nil, 100, true, true},
		"short":      {"name: demo\nversion: 1.0.0\ndescription: Short.\nauthor: acme\nlicense: MIT\nentry_point: main:Demo\n", "", []string{reqDescription}, 100, true, false},
		"no license": {"name: demo\nversion: 1.0.0\ndescription: Shows how signing works.\nauthor: acme\nentry_point: main:Demo\n", "", []string{ReqManifest, ReqLint, reqLicense}, 70, false, false},
		"no entry":   {"name: demo\nversion: 1.0.0\ndescription: Shows how signing works.\nauthor: acme\nlicense: MIT\nentry_point: gone:Demo\n", "", []string{ReqLint, reqEntry}, 100, false, false},
		"none":       {"name: demo\nversion: 1.0.0\ndescription: Shows how signing works.\nauthor: acme\nlicense: MIT\n", "", nil, 100, true, true},
		"eval":       {certManifest, "eval(x)\n", nil, 80, true, false},
		"os.system":  {certManifest, "os.system(x)\n", []string{ReqLint}, 75, false, false},
		"bad":        {certManifest, "eval(a)\nexec(b)\nos.system(c)\napi_key = 'x'\n", []string{ReqLint, ReqCritical}, 25, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"skill_manifest.yaml": tt.manifest, "main.py": tt.python} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			c, err := CheckCertification(dir)
			if err != nil {
				t.Fatal(err)
			}
			var all, unmet []string
			for _, r := range c.Requirements {
				all = append(all, r.Requirement)
				if !r.Met {
					unmet = append(unmet, r.Requirement)
				}
			}
			if diff := cmp.Diff(six, all); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.unmet, unmet); diff != "" {
				t.Errorf("unmet: %s (errors %v)", diff, c.Errors)
			}
			if c.Score != tt.score || c.Qualifies(false) != tt.basic || c.Qualifies(true) != tt.standard {
				t.Errorf("score %v, basic %v, standard %v", c.Score, c.Qualifies(false), c.Qualifies(true))
			}
			var out bytes.Buffer
			if err := c.WriteJSON(&out); err != nil || !json.Valid(out.Bytes()) {
				t.Errorf("%v: %s", err, out.Bytes())
			}
		})
	}
}

func TestCertificationOutput(t *testing.T) {
	c := KazmaCertification{
		Path: "d\x1b", Score: 80, Errors: []string{}, Warnings: []string{"é"},
		Requirements: []Met{{ReqManifest, true, ""}, {ReqLint, true, ""}, {ReqCritical, true, ""}, {reqEntry, false, ""}},
	}
	var text, doc bytes.Buffer
	if err := c.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `Certification Check for d\x1b
========================================
  [MET] manifest_valid
  [MET] security_lint_pass
  [MET] no_critical_vulnerabilities
  [UNMET] entry_point_exists

Result: 3/4 requirements met
Security Score: 80/100

Qualification:
  [YES] basic badge
  [NO]  standard badge
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
	if err := c.WriteJSON(&doc); err != nil {
		t.Fatal(err)
	}
	want = `{
  "path": "d\u001b",
  "requirements": {
    "manifest_valid": true,
    "security_lint_pass": true,
    "no_critical_vulnerabilities": true,
    "entry_point_exists": false
  },
  "score": 80.0,
  "errors": [],
  "warnings": [
    "\u00e9"
  ]
}
`
	if diff := cmp.Diff(want, doc.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCheckCertificationNeedsAManifest(t *testing.T) {
	dir := t.TempDir()
	if _, err := CheckCertification(dir); err == nil {
		t.Error("no manifest")
	}
	if err := os.WriteFile(filepath.Join(dir, "skill_manifest.yaml"), []byte("{{{{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := CheckCertification(dir); err == nil {
		t.Error("an unreadable manifest")
	}
}

func TestEvaluateEveryFormat(t *testing.T) {
	for name, tt := range map[string]struct {
		files []pack.File
		unmet []string
	}{
		"kazma without a README": {[]pack.File{{Path: "main.py"}, {Path: "skill_manifest.yaml", Data: []byte(certManifest)}}, []string{ReqDocs}},
		"kazma":                  {[]pack.File{{Path: "Readme.rst", Data: []byte("x")}, {Path: "main.py"}, {Path: "skill_manifest.yaml", Data: []byte(certManifest)}}, nil},
		"kortecx": {[]pack.File{
			{Path: "instructions.md", Data: []byte("# x\n")},
			{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"demo","version":"1","description":"Shows how it is done well."}`)},
		}, nil},
		"skill-md":      {[]pack.File{{Path: "SKILL.md", Data: []byte("---\nname: demo\ndescription: Shows how it is done well.\n---\n\n# x\n")}}, nil},
		"skill-md code": {[]pack.File{{Path: "SKILL.md", Data: []byte("---\nname: demo\ndescription: Shows how it is done well.\n---\n\n# x\n")}, {Path: "scripts/a.py", Data: []byte("eval(x); exec(y)\nos.system('z')")}}, []string{ReqLint, ReqCritical}},
		"nothing":       {nil, []string{ReqManifest, ReqLint, ReqDocs}},
	} {
		var unmet []string
		for _, r := range Evaluate("demo", tt.files).Requirements {
			if !r.Met {
				unmet = append(unmet, r.Requirement)
			}
			if r.Why == "" {
				t.Errorf("%s: %s without a reason", name, r.Requirement)
			}
		}
		if diff := cmp.Diff(tt.unmet, unmet); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
