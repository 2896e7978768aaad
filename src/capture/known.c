/* known.c: see known.h. */
#include "capture/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/index.h"

enum { PLACES = 1 << PT_BPF_KNOWN_BITS };

struct pt_known {
    uint32_t cpu_limit;
    uint32_t **of_cpu; /* PLACES each: the row + 1 of stack, 0: none; NULL: the cpu has sent none */
    PT_VECTOR(pt_known_stack) stack;
    pt_index of_key;
    uint32_t free_row; /* the first free row + 1; 0: none */
    uint32_t freed;    /* entries that became void since of_key was built */
};

pt_known *pt_known_new(uint32_t cpu_limit)
{
    pt_known *const known = pt_alloc(1, sizeof *known);
    known->cpu_limit = cpu_limit;
    known->of_cpu = pt_alloc(cpu_limit, sizeof *known->of_cpu);
    pt_index_init(&known->of_key);
    return known;
}

void pt_known_free(pt_known *known)
{
    if (known == NULL) return;
    for (uint32_t cpu = 0; cpu < known->cpu_limit; cpu++)
        free(known->of_cpu[cpu]);
    free(known->of_cpu);
    for (size_t i = 0; i < known->stack.count; i++)
        free(known->stack.items[i].stack);
    free(known->stack.items);
    pt_index_done(&known->of_key);
    free(known);
}

static void rebuild_index(pt_known *known)
{
    pt_index_done(&known->of_key);
    for (size_t i = 0; i < known->stack.count; i++)
        if (known->stack.items[i].key != 0)
            pt_index_add(&known->of_key, known->stack.items[i].key, (uint32_t)i);
    known->freed = 0;
}

/* Notes that a place no longer has the stack of that row. When the last place with that row is
 * gone, frees the stack. */
static void release_row(pt_known *known, uint32_t row)
{
    enum { FREED_MIN = 1024 };
    pt_known_stack *const s = &known->stack.items[row];
    if (--s->places > 0) return;
    free(s->stack);
    *s = (pt_known_stack){.before = known->free_row};
    known->free_row = row + 1;
    if (++known->freed > FREED_MIN && known->freed > known->of_key.count / 2) rebuild_index(known);
}

static uint32_t add_row(pt_known *known, uint64_t key)
{
    const pt_known_stack added = {.key = key};
    if (known->free_row == 0) return PT_INDEX_PUSH(&known->of_key, key, known->stack, added);
    const uint32_t row = known->free_row - 1;
    known->free_row = known->stack.items[row].before;
    known->stack.items[row] = added;
    pt_index_add(&known->of_key, key, row);
    return row;
}

pt_known_stack *pt_known_put(pt_known *known, uint32_t cpu, const pt_bpf_stack *stack)
{
    const size_t bytes = sizeof stack->bytes + stack->bytes;
    if (cpu >= known->cpu_limit) return NULL;
    if (known->of_cpu[cpu] == NULL)
        known->of_cpu[cpu] = pt_alloc(PLACES, sizeof *known->of_cpu[cpu]);
    uint32_t row =
        PT_INDEX_FIND(&known->of_key, stack->key, i, known->stack.items[i].key == stack->key);
    if (row == PT_NONE) row = add_row(known, stack->key);
    known->stack.items[row].places++;
    uint32_t *const place = &known->of_cpu[cpu][PT_BPF_KNOWN_PLACE(stack->key)];
    if (*place != 0) release_row(known, *place - 1);
    *place = row + 1;
    pt_known_stack *const s = &known->stack.items[row];
    free(s->stack);
    *s = (pt_known_stack){.key = stack->key, .stack = pt_alloc(1, bytes), .places = s->places};
    memcpy(s->stack, stack, bytes);
    return s;
}

pt_known_stack *pt_known_find(pt_known *known, uint32_t cpu, uint64_t key)
{
    if (cpu >= known->cpu_limit || known->of_cpu[cpu] == NULL) return NULL;
    const uint32_t place = known->of_cpu[cpu][PT_BPF_KNOWN_PLACE(key)];
    if (place == 0 || known->stack.items[place - 1].key != key) return NULL;
    return &known->stack.items[place - 1];
}
