/* print_flow.c: blocks with their frequency, instructions with their stall and its possible causes,
 * and the share of the time that each cause may have. */
#include "personality/dcpi/print_flow.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "personality/dcpi/print_counts.h"
#include "render/report.h"
#include "render/text.h"

/* Executions of a class, in all or for one call of the procedure; negative if unknown. */
static double frequency_of(const pt_flow_report *r, const pt_flow *f, uint32_t class)
{
    const double rate = f->class[class].rate, entry = f->class[f->block[0].class].rate;
    if (rate <= 0) return -1;
    if (r->cycles_per_sample > 0) return rate * r->cycles_per_sample;
    return entry > 0 ? rate / entry : -1;
}

static void put_frequency(pt_out *out, const pt_flow_report *r, const pt_flow *f, uint32_t class)
{
    const double frequency = frequency_of(r, f, class);
    if (frequency < 0)
        pt_out_text(out, "frequency unknown");
    else if (r->cycles_per_sample > 0)
        pt_outf(out, "runs %.3g times", frequency);
    else
        pt_outf(out, "runs %.3g times a call", frequency);
    pt_outf(out, " (%c)", f->class[class].confidence);
}

/* ---- Summary ---- */

/* Sums of samples (as in pt_flow), and of the stalled samples that each cause (by its letter), or
 * no cause, may explain. */
typedef struct {
    double samples, known, alone, least, executed;
    double by_letter[128], unexplained, stalled;
} summary;

static const struct {
    char letter;
    const char *name;
} causes[] = {
    {'i', "I-cache (not ITB)"}, {'I', "ITB/I-cache miss"},  {'d', "D-cache miss"},
    {'D', "DTB miss"},          {'p', "branch mispredict"},
};

static void add_summary(summary *s, const pt_flow_report *r, size_t i, char *letters)
{
    const pt_procedure *const p = &r->procedures->items[i];
    const pt_flow *const f = r->flow[i];
    s->samples += f->samples;
    s->known += f->known_samples;
    s->alone += f->alone_samples;
    s->least += f->least_samples;
    s->executed += f->executed;
    for (size_t k = 0; k < p->code.row_count; k++) {
        const double stall = pt_flow_stall(f, r->procedures, p, r->column, k);
        if (stall <= 0) continue;
        pt_flow_culprits(r->procedures, p, k, letters);
        s->stalled += stall;
        if (letters[0] == '?') s->unexplained += stall;
        for (const char *c = letters; *c != '\0' && *c != '?'; c++)
            s->by_letter[(unsigned char)*c & 127] += stall;
    }
}

static void put_range(pt_out *out, const char *name, double low, double high)
{
    pt_outf(out, "    %-24s %5.1f%% to %5.1f%%\n", name, 100 * low, 100 * high);
}

#define CAUSE_COUNT PT_COUNT(causes)

/* Shares of the time: the most that each cause explains, the stalls that no cause explains, all
 * stalls (over). */
typedef struct {
    bool any, counted[CAUSE_COUNT];
    double most[CAUSE_COUNT], unexplained, over;
} stall_shares;

/* Computes the shares. The summary must have known > 0. */
static stall_shares shares_of(const pt_flow_report *r, const summary *s)
{
    stall_shares x = {.over = s->known > s->least ? (s->known - s->least) / s->known : 0};
    /* The stalls of single instructions need not add up to the stalls of the whole, so they are
     * scaled. */
    const double fit = s->stalled > 0 ? x.over * s->known / s->stalled : 0;
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        for (uint32_t e = 0; e < r->procedures->counts->event_count; e++)
            x.counted[i] |= pt_flow_blame(r->procedures->counts->event[e].name) == causes[i].letter;
        x.any |= x.counted[i];
        x.most[i] = s->by_letter[(unsigned char)causes[i].letter] * fit / s->known;
    }
    x.unexplained = x.any ? s->unexplained * fit / s->known : x.over;
    return x;
}

static void put_summary(pt_out *out, const pt_flow_report *r, const summary *s)
{
    if (s->known <= 0) {
        pt_out_text(out, "  no frequencies are known, so stalls are not known either\n");
        return;
    }
    const double width = s->least > 0 ? s->executed / s->least : PT_FLOW_WIDTH;
    pt_outf(out, "  best case %.2f CPI, actual %.2f CPI", 1 / width,
            s->executed > 0 ? s->known / s->executed : 0);
    pt_outf(out, "; %.0f samples, of %.1f%% of them the frequency is estimated\n", s->samples,
            100 * s->known / s->samples);
    if (s->alone > 0)
        pt_outf(out,
                "  %.1f%% of the samples lie in blocks without another block to compare with: "
                "their time counts as their best case\n",
                100 * s->alone / s->samples);
    pt_out_text(out, "  dynamic stalls, as shares of the time\n");
    const stall_shares x = shares_of(r, s);
    for (size_t i = 0; i < CAUSE_COUNT; i++)
        if (x.counted[i]) put_range(out, causes[i].name, 0, x.most[i]);
    put_range(out, "unexplained stall", x.unexplained, x.over);
    pt_outf(out, "  execution at %.0f a cycle  %5.1f%%\n", width, 100 * s->least / s->known);
    if (!x.any)
        pt_out_text(out,
                    "  No event but time was counted: of a stall its place is known, not its cause "
                    "(caches,\n  translation, branches, dependencies, busy units).\n");
}

/* ---- dcpicalc ---- */

static void put_block(pt_out *out, const pt_flow_report *r, const pt_procedure *p, const pt_flow *f,
                      size_t b)
{
    const pt_flow_block *const block = &f->block[b];
    pt_outf(out, "  block %zu at %" PRIx64 ", class %u: %zu instruction%s, ", b,
            p->code.row[block->first].at, block->class, block->count, block->count == 1 ? "" : "s");
    put_frequency(out, r, f, block->class);
    if (block->cpi > 0) pt_outf(out, ", %.2f CPI", block->cpi);
    if (block->next_count > 0) pt_out_text(out, ", goes to");
    for (unsigned k = 0; k < block->next_count; k++)
        pt_outf(out, "%s %u", k > 0 ? " or" : "", block->next[k]);
    if (block->leaves) pt_out_text(out, block->next_count > 0 ? " or leaves" : ", leaves");
    if (block->is_indirect) pt_out_text(out, ", goes to an unknown place");
    pt_out_char(out, '\n');
}

static void put_instruction(pt_out *out, const pt_flow_report *r, const pt_procedure *p,
                            const pt_flow *f, size_t i, char *letters)
{
    const double rate = pt_flow_class_at(f, i)->rate;
    const int64_t samples = pt_procedure_value(r->procedures, p, i, r->column);
    const double stall = pt_flow_stall(f, r->procedures, p, r->column, i);
    pt_outf(out, "  %12" PRIx64 "  %10" PRId64 " ", p->code.row[i].at, samples);
    if (rate > 0)
        pt_outf(out, "%8.2fcy ", (double)samples / rate);
    else
        pt_outf(out, "%10s ", "");
    if (stall > 0)
        pt_flow_culprits(r->procedures, p, i, letters);
    else
        letters[0] = '\0';
    pt_outf(out, "%-4s ", letters);
    pt_text_put(out, p->code.row[i].text, 0);
    pt_out_char(out, '\n');
}

void pt_flow_calc_text(pt_out *out, const pt_look *look, const pt_flow_report *r)
{
    const uint32_t events = r->procedures->counts->event_count;
    PT_FREE char *letters = pt_alloc((size_t)events + 2, 1);
    pt_counts_head(out, r->procedures->counts);
    for (size_t i = 0; i < r->procedures->count && pt_out_ok(out); i++) {
        const pt_procedure *const p = &r->procedures->items[i];
        const pt_flow *const f = r->flow[i];
        pt_out_char(out, '\n');
        pt_text_put_name(out, look, pt_counts_name(p->code.name), 0);
        pt_outf(out, "  %s  0x%" PRIx64 "-0x%" PRIx64 "\n", p->code.path, p->code.start,
                p->code.end);
        if (f == NULL) {
            pt_outf(out, "  %s\n",
                    p->code.error != NULL ? p->code.error : "jumps of this machine are not known");
            continue;
        }
        pt_outf(out, "  %12s  %10s %10s %-4s %s\n", "address", "samples", "cycles", "why",
                "instruction");
        for (size_t b = 0; b < f->block_count && pt_out_ok(out); b++) {
            put_block(out, r, p, f, b);
            for (size_t k = 0; k < f->block[b].count; k++)
                put_instruction(out, r, p, f, f->block[b].first + k, letters);
        }
        summary s = {0};
        add_summary(&s, r, i, letters);
        put_summary(out, r, &s);
        if (f->has_unknown_jump)
            pt_out_text(out,
                        "  the targets of some jumps are not known: blocks that nothing leads to "
                        "are taken for them\n");
    }
}

static void json_block(pt_json_w *w, const pt_flow_report *r, const pt_procedure *p,
                       const pt_flow *f, size_t b)
{
    const pt_flow_block *const block = &f->block[b];
    const double frequency = frequency_of(r, f, block->class);
    const char letter[2] = {f->class[block->class].confidence, '\0'};
    pt_json_object(w);
    pt_json_key_uint(w, "address", p->code.row[block->first].at);
    pt_json_key_uint(w, "instructions", block->count);
    pt_json_key_uint(w, "class", block->class);
    pt_json_key_double(w, "samples", block->samples);
    pt_json_key_double(w, r->cycles_per_sample > 0 ? "executions" : "executions_a_call",
                       frequency >= 0 ? frequency : NAN);
    pt_json_key_text(w, "confidence", letter);
    pt_json_key_double(w, "cpi", block->cpi > 0 ? block->cpi : NAN);
    PT_JSON_EACH (w, "next", k, block->next_count)
        pt_json_uint(w, block->next[k]);
    pt_json_object_end(w);
}

void pt_flow_calc_json(pt_out *out, const pt_flow_report *r)
{
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "dcpicalc");
    pt_json_key_text(&w, "profile", r->title);
    PT_JSON_OBJECTS (&w, "procedures", i, r->procedures->count) {
        const pt_procedure *const p = &r->procedures->items[i];
        pt_json_key_text(&w, "procedure", p->code.name);
        pt_json_key_text(&w, "image", p->code.path);
        pt_json_key_array(&w, "blocks");
        for (size_t b = 0; r->flow[i] != NULL && b < r->flow[i]->block_count; b++)
            json_block(&w, r, p, r->flow[i], b);
        pt_json_array_end(&w);
    }
    pt_json_object_end(&w);
}

/* ---- dcpiwhatcg ---- */

/* The summary of all procedures. *ret_unknown is the number of procedures whose code could not be
 * read. */
static summary summary_of_all(const pt_flow_report *r, size_t *ret_unknown)
{
    PT_FREE char *letters = pt_alloc((size_t)r->procedures->counts->event_count + 2, 1);
    summary s = {0};
    *ret_unknown = 0;
    for (size_t i = 0; i < r->procedures->count; i++) {
        *ret_unknown += r->flow[i] == NULL;
        if (r->flow[i] != NULL) add_summary(&s, r, i, letters);
    }
    return s;
}

static void json_number(pt_json_w *w, const char *key, double value, bool known)
{
    pt_json_key_double(w, key, known ? value : NAN);
}

/* Shares are null where no frequency is known. */
void pt_flow_whole_json(pt_out *out, const pt_flow_report *r)
{
    size_t unknown;
    const summary s = summary_of_all(r, &unknown);
    const bool known = s.known > 0;
    const stall_shares x = known ? shares_of(r, &s) : (stall_shares){0};
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "dcpiwhatcg");
    pt_json_key_text(&w, "profile", r->title);
    pt_json_key_uint(&w, "procedures", r->procedures->count);
    pt_json_key_uint(&w, "procedures_without_code", unknown);
    pt_json_key_double(&w, "samples", s.samples);
    pt_json_key_double(&w, "samples_of_known_frequency", s.known);
    json_number(&w, "best_cpi", s.executed > 0 ? s.least / s.executed : 0, s.executed > 0);
    json_number(&w, "actual_cpi", s.executed > 0 ? s.known / s.executed : 0, s.executed > 0);
    json_number(&w, "execution_share", known ? s.least / s.known : 0, known);
    json_number(&w, "stall_share", x.over, known);
    json_number(&w, "unexplained_share_at_least", x.unexplained, known);
    PT_JSON_EACH (&w, "causes", i, CAUSE_COUNT) {
        if (!x.counted[i]) continue;
        const char letter[2] = {causes[i].letter, '\0'};
        pt_json_object(&w);
        pt_json_key_text(&w, "letter", letter);
        pt_json_key_text(&w, "name", causes[i].name);
        pt_json_key_double(&w, "share_at_most", x.most[i]);
        pt_json_object_end(&w);
    }
    pt_json_object_end(&w);
}

void pt_flow_whole_text(pt_out *out, const pt_look *look, const pt_flow_report *r)
{
    size_t unknown;
    (void)look;
    pt_counts_head(out, r->procedures->counts);
    const summary s = summary_of_all(r, &unknown);
    pt_outf(out, "\n%zu procedure%s", r->procedures->count, r->procedures->count == 1 ? "" : "s");
    if (unknown > 0) pt_outf(out, ", %zu of them without code that could be read", unknown);
    pt_out_char(out, '\n');
    put_summary(out, r, &s);
}

/* ---- dcpitopstalls ---- */

typedef struct {
    const pt_procedure *procedure;
    const pt_code_row *row;
    const pt_flow_class *class;
    size_t instruction; /* index of the row */
    double stall;
} stalled;

PT_ORDER(by_stall, stalled, PT_DOWN(stall) ?: PT_UP(row->at));

static stalled *find_stalls(const pt_flow_report *r, size_t *ret_count, double *ret_all)
{
    size_t room = 1, n = 0;
    for (size_t i = 0; i < r->procedures->count; i++)
        room += r->flow[i] != NULL ? r->procedures->items[i].code.row_count : 0;
    stalled *const found = pt_alloc(room, sizeof *found);
    *ret_all = 0;
    for (size_t i = 0; i < r->procedures->count; i++) {
        const pt_procedure *const p = &r->procedures->items[i];
        for (size_t k = 0; r->flow[i] != NULL && k < p->code.row_count; k++) {
            const double stall = pt_flow_stall(r->flow[i], r->procedures, p, r->column, k);
            if (stall <= 0) continue;
            found[n++] = (stalled){p, &p->code.row[k], pt_flow_class_at(r->flow[i], k), k, stall};
            *ret_all += stall;
        }
    }
    if (n > 0) qsort(found, n, sizeof *found, by_stall);
    *ret_count = n;
    return found;
}

void pt_flow_stalls_text(pt_out *out, const pt_look *look, const pt_flow_report *r)
{
    size_t count;
    double all, sure = 0, sum = 0;
    PT_FREE char *letters = pt_alloc((size_t)r->procedures->counts->event_count + 2, 1);
    PT_FREE stalled *found = find_stalls(r, &count, &all);
    const double total = (double)r->procedures->counts->event[r->column].total;
    for (size_t i = 0; i < r->procedures->count; i++)
        for (size_t b = 0; r->flow[i] != NULL && b < r->flow[i]->block_count; b++) {
            const char c = r->flow[i]->class[r->flow[i]->block[b].class].confidence;
            if (c == 'H' || c == 'M') sure += r->flow[i]->block[b].samples;
        }
    pt_counts_head(out, r->procedures->counts);
    pt_outf(out,
            "%.0f of %.0f samples lie in code of medium or high confidence; %.0f of all are "
            "stalls, %.1f%%\n",
            sure, total, all, total > 0 ? 100 * all / total : 0);
    pt_outf(out, "%7s %7s %10s %10s C %9s %-5s %12s  %-28s %s\n", "%", "cum%", "stalled", "count",
            "avg", "why", "pc", "procedure", "source");
    for (size_t i = 0; i < count && i < r->rows && pt_out_ok(out); i++) {
        const stalled *const s = &found[i];
        const pt_code_frame *const f = pt_code_innermost(s->row);
        const char *const name = pt_counts_name(s->procedure->code.name);
        sum += s->stall;
        pt_flow_culprits(r->procedures, s->procedure, s->instruction, letters);
        pt_outf(out, "%6.2f%% %6.2f%% %10.0f %10" PRId64 " %c %7.2fcy %-5s %12" PRIx64 "  ",
                total > 0 ? 100 * s->stall / total : 0, total > 0 ? 100 * sum / total : 0, s->stall,
                pt_procedure_value(r->procedures, s->procedure, s->instruction, r->column),
                s->class->confidence, s->stall / s->class->rate, letters, s->row->at);
        pt_text_put_name(out, look, name, look->long_names ? 0 : 60);
        const size_t used = pt_text_width(name);
        pt_text_pad(out, used < 28 ? 29 - used : 1);
        if (f != NULL && f->file[0] != '\0') {
            pt_text_put(out, pt_base_name(f->file), 0);
            if (f->line > 0) pt_outf(out, ":%" PRId64, f->line);
        }
        pt_out_char(out, '\n');
    }
    if (count > r->rows) pt_outf(out, "%s more (-n 0)\n", pt_count_of(count - r->rows).text);
}

void pt_flow_stalls_csv(pt_out *out, const pt_flow_report *r)
{
    size_t count;
    double all;
    PT_FREE char *letters = pt_alloc((size_t)r->procedures->counts->event_count + 2, 1);
    PT_FREE stalled *found = find_stalls(r, &count, &all);
    pt_out_text(out, "stalled,count,confidence,average_cycles,why,address,procedure,image,file,"
                     "line\n");
    for (size_t i = 0; i < count && i < r->rows && pt_out_ok(out); i++) {
        const stalled *const s = &found[i];
        const pt_code_frame *const f = pt_code_innermost(s->row);
        pt_flow_culprits(r->procedures, s->procedure, s->instruction, letters);
        pt_outf(out, "%.6g,%" PRId64 ",%c,%.6g,%s,0x%" PRIx64 ",", s->stall,
                pt_procedure_value(r->procedures, s->procedure, s->instruction, r->column),
                s->class->confidence, s->stall / s->class->rate, letters, s->row->at);
        pt_csv_put(out, s->procedure->code.name);
        pt_out_char(out, ',');
        pt_csv_put(out, s->procedure->code.path);
        pt_out_char(out, ',');
        pt_csv_put(out, f != NULL ? f->file : "");
        pt_outf(out, ",%" PRId64 "\n", f != NULL ? f->line : 0);
    }
}

void pt_flow_stalls_json(pt_out *out, const pt_flow_report *r)
{
    size_t count;
    double all;
    PT_FREE char *letters = pt_alloc((size_t)r->procedures->counts->event_count + 2, 1);
    PT_FREE stalled *found = find_stalls(r, &count, &all);
    const size_t shown = count < r->rows ? count : r->rows;
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "dcpitopstalls");
    pt_json_key_text(&w, "profile", r->title);
    pt_json_key_double(&w, "total", (double)r->procedures->counts->event[r->column].total);
    pt_json_key_double(&w, "stalled", all);
    PT_JSON_OBJECTS (&w, "rows", i, shown) {
        const stalled *const s = &found[i];
        const pt_code_frame *const f = pt_code_innermost(s->row);
        const char confidence[2] = {s->class->confidence, '\0'};
        pt_flow_culprits(r->procedures, s->procedure, s->instruction, letters);
        pt_json_key_double(&w, "stalled", s->stall);
        pt_json_key_int(&w, "count",
                        pt_procedure_value(r->procedures, s->procedure, s->instruction, r->column));
        pt_json_key_text(&w, "confidence", confidence);
        pt_json_key_double(&w, "average_cycles", s->stall / s->class->rate);
        pt_json_key_text(&w, "why", letters);
        pt_json_key_uint(&w, "address", s->row->at);
        pt_json_key_text(&w, "procedure", s->procedure->code.name);
        pt_json_key_text(&w, "image", s->procedure->code.path);
        pt_json_key_text(&w, "file", f != NULL ? f->file : "");
        pt_json_key_int(&w, "line", f != NULL ? f->line : 0);
    }
    pt_json_key_uint(&w, "more", count - shown);
    pt_json_object_end(&w);
}
