/* procedures.h: the machine code of counted procedures, each instruction with its counts.
 *
 *   counts  main  0x401010: 70 1     ->   401010  imull %edi, %ecx    70 1
 *                 0x401012:  9 0          401013  addl  %ecx, %eax     9 0   (inside it)
 *
 * A procedure is a symbol of an image, with the symbol's addresses. A sample inside an instruction
 * counts for that instruction.
 */
#pragma once

#include "base/regex.h"
#include "personality/dcpi/counts.h"
#include "source/text.h"
#include "view/code.h"

typedef struct pt_procedures_request {
    const pt_regex *pattern; /* matches the names of procedures; NULL = all */
    uint64_t address;        /* if not 0: also the procedures that have counts both before and after
                              * this address */
    const bool *in_image;    /* NULL = all; else a flag for each image of the counts, true if it is
                              * wanted */
    uint32_t column;         /* of the counts: procedures are ordered by it, the largest first */
    size_t limit;            /* the most procedures; 0 = all */
    const pt_code_options *code;
} pt_procedures_request;

typedef struct pt_procedure {
    pt_code_function
        code; /* name: the counts' name, else the symbol's; self and total of rows are unused */
    const char *build_id;
    uint16_t machine; /* EM_x of <elf.h> */
    int64_t *value;   /* [code.row_count * event_count] */
} pt_procedure;

typedef struct pt_procedures {
    const pt_counts *counts;
    pt_procedure *items;
    size_t count;
    size_t more; /* beyond the limit */
    /* Samples of the column in chosen procedures that are not listed, because their image was not
     * found or has no symbol at the address. */
    int64_t lost;
    pt_code code;
} pt_procedures;

/* Finds the procedures and disassembles them. Fails with PT_ERR_NOTFOUND if no procedure matches.
 * Borrows counts and *request->code. The caller calls pt_procedures_done. */
pt_status pt_procedures_init(pt_procedures *ret_procedures, const pt_counts *counts,
                             const pt_procedures_request *request, pt_error *reterr);
void pt_procedures_done(pt_procedures *procedures);

/* As pt_source_line, for a line of a source file of the procedure. */
bool pt_procedure_source_line(pt_source_texts *texts, const pt_procedure *procedure,
                              const char *file, int64_t line, const char **ret_text,
                              size_t *ret_size);

static inline int64_t pt_procedure_value(const pt_procedures *all, const pt_procedure *p, size_t i,
                                         uint32_t column)
{
    return p->value[i * all->counts->event_count + column];
}
