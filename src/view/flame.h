/* flame.h: a profile as the boxes of a flame graph, ready to be written.
 *
 *   string   the texts of frames and groups, each once               id 0 is ""
 *   group    a package, a namespace or a mapped file; it has a colour
 *   frame    the content of a box: name, kind, file:line, module, group   frame 0 is the root's
 *   node     a box: parent, frame, self, total                       node 0 is the root
 *
 * Nodes are in preorder, siblings by width, the widest first; total = self + the children's totals
 * + the cut subtrees below the node. A subtree narrower than half a pixel on the widest screen is
 * cut, and counted. If there are more nodes than requested, the narrowest nodes are cut first; of
 * equally narrow nodes, the deepest.
 *
 * In order of time, a node is an uninterrupted run of samples of one thread (calltree.h). Each node
 * then has a place, and siblings are in the order of time; each gap where nodes were cut also has a
 * place. */
#pragma once

#include "base/buf.h"
#include "base/index.h"
#include "view/fold.h"

typedef enum {
    PT_FLAME_FUNCTION,
    PT_FLAME_INLINED, /* inlined into its parent, in every stack */
    PT_FLAME_KERNEL,
    PT_FLAME_UNRESOLVED, /* an address without a name */
} pt_flame_kind;

#define PT_FLAME_HUES   24 /* the circle of colours has this many steps */
#define PT_FLAME_SHADES 3  /* each group has its hue in this many shades */

typedef struct pt_flame_request {
    uint32_t event;     /* column of the samples */
    uint32_t width_px;  /* boxes of at least half a pixel at this width are kept; 0 = cut nothing */
    uint32_t max_nodes; /* 0 = any number; else at least 1 */
    int64_t whole;      /* the value of 100 %; 0 = the sum of the values */
    bool inverted;      /* from the leaf up */
    const char *under;  /* NULL, or the path of the box that is the root (calltree.h) */
    bool in_order;      /* in order of time; the profile must have times, and be no difference */
    uint64_t part_start,
        part_end; /* in order: only samples between these values (calltree.h); if part_end is 0, all
                   * samples */
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

/* A row of the table that is shown next to the graph. */
typedef struct pt_flame_function {
    uint32_t name;       /* string */
    int64_t self, total; /* for a difference, the changes */
} pt_flame_function;

/* In order of time: a place below a parent where nodes were cut. */
typedef struct pt_flame_narrow {
    uint32_t parent;
    uint64_t start, width;
} pt_flame_narrow;

#define PT_FLAME_FUNCTIONS 25 /* rows shown, by self or by total */

typedef struct pt_flame {
    uint32_t event_type, event_unit; /* strings */
    int64_t total, whole;
    pt_buf bytes;          /* the bytes of the strings, each followed by a NUL; the strings may have
                            * any other bytes */
    uint64_t *string;      /* [string_count + 1] offsets in bytes */
    pt_flame_frame *frame; /* [frame_count] */
    pt_flame_group *group; /* [group_count] */
    uint32_t string_count, frame_count, group_count, node_count;
    uint32_t *parent, *node_frame, *depth; /* [node_count]; parent[0] = 0 */
    int64_t *self, *node_total;
    /* For a difference, whose base has negative values: the base's part of self and node_total.
     * self, node_total, `total` and `cut_total` are then sums of the magnitudes of both sides. Else
     * NULL. */
    int64_t *self_base, *total_base;
    /* In order of time: the sum of the values to the left of each node; else NULL. */
    uint64_t *start;
    pt_flame_narrow *narrow; /* [narrow_count], in preorder */
    uint32_t narrow_count;
    int64_t base;        /* total_base[0], or 0 */
    int64_t most_change; /* the largest magnitude of pt_flame_change */
    uint32_t rows;       /* deepest depth + 1 */
    /* The functions with the largest self and those with the largest total, at most 2 *
     * PT_FLAME_FUNCTIONS. These functions are listed separately, because the nodes of a cut graph
     * do not add up to the self and total of a function. */
    pt_flame_function *function;
    uint32_t function_count;
    uint64_t more_functions; /* functions that are not in the list */
    uint64_t cut_nodes;      /* subtrees left out, each counted as one */
    int64_t cut_total;       /* the value of those subtrees */
} pt_flame;

/* Merges the stacks of a profile. *ret_flame borrows nothing; the caller frees it with
 * pt_flame_free. Fails with PT_ERR_LIMIT if the magnitudes add up to 2^63 - 1 or more, or if there
 * are too many names, and with PT_ERR_NOTFOUND if no stack begins with the path `under`. */
pt_status pt_flame_new(const pt_profile *profile, const pt_flame_request *request,
                       pt_flame **ret_flame, pt_error *reterr);
void pt_flame_free(pt_flame *flame); /* accepts NULL */
void pt_flame_freep(pt_flame **flame);
#define PT_FREE_FLAME __attribute__((cleanup(pt_flame_freep)))

/* For a difference: the growth of the box, after minus before. */
static inline int64_t pt_flame_change(const pt_flame *f, uint32_t node)
{
    return f->self[node] - f->self_base[node] -
           f->self_base[node]; /* int64_t may be too small for twice the base */
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
