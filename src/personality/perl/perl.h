/* perl.h: the Perl pprof that gperftools shipped until 2.16, as a personality: its numbers, its
 * text, its dot.
 *
 *   files -> perl_read: stacks of addresses with one value, and the text list of what was mapped
 *         -> perl_libs: which object has which addresses
 *         -> perl_symbols: what nm and addr2line would say of each address: (short name, file:line,
 *            full name), outermost first
 *         -> perl_reduce: uninteresting frames out, --focus, --ignore, nodes of a granularity
 *         -> pt_perl_text, pt_perl_dot, pt_perl_list, perl_export: reports
 *
 * The rules are those of gperftools' pprof 2.0 as it behaves; where it leaves the order to a hash
 * table ours is the order of first appearance. Numbers are doubles, as in Perl.
 */
#ifndef PT_PERL_PERL_H
#define PT_PERL_PERL_H

#include "base/buf.h"
#include "base/index.h"
#include "base/options.h"
#include "base/regex.h"
#include "cmd/cmd.h"
#include "model/builder.h"
#include "view/fold.h"

/* ---- Options ---- */

/* What is shown, at most one of them. */
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

/* Values of some stacks, in the order in which they were first added. */
typedef struct pt_perl_profile {
    uint32_t *stack;
    double *value;
    size_t count, stack_cap, value_cap;
    uint32_t *row; /* by stack; PT_NONE = not in it */
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

/* The files that libraries lie in (images.c). */
typedef struct pt_perl_image pt_perl_image;
typedef struct pt_perl_images {
    pt_perl_image **items;
    size_t count, cap;
    pt_index index;
} pt_perl_images;

/* One line of a heap profile, for --stacks. */
typedef struct pt_perl_leak {
    double objects, bytes;
    char *addresses; /* as they are after return addresses were moved into their calls */
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
    bool symbolized;         /* the files bring their symbols: no program */
    char *program;           /* as given, or as a symbolized file says */
    char *server;            /* the first profile's address, if a server is the program; or NULL */
    struct {
        uint64_t *items;
        size_t count, cap;
    } addresses; /* each once, by its number */
    pt_index address_index;
    pt_builder *tables;      /* texts ("words") and stacks of numbers of addresses, each once */
    pt_perl_profile profile; /* all files, less the base */
    pt_perl_lib *libs;       /* of the first file; the program is the last */
    size_t lib_count, lib_cap;
    pt_perl_images images;
    pt_perl_leak *leaks;
    size_t leak_count, leak_cap;

    struct {
        pt_perl_name *items;
        size_t count, cap;
    } names;
    struct {
        struct pt_perl_name_range {
            uint32_t first, count;
        } * items;
        size_t count, cap;
    } name_ranges;     /* by address: its names; an empty range: nothing is known, not even "??" */
    uint32_t *brought; /* by address: word of names that a symbolized file brings, or PT_NONE */
    size_t brought_count, brought_cap;
    bool from_model;

    uint64_t *run_callers; /* Callback::Run has a node for each caller: Run#1, Run#2 */
    size_t run_count, run_cap;
} pt_perl_session;

void pt_perl_session_done(pt_perl_session *session);

/* The number of a text; the same for equal texts. The text must not be one of the tables' own. */
static inline uint32_t pt_perl_word(pt_perl_session *s, const char *text, size_t length)
{
    return pt_builder_string(s->tables, text, length).v;
}
static inline uint32_t pt_perl_wordz(pt_perl_session *s, const char *text)
{
    return pt_perl_word(s, text, strlen(text));
}
/* Valid until the next text gets its number. */
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
/* Valid until the next stack gets its number. */
static inline const uint32_t *pt_perl_frames(const pt_perl_session *s, uint32_t stack,
                                             size_t *ret_depth)
{
    return pt_builder_stack_frames(s->tables, (pt_stack_id){stack}, ret_depth);
}

void pt_perl_profile_add(pt_perl_profile *profile, uint32_t stack, double value);
double pt_perl_profile_get(const pt_perl_profile *profile, uint32_t stack);
double pt_perl_profile_total(const pt_perl_profile *profile);
void pt_perl_profile_done(pt_perl_profile *profile);

/* "%016x" of an address, in the profile's width. buf has room for 17. */
const char *pt_perl_hex(const pt_perl_session *session, uint64_t address, char *buf);

/* ---- Reading (read.c, heap.c) ---- */

/* Adds a file to profile. first: its list of mapped objects and its kind are the session's. False
 * when it could not be read; why was said. */
bool pt_perl_read(pt_perl_session *session, const char *path, bool first, pt_perl_profile *profile);
/* The text of heap, growth and contention profiles after their first line. */
bool pt_perl_read_heap(pt_perl_session *session, const char *header, pt_reader *text, bool first,
                       pt_perl_profile *profile);
bool pt_perl_read_contention(pt_perl_session *session, pt_reader *text, bool first,
                             pt_perl_profile *profile);
/* Whether a file begins as one that brings its symbols. */
bool pt_perl_is_symbolized(const char *path);

/* ---- Servers (remote.c) ---- */

/* Does a name that is no file name a server? */
bool pt_perl_is_remote(const char *name);
/* A server among the names, not a program: its own name becomes session->program and its address
 * session->server. False when it has no symbols; why was said. */
bool pt_perl_ask_program(pt_perl_session *session, const char *const *names, size_t count);
/* Fetches what is no file among the names, with host@N expanded, and gives the files of all of
 * them, each and the list to be freed, also on failure. */
bool pt_perl_fetch(pt_perl_session *session, const char *const *names, size_t count,
                   char ***ret_files, size_t *ret_count);
/* Names of all addresses from session->server. */
bool pt_perl_ask_names(pt_perl_session *session);

/* ---- Objects and names (libs.c, images.c, nm.c, symbols.c) ---- */

/* The list of mapped objects of the first file, text[0, size), becomes session->libs. */
void pt_perl_libs_parse(pt_perl_session *session, const char *text, size_t size);
/* The debugging copy of a library, "/usr/lib/debug" before its path; NULL if there is none. The
 * caller frees. */
char *pt_perl_debugging_library(const char *path);
/* Where .text is in the image at path; false when there is none. */
typedef struct pt_perl_text_section {
    uint64_t address, offset, bytes; /* offset: in the file */
} pt_perl_text_section;
bool pt_perl_find_text(const char *path, pt_perl_text_section *ret_text);

/* What `nm -n --demangle` says of an image, as procedures with an end. */
typedef struct pt_perl_procedure {
    uint64_t start, end; /* the end is where the next symbol begins */
    char *name;          /* demangled, with "<start>" behind it; or without, see nm.c */
} pt_perl_procedure;
typedef struct pt_perl_nm {
    pt_perl_procedure *items; /* ascending */
    size_t count, cap;
    bool has_separator; /* there is a symbol _fini: then inlined frames are shown */
} pt_perl_nm;
/* Of the procedures that match the pattern (NULL = all) in the image at path itself. What is no
 * image has none. */
void pt_perl_nm_init(pt_perl_nm *nm, const pt_perl_session *session, const char *path,
                     const pt_regex *pattern);
void pt_perl_nm_done(pt_perl_nm *nm);

/* The regular file at path, or its debugging copy: the same image for all names of one file, the
 * session's; NULL when there is none. What is asked of it is found out once. */
pt_perl_image *pt_perl_image_find(pt_perl_images *images, const char *path);
bool pt_perl_image_text(pt_perl_image *image, pt_perl_text_section *ret_text);
/* NULL: no image. */
struct pt_perl_addr2line *pt_perl_image_tool(pt_perl_session *session, pt_perl_image *image);
const pt_perl_nm *pt_perl_image_procedures(const pt_perl_session *session, pt_perl_image *image);
/* One pattern for all calls until pt_perl_images_forget_matching. */
const pt_perl_nm *pt_perl_image_matching(const pt_perl_session *session, pt_perl_image *image,
                                         const pt_regex *pattern);
void pt_perl_images_forget_matching(pt_perl_images *images);
void pt_perl_images_done(pt_perl_images *images);

/* Names for addrs[0, count), which ascend, in the image at path; offset is what lies between the
 * addresses of the process and those of the image. sink is called once an address, with its names
 * outermost first; none when nothing is known. */
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

/* The names of an address, outermost first. */
void pt_perl_give_names(pt_perl_session *session, uint32_t address, const pt_perl_name *names,
                        size_t count);
/* Valid until other names are given. None for an address that was never given any. */
static inline const pt_perl_name *pt_perl_names_of(const pt_perl_session *s, uint32_t address,
                                                   size_t *ret_count)
{
    *ret_count = 0;
    if (address >= s->name_ranges.count || s->name_ranges.items[address].count == 0) return NULL;
    *ret_count = s->name_ranges.items[address].count;
    return s->names.items + s->name_ranges.items[address].first;
}

/* ---- Reducing (reduce.c) ---- */

/* Frames of the profiler itself, or of allocators, out of every stack; replaces profile. */
void pt_perl_remove_uninteresting(pt_perl_session *session, pt_perl_profile *profile);
/* Keeps the stacks that match the pattern, or those that do not. False: no regular expression. */
bool pt_perl_filter(pt_perl_session *session, pt_perl_profile *profile, const char *pattern,
                    bool keep);

/* A profile by nodes: words of their texts. */
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

/* Calls fn for each stack with its nodes, callee first, repeated ones too. */
typedef void pt_perl_nodes_fn(void *context, const uint32_t *nodes, size_t count, double value);
void pt_perl_each_stack(pt_perl_session *session, const pt_perl_profile *profile,
                        pt_perl_nodes_fn *fn, void *context);

/* ---- Reports ---- */

typedef struct pt_perl_shown {
    char text[40];
} pt_perl_shown;
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
/* False, after it was said, when there is nothing to draw. */
bool pt_perl_print_dot(pt_perl_session *session, pt_out *out, const pt_perl_profile *profile,
                       const pt_perl_reduced *reduced, double overall_total);
/* False: the pattern is no regular expression. */
bool pt_perl_print_listing(pt_perl_session *session, const pt_perl_profile *profile,
                           const char *pattern);
bool pt_perl_print_disasm(pt_perl_session *session, const pt_perl_profile *profile,
                          const char *pattern);

/* The whole personality; args without the program's name. Returns the exit status. */
int pt_perl_main(const char *const *args, size_t count);

/* The interactive mode, until the input ends. */
int pt_perl_interact(pt_perl_session *session, double total);

/* Prints to standard error, as the original: without the program's name. */
void pt_perl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
