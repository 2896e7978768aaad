/* unwind_readelf.h: tables against what readelf makes of the same entries. */
#pragma once

#include <stdio.h>

#include "unwind/table.h"

/* How it names what a machine has. */
typedef struct {
    const char *const *registers; /* by DWARF number */
    unsigned register_count, sp, fp;
    unsigned ra_column; /* that entries name for the return address */
    const char
        *ra_kept; /* of a return address that is not spoken of: "u", undefined; "r30", in x30 */
} readelf_machine;

extern const readelf_machine readelf_x86_64, readelf_aarch64;

typedef struct {
    unsigned rows, functions, without_rule, wrong;
    unsigned roots; /* rows of ours whose return address is undefined, where readelf says "u": so it
                       calls one that is not spoken of, too */
    unsigned foreign; /* functions whose return address is in another column: ours have no rule */
} compared;

/* rows: the output of readelf -W --debug-dump=frames-interp. Each row that it interprets, and where
 * an entry has none the rule of its CIE, against the table; the first that differ are printed. */
compared compare_rows(FILE *rows, const pt_unwind_table *table, const readelf_machine *machine);
