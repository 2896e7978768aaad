/* list.h: the listings of Go pprof's -list and -disasm: functions of rows (view/code.h) with
 * pprof's sums.
 *
 *   -list     functions whose name matches -> their files -> lines from five before the first (or
 *             from where the function starts) to five after the last, each with flat and cum
 *   -disasm   symbols of the sampled files whose name matches -> objdump's instructions, each with
 *             the samples from its address up to the next instruction's
 *
 * The rules are those of google/pprof (internal/report/source.go, printAssembly of report.go,
 * internal/binutils); they also give the order of rows, because print_list.h prints pprof's bytes.
 * Sums of a function are sums of its lines, so a sample counts once for each line of a recursive
 * function: view/listing.h counts it once for the function.
 *
 * The listing is of the profile after the filters, with names. weblist.c makes -weblist.
 */
#pragma once

#include "base/grow.h"
#include "base/regex.h"
#include "source/text.h"
#include "view/code.h"
#include "view/graph.h"

typedef struct pt_pprof_list_request {
    uint32_t event;
    bool mean;          /* values are averages: event's over event 0's */
    bool no_inlines;    /* -list: of each location only the outermost line; -disasm always */
    bool columns;       /* showcolumns */
    bool drop_negative; /* leave out nodes below 0 */
    const pt_regex *pattern;
    const char *pattern_text; /* as it was typed, for messages and for addresses (0x...) */
    const char *source_path, *trim_path; /* as given; NULL or "" = not given */
    const char *working_folder;          /* where sources are if source_path is not given */
    const pt_objdump_tool *objdump;      /* for -disasm; NULL if no objdump was found */
    bool intel_syntax;
    pt_diag *diag; /* -disasm: mapped files that could not be used; may be NULL */
} pt_pprof_list_request;

/* A function of -list in one file, or a symbol of -disasm. Rows have flat as self and cum as total;
 * a row of -disasm has one frame: its function, the base name of its file, its line. */
typedef struct pt_pprof_routine {
    pt_code_function code; /* -list: if code.file is NULL, there is neither source information nor a
                            * row */
    char **alias;          /* -disasm: other symbols of the same address */
    size_t alias_count;
} pt_pprof_routine;

typedef struct pt_pprof_listing {
    pt_pprof_routine *routine; /* by name, then by file or address */
    size_t count, cap;
    /* The owners of the routines' texts. */
    pt_graph graph;
    pt_source_texts *texts;
    PT_VECTOR(pt_objdump_listing) objdump;
} pt_pprof_listing;

/* Make a listing. They fail with pprof's messages. Fail with PT_ERR_NOTFOUND if nothing matches, or
 * if no symbol that matches has samples. The listing borrows texts of the profile. The caller calls
 * pt_pprof_listing_done. */
typedef pt_status pt_pprof_list_maker(pt_pprof_listing *ret_listing, const pt_profile *profile,
                                      const pt_pprof_list_request *request, pt_error *reterr);
pt_pprof_list_maker pt_pprof_list_init;
/* Fails with PT_ERR_UNSUPPORTED if there is no objdump, and with PT_ERR_SYSTEM if objdump failed;
 * the message has objdump's command line. */
pt_pprof_list_maker pt_pprof_disasm_init;
void pt_pprof_listing_done(pt_pprof_listing *listing);

/* Makes the graph of a listing, with a node for each line or address. */
pt_status pt_pprof_list_graph(pt_pprof_listing *listing, const pt_profile *profile,
                              const pt_pprof_list_request *request, pt_grain by, pt_error *reterr);
