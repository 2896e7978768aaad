/* index.c: see index.h. */
#include "base/index.h"

#include <stdlib.h>

#include "base/error.h"

void pt_index_init(pt_index *index)
{
    *index = (pt_index){0};
}

void pt_index_done(pt_index *index)
{
    free(index->slots);
    *index = (pt_index){0};
}

static void put_slot(uint64_t *slots, uint64_t mask, uint64_t slot)
{
    uint64_t position = pt_index_home((uint32_t)(slot >> 32), mask);
    while (slots[position] != 0)
        position = (position + 1) & mask;
    slots[position] = slot;
}

void pt_index_reserve(pt_index *index, uint32_t count)
{
    uint64_t size = index->mask + 1 > 16 ? index->mask + 1 : 16;
    while ((uint64_t)count * 8 > size * 5)
        size *= 2;
    if (index->slots != NULL && size == index->mask + 1) return;
    uint64_t *slots = pt_alloc_table(size, sizeof *slots);
    for (uint64_t i = 0; index->slots != NULL && i <= index->mask; i++) {
        if (index->slots[i] != 0) put_slot(slots, size - 1, index->slots[i]);
    }
    free(index->slots);
    index->slots = slots;
    index->mask = size - 1;
}

void pt_index_add(pt_index *index, uint64_t hash, uint32_t id)
{
    PT_BUG_IF(id == PT_NONE);
    pt_index_reserve(index, index->count + 1);
    put_slot(index->slots, index->mask, (hash & 0xffffffff00000000u) | (id + 1));
    index->count++;
}
