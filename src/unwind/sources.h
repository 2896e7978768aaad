/* sources.h: the sources of unwind rules: call frame information, Go's tables, the code itself.
 * For use inside the layer. */
#pragma once

#include "elf/image.h"
#include "unwind/cfi.h"
#include "unwind/dictionary.h"
#include "unwind/table.h"

typedef enum {
    PT_FROM_FDE,  /* pt_unwind_function.off: offset of the FDE in the frames */
    PT_FROM_GO,   /* off: number in Go's function table */
    PT_FROM_CODE, /* off: not used */
} pt_unwind_source;

/* A range of code whose rules come from one source. */
typedef struct {
    uint64_t start_addr;
    uint32_t size_bytes;
    uint32_t off;
    uint16_t source; /* pt_unwind_source */
    /* Of PT_FROM_CODE, after the code was followed: */
    bool never_returns;
    bool is_settled;    /* final: facts about other functions cannot change never_returns */
    uint32_t first_row; /* index in pt_unwind_sources.kept, + 1; 0 if no rows were kept */
} pt_unwind_function;

/* Receives rows in ascending order of addr: from addr on the rule holds. */
typedef void pt_unwind_row(void *arg, uint64_t addr, const pt_unwind_rule *rule);

/* ---- Go (go.c) ---- */

/* Go's function table .gopclntab, as runtime/symtab.go and cmd/link's pcln.go of Go 1.18 and
 * later define it. */
typedef struct {
    const pt_elf *elf;
    const uint8_t *bytes;
    uint64_t size_bytes;
    uint64_t text_addr;
    uint64_t pc_off;        /* offset of the pc-value tables */
    uint64_t func_off;      /* offset of the function table */
    uint32_t count;         /* functions */
    uint32_t quantum;       /* least size of an instruction */
    uint32_t func_flag_off; /* of the flag byte in a function's entry */
} pt_go_table;

/* Finds the table. Returns false if the file has none, or a table of an unknown version. x86-64
 * only. */
bool pt_go_open(const pt_elf *elf, pt_go_table *ret_table);
/* Reads function i. Returns false if the function's data is damaged. */
bool pt_go_function(const pt_go_table *table, uint32_t i, pt_unwind_function *ret_function);
/* Delivers the rules of a function. */
void pt_go_rows(const pt_go_table *table, const pt_unwind_function *function, pt_unwind_row *row,
                void *arg);

/* ---- code (code.c) ---- */

enum {
    PT_CODE_MAX_BYTES = 1 << 20, /* functions longer than this are not followed */
    PT_CODE_TRAMPOLINE_A64_BYTES = 8,
};

/* Where the return address is, on machines with a link register. */
enum {
    PT_LINK_KEPT,  /* in the link register */
    PT_LINK_ABOVE, /* in the 8 bytes above the saved fp of the caller: a frame record */
    PT_LINK_ALONE, /* at CFA + 8 * saved; the caller's fp is not saved */
    PT_LINK_LOST,
};

/* The unwind state before an instruction. Offsets are in bytes, 0 where unknown. */
typedef struct {
    int32_t sp_off; /* CFA = sp + sp_off, if has_sp */
    int32_t fp_off; /* CFA = fp + fp_off, if has_fp */
    int16_t saved;  /* the caller's fp is at CFA + 8 * saved; 0 if fp was not saved */
    uint8_t is_set; /* always 1, so that no state is all zero (value 0 of the dictionary) */
    bool has_sp : 1, has_fp : 1;
    bool is_fp_lost : 1; /* fp has another value, and the caller's was not saved */
    bool is_root : 1;    /* the thread starts here */
    uint8_t link : 2;    /* PT_LINK_X; 0 on machines without a link register */
} pt_code_state;

/* Working memory to follow one function, indexed by the offset of an instruction. */
typedef struct {
    uint32_t *places;  /* number of the state | length of the instruction << 16; 0: not reached */
    uint64_t *pending; /* bitmap: reached, but not followed yet */
    pt_dictionary *all_states;
} pt_code_room;

/* Makes the dictionary of states. False: no memory. */
bool pt_code_states_init(pt_dictionary *all_states, const pt_unwind_memory *memory);

/* The size of the working memory of a function of size_bytes, and its layout in the caller's
 * words. */
size_t pt_code_room_bytes(uint32_t size_bytes);
pt_code_room pt_code_room_in(uint64_t *words, uint32_t size_bytes, pt_dictionary *all_states);

/* Callbacks of pt_code_follow. */
typedef struct {
    /* Returns whether the called function returns. */
    bool (*returns)(void *arg, uint64_t target);
    /* Reports a jump out of the function (a tail call). May be NULL. */
    void (*leaves)(void *arg, uint64_t target);
    void *arg;
} pt_code_hooks;

/* Follows the code of a function from its first instruction, where the return address is on top
 * of the stack, or in the link register. Returns whether the function may return. */
bool pt_code_follow(const pt_elf *elf, const pt_unwind_function *function,
                    const pt_code_hooks *hooks, const pt_code_room *room);
/* Delivers the rules of a function. The function must be the last that pt_code_follow followed in
 * this room. */
void pt_code_rows(const pt_elf *elf, const pt_unwind_function *function, const pt_code_room *room,
                  pt_unwind_row *row, void *arg);

/* True for the code to which a signal handler returns: "mov rax, 15; syscall", or "mov x8, 139; svc
 * 0". */
bool pt_code_is_signal_trampoline(const pt_elf *elf, const uint8_t *bytes, uint64_t size);

/* True for the code in which a fiber begins (Boost.Context on x86-64, which PHP has): "push rbp;
 * jmp rbx; xor rdi, rdi; call _exit". This code has no caller, and the function to which it jumps
 * returns to the instruction after the jump. */
bool pt_code_is_fiber_start(const pt_elf *elf, const uint8_t *bytes, uint64_t size);

/* ---- all of them (functions.c) ---- */

/* A growing list of functions. */
typedef struct {
    const pt_unwind_memory *memory;
    pt_scratch items_memory;
    pt_unwind_function *items;
    uint32_t count, cap;
    uint32_t expected;   /* expected number of functions, for the first allocation */
    uint64_t low, limit; /* the lowest and highest address of all functions */
} pt_unwind_functions;

/* A row of a function that was followed, kept until the table is written. */
typedef struct {
    uint32_t off; /* from the function's start; PT_KEPT_END: the function has no further rows */
    pt_unwind_rule rule;
} pt_kept_row;

#define PT_KEPT_END UINT32_MAX

typedef struct {
    const pt_elf *elf; /* NULL: there are frames only */
    pt_cfi_reader *reader;
    pt_go_table go;
    pt_unwind_functions functions; /* sorted by address */
    pt_scratch room_memory;
    pt_code_room room; /* large enough for the longest function that is followed */
    pt_dictionary states;
    pt_scratch kept_memory;
    pt_kept_row *kept;
    uint32_t kept_count, kept_cap;
} pt_unwind_sources;

/* Collects the functions of all sources. memory, elf and reader must be set. PT_UNWIND_NO_FRAMES
 * if no source has any. */
pt_unwind_status pt_functions_collect(pt_unwind_sources *from);
void pt_functions_done(pt_unwind_sources *from);
/* The `returns` hook: whether the function at addr returns, as far as is known (true if
 * unknown). arg: pt_unwind_sources. */
bool pt_functions_return(void *arg, uint64_t addr);

/* ---- for sources; false: no memory ---- */

/* Appends a function; call pt_functions_sort before the next look-up. */
bool pt_functions_add(pt_unwind_functions *functions, const pt_unwind_function *function);
bool pt_functions_sort(pt_unwind_functions *functions);
/* The function that begins at addr, or NULL. The functions must be sorted. */
const pt_unwind_function *pt_functions_at(const pt_unwind_functions *functions, uint64_t addr);
/* The function that contains addr, or NULL. */
const pt_unwind_function *pt_functions_around(const pt_unwind_functions *functions, uint64_t addr);
/* Starts a signal trampoline one instruction earlier if padding precedes it: return addresses are
 * looked up at pc - 1, but a handler returns to the trampoline's first byte. */
void pt_functions_widen_trampoline(const pt_elf *elf, pt_unwind_function *function);
/* Allocates the working memory for the longest function that will be followed. */
bool pt_functions_take_room(pt_unwind_sources *from);

/* ---- code that no other source covers (uncovered.c) ---- */

/* Finds functions in code that no sorted function covers, adds them, and follows them. */
bool pt_uncovered_add(pt_unwind_sources *from);
