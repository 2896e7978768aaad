/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* table.h: the rule that leads from a frame to its caller, for every address of one module, with 4
 * bytes per row.
 *
 *   .eh_frame --- pt_unwind_compile ---> blob --- pt_unwind_table_open ---> pt_unwind_table
 *                 (outside any handler)   |        (checks all of it)        |
 *                                         `- may be a file, mapped           `- _table_rule
 *
 *   blob   | header | pages: u32 x (count + 1) | rows: 4 bytes each | rules: 12 bytes each |
 *
 *   address - base = | page (4 KiB) | low 12 bits  |     rows pages[page] .. pages[page + 1] are of
 *                                                        this page, ascending, the first at low = 0
 *   row    | u16 low | u16 rule |                        holds until the next row; rule 0 is "none"
 *
 * A module has some hundred distinct rules; the dictionary `rules` holds each once. The blob has
 * no pointers, and its addresses are as linked, so it is independent of where the module is
 * loaded. Little-endian, like all supported machines.
 *
 * Freestanding: libc headers only; memory comes from the caller. Rules have the meaning of DWARF
 * 5, section 6.4, with the GNU additions of the LSB core specification, chapter "Exception
 * Frames".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_elf;

/* ---- rules ---- */

/* The canonical frame address (CFA): the caller's stack pointer. */
enum {
    PT_CFA_NONE, /* no rule: the walk ends here */
    PT_CFA_SP,   /* sp + off */
    PT_CFA_FP,   /* fp + off */
    PT_CFA_REG, /* register reg + off: reg is known in the innermost frame only, except sp and fp */
    PT_CFA_DEREF, /* the 8 bytes at register reg + off: realigned stacks, signal frames */
    PT_CFA_PLT,   /* sp + off; plus 8 if the pc is at byte reg or later of its 16-byte PLT entry */
    PT_CFA_COUNT,
};

/* Where the caller's pc or fp is. Offsets are in words of 8 bytes. */
enum {
    PT_SLOT_UNKNOWN,   /* unknown: without a pc the walk ends, without fp it goes on */
    PT_SLOT_SAME,      /* unchanged: fp is in its register; pc is in register off (a link
                        * register) */
    PT_SLOT_UNDEFINED, /* no caller: the thread started here (pc only) */
    PT_SLOT_AT_CFA,    /* at CFA + 8 * off */
    PT_SLOT_AT_SP,     /* at sp + 8 * off: signal frames */
    PT_SLOT_AT_FP,     /* at fp + 8 * off: realigned stacks */
    PT_SLOT_COUNT,
};

/* How to compute the CFA, the caller's pc and the caller's fp. */
typedef struct {
    uint8_t cfa_kind;
    uint8_t cfa_reg; /* DWARF number */
    uint8_t pc_slot : 4, fp_slot : 4;
    /* 1: a signal interrupted the caller, so the caller's pc is no return address. */
    uint8_t is_signal;
    int32_t cfa_off;
    int16_t pc_off, fp_off;
} pt_unwind_rule;

/* ---- compiling ---- */

/* The bytes of .eh_frame or .debug_frame, and their addresses as linked. */
typedef struct {
    uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
    const uint8_t *bytes;
    uint64_t size_bytes;
    uint64_t addr;                 /* address of bytes[0] */
    uint64_t text_addr, data_addr; /* the bases of DW_EH_PE_textrel and DW_EH_PE_datarel */
    bool is_debug_frame;
    bool is_whole_section; /* size_bytes is exact: a zero word inside does not end the section */
} pt_unwind_frames;

/* Finds .eh_frame (by its section, else by PT_GNU_EH_FRAME), else an uncompressed .debug_frame.
 * False if the file has none, or its machine or byte order is not supported. *ret_frames points
 * into the file's bytes. */
bool pt_unwind_frames_of_elf(const struct pt_elf *elf, pt_unwind_frames *ret_frames);

/* Lists the pieces of code that the entries describe, in the entries' order: functions, and the
 * parts of functions that lie elsewhere. Entries of dropped functions (address 0) and damaged
 * entries are left out. */
typedef void pt_unwind_piece(void *arg, uint64_t start_addr, uint64_t size_bytes);
void pt_unwind_each_piece(const pt_unwind_frames *frames, pt_unwind_piece *piece, void *arg);

/* Reads the address of .eh_frame from .eh_frame_hdr, which lies at hdr_addr. For images in memory.
 * False: the header is damaged or of unknown form. */
bool pt_unwind_eh_frame_addr(const uint8_t *hdr, uint64_t hdr_bytes, uint64_t hdr_addr,
                             uint64_t *ret_eh_frame_addr);

/* The caller's allocator. alloc returns bytes aligned to 8, uninitialised, or NULL. resize grows or
 * shrinks memory, may move it, and keeps the bytes that fit; on failure it returns NULL and changes
 * nothing. */
typedef struct {
    void *(*alloc)(void *arg, size_t bytes);
    void *(*resize)(void *arg, void *memory, size_t bytes, size_t wanted_bytes);
    void (*release)(void *arg, void *memory, size_t bytes);
    void *arg;
} pt_unwind_memory;

typedef enum {
    PT_UNWIND_OK = 0,
    PT_UNWIND_NO_FRAMES, /* no usable entry */
    PT_UNWIND_NO_MEMORY,
    PT_UNWIND_TOO_LARGE,   /* the module's code or frames span 4 GiB or more */
    PT_UNWIND_UNSUPPORTED, /* unsupported machine, or a blob of another version */
    PT_UNWIND_DAMAGED,     /* a blob whose content contradicts its header */
} pt_unwind_status;

enum { PT_UNWIND_ID_MAX = 32 };
enum {
    PT_UNWIND_PAGE_BITS = 12
}; /* small pages keep the rows of a page few; each page costs 4 bytes */

/* Compiles the frames into a blob, which memory->alloc allocates. The caller frees the blob by
 * memory->release, with *ret_blob_bytes as its size. Damaged entries are skipped: their code has no
 * rule. id: the module's build id, stored in the blob and cut to PT_UNWIND_ID_MAX bytes; may be
 * NULL. The time grows with the size of the frames; scratch memory is a few times that size. Do not
 * call this function in a signal handler. */
pt_unwind_status pt_unwind_compile(const pt_unwind_frames *frames, const uint8_t *id,
                                   size_t id_bytes, const pt_unwind_memory *memory, void **ret_blob,
                                   size_t *ret_blob_bytes);

/* Compiles a blob from every source in an image's file: its frames; .gopclntab for functions of Go
 * (x86-64); and, for code that neither of these covers (such as musl's), the code itself, followed
 * from symbols, call targets and the entry point. Code that cannot be followed has no rule. */
pt_unwind_status pt_unwind_compile_elf(const struct pt_elf *elf, const uint8_t *id, size_t id_bytes,
                                       const pt_unwind_memory *memory, void **ret_blob,
                                       size_t *ret_blob_bytes);

/* ---- reading ---- */

/* A checked blob; the fields point into it. */
typedef struct {
    uint64_t base_addr;
    uint32_t page_count, row_count, rule_count;
    uint16_t machine;
    const uint32_t *pages;
    const pt_unwind_rule *rules;
    const uint32_t *rows; /* low 16 bits: offset in the page; high 16 bits: number of the rule */
    const uint8_t *id;
    size_t id_bytes;
} pt_unwind_table;

/* Checks a whole blob (aligned to 4), which may come from an untrusted file. Afterwards look-ups
 * stay inside the blob even if its bytes change. */
pt_unwind_status pt_unwind_table_open(const void *blob, size_t blob_bytes,
                                      pt_unwind_table *ret_table);

/* The rule at a linked address. Never NULL: cfa_kind is PT_CFA_NONE where the table has no rule.
 * Async-signal-safe. */
const pt_unwind_rule *pt_unwind_table_rule(const pt_unwind_table *table, uint64_t addr);

/* ---- code whose CFA is by the base register ---- */

/* Does some rule of the table compute the CFA from the base register? A rule of the loader's
 * function that binds symbols lazily does: that function realigns the stack, and the base register
 * keeps the old stack pointer.
 */
bool pt_unwind_needs_base(const pt_unwind_table *table);

/* Compiles a second table from the module's frames. In this table fp_slot and fp_off give the place
 * where the base register, not fp, is saved. The caller releases the blob. Returns false, with
 * nothing changed, if the table could not be made. */
bool pt_unwind_compile_base(const pt_unwind_frames *frames, const pt_unwind_memory *memory,
                            void **ret_blob, size_t *ret_blob_bytes, pt_unwind_table *ret_table);
