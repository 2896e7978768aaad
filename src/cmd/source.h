/* source.h: options of commands that show code (which functions, where sources are, how machine
 * code is written), and the function that makes and prints a listing. */
#pragma once

#include "base/regex.h"
#include "cmd/cmd.h"
#include "cmd/lookup.h"
#include "source/text.h"
#include "view/listing.h"

typedef struct pt_text_settings {
    const char *source_path, *trim_path;
    int64_t context;
    bool whole;
    int64_t functions;
} pt_text_settings;

/* Rows for a settings struct with a field `text` of this type. */
#define PT_TEXT_ROWS(settings, lines)                                                              \
    PT_ROW("context", INT, settings, text.context, .letter = 'C', .initial = "3", .min = 0,        \
           .max = 1000000, .help = "show this many " lines " around those with samples",           \
           .details = "A line with dots stands for the lines left out."),                          \
        PT_ROW("whole", FLAG, settings, text.whole, .help = "show all lines of a function",        \
               .details = "From its start, if that is known, to its last sample."),                \
        PT_ROW("functions", INT, settings, text.functions, .letter = 'n', .initial = "10",         \
               .min = 0, .max = INT64_MAX,                                                         \
               .help = "show this many functions, the heaviest first; 0 shows all",                \
               .details = "The last line shows how many more there are."),                         \
        PT_ROW("source-path", STRING, settings, text.source_path, .metavar = "DIR[:DIR...]",       \
               .help = "where source files are (default: the current folder)",                     \
               .details = "Relative names are searched for in each of the folders and in all "     \
                          "folders above it. Without --trim-path pitot first removes the part of " \
                          "a name up to the base name of one of the folders.",                     \
               .group = "Sources"),                                                                \
        PT_ROW("trim-path", STRING, settings, text.trim_path, .metavar = "PREFIX[:PREFIX...]",     \
               .help = "remove these prefixes from the names of source files",                     \
               .details = "For programs that were built in another folder: the prefix "            \
                          "/build/app-1.2 shortens /build/app-1.2/src/x.c to src/x.c.")

/* How machine code is shown. */
typedef struct pt_code_settings {
    bool intel;
    enum { PT_CODE_AUTO, PT_CODE_CAPSTONE, PT_CODE_OBJDUMP } with;
} pt_code_settings;

/* Rows for a settings struct with a field `code` of this type. */
#define PT_CODE_ROWS(settings)                                                                     \
    PT_ROW("intel", FLAG, settings, code.intel, .flags = PT_OPT_NEGATABLE,                         \
           .aliases = "intel-syntax", .help = "x86 instructions in Intel's syntax",                \
           .details = "The default is AT&T's syntax, as in GNU's tools: the target comes last.",   \
           .group = "Instructions"),                                                               \
        PT_ROW("with", CHOICE, settings, code.with, .initial = "auto",                             \
               .choices = "auto capstone objdump", .help = "the disassembler",                     \
               .details = "auto: capstone if pitot has it, otherwise objdump from the folders of " \
                          "PPROF_TOOLS or PATH.")

/* The owner of the data in pt_code_options. Pair with pt_cmd_code_done. */
typedef struct pt_cmd_code {
    pt_code_options options;
    pt_lookup lookup;
    pt_source_search search; /* of sources */
    pt_objdump_tool objdump;
} pt_cmd_code;
/* If settings is NULL, the command shows no instructions, and only code->search may be used. */
void pt_cmd_code_init(pt_cmd_code *code, pt_cmd_context *context, const pt_code_settings *settings);
void pt_cmd_code_done(pt_cmd_code *code);

/* The source texts, which the caller frees with pt_source_texts_free. The texts borrow context and
 * search. A page (context->confined) gets only sources that lie in the user's folders or that
 * images name. */
pt_source_texts *pt_cmd_texts(pt_cmd_context *context, pt_source_search *search,
                              const pt_text_settings *settings);

/* Prints a listing for a command with these settings. Returns the exit status. */
typedef int pt_listing_printer(pt_cmd_context *context, const void *settings,
                               const pt_listing *listing);

/* Makes the listing of the functions that context->pattern names and prints it. The caller fills
 * with_lines, with_calls, fold and symbol_limit of *request. If code is NULL, the listing has no
 * instructions. Returns the exit status; if nothing matches the pattern, the status of
 * pt_cmd_unmatched. */
int pt_cmd_list(pt_cmd_context *context, const pt_text_settings *text, const pt_code_settings *code,
                pt_listing_request *request, pt_listing_printer *print, const void *settings);

/* The value of a pattern that is a hexadecimal number (0x...); 0 for other patterns. */
uint64_t pt_cmd_address(const char *pattern);

/* Compiles context->pattern. On failure prints the reason and returns the exit status. */
int pt_cmd_pattern(pt_cmd_context *context, pt_regex **ret_pattern);

/* Compiles context->pattern. Returns NULL if it is not a regular expression; it may then be a name
 * from a report. */
pt_regex *pt_cmd_name_pattern(const pt_cmd_context *context);

/* Prints that the pattern matches nothing, with similar names. Returns PT_EXIT_NO_MATCH. */
int pt_cmd_unmatched(pt_cmd_context *context);
