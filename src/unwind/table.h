/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* table.h: how to go from a frame to its caller, for every address of one module, in 4 bytes a row.
 *
 *   .eh_frame --- pt_unwind_compile ---> blob --- pt_unwind_table_open ---> pt_unwind_table
 *                 (outside any handler)   |        (checks all of it)        |
 *                                         `- may be a file, mapped           `-
 * pt_unwind_table_rule
 *
 *   blob   | header | pages: u32 x (count + 1) | rows: 4 bytes each | rules: 12 bytes each |
 *
 *   address - base = | page (4 KiB) | low 12 bits  |     rows pages[page] .. pages[page + 1] are of
 *                                                        this page, ascending, the first at low = 0
 *   row    | u16 low | u16 rule |                        holds until the next row; rule 0 is "none"
 *
 * A module has some hundred distinct rules, so they are a dictionary of its own. The blob holds no
 * pointer and no address that moves when the module does. Little-endian, as all machines it is for.
 *
 * Freestanding: libc headers only; memory comes from the caller. What the rules mean is DWARF 5,
 * section 6.4, with the GNU additions of the LSB core specification, chapter "Exception Frames".
 */
#ifndef PT_UNWIND_TABLE_H
#define PT_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_elf;

/* ---- rules ---- */

/* The canonical frame address (CFA): the caller's stack pointer. */
enum {
    PT_CFA_NONE,  /* no rule: the walk ends here */
    PT_CFA_SP,    /* sp + off */
    PT_CFA_FP,    /* fp + off */
    PT_CFA_REG,   /* register reg + off: only known in the innermost frame, but for sp and fp */
    PT_CFA_DEREF, /* the word at register reg + off: realigned stacks, signal frames */
    PT_CFA_PLT,   /* sp + off, and a word more from byte reg of each 16-byte entry on */
    PT_CFA_COUNT,
};

/* Where the caller's pc or fp is. Offsets are in words of 8 bytes. */
enum {
    PT_SLOT_UNKNOWN,   /* cannot be told: the walk ends (pc), or goes on without it (fp) */
    PT_SLOT_SAME,      /* where it was: fp in its register; pc in register off (a link register) */
    PT_SLOT_UNDEFINED, /* there is none: for pc, the thread started here */
    PT_SLOT_AT_CFA,    /* at CFA + 8 * off */
    PT_SLOT_AT_SP,     /* at sp + 8 * off: signal frames */
    PT_SLOT_AT_FP,     /* at fp + 8 * off: realigned stacks */
    PT_SLOT_COUNT,
};

typedef struct {
    uint8_t cfa_kind;
    uint8_t cfa_reg; /* DWARF number */
    uint8_t pc_slot : 4, fp_slot : 4;
    uint8_t is_signal; /* 1: the caller was interrupted, its pc is no return address */
    int32_t cfa_off;
    int16_t pc_off, fp_off;
} pt_unwind_rule;

/* ---- compiling ---- */

/* Bytes of .eh_frame or .debug_frame, and where they lie. Addresses are as linked. */
typedef struct {
    uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
    const uint8_t *bytes;
    uint64_t size_bytes;
    uint64_t addr;                 /* of bytes[0] */
    uint64_t text_addr, data_addr; /* what DW_EH_PE_textrel and _datarel are relative to */
    bool is_debug_frame;
    bool is_whole_section; /* the size is exact: a zero word in between does not end it */
} pt_unwind_frames;

/* .eh_frame of a file (by its section, else by PT_GNU_EH_FRAME), else .debug_frame if it is not
 * compressed. False if there is none, or the machine or byte order is one we have no rules for.
 * *ret_frames points into the file's bytes. */
bool pt_unwind_frames_of_elf(const struct pt_elf *elf, pt_unwind_frames *ret_frames);

/* Reads the .eh_frame_hdr that lies at hdr_addr: where .eh_frame starts. For images in memory. */
bool pt_unwind_eh_frame_addr(const uint8_t *hdr, uint64_t hdr_bytes, uint64_t hdr_addr,
                             uint64_t *ret_eh_frame_addr);

/* Where memory comes from. alloc gives bytes aligned to 8, of any content, or NULL. resize makes
 * them more or fewer, here or elsewhere, and keeps what fits; NULL: it cannot, and nothing is
 * changed. */
typedef struct {
    void *(*alloc)(void *arg, size_t bytes);
    void *(*resize)(void *arg, void *memory, size_t bytes, size_t wanted_bytes);
    void (*release)(void *arg, void *memory, size_t bytes);
    void *arg;
} pt_unwind_memory;

typedef enum {
    PT_UNWIND_OK = 0,
    PT_UNWIND_NO_FRAMES, /* not one usable entry */
    PT_UNWIND_NO_MEMORY,
    PT_UNWIND_TOO_LARGE,   /* code or frames of 4 GiB and more */
    PT_UNWIND_UNSUPPORTED, /* another machine, or a blob of another version */
    PT_UNWIND_DAMAGED,     /* a blob that is not what its header says */
} pt_unwind_status;

/* A lower-case sentence without full stop. Static. */
const char *pt_unwind_status_text(pt_unwind_status status);

enum { PT_UNWIND_ID_MAX = 32 };
enum { PT_UNWIND_PAGE_BITS = 12 }; /* small pages: few rows to search, for two words each */

/* Makes the blob, from memory->alloc; the caller releases it (with *ret_blob_bytes). Entries that
 * are damaged are left out, their code has no rule. id: the module's build id, kept in the blob,
 * cut to PT_UNWIND_ID_MAX; may be NULL. Takes time in proportion to the frames' size, and scratch
 * memory of a few times that. Never call it in a signal handler. */
pt_unwind_status pt_unwind_compile(const pt_unwind_frames *frames, const uint8_t *id,
                                   size_t id_bytes, const pt_unwind_memory *memory, void **ret_blob,
                                   size_t *ret_blob_bytes);

/* The same from all that an image's file tells: its frames; .gopclntab for Go's functions; what
 * signal handlers return to in aarch64's vDSO; and for x86-64 code that neither covers, such as
 * musl's, the code itself, followed from the symbols, call targets and entry point. What cannot be
 * followed has no rule. */
pt_unwind_status pt_unwind_compile_elf(const struct pt_elf *elf, const uint8_t *id, size_t id_bytes,
                                       const pt_unwind_memory *memory, void **ret_blob,
                                       size_t *ret_blob_bytes);

/* ---- reading ---- */

/* A blob, checked; points into it. */
typedef struct {
    uint64_t base_addr;
    uint32_t page_count, row_count, rule_count;
    uint16_t machine;
    const uint32_t *pages;
    const pt_unwind_rule *rules;
    const uint32_t *rows; /* low 16 bits: pc in its page; high: rule */
    const uint8_t *id;
    size_t id_bytes;
} pt_unwind_table;

/* Checks all of a blob (aligned to 4), which may come from a file that anyone wrote. Afterwards
 * lookups read inside it whatever happens to its bytes. */
pt_unwind_status pt_unwind_table_open(const void *blob, size_t blob_bytes,
                                      pt_unwind_table *ret_table);

/* The rule that holds at addr, as linked; never NULL: cfa_kind PT_CFA_NONE where there is none.
 * Async-signal-safe. */
const pt_unwind_rule *pt_unwind_table_rule(const pt_unwind_table *table, uint64_t addr);

/* ---- code whose CFA is by the base register ---- */

/* If some rule of a file's table is by that register, as the loader's when it binds a function at
 * its first call: a table of the file's frames with that register in the place of fp, which tells
 * where it is saved. The caller releases the blob. False, and nothing is changed: it is not needed,
 * or cannot be made. */
bool pt_unwind_compile_base(const struct pt_elf *elf, const pt_unwind_table *table,
                            const pt_unwind_memory *memory, void **ret_blob, size_t *ret_blob_bytes,
                            pt_unwind_table *ret_table);

#endif
