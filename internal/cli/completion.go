package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/termtext"
)

// completeWord is the first argument with which the completion scripts call the
// program. It is handled before the command tree runs, because what follows is a
// command line that is not finished. The library's own scripts need a package that
// a bare bash has not, and evaluate what was typed; these do neither.
const completeWord = "__complete"

// completionScripts are printed by `completion SHELL`; PROGRAM is replaced. Each
// hands the words up to the cursor to PROGRAM __complete, and falls back to file
// names when nothing comes back.
var completionScripts = [...]struct{ shell, script string }{
	{"bash", `# bash completion for PROGRAM
_PROGRAM() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <(PROGRAM __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _PROGRAM PROGRAM
`},
	{"zsh", `#compdef PROGRAM
_PROGRAM() {
  local line
  local -a values shown
  while IFS= read -r line; do
    values+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done < <(PROGRAM __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#values} )); then
    compadd -l -d shown -a values
  else
    _files
  fi
}
if [[ "${funcstack[1]}" == "_PROGRAM" ]]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
`},
	{"fish", `# fish completion for PROGRAM
function __PROGRAM_complete
  set -l words (commandline -opc) (commandline -ct)
  PROGRAM __complete $words[2..-1] 2>/dev/null
end
complete -c PROGRAM -a '(__PROGRAM_complete)'
`},
	{"pwsh", `# PowerShell completion for PROGRAM
Register-ArgumentCompleter -Native -CommandName PROGRAM -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += '' }
  PROGRAM __complete @words 2>$null | ForEach-Object {
    $value, $what = $_ -split "` + "`t" + `", 2
    if (-not $what) { $what = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $what)
  }
}
`},
}

func (a *app) completionCommand() *cli.Command {
	var shells []string
	for _, s := range completionScripts {
		shells = append(shells, s.shell)
	}
	list := strings.Join(shells, ", ")
	return a.leaf("completion", "print a completion script for a shell", spec{
		args: "SHELL", min: 1, max: 1,
		choices: map[string][]string{"": shells},
		long: "SHELL is one of: " + list + ". Load the script into the running shell, or save it where the shell looks:\n" +
			"  bash        source <(" + a.program + " completion bash)\n" +
			"  zsh         source <(" + a.program + " completion zsh), behind compinit\n" +
			"  fish        " + a.program + " completion fish > ~/.config/fish/completions/" + a.program + ".fish\n" +
			"  PowerShell  " + a.program + " completion pwsh | Out-String | Invoke-Expression",
		examples: []example{{"completion bash", "print the script for bash"}},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		for _, s := range completionScripts {
			if s.shell != c.Args().First() {
				continue
			}
			script := strings.ReplaceAll(s.script, "PROGRAM", a.program)
			if c.Bool("json") {
				return a.printJSON(map[string]string{"shell": s.shell, "script": script})
			}
			_, err := fmt.Fprint(a.Stdout, script)
			return err
		}
		return usagef("unknown shell %q; there are: %s", c.Args().First(), list)
	})
}

// complete prints what the last of words could become, one candidate a line with
// its description behind a tab. Nothing means that the shell should offer files.
func (a *app) complete(words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	c, current, pending := a.root, words[len(words)-1], ""
	for i, word := range words[:len(words)-1] {
		switch {
		case word == "--":
			return
		case word == "=" || pending != "":
			if word != "=" {
				pending = "" // the value of a flag
			}
		case strings.HasPrefix(word, "-"):
			name, _, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
			if !hasValue && takesValue(c, name) {
				pending = name
			}
		default:
			if sub := c.Command(word); sub != nil {
				c = sub
			} else if len(c.Commands) > 0 && i > 0 {
				return
			}
		}
	}
	prefix := current
	if name, value, ok := strings.Cut(strings.TrimLeft(current, "-"), "="); ok && strings.HasPrefix(current, "--") {
		a.offerChoices(specOf(c).choices[name], "--"+name+"=", value)
		return
	}
	if current == "=" {
		prefix = ""
	}
	switch {
	case pending != "":
		a.offerChoices(specOf(c).choices[pending], "", prefix)
	case strings.HasPrefix(current, "-"):
		a.offerFlags(c, prefix)
	case len(c.Commands) > 0:
		for _, sub := range c.Commands {
			if !sub.Hidden && strings.HasPrefix(sub.Name, prefix) {
				a.offer(sub.Name, sub.Usage)
			}
		}
	default:
		a.offerChoices(specOf(c).choices[""], "", prefix)
	}
}

func (a *app) offer(value, what string) {
	fmt.Fprintf(a.Stdout, "%s\t%s\n", value, termtext.Escape(strings.ReplaceAll(what, "`", "")))
}

func (a *app) offerChoices(choices []string, before, prefix string) {
	for _, choice := range choices {
		if strings.HasPrefix(choice, prefix) {
			fmt.Fprintf(a.Stdout, "%s%s\n", before, choice)
		}
	}
}

func (a *app) offerFlags(c *cli.Command, prefix string) {
	names := map[string]string{"--help": "show help"}
	for command := c; command != nil; command = parentOf(a.root, command) {
		for _, f := range command.Flags {
			if l, ok := f.(cli.LocalFlag); ok && command != c && l.IsLocal() {
				continue
			}
			names["--"+f.Names()[0]] = flagUsage(f)
		}
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		if strings.HasPrefix(name, prefix) {
			a.offer(name, names[name])
		}
	}
}

// parentOf finds the group that holds a command; the library knows it only once
// the tree has run.
func parentOf(root, c *cli.Command) *cli.Command {
	for _, sub := range root.Commands {
		if sub == c {
			return root
		}
		if found := parentOf(sub, c); found != nil {
			return found
		}
	}
	return nil
}

func takesValue(c *cli.Command, name string) bool {
	for _, f := range c.Flags {
		if d, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) {
			return d.TakesValue()
		}
	}
	return false
}
