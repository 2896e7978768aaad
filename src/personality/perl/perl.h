/* perl.h: declarations that the files of this personality share. The personality prints the
 * numbers, text and dot of the Perl pprof that gperftools shipped until 2.16.
 *
 *   files -> read.c, heap.c: stacks of addresses, each with one value, and the list of mappings
 *         -> libs.c: the object of each address
 *         -> symbols.c: the names of each address as nm and addr2line print them (short name,
 *            FILE:LINE, full name), outermost first
 *         -> reduce.c: uninteresting frames removed, --focus, --ignore, nodes of a granularity
 *         -> text.c, dot.c, list.c, export.c: reports
 *
 * The rules are those of pprof 2.0 of gperftools as it behaves. Where the original leaves an order
 * to a hash table, pitot has the order of first appearance. Numbers are doubles, as in Perl.
 */
#pragma once

#include "base/buf.h"
#include "base/grow.h"
#include "base/index.h"
#include "base/options.h"
#include "base/regex.h"
#include "base/visible.h"
#include "cmd/cmd.h"
#include "model/builder.h"
#include "view/fold.h"

/* ---- Options ---- */

/* The kind of output; a command line chooses at most one. */
typedef enum {
    PT_PERL_TEXT,
    PT_PERL_CALLGRIND,
    PT_PERL_LIST,
    PT_PERL_DISASM,
    PT_PERL_SYMBOLS,
    PT_PERL_GV,
    PT_PERL_EVINCE,
    PT_PERL_WEB,
    PT_PERL_DOT,
    PT_PERL_PS,
    PT_PERL_PDF,
    PT_PERL_SVG,
    PT_PERL_GIF,
    PT_PERL_RAW,
    PT_PERL_COLLAPSED,
    PT_PERL_INTERACTIVE,
} pt_perl_mode;

typedef struct pt_perl_settings {
    bool help, version, self_test, debug;
    bool cum, stacks, heapcheck, show_addresses, no_auto_signal_frames, no_strip_templates;
    bool functions, lines, addresses, files;
    bool text, callgrind, symbols, gv, evince, web, dot, ps, pdf, svg, gif, raw, collapsed,
        interactive;
    const char *list, *disasm;
    const char *base, *add_lib, *lib_prefix, *focus, *ignore, *tools;
    int64_t seconds, node_count, max_degree, scale, test_stride;
    double node_fraction, edge_fraction;
    bool inuse_space, inuse_objects, alloc_space, alloc_objects, show_bytes, drop_negative;
    bool total_delay, contentions, mean_delay;
} pt_perl_settings;

/* ---- The profile ---- */

/* The values of stacks, in the order in which stacks were first added. */
typedef struct pt_perl_profile {
    uint32_t *stack;
    double *value;
    size_t count, stack_cap, value_cap;
    uint32_t *row; /* by stack: its index in the columns; PT_NONE if the profile does not have the
                    * stack */
    size_t row_count, row_cap;
} pt_perl_profile;

typedef enum { PT_PERL_CPU, PT_PERL_HEAP, PT_PERL_GROWTH, PT_PERL_CONTENTION } pt_perl_kind;

typedef struct pt_perl_lib {
    char *path;
    uint64_t start, finish, offset;
} pt_perl_lib;

typedef struct pt_perl_name {
    uint32_t short_name, file_line, full_name; /* words */
} pt_perl_name;

/* The files of libraries and of the program (images.c). */
typedef struct pt_perl_image pt_perl_image;
typedef struct pt_perl_images {
    pt_perl_image **items;
    size_t count, cap;
    pt_index index;
} pt_perl_images;

/* One line of a heap profile, for --stacks. */
typedef struct pt_perl_leak {
    double objects, bytes;
    char *addresses; /* return addresses are moved into their calls */
} pt_perl_leak;

/* Everything that a report needs. */
typedef struct pt_perl_session {
    const pt_perl_settings *settings;
    pt_perl_mode mode;
    pt_grain grain;
    pt_cmd_context *context;
    pt_out *out;

    pt_perl_kind kind;
    unsigned address_digits; /* hexadecimal: 8 or 16 */
    bool symbolized;         /* the files contain their symbols: no program is needed */
    char *program;           /* from the command line, or the name in a symbolized file */
    char *server; /* the URL of the first profile if a server is used instead of a program; else
                   * NULL */
    PT_VECTOR(uint64_t) addresses; /* each once, by its number */
    pt_index address_index;
    pt_builder *tables;      /* texts, whose numbers are called words; stacks of address numbers */
    pt_perl_profile profile; /* the sum of all files, minus the base */
    pt_perl_lib *libs;       /* of the first file; the program is the last */
    size_t lib_count, lib_cap;
    pt_perl_images images;
    pt_perl_leak *leaks;
    size_t leak_count, leak_cap;

    PT_VECTOR(pt_perl_name) names;
    struct {
        struct pt_perl_name_range {
            uint32_t first, count;
        } * items;
        size_t count, cap;
    } name_ranges;         /* by address: its names; an empty range: no names, not even "??" */
    uint32_t *given_names; /* by address: word of the names in a symbolized file, or PT_NONE */
    size_t given_names_count, given_names_cap;
    bool from_model;

    uint64_t *run_callers; /* Callback::Run has a node for each caller: Run#1, Run#2 */
    size_t run_count, run_cap;
} pt_perl_session;

/* Frees the tables, and all else that the session owns. */
void pt_perl_session_done(pt_perl_session *session);

/* The word (number) of a text; equal texts have the same word. `text` must not point into the
 * tables. */
static inline uint32_t pt_perl_word(pt_perl_session *s, const char *text, size_t length)
{
    PT_FREE char *line = NULL;
    if (s->out->is_terminal && pt_has_newline_or_tab(text, length))
        text = line = pt_on_one_line(text, length, &length);
    return pt_builder_string(s->tables, text, length).v;
}
static inline uint32_t pt_perl_wordz(pt_perl_session *s, const char *text)
{
    return pt_perl_word(s, text, strlen(text));
}
/* The text of a word. Valid until the next text gets its number. */
static inline const char *pt_perl_text_of(const pt_perl_session *s, uint32_t word)
{
    return pt_builder_get_text(s->tables, (pt_string_id){word});
}

/* The number of an address. */
uint32_t pt_perl_address(pt_perl_session *session, uint64_t pc);
static inline uint64_t pt_perl_pc(const pt_perl_session *s, uint32_t address)
{
    return s->addresses.items[address];
}

/* The number of a stack of addresses, leaf first; PT_NONE when the tables are full. */
static inline uint32_t pt_perl_stack(pt_perl_session *s, const uint32_t *frames, size_t depth)
{
    return pt_builder_stack(s->tables, frames, depth, PT_STACK_END_UNKNOWN).v;
}
/* The numbers of a stack's addresses, leaf first. Valid until the next stack gets its number. */
static inline const uint32_t *pt_perl_frames(const pt_perl_session *s, uint32_t stack,
                                             size_t *ret_depth)
{
    return pt_builder_stack_frames(s->tables, (pt_stack_id){stack}, ret_depth);
}

/* pt_perl_profile_add adds to the value of a stack (a number from pt_perl_stack);
 * pt_perl_profile_get returns it (0: the profile does not have the stack);
 * pt_perl_profile_total returns the sum over all stacks. */
void pt_perl_profile_add(pt_perl_profile *profile, uint32_t stack, double value);
double pt_perl_profile_get(const pt_perl_profile *profile, uint32_t stack);
double pt_perl_profile_total(const pt_perl_profile *profile);
void pt_perl_profile_done(pt_perl_profile *profile);

/* Writes an address to buf as hexadecimal digits, 8 or 16 as the profile has them, and returns buf,
 * which has room for 17 bytes. */
const char *pt_perl_hex(const pt_perl_session *session, uint64_t address, char *buf);

/* ---- Reading (read.c, heap.c) ---- */

/* Adds the values of a file to profile. first: the session takes the file's kind and its list of
 * mapped objects. Returns false if the file could not be read; the reason is printed. */
bool pt_perl_read(pt_perl_session *session, const char *path, bool first, pt_perl_profile *profile);
/* Read the text of a heap, growth or contention profile after its first line. */
bool pt_perl_read_heap(pt_perl_session *session, const char *header, pt_reader *text, bool first,
                       pt_perl_profile *profile);
bool pt_perl_read_contention(pt_perl_session *session, pt_reader *text, bool first,
                             pt_perl_profile *profile);
/* Does the file begin like a profile that contains its symbols? */
bool pt_perl_is_symbolized(const char *path);

/* ---- Servers (remote.c) ---- */

/* Does an operand name a server? It does if no file has that name, and the name has the form of a
 * server's address. */
bool pt_perl_is_remote(const char *name);
/* For a command line without a program: asks the server of the first profile. The name of its
 * program becomes session->program, the profile's URL session->server. False when the server has no
 * symbols; the reason is printed. */
bool pt_perl_ask_program(pt_perl_session *session, const char *const *names, size_t count);
/* Expands host@N, fetches the profiles whose names are not files, and returns the files of all
 * names. The caller frees each name and the list, also after a failure. */
bool pt_perl_fetch(pt_perl_session *session, const char *const *names, size_t count,
                   char ***ret_files, size_t *ret_count);
/* Asks session->server for the names of all addresses. */
bool pt_perl_ask_names(pt_perl_session *session);

/* ---- Objects and names (libs.c, images.c, nm.c, symbols.c) ---- */

/* Fills session->libs from the first file's list of mapped objects, text[0, size). */
void pt_perl_libs_parse(pt_perl_session *session, const char *text, size_t size);
/* The debugging copy of a library, which has "/usr/lib/debug" before the library's path; NULL if
 * there is none. The caller frees the path. */
char *pt_perl_debugging_library(const char *path);
/* The place of .text in the image at path. Returns false if the file is not an image or has no
 * .text. */
typedef struct pt_perl_text_section {
    uint64_t address, offset, bytes; /* offset: in the file */
} pt_perl_text_section;
bool pt_perl_find_text(const char *path, pt_perl_text_section *ret_text);

/* The list that `nm -n --demangle` prints of an image, as procedures with an end. */
typedef struct pt_perl_procedure {
    uint64_t start, end; /* the end is where the next symbol begins */
    char *name;          /* demangled, followed by "<start>" unless nm.c leaves the name bare */
} pt_perl_procedure;
typedef struct pt_perl_nm {
    pt_perl_procedure *items; /* ascending */
    size_t count, cap;
    bool has_separator; /* a symbol is called _fini; inlined frames are shown only then */
} pt_perl_nm;
/* Lists the procedures of the image at path whose names match the pattern (NULL = all). The list is
 * empty if the file is not an image. */
void pt_perl_nm_init(pt_perl_nm *nm, const pt_perl_session *session, const char *path,
                     const pt_regex *pattern);
void pt_perl_nm_done(pt_perl_nm *nm);

/* The debugging copy of the file at path, or else the file itself. All names of one file give the
 * same image, which belongs to the session. NULL when there is no regular file. The functions below
 * read the image at their first call and keep the answer. */
pt_perl_image *pt_perl_image_find(pt_perl_images *images, const char *path);
bool pt_perl_image_text(pt_perl_image *image, pt_perl_text_section *ret_text);
/* The tool that answers for the image as addr2line does; NULL if the file is not an image. */
struct pt_perl_addr2line *pt_perl_image_tool(pt_perl_session *session, pt_perl_image *image);
const pt_perl_nm *pt_perl_image_procedures(const pt_perl_session *session, pt_perl_image *image);
/* The procedures that match the pattern, which must be the same in all calls until
 * pt_perl_images_forget_matching. */
const pt_perl_nm *pt_perl_image_matching(const pt_perl_session *session, pt_perl_image *image,
                                         const pt_regex *pattern);
void pt_perl_images_forget_matching(pt_perl_images *images);
void pt_perl_images_done(pt_perl_images *images);

/* Finds the names of addrs[0, count), which ascend and are in the image at path. offset: address in
 * the process minus address in the image. Calls sink once for each address that has names, with the
 * names outermost first. */
typedef void pt_perl_names_sink(void *context, size_t index, const pt_perl_name *names,
                                size_t count);
void pt_perl_map_to_symbols(pt_perl_session *session, const char *path, uint64_t offset,
                            const uint64_t *addrs, size_t count, pt_perl_names_sink *sink,
                            void *context);
/* Gives every address its names. */
void pt_perl_symbols_extract(pt_perl_session *session);
/* --symbols: reads maps and addresses from standard input. */
int pt_perl_symbols_print(pt_perl_session *session);

/* A function's name without parameters, template arguments, and leading type. The caller frees. */
char *pt_perl_short_name(const char *name, bool keeps_templates);

/* Sets the names of an address, outermost first. */
void pt_perl_give_names(pt_perl_session *session, uint32_t address, const pt_perl_name *names,
                        size_t count);
/* The names of an address; NULL if it has none. Valid until the next pt_perl_give_names. */
static inline const pt_perl_name *pt_perl_names_of(const pt_perl_session *s, uint32_t address,
                                                   size_t *ret_count)
{
    *ret_count = 0;
    if (address >= s->name_ranges.count || s->name_ranges.items[address].count == 0) return NULL;
    *ret_count = s->name_ranges.items[address].count;
    return s->names.items + s->name_ranges.items[address].first;
}

/* ---- Reducing (reduce.c) ---- */

/* Removes the frames of the profiler and of allocators from every stack; replaces profile. */
void pt_perl_remove_uninteresting(pt_perl_session *session, pt_perl_profile *profile);
/* Keeps the stacks that match the pattern, or (keep is false) those that do not match. Returns
 * false if the pattern is not a regular expression. */
bool pt_perl_filter(pt_perl_session *session, pt_perl_profile *profile, const char *pattern,
                    bool keep);

/* Values by node. A node is a word (pt_perl_word). */
typedef struct pt_perl_reduced {
    uint32_t *node; /* words, in order of first appearance */
    double *flat, *cum;
    size_t count, node_cap, flat_cap, cum_cap;
    uint32_t *row; /* by word; PT_NONE = no node */
    size_t row_count, row_cap;
    double total; /* of all flat */
} pt_perl_reduced;
void pt_perl_reduce(pt_perl_session *session, const pt_perl_profile *profile,
                    pt_perl_reduced *ret_reduced);
void pt_perl_reduced_done(pt_perl_reduced *reduced);

/* Calls fn for each stack with its nodes, callee first. A node may occur several times. */
typedef void pt_perl_nodes_fn(void *context, const uint32_t *nodes, size_t count, double value);
void pt_perl_each_stack(pt_perl_session *session, const pt_perl_profile *profile,
                        pt_perl_nodes_fn *fn, void *context);

/* ---- Reports ---- */

typedef struct pt_perl_shown {
    char text[40];
} pt_perl_shown;
/* A value as the original prints it: memory in megabytes unless bytes or objects are asked for,
 * delays in seconds, other values as whole numbers. */
pt_perl_shown pt_perl_unparse(const pt_perl_session *session, double value);
pt_perl_shown pt_perl_unparse_alt(const pt_perl_session *session, double value); /* "." for 0 */
pt_perl_shown pt_perl_percent(double value, double total);
const char *pt_perl_units(const pt_perl_session *session);

/* line_limit < 0: all rows. */
void pt_perl_print_text(pt_perl_session *session, const pt_perl_reduced *reduced,
                        int64_t line_limit);
void pt_perl_print_stacks(pt_perl_session *session, const pt_perl_profile *profile);
void pt_perl_print_collapsed(pt_perl_session *session, const pt_perl_profile *profile);
void pt_perl_print_raw(pt_perl_session *session, const pt_perl_profile *profile);
void pt_perl_print_callgrind(pt_perl_session *session, const pt_perl_profile *profile);
/* Returns false, after a message, if there is nothing to draw. */
bool pt_perl_print_dot(pt_perl_session *session, pt_out *out, const pt_perl_profile *profile,
                       const pt_perl_reduced *reduced, double overall_total);
/* Print source, or instructions, of the procedures that match. Returns false if the pattern is not
 * a regular expression. */
bool pt_perl_print_listing(pt_perl_session *session, const pt_perl_profile *profile,
                           const char *pattern);
bool pt_perl_print_disasm(pt_perl_session *session, const pt_perl_profile *profile,
                          const char *pattern);

/* The whole personality; args without the program's name. Returns the exit status. */
int pt_perl_main(const char *const *args, size_t count);

/* The interactive mode, until the input ends. */
int pt_perl_interact(pt_perl_session *session, double total);

/* Prints to standard error, like the original without the program's name. */
void pt_perl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
