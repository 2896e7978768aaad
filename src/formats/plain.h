/* plain.h: shared by readers of profiles whose frames are names: events, locations, and trees of
 * calls, in which each node stands for a stack. */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "base/span.h"
#include "formats/format.h"

/* Adds an event. */
void pt_plain_event(pt_builder *b, const char *type, const char *unit);

/* Does the file begin with that text? If not, it has another format: returns false with
 * PT_ERR_FORMAT. */
bool pt_plain_begins(const pt_reader *reader, const char *text, pt_error *reterr);

/* Interns a location that is a line of a function, without address and mapping. column 0 = unknown.
 * Returns its id. */
uint32_t pt_plain_location(pt_builder *b, const pt_function *function, int64_t line,
                           int64_t column);

/* Interns a location with an address or a mapping, at a line of a function; without a line if the
 * function has no name. Returns its id. */
uint32_t pt_plain_mapped_location(pt_builder *b, const pt_location *location,
                                  const pt_function *function, int64_t line);

/* Interns the hexadecimal digits of an identification such as "7DBD2D57-A2D7-...", at most 64. */
pt_string_id pt_plain_build_id(pt_builder *b, pt_span id);

/* A node of a tree of calls: the location called by the location of the parent node. */
typedef struct pt_plain_node {
    uint32_t parent; /* a node with a lower number; PT_NONE = none */
    uint32_t location;
    uint32_t stack; /* PT_NONE = not made yet */
} pt_plain_node;

/* A tree of calls. */
typedef struct pt_plain_tree {
    pt_builder *b;
    PT_VECTOR(pt_plain_node) node;
    pt_index index;
    PT_VECTOR(uint32_t) frame;
} pt_plain_tree;

/* An empty tree; pt_plain_tree_done frees it. */
void pt_plain_tree_init(pt_plain_tree *t, pt_builder *b);
void pt_plain_tree_done(pt_plain_tree *t);
/* Appends a node. parent: a node, or PT_NONE. Returns the node's number. */
uint32_t pt_plain_tree_add(pt_plain_tree *t, uint32_t parent, uint32_t location);
/* The child of the parent with this location, which is added to the tree if it is new. */
uint32_t pt_plain_tree_child(pt_plain_tree *t, uint32_t parent, uint32_t location);
/* The stack of a node; for PT_NONE, the stack without frames. A small tree in a file may stand for
 * very long stacks; see pt_builder_limit_frames. */
pt_stack_id pt_plain_tree_stack(pt_plain_tree *t, uint32_t node);
