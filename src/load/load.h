/* load.h: names become one profile.
 *
 *   name -> file, "-" (standard input), server (fetch.h) -> peel gzip or zstd -> probe (or --from)
 * -> read -> freeze several profiles -> merged by content (transform/merge.h), in the order of the
 * names
 *
 * What inflates to little is peeled at once. Of anything else the first 64 KiB are, and the rest
 * only when a format takes them for its own; more than 200 times the file's size, beyond 1 GB, only
 * when the user has chosen a memory limit.
 *
 * An ELF image among the names is the program, not a profile: it is set aside for symbolizing.
 * Files are read in parallel and committed in order: any number of threads gives the same profile.
 */
#ifndef PT_LOAD_LOAD_H
#define PT_LOAD_LOAD_H

#include "base/error.h"
#include "formats/format.h"
#include "load/fetch.h"
#include "model/profile.h"
#include "source/images.h"
#include "transform/merge.h"

typedef struct pt_load_options {
    const pt_format *from;   /* --from=: read as this format; NULL = probe */
    uint64_t inflated_bytes; /* the most that one input may inflate to; 0 = its share of the memory
                                limit (base/memory.h) */
    uint32_t word_bytes;     /* of the program, for formats that do not say; 0 = unknown */
    bool strict;             /* damage is an error even if something could be read */
    const pt_merge_rules *rules; /* how several are merged; NULL: as transform/merge.h says */
    bool all_events; /* of several profiles the events of all, not those that all have */
    /* May be NULL: what is made of each profile before they are merged, on any thread. Takes the
       reference and returns one. */
    const pt_profile *(*prepare)(void *context, const pt_profile *profile);
    void *prepare_context;
    /* Where images are looked for, to unwind the stacks that a profile has copies of; NULL = where
       it says they are. */
    const pt_source_options *source;
    /* What names a server and is no file is fetched so; NULL = such names are errors. max_bytes
       0 in it means inflated_bytes. */
    const pt_fetch_options *fetch;
    /* True: inputs that fail are left out. False: only servers that fail are, and a file that fails
       ends the load. Both: the load fails if no profile is left after a failure. */
    bool skip_failures;
    bool annotate;  /* pt_read_hooks.annotate: pitot's own commands; not what stands in for pprof */
    bool bins_only; /* pt_read_hooks.bins_only */
    pt_pool *pool;  /* reads several inputs at once; NULL = one after the other */
} pt_load_options;

/* What became of one name. */
typedef struct pt_load_input {
    char *name;
    const pt_format *format; /* NULL: a program, or unreadable */
    uint64_t file_bytes;     /* 0 for standard input until it was read */
    uint64_t peeled_bytes;   /* after gzip or zstd was taken off */
    const char *compression; /* "gzip", "zstd" or "none" */
    bool is_program;
    bool failed; /* left out; error says why */
    char *url;   /* where it was fetched from; NULL = not from a server */
    /* What is wrong with it; NULL = nothing. PT_ERR_DAMAGED: part of it was read, unless it failed.
       Not in here, so that ten thousand good files take no room for it. */
    pt_error *error;
} pt_load_input;

typedef struct pt_loaded {
    const pt_profile *profile; /* one reference; NULL when only programs were named */
    pt_load_input *inputs;     /* one a name, in order */
    size_t input_count;
    size_t damaged_count;               /* inputs of which only a part was read: exit status 4 */
    size_t failed_count;                /* inputs that were left out */
    size_t remote_count;                /* inputs that were fetched from a server */
    pt_remote_mapping *remote_mappings; /* of those: who can name their addresses */
    size_t remote_mapping_count;
    pt_diag diag; /* facts noticed while reading */
} pt_loaded;

void pt_loaded_done(pt_loaded *loaded);
/* The first ELF image among the names: the program; NULL if there was none. */
const char *pt_loaded_program(const pt_loaded *loaded);

/* Which share of the memory one of count inputs may take when `threads` read at once. */
uint64_t pt_load_share(uint64_t bytes, unsigned threads, size_t count);

/* Loads names[0, count). PT_OK also when inputs were damaged but gave something (damaged_count
 * tells; each input's error says what) or were left out (failed_count). Any other failure of any
 * input fails the whole: its error names the file. ret_loaded must be done with in any case; on
 * failure it has no profile. */
pt_status pt_load(const char *const *names, size_t count, const pt_load_options *options,
                  pt_loaded *ret_loaded, pt_error *reterr);

#endif
