/* plain.c: see plain.h. */
#include "formats/plain.h"

#include "base/hash.h"
#include "base/text.h"

void pt_plain_event(pt_builder *b, const char *type, const char *unit)
{
    pt_builder_event(
        b, &(pt_event){.type = pt_builder_text(b, type).v, .unit = pt_builder_text(b, unit).v});
}

bool pt_plain_begins(const pt_reader *reader, const char *text, pt_error *reterr)
{
    if (pt_begins_n((const char *)reader->pos, pt_reader_left(reader), text)) return true;
    pt_error_set(reterr, PT_ERR_FORMAT, "it does not begin with \"%s\"", text);
    return false;
}

uint32_t pt_plain_location(pt_builder *b, const pt_function *function, int64_t line, int64_t column)
{
    const pt_line at = {
        .function = pt_builder_function(b, function).v, .line = line, .column = column};
    const pt_location location = {.mapping = PT_NONE};
    return pt_builder_location(b, &location, &at, 1).v;
}

uint32_t pt_plain_mapped_location(pt_builder *b, const pt_location *location,
                                  const pt_function *function, int64_t line)
{
    const bool is_named = function->name != 0;
    const pt_line at = {.line = line,
                        .function = is_named ? pt_builder_function(b, function).v : 0};
    return pt_builder_location(b, location, &at, is_named).v;
}

pt_string_id pt_plain_build_id(pt_builder *b, pt_span id)
{
    char digits[64];
    size_t count = 0;
    for (size_t i = 0; i < id.size && count < sizeof digits; i++)
        if (pt_hex_digit(id.at[i]) >= 0)
            digits[count++] = (char)(pt_is_digit(id.at[i]) ? id.at[i] : id.at[i] | 0x20);
    return pt_builder_string(b, digits, count);
}

void pt_plain_tree_init(pt_plain_tree *t, pt_builder *b)
{
    *t = (pt_plain_tree){.b = b};
    pt_index_init(&t->index);
}

void pt_plain_tree_done(pt_plain_tree *t)
{
    pt_index_done(&t->index);
    PT_FREE_ALL(t->node.items, t->frame.items);
}

uint32_t pt_plain_tree_add(pt_plain_tree *t, uint32_t parent, uint32_t location)
{
    PT_PUSH(t->node, (pt_plain_node){.parent = parent, .location = location, .stack = PT_NONE});
    return (uint32_t)t->node.count - 1;
}

uint32_t pt_plain_tree_child(pt_plain_tree *t, uint32_t parent, uint32_t location)
{
    const uint64_t hash = pt_hash_mix(parent, location);
    const uint32_t found =
        PT_INDEX_FIND(&t->index, hash, id,
                      t->node.items[id].parent == parent && t->node.items[id].location == location);
    if (found != PT_NONE) return found;
    pt_index_add(&t->index, hash, (uint32_t)t->node.count);
    return pt_plain_tree_add(t, parent, location);
}

pt_stack_id pt_plain_tree_stack(pt_plain_tree *t, uint32_t node)
{
    if (node != PT_NONE && t->node.items[node].stack != PT_NONE)
        return (pt_stack_id){t->node.items[node].stack};
    t->frame.count = 0;
    const uint64_t most = pt_builder_depth_max(t->b);
    uint32_t at = node;
    for (; at != PT_NONE && t->frame.count < most; at = t->node.items[at].parent)
        PT_PUSH(t->frame, t->node.items[at].location);
    const pt_stack_end end = at != PT_NONE ? pt_builder_cut_stack(t->b) : PT_STACK_END_UNKNOWN;
    const pt_stack_id stack = pt_builder_stack(t->b, t->frame.items, t->frame.count, end);
    if (node != PT_NONE) t->node.items[node].stack = stack.v;
    return stack;
}
