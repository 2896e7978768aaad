/* cfi.h: the entries of .eh_frame and .debug_frame, and what their programs compute.
 *
 *   CIE  | length | id | version | augmentation | code align | data align | ra | (z: ...) | program
 * | FDE  | length | CIE  | first address | bytes | (z: length ...) | program |
 *
 * For use inside the layer. Nothing here trusts a number of the file.
 */
#ifndef PT_UNWIND_CFI_H
#define PT_UNWIND_CFI_H

#include "unwind/table.h"

/* Bytes of a file, read forwards; bad is sticky, and reads give 0 from then on. */
typedef struct {
    const uint8_t *at, *end;
    bool bad;
} pt_cursor;

uint64_t pt_cursor_fixed(pt_cursor *c, unsigned bytes); /* 1, 2, 4 or 8, little-endian */
uint64_t pt_cursor_uleb(pt_cursor *c);
int64_t pt_cursor_sleb(pt_cursor *c);
void pt_cursor_skip(pt_cursor *c, uint64_t bytes);

/* Reads a pointer as DW_EH_PE_X says. at_addr: the address of c->at. False if it is absent, or is
 * indirect: what it points to is not in the file. */
bool pt_cfi_pointer(pt_cursor *c, uint8_t encoding, uint64_t at_addr,
                    const pt_unwind_frames *frames, uint64_t *ret_value);

/* What differs between machines. DWARF register numbers. */
typedef struct {
    uint16_t machine;
    uint8_t sp, fp, pc; /* pc: the column of the return address */
    bool has_link;      /* the return address is in register `pc` at first */
} pt_cfi_machine;

const pt_cfi_machine *pt_cfi_machine_of(uint16_t machine); /* NULL: no rules for it */

typedef struct {
    uint64_t off; /* in the section, + 1; 0 = none */
    uint64_t code_align;
    int64_t data_align;
    uint8_t address_encoding;
    bool has_data, is_signal, is_good;
    pt_unwind_rule first; /* after its program */
} pt_cfi_cie;

typedef struct {
    uint64_t start_addr, size_bytes;
    const pt_cfi_cie *cie;
    pt_cursor program;
} pt_cfi_fde;

enum { PT_CFI_CIES = 16 }; /* remembered, a power of two */
enum { PT_CFI_REGS = 64 }; /* DWARF numbers that a rule can name */

typedef struct {
    const pt_unwind_frames *frames;
    const pt_cfi_machine *machine;
    pt_cfi_cie cies[PT_CFI_CIES];
} pt_cfi_reader;

/* The entry at *off; moves *off to the next one. False at the end, also where a length is wrong.
 * *ret_is_fde: it is an FDE (of whatever quality), to be read with pt_cfi_fde_at(its offset). */
bool pt_cfi_next(const pt_unwind_frames *frames, uint64_t *off, bool *ret_is_fde);

/* False if it or its CIE is damaged or of no use. */
bool pt_cfi_fde_at(pt_cfi_reader *reader, uint64_t off, pt_cfi_fde *ret_fde);

/* Runs a program to its end or first error. Calls row for each stretch of code with one rule, in
 * ascending order: from addr on. Returns false if it met what it does not know; the rows so far
 * hold, and a last one without a rule was given. */
bool pt_cfi_run(const pt_cfi_reader *reader, const pt_cfi_fde *fde,
                void (*row)(void *arg, uint64_t addr, const pt_unwind_rule *rule), void *arg);

/* As it is stored: sp and fp by kind, canonical. */
pt_unwind_rule pt_cfi_rule_stored(const pt_cfi_machine *machine, const pt_unwind_rule *rule);

#endif
