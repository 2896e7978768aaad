/* flame.h: a profile as the boxes of a flame graph, ready to be written down.
 *
 *   string   the texts that frames and groups use, each once          id 0 is ""
 *   group    a package, a namespace or a mapped file; it has a colour
 *   frame    what a box can be: name, kind, file:line, module, group  frame 0 is the root's
 *   node     a box: parent, frame, self, total                        node 0 is the root
 *
 * Nodes are in preorder, siblings widest first; total = self + the children's totals + what was cut
 * under the node. A subtree narrower than half a pixel on the widest screen is cut, and counted;
 * more nodes than asked for lose their narrowest, of equal ones the deepest.
 *
 * In order of time a node is an uninterrupted run of samples of one thread (calltree.h). Then each
 * node has a place, and siblings stand in the order of time; so has each gap where nodes were cut.
 */
#pragma once

#include "base/buf.h"
#include "base/index.h"
#include "view/fold.h"

typedef enum {
    PT_FLAME_FUNCTION,
    PT_FLAME_INLINED, /* into its parent, in every stack */
    PT_FLAME_KERNEL,
    PT_FLAME_UNRESOLVED, /* an address without a name */
} pt_flame_kind;

#define PT_FLAME_HUES   24 /* colours go round the circle in this many steps */
#define PT_FLAME_SHADES 3  /* functions of one group differ by this many shades */

typedef struct pt_flame_request {
    uint32_t event;     /* column of the samples */
    uint32_t width_px;  /* boxes of half a pixel at this width are still kept; 0 = cut nothing */
    uint32_t max_nodes; /* 0 = any number; else at least 1 */
    int64_t whole;      /* what 100 % is; 0 = the sum of the values */
    bool inverted;      /* from the leaf up */
    const char *under;  /* NULL, or the path of the box that is the root (calltree.h) */
    bool in_order;      /* of time; the profile is no difference, and has times */
    uint64_t part_start,
        part_end; /* in order: only samples between these values (calltree.h); part_end 0 = all */
    pt_fold_rule fold;
} pt_flame_request;

typedef struct pt_flame_frame {
    uint32_t name, file, module; /* strings */
    uint32_t group;
    int64_t line; /* where the function begins; 0 = unknown */
    uint8_t kind; /* pt_flame_kind */
    uint8_t shade;
} pt_flame_frame;

typedef struct pt_flame_group {
    uint32_t name; /* string; "" = unknown */
    uint32_t hue;
} pt_flame_group;

/* A row of the table beside the graph. */
typedef struct pt_flame_function {
    uint32_t name;       /* string */
    int64_t self, total; /* of a difference: the changes */
} pt_flame_function;

/* In order of time: where nodes were cut below a parent. */
typedef struct pt_flame_narrow {
    uint32_t parent;
    uint64_t start, width;
} pt_flame_narrow;

#define PT_FLAME_FUNCTIONS 25 /* rows shown, by self or by total */

typedef struct pt_flame {
    uint32_t event_type, event_unit; /* strings */
    int64_t total, whole;
    pt_buf bytes;          /* of the strings, each followed by a NUL; any bytes may occur */
    uint64_t *string;      /* [string_count + 1] offsets in bytes */
    pt_flame_frame *frame; /* [frame_count] */
    pt_flame_group *group; /* [group_count] */
    uint32_t string_count, frame_count, group_count, node_count;
    uint32_t *parent, *node_frame, *depth; /* [node_count]; parent[0] = 0 */
    int64_t *self, *node_total;
    /* Of a difference, whose base has negative values: what of self and node_total is the base's.
     * They are sums of both sides then, as are `total` and `cut_total`. Else NULL. */
    int64_t *self_base, *total_base;
    /* In order of time: the values to the left of each node; else NULL. */
    uint64_t *start;
    pt_flame_narrow *narrow; /* [narrow_count], in preorder */
    uint32_t narrow_count;
    int64_t base;        /* total_base[0], or 0 */
    int64_t most_change; /* the largest magnitude of pt_flame_change */
    uint32_t rows;       /* deepest depth + 1 */
    /* The functions that lead by self or by total, at most 2 * PT_FLAME_FUNCTIONS, because the
     * nodes of a cut graph do not add up to a function's self and total. */
    pt_flame_function *function;
    uint32_t function_count;
    uint64_t more_functions; /* than those */
    uint64_t cut_nodes;      /* subtrees left out, each counted as one */
    int64_t cut_total;       /* what they hold */
} pt_flame;

/* Merges the stacks of a profile. *ret_flame borrows nothing; pt_flame_free it. Fails with
 * PT_ERR_LIMIT when the magnitudes add up to 2^63 - 1 or more or there are too many names,
 * PT_ERR_NOTFOUND when no stack begins with the names in `under`. */
pt_status pt_flame_new(const pt_profile *profile, const pt_flame_request *request,
                       pt_flame **ret_flame, pt_error *reterr);
void pt_flame_free(pt_flame *flame); /* accepts NULL */
void pt_flame_freep(pt_flame **flame);
#define PT_FREE_FLAME __attribute__((cleanup(pt_flame_freep)))

/* Of a difference: how much more the box itself has after than before. */
static inline int64_t pt_flame_change(const pt_flame *f, uint32_t node)
{
    return f->self[node] - f->self_base[node] -
           f->self_base[node]; /* twice the base may overflow */
}

static inline const char *pt_flame_text(const pt_flame *f, uint32_t string)
{
    return (const char *)f->bytes.data + f->string[string];
}

static inline size_t pt_flame_text_bytes(const pt_flame *f, uint32_t string)
{
    return (size_t)(f->string[string + 1] - f->string[string] - 1);
}

/* The package in a function's name, as a part of the name: "net/http" of "net/http.(*conn).serve",
 * "std" of "void std::sort<int*>(int*, int*)", "java.util" of "java.util.HashMap.get"; *ret_bytes
 * is 0 for a plain C name. */
const char *pt_flame_package(const char *name, size_t *ret_bytes);

/* The last part of a function's name, as a part of the name: "push_back" of
 * "std::vector<int>::push_back(int const&)", "http.(*conn).serve" of "net/http.(*conn).serve". */
const char *pt_flame_short_name(const char *name, size_t *ret_bytes);
