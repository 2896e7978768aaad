/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* v8_walk.h: from the function object of a frame of JavaScript to its shared function info (v8.h),
 * for user space and for the program in the kernel.
 *
 * The includer defines:
 *
 *   v8_memory     the memory that is read
 *   fetch_v8      copies bytes of a v8_memory
 *   v8_object_of  a v8_memory's room for the beginning of an object, PT_V8_OBJECT_WORDS words
 *
 * Indexes of words are masked, because the kernel's verifier must see their limits.
 */
#pragma once

#include "interp/v8.h"

enum {
    V8_WORD = 8,
    V8_TAG = 1,
    V8_LOCALS_MAX = 1 << 16,
};

/* Reads the beginning of an object, up to the field, to v8_object_of(heap). */
static inline bool fetch_v8_object(v8_memory *heap, uint64_t object, int32_t field)
{
    const uint32_t bytes = (uint32_t)field + V8_WORD;
    return pt_v8_is_tagged(object) && bytes <= PT_V8_OBJECT_WORDS * V8_WORD &&
           fetch_v8(heap, object - V8_TAG, v8_object_of(heap), bytes);
}

/* A field of the object that was read. */
static inline uint64_t v8_field(v8_memory *heap, int32_t offset)
{
    return v8_object_of(heap)[(uint32_t)offset / V8_WORD & (PT_V8_OBJECT_WORDS - 1)];
}

/* The new address of an object that the collector has moved, which is in place of the map; 0: it
 * has not moved. */
static inline uint64_t v8_moved_to(uint64_t map)
{
    enum { TAG_BITS = 3 };
    return (map & TAG_BITS) == 0 && map != 0 ? map | V8_TAG : 0;
}

/* The object, at its new address if it has moved; its beginning is read. 0: unreadable. */
static inline uint64_t settle_v8_object(v8_memory *heap, uint64_t object, int32_t field)
{
    if (!fetch_v8_object(heap, object, field)) return 0;
    const uint64_t moved = v8_moved_to(v8_object_of(heap)[0]);
    if (moved == 0) return object;
    return fetch_v8_object(heap, moved, field) ? moved : 0;
}

/* The type of the object whose map is given. 0: unreadable. (A string's type may be 0, too.) */
static inline uint16_t fetch_v8_type(const pt_v8_layout *layout, v8_memory *heap, uint64_t map)
{
    uint16_t type = 0;
    if (!pt_v8_is_tagged(map) ||
        !fetch_v8(heap, map - V8_TAG + (uint32_t)layout->map_type, &type, sizeof type))
        return 0;
    return type;
}

static inline bool is_v8_string(const pt_v8_layout *layout, uint16_t type)
{
    return (type & (uint16_t)layout->not_string_mask) == 0;
}

/* Numbers have zeros in the low half of the word. */
static inline bool is_v8_number(uint64_t word)
{
    return (uint32_t)word == 0;
}

/* The tier of a frame by its words in the places of the bytecode and of the position in it. A frame
 * of baseline code has the function's feedback in place of the position; a frame of optimized code
 * has no bytecode. In V8's file (is_in_file) the frame may have not got its bytecode yet, or be of
 * optimized code that calls a builtin without a frame. */
static inline pt_v8_tier v8_tier(const pt_v8_layout *layout, v8_memory *heap, uint64_t bytecode,
                                 uint64_t position, bool is_in_file)
{
    uint64_t map = 0;
    if (!pt_v8_is_tagged(bytecode) || !fetch_v8(heap, bytecode - V8_TAG, &map, sizeof map) ||
        fetch_v8_type(layout, heap, map) != (uint16_t)layout->type_bytecode)
        return is_in_file ? PT_V8_NO_TIER : PT_V8_OPTIMIZED;
    return is_v8_number(position) ? PT_V8_INTERPRETER : PT_V8_BASELINE;
}

/* The number of fields from the count of locals in a scope info to the first local's name, or to
 * the table of their names: numbers, and in a module one more. next: the field that follows the
 * numbers. */
static inline uint32_t v8_fields_to_locals(const pt_v8_layout *layout, uint64_t locals,
                                           uint64_t next)
{
    const uint32_t numbers = (uint32_t)(layout->scope_first - layout->scope_locals);
    return locals > 0 && is_v8_number(next) ? numbers + 1 : numbers;
}

/* The number of fields that locals take: their names, or one table of them, and a number for each.
 * is_by_name: the first field is a string. */
static inline uint64_t v8_fields_of_locals(uint64_t locals, bool is_by_name)
{
    return locals + (is_by_name ? locals : 1);
}

static inline uint64_t mix_v8(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

/* A sum over the beginning of a function's scope info, which may be freed before the shared
 * function info. Its third and fourth word are small numbers, of parameters and of locals; then
 * come the positions, or names. 0: the object is no scope info. */
static inline uint64_t sum_v8_scope(v8_memory *heap, uint64_t scope)
{
    enum { FLAGS = 1, PARAMETERS, LOCALS, FIRST, SECOND };
    if (!fetch_v8_object(heap, scope, SECOND * V8_WORD)) return 0;
    const uint64_t *const words = v8_object_of(heap);
    if (!is_v8_number(words[PARAMETERS]) || !is_v8_number(words[LOCALS])) return 0;
    const uint64_t sum = mix_v8(mix_v8(words[FLAGS], words[PARAMETERS]), words[LOCALS]);
    return mix_v8(mix_v8(sum, words[FIRST]), words[SECOND]);
}

/* Reads the key of a shared function info. Returns false if it is unreadable. */
static inline bool fetch_v8_key(const pt_v8_layout *layout, v8_memory *heap, uint64_t shared,
                                pt_v8_key *key)
{
    key->shared = settle_v8_object(heap, shared, layout->shared_flags);
    if (key->shared == 0) return false;
    key->map = v8_object_of(heap)[0];
    key->name = v8_field(heap, layout->shared_name);
    key->script = v8_field(heap, layout->shared_script);
    key->number = (uint32_t)(v8_field(heap, layout->shared_flags) >> 32);
    key->scope = sum_v8_scope(heap, key->name);
    if (!pt_v8_is_tagged(key->script)) return false;
    if (key->script == key->id_of) return true;
    const uint64_t id_at = key->script - V8_TAG + (uint32_t)layout->script_line_ends + V8_WORD;
    key->id_of = fetch_v8(heap, id_at, &key->id, V8_WORD) ? key->script : 0;
    return key->id_of != 0;
}

/* The same, for the function object of a frame. */
static inline bool fetch_v8_key_of_function(const pt_v8_layout *layout, v8_memory *heap,
                                            uint64_t function, pt_v8_key *key)
{
    return settle_v8_object(heap, function, layout->function_shared) != 0 &&
           fetch_v8_key(layout, heap, v8_field(heap, layout->function_shared), key);
}

/* Is the key that of a shared function info? Reads its type. */
static inline bool is_v8_key(const pt_v8_layout *layout, v8_memory *heap, const pt_v8_key *key)
{
    return fetch_v8_type(layout, heap, key->map) == (uint16_t)layout->type_shared;
}

/* A check over the key. */
static inline uint64_t check_v8_key(const pt_v8_key *key)
{
    const uint64_t sum = mix_v8(mix_v8(key->name, key->script), key->id);
    return mix_v8(mix_v8(sum, key->number), key->scope);
}
