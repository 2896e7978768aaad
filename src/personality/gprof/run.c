/* run.c: one run of the gprof personality: program, profiles, reports. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "formats/gmon.h"
#include "load/load.h"
#include "personality/gprof/files.h"
#include "source/images.h"
#include "terminal/message.h"

typedef struct {
    pt_gprof_settings *s;
    pt_pool *pool;
    pt_object *object;
    pt_source_options source;
    pt_source_search search;
    const pt_profile **profile;
    pt_gprof_table_file symbols, map; /* -S, -R */
    pt_loaded *loaded;
    bool damaged;
    pt_gprof g;
    pt_out out;
} session;

void pt_gprof_say(const pt_gprof_settings *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pt_print_error("%s: ", s->whoami);
    pt_vprint_error(format, args);
    pt_print_error("\n");
    va_end(args);
}

/* ---- Inputs ---- */

static bool open_image(session *v)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_error error = PT_ERROR_INIT;
    if (pt_file_read(v->s->image, 0, UINT64_MAX, &file.blob, &error) != PT_OK) {
        pt_print_error("%s: %s\n", v->s->image, error.message);
        return false;
    }
    file.path = pt_strdup(v->s->image);
    v->search = (pt_source_search){.options = &v->source};
    if (pt_object_open(&file, pt_source_find_companion, &v->search, &v->object, &error) != PT_OK) {
        pt_gprof_say(v->s, "%s: not in executable format: %s", v->s->image, error.message);
        return false;
    }
    pt_object_keep_as_written(v->object);
    return true;
}

static bool is_image_cut(const session *v)
{
    const char *const path = pt_object_shrunk(v->object);
    if (path != NULL) pt_gprof_say(v->s, "%s: " PT_FILE_SHRANK, path);
    return path != NULL;
}

static bool is_of_one_kind(const session *v, size_t i, const char *dimension)
{
    const pt_gprof_look *const look = &v->s->look;
    if (strncmp(dimension, look->dimension, PT_GMON_DIMENSION_BYTES) == 0) return true;
    pt_gprof_say(v->s, "%s: counts %.*s, the others %s: choose profiles of one kind",
                 v->s->profiles[i], PT_GMON_DIMENSION_BYTES, dimension, look->dimension);
    return false;
}

/* Takes the rate and the dimension of the report from the first profile that has them. *ret_scale
 * is the number of the report's ticks in one tick of profile i. Returns false, after a message, if
 * the profiles have different dimensions. */
static bool take_clock(session *v, size_t i, double *ret_scale)
{
    const pt_profile *const p = v->profile[i];
    pt_gprof_look *const look = &v->s->look;
    pt_gmon_facts facts;
    *ret_scale = 1;
    const bool is_whole = pt_gmon_read_facts(p, &facts) && facts.histograms > 0;
    const pt_gmon_histogram *const h = &facts.first;
    /* A file of old BSD's layout has no rate; its clock is the clock of this system. */
    const double rate = !is_whole      ? 0
                        : h->rate > 0  ? h->rate
                        : facts.is_bsd ? (double)sysconf(_SC_CLK_TCK)
                                       : 1;
    if (look->rate > 0) {
        if (!is_whole) return true;
        *ret_scale = look->rate / rate;
        return is_of_one_kind(v, i, (const char *)h->dimension);
    }
    if (is_whole) {
        look->rate = rate;
        const uint64_t units = (h->high - h->low) / PT_GMON_UNIT_BYTES;
        look->bin_bytes =
            PT_GMON_UNIT_BYTES * (double)units / (double)(h->bin_count > 0 ? h->bin_count : 1);
        memcpy(look->dimension, h->dimension, PT_GMON_DIMENSION_BYTES);
        look->abbreviation = (char)h->dimension[PT_GMON_DIMENSION_BYTES];
        return true;
    }
    /* The clock of a damaged file, or of another format, as far as it is known. */
    const double hz = p->event->t.count > 0 ? p->event->row[0].rate_hz : 0;
    if (p->bin->t.count == 0 && hz <= 0) return true;
    look->rate = hz > 0 ? hz : 1;
    look->bin_bytes = p->bin->t.count > 0 ? p->bin->row[0].scale : 0;
    const bool is_time = p->event->t.count > 1 || hz > 1;
    snprintf(look->dimension, sizeof look->dimension, "%s", is_time ? "seconds" : "samples");
    look->abbreviation = is_time ? 's' : '1';
    return true;
}

static void print_info(session *v, const char *name, const pt_profile *p)
{
    pt_gmon_facts f;
    if (!pt_gmon_read_facts(p, &f)) return;
    pt_outf(&v->out, "File `%s' (version %u) contains:\n", name, f.version);
    pt_outf(&v->out, "\t%llu histogram record%s\n", (unsigned long long)f.histograms,
            f.histograms == 1 ? "" : "s");
    pt_outf(&v->out, "\t%llu call-graph record%s\n", (unsigned long long)f.arcs,
            f.arcs == 1 ? "" : "s");
    pt_outf(&v->out, "\t%llu basic-block count record%s\n", (unsigned long long)f.block_records,
            f.block_records == 1 ? "" : "s");
    v->s->look.has_output = true;
}

static bool load_one(session *v, size_t i)
{
    pt_gprof_settings *const s = v->s;
    const pt_load_options options = {.from = s->from,
                                     .bins_only = true,
                                     .pool = v->pool,
                                     .word_bytes = pt_object_elf(v->object)->is_64 ? 8 : 4};
    pt_error error = PT_ERROR_INIT;
    if (strcmp(s->profiles[i], "-") != 0 && access(s->profiles[i], R_OK) != 0) {
        pt_print_error("%s: %s\n", s->profiles[i], strerror(errno));
        return false;
    }
    if (pt_load(&s->profiles[i], 1, &options, &v->loaded[i], &error) != PT_OK) {
        pt_gprof_say(s, "%s: %s", s->profiles[i], error.message);
        return false;
    }
    const pt_profile *const p = v->loaded[i].profile;
    if (p == NULL) {
        pt_gprof_say(s, "%s: is a program, not a profile", s->profiles[i]);
        return false;
    }
    if (v->loaded[i].damaged_count > 0) {
        pt_gprof_say(s, "%s: %s", s->profiles[i], v->loaded[i].inputs[0].error->message);
        v->damaged = true;
    }
    v->profile[i] = p;
    if (s->styles & PT_GPROF_INFO) print_info(v, s->profiles[i], p);
    return true;
}

/* ---- Stacks ---- */

static bool has_stacks(const pt_profile *p)
{
    return p->sample->t.count > 0;
}

/* The clock of a profile with stacks, if there is no other: a tick is the time between two samples.
 */
static void take_sampling_clock(pt_gprof_look *look, const pt_profile *p, const pt_event *event,
                                double seconds)
{
    const pt_provenance *const from = pt_profile_provenance(p);
    const bool is_same = strcmp(pt_text(p, from->period_unit), pt_text(p, event->unit)) == 0;
    const int64_t period = event->period > 0 ? event->period : is_same ? from->period : 0;
    look->bin_bytes = 2;
    look->rate = seconds <= 0 ? 1 : period > 0 ? 1 / (seconds * (double)period) : 100;
    look->abbreviation = seconds > 0 ? 's' : '1';
    snprintf(look->dimension, sizeof look->dimension, "%s",
             seconds > 0 ? "seconds" : pt_text(p, event->type));
}

static bool take_stacks(session *v, size_t i)
{
    const pt_profile *const p = v->profile[i];
    pt_gprof_look *const look = &v->s->look;
    const uint32_t number = pt_profile_default_event(p);
    const pt_event *const event = &p->event->row[number];
    const pt_unit *const unit = pt_unit_parse(pt_text(p, event->unit));
    const double seconds = unit != NULL && unit->family == PT_FAMILY_TIME ? unit->factor / 1e9 : 0;
    if (look->rate == 0) take_sampling_clock(look, p, event, seconds);
    const char *const dimension = seconds > 0 ? "seconds" : pt_text(p, event->type);
    if (!is_of_one_kind(v, i, dimension)) return false;
    if (pt_gprof_add_stacks(&v->g, p, number, look->rate * (seconds > 0 ? seconds : 1)))
        return true;
    pt_gprof_say(v->s, "%s: no sample of it is in %s; is it of another program or build?",
                 v->s->profiles[i], v->s->image);
    return false;
}

/* Adds the profiles: first those of gprof, since times from stacks are shown in the ticks of a
 * gmon.out, if there is one. */
static bool take_profiles(session *v)
{
    const pt_gprof_settings *const s = v->s;
    for (size_t i = 0; i < s->profile_count; i++) {
        double scale;
        if (has_stacks(v->profile[i])) continue;
        if (!take_clock(v, i, &scale)) return false;
        pt_gprof_add(&v->g, v->profile[i], scale);
    }
    for (size_t i = 0; i < s->profile_count; i++) {
        if (!has_stacks(v->profile[i])) continue;
        if ((s->styles & PT_GPROF_SUM) != 0) {
            pt_gprof_say(s, "%s: has stacks; --sum adds up profiles of gprof only", s->profiles[i]);
            return false;
        }
        if (!take_stacks(v, i)) return false;
    }
    return true;
}

/* ---- Reports ---- */

static void choose_reports(session *v)
{
    pt_gprof_settings *const s = v->s;
    if (s->styles != 0) return;
    if (v->g.is_sampled && !v->g.has_arcs) {
        s->styles = PT_GPROF_FLAT & ~s->touched;
        return;
    }
    s->styles = v->g.has_bins || v->g.has_arcs ? PT_GPROF_FLAT | PT_GPROF_GRAPH : PT_GPROF_COUNTS;
    s->styles &= ~s->touched;
}

static bool has_what_it_takes(const session *v)
{
    const pt_gprof_settings *const s = v->s;
    if ((s->styles & PT_GPROF_FLAT) && s->look.rate == 0) {
        pt_gprof_say(s, "gmon.out file is missing histogram");
        return false;
    }
    if ((s->styles & PT_GPROF_GRAPH) && !v->g.has_arcs) {
        pt_gprof_say(s, "gmon.out file is missing call-graph data");
        return false;
    }
    return true;
}

static void print_order(session *v, bool by_file)
{
    size_t count = 0;
    PT_FREE const char **names = pt_gprof_placement(&v->g, by_file, &count);
    for (size_t i = 0; i < count; i++)
        pt_outf(&v->out, "%s\n", names[i]);
}

static void print_index(session *v)
{
    pt_gprof_settings *const s = v->s;
    PT_FREE bool *indexed = pt_gprof_indexed(&s->look, &v->g);
    for (size_t i = 0; i < v->g.symbol.count; i++)
        indexed[i] &= v->g.symbol.items[i].is_static;
    const bool is_known = v->g.options.with_files || v->g.options.by_line;
    if (!is_known && v->g.options.external == NULL) pt_gprof_find_files(&v->g, indexed);
    pt_gprof_index_text(&v->out, &s->look, &v->g);
}

static void print_reports(session *v)
{
    pt_gprof_settings *const s = v->s;
    const bool graph = (s->styles & PT_GPROF_GRAPH) != 0;
    if (graph && s->look.traditional) pt_gprof_graph_text(&v->out, &s->look, &v->g);
    if (s->styles & PT_GPROF_FLAT) pt_gprof_flat_text(&v->out, &s->look, &v->g);
    if (graph) {
        if (!s->look.traditional) pt_gprof_graph_text(&v->out, &s->look, &v->g);
        print_index(v);
    }
    if (s->styles & PT_GPROF_COUNTS) pt_gprof_counts_text(&v->out, &s->look, &v->g);
    if (s->styles & PT_GPROF_SOURCE) pt_gprof_annotate(s, &v->g, &v->out);
    if (s->styles & PT_GPROF_FUNCTION_ORDER) print_order(v, false);
    if (s->styles & PT_GPROF_FILE_ORDER) print_order(v, true);
}

/* Prints for --debug the numbers of symbols, arcs, cycles and bins, and the counts in no symbol. */
static void print_debug_counts(const session *v)
{
    const pt_gprof *const g = &v->g;
    pt_print_error(
        "%s: %zu symbols, %zu arcs, %u cycles, %zu bins; in no symbol: %llu ticks, %llu arcs, "
        "%llu blocks\n",
        v->s->whoami, g->symbol.count, g->arc.count, g->cycle_count, g->bin.count,
        (unsigned long long)g->lost_ticks, (unsigned long long)g->lost_arcs,
        (unsigned long long)g->lost_blocks);
}

/* Do the specs or reports need files or lines? */
static bool needs_files(const pt_gprof_settings *s)
{
    if (s->look.inline_files || (s->styles & (PT_GPROF_SOURCE | PT_GPROF_COUNTS)) != 0) return true;
    return PT_ANY(i, s->spec.count, strpbrk(s->spec.items[i].text, ".:0123456789") != NULL);
}

static int run_session(session *v)
{
    pt_gprof_settings *const s = v->s;
    if (!open_image(v)) return PT_EXIT_FAILED;
    if (s->map_path != NULL && !pt_gprof_read_map(s, s->map_path, &v->map)) return PT_EXIT_FAILED;
    if (s->external_path != NULL && !pt_gprof_read_symbols(s, s->external_path, &v->symbols))
        return PT_EXIT_FAILED;
    const pt_gprof_options options = {.no_static = s->no_static,
                                      .functions_only = s->functions_only,
                                      .by_line = s->by_line,
                                      .static_calls = s->static_calls,
                                      .with_files = needs_files(s),
                                      .mangled = s->mangled,
                                      .one_line = isatty(STDOUT_FILENO),
                                      .image = s->image,
                                      .mapped = v->map.mapped,
                                      .mapped_count = v->map.count,
                                      .external = v->symbols.external,
                                      .external_count = v->symbols.count,
                                      .spec = s->spec.items,
                                      .spec_count = s->spec.count,
                                      .pool = v->pool};
    pt_error error = PT_ERROR_INIT;
    if (pt_gprof_open(&v->g, v->object, &options, &error) != PT_OK) {
        if (!is_image_cut(v)) pt_gprof_say(s, "file `%s' has no symbols", s->image);
        return PT_EXIT_FAILED;
    }
    if (s->is_prof) {
        pt_gprof_say(s, "sorry, file format `prof' is not yet supported");
        return PT_EXIT_FAILED;
    }
    for (size_t i = 0; i < s->profile_count; i++)
        if (!load_one(v, i)) return PT_EXIT_FAILED;
    if (!take_profiles(v)) return PT_EXIT_FAILED;
    if ((s->styles & PT_GPROF_SUM) && !pt_gprof_write_sum(s, v->profile)) return PT_EXIT_FAILED;
    pt_gprof_assemble(&v->g);
    choose_reports(v);
    if (v->g.is_sampled && !s->json)
        pt_gprof_say(s, "no profile of these tells how often functions were called: calls are "
                        "samples here (docs/gprof.md)");
    if (s->debug) print_debug_counts(v);
    if (s->json) {
        pt_gprof_json(&v->out, &s->look, &v->g);
    } else {
        if (!has_what_it_takes(v)) return PT_EXIT_FAILED;
        print_reports(v);
    }
    return v->damaged || is_image_cut(v) ? PT_EXIT_FAILED : PT_EXIT_OK;
}

int pt_gprof_run(pt_gprof_settings *s)
{
    session v = {.s = s};
    v.loaded = pt_alloc(s->profile_count, sizeof *v.loaded);
    v.profile = pt_alloc(s->profile_count, sizeof *v.profile);
    v.pool = pt_pool_new(0);
    pt_out_to_fd(&v.out, STDOUT_FILENO);
    int status = run_session(&v);
    pt_error error = PT_ERROR_INIT;
    if (pt_out_done(&v.out, &error) != PT_OK && !v.out.broken_pipe) {
        pt_gprof_say(s, "%s", error.message);
        status = PT_EXIT_FAILED;
    }
    pt_gprof_done(&v.g);
    pt_gprof_table_file_done(&v.symbols);
    pt_gprof_table_file_done(&v.map);
    for (size_t i = 0; i < s->profile_count; i++)
        pt_loaded_done(&v.loaded[i]);
    PT_FREE_ALL(v.loaded, v.profile);
    pt_object_free(v.object);
    pt_pool_free(v.pool);
    return status;
}
