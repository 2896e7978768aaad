/* flow.c: splits instructions into blocks, finds the edges between blocks and the classes of blocks
 * that run equally often, and estimates the rate of each class. */
#include "personality/dcpi/flow.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/plain/ascending.h"
#include "base/text.h"

/* ---- Instructions ---- */

typedef enum { GOES_ON, BRANCHES, JUMPS, JUMPS_ANYWHERE, RETURNS } flow_kind;

static bool is_one_of(const char *word, size_t length, const char *list)
{
    return pt_word_position(list, word, length) >= 0;
}

static flow_kind kind_x86(const char *text, bool has_target)
{
    static const char prefixes[] = "bnd rep repz repne notrack data16";
    size_t n = strcspn(text, " ");
    while (is_one_of(text, n, prefixes) && text[n] != '\0') {
        text += n + strspn(text + n, " ");
        n = strcspn(text, " ");
    }
    if (is_one_of(text, n, "ret retq retl retw retf lret iret iretq sysret sysretq ud2 hlt"))
        return RETURNS;
    if (is_one_of(text, n, "jmp jmpq jmpl ljmp")) return has_target ? JUMPS : JUMPS_ANYWHERE;
    if (text[0] == 'j' || is_one_of(text, n, "loop loope loopne xbegin")) return BRANCHES;
    return GOES_ON;
}

static flow_kind kind_aarch64(const char *text)
{
    const size_t n = strcspn(text, " \t");
    if (is_one_of(text, n, "ret retaa retab eret brk udf")) return RETURNS;
    if (is_one_of(text, n, "br braa brab braaz brabz")) return JUMPS_ANYWHERE;
    if (is_one_of(text, n, "b")) return JUMPS;
    if (pt_begins(text, "b.") || is_one_of(text, n, "cbz cbnz tbz tbnz")) return BRANCHES;
    return GOES_ON;
}

static flow_kind kind_of(const pt_procedure *p, size_t i)
{
    const pt_code_row *const in = &p->code.row[i];
    return p->machine == EM_AARCH64 ? kind_aarch64(in->text) : kind_x86(in->text, in->has_target);
}

/* The index of the instruction that begins at addr; row_count: there is none. */
static size_t instruction_at(const pt_procedure *p, uint64_t addr)
{
    const size_t i = PT_FIRST_FROM(p->code.row, p->code.row_count, at, addr);
    return i < p->code.row_count && p->code.row[i].at == addr ? i : p->code.row_count;
}

/* ---- Blocks ---- */

static void make_blocks(pt_flow *f, const pt_procedure *p)
{
    const size_t n = p->code.row_count;
    PT_FREE bool *begins = pt_alloc(n + 1, sizeof *begins);
    begins[0] = true;
    for (size_t i = 0; i < n; i++) {
        const flow_kind kind = kind_of(p, i);
        if (kind == GOES_ON) continue;
        begins[i + 1] = true;
        if ((kind == BRANCHES || kind == JUMPS) && p->code.row[i].has_target)
            begins[instruction_at(p, p->code.row[i].target)] = true;
    }
    f->block = pt_alloc(n + 1, sizeof *f->block);
    f->block_of = pt_alloc(n + 1, sizeof *f->block_of);
    for (size_t i = 0; i < n; i++) {
        if (begins[i]) f->block[f->block_count++].first = i;
        f->block[f->block_count - 1].count++;
        f->block_of[i] = (uint32_t)(f->block_count - 1);
    }
}

static void add_next(pt_flow_block *b, uint32_t next)
{
    for (unsigned k = 0; k < b->next_count; k++)
        if (b->next[k] == next) return;
    b->next[b->next_count++] = next;
}

static void connect_blocks(pt_flow *f, const pt_procedure *p)
{
    for (size_t k = 0; k < f->block_count; k++) {
        pt_flow_block *const b = &f->block[k];
        const size_t last = b->first + b->count - 1;
        const flow_kind kind = kind_of(p, last);
        const bool falls = kind == GOES_ON || kind == BRANCHES;
        if (falls && k + 1 < f->block_count) add_next(b, (uint32_t)(k + 1));
        b->leaves = kind == RETURNS || (falls && k + 1 == f->block_count);
        b->is_indirect = kind == JUMPS_ANYWHERE;
        f->has_unknown_jump |= b->is_indirect;
        if (kind != BRANCHES && kind != JUMPS) continue;
        const pt_code_row *const in = &p->code.row[last];
        const size_t target = in->has_target ? instruction_at(p, in->target) : p->code.row_count;
        if (target < p->code.row_count)
            add_next(b, f->block_of[target]);
        else
            b->leaves = true;
    }
}

/* ---- Classes ---- */

/* The graph for cycle equivalence, with undirected edges. Block b is the edge between the nodes 2b
 * and 2b + 1; the last node is the exit. */
typedef struct {
    struct edge {
        uint32_t from, to;
    } * items;
    size_t count, cap;
} edges;

static void add_edge(edges *e, uint32_t from, uint32_t to)
{
    PT_PUSH(*e, (struct edge){from, to});
}

/* The edges of each node: list[first[node]] up to list[first[node + 1]]. */
typedef struct {
    size_t *first;
    uint32_t *list;
} incidence;

static incidence incidence_of(const edges *e, uint32_t nodes)
{
    incidence in = {pt_alloc((size_t)nodes + 2, sizeof *in.first),
                    pt_alloc(2 * e->count + 1, sizeof *in.list)};
    for (size_t i = 0; i < e->count; i++) {
        in.first[e->items[i].from + 1]++;
        in.first[e->items[i].to + 1]++;
    }
    for (uint32_t n = 0; n < nodes; n++)
        in.first[n + 1] += in.first[n];
    PT_FREE size_t *next = pt_alloc((size_t)nodes + 1, sizeof *next);
    memcpy(next, in.first, nodes * sizeof *next);
    for (size_t i = 0; i < e->count; i++) {
        in.list[next[e->items[i].from]++] = (uint32_t)i;
        in.list[next[e->items[i].to]++] = (uint32_t)i;
    }
    return in;
}

/* Marks the blocks that can be reached from `block`, forward or backward. stack: memory for one
 * entry a block. */
static void mark_reached(const pt_flow *f, const incidence *in, const edges *e, bool forward,
                         uint32_t block, bool *reached, uint32_t *stack)
{
    size_t depth = 0;
    stack[depth++] = block;
    reached[block] = true;
    while (depth > 0) {
        const uint32_t b = stack[--depth];
        const uint32_t node = 2 * b + (forward ? 1 : 0);
        for (size_t k = in->first[node]; k < in->first[node + 1]; k++) {
            const struct edge *const at = &e->items[in->list[k]];
            const uint32_t other = forward ? at->to : at->from;
            if ((forward ? at->from : at->to) != node || other >= 2 * f->block_count ||
                other / 2 == b)
                continue;
            if (reached[other / 2]) continue;
            reached[other / 2] = true;
            stack[depth++] = other / 2;
        }
    }
}

/* The edges of the procedure, and further edges so that each block is on a path from entry to exit:
 * a block that cannot be reached from the entry gets an edge from a jump with an unknown target,
 * or, if there is none, from the entry; an endless loop gets an edge to the exit. */
static edges graph_of(const pt_flow *f)
{
    edges e = {0};
    const uint32_t n = (uint32_t)f->block_count, exit_node = 2 * n;
    uint32_t indirect = PT_NONE;
    for (uint32_t b = 0; b < n; b++) {
        add_edge(&e, 2 * b, 2 * b + 1);
        for (unsigned k = 0; k < f->block[b].next_count; k++)
            add_edge(&e, 2 * b + 1, 2 * f->block[b].next[k]);
        if (f->block[b].leaves) add_edge(&e, 2 * b + 1, exit_node);
        if (f->block[b].is_indirect && indirect == PT_NONE) indirect = b;
    }
    incidence in = incidence_of(&e, exit_node + 1);
    PT_FREE bool *forward = pt_alloc((size_t)n + 1, sizeof *forward);
    PT_FREE bool *backward = pt_alloc((size_t)n + 1, sizeof *backward);
    PT_FREE uint32_t *stack = pt_alloc((size_t)n + 1, sizeof *stack);
    const size_t before = e.count;
    mark_reached(f, &in, &e, true, 0, forward, stack);
    for (uint32_t b = 0; b < n; b++) {
        if (forward[b]) continue;
        add_edge(&e, 2 * (indirect != PT_NONE ? indirect : 0) + 1, 2 * b);
        mark_reached(f, &in, &(edges){e.items, before, e.cap}, true, b, forward, stack);
    }
    PT_FREE_ALL(in.first, in.list);
    in = incidence_of(&e, exit_node + 1);
    for (uint32_t b = 0; b < n; b++)
        if (f->block[b].leaves && !backward[b]) mark_reached(f, &in, &e, false, b, backward, stack);
    for (uint32_t b = n; b-- > 0;) {
        if (backward[b]) continue;
        mark_reached(f, &in, &e, false, b, backward, stack);
        add_edge(&e, 2 * b + 1, exit_node);
    }
    PT_FREE_ALL(in.first, in.list);
    add_edge(&e, exit_node, 0);
    return e;
}

/* The label of each block's edge: equal for blocks of one class (flow.h). The caller frees. */
static uint64_t *label_blocks(const pt_flow *f)
{
    edges e = graph_of(f);
    const uint32_t n = (uint32_t)f->block_count, nodes = 2 * n + 1;
    incidence in = incidence_of(&e, nodes);
    PT_FREE uint64_t *const label = pt_alloc(e.count + 1, sizeof *label);
    PT_FREE uint64_t *sum = pt_alloc(nodes, sizeof *sum);
    PT_FREE uint32_t *parent_edge = pt_alloc(nodes, sizeof *parent_edge);
    PT_FREE uint32_t *order = pt_alloc(nodes, sizeof *order);
    PT_FREE bool *seen = pt_alloc(nodes, sizeof *seen);
    PT_FREE bool *in_tree = pt_alloc(e.count + 1, sizeof *in_tree);
    size_t count = 0;
    memset(parent_edge, 0xff, nodes * sizeof *parent_edge);
    seen[0] = true;
    order[count++] = 0;
    for (size_t at = 0; at < count; at++) { /* makes a spanning tree */
        for (size_t k = in.first[order[at]]; k < in.first[order[at] + 1]; k++) {
            const struct edge *const one = &e.items[in.list[k]];
            const uint32_t other = one->from == order[at] ? one->to : one->from;
            if (seen[other]) continue;
            seen[other] = in_tree[in.list[k]] = true;
            parent_edge[other] = in.list[k];
            order[count++] = other;
        }
    }
    for (size_t i = 0; i < e.count; i++) {
        if (in_tree[i]) continue;
        label[i] = pt_hash_mix(i + 1, 0x9e3779b97f4a7c15u);
        sum[e.items[i].from] ^= label[i];
        sum[e.items[i].to] ^= label[i];
    }
    while (count-- > 1) {
        const uint32_t node = order[count], edge = parent_edge[node];
        const struct edge *const one = &e.items[edge];
        label[edge] = sum[node];
        sum[one->from == node ? one->to : one->from] ^= sum[node];
    }
    /* The edge from node 2b to 2b + 1 is block b. */
    uint64_t *const of_block = pt_alloc((size_t)n + 1, sizeof *of_block);
    for (size_t i = 0; i < e.count; i++)
        if (e.items[i].to == e.items[i].from + 1 && e.items[i].from % 2 == 0)
            of_block[e.items[i].from / 2] = label[i];
    PT_FREE_ALL(in.first, in.list, e.items);
    return of_block;
}

typedef struct {
    uint64_t label;
    uint32_t block;
} labelled;

PT_ORDER(by_label, labelled, PT_UP(label) ?: PT_UP(block));

static void make_classes(pt_flow *f)
{
    PT_FREE uint64_t *label = label_blocks(f);
    PT_FREE labelled *sorted = pt_alloc(f->block_count + 1, sizeof *sorted);
    for (uint32_t b = 0; b < f->block_count; b++)
        sorted[b] = (labelled){label[b], b};
    qsort(sorted, f->block_count, sizeof *sorted, by_label);
    f->class = pt_alloc(f->block_count + 1, sizeof *f->class);
    for (size_t i = 0; i < f->block_count; i++) {
        if (i == 0 || sorted[i].label != sorted[i - 1].label || sorted[i].label == 0)
            f->class_count++;
        f->block[sorted[i].block].class = (uint32_t)(f->class_count - 1);
    }
}

/* ---- Rates ---- */

#define ENOUGH_SAMPLES 16 /* for an estimate of one block alone */
#define MEDIUM_SAMPLES 100
#define HIGH_SAMPLES   400
#define ALIKE          1.5 /* rates of two blocks agree up to this factor */

static double least_cycles(const pt_flow *f, const pt_flow_block *b)
{
    return (double)b->count / f->width;
}

static void estimate_flow(pt_flow *f)
{
    for (size_t k = 0; k < f->block_count; k++) {
        const pt_flow_block *const b = &f->block[k];
        f->class[b->class].samples += b->samples;
        f->class[b->class].least_cycles += least_cycles(f, b);
    }
    PT_FREE double *sure = pt_alloc(f->class_count + 1, sizeof *sure); /* samples from which the
                                                                        * rate was estimated */
    for (size_t c = 0; c < f->class_count; c++) {
        f->class[c].rate = f->class[c].samples / f->class[c].least_cycles;
        sure[c] = f->class[c].samples;
    }
    for (size_t k = 0; k < f->block_count; k++) {
        const pt_flow_block *const b = &f->block[k];
        pt_flow_class *const c = &f->class[b->class];
        const double pooled = c->samples / c->least_cycles;
        const double own = b->samples / least_cycles(f, b);
        if (b->samples == 0 || pooled * least_cycles(f, b) < ENOUGH_SAMPLES || own >= c->rate)
            continue;
        c->rate = own;
        sure[b->class] = b->samples;
    }
    PT_FREE uint32_t *alike = pt_alloc(f->class_count + 1, sizeof *alike);
    for (size_t k = 0; k < f->block_count; k++) {
        const pt_flow_block *const b = &f->block[k];
        f->class[b->class].sampled_blocks += b->samples > 0;
        alike[b->class] += b->samples >= ENOUGH_SAMPLES &&
                           b->samples / least_cycles(f, b) <= ALIKE * f->class[b->class].rate;
    }
    for (size_t c = 0; c < f->class_count; c++)
        f->class[c].confidence = sure[c] == 0                              ? '-'
                                 : sure[c] >= HIGH_SAMPLES && alike[c] > 1 ? 'H'
                                 : sure[c] >= MEDIUM_SAMPLES && f->class[c].sampled_blocks > 1
                                     ? 'M'
                                     : 'L';
}

static void sum_flow(pt_flow *f)
{
    for (size_t k = 0; k < f->block_count; k++) {
        pt_flow_block *const b = &f->block[k];
        const double rate = f->class[b->class].rate;
        f->samples += b->samples;
        if (rate <= 0) continue;
        b->cpi = b->samples / rate / (double)b->count;
        f->known_samples += b->samples;
        if (f->class[b->class].sampled_blocks == 1) f->alone_samples += b->samples;
        f->least_samples += rate * least_cycles(f, b);
        f->executed += rate * (double)b->count;
    }
}

bool pt_flow_init(pt_flow *ret, const pt_procedures *all, const pt_procedure *p, uint32_t column,
                  double width)
{
    if (p->code.row_count == 0 ||
        (p->machine != EM_X86_64 && p->machine != EM_386 && p->machine != EM_AARCH64))
        return false;
    pt_flow f = {.width = width};
    make_blocks(&f, p);
    connect_blocks(&f, p);
    make_classes(&f);
    for (size_t i = 0; i < p->code.row_count; i++)
        f.block[f.block_of[i]].samples += (double)pt_procedure_value(all, p, i, column);
    estimate_flow(&f);
    sum_flow(&f);
    *ret = f;
    return true;
}

void pt_flow_done(pt_flow *f)
{
    PT_FREE_ALL(f->block, f->block_of, f->class);
    *f = (pt_flow){0};
}

/* ---- Stalls ---- */

double pt_flow_stall(const pt_flow *f, const pt_procedures *all, const pt_procedure *p,
                     uint32_t column, size_t i)
{
    const double rate = pt_flow_class_at(f, i)->rate;
    const double over = (double)pt_procedure_value(all, p, i, column) - rate / f->width;
    return rate > 0 && over > 0 ? over : 0;
}

char pt_flow_blame(const char *event)
{
    static const struct {
        char letter;
        const char *part;
    } parts[] = {
        {'I', "itb"},        {'D', "dtb"},    {'I', "iTLB"},     {'D', "dTLB"},
        {'i', "imiss"},      {'i', "icache"}, {'d', "dmiss"},    {'d', "cache-misses"},
        {'d', "dcache"},     {'d', "LLC"},    {'p', "branchmp"}, {'p', "branch-misses"},
        {'p', "mispredict"},
    };
    for (size_t i = 0; i < PT_COUNT(parts); i++)
        if (strstr(event, parts[i].part) != NULL) return parts[i].letter;
    return 0;
}

void pt_flow_culprits(const pt_procedures *all, const pt_procedure *p, size_t i, char *buf)
{
    size_t n = 0;
    for (uint32_t e = 0; e < all->counts->event_count; e++) {
        const char letter = pt_flow_blame(all->counts->event[e].name);
        const bool counted = pt_procedure_value(all, p, i, e) > 0 ||
                             (i > 0 && pt_procedure_value(all, p, i - 1, e) > 0);
        if (letter != 0 && counted && memchr(buf, letter, n) == NULL) buf[n++] = letter;
    }
    if (n == 0) buf[n++] = '?';
    buf[n] = '\0';
}
