/* known.c: see known.h. */
#include "capture/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { PLACES = 1 << PT_BPF_KNOWN_BITS };

struct pt_known {
    uint32_t cpu_limit;
    pt_known_stack **of_cpu; /* PLACES each; NULL: the cpu has sent none yet */
};

pt_known *pt_known_new(uint32_t cpu_limit)
{
    pt_known *const known = pt_alloc(1, sizeof *known);
    known->cpu_limit = cpu_limit;
    known->of_cpu = pt_alloc(cpu_limit, sizeof *known->of_cpu);
    return known;
}

void pt_known_free(pt_known *known)
{
    if (known == NULL) return;
    for (uint32_t cpu = 0; cpu < known->cpu_limit; cpu++) {
        for (size_t i = 0; known->of_cpu[cpu] != NULL && i < PLACES; i++)
            free(known->of_cpu[cpu][i].stack);
        free(known->of_cpu[cpu]);
    }
    free(known->of_cpu);
    free(known);
}

pt_known_stack *pt_known_put(pt_known *known, uint32_t cpu, const pt_bpf_stack *stack)
{
    const size_t bytes = sizeof stack->bytes + stack->bytes;
    if (cpu >= known->cpu_limit) return NULL;
    if (known->of_cpu[cpu] == NULL)
        known->of_cpu[cpu] = pt_alloc(PLACES, sizeof *known->of_cpu[cpu]);
    pt_known_stack *const at = &known->of_cpu[cpu][PT_BPF_KNOWN_PLACE(stack->key)];
    free(at->stack);
    *at = (pt_known_stack){.key = stack->key, .stack = pt_alloc(1, bytes)};
    memcpy(at->stack, stack, bytes);
    return at;
}

pt_known_stack *pt_known_find(pt_known *known, uint32_t cpu, uint64_t key)
{
    if (cpu >= known->cpu_limit || known->of_cpu[cpu] == NULL) return NULL;
    pt_known_stack *const at = &known->of_cpu[cpu][PT_BPF_KNOWN_PLACE(key)];
    return at->key == key && at->stack != NULL ? at : NULL;
}
