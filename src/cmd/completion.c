/* completion.c: completion scripts. Each script holds the options of every command with their
 * choices, from the tables of options. To complete a function of the profile the script runs `pitot
 * top`, to complete a process it reads /proc; other words complete as file names. */
#include <string.h>

#include "base/text.h"
#include "cmd/help.h"
#include "cmd/options.h"

/* Puts one option of a command into a script. spelling: "--by" or "-n"; kind: "flag", "value" or
 * "choice"; words: the choices, or the name of the value ("" = none). each_option calls such a
 * function for each spelling of each option. */
typedef void put_option(pt_out *out, const pt_command *command, const char *spelling,
                        const char *kind, const char *words, const char *help);

static void each_option(pt_out *out, const pt_command *command, put_option *put)
{
    pt_command_options o;
    PT_AUTO(pt_buf) lines = PT_BUF_INIT;
    pt_out to_lines;
    pt_command_options_init(&o, command, NULL, NULL);
    pt_out_to_buf(&to_lines, &lines);
    pt_options_complete(&o.options, &to_lines);
    pt_out_done(&to_lines, NULL);
    pt_buf_text(&lines);
    char *rest = (char *)lines.data;
    for (char *line; rest != NULL && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
        const char *spelling = strsep(&line, "\t");
        const char *kind = strsep(&line, "\t");
        const char *words = strsep(&line, "\t");
        if (line != NULL) put(out, command, spelling, kind, words, line);
    }
}

static void put_names(pt_out *out, const pt_command *command, const char *separator)
{
    pt_out_text(out, command->name);
    for (const char *const *a = command->aliases; a != NULL && *a != NULL; a++)
        pt_outf(out, "%s%s", separator, *a);
}

static void put_all_names(pt_out *out)
{
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        if (c != pt_commands) pt_out_char(out, ' ');
        put_names(out, *c, " ");
    }
}

/* Is the option's value a function of the profile, so that the script lists the functions'
 * names? */
static bool is_function(const char *spelling, const char *words)
{
    return strcmp(words, "PATTERN") == 0 && !pt_begins(spelling, "--tag-");
}

static bool is_process(const char *words)
{
    return pt_begins(words, "PID|NAME");
}

static bool names_functions(const pt_command *command)
{
    return (command->needs & (PT_TAKES_PATTERN | PT_MAY_TAKE_PATTERN)) != 0;
}

/* Names without spaces and shell characters: the heaviest functions of the profile, from the CSV of
 * `pitot top`, and processes. */
#define LIST_FUNCTIONS(profile)                                                                    \
    "pitot top --csv -n 500 --color=never " profile " 2>/dev/null |\n"                             \
    "        sed -n 's/^\\([^,]*,\\)\\{4\\}\\([A-Za-z_][A-Za-z0-9_:.~]*\\),.*/\\2/p'"
#define LIST_PROCESSES "cat /proc/*/comm 2>/dev/null | sort -u | grep -x '[A-Za-z0-9_.-]*'"

/* For bash and zsh. */
static const char shell_lists[] =
    "# Functions of the profile among the words, or of " PT_DEFAULT_PROFILE ".\n"
    "_pitot_functions() {\n"
    "    local word profile=" PT_DEFAULT_PROFILE "\n"
    "    for word; do [ ! -f \"$word\" ] || profile=$word; done\n"
    "    [ ! -f \"$profile\" ] || " LIST_FUNCTIONS("\"$profile\"") "\n}\n"
                                                                   "_pitot_processes() {\n"
                                                                   "    " LIST_PROCESSES "\n}\n";

#define HELP_TOPICS "samples reading names dcpi"

/* ---- bash ---- */

static void put_bash_option(pt_out *out, const pt_command *command, const char *spelling,
                            const char *kind, const char *words, const char *help)
{
    pt_outf(out, " %s%s", spelling,
            pt_begins(spelling, "--") && strcmp(kind, "flag") != 0 ? "=" : "");
}

/* Puts " --by=function --by=file" for an option with choices. For an option whose values the script
 * finds when it runs, puts " --focus=@functions" or " --pid=@processes". */
static void put_bash_value(pt_out *out, const pt_command *command, const char *spelling,
                           const char *kind, const char *words, const char *help)
{
    if (is_function(spelling, words)) pt_outf(out, " %s=@functions", spelling);
    if (is_process(words)) pt_outf(out, " %s=@processes", spelling);
    if (strcmp(kind, "choice") != 0) return;
    const char *word;
    for (size_t n; (n = pt_next_word(&words, &word)) > 0;)
        pt_outf(out, " %s=%.*s", spelling, (int)n, word);
}

/* Variables of the script. word: the text from the last space to the cursor. typed: the part of
 * word that is completed, which follows an "=" if there is one. readline replaces the text after
 * the last "=" or ":". */
static const char bash_end[] =
    "    esac\n"
    "    if [[ $word == --*=* ]]; then\n"
    "        name=${word%%=*} typed=${word#*=}\n"
    "    elif [[ $before == -* && \" $values\" == *\" $before=\"* ]]; then\n"
    "        name=$before\n"
    "    elif [[ $word == -* ]]; then\n"
    "        list=$options\n"
    "    elif [[ ${COMP_WORDS[1]} == help ]]; then\n"
    "        list=\"$commands " HELP_TOPICS "\"\n"
    "    elif [[ $before == \"${COMP_WORDS[1]}\" && -n $first ]]; then\n"
    "        list=$(_pitot_functions \"${COMP_WORDS[@]:2}\")\n"
    "    fi\n"
    "    case \" $values \" in\n"
    "    *\" $name=@functions \"*) list=$(_pitot_functions \"${COMP_WORDS[@]:2}\") ;;\n"
    "    *\" $name=@processes \"*) list=$(_pitot_processes) ;;\n"
    "    *) for value in $values; do\n"
    "            [[ $value != \"$name\"=* ]] || list+=\" ${value#*=}\"\n"
    "        done ;;\n"
    "    esac\n"
    "    [[ -z $list ]] || mapfile -t COMPREPLY < <(compgen -W \"$list\" -- \"$typed\")\n"
    "    if [[ ${#COMPREPLY[@]} = 0 && $typed != -* ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$typed\")\n"
    "        compopt -o filenames\n"
    "    fi\n"
    "    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n"
    "    [[ -z $breaks ]] || base=${word%\"${word##*[\"$breaks\"]}\"}\n"
    "    for value in \"${!COMPREPLY[@]}\"; do\n"
    "        COMPREPLY[value]=${word%\"$typed\"}${COMPREPLY[value]}\n"
    "        COMPREPLY[value]=${COMPREPLY[value]#\"$base\"}\n"
    "    done\n"
    "}\ncomplete -F _pitot pitot\n";

static void put_bash(pt_out *out)
{
    pt_outf(out, "# bash completion for pitot\n%s_pitot() {\n", shell_lists);
    pt_out_text(out, "    COMPREPLY=()\n"
                     "    local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^=:]}\n"
                     "    local word=${line##*[[:space:]]} before options='' values='' first=''\n"
                     "    local name=- typed=$word base='' list='' value\n"
                     "    line=${line%\"$word\"}\n"
                     "    line=${line%\"${line##*[![:space:]]}\"} before=${line##*[[:space:]]}\n"
                     "    local commands='");
    put_all_names(out);
    pt_out_text(out, "'\n    if [[ $before == \"${COMP_WORDS[0]}\" ]]; then\n"
                     "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$word\"; "
                     "compgen -f -- \"$word\")\n"
                     "        compopt -o filenames\n        return\n    fi\n"
                     "    case ${COMP_WORDS[1]} in\n");
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        pt_out_text(out, "    ");
        put_names(out, *c, "|");
        pt_out_text(out, ") options='");
        each_option(out, *c, put_bash_option);
        pt_out_text(out, "'\n        values='");
        each_option(out, *c, put_bash_value);
        pt_outf(out, "'%s ;;\n", names_functions(*c) ? " first=1" : "");
    }
    pt_out_text(out, bash_end);
}

/* ---- fish ---- */

/* Puts the text in single quotes for fish. */
static void put_quoted(pt_out *out, const char *text)
{
    pt_out_char(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') pt_out_char(out, '\\');
        pt_out_char(out, *text);
    }
    pt_out_char(out, '\'');
}

static void put_fish_condition(pt_out *out, const pt_command *command)
{
    pt_out_text(out, "complete -c pitot -n '__fish_seen_subcommand_from ");
    put_names(out, command, " ");
    pt_out_text(out, "'");
}

static void put_fish_option(pt_out *out, const pt_command *command, const char *spelling,
                            const char *kind, const char *words, const char *help)
{
    const bool is_long = pt_begins(spelling, "--");
    put_fish_condition(out, command);
    pt_outf(out, " %s %s", is_long ? "-l" : "-s", spelling + (is_long ? 2 : 1));
    if (strcmp(kind, "flag") != 0) pt_out_text(out, " -r");
    if (is_function(spelling, words)) pt_out_text(out, " -f -a '(__pitot_functions)'");
    if (is_process(words)) pt_out_text(out, " -f -a '(__pitot_processes)'");
    if (strcmp(kind, "choice") == 0) {
        pt_out_text(out, " -f -a ");
        put_quoted(out, words);
    }
    pt_out_text(out, " -d ");
    put_quoted(out, help);
    pt_out_char(out, '\n');
}

static void put_fish(pt_out *out)
{
    pt_out_text(out,
                "# fish completion for pitot\n"
                "function __pitot_functions\n    set -l profile " PT_DEFAULT_PROFILE "\n"
                "    for word in (commandline -opc)[3..]\n"
                "        test -f $word; and set profile $word\n    end\n"
                "    test -f $profile; or return\n    " LIST_FUNCTIONS(
                    "$profile") "\nend\n"
                                "function __pitot_processes\n    " LIST_PROCESSES "\nend\n"
                                "complete -c pitot -n '__fish_seen_subcommand_from help' -f -a '");
    put_all_names(out);
    pt_out_text(out, " " HELP_TOPICS "'\n");
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        pt_out_text(out, "complete -c pitot -n __fish_use_subcommand -a '");
        put_names(out, *c, " ");
        pt_out_text(out, "' -d ");
        put_quoted(out, (*c)->summary);
        pt_out_char(out, '\n');
        if (names_functions(*c)) {
            put_fish_condition(out, *c);
            pt_out_text(out, " -a '(__pitot_functions)'\n");
        }
        each_option(out, *c, put_fish_option);
    }
}

/* ---- zsh ---- */

/* Puts the text in single quotes for zsh's _arguments and _describe, with the characters escaped
 * that these functions interpret.
 */
static void put_zsh_text(pt_out *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr(":[]\\", *text) != NULL) pt_out_char(out, '\\');
        if (*text == '\'')
            pt_out_text(out, "'\\''");
        else
            pt_out_char(out, *text);
    }
}

static void put_zsh_option(pt_out *out, const pt_command *command, const char *spelling,
                           const char *kind, const char *words, const char *help)
{
    const bool takes = strcmp(kind, "flag") != 0;
    pt_outf(out, " \\\n            '%s%s[", spelling,
            !takes                      ? ""
            : pt_begins(spelling, "--") ? "="
                                        : "+");
    put_zsh_text(out, help);
    pt_out_char(out, ']');
    if (takes) {
        pt_out_text(out, ":value:");
        if (strcmp(kind, "choice") == 0) pt_outf(out, "(%s)", words);
        if (is_function(spelling, words)) pt_out_text(out, "_pitot_add_functions");
        if (is_process(words)) pt_out_text(out, "_pitot_add_processes");
        if (strcmp(words, "FILE") == 0) pt_out_text(out, "_files");
    }
    pt_out_char(out, '\'');
}

static void put_zsh_command(pt_out *out, const char *name, const pt_command *command)
{
    pt_outf(out, "        '%s:", name);
    put_zsh_text(out, command->summary);
    pt_out_text(out, "'\n");
}

static void put_zsh(pt_out *out)
{
    pt_outf(out, "#compdef pitot\n%s", shell_lists);
    pt_out_text(out, "_pitot_add_functions() {\n"
                     "    local -a names=(${(f)\"$(_pitot_functions $words)\"})\n"
                     "    compadd \"$@\" -a names\n}\n"
                     "_pitot_add_processes() {\n"
                     "    local -a names=(${(f)\"$(_pitot_processes)\"})\n"
                     "    compadd \"$@\" -a names\n}\n"
                     "_pitot() {\n    local -a commands=(\n");
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        for (const char *const *name = (*c)->aliases; name != NULL && *name != NULL; name++)
            put_zsh_command(out, *name, *c);
        put_zsh_command(out, (*c)->name, *c);
    }
    pt_out_text(out, "    )\n    if (( CURRENT == 2 )); then\n"
                     "        _describe command commands\n        _files\n        return\n    fi\n"
                     "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
                     "    case $command in\n");
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        pt_out_text(out, "    ");
        put_names(out, *c, "|");
        pt_out_text(out, ")\n        _arguments");
        each_option(out, *c, put_zsh_option);
        if (names_functions(*c))
            pt_out_text(out, " \\\n            '1:function:_pitot_add_functions'");
        if (strcmp((*c)->name, "help") == 0) {
            pt_out_text(out, " \\\n            '1:command:(");
            put_all_names(out);
            pt_out_text(out, " " HELP_TOPICS ")'");
        }
        pt_out_text(out, " \\\n            '*:file:_files' ;;\n");
    }
    pt_out_text(out, "    *) _files ;;\n    esac\n}\n_pitot \"$@\"\n");
}

bool pt_completion(pt_out *out, const char *shell)
{
    static const struct {
        const char *name;
        void (*put)(pt_out *out);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    for (size_t i = 0; i < PT_COUNT(shells); i++) {
        if (strcmp(shells[i].name, shell) != 0) continue;
        shells[i].put(out);
        return true;
    }
    return false;
}
