package webui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/timetest"
)

// browser starts a headless Chromium. Screenshots go to KX_SCREENSHOTS where it is
// set, for people to look at.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("KX_TEST_ALL") == "1" {
			t.Fatal("KX_TEST_ALL=1 and there is no Chromium on this machine")
		}
		t.Skip("there is no Chromium on this machine")
	}
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options,
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, cancelTime := context.WithTimeout(ctx, timetest.Limit(90*time.Second))
	t.Cleanup(cancelTime)
	return ctx
}

func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("KX_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

// pageFaults is what a person with a small screen, or one who does not see it,
// would stumble over.
const pageFaults = `(() => {
  const faults = [];
  if (document.documentElement.scrollWidth > window.innerWidth) faults.push("the page is wider than the window: " + document.documentElement.scrollWidth);
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one heading");
  if (!document.documentElement.lang) faults.push("no language");
  for (const field of document.querySelectorAll("input:not([type=hidden]),textarea,select"))
    if (field.labels.length === 0 && !field.getAttribute("aria-label")) faults.push("a field without a label: " + field.name);
  for (const button of document.querySelectorAll("button,a"))
    if (!button.textContent.trim() && !button.getAttribute("aria-label")) faults.push("a control without a name");
  for (const log of document.querySelectorAll("table.log"))
    if (!log.rows[0].cells[2].offsetWidth || log.parentElement.scrollWidth > log.parentElement.clientWidth) faults.push("the log is cut");
  if (document.scripts.length) faults.push("a script");
  return faults.join("; ");
})()`

func TestPagesInABrowser(t *testing.T) {
	ctx := browser(t)
	b := newSite(t, false)
	b.publish("triage", "1", "# Triage\n\nRead the mail.\n\n| step | tool |\n|---|---|\n| search | `gmail/search` |\n", true)
	b.publish("triage", "2", "# Triage\n\nRead all of the mail, and never send.\n", false)
	b.publish("digest", "1", "# Digest\n\n"+strings.Repeat("A word after another makes a long line. ", 40)+"\n", true)
	url := b.server.URL
	for i, step := range []struct{ name, path string }{
		{"login", "/login"},
		{"catalogue", "/"},
		{"search", "/?q=mail"},
		{"release", "/skills/acme/triage"},
		{"file", "/skills/acme/triage/1/files/skill.json"},
		{"diff", "/diff/acme/triage/1/2"},
		{"inbox", "/inbox"},
		{"review", "/inbox/acme/triage/2"},
		{"log", "/log"},
		{"docs", "/docs"},
		{"absent", "/skills/acme/absent"},
	} {
		if i == 1 {
			logInByKeyboard(t, ctx, url)
		}
		looks(t, ctx, step.name, url+step.path)
	}
}

// looks opens a page wide and light, narrow and dark, and finds its faults.
func looks(t *testing.T, ctx context.Context, name, url string) {
	t.Helper()
	for _, look := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"wide-light", 1280, 800, "light"}, {"narrow-dark", 360, 740, "dark"}} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}}
		if _, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (cdp.Empty, error) {
			return cdp.Call(ctx, target, emulation.SetEmulatedMedia, media)
		}); err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(look.width, look.height), chromedp.Navigate(url), chromedp.WaitReady("main")); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		faults, err := chromedp.Run(ctx, chromedp.Evaluate[string](pageFaults))
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if faults != "" {
			t.Errorf("%s, %s: %s", url, look.name, faults)
		}
		screenshot(t, ctx, fmt.Sprintf("%s-%s", name, look.name))
	}
}

// logInByKeyboard types the key into the field that has the focus.
func logInByKeyboard(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	if err := chromedp.Do(ctx,
		chromedp.Navigate(url+"/login?next=/"),
		chromedp.WaitReady("#key"),
		chromedp.KeyEvent("reviewer-key"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(`input[name="q"]`),
	); err != nil {
		t.Fatal(err)
	}
	heading, err := chromedp.Run(ctx, chromedp.Text("h1"))
	if err != nil || heading != "Skills" {
		t.Fatalf("login by keyboard: %q, %v", heading, err)
	}
}

// A reviewer who uses only the keyboard finds what waits and approves it.
func TestApproveByKeyboard(t *testing.T) {
	ctx := browser(t)
	b := newSite(t, false)
	b.publish("triage", "1", "# Triage\n\nRead the mail.\n", false)
	logInByKeyboard(t, ctx, b.server.URL)
	tabTo, press := keyboard(t, ctx)
	tabTo("Inbox")
	press(`a[href="/inbox/acme/triage/1"]`)
	tabTo("acme/triage")
	press("#decide")
	tabTo("Approve")
	press(".notice")
	if notice, err := chromedp.Run(ctx, chromedp.Text(".notice")); err != nil || !strings.HasPrefix(notice, "acme/triage@1 is active") {
		t.Errorf("after approving: %q, %v", notice, err)
	}
	r, err := b.hub.Release(t.Context(), hub.LocalAdmin(), hubapi.Ref{Author: "acme", Name: "triage"})
	if err != nil || r.ApprovedBy != "rea" {
		t.Errorf("approved by %q, %v", r.ApprovedBy, err)
	}
}

// keyboard gives what a person does who has no mouse: going to a control with the Tab
// key, and pressing it until the page has what comes next.
func keyboard(t *testing.T, ctx context.Context) (tabTo, press func(string)) {
	tabTo = func(text string) {
		t.Helper()
		for range 60 {
			if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
				t.Fatal(err)
			}
			at, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.activeElement.textContent.trim()`))
			if err != nil {
				t.Fatal(err)
			}
			if at == text {
				return
			}
		}
		t.Fatalf("no way to %q with the Tab key", text)
	}
	press = func(ready string) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(ready)); err != nil {
			t.Fatal(err)
		}
	}
	return tabTo, press
}
