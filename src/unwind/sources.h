/* sources.h: where rules come from: call frame information, Go's tables, the code itself. For use
 * inside the layer. */
#ifndef PT_UNWIND_SOURCES_H
#define PT_UNWIND_SOURCES_H

#include "elf/image.h"
#include "unwind/cfi.h"
#include "unwind/dictionary.h"
#include "unwind/table.h"

typedef enum {
    PT_FROM_FDE,  /* off: of the FDE in the frames */
    PT_FROM_GO,   /* off: number in the function table */
    PT_FROM_CODE, /* off: not used */
    PT_FROM_VDSO, /* off: not used; what a signal handler returns to on aarch64 */
} pt_unwind_source;

/* A stretch of code that one source tells the rules of. */
typedef struct {
    uint64_t start_addr;
    uint32_t size_bytes;
    uint32_t off;
    uint16_t source; /* pt_unwind_source */
    /* Of PT_FROM_CODE, once that is known: */
    bool never_returns;
    bool is_settled;    /* nothing that is learnt of others changes that */
    uint32_t first_row; /* in pt_unwind_sources, + 1; 0: none are kept */
} pt_unwind_function;

/* Called in ascending order: from addr on the rule holds. */
typedef void pt_unwind_row(void *arg, uint64_t addr, const pt_unwind_rule *rule);

/* ---- Go (go.c) ---- */

/* .gopclntab, as runtime/symtab.go and cmd/link's pcln.go of Go 1.18 and later lay it out. */
typedef struct {
    const pt_elf *elf;
    const uint8_t *bytes;
    uint64_t size_bytes;
    uint64_t text_addr;
    uint64_t pc_off;        /* of the pc-value tables */
    uint64_t func_off;      /* of the function table */
    uint32_t count;         /* functions */
    uint32_t quantum;       /* least size of an instruction */
    uint32_t func_flag_off; /* of the flag byte in a function's entry */
} pt_go_table;

/* False if the file has none, or of a version that we do not know. x86-64 only. */
bool pt_go_open(const pt_elf *elf, pt_go_table *ret_table);
/* Function i; false if it is damaged. */
bool pt_go_function(const pt_go_table *table, uint32_t i, pt_unwind_function *ret_function);
void pt_go_rows(const pt_go_table *table, const pt_unwind_function *function, pt_unwind_row *row,
                void *arg);

/* ---- code (code.c) ---- */

enum { PT_CODE_MAX_BYTES = 1 << 20 }; /* of a function that is looked at */

/* What is true before an instruction. Offsets in bytes, 0 where they are not known. */
typedef struct {
    int32_t sp_off; /* CFA = rsp + sp_off, if has_sp */
    int32_t fp_off; /* CFA = rbp + fp_off, if has_fp */
    int16_t saved;  /* the caller's rbp is at CFA + 8 * saved; 0 = it was not saved */
    uint8_t is_set; /* 1: so that none is of zeroes only */
    bool has_sp : 1, has_fp : 1;
    bool is_fp_lost : 1; /* rbp is another's, and the caller's is nowhere */
    bool is_root : 1;    /* the thread starts here */
} pt_code_state;

/* Room to follow a function in: by the offset of an instruction. */
typedef struct {
    uint32_t *places;  /* number of a state, length of the instruction << 16; 0: not reached */
    uint64_t *pending; /* bits: reached, and to be followed from there */
    pt_dictionary *all_states;
} pt_code_room;

/* False if there is no memory. */
bool pt_code_states_init(pt_dictionary *all_states, const pt_unwind_memory *memory);

/* The room that a function of size_bytes takes, and that room in words. */
size_t pt_code_room_bytes(uint32_t size_bytes);
pt_code_room pt_code_room_in(uint64_t *words, uint32_t size_bytes, pt_dictionary *all_states);

/* What following a function asks and tells. */
typedef struct {
    /* Does the function that a call goes to return? */
    bool (*returns)(void *arg, uint64_t target);
    /* A jump leads out of the function, as a call in the last place does. May be NULL. */
    void (*leaves)(void *arg, uint64_t target);
    void *arg;
} pt_code_hooks;

/* Follows the code of one function from its first instruction, where the return address is on top
 * of the stack. Returns whether it may return. */
bool pt_code_follow(const pt_elf *elf, const pt_unwind_function *function,
                    const pt_code_hooks *hooks, const pt_code_room *room);
/* Tells what holds where, as it was found when this function was followed last in that room. */
void pt_code_rows(const pt_elf *elf, const pt_unwind_function *function, const pt_code_room *room,
                  pt_unwind_row *row, void *arg);

/* mov rax, 15; syscall: what a signal handler returns to. */
bool pt_code_is_signal_trampoline(const uint8_t *bytes, uint64_t size);

/* ---- all of them (functions.c) ---- */

typedef struct {
    const pt_unwind_memory *memory;
    pt_scratch items_memory;
    pt_unwind_function *items;
    uint32_t count, cap;
    uint32_t expected;   /* how many there may be: room for them is made at once */
    uint64_t low, limit; /* the span of their addresses */
} pt_unwind_functions;

/* A row of a function that was followed. */
typedef struct {
    uint32_t off; /* from its start; PT_KEPT_END: there are no more of it */
    pt_unwind_rule rule;
} pt_kept_row;

#define PT_KEPT_END UINT32_MAX

typedef struct {
    const pt_elf *elf; /* NULL: there are only frames */
    pt_cfi_reader *reader;
    pt_go_table go;
    pt_unwind_functions functions; /* by address */
    pt_scratch room_memory;
    pt_code_room room; /* for the longest function that is followed by its code */
    pt_dictionary states;
    pt_scratch kept_memory;
    pt_kept_row *kept;
    uint32_t kept_count, kept_cap;
} pt_unwind_sources;

/* Fills functions, of all sources; memory, elf and reader are set. PT_UNWIND_NO_FRAMES if there is
 * none. */
pt_unwind_status pt_functions_collect(pt_unwind_sources *from);
void pt_functions_done(pt_unwind_sources *from);
/* A hook: does the function at the address return, as far as is known? arg: pt_unwind_sources. */
bool pt_functions_return(void *arg, uint64_t addr);

/* ---- for sources; false: no memory ---- */

/* Before the functions are sorted again. */
bool pt_functions_add(pt_unwind_functions *functions, const pt_unwind_function *function);
bool pt_functions_sort(pt_unwind_functions *functions);
/* Of sorted ones, the one that begins there, or NULL. */
const pt_unwind_function *pt_functions_at(const pt_unwind_functions *functions, uint64_t addr);
/* The one that addr lies in, or NULL. */
const pt_unwind_function *pt_functions_around(const pt_unwind_functions *functions, uint64_t addr);
/* Return addresses are looked up a byte early, and a handler returns to a trampoline's first one:
 * where padding lies before it, the function begins there. */
void pt_functions_widen_trampoline(const pt_elf *elf, pt_unwind_function *function);
/* Room for the longest function that is to be followed. */
bool pt_functions_take_room(pt_unwind_sources *from);

/* ---- code that nothing tells of (uncovered.c) ---- */

/* Adds functions in code of x86-64 that none of the sorted ones covers, and follows them. */
bool pt_uncovered_add(pt_unwind_sources *from);

#endif
