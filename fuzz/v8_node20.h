/* v8_node20.h: where V8's objects have their fields in Node 20, by its v8dbg_ symbols: for memory
 * that unit tests and the fuzz target make. */
#pragma once

#include "interp/v8.h"

/* Types of objects. */
enum { SHARED = 0x106, SCRIPT = 0xa7, SCOPE = 0x105, ODDBALL = 0x83, BYTECODE = 0xbf };

static const pt_v8_layout node_20 = {
    .frame_context = -8,
    .frame_function = -16,
    .frame_bytecode = -32,
    .frame_position = -40,
    .map_type = 0x0c,
    .function_shared = 0x18,
    .shared_name = 0x10,
    .shared_script = 0x20,
    .shared_flags = 0x30,
    .script_name = 0x10,
    .script_source = 0x08,
    .script_line_ends = 0x38,
    .scope_locals = 2,
    .scope_first = 3,
    .string_length = 0x0c,
    .string_chars = 0x10,
    .cons_first = 0x10,
    .cons_second = 0x18,
    .sliced_offset = 0x18,
    .thin_actual = 0x10,
    .external_resource = 0x10,
    .type_shared = SHARED,
    .type_script = SCRIPT,
    .type_scope = SCOPE,
    .type_oddball = ODDBALL,
    .type_bytecode = BYTECODE,
    .not_string_mask = -128,
    .representation_mask = 7,
    .encoding_mask = 8,
    .tag_cons = 1,
    .tag_external = 2,
    .tag_sliced = 3,
    .tag_thin = 5,
    .tag_one_byte = 8,
    .tagged_bytes = 8,
    .heap_tag = 1,
    .small_shift = 31,
};
