/* cfi.h: the entries of .eh_frame and .debug_frame, and what their programs compute.
 *
 *   CIE  | length | id | version | augmentation | code align | data align | ra | (z: ...) | program
 * | FDE  | length | CIE  | first address | bytes | (z: length ...) | program |
 *
 * For use inside the layer. Nothing here trusts a number of the file.
 */
#ifndef PT_UNWIND_CFI_H
#define PT_UNWIND_CFI_H

#include <string.h>

#include "machine/machine.h"
#include "unwind/table.h"

/* Bytes of a file, read forwards; bad is sticky, and reads give 0 from then on. */
typedef struct {
    const uint8_t *at, *end;
    bool bad;
} pt_cursor;

/* 1, 2, 4 or 8, little-endian as the machine is */
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

/* Reads a pointer as DW_EH_PE_X says. at_addr: the address of c->at. False if it is absent, or is
 * indirect: what it points to is not in the file. */
bool pt_cfi_pointer(pt_cursor *c, uint8_t encoding, uint64_t at_addr,
                    const pt_unwind_frames *frames, uint64_t *ret_value);

/* A rule as the program that makes it holds it, in registers: the bytes of a pt_unwind_rule. */
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

typedef struct {
    uint64_t off; /* in the section, + 1; 0 = none */
    uint64_t code_align;
    int64_t data_align;
    uint8_t address_encoding;
    bool has_data, is_signal, is_good;
    pt_cfi_words first; /* after its program */
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
    const pt_machine *machine;
    pt_cfi_cie cies[PT_CFI_CIES];
} pt_cfi_reader;

/* The entry at *off; moves *off to the next one. False at the end, also where a length is wrong.
 * *ret_is_fde: it is an FDE (of whatever quality), to be read with pt_cfi_fde_at(its offset). */
bool pt_cfi_next(const pt_unwind_frames *frames, uint64_t *off, bool *ret_is_fde);

/* False if it or its CIE is damaged or of no use. */
bool pt_cfi_fde_at(pt_cfi_reader *reader, uint64_t off, pt_cfi_fde *ret_fde);

/* The next one that is of use, from *off on; moves *off behind it. *ret_at: where it is. */
bool pt_cfi_next_fde(pt_cfi_reader *reader, uint64_t *off, uint64_t *ret_at, pt_cfi_fde *ret_fde);

/* ---- programs (program.c) ---- */

/* Runs a CIE's program: from cie->first as the machine begins to what its FDEs begin with. */
bool pt_cfi_run_first(const pt_cfi_reader *reader, pt_cfi_cie *cie, pt_cursor c);

/* Called for stretches of code in ascending order: from addr on the rule holds. */
typedef void pt_cfi_row(void *arg, uint64_t addr, pt_cfi_words rule);

/* Runs a program to its end or first error. Returns false if it met what it does not know; the rows
 * so far hold, and a last one without a rule was given. */
bool pt_cfi_run(const pt_cfi_reader *reader, const pt_cfi_fde *fde, pt_cfi_row *row, void *arg);

/* As it is stored: sp and fp by kind, canonical. */
pt_unwind_rule pt_cfi_rule_stored(const pt_machine *machine, const pt_unwind_rule *rule);

#endif
