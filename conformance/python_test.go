package conformance

import (
	"strings"
	"testing"

	"github.com/kortecx/kx/internal/timetest"
)

func TestPythonPatterns(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		loss         int
	}{
		{"clean", "def f():\n    return 1\n", 0},
		{"eval", "eval ('1')", 20},
		{"eval twice counts once", "eval(1)\neval(2)", 20},
		{"method", "model.eval()", 20},
		{"comment", "# eval(x)", 20},
		{"across lines", "eval\n  (x)", 20},
		{"literal_eval", "literal_eval(x)", 0},
		{"letter before", "éeval(x)", 0},
		{"digit before", "٣eval(x)", 0},
		{"sign before", "→eval(x)", 20},
		{"subprocess", "create_subprocess_exec(x)", 0},
		{"exec", "exec(x)", 20},
		{"not called", "exec = 1", 0},
		{"import", "__import__('x')", 15},
		{"import in a name", "my__import__", 0},
		{"import by itself", "f = __import__", 15},
		{"system", "os.system('ls')", 25},
		{"system with a space", "os. system('ls')", 0},
		{"system imported", "from os import system", 0},
		{"system of another", "macos.system(1)", 0},
		{"key", "api_key = 'x'", 10},
		{"upper case", "API_SECRET=\"x\"", 10},
		{"unanchored", "my_secret='z'", 10},
		{"folded", "PAſſWORD = 'x'", 10},
		{"across lines", "token =\n  'x'", 10},
		{"compared", "if token == 'x'", 0},
		{"annotated", "password: str = 'x'", 0},
		{"from elsewhere", "token = get()", 0},
		{"two secrets count once", "token='a'\npassword='b'", 10},
		{"all", "eval(a); exec(b); os.system(c); api_key='d'", 75},
		{"not UTF-8", "\xffeval(x)", 20},
	} {
		found, loss := pythonPatterns([]byte(tc.source))
		if loss != tc.loss || (len(found) > 0) != (tc.loss > 0) {
			t.Errorf("%s: loss %d, want %d (%v)", tc.name, loss, tc.loss, found)
		}
	}
}

func TestPythonPatternsAreLinear(t *testing.T) {
	timetest.LongInOneGoroutine(t)
	for _, part := range []string{"eval ", "eval", "token ", "secret_", "password   ", "= ", "token = "} {
		pythonPatterns([]byte(strings.Repeat(part, 4<<20/len(part))))
	}
}
