/* dictionary.c: see dictionary.h. Open addressing, at most half full. */
#include "unwind/dictionary.h"

#include <string.h>

static uint32_t hash_of(const void *value)
{
    uint32_t words[3];
    _Static_assert(sizeof words == PT_DICTIONARY_VALUE_BYTES, "a value is three words");
    memcpy(words, value, sizeof words);
    const uint64_t h = ((uint64_t)words[0] << 32 ^ words[1] ^ (uint64_t)words[2] << 16) *
                       UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

static bool is_value(const pt_dictionary *d, uint16_t number, const void *value)
{
    return memcmp(pt_dictionary_value(d, number), value, PT_DICTIONARY_VALUE_BYTES) == 0;
}

void pt_dictionary_done(pt_dictionary *d)
{
    pt_scratch_done(&d->values_memory);
    pt_scratch_done(&d->slots_memory);
}

bool pt_dictionary_init(pt_dictionary *d, const pt_unwind_memory *memory, uint32_t cap)
{
    *d = (pt_dictionary){.memory = memory, .count = 1, .cap = cap, .mask = 2 * cap - 1};
    d->values = pt_scratch_take(&d->values_memory, memory, cap, PT_DICTIONARY_VALUE_BYTES);
    d->slots =
        pt_scratch_take_zeroed(&d->slots_memory, memory, 2 * (uint64_t)cap, sizeof *d->slots);
    if (d->values == NULL || d->slots == NULL) {
        pt_dictionary_done(d);
        return false;
    }
    memset(d->values, 0, PT_DICTIONARY_VALUE_BYTES);
    return true;
}

/* Doubles the room and keeps all values. */
static bool grow_dictionary(pt_dictionary *d)
{
    pt_dictionary grown;
    if (!pt_dictionary_init(&grown, d->memory, d->cap * 2)) return false;
    grown.count = d->count;
    memcpy(grown.values, d->values, (size_t)d->count * PT_DICTIONARY_VALUE_BYTES);
    for (uint32_t i = 1; i < d->count; i++) {
        uint32_t at = hash_of(pt_dictionary_value(d, (uint16_t)i)) & grown.mask;
        while (grown.slots[at] != 0)
            at = (at + 1) & grown.mask;
        grown.slots[at] = (uint16_t)i;
    }
    pt_dictionary_done(d);
    *d = grown;
    return true;
}

uint16_t pt_dictionary_number(pt_dictionary *d, const void *value)
{
    const uint32_t hash = hash_of(value);
    uint32_t at = hash & d->mask;
    for (; d->slots[at] != 0; at = (at + 1) & d->mask)
        if (is_value(d, d->slots[at], value)) return d->slots[at];
    if (is_value(d, 0, value)) return 0;
    if (d->count == d->cap) {
        if (d->cap == PT_DICTIONARY_MAX || !grow_dictionary(d)) return 0;
        at = hash & d->mask;
        while (d->slots[at] != 0)
            at = (at + 1) & d->mask;
    }
    memcpy(d->values + (size_t)d->count * PT_DICTIONARY_VALUE_BYTES, value,
           PT_DICTIONARY_VALUE_BYTES);
    d->slots[at] = (uint16_t)d->count;
    return (uint16_t)d->count++;
}
