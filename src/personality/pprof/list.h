/* list.h: what Go pprof's -list and -disasm tell, as plain results.
 *
 *   -list     functions whose name matches -> their files -> lines from five before the first (or
 *             from where the function starts) to five after the last, each with flat and cum
 *   -disasm   symbols of the sampled files whose name matches -> objdump's instructions, each with
 *             the samples from its address up to the next instruction's
 *
 * The rules are those of google/pprof (internal/report/source.go, printAssembly of report.go,
 * internal/binutils), to the order of rows, because print_list.h prints pprof's bytes. Sums
 * of a function are sums of its lines, so what is on several lines of a recursive function counts
 * more than once: that is pprof's number, and view/listing.h has the right one.
 *
 * The profile is what the filters left, with names; -weblist is view/weblist.h.
 */
#ifndef PT_PPROF_LIST_H
#define PT_PPROF_LIST_H

#include "base/regex.h"
#include "model/profile.h"
#include "source/images.h"
#include "source/objdump.h"
#include "source/text.h"

typedef struct pt_pprof_list_request {
    uint32_t event;
    bool mean;          /* values are averages: event's over event 0's */
    bool no_inlines;    /* list: of each location only the outermost line; disasm always */
    bool columns;       /* showcolumns */
    bool drop_negative; /* leave out what is below 0 */
    const pt_regex *pattern;
    const char *pattern_text; /* as it was typed, for messages and for addresses (0x...) */
    const char *source_path, *trim_path; /* as given; NULL or "" = not given */
    const char *working_folder;          /* searched for sources when source_path is not given */
    const pt_objdump_tool *objdump;      /* disasm only; NULL: none was found */
    const pt_source_options *images;     /* disasm only: where mapped files may be; NULL: at their
                                            paths */
    bool intel_syntax;
    pt_diag *diag; /* disasm: mapped files that could not be used; may be NULL */
} pt_pprof_list_request;

typedef struct pt_pprof_line {
    int64_t line, flat, cum;
    char *text; /* without the line's end */
} pt_pprof_line;

/* One function in one file. */
typedef struct pt_pprof_routine {
    const char *name; /* of the profile */
    char *file;       /* NULL: no source information, and nothing below is set */
    int64_t flat, cum;
    char *error; /* why there is no text, or NULL */
    pt_pprof_line *line;
    size_t line_count;
} pt_pprof_routine;

typedef struct pt_pprof_list {
    pt_pprof_routine *routine; /* by name, then by file */
    size_t count;
} pt_pprof_list;

/* PT_ERR_NOTFOUND with pprof's words when no function matches. Borrows names of the profile; done
 * with pt_pprof_list_done. */
pt_status pt_pprof_list_init(pt_pprof_list *ret_list, const pt_profile *profile,
                             const pt_pprof_list_request *request, pt_error *reterr);
void pt_pprof_list_done(pt_pprof_list *list);

typedef struct pt_pprof_instruction {
    uint64_t addr;
    char *text;           /* as objdump has it */
    const char *function; /* "" = unknown; texts live as long as the listing */
    const char *file;     /* base name; "" = unknown */
    int64_t line;         /* 0 = unknown */
    int64_t flat, cum;    /* with mean the average */
} pt_pprof_instruction;

typedef struct pt_pprof_symbol {
    char **names; /* at least one; the others are symbols of the same address */
    size_t name_count;
    int64_t flat, cum;
    pt_pprof_instruction *instruction;
    size_t instruction_count;
} pt_pprof_symbol;

typedef struct pt_pprof_disasm {
    pt_pprof_symbol *symbol;
    size_t count;
    struct pt_pprof_texts *texts; /* behind the instructions' functions and files */
} pt_pprof_disasm;

/* PT_ERR_NOTFOUND with pprof's words when no symbol with samples matches; PT_ERR_UNSUPPORTED
 * without an objdump; its failure with its command line, as pprof says it. */
pt_status pt_pprof_disasm_init(pt_pprof_disasm *ret_disasm, const pt_profile *profile,
                               const pt_pprof_list_request *request, pt_error *reterr);
void pt_pprof_disasm_done(pt_pprof_disasm *disasm);

#endif
