/* as_pprof.c: see as_pprof.h. */
#include "personality/pprof/as_pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/text.h"
#include "transform/frames.h"
#include "transform/tags.h"

/* ---- Labels ---- */

static int order_of(const pt_profile *p, const pt_label *x, const pt_label *y)
{
    if (x->kind != y->kind) return x->kind == PT_LABEL_STRING ? -1 : 1;
    return x->key == y->key ? 0 : strcmp(pt_text(p, x->key), pt_text(p, y->key));
}

typedef struct {
    const pt_profile *profile;
    const pt_label *label; /* the label's old place, by which equal labels keep their order */
} placed_label;

PT_ORDER(compare_placed, placed_label, order_of(a->profile, a->label, b->label) ?: PT_UP(label));

static bool is_in_order(const pt_profile *p, uint32_t set)
{
    for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
        if (!pt_label_counts(&p->labels->row[l], true)) return false;
        if (l > p->labels->offset[set] &&
            order_of(p, &p->labels->row[l - 1], &p->labels->row[l]) > 0)
            return false;
    }
    return true;
}

static uint32_t put_in_order(const pt_profile *p, uint32_t set, pt_set_maker *maker)
{
    const uint64_t first = p->labels->offset[set];
    const size_t count = (size_t)(p->labels->offset[set + 1] - first);
    PT_FREE placed_label *labels = pt_alloc(count + 1, sizeof *labels);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (pt_label_counts(&p->labels->row[first + i], true))
            labels[kept++] = (placed_label){p, &p->labels->row[first + i]};
    qsort(labels, kept, sizeof *labels, compare_placed);
    for (size_t i = 0; i < kept; i++)
        pt_set_maker_put(maker, labels[i].label);
    return pt_set_maker_commit(maker);
}

/* The profile with its labels in pprof's order. Takes over the caller's reference to p. */
static const pt_profile *order_labels(const pt_profile *p)
{
    bool fine = true;
    for (uint32_t set = 0; set < p->labels->t.count && fine; set++)
        fine = is_in_order(p, set);
    if (fine) return p;
    PT_FREE uint32_t *new_set = pt_alloc(p->labels->t.count, sizeof *new_set);
    pt_set_maker maker;
    pt_set_maker_init(&maker);
    for (uint32_t set = 0; set < p->labels->t.count; set++)
        new_set[set] = put_in_order(p, set, &maker);
    PT_FREE uint32_t *rows = pt_alloc_numbers(p->sample->t.count);
    pt_samples *const samples = pt_samples_pick(p->sample, rows, p->sample->t.count);
    for (uint32_t i = 0; i < samples->t.count; i++)
        ((uint32_t *)samples->labels)[i] = new_set[p->sample->labels[i]];
    const pt_profile_tables tables = {.sample = samples, .labels = pt_set_maker_finish(&maker)};
    const pt_profile *const ordered = pt_profile_derive(p, &tables);
    pt_profile_unref(p);
    return ordered;
}

/* ---- Locations of formats other than profile.proto (profile/legacy_profile.go) ---- */

static bool is_legacy(const pt_profile *p)
{
    const char *const format = pt_text(p, pt_profile_provenance(p)->source_format);
    return format[0] != '\0' && strcmp(format, "pprof") != 0;
}

/* The address of a location; for a return address that of the call. */
static uint64_t call_address(const pt_locations *l, uint32_t row)
{
    return l->address[row] - ((l->flags[row] & PT_LOCATION_RETURN_ADDR) && l->address[row] > 0);
}

/* Fills ret_first: for each location, the first location without names at the same call address, or
 * itself. Returns false if all are themselves. */
static bool find_equals(const pt_profile *p, uint32_t *ret_first)
{
    PT_AUTO(pt_index) index;
    pt_index_init(&index);
    bool any = false;
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        ret_first[l] = l;
        if (p->location->line_first[l + 1] > p->location->line_first[l]) continue;
        const uint64_t address = call_address(p->location, l);
        const uint64_t hash = pt_hash_mix(address, 1);
        const uint32_t known =
            PT_INDEX_FIND(&index, hash, id, call_address(p->location, id) == address);
        if (known == PT_NONE) {
            pt_index_add(&index, hash, l);
        } else {
            ret_first[l] = known;
            any = true;
        }
    }
    return any;
}

/* The mapping of an address by the rules of remapMappingIDs. A mapping that begins above the
 * address is extended down to the place where its file begins, if that is at or below the address.
 * An address outside all mappings gets a mapping of the whole address space. */
static uint32_t place_address(uint64_t address, pt_mapping *rows, uint32_t *count)
{
    if (address == 0) return PT_NONE;
    const bool has_fake = *count > 0 && rows[*count - 1].limit == UINT64_MAX;
    const uint32_t real = *count - has_fake;
    for (uint32_t m = 0; m < real; m++)
        if (rows[m].start <= address && address < rows[m].limit) return m;
    for (uint32_t m = 0; m < real && !has_fake;
         m++) { /* the fake mapping has all other addresses */
        const uint64_t begin = rows[m].start - rows[m].file_offset;
        if (rows[m].file_offset == 0 || begin > address || address >= rows[m].start) continue;
        rows[m].start = begin;
        rows[m].file_offset = 0;
        return m;
    }
    if (!has_fake) rows[(*count)++] = (pt_mapping){.limit = UINT64_MAX};
    return *count - 1;
}

static uint32_t repair_mappings(const pt_profile *p, pt_mapping *rows)
{
    uint32_t count = p->mapping->t.count;
    const pt_mapping *const old = p->mapping->row;
    const uint32_t skip = count > 1 && old[0].limit == old[1].start &&
                          strncmp(pt_text(p, old[0].file), "/anon_hugepage", 14) == 0;
    count -= skip;
    for (uint32_t m = 0; m < count; m++)
        rows[m] = old[m + skip];
    if (count > 0 && rows[0].start - rows[0].file_offset == 0x400000) {
        rows[0].start = 0x400000;
        rows[0].file_offset = 0;
    }
    return count;
}

static pt_locations *legacy_locations(const pt_profile *p, const uint32_t *first, uint32_t *new_id,
                                      pt_mappings **ret_mappings)
{
    const pt_locations *const old = p->location;
    pt_mapping *const rows = pt_alloc((size_t)p->mapping->t.count + 1, sizeof *rows);
    uint32_t mapping_count = repair_mappings(p, rows), count = 0;
    uint32_t *const mapping = pt_alloc(old->t.count, sizeof *mapping);
    uint64_t *const address = pt_alloc(old->t.count, sizeof *address);
    uint32_t *const line_first = pt_alloc((size_t)old->t.count + 1, sizeof *line_first);
    uint8_t *const flags = pt_alloc(old->t.count, sizeof *flags);
    for (uint32_t l = 0; l < old->t.count; l++) {
        new_id[l] = first[l] == l ? count : new_id[first[l]];
        if (first[l] != l) continue;
        address[count] = call_address(old, l);
        mapping[count] = place_address(address[count], rows, &mapping_count);
        flags[count] = old->flags[l] & (uint8_t)~PT_LOCATION_RETURN_ADDR;
        line_first[++count] = old->line_first[l + 1];
    }
    pt_locations *const locations = pt_table_new(sizeof *locations, count);
    locations->mapping = mapping;
    locations->address = address;
    locations->line_first = line_first;
    locations->flags = flags;
    *ret_mappings = pt_table_new(sizeof **ret_mappings, mapping_count);
    (*ret_mappings)->row = rows;
    return locations;
}

typedef struct {
    const pt_profile *profile;
    const uint32_t *new_id;
} renaming;

static uint32_t rename_frames(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const renaming *const r = context;
    const uint32_t *const frames = pt_stack_frames(r->profile, stack);
    const uint32_t depth = pt_stack_depth(r->profile, stack);
    for (uint32_t i = 0; i < depth; i++)
        ret_frames[i] = r->new_id[frames[i]];
    return depth;
}

/* The frames of the profiler itself, which pprof removes from each CPU profile of gperftools. */
#define CPU_DROP_FRAMES                                                                            \
    "ProfileData::Add|ProfileData::prof_handler|CpuProfiler::prof_handler|"                        \
    "__pthread_sighandler|__restore"

/* If the profile is a gperftools profile, returns it with CPU_DROP_FRAMES in its header; else
 * returns it unchanged. Takes over the caller's reference. */
static const pt_profile *name_handler(const pt_profile *p)
{
    const pt_provenance *const from = pt_profile_provenance(p);
    if (strcmp(pt_text(p, from->source_format), "gperftools") != 0 || from->drop_frames != 0)
        return p;
    pt_builder *const b = pt_builder_extend(p);
    pt_builder_provenance(b)->drop_frames = pt_builder_text(b, CPU_DROP_FRAMES).v;
    const pt_profile *named = NULL;
    if (pt_builder_freeze(b, &named, NULL) != PT_OK) return p;
    pt_profile_unref(p);
    return named;
}

/* Makes the changes that as_pprof.h lists under "legacy". Takes over the reference. */
static const pt_profile *repair_legacy(const pt_profile *p)
{
    PT_FREE uint32_t *first = pt_alloc(p->location->t.count, sizeof *first);
    PT_FREE uint32_t *new_id = pt_alloc(p->location->t.count, sizeof *new_id);
    const bool renames = find_equals(p, first);
    pt_profile_tables tables = {0};
    tables.location = legacy_locations(p, first, new_id, &tables.mapping);
    tables.source = pt_table_new(sizeof *tables.source, 1);
    pt_provenance *const row = &tables.source->row;
    *row = *pt_profile_provenance(p);
    row->comments = pt_column_copy(row->comments, row->comment_count, sizeof *row->comments);
    row->asked_hz = row->true_hz = 0; /* facts that only pitot stores */
    row->cpu_used_ns = row->cpu_seen_ns = 0;
    row->lost = row->throttled = 0;
    PT_UNREF_PROFILE const pt_profile *edited = pt_profile_ref(p);
    if (renames) {
        const renaming context = {p, new_id};
        const pt_frames_edit edit = {.edit_stack = rename_frames, .context = &context};
        pt_profile_unref(edited);
        edited = pt_frames_apply(p, &edit, NULL);
    }
    const pt_profile *const repaired = pt_profile_derive(edited, &tables);
    pt_profile_unref(p);
    return repaired;
}

/* ---- Mappings, header ---- */

static void fake_mapping(const pt_profile *p, pt_profile_tables *tables)
{
    if (p->mapping->t.count > 0) return;
    const pt_locations *const old = p->location;
    const uint32_t count = old->t.count;
    tables->mapping = pt_mappings_new(1); /* zeroed */
    pt_locations *const locations = pt_table_new(sizeof *locations, count);
    locations->mapping = pt_alloc(count, sizeof *old->mapping); /* all zero: mapping 0 */
    locations->address = pt_column_copy(old->address, count, sizeof *old->address);
    locations->line_first =
        pt_column_copy(old->line_first, (size_t)count + 1, sizeof *old->line_first);
    locations->flags = pt_column_copy(old->flags, count, sizeof *old->flags);
    locations->code_offset = pt_column_copy(old->code_offset, count, sizeof *old->code_offset);
    locations->source_id = pt_column_copy(old->source_id, count, sizeof *old->source_id);
    tables->location = locations;
}

static pt_source *source_copy(const pt_profile *p)
{
    const pt_provenance *const old = pt_profile_provenance(p);
    pt_source *source = pt_table_new(sizeof *source, 1);
    source->row = *old;
    source->row.comments = pt_column_copy(old->comments, old->comment_count, sizeof *old->comments);
    return source;
}

static void copy_column(void *to, const void *from, size_t bytes)
{
    if (to != NULL) memcpy(to, from, bytes);
}

/* The samples with the columns chosen[0, count). */
static pt_samples *samples_with(const pt_samples *from, const uint32_t *chosen, uint32_t count)
{
    const size_t n = from->t.count;
    pt_samples *to = pt_samples_new(from->t.count, count, pt_samples_optional(from));
    copy_column((void *)to->stack, from->stack, n * sizeof *from->stack);
    copy_column((void *)to->labels, from->labels, n * sizeof *from->labels);
    copy_column((void *)to->time_ns, from->time_ns, n * sizeof *from->time_ns);
    copy_column((void *)to->pid, from->pid, n * sizeof *from->pid);
    copy_column((void *)to->tid, from->tid, n * sizeof *from->tid);
    copy_column((void *)to->cpu, from->cpu, n * sizeof *from->cpu);
    copy_column((void *)to->comm, from->comm, n * sizeof *from->comm);
    for (uint32_t e = 0; e < count; e++)
        copy_column((void *)to->value[e], from->value[chosen[e]], n * sizeof(int64_t));
    return to;
}

/* Removes the events whose type occurs more than once. The default event is then one of the
 * remaining events (profile/merge.go, CompatibilizeSampleTypes). Consumes p. */
static const pt_profile *unlike_events(const pt_profile *p)
{
    const uint32_t all = p->event->t.count;
    PT_FREE uint32_t *chosen = pt_alloc(all, sizeof *chosen);
    uint32_t count = 0;
    for (uint32_t e = 0; e < all; e++) {
        bool again = false;
        for (uint32_t o = 0; o < all && !again; o++)
            again = o != e && p->event->row[o].type == p->event->row[e].type;
        if (!again) chosen[count++] = e;
    }
    if (count == all || count == 0 || p->arc->t.count + p->bin->t.count > 0) return p;
    pt_events *events = pt_table_new(sizeof *events, count);
    pt_event *row = pt_alloc(count, sizeof *row);
    for (uint32_t e = 0; e < count; e++)
        row[e] = p->event->row[chosen[e]];
    events->row = row;
    pt_source *source = source_copy(p);
    bool has_default = false;
    for (uint32_t e = 0; e < count; e++)
        has_default |= row[e].type == source->row.default_event;
    if (!has_default) source->row.default_event = row[0].type;
    pt_arcs *arcs = pt_table_new(sizeof *arcs, 0);
    arcs->event_count = count;
    arcs->cost = pt_alloc(count, sizeof *arcs->cost);
    const pt_profile_tables tables = {.event = events,
                                      .arc = arcs,
                                      .sample = samples_with(p->sample, chosen, count),
                                      .source = source};
    const pt_profile *fewer = pt_profile_derive(p, &tables);
    pt_profile_unref(p);
    return fewer;
}

const pt_profile *pt_as_pprof(const pt_profile *profile)
{
    const pt_profile *ordered = unlike_events(order_labels(pt_columns_to_labels(profile, false)));
    if (is_legacy(ordered)) ordered = repair_legacy(name_handler(ordered));
    PT_UNREF_PROFILE const pt_profile *p = ordered;
    pt_profile_tables tables = {0};
    fake_mapping(p, &tables);
    if (p->unknown->t.count > 0) tables.unknown = pt_unknowns_without(p->unknown, ~0u, NULL);
    return pt_profile_derive(p, &tables);
}

/* ---- sample_index ---- */

static char *types_text(const pt_profile *p)
{
    pt_buf list = PT_BUF_INIT;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        pt_putf(&list, "%s%s", e > 0 ? " " : "", pt_text(p, p->event->row[e].type));
    return pt_buf_take(&list, NULL);
}

/* Parses a whole number as Go's strconv.Atoi does. */
static bool parse_number(const char *text, int64_t *ret)
{
    const char *const digits = text + (*text == '-' || *text == '+');
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0') return false;
    errno = 0;
    *ret = strtoll(text, NULL, 10);
    return errno == 0;
}

pt_status pt_pprof_event(const pt_profile *p, const char *name, uint32_t *ret_event,
                         pt_error *reterr)
{
    const uint32_t count = p->event->t.count;
    if (count == 0) return pt_error_set(reterr, PT_ERR_USAGE, "profile has no samples");
    int64_t number;
    if (name[0] == '\0') {
        *ret_event = pt_profile_default_event(p);
        return PT_OK;
    }
    if (parse_number(name, &number)) {
        if (number < 0 || number >= count)
            return pt_error_set(reterr, PT_ERR_USAGE,
                                "sample_index %s is outside the range [0..%u]", name, count - 1);
        *ret_event = (uint32_t)number;
        return PT_OK;
    }
    const char *const plain = pt_begins(name, "inuse_") ? name + 6 : name;
    for (uint32_t e = 0; e < count; e++) {
        const char *const type = pt_text(p, p->event->row[e].type);
        if (strcmp(type, name) != 0 && strcmp(type, plain) != 0) continue;
        *ret_event = e;
        return PT_OK;
    }
    PT_FREE char *types = types_text(p);
    return pt_error_set(reterr, PT_ERR_USAGE, "sample_index \"%s\" must be one of: [%s]", name,
                        types);
}
