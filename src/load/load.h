/* load.h: loads one profile from names.
 *
 *   name -> file, "-" (standard input), server (fetch.h) -> peel gzip or zstd -> probe (or --from)
 *     -> read -> freeze -> several are merged by content (transform/merge.h), in the order of names
 *
 * Small inputs are decompressed at once. Of a larger input, the first 64 KiB are decompressed
 * first, and the rest only when a format recognises them. An input that grows more than 200-fold,
 * beyond 1 GB, is accepted only if the user has set a memory limit.
 *
 * An ELF image among the names is not a profile but the program: it is used for symbolizing. Files
 * are read in parallel and committed in order, so the number of threads does not change the
 * profile.
 */
#pragma once

#include "base/error.h"
#include "base/progress.h"
#include "formats/format.h"
#include "load/fetch.h"
#include "model/profile.h"
#include "source/images.h"
#include "transform/merge.h"

/* The profile that `pitot record` writes, and that reports read, if no file is named. */
#define PT_DEFAULT_PROFILE "pitot.pb.gz"

typedef struct pt_load_options {
    const pt_format *from;   /* --from: read as this format; NULL: probe */
    uint64_t inflated_bytes; /* limit of one decompressed input; 0: its share of the memory limit
                                (base/memory.h) */
    uint32_t word_bytes;     /* word size of the program, for formats that lack it; 0: unknown */
    bool strict;             /* damage is an error even if something could be read */
    /* How to merge several profiles; NULL: as transform/merge.h says. */
    const pt_merge_rules *rules;
    bool all_events; /* with several profiles: keep the union of their events instead of the common
                        ones */
    /* Called on each profile before merging, on any thread; may be NULL. Takes over the reference
     * and returns one. */
    const pt_profile *(*prepare)(void *context, const pt_profile *profile);
    void *prepare_context;
    /* Where to find images, whose tables unwind the copies of stacks in a profile; NULL: only at
     * the recorded paths. */
    const pt_source_options *source;
    /* How to fetch names that are no files but servers; NULL: such names are errors. Its max_bytes
     * 0 means inflated_bytes. */
    const pt_fetch_options *fetch;
    /* True: inputs that fail are skipped. False: only servers that fail are skipped; a file that
     * fails ends the load. In both cases the load fails if no profile is left. */
    bool skip_failures;
    /* pt_read_hooks.annotate: for pitot's own commands, not for stand-ins of pprof. */
    bool annotate;
    const char *stdin_name; /* of "-" in messages; NULL: "standard input" */
    bool bins_only;         /* pt_read_hooks.bins_only */
    pt_pool *pool;          /* reads several inputs at once; NULL: one after the other */
    pt_progress *progress;  /* bytes of all files; may be NULL */
} pt_load_options;

/* The result for one name. */
typedef struct pt_load_input {
    char *name;
    const pt_format *format; /* NULL: a program, or unreadable */
    uint64_t file_bytes;     /* 0 for standard input before it was read */
    uint64_t peeled_bytes;   /* after decompression */
    const char *compression; /* "gzip", "zstd" or "none" */
    bool is_program;
    bool failed; /* skipped; error has the reason */
    char *url;   /* URL that it was fetched from; NULL: not fetched */
    /* The problem of this input; NULL: none. PT_ERR_DAMAGED without `failed`: a part was read. A
     * pointer, since ten thousand good files need no room for it. */
    pt_error *error;
} pt_load_input;

typedef struct pt_loaded {
    const pt_profile *profile; /* one reference; NULL when all names are programs */
    pt_load_input *inputs;     /* one for each name, in order */
    size_t input_count;
    size_t damaged_count; /* inputs that were read in part only: exit status 4 */
    size_t failed_count;  /* inputs that were skipped */
    size_t remote_count;  /* inputs from servers */
    /* Their mappings, with the servers that can name addresses. */
    pt_remote_mapping *remote_mappings;
    size_t remote_mapping_count;
    pt_diag diag; /* facts from reading */
} pt_loaded;

/* Gives back the profile's reference, and frees the rest. */
void pt_loaded_done(pt_loaded *loaded);
/* The first ELF image among the names: the program; NULL: none. */
const char *pt_loaded_program(const pt_loaded *loaded);

/* The share of memory of one input, when `threads` threads read count inputs. */
uint64_t pt_load_share(uint64_t bytes, unsigned threads, size_t count);

/* Loads names[0, count). Returns PT_OK also if inputs were damaged but readable in part
 * (damaged_count; the input's error has details) or skipped (failed_count). Any other failure fails
 * the load; its error has the file's name. Call pt_loaded_done in any case; after a failure it has
 * no profile. */
pt_status pt_load(const char *const *names, size_t count, const pt_load_options *options,
                  pt_loaded *ret_loaded, pt_error *reterr);
