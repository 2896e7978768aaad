/* procedure_diff.c: see procedure_diff.h. */
#include "personality/dcpi/procedure_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Do both procedures have the same instructions? Compares their offsets, sizes and mnemonics.
 * Operands may differ, since addresses of other code do. */
static bool same_code(const pt_procedure *a, const pt_procedure *b)
{
    if (a->code.row_count != b->code.row_count || a->machine != b->machine ||
        a->code.row_count == 0)
        return false;
    for (size_t i = 0; i < a->code.row_count; i++) {
        const pt_code_row *const x = &a->code.row[i], *y = &b->code.row[i];
        if (x->size_bytes != y->size_bytes || x->at - a->code.start != y->at - b->code.start ||
            strcspn(x->text, " ") != strcspn(y->text, " ") ||
            strncmp(x->text, y->text, strcspn(x->text, " ")) != 0)
            return false;
    }
    return true;
}

static double of_block(const pt_flow *f, size_t block, pt_compare what)
{
    if (what == PT_COMPARE_CPI) return f->block[block].cpi;
    if (what == PT_COMPARE_FREQUENCY) return f->class[f->block[block].class].rate;
    return f->block[block].samples;
}

static bool by_block(pt_procedure_diff *d, const pt_diff_side sides[2], pt_compare what,
                     double width)
{
    pt_flow flow[2];
    const pt_procedure *const p = sides[0].procedure;
    if (!pt_flow_init(&flow[0], sides[0].all, p, sides[0].column, width)) return false;
    if (!pt_flow_init(&flow[1], sides[1].all, sides[1].procedure, sides[1].column, width)) {
        pt_flow_done(&flow[0]);
        return false;
    }
    const bool same = flow[0].block_count == flow[1].block_count;
    d->place = pt_alloc(flow[0].block_count + 1, sizeof *d->place);
    for (size_t b = 0; same && b < flow[0].block_count; b++) {
        const size_t first = flow[0].block[b].first;
        const pt_code_frame *const f = pt_code_innermost(&p->code.row[first]);
        d->place[d->count++] = (pt_diff_place){
            .addr = p->code.row[first].at,
            .file = f != NULL ? f->file : "",
            .line = f != NULL ? f->line : 0,
            .value = {of_block(&flow[0], b, what), of_block(&flow[1], b, what)},
        };
    }
    pt_flow_done(&flow[0]);
    pt_flow_done(&flow[1]);
    return same;
}

PT_ORDER(by_line, pt_diff_place, PT_TEXT_UP(file) ?: PT_UP(line));

static void add_lines(pt_procedure_diff *d, const pt_diff_side sides[2])
{
    const size_t room = sides[0].procedure->code.row_count + sides[1].procedure->code.row_count;
    free(d->place);
    d->place = pt_alloc(room + 1, sizeof *d->place);
    d->count = 0;
    d->by_line = true;
    for (int s = 0; s < 2; s++) {
        const pt_procedure *const p = sides[s].procedure;
        for (size_t i = 0; i < p->code.row_count; i++) {
            const pt_code_frame *const f = pt_code_innermost(&p->code.row[i]);
            pt_diff_place *const at = &d->place[d->count++];
            *at = (pt_diff_place){.file = f != NULL ? f->file : "", .line = f ? f->line : 0};
            at->value[s] = (double)pt_procedure_value(sides[s].all, p, i, sides[s].column);
        }
    }
    if (d->count > 0) qsort(d->place, d->count, sizeof *d->place, by_line);
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        if (kept == 0 || by_line(&d->place[kept - 1], &d->place[i]) != 0) {
            d->place[kept++] = d->place[i];
            continue;
        }
        d->place[kept - 1].value[0] += d->place[i].value[0];
        d->place[kept - 1].value[1] += d->place[i].value[1];
    }
    d->count = kept;
}

PT_ORDER(by_range, pt_diff_place, PT_DOWN(range)
         ?: PT_COMPARE(b->value[0] + b->value[1], a->value[0] + a->value[1]) ?: PT_UP(addr)
         ?: by_line(a, b));

pt_status pt_procedure_diff_init(pt_procedure_diff *ret, const pt_diff_side sides[2],
                                 pt_compare what, double width, pt_error *reterr)
{
    pt_procedure_diff d = {0};
    const bool blocks =
        same_code(sides[0].procedure, sides[1].procedure) && by_block(&d, sides, what, width);
    if (!blocks && what != PT_COMPARE_SAMPLES) {
        free(d.place);
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "%s: only samples can be compared by source line, and the code is not "
                            "the same in both",
                            sides[0].procedure->code.name);
    }
    if (!blocks) add_lines(&d, sides);
    size_t kept = 0;
    for (size_t i = 0; i < d.count; i++) {
        const double sum = d.place[i].value[0] + d.place[i].value[1];
        if (sum == 0) continue;
        d.place[kept] = d.place[i];
        d.place[kept++].range = fabs(d.place[i].value[0] - d.place[i].value[1]) / sum;
    }
    d.count = kept;
    if (kept > 0) qsort(d.place, kept, sizeof *d.place, by_range);
    *ret = d;
    return PT_OK;
}

void pt_procedure_diff_done(pt_procedure_diff *d)
{
    free(d->place);
    *d = (pt_procedure_diff){0};
}
