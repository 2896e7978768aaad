/* symbolize_int.h: declarations that the files of `pitot symbolize` share.
 *
 *   lines ---- read_request ----> requests ---- answer ----> answers ---- print ----> text
 *
 * A batch is all lines that arrived before the input paused. The requests of a batch are grouped by
 * file, resolved together, and answered in their order.
 */
#pragma once

#include "base/grow.h"
#include "cmd/cmd.h"
#include "cmd/lookup.h"
#include "render/answers.h"
#include "source/code.h"
#include "source/process_maps.h"
#include "symbolize/chains.h"

/* The order is that of the choices in the option rows. */
typedef enum { PT_NAMES_NONE, PT_NAMES_SHORT, PT_NAMES_LINKAGE, PT_NAMES_AUTO } pt_name_kind;
typedef enum { PT_SWITCH_OFF, PT_SWITCH_ON, PT_SWITCH_AUTO } pt_switch;
typedef enum {
    PT_SHOWN_NONE,
    PT_SHOWN_FULL,
    PT_SHOWN_TEMPLATES,
    PT_SHOWN_SIMPLE,
    PT_SHOWN_AUTO
} pt_shown;

typedef struct symbolize_settings {
    const char *file, *section;
    int64_t pid;
    pt_answer_style style;
    pt_name_kind names;
    pt_switch inlines;
    pt_shown demangle;
    bool addresses, basenames, pretty, relative, cache_info, cache_clear;
    const char *adjust;
    int64_t threads;
} symbolize_settings;

/* ---- symbolize_files.c: the files that are asked about ---- */

typedef struct image_entry {
    char *name;        /* the file's name in the request */
    pt_chains *chains; /* NULL if the file cannot be read; a message was then printed */
    pt_diag diag;
    pt_source_search search;
} image_entry;

typedef struct image_table {
    image_entry **items;
    size_t count, cap;
    pt_chains_options how;
    const pt_source_options *source;
    int64_t pid; /* the process that has mapped the files, or 0 */
} image_table;

/* The file of that name. The first call with the name opens it, at the first of the paths (ending
 * with NULL) that exists. */
image_entry *images_named(image_table *table, const char *name, const char *const *paths);
/* Frees the table and adds its facts to diag. */
void images_done(image_table *table, pt_diag *diag);

/* ---- symbolize_request.c: requests ---- */

typedef enum { REQUEST_CODE, REQUEST_DATA, REQUEST_ECHO } request_kind;

typedef struct {
    image_entry *image;     /* NULL if the address is in no file, or in a file that cannot be
                             * read */
    char *text;             /* the file's name in the line; NULL: the file is job.file. Of an ECHO
                             * request: the line */
    uint64_t asked, linked; /* the address in the line; the linked address */
    pt_code_answer *code;   /* the name of code that is in no file; or NULL */
    uint32_t row;           /* of the image's chains; PT_NONE: none */
    request_kind kind;
} request;

typedef struct {
    const symbolize_settings *settings;
    pt_cmd_context *context;
    image_table images;
    pt_process process; /* of --pid */
    struct {
        pt_code_names kernel, dump, map;
        bool has_kernel, has_compiled; /* kernel is filled; dump and map are */
    } code;
    pt_answer_printer printer;
    const char *file; /* the file of -e, or the default; NULL if each line names its file */
    uint64_t adjust;
    bool is_addr2line, names_inlines, is_readable, is_short;
    bool is_stream; /* requests come line by line, not from the command line */
    PT_VECTOR(request) requests;
    struct {
        pt_answer_frame *items;
        size_t cap;
    } frames;                /* frames of the answer that is being printed */
    PT_VECTOR(pt_buf) texts; /* memory for names that are composed, one for each frame */
} symbolize_job;

/* Appends the request of a line: [CODE|DATA] [FILE] ADDRESS, without FILE if -e or --pid is given.
 * Words after the address are ignored. */
void read_request(symbolize_job *job, const char *line);
