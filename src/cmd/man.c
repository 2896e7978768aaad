/* man.c: man pages in roff, from the command and option tables. */
#include <ctype.h>
#include <string.h>

#include "cmd/help.h"
#include "cmd/options.h"

/* Text that roff takes literally; an empty line begins a paragraph. */
static void put_roff(pt_out *out, const char *text)
{
    bool line_start = true;
    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\'')) pt_out_text(out, "\\&");
        if (text[0] == '\n' && text[1] == '\n') {
            pt_out_text(out, "\n.PP\n");
            text++;
        } else if (*text == '\\') {
            pt_out_text(out, "\\e");
        } else if (*text == '-') {
            pt_out_text(out, "\\-");
        } else {
            pt_out_char(out, *text);
        }
        line_start = *text == '\n';
    }
}

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
    pt_outf(out, " 1 \"\" \"pitot %s\" \"User Commands\"\n.SH NAME\npitot", PT_VERSION);
    if (command[0] != '\0') pt_out_text(out, "\\-");
    put_roff(out, command);
    pt_out_text(out, " \\- ");
}

static void put_exit_statuses(pt_out *out)
{
    pt_out_text(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < pt_exit_text_count; i++) {
        pt_outf(out, ".TP\n%d\n", pt_exit_texts[i].status);
        put_roff(out, pt_exit_texts[i].meaning);
        pt_out_char(out, '\n');
    }
}

void pt_man_main(pt_out *out)
{
    put_title(out, "");
    pt_out_text(out, "CPU profiles: collect, read, convert, answer\n.SH SYNOPSIS\n"
                     ".B pitot\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n.br\n"
                     ".B pitot\n.I FILE\n.SH DESCRIPTION\n"
                     "pitot shows where a program's CPU time goes. ");
    put_roff(
        out,
        "`pitot FILE` is the same as `pitot top FILE`; `pitot` alone shows " PT_DEFAULT_PROFILE
        " if there is one in the current folder. What a file is, is known by its content: an ELF "
        "image among the arguments of a report is the program, the others are profiles.\n");
    for (int g = 0; g < PT_GROUP_COUNT; g++) {
        bool titled = false;
        for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
            if ((int)(*c)->group != g) continue;
            if (!titled) pt_outf(out, ".SS %s\n", pt_group_titles[g]);
            titled = true;
            pt_outf(out, ".TP\n.BR pitot\\-%s (1)\n", (*c)->name);
            put_roff(out, (*c)->summary);
            pt_out_char(out, '\n');
        }
    }
    put_exit_statuses(out);
    pt_out_text(out, ".SH ENVIRONMENT\n.TP\nNO_COLOR\nif it is set to something, reports have no "
                     "colour unless \\-\\-color asks for it\n.TP\n" PT_MEMORY_VARIABLE
                     "\nthe most memory that a command may take where \\-\\-max\\-memory is not "
                     "given, or not an option: 64k, 1.5G\n");
}

void pt_man_command(pt_out *out, const pt_command *command)
{
    pt_command_options o;
    pt_command_options_init(&o, command, NULL, NULL);
    put_title(out, command->name);
    put_roff(out, command->summary);
    pt_outf(out, "\n.SH SYNOPSIS\n.B pitot %s\n[\\fIOPTION\\fR...] ", command->name);
    put_roff(out, command->arguments);
    pt_out_text(out, "\n.SH DESCRIPTION\n");
    put_roff(out, command->description);
    pt_out_text(out, "\n.SH OPTIONS\n");
    pt_options_man(&o.options, out);
    if (command->examples != NULL) pt_out_text(out, ".SH EXAMPLES\n");
    for (const char *const *e = command->examples; e != NULL && e[0] != NULL; e += 2) {
        pt_out_text(out, ".TP\n.B ");
        put_roff(out, e[0]);
        pt_out_char(out, '\n');
        put_roff(out, e[1]);
        pt_out_char(out, '\n');
    }
    put_exit_statuses(out);
    pt_out_text(out, ".SH SEE ALSO\n.BR pitot (1)\n");
}
