/* output.h: writes a profile to a file: chooses the format, prints the losses, and writes the file
 * whole or not at all. */
#pragma once

#include <string.h>
#include <sys/types.h>

#include "cmd/cmd.h"

/* The options of commands that write a profile. */
typedef struct pt_output_settings {
    const char *output; /* NULL or "-": standard output */
    const char *to;     /* NULL: the file's name chooses */
    const char *event;  /* NULL: the default one */
    const char *losses; /* file for the losses as JSON; NULL: none */
    bool raw;
    bool canonical;
    bool no_private;         /* write the profile that pt_without_private makes */
    const char *keep_labels; /* with no_private: labels that stay */
    mode_t mode; /* mode of the profile's files; PT_MODE_USUAL (0) unless the command sets
                  * another */
} pt_output_settings;

/* Rows of the options for the output file and its format. The settings struct has a field `output`
 * of type pt_output_settings. */
#define PT_OUTPUT_FILE_ROWS(settings)                                                              \
    PT_ROW("output", STRING, settings, output.output, .letter = 'o',                               \
                                                                                                   \
           .metavar = "FILE", .help = "write to this file; - is standard output",                  \
           .details =                                                                              \
               "The end of the name chooses the format, unless --to does. The file appears "       \
               "under its name only when it is complete, and replaces an older one."),             \
        PT_ROW("to", STRING, settings, output.to,                                                  \
                                                                                                   \
               .metavar = "FORMAT", .help = "write in this format; `pitot formats` lists them",    \
               .details =                                                                          \
                   "pitot prints what the format cannot hold; --strict makes a loss an error."),   \
        PT_ROW("losses", STRING, settings, output.losses,                                          \
                                                                                                   \
               .metavar = "FILE", .help = "write the losses as JSON, too; - is standard output",   \
               .details =                                                                          \
                   "Also if --strict refuses to write the profile. Without losses the list is "    \
                   "empty."),                                                                      \
        PT_ROW("canonical", FLAG, settings, output.canonical,                                      \
                                                                                                   \
               .help = "write equal files for equivalent profiles",                                \
               .details = "Adds equal samples up, drops unused rows and sorts all tables."),       \
    {                                                                                              \
        .name = "raw", .type = PT_OPT_FLAG, .offset = offsetof(settings, output.raw),              \
        .help = "do not compress profile.proto (also if FILE ends in .pb)",                        \
        .details = "Without it pitot writes gzip, which all readers of profile.proto accept."      \
    }

/* Like PT_OUTPUT_FILE_ROWS, but also with the option for the event that is written. */
#define PT_OUTPUT_ROWS(settings)                                                                   \
    PT_OUTPUT_FILE_ROWS(settings),                                                                 \
    {                                                                                              \
        .name = "event", .letter = 'e', .type = PT_OPT_STRING,                                     \
        .offset = offsetof(settings, output.event), .metavar = "EVENT",                            \
        .help = "write the values of one event, by number or name",                                \
        .details = "The default is all events. A format with one value a sample gets the "         \
                   "profile's default event, or its last event."                                   \
    }

/* Prints in one line the data that the format does not hold: "folded leaves out 3 addresses, 1
 * comment" (verb: "leaves out"). Prints nothing if there are no losses. */
void pt_cmd_say_losses(const pt_diag *losses, const pt_format *format, const char *verb);
/* Writes the profile. With --strict a loss is an error and nothing is written; else losses are
 * facts for the diag. otherwise: the format to use if neither --to nor the file's name chooses a
 * format; if it is NULL, a missing format is a usage error. Returns the exit status. */
int pt_cmd_write(pt_cmd_context *context, const pt_output_settings *settings,
                 const pt_profile *profile, const char *otherwise);

/* Prints on standard output that a page was written, with the command that opens it: "PATH: 7
 * boxes, 12.0kB; open it in a browser: xdg-open PATH". bytes: the size of the file. */
void pt_cmd_say_page(pt_cmd_context *context, const char *path, uint64_t count, const char *things,
                     uint64_t bytes);

/* The option --mode of commands whose output is a recording: only this user may read the file,
 * unless the option says otherwise. */
#define PT_MODE_ROW(settings, field)                                                               \
    {                                                                                              \
        .name = "mode", .type = PT_OPT_STRING, .offset = offsetof(settings, field),                \
        .initial = "0600", .metavar = "MODE",                                                      \
        .help = "permissions of the file: an octal mode, or umask for the usual ones",             \
        .details = "A recording holds command lines, paths and labels, so only its user may read " \
                   "it. --mode=0644 lets everybody read it."                                       \
    }
/* Parses --mode into *ret_mode. Returns 0, or the exit status of a usage error. */
int pt_cmd_mode(const pt_cmd_context *context, const char *text, mode_t *ret_mode);

/* True if the output goes to standard output. */
bool pt_cmd_writes_stdout(const pt_output_settings *settings);

/* The profile from which a document is made (another profile, a picture, a page). The writers of
 * documents put texts unchanged; so if the document goes to a terminal, each text of the returned
 * profile is on one line. The caller owns one reference. */
const pt_profile *pt_cmd_shown(bool to_stdout, const pt_profile *profile);

/* Does the value of -o stand for standard output? */
static inline bool pt_cmd_is_stdout(const char *output)
{
    return output != NULL && strcmp(output, "-") == 0;
}
