/* cfi.h: reads the entries of .eh_frame and .debug_frame, and runs their programs.
 *
 *   CIE  | length | id | version | augmentation | code align | data align | ra | (z: ...) |
 *        | program |
 *   FDE  | length | CIE | first address | bytes | (z: length ...) | program |
 *
 * ra: the number of the return address's register. (z: ...): data of the augmentation, if its text
 * begins with z. For use inside the layer. Every number of the file is checked.
 */
#pragma once

#include <string.h>

#include "machine/machine.h"
#include "unwind/table.h"

/* A forward reader of a file's bytes. bad is sticky: after a failure every read gives 0. */
typedef struct {
    const uint8_t *at, *end;
    bool bad;
} pt_cursor;

/* An integer of 1, 2, 4 or 8 bytes, little-endian like the machine. */
static inline uint64_t pt_cursor_fixed(pt_cursor *c, unsigned bytes)
{
    uint64_t value = 0;
    if (c->bad || (uint64_t)(c->end - c->at) < bytes) {
        c->bad = true;
        return 0;
    }
    memcpy(&value, c->at, bytes);
    c->at += bytes;
    return value;
}

/* ULEB128 and SLEB128 (DWARF 5, section 7.6): bits beyond the 64th are lost. Beyond the end the
 * cursor becomes bad, and the value is 0. pt_cursor_long_uleb reads an integer of any length. */
uint64_t pt_cursor_long_uleb(pt_cursor *c);

static inline uint64_t pt_cursor_uleb(pt_cursor *c)
{
    if (!c->bad && c->at != c->end && *c->at < 0x80) return *c->at++;
    return pt_cursor_long_uleb(c);
}

int64_t pt_cursor_sleb(pt_cursor *c);

static inline void pt_cursor_skip(pt_cursor *c, uint64_t bytes)
{
    if (c->bad || (uint64_t)(c->end - c->at) < bytes)
        c->bad = true;
    else
        c->at += bytes;
}

/* Reads a pointer of encoding DW_EH_PE_X. at_addr: the address of c->at. False if the pointer is
 * absent or indirect (its target is not in the file). */
bool pt_cfi_pointer(pt_cursor *c, uint8_t encoding, uint64_t at_addr,
                    const pt_unwind_frames *frames, uint64_t *ret_value);

/* A pt_unwind_rule as two 64-bit words, so that the compiler keeps the rule in registers. */
typedef struct {
    uint64_t head, tail; /* tail: 4 bytes */
} pt_cfi_words;

enum { PT_CFI_HEAD_BYTES = 8, PT_CFI_TAIL_BYTES = 4 };
_Static_assert(sizeof(pt_unwind_rule) == PT_CFI_HEAD_BYTES + PT_CFI_TAIL_BYTES, "no holes");

static inline pt_cfi_words pt_cfi_words_of(const pt_unwind_rule *rule)
{
    pt_cfi_words words = {0};
    memcpy(&words.head, rule, PT_CFI_HEAD_BYTES);
    memcpy(&words.tail, (const char *)rule + PT_CFI_HEAD_BYTES, PT_CFI_TAIL_BYTES);
    return words;
}

static inline pt_unwind_rule pt_cfi_rule_of(pt_cfi_words words)
{
    pt_unwind_rule rule;
    memcpy(&rule, &words.head, PT_CFI_HEAD_BYTES);
    memcpy((char *)&rule + PT_CFI_HEAD_BYTES, &words.tail, PT_CFI_TAIL_BYTES);
    return rule;
}

/* A common information entry. */
typedef struct {
    uint64_t off; /* offset in the section + 1; 0: empty slot */
    uint64_t code_align;
    int64_t data_align;
    uint8_t address_encoding;
    bool has_data, is_signal, is_good;
    pt_cfi_words first; /* the rule after the CIE's program */
} pt_cfi_cie;

/* A frame description entry: one function's code and program. */
typedef struct {
    uint64_t start_addr, size_bytes;
    const pt_cfi_cie *cie;
    pt_cursor program; /* not yet run */
} pt_cfi_fde;

enum { PT_CFI_CIES = 16 }; /* cached CIEs; a power of two */
enum { PT_CFI_REGS = 64 }; /* DWARF registers that a rule can name */

typedef struct {
    const pt_unwind_frames *frames;
    const pt_machine *machine;
    pt_cfi_cie cies[PT_CFI_CIES];
} pt_cfi_reader;

/* Reads the length of the entry at *off and moves *off to the next entry. False at the end, or
 * at a wrong length. *ret_is_fde: the entry is an FDE (maybe damaged); read it with
 * pt_cfi_fde_at(its offset). */
bool pt_cfi_next(const pt_unwind_frames *frames, uint64_t *off, bool *ret_is_fde);

/* Reads the FDE at off. Returns false if the FDE or its CIE is damaged or unusable. */
bool pt_cfi_fde_at(pt_cfi_reader *reader, uint64_t off, pt_cfi_fde *ret_fde);

/* Finds the next usable FDE from *off on and moves *off past it. *ret_at: its offset. False at
 * the end. */
bool pt_cfi_next_fde(pt_cfi_reader *reader, uint64_t *off, uint64_t *ret_at, pt_cfi_fde *ret_fde);

/* ---- programs (program.c) ---- */

/* Runs a CIE's program. cie->first is the machine's initial rule before, and the initial rule of
 * the CIE's FDEs after. False: the program has an unknown instruction. */
bool pt_cfi_run_first(const pt_cfi_reader *reader, pt_cfi_cie *cie, pt_cursor c);

/* Receives rows in ascending order of addr: from addr on the rule holds. */
typedef void pt_cfi_row(void *arg, uint64_t addr, pt_cfi_words rule);

/* Runs an FDE's program to its end or first error. Returns false if the program has an unknown
 * instruction: the rows before it stay valid, and a last row without a rule was delivered. */
bool pt_cfi_run(const pt_cfi_reader *reader, const pt_cfi_fde *fde, pt_cfi_row *row, void *arg);

/* The rule in the form that a table stores: canonical, with sp and fp as kinds rather than
 * register numbers. */
pt_unwind_rule pt_cfi_rule_stored(const pt_machine *machine, const pt_unwind_rule *rule);
