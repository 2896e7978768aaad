/* man.c: man pages in roff, from the command and option tables. */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/help.h"
#include "cmd/options.h"
#include "terminal/pager.h"
#include "terminal/progress.h"

static void put_upper(pt_out *out, const char *text)
{
    for (; *text != '\0'; text++)
        pt_out_char(out, (char)toupper((unsigned char)*text));
}

static void put_title(pt_out *out, const char *command)
{
    pt_out_text(out, ".TH PITOT");
    if (command[0] != '\0') pt_out_text(out, "\\-");
    put_upper(out, command);
    pt_outf(out, " 1 " PT_DATE " \"pitot " PT_VERSION "\" \"User Commands\"\n.SH NAME\npitot");
    if (command[0] != '\0') pt_out_text(out, "\\-");
    pt_put_roff(out, command);
    pt_out_text(out, " \\- ");
}

/* ---- Environment and files ---- */

/* A row of ENVIRONMENT or FILES. The page of pitot has all rows. The page of a command has a row if
 * the command has one of the row's needs, or if `commands` contains its name, or if `needs` is
 * EACH_COMMAND. */
typedef struct {
    const char *name, *meaning;
    unsigned needs;       /* PT_NEEDS_x */
    const char *commands; /* " top tree ", or NULL */
} man_row;

#define EACH_COMMAND (~0u)
#define ANY_NAMES    (PT_NEEDS_SYMBOLS | PT_OFFERS_SYMBOLS | PT_OFFERS_PLACES)

static const man_row variables[] = {
    {"BROWSER", "The browser that pitot starts.", 0, " serve pprof google-pprof "},
    {"DEBUGINFOD_CACHE_PATH", "The folder for files from debuginfod servers.", ANY_NAMES, NULL},
    {"DEBUGINFOD_MAXSIZE", "Refuse files from debuginfod servers above this number of bytes.",
     ANY_NAMES, NULL},
    {"DEBUGINFOD_MAXTIME", "Give up on a debuginfod download after this number of seconds.",
     ANY_NAMES, NULL},
    {"DEBUGINFOD_TIMEOUT",
     "Give up on a debuginfod server that sends less than 100 KB in this number of seconds (90).",
     ANY_NAMES, NULL},
    {"DEBUGINFOD_URLS", "The debuginfod servers, separated by blanks. Without it there are none.",
     ANY_NAMES, NULL},
    {"DISPLAY, WAYLAND_DISPLAY",
     "Without one of them pitot starts no viewer and no browser of its "
     "own choice.",
     0, " serve pprof google-pprof "},
    {"NO_COLOR", "If it is not empty, reports have no colour unless --color requests it.",
     EACH_COMMAND, NULL},
    {PT_MEMORY_VARIABLE,
     "The most memory that a command may take without --max-memory: 64k, 1.5G. Without both it is "
     "a "
     "quarter of the memory that the machine allows.",
     EACH_COMMAND, NULL},
    {PT_PROGRESS_VARIABLE,
     "The milliseconds of silence after which a terminal gets a line that says how far long work "
     "is "
     "(1000).",
     PT_NEEDS_PROFILE, NULL},
    {PT_PAGER_VARIABLE ", PAGER",
     "The program that shows a report that does not fit on the screen; less without both. Empty or "
     "cat: none. LESS is set to FRX if it is not set.",
     EACH_COMMAND, NULL},
    {"PPROF_BINARY_PATH", "Folders of programs and libraries, separated by colons.", ANY_NAMES,
     NULL},
    {"PPROF_TMPDIR", "The folder for profiles that servers return.", PT_NEEDS_PROFILE, NULL},
    {"PPROF_TOOLS", "Folders with objdump, separated by colons.", 0,
     " disasm weblist serve shell pprof google-pprof "},
    {"TERM", "If it is dumb, reports have no colour and no pager.", EACH_COMMAND, NULL},
    {"TMPDIR", "The folder for temporary files; /tmp without it.", PT_NEEDS_PROFILE, " record "},
    {"XDG_CACHE_HOME", "The parent of the folder pitot for caches; ~/.cache without it.", ANY_NAMES,
     " record "},
    {"XDG_STATE_HOME",
     "The parent of the folder pitot for histories and questions; ~/.local/state without it.", 0,
     " shell serve pprof google-pprof "},
};

static const man_row files[] = {
    {PT_DEFAULT_PROFILE,
     "The profile that pitot record writes, and that reports read if no profile is named.",
     PT_NEEDS_PROFILE, " record "},
    {"~/.cache/pitot/names", "Names that debug information gave to addresses.", ANY_NAMES, NULL},
    {"~/.cache/pitot/tables", "Unwind tables of large programs.", 0, " record "},
    {"~/.cache/debuginfod_client", "Files from debuginfod servers.", ANY_NAMES, NULL},
    {"~/.editrc", "Keys of the line editor.", 0, " shell pprof google-pprof "},
    {"~/.local/state/pitot", "Histories of the shells; questions that the page keeps.", 0,
     " shell serve pprof google-pprof "},
    {"~/pprof", "Profiles that servers returned.", PT_NEEDS_PROFILE, " pprof google-pprof "},
    {"~/pprof/binaries", "Programs and libraries, if PPROF_BINARY_PATH is not set.", ANY_NAMES,
     NULL},
    {"/dev/shm/pitot-record-*",
     "The samples of a recording until it ends. pitot recover reads "
     "those of a killed recording.",
     0, " record recover "},
};

static bool is_row_of(const man_row *row, const pt_command *command)
{
    if (command == NULL || row->needs == EACH_COMMAND || row->needs & command->needs) return true;
    PT_FREE char *word = pt_strf(" %s ", command->name);
    return row->commands != NULL && strstr(row->commands, word) != NULL;
}

/* Puts the rows of a command's page; if command is NULL, the rows of pitot's page. */
static void put_rows(pt_out *out, const char *title, const man_row *rows, size_t count,
                     const pt_command *command)
{
    bool is_titled = false;
    for (const man_row *row = rows; row < rows + count; row++) {
        if (!is_row_of(row, command)) continue;
        if (!is_titled) pt_outf(out, ".SH %s\n", title);
        is_titled = true;
        pt_out_text(out, ".TP\n");
        pt_put_roff(out, row->name);
        pt_out_char(out, '\n');
        pt_put_roff(out, row->meaning);
        pt_out_char(out, '\n');
    }
}

static void put_environment_and_files(pt_out *out, const pt_command *command)
{
    put_rows(out, "ENVIRONMENT", variables, PT_COUNT(variables), command);
    put_rows(out, "FILES", files, PT_COUNT(files), command);
}

/* ---- Pages ---- */

static void put_exit_statuses(pt_out *out)
{
    pt_out_text(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < pt_exit_text_count; i++) {
        pt_outf(out, ".TP\n%d\n", pt_exit_texts[i].status);
        pt_put_roff(out, pt_exit_texts[i].meaning);
        pt_out_char(out, '\n');
    }
}

void pt_man_main(pt_out *out)
{
    put_title(out, "");
    pt_out_text(out, "record, read and convert CPU profiles\n.SH SYNOPSIS\n"
                     ".B pitot\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n.br\n"
                     ".B pitot\n.I FILE\n.SH DESCRIPTION\n"
                     "pitot shows where a program's CPU time goes.\n");
    pt_put_roff(
        out, "`pitot FILE` is the same as `pitot top FILE`; `pitot` alone shows " PT_DEFAULT_PROFILE
             " if the current folder has one. pitot recognises files by their content: an ELF "
             "image among "
             "the arguments of a report is the program, the other files are profiles.\n");
    for (int g = 0; g < PT_GROUP_COUNT; g++) {
        bool titled = false;
        for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
            if ((int)(*c)->group != g) continue;
            if (!titled) pt_outf(out, ".SS %s\n", pt_group_titles[g]);
            titled = true;
            pt_outf(out, ".TP\n.BR pitot\\-%s (1)\n", (*c)->name);
            pt_put_roff(out, (*c)->summary);
            pt_out_char(out, '\n');
        }
    }
    put_exit_statuses(out);
    put_environment_and_files(out, NULL);
}

void pt_man_command(pt_out *out, const pt_command *command)
{
    pt_command_options o;
    pt_command_options_init(&o, command, NULL, NULL);
    put_title(out, command->name);
    pt_put_roff(out, command->summary);
    pt_outf(out, "\n.SH SYNOPSIS\n.B pitot %s\n[\\fIOPTION\\fR...]\n", command->name);
    pt_put_roff(out, command->arguments);
    pt_out_text(out, "\n.SH DESCRIPTION\n");
    pt_put_roff(out, command->description);
    pt_out_text(out, "\n.SH OPTIONS\n");
    pt_options_man(&o.options, out);
    if (command->examples != NULL) pt_out_text(out, ".SH EXAMPLES\n");
    for (const char *const *e = command->examples; e != NULL && e[0] != NULL; e += 2) {
        pt_out_text(out, ".TP\n.B ");
        pt_put_roff(out, e[0]);
        pt_out_char(out, '\n');
        pt_put_roff(out, e[1]);
        pt_out_char(out, '\n');
    }
    put_exit_statuses(out);
    put_environment_and_files(out, command);
    pt_out_text(out, ".SH SEE ALSO\n.BR pitot (1)\n");
}
