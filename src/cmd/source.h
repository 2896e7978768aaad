/* source.h: the options of commands that show code, their functions and their sources. */
#ifndef PT_CMD_SOURCE_H
#define PT_CMD_SOURCE_H

#include "base/regex.h"
#include "cmd/cmd.h"
#include "cmd/lookup.h"
#include "source/text.h"
#include "view/code.h"

typedef struct pt_text_settings {
    const char *source_path, *trim_path;
    int64_t context;
    bool whole;
    int64_t functions;
} pt_text_settings;

/* Rows for a settings struct with a field `text` of this type. */
#define PT_TEXT_ROWS(settings, lines)                                                              \
    {.name = "context",                                                                            \
     .letter = 'C',                                                                                \
     .type = PT_OPT_INT,                                                                           \
     .offset = offsetof(settings, text.context),                                                   \
     .initial = "3",                                                                               \
     .min = 0,                                                                                     \
     .max = 1000000,                                                                               \
     .help = "show this many " lines " around those with samples",                                 \
     .details = "A line with dots stands for the lines left out."},                                \
        {.name = "whole",                                                                          \
         .type = PT_OPT_FLAG,                                                                      \
         .offset = offsetof(settings, text.whole),                                                 \
         .help = "show all lines of a function",                                                   \
         .details = "From its start, if that is known, to its last sample."},                      \
        {.name = "functions",                                                                      \
         .letter = 'n',                                                                            \
         .type = PT_OPT_INT,                                                                       \
         .offset = offsetof(settings, text.functions),                                             \
         .initial = "10",                                                                          \
         .min = 0,                                                                                 \
         .max = INT64_MAX,                                                                         \
         .help = "show this many functions, the heaviest first; 0 shows all",                      \
         .details = "The last line shows how many more there are."},                               \
        {.name = "source-path",                                                                    \
         .type = PT_OPT_STRING,                                                                    \
         .offset = offsetof(settings, text.source_path),                                           \
         .metavar = "DIR[:DIR...]",                                                                \
         .help = "where source files are (default: the current folder)",                           \
         .details = "Relative names are searched for in each of the folders and in all folders "   \
                    "above it. Without --trim-path pitot first removes the part of a name up to "  \
                    "the base name of one of the folders.",                                        \
         .group = "Sources"},                                                                      \
    {                                                                                              \
        .name = "trim-path", .type = PT_OPT_STRING, .offset = offsetof(settings, text.trim_path),  \
        .metavar = "PREFIX[:PREFIX...]",                                                           \
        .help = "remove these prefixes from the names of source files",                            \
        .details = "For programs that were built in another folder: /build/app-1.2 makes "         \
                   "/build/app-1.2/src/x.c the relative name src/x.c."                             \
    }

/* How machine code is shown. */
typedef struct pt_code_settings {
    bool intel;
    enum { PT_CODE_AUTO, PT_CODE_CAPSTONE, PT_CODE_OBJDUMP } with;
} pt_code_settings;

/* Rows for a settings struct with a field `code` of this type. */
#define PT_CODE_ROWS(settings)                                                                     \
    {.name = "intel",                                                                              \
     .type = PT_OPT_FLAG,                                                                          \
     .flags = PT_OPT_NEGATABLE,                                                                    \
     .offset = offsetof(settings, code.intel),                                                     \
     .aliases = "intel-syntax",                                                                    \
     .help = "x86 instructions in Intel's syntax",                                                 \
     .details = "The default is AT&T's syntax, as in GNU's tools: the target comes last.",         \
     .group = "Instructions"},                                                                     \
    {                                                                                              \
        .name = "with", .type = PT_OPT_CHOICE, .offset = offsetof(settings, code.with),            \
        .initial = "auto", .choices = "auto capstone objdump", .help = "the disassembler",         \
        .details = "auto: capstone if pitot has it, otherwise objdump from the folders of "        \
                   "PPROF_TOOLS or PATH."                                                          \
    }

/* The owner of the data in pt_code_options. Pair with pt_cmd_code_done. */
typedef struct pt_cmd_code {
    pt_code_options options;
    pt_lookup lookup;
    pt_source_search search; /* of sources */
    pt_objdump_tool objdump;
} pt_cmd_code;
void pt_cmd_code_init(pt_cmd_code *code, pt_cmd_context *context, const pt_code_settings *settings);
void pt_cmd_code_done(pt_cmd_code *code);

/* The sources, to be freed with pt_source_texts_free; context and search are used until then. Pages
 * (context->confined) get only files in the user's folders, and files that images name. */
pt_source_texts *pt_cmd_texts(pt_cmd_context *context, pt_source_search *search,
                              const pt_text_settings *settings);

/* The address if the pattern is a hexadecimal number (0x...); 0 otherwise. */
uint64_t pt_cmd_address(const char *pattern);

/* Compiles context->pattern. Returns an exit status; a failure was printed. */
int pt_cmd_pattern(pt_cmd_context *context, pt_regex **ret_pattern);

/* The same, but NULL if the pattern is a name as a report shows it: such a name need not be a
 * regular expression. */
pt_regex *pt_cmd_name_pattern(const pt_cmd_context *context);

/* Prints that the pattern matches nothing, with similar names. Returns PT_EXIT_NO_MATCH. */
int pt_cmd_unmatched(pt_cmd_context *context);

#endif
