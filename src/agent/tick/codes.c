/* codes.c: see codes.h. */
#include "agent/tick/codes.h"

#include <string.h>

enum { TRIES = 64 }; /* slots that are tried for a function before it gets no number */

static uint64_t mix_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(uint64_t hash, const uint8_t *bytes, size_t size)
{
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mix_word(hash, word);
    }
    word = size;
    for (size_t i = 0; i < size; i++)
        word = word << 8 | bytes[i];
    return mix_word(hash, word);
}

const pt_tick_known_code *pt_tick_code_of(const pt_tick_codes *codes, uint32_t number)
{
    if (number >= PT_TICK_CODES) return NULL;
    const uint32_t at = atomic_load_explicit(&codes->record[number], memory_order_acquire);
    return at != 0 ? (const pt_tick_known_code *)(codes->texts + at - 1) : NULL;
}

/* The number of a function with equal content; 0 if there is none yet. */
static uint32_t find_content(const pt_tick_codes *codes, uint64_t hash,
                             const pt_tick_known_code *like, const uint8_t *text, size_t bytes)
{
    const uint32_t mask = 2 * PT_TICK_CODES - 1;
    for (uint32_t i = (uint32_t)hash & mask, tries = 0; tries < TRIES;
         i = (i + 1) & mask, tries++) {
        const uint64_t slot = atomic_load_explicit(&codes->slot[i], memory_order_acquire);
        if (slot == 0) return 0;
        if (slot >> 32 != hash >> 32) continue;
        const pt_tick_known_code *const code = pt_tick_code_of(codes, (uint32_t)slot);
        if (code != NULL && code->first_line == like->first_line &&
            code->name_bytes == like->name_bytes && code->file_bytes == like->file_bytes &&
            code->lines_bytes == like->lines_bytes && code->language == like->language &&
            memcmp(code + 1, text, bytes) == 0)
            return (uint32_t)slot;
    }
    return 0;
}

/* Adds new content and returns its number; 0 if there is no room. If two threads add the same
 * content at once, it may get two numbers. */
static uint32_t add_content(pt_tick_codes *codes, uint64_t hash, const pt_tick_known_code *like,
                            const uint8_t *text, size_t bytes)
{
    const uint32_t size = (uint32_t)(sizeof *like + bytes + 7) / 8 * 8;
    if (atomic_load(&codes->count) >= PT_TICK_CODES - 1 || size > codes->texts_cap) return 0;
    uint32_t at = atomic_load(&codes->used_bytes);
    do {
        if (size > codes->texts_cap - at) return 0;
    } while (!atomic_compare_exchange_weak(&codes->used_bytes, &at, at + size));
    const uint32_t number = atomic_fetch_add(&codes->count, 1) + 1;
    if (number >= PT_TICK_CODES) return 0;
    pt_tick_known_code *const code = (pt_tick_known_code *)(codes->texts + at);
    *code = *like;
    code->number = number;
    memcpy(code + 1, text, bytes);
    atomic_store_explicit(&codes->record[number], at + 1, memory_order_release);
    const uint32_t mask = 2 * PT_TICK_CODES - 1;
    for (uint32_t i = (uint32_t)hash & mask, tries = 0; tries < TRIES;
         i = (i + 1) & mask, tries++) {
        uint64_t empty = 0;
        if (atomic_compare_exchange_strong(&codes->slot[i], &empty, (hash >> 32) << 32 | number))
            break;
    }
    return number;
}

uint32_t pt_tick_code_number(pt_tick_codes *codes, const pt_tick_known_code *like,
                             const uint8_t *text)
{
    const size_t bytes = (size_t)like->name_bytes + like->file_bytes + like->lines_bytes;
    const uint64_t hash = hash_of(mix_word((uint64_t)like->name_bytes << 32 | like->file_bytes,
                                           (uint32_t)like->first_line),
                                  text, bytes) |
                          UINT64_C(1) << 63;
    const uint32_t number = find_content(codes, hash, like, text, bytes);
    return number != 0 ? number : add_content(codes, hash, like, text, bytes);
}
