package scripttest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

// ownHub makes a hub in a fresh KX_HOME with n active skills and one that waits.
func ownHub(t *testing.T, n int) (home string) {
	t.Helper()
	home = t.TempDir()
	store, err := sqlstore.Open(t.Context(), filepath.Join(home, "hub"), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	h := hub.New(store, hub.Config{Now: time.Now})
	push := func(name string, approve bool) {
		_, err := h.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{Name: name, Approve: approve, Files: []pack.File{{
			Path: "SKILL.md", Data: fmt.Appendf(nil, "---\nname: %s\ndescription: Does what %s does.\n---\n\n# %s\n\n%s", name, name, name, strings.Repeat("Do it well.\n", 200)),
		}}})
		if err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := worker; i < n; i += 16 {
				push(fmt.Sprintf("skill-%d", i), true)
			}
		})
	}
	wg.Wait()
	push("secret", false)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return home
}

func mcpCommand(t *testing.T, home string, args ...string) *exec.Cmd {
	cmd := exec.Command(program(t, "kx"), append([]string{"mcp"}, args...)...)
	cmd.Env = []string{"HOME=" + home, "KX_HOME=" + home, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// The library's client over standard streams, in both eras, over the user's own hub:
// in this process, and through a server that holds it.
func TestMCPOverStandardStreams(t *testing.T) {
	home := ownHub(t, 3)
	check := func(t *testing.T) {
		for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			var stderr strings.Builder
			cmd := mcpCommand(t, home)
			cmd.Stderr = &stderr
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(version, err, stderr.String())
			}
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("%s became %s", version, got)
			}
			out, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_skill", Arguments: map[string]any{"name": "skill-1"}})
			if err != nil || out.IsError || !strings.Contains(out.Content[0].(*mcp.TextContent).Text, "# skill-1") {
				t.Errorf("%s: %+v, %v", version, out, err)
			}
			n := 0
			for resource, err := range session.Resources(t.Context(), nil) {
				if err != nil || strings.Contains(resource.URI, "secret") {
					t.Error(resource, err)
				}
				n++
			}
			if n != 3 {
				t.Errorf("%s: %d resources", version, n)
			}
			if err := session.Close(); err != nil {
				t.Errorf("%s: %v\n%s", version, err, stderr.String())
			}
		}
	}
	t.Run("alone", check)
	serve(t, sqlstore.Place{Dir: filepath.Join(home, "hub")})
	t.Run("beside a server", check)
}

// An agent runs for hours: the hub is not kept from other commands meanwhile.
func TestMCPLeavesTheHubToOthers(t *testing.T) {
	t.Parallel()
	home := ownHub(t, 1)
	cmd := mcpCommand(t, home)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for i := range 3 {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_skill","arguments":{"name":"skill-0"}}}`+"\n", i)
		if !lines.Scan() || !strings.Contains(lines.Text(), "# skill-0") {
			t.Fatal(lines.Text(), lines.Err())
		}
		ctx, cancel := context.WithTimeout(t.Context(), timetest.Limit(5*time.Second))
		other := exec.CommandContext(ctx, program(t, "kx"), "search", "skill", "--json")
		other.Env = cmd.Env
		if out, err := other.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		cancel()
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// design.md: from spawn to the answer of read_skill, whatever the size of the hub; the
// least of 21 runs.
const maxReadSkill = 60 * time.Millisecond

func TestReadSkillIsQuick(t *testing.T) {
	ask := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_skill","arguments":{"uri":"skill://local/skill-0/SKILL.md"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
	for _, n := range []int{1, 1000} {
		home := ownHub(t, n)
		budget := timetest.Budget(maxReadSkill)
		wall, cpu := time.Hour, time.Hour
		for tries := 0; tries < 21 && wall > budget; tries++ {
			cmd := mcpCommand(t, home)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, ask); err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Result struct{ Content []struct{ Text string } }
			}
			if err := json.NewDecoder(out).Decode(&answer); err != nil {
				t.Fatal(err)
			}
			wall = min(wall, time.Since(begun))
			if len(answer.Result.Content) != 1 || !strings.Contains(answer.Result.Content[0].Text, "# skill-0") {
				t.Fatalf("%+v", answer)
			}
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			cpu = min(cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
		t.Logf("%d skills: read_skill from spawn to answer %v, %v CPU", n, wall, cpu)
		if wall > budget {
			t.Errorf("%d skills: %v from spawn to answer, the budget here is %v", n, wall, budget)
		}
	}
}
