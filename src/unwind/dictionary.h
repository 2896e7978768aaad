/* dictionary.h: numbers distinct values of 12 bytes with 16 bits. For use inside the layer. */
#pragma once

#include "unwind/scratch.h"

enum { PT_DICTIONARY_VALUE_BYTES = 12, PT_DICTIONARY_MAX = 65536 };

/* Value 0 is always the value of all zero bytes. */
typedef struct {
    const pt_unwind_memory *memory;
    pt_scratch values_memory, slots_memory;
    uint8_t *values; /* count values of 12 bytes, contiguous */
    uint32_t count, cap;
    uint16_t *slots; /* hash table of value numbers; 0: empty */
    uint32_t mask;
} pt_dictionary;

/* Makes a dictionary with initial room for cap values, a power of two. False: no memory. */
bool pt_dictionary_init(pt_dictionary *d, const pt_unwind_memory *memory, uint32_t cap);
void pt_dictionary_done(pt_dictionary *d);

/* Finds or adds a value of 12 bytes without padding, and returns its number. 0: the dictionary
 * is full or memory is out (or the value is all zero). */
uint16_t pt_dictionary_number(pt_dictionary *d, const void *value);

/* The value of a number that pt_dictionary_number returned. The pointer is valid until the next
 * value is added. */
static inline const void *pt_dictionary_value(const pt_dictionary *d, uint16_t number)
{
    return d->values + (size_t)number * PT_DICTIONARY_VALUE_BYTES;
}
