/* code_names.h: names of code without an ELF file, from these texts and dumps:
 *
 *   /proc/kallsyms         ADDRESS TYPE NAME [MODULE]            symbols of kernel and modules
 *   /proc/modules          NAME SIZE USES USERS STATE ADDRESS    ends of the kernel's modules
 *   /tmp/perf-PID.map      START SIZE NAME                       written by just-in-time compilers
 *   jit-PID.dump           functions, moves, lines               (perf's jitdump specification)
 *
 *       bytes ---> entries ---> disjoint ranges ---> pt_code_names_find
 *
 * Where entries of a map or dump overlap, the later entry counts: compilers discard code and reuse
 * its memory. Of kernel symbols at one address, a global symbol comes before a weak, and a weak
 * before a local one; then the symbol with fewer leading underscores, then the alphabetically
 * first. A kernel symbol ends at the next symbol, or at its module's end.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/grow.h"

/* A named piece of code, [addr, end_addr). */
typedef struct pt_code_entry {
    uint64_t addr, end_addr;
    uint32_t name, module;           /* offsets in text; module 0: none */
    uint32_t line_first, line_count; /* rows of `lines`, ascending by addr */
} pt_code_entry;

/* A row of a line table. */
typedef struct pt_code_line {
    uint64_t addr; /* first address of the row */
    uint32_t file; /* offset in text */
    uint32_t line;
} pt_code_line;

/* The part of an entry that no later entry covers. */
typedef struct pt_code_span {
    uint64_t addr, end_addr;
    uint32_t entry;
} pt_code_span;

/* The names of one source. */
typedef struct pt_code_names {
    PT_VECTOR(pt_code_entry) entries;
    PT_VECTOR(pt_code_line) lines;
    PT_VECTOR(pt_code_span) ranges; /* disjoint, ascending */
    pt_buf text;                    /* terminated strings; offset 0 is "" */
    /* kallsyms: the address of _stext, the start of the kernel's code; 0 if the text does not have
     * it. */
    uint64_t text_addr;
    uint64_t hidden_count;  /* kallsyms: symbols with address 0, which the kernel hides */
    uint64_t damaged_count; /* malformed lines and records, which were skipped */
} pt_code_names;

/* Frees the memory of names. */
void pt_code_names_done(pt_code_names *names);

/* Each function fills *ret_names, which the caller need not initialise; on failure it is empty.
 * PT_ERR_FORMAT: the bytes have no entry of that format. PT_ERR_UNSUPPORTED: the kernel hides all
 * addresses. modules: the text of /proc/modules; may be empty. */
pt_status pt_kallsyms_read(const char *text, size_t size_bytes, const char *modules,
                           size_t modules_bytes, pt_code_names *ret_names, pt_error *reterr);
pt_status pt_perf_map_read(const char *text, size_t size_bytes, pt_code_names *ret_names,
                           pt_error *reterr);
pt_status pt_jitdump_read(const void *bytes, size_t size_bytes, pt_code_names *ret_names,
                          pt_error *reterr);

/* The code at an address; strings live as long as the names. */
typedef struct pt_code_answer {
    const char *name, *module; /* module "": none */
    const char *file;          /* "": unknown */
    uint32_t line;             /* 0: unknown */
    uint64_t addr, end_addr;   /* of the whole function */
} pt_code_answer;

/* Finds the code that covers addr. False: none does. */
bool pt_code_names_find(const pt_code_names *names, uint64_t addr, pt_code_answer *ret_answer);
