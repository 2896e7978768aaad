/* code_names.h: names of code that lies in no ELF file, from the texts and dumps that tell of it:
 *
 *   /proc/kallsyms         ADDRESS TYPE NAME [MODULE]            the kernel's symbols, with
 * modules' /proc/modules          NAME SIZE USES USERS STATE ADDRESS    where modules end
 *   /tmp/perf-PID.map      START SIZE NAME                       what just-in-time compilers write
 *   jit-PID.dump           functions, moves, lines               (perf's jitdump specification)
 *
 *       bytes ---> entries ---> disjoint ranges ---> pt_code_names_find
 *
 * Where entries of a map or dump overlap the later one is meant: code is thrown away and its place
 * is used again. Of the kernel's symbols that begin together a global one is preferred to a weak to
 * a local one, then fewer leading underscores, then the lesser name; each ends where the next one
 * begins, or its module does.
 */
#ifndef PT_OBJECT_CODE_NAMES_H
#define PT_OBJECT_CODE_NAMES_H

#include "base/buf.h"
#include "base/error.h"

typedef struct pt_code_entry {
    uint64_t addr, end_addr;
    uint32_t name, module;           /* in text; module 0 = none */
    uint32_t line_first, line_count; /* in lines, ascending by addr */
} pt_code_entry;

typedef struct pt_code_line {
    uint64_t addr; /* from here on */
    uint32_t file; /* in text */
    uint32_t line;
} pt_code_line;

typedef struct pt_code_span {
    uint64_t addr, end_addr;
    uint32_t entry;
} pt_code_span;

typedef struct pt_code_names {
    struct {
        pt_code_entry *items;
        size_t count, cap;
    } entries;
    struct {
        pt_code_line *items;
        size_t count, cap;
    } lines;
    struct {
        pt_code_span *items; /* disjoint, ascending */
        size_t count, cap;
    } ranges;
    pt_buf text;            /* strings, each terminated; 0 is "" */
    uint64_t text_addr;     /* kallsyms: of _stext, where the kernel's code begins; 0 = not told */
    uint64_t hidden_count;  /* kallsyms: symbols whose address is shown as 0 */
    uint64_t damaged_count; /* lines and records that could not be understood */
} pt_code_names;

void pt_code_names_done(pt_code_names *names);

/* Each fills *ret_names, which need not be initialised and is empty on failure. PT_ERR_FORMAT when
 * nothing in the bytes is of that kind; PT_ERR_UNSUPPORTED when the kernel hides all addresses. */
pt_status pt_kallsyms_read(const char *text, size_t size_bytes, const char *modules,
                           size_t modules_bytes, pt_code_names *ret_names, pt_error *reterr);
pt_status pt_perf_map_read(const char *text, size_t size_bytes, pt_code_names *ret_names,
                           pt_error *reterr);
pt_status pt_jitdump_read(const void *bytes, size_t size_bytes, pt_code_names *ret_names,
                          pt_error *reterr);

typedef struct pt_code_answer {
    const char *name, *module; /* module "" = none */
    const char *file;          /* "" = unknown */
    uint32_t line;             /* 0 = unknown */
    uint64_t addr, end_addr;   /* of the whole function */
} pt_code_answer;

/* What covers addr. Strings live as long as names. */
bool pt_code_names_find(const pt_code_names *names, uint64_t addr, pt_code_answer *ret_answer);

#endif
