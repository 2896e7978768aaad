/* completion.c: completion scripts. Each holds the options of every command, from the tables; other
 * words complete as file names. */
#include <string.h>

#include "base/text.h"
#include "cmd/help.h"
#include "cmd/options.h"

/* Calls put for each long option of a command: its spelling, whether it takes an argument, its
 * choices ("" = none) and its help. */
typedef void put_option(pt_out *out, const char *command, const char *spelling, const char *kind,
                        const char *words, const char *help);

static void each_option(pt_out *out, const pt_command *command, put_option *put)
{
    pt_command_options o;
    pt_buf lines = PT_BUF_INIT;
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
        if (line != NULL) put(out, command->name, spelling, kind, words, line);
    }
    pt_buf_done(&lines);
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

/* ---- bash ---- */

static void put_bash_option(pt_out *out, const char *command, const char *spelling,
                            const char *kind, const char *words, const char *help)
{
    pt_outf(out, " %s%s", spelling,
            pt_begins(spelling, "--") && strcmp(kind, "flag") != 0 ? "=" : "");
}

static void put_bash(pt_out *out)
{
    pt_out_text(out, "# bash completion for pitot\n_pitot() {\n"
                     "    local word=${COMP_WORDS[COMP_CWORD]} options=\n"
                     "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                     "        mapfile -t COMPREPLY < <(compgen -W '");
    put_all_names(out);
    pt_out_text(out, "' -- \"$word\"; compgen -f -- \"$word\")\n        return\n    fi\n"
                     "    case ${COMP_WORDS[1]} in\n");
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        pt_out_text(out, "    ");
        put_names(out, *c, "|");
        pt_out_text(out, ") options='");
        each_option(out, *c, put_bash_option);
        pt_out_text(out, "' ;;\n");
    }
    pt_out_text(out, "    esac\n"
                     "    case $word in\n"
                     "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
                     "        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace ;;\n"
                     "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
                     "    esac\n}\ncomplete -o filenames -F _pitot pitot\n");
}

/* ---- fish ---- */

/* In single quotes for fish. */
static void put_quoted(pt_out *out, const char *text)
{
    pt_out_char(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') pt_out_char(out, '\\');
        pt_out_char(out, *text);
    }
    pt_out_char(out, '\'');
}

static void put_fish_option(pt_out *out, const char *command, const char *spelling,
                            const char *kind, const char *words, const char *help)
{
    const bool is_long = pt_begins(spelling, "--");
    pt_outf(out, "complete -c pitot -n '__fish_seen_subcommand_from %s' %s %s", command,
            is_long ? "-l" : "-s", spelling + (is_long ? 2 : 1));
    if (strcmp(kind, "flag") != 0) pt_out_text(out, " -r");
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
    pt_out_text(out, "# fish completion for pitot\n");
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        pt_outf(out, "complete -c pitot -n __fish_use_subcommand -a %s -d ", (*c)->name);
        put_quoted(out, (*c)->summary);
        pt_out_char(out, '\n');
        each_option(out, *c, put_fish_option);
    }
}

/* ---- zsh ---- */

/* In single quotes for zsh's _arguments and _describe, whose own marks are escaped. */
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

static void put_zsh_option(pt_out *out, const char *command, const char *spelling, const char *kind,
                           const char *words, const char *help)
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
    }
    pt_out_char(out, '\'');
}

static void put_zsh(pt_out *out)
{
    pt_out_text(out, "#compdef pitot\n_pitot() {\n    local -a commands=(\n");
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        pt_outf(out, "        '%s:", (*c)->name);
        put_zsh_text(out, (*c)->summary);
        pt_out_text(out, "'\n");
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
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) != 0) continue;
        shells[i].put(out);
        return true;
    }
    return false;
}
