/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* v8.bpf.h: reads V8's functions in the kernel.
 *
 *   a native frame with a frame pointer --note_v8_frame--> the function object below the pointer
 *   such an object --step_v8--> its shared function info: two words, behind the pcs
 *                                 `- not met yet --> copies of the objects that name it
 *
 * V8's functions run on the native stack. So the place in a frame's second word is the number of
 * the native frame, and the two chains need not be joined by counting.
 */
#pragma once

#include "bpf/code.bpf.h"

typedef pt_bpf_v8_walk v8_memory;

#define v8_object_of(memory) ((memory)->object)

/* Copies at most the room for an object. */
static inline bool fetch_v8(v8_memory *memory, uint64_t addr, void *to, uint32_t size)
{
    uint64_t bytes = size;
    BARRIER(bytes);
    return bytes <= sizeof memory->object && read_memory(to, (uint32_t)bytes, addr);
}

#include "interp/v8_walk.h"

/* Starts a walk of the functions that were noted. Returns false if there are none. */
static inline bool begin_v8(pt_bpf_cpu *c, const pt_bpf_interp *interp)
{
    c->v8.layout = interp->v8.layout;
    c->v8.next = 0;
    c->v8.key.id_of = 0;
    c->v8.sample++;
    return c->v8.count > 0;
}

/* Reads a function object, and notes its code (meet_code). *met: the result. */
static inline void read_v8_function(pt_bpf_cpu *c, pt_bpf_v8_met *met, uint64_t function)
{
    pt_bpf_v8_walk *const walk = &c->v8;
    met->function = function;
    met->sample = walk->sample;
    met->shared = 0;
    if (!fetch_v8_key_of_function(&walk->layout, walk, function, &walk->key) ||
        PT_BPF_FRAME_CODE(walk->key.shared) != walk->key.shared)
        return;
    met->check = pt_interp_short_check(check_v8_key(&walk->key));
    if (meet_code(c, walk->key.shared, met->check)) {
        if (!is_v8_key(&walk->layout, walk, &walk->key)) {
            forget_code(c);
            return;
        }
        c->is_code_new = 1;
    }
    met->shared = walk->key.shared;
}

/* Appends the next frame's function, if the frame has one. The objects cannot change during a
 * sample, because it interrupts their thread. Returns false if there are no more frames. */
static inline bool step_v8_frame(pt_bpf_cpu *c)
{
    pt_bpf_v8_walk *const walk = &c->v8;
    uint64_t at = walk->next;
    if (at >= walk->count) return false;
    BARRIER(at);
    if (at >= PT_BPF_FRAMES_MAX) return false;
    walk->next = (uint32_t)at + 1;
    const uint64_t function = walk->frames[at].function;
    uint64_t slot = function * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PT_BPF_V8_MET_BITS);
    BARRIER(slot);
    pt_bpf_v8_met *const met = &walk->met[slot & ((1 << PT_BPF_V8_MET_BITS) - 1)];
    if (met->function != function || met->sample != walk->sample)
        read_v8_function(c, met, function);
    if (met->shared == 0) return true;
    const uint64_t tier = at == 0 ? v8_tier(&walk->layout, walk, walk->bytecode, walk->position,
                                            walk->is_in_file != 0)
                                  : PT_V8_NO_TIER;
    return append_frame(c, met->shared | tier << PT_BPF_FRAME_TIER_SHIFT,
                        (uint64_t)met->check << 32 | (walk->frames[at].place + 1));
}

/* Appends some functions, up to one whose code is new. Returns false if there are no more. */
static inline bool step_v8(pt_bpf_cpu *c)
{
    enum { FRAMES = 8 };
    bool is_more = true;
    c->is_code_new = 0;
    for (int i = 0; i < FRAMES && is_more && c->is_code_new == 0; i++)
        is_more = step_v8_frame(c);
    return is_more;
}

/* The row of an object in the copy. */
static inline pt_bpf_v8_object *v8_row(pt_bpf_cpu *c, uint64_t row)
{
    BARRIER(row);
    return &c->code.v8.objects[row < PT_BPF_V8_OBJECTS ? row : PT_BPF_V8_OBJECTS - 1];
}

/* Copies the head of an object, and its type. Returns false if they are unreadable. */
static inline bool copy_v8_head(pt_bpf_cpu *c, uint64_t row, uint64_t object)
{
    pt_bpf_v8_object *const to = v8_row(c, row);
    uint16_t type = 0;
    if (!pt_v8_is_tagged(object) || !read_memory(to->head, sizeof to->head, object - V8_TAG) ||
        !pt_v8_is_tagged(to->head[0]) ||
        !read_memory(&type, sizeof type, to->head[0] - V8_TAG + (uint32_t)c->v8.layout.map_type))
        return false;
    to->type = type;
    to->object = object;
    return true;
}

/* A field of the object in the row. */
static inline uint64_t v8_row_field(pt_bpf_cpu *c, uint64_t row, int32_t offset)
{
    return v8_row(c, row)->head[(uint32_t)offset / V8_WORD & (PT_BPF_V8_HEAD_WORDS - 1)];
}

/* Copies words. Returns false if they are unreadable. */
static inline bool copy_v8_words(pt_bpf_v8_words *to, uint64_t object)
{
    to->addr = read_memory(to->words, sizeof to->words, object - V8_TAG) ? object - V8_TAG : 0;
    return to->addr != 0;
}

/* A field of the object whose words were copied, by its number. */
static inline uint64_t v8_copied(const pt_bpf_v8_words *from, uint64_t i)
{
    BARRIER(i);
    return from->words[i & (PT_BPF_V8_WORDS - 1)];
}

/* Is a string with characters in the row? */
static inline bool is_v8_text(pt_bpf_cpu *c, uint64_t row)
{
    const pt_bpf_v8_object *const of = v8_row(c, row);
    return of->object != 0 && is_v8_string(&c->v8.layout, (uint16_t)of->type) &&
           of->head[1] >> 32 != 0;
}

/* Copies the characters of the string in the row, if its head has not all of them. */
static inline void copy_v8_characters(pt_bpf_cpu *c, uint64_t row)
{
    const pt_v8_layout *const layout = &c->v8.layout;
    const pt_bpf_v8_object *const of = v8_row(c, row);
    pt_bpf_code *const code = &c->code;
    const uint64_t addr = of->object - V8_TAG, length = of->head[1] >> 32;
    const uint32_t encoding = (uint32_t)of->type & (uint32_t)layout->encoding_mask;
    const uint64_t bytes = (uint32_t)layout->string_chars +
                           (encoding == (uint32_t)layout->tag_one_byte ? length : 2 * length);
    if (bytes <= sizeof of->head) return;
    if (code->file_from.bytes == 0)
        COPY_OBJECT(code, file, addr, bytes);
    else if (code->name_from.bytes == 0)
        COPY_OBJECT(code, name, addr, bytes);
}

/* Copies what the string in the row consists of: characters, or other strings. Returns the next
 * free row. */
static inline uint64_t copy_v8_string(pt_bpf_cpu *c, uint64_t row, uint64_t next)
{
    const pt_v8_layout *const layout = &c->v8.layout;
    if (!is_v8_text(c, row)) return next;
    const int32_t representation = (int32_t)v8_row(c, row)->type & layout->representation_mask;
    if (representation == 0) {
        copy_v8_characters(c, row);
    } else if (representation == layout->tag_cons) {
        copy_v8_head(c, next, v8_row_field(c, row, layout->cons_first));
        copy_v8_head(c, next + 1, v8_row_field(c, row, layout->cons_second));
        return next + 2;
    } else if (representation == layout->tag_thin || representation == layout->tag_sliced) {
        copy_v8_head(c, next, v8_row_field(c, row, layout->thin_actual));
        return next + 1;
    }
    return next;
}

/* Copies the scope info's words that name a function, and their objects. Returns the row of the
 * name; 0: there is none. */
static inline uint64_t copy_v8_scope(pt_bpf_cpu *c, uint64_t scope)
{
    const pt_v8_layout *const layout = &c->v8.layout;
    pt_bpf_v8_copy *const copy = &c->code.v8;
    if (!copy_v8_head(c, PT_BPF_V8_SCOPE, scope) ||
        copy->objects[PT_BPF_V8_SCOPE].type != (uint16_t)layout->type_scope ||
        !copy_v8_words(&copy->scope, scope))
        return 0;
    const uint32_t first = 1 + (uint32_t)layout->scope_locals; /* behind the map */
    const uint64_t count = v8_copied(&copy->scope, first), locals = count >> 32;
    if (!is_v8_number(count) || locals > V8_LOCALS_MAX) return 0;
    uint64_t next = 1 + (uint32_t)layout->scope_first;
    next = first + v8_fields_to_locals(layout, locals, v8_copied(&copy->scope, next));
    if (locals > 0) {
        if (!copy_v8_head(c, PT_BPF_V8_LOCAL, v8_copied(&copy->scope, next))) return 0;
        const uint16_t type = (uint16_t)copy->objects[PT_BPF_V8_LOCAL].type;
        next += v8_fields_of_locals(locals, is_v8_string(layout, type));
    }
    const uint64_t at = scope - V8_TAG + next * V8_WORD;
    if (!read_memory(copy->tail, sizeof copy->tail, at)) return 0;
    copy->tail_addr = at;
    uint64_t name = 0;
    for (uint64_t i = 0; i < PT_BPF_V8_PART - PT_BPF_V8_TAIL; i++) {
        copy_v8_head(c, PT_BPF_V8_TAIL + i, copy->tail[i]);
        if (name == 0 && is_v8_text(c, PT_BPF_V8_TAIL + i)) name = PT_BPF_V8_TAIL + i;
    }
    return name;
}

/* Completes the copy of the new code: that of the last frame. */
static inline void copy_v8_code(pt_bpf_cpu *c)
{
    const pt_v8_key *const key = &c->v8.key;
    const pt_v8_layout *const layout = &c->v8.layout;
    pt_bpf_code *const code = &c->code;
    pt_bpf_v8_copy *const copy = &code->v8;
    code->name_from.bytes = code->file_from.bytes = 0;
    code->more_from.addr = 0;
    code->more_from.bytes = sizeof *copy;
    copy->script.addr = copy->scope.addr = copy->tail_addr = 0;
    for (int i = 0; i < PT_BPF_V8_OBJECTS; i++)
        copy->objects[i].object = 0;
    if (!copy_v8_head(c, PT_BPF_V8_SHARED, key->shared) ||
        !copy_v8_head(c, PT_BPF_V8_SCRIPT, key->script) ||
        copy->objects[PT_BPF_V8_SCRIPT].type != (uint16_t)layout->type_script ||
        !copy_v8_words(&copy->script, key->script))
        return;
    const uint64_t file = v8_copied(&copy->script, (uint32_t)layout->script_name / V8_WORD);
    copy_v8_head(c, PT_BPF_V8_FILE, file);
    const uint64_t name = copy_v8_scope(c, key->name);
    uint64_t next = copy_v8_string(c, PT_BPF_V8_FILE, PT_BPF_V8_PART);
    if (name != 0) next = copy_v8_string(c, name, next);
    for (uint64_t row = PT_BPF_V8_PART; row < PT_BPF_V8_OBJECTS; row++)
        next = copy_v8_string(c, row, next);
}
