package scripttest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kortecx/kx/internal/cli"
	"github.com/kortecx/kx/internal/memtest"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/wizard"
)

var update = flag.Bool("update", false, "rewrite the expected outputs inside the scripts")

// tidy removes the programs that binary_test.go built when all tests have run.
type tidy struct{ m *testing.M }

func (t tidy) Run() int {
	defer memtest.Use()()
	timetest.ManyWait(4)
	code := t.m.Run()
	if binaries.dir != "" {
		_ = os.RemoveAll(binaries.dir)
	}
	return code
}

func TestMain(m *testing.M) {
	testscript.Main(tidy{m}, map[string]func(){
		"kx":    func() { os.Exit(cli.Kx(withWizard(cli.System()))) },
		"kazma": func() { os.Exit(cli.Kazma(withWizard(cli.System()))) },
	})
}

// withWizard wires what the mains wire.
func withWizard(env cli.Env) cli.Env {
	env.Wizard = wizard.Run
	return withWaits(env)
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "scripts"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("KX_HOME", filepath.Join(env.WorkDir, ".kx"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"starthub": startHub,
			"servehub": serveHub,
			"exits":    exits,
			"json":     jsonField,
			"chmod2":   chmod,
			"fifo":     fifo,
			"killhub":  killHub,
			"post":     post,
			"chomp":    chomp,
			"servegit": serveGit,
			"holdhub":  holdHub,
			"slowhub":  slowHub,

			"kazmaregistry": kazmaRegistry,
		},
	})
}

// startHub runs `kx serve` for the rest of the script, over the folder given (or
// hub), and points KX_ENDPOINT at it. With "again" it takes the address that
// KX_ENDPOINT has: to a client it is the same hub.
func startHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 2 || len(args) == 2 && args[1] != "again" {
		ts.Fatalf("usage: starthub [DATA [again]]")
	}
	data := ts.MkAbs("hub")
	if len(args) >= 1 {
		data = ts.MkAbs(args[0])
	}
	listen := "127.0.0.1:0"
	if len(args) == 2 {
		listen = strings.TrimPrefix(ts.Getenv("KX_ENDPOINT"), "http://")
	}
	runHub(ts, data, "--dev-allow-local", "--listen", listen)
}

// serveHub is startHub for a hub that wants keys: servehub DATA.
func serveHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: servehub DATA")
	}
	runHub(ts, ts.MkAbs(args[0]), "--listen", "127.0.0.1:0")
}

// runHub runs `kx serve` for the rest of the script and points KX_ENDPOINT at it.
func runHub(ts *testscript.TestScript, data string, flags ...string) {
	program, err := exec.LookPath("kx")
	ts.Check(err)
	logFile, err := os.Create(filepath.Join(ts.Getenv("WORK"), filepath.Base(data)+".log"))
	ts.Check(err)
	cmd := exec.Command(program, append([]string{"serve", "--data", data}, flags...)...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "KX_HOME=" + ts.Getenv("KX_HOME"), "TMPDIR=" + os.TempDir()}
	cmd.Stdout, cmd.Stderr = logFile, logFile
	_ = os.Remove(filepath.Join(data, "server.json"))
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = logFile.Close()
	})
	ts.Setenv("HUB_PID", strconv.Itoa(cmd.Process.Pid))
	for deadline := time.Now().Add(timetest.Limit(20 * time.Second)); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		raw, err := os.ReadFile(filepath.Join(data, "server.json"))
		if err != nil {
			continue
		}
		var server struct{ Address string }
		if json.Unmarshal(raw, &server) == nil && server.Address != "" {
			ts.Setenv("KX_ENDPOINT", server.Address)
			return
		}
	}
	text, _ := os.ReadFile(logFile.Name())
	ts.Fatalf("the hub did not start within 20 s:\n%s", text)
}

// killHub ends the hub the hard way, as a crash would.
func killHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: killhub")
	}
	pid, err := strconv.Atoi(ts.Getenv("HUB_PID"))
	ts.Check(err)
	process, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(process.Kill())
	_, _ = process.Wait()
}

// exits runs a program and wants exactly this exit code: exits CODE PROGRAM ARG...
// Its streams are then in the files stdout and stderr for cmp and grep. A refusal, which
// is every code but 0, leaves the script's folder as it was; exits -partly CODE PROGRAM
// ARG... is for a run that does some of what it was asked and is refused the rest. Where
// all tests are asked for, it is refused with --json too: no output changes a verdict.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	partly := len(args) > 0 && args[0] == "-partly"
	if partly {
		args = args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits [-partly] CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var before map[string]string
	if want != 0 && !partly {
		before, err = state(ts.Getenv("WORK"))
		ts.Check(err)
	}
	run := func(args ...string) (code int) {
		err := ts.Exec(args[0], args[1:]...)
		if exit, ok := err.(*exec.ExitError); ok {
			return exit.ExitCode()
		}
		ts.Check(err)
		return 0
	}
	if before != nil && os.Getenv("KX_TEST_ALL") != "" && args[2] != "serve" && !slices.Contains(args, "--json") {
		if got := run(append(slices.Clone(args[1:]), "--json")...); got != want {
			ts.Fatalf("%s --json exits %d, want %d as without it", strings.Join(args[1:], " "), got, want)
		}
	}
	got := run(args[1:]...)
	if got != want {
		ts.Fatalf("%s exits %d, want %d", strings.Join(args[1:], " "), got, want)
	}
	if before == nil {
		return
	}
	after, err := state(ts.Getenv("WORK"))
	ts.Check(err)
	if list := changes(before, after); len(list) > 0 {
		ts.Fatalf("%s exits %d, and changed something (exits -partly allows it):\n%s", strings.Join(args[1:], " "), got, strings.Join(list, "\n"))
	}
}

// jsonField reads a field of the last standard output, which must be exactly one
// JSON document: json PATH WANT compares, json PATH -> NAME keeps it as $NAME.
// PATH is dotted, with numbers for list places.
func jsonField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: json PATH WANT | json PATH -> NAME")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var doc any
	ts.Check(dec.Decode(&doc))
	if dec.More() {
		ts.Fatalf("standard output holds more than one JSON document")
	}
	value := doc
	for part := range strings.SplitSeq(args[0], ".") {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				ts.Fatalf("no field %q in %v", args[0], doc)
			}
			value = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				ts.Fatalf("no element %q in %v", args[0], doc)
			}
			value = v[i]
		default:
			ts.Fatalf("no field %q in %v", args[0], doc)
		}
	}
	text := fmt.Sprint(value)
	if list, ok := value.([]any); ok {
		text = fmt.Sprintf("[%d]", len(list))
	}
	if args[1] == "->" && len(args) == 3 {
		ts.Setenv(args[2], text)
		return
	}
	want := strings.Join(args[1:], " ")
	if (text == want) == neg {
		ts.Fatalf("%s is %q, want %q (negated: %v)", args[0], text, want, neg)
	}
}

// chmod sets a mode that testscript's own chmod cannot: chmod2 0644 FILE...
func chmod(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: chmod2 MODE FILE...")
	}
	mode, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		ts.Check(os.Chmod(ts.MkAbs(name), os.FileMode(mode)))
	}
}

// chomp takes the final newline from a file, which a script cannot write itself.
func chomp(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		data, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(strings.TrimSuffix(string(data), "\n")), 0o644))
	}
}
