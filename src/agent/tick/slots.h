/* slots.h: a thread's cache of functions by address. A second number distinguishes functions that
 * lie at the same address at different times. */
#pragma once

#include <stdint.h>

typedef struct {
    uint64_t key; /* an address; 0: empty */
    uint64_t check;
    uint32_t number; /* of the function's code (codes.h) */
    uint32_t sample; /* the number of the last sample with the function */
} pt_tick_slot;

enum { PT_TICK_SLOT_SETS = 1024 };

/* All zero is empty. */
typedef pt_tick_slot pt_tick_slots[PT_TICK_SLOT_SETS][2];

/* The slot for an address, which may be in either of two slots: the slot that holds the address,
 * else the slot that was used longer ago. sample: the number of the present sample. */
static inline pt_tick_slot *pt_tick_slot_of(pt_tick_slots slots, uint64_t key, uint32_t sample)
{
    pt_tick_slot *const set = slots[(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PT_TICK_SLOT_SETS];
    if (set[0].key == key) return &set[0];
    if (set[1].key == key) return &set[1];
    return &set[sample - set[1].sample > sample - set[0].sample];
}
