//! The completion scripts of bash, zsh and fish. They know nothing of the command line: they call the program for each completion.

use crate::cli::Cli;
use clap::CommandFactory as _;

/// A script that names the commands that it completes.
pub(super) fn with_commands(script: &str) -> String {
    let command = Cli::command();
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    script.replace("COMMANDS", &names.join(", "))
}

/// For bash 4. To bash, what stands after `=`, `:` or `@` is a word of its own.
pub(super) const BASH: &str = r#"# bash completion for cambium: COMMANDS.
_cambium() {
    local line="${COMP_LINE:0:COMP_POINT}" words current head value help
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current="${words[${#words[@]} - 1]}"
    head="${current%"${current##*[=:@]}"}"
    COMPREPLY=()
    while IFS=$'\t' read -r value help; do
        COMPREPLY+=("${value#"$head"}")
    done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=@/] ]]; then
        compopt -o nospace
    fi
}
complete -o default -F _cambium cambium
"#;

/// For zsh, in a directory of `fpath` or sourced.
pub(super) const ZSH: &str = r#"#compdef cambium
# zsh completion for cambium: COMMANDS.
_cambium() {
    local line value help
    local -a described
    while IFS=$'\t' read -r value help; do
        described+=("${value//:/\\:}:${help}")
    done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#described} )); then
        if [[ ${#described} -eq 1 && ${described[1]%%:*} == *[=@/] ]]; then
            _describe -V cambium described -S ''
        else
            _describe -V cambium described
        fi
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_cambium" ]; then
    _cambium "$@"
else
    compdef _cambium cambium
fi
"#;

/// For fish.
pub(super) const FISH: &str = r#"# fish completion for cambium: COMMANDS.
function __cambium_complete
    set -l before (commandline -opc)
    set -l program $before[1]
    set -e before[1]
    $program __complete -- $before (commandline -ct) 2>/dev/null
end
complete -c cambium -a '(__cambium_complete)'
"#;
