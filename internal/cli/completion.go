package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"
)

// The first arguments with which the completion scripts call the program. They are
// handled before the command tree runs, because what follows is a command line that is
// not finished. The library's own scripts need a package that a bare bash has not, and
// evaluate what was typed; these do neither.
const (
	completeWord = "__complete"      // then the words up to the cursor
	completeNext = "__complete_next" // the same, and an empty word at the cursor
	completeLine = "__complete_line" // then what bash would replace, and the line up to the cursor
)

// What stands in a line of its own where the shell itself knows what to offer.
const (
	offerFiles   = ":files"
	offerFolders = ":dirs"
)

// completionScripts are printed by `completion SHELL`; PROGRAM is replaced. Each
// hands what was typed up to the cursor to PROGRAM, past any alias, and takes what comes
// back: candidates with their descriptions, or the word that files or folders are wanted.
var completionScripts = [...]struct{ shell, script string }{
	{"bash", `# bash completion for PROGRAM
_PROGRAM() {
  local line files=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) files=default ;;
      :dirs) files=dirnames ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <(command PROGRAM __complete_line "$2" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  case $files in
    default) ;;
    dirnames) compopt +o default +o bashdefault -o dirnames 2>/dev/null ;;
    *) compopt +o default +o bashdefault 2>/dev/null ;;
  esac
  return 0
}
complete -o bashdefault -o default -F _PROGRAM PROGRAM
`},
	{"zsh", `#compdef PROGRAM
_PROGRAM() {
  local line want=
  local -a typed values shown
  (( CURRENT > 2 )) && typed=("${(@Q)words[2,CURRENT-1]}")
  typed+=("${(Q)PREFIX}")
  while IFS= read -r line; do
    case $line in
      :files|:dirs) want=$line ;;
      *) values+=("${line%%$'\t'*}"); shown+=("${line/$'\t'/  -- }") ;;
    esac
  done < <(command PROGRAM __complete "${typed[@]}" 2>/dev/null)
  if (( ${#values} )); then
    compadd -l -d shown -a values
    return
  fi
  [[ $PREFIX == --*=* ]] && compset -P '*='
  case $want in
    :files) _files ;;
    :dirs) _files -/ ;;
    *) return 1 ;;
  esac
}
if [[ "${funcstack[1]}" == "_PROGRAM" ]]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
`},
	{"fish", `# fish completion for PROGRAM
function __PROGRAM_complete
  set -l words (commandline -opc)
  set -l word (commandline -ct)
  set -l flag (string match -r -- '^--[^=]*=' $word)
  set -l value $word
  test -n "$flag"; and set value (string replace -- "$flag" '' $word)
  for line in (command PROGRAM __complete $words[2..-1] "$word" 2>/dev/null)
    switch $line
      case :files
        for path in (__fish_complete_path "$value")
          echo -- "$flag$path"
        end
      case :dirs
        for path in (__fish_complete_directories "$value" '')
          echo -- "$flag$path"
        end
      case '*'
        echo -- $line
    end
  end
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
`},
	{"pwsh", `# PowerShell completion for PROGRAM
Register-ArgumentCompleter -Native -CommandName PROGRAM, PROGRAM.exe -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object {
      if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
    })
  $how = if ($wordToComplete) { '__complete' } else { '__complete_next' }
  $program = Get-Command -Name PROGRAM -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
  if (-not $program) { return }
  & $program $how @words 2>$null | Where-Object { $_ -notmatch '^:' } | ForEach-Object {
    $value, $what = $_ -split "` + "`t" + `", 2
    if (-not $what) { $what = $value }
    # A comma makes two arguments of one, and @ at the beginning takes a variable apart.
    $typed = if ($value -cmatch '^[A-Za-z0-9._/+:-][A-Za-z0-9._/+:@-]*$') { $value } else { "'" + $value.Replace("'", "''") + "'" }
    [System.Management.Automation.CompletionResult]::new($typed, $value, 'ParameterValue', $what)
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
		long: "SHELL is one of: " + list + ". To have it in every new shell, run once:\n" +
			"  bash        echo 'source <(" + a.program + " completion bash)' >> ~/.bashrc\n" +
			"  zsh         echo 'source <(" + a.program + " completion zsh)' >> ~/.zshrc (behind compinit: autoload -U compinit && compinit)\n" +
			"  fish        mkdir -p ~/.config/fish/completions && " + a.program + " completion fish > ~/.config/fish/completions/" + a.program + ".fish\n" +
			"  PowerShell  add to the file $PROFILE: " + a.program + " completion pwsh | Out-String | Invoke-Expression\n" +
			"What it offers comes from this machine alone: it asks no server, and waits for nothing.",
		examples: []example{{"completion bash", "the script for bash"}, {"completion zsh --json", "the one for zsh, as JSON"}},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		shell := c.Args().First()
		if shell == "powershell" {
			shell = "pwsh" // as its program is called
		}
		for _, s := range completionScripts {
			if s.shell != shell {
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
