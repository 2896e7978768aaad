/* legacy.c: see legacy.h. */
#include "formats/legacy.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/plain/ascending.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/procmaps.h"

/* If several mappings cover an address, the first in the list counts. A linear search finds this
 * mapping. In lists with more mappings than this the search is binary, and may find another mapping
 * that covers the address. */
#define SLOW_MAPPINGS_MAX 4096

struct pt_legacy_location {
    uint64_t call; /* the address, or for a return address the address minus 1 */
    bool is_return;
    uint32_t function; /* PT_NONE: no name */
    int64_t line;
};

/* ---- Lines ---- */

bool pt_span_is_blank(pt_span s)
{
    s = pt_span_trim(s);
    return s.size == 0 || *s.at == '#';
}

bool pt_span_is_maps(pt_span line)
{
    static const char *const sentinels[] = {"--- Memory map: ---", "MAPPED_LIBRARIES:"};
    return PT_ANY(i, PT_COUNT(sentinels),
                  memmem(line.at, line.size, sentinels[i], strlen(sentinels[i])) != NULL);
}

pt_span pt_legacy_first_line(const pt_probe_input *input)
{
    pt_reader r;
    pt_span line;
    pt_reader_init(&r, input->head, input->head_bytes, NULL);
    while (pt_span_line(&r, &line)) {
        if (memchr(line.at, '\0', line.size) != NULL) break;
        if (line.size == 0 || *line.at != '%') return line;
    }
    return (pt_span){"", 0};
}

void pt_legacy_skip_commands(pt_reader *r, pt_diag *diag)
{
    while (pt_reader_left(r) > 0 && *r->pos == '%') {
        pt_span line;
        if (!pt_span_line(r, &line)) break;
        if (pt_span_skip(&line, "%warn"))
            pt_diag_add(diag, 1, "warning in the file: %.*s",
                        (int)(line.size < 200 ? line.size : 200), line.at);
    }
}

int64_t pt_legacy_scale(int64_t value, double factor)
{
    const double scaled = (double)value * factor;
    if (!(scaled < 9.2233720368547748e18)) return INT64_MAX;
    return scaled < -9.2233720368547748e18 ? INT64_MIN + 1 : (int64_t)scaled;
}

/* ---- Stacks ---- */

void pt_legacy_init(pt_legacy *l, pt_builder *b, const pt_read_hooks *hooks)
{
    *l = (pt_legacy){.b = b, .hooks = hooks};
    pt_index_init(&l->index);
}

void pt_legacy_done(pt_legacy *l)
{
    PT_FREE_ALL(l->location.items, l->pcs.items);
    pt_index_done(&l->index);
}

void pt_legacy_event(pt_legacy *l, const char *type, const char *unit)
{
    pt_builder_event(l->b, &(pt_event){.type = pt_builder_text(l->b, type).v,
                                       .unit = pt_builder_text(l->b, unit ? unit : "count").v});
}

void pt_legacy_period(pt_legacy *l, const char *type, const char *unit, int64_t period)
{
    pt_provenance *const p = pt_builder_provenance(l->b);
    p->has_period_type = true;
    p->period_type = pt_builder_text(l->b, type).v;
    p->period_unit = pt_builder_text(l->b, unit).v;
    p->period = period;
}

bool pt_legacy_more_addresses(pt_legacy *l, pt_span text)
{
    const char *at = text.at, *const end = text.at + text.size;
    while ((at = memmem(at, (size_t)(end - at), "0x", 2)) != NULL) {
        uint64_t value = 0;
        const char *c = at + 2;
        for (; c < end; c++) {
            const int d = isdigit((unsigned char)*c) ? *c - '0'
                          : *c >= 'a' && *c <= 'f'   ? *c - 'a' + 10
                                                     : -1;
            if (d < 0) break;
            if (value >> 60 != 0) return false;
            value = value << 4 | (uint64_t)d;
        }
        if (c > at + 2) PT_PUSH(l->pcs, value);
        at = c;
    }
    return true;
}

bool pt_legacy_addresses(pt_legacy *l, pt_span text)
{
    l->pcs.count = 0;
    l->named = 0;
    return pt_legacy_more_addresses(l, text);
}

static uint32_t location_of(pt_legacy *l, uint64_t pc, bool is_return)
{
    const uint64_t call = pc - is_return;
    const uint64_t hash = pt_hash_mix(call, 2);
    const uint32_t found = PT_INDEX_FIND(&l->index, hash, id, l->location.items[id].call == call);
    if (found != PT_NONE) return found;
    return PT_INDEX_PUSH(
        &l->index, hash, l->location,
        (pt_legacy_location){.call = call, .is_return = is_return, .function = PT_NONE});
}

pt_stack_id pt_legacy_stack(pt_legacy *l, bool leaf_is_return)
{
    const uint64_t *const pcs = l->pcs.items;
    uint32_t *const frames = pt_builder_stack_space(l->b, l->pcs.count);
    size_t depth = 0;
    for (size_t i = 0; i < l->pcs.count; i++) {
        if (i == 1 && !leaf_is_return && pcs[1] == pcs[0]) {
            if (!l->hooks->annotate)
                location_of(l, pcs[1], true); /* adds the location, because google/pprof keeps it */
            continue;
        }
        frames[depth++] = location_of(l, pcs[i], i > 0 || leaf_is_return);
    }
    return pt_builder_stack_commit(l->b, depth, PT_STACK_END_UNKNOWN);
}

void pt_legacy_name(pt_legacy *l, uint64_t pc, bool is_return, pt_span name, pt_span file,
                    int64_t line)
{
    const uint32_t id = location_of(l, pc, is_return); /* may move the array */
    pt_legacy_location *const at = &l->location.items[id];
    if (at->function != PT_NONE || name.size == 0) return;
    const uint32_t text = pt_builder_string(l->b, name.at, name.size).v;
    at->function = pt_builder_function(
                       l->b, &(pt_function){.name = text,
                                            .system_name = text,
                                            .file = pt_builder_string(l->b, file.at, file.size).v})
                       .v;
    at->line = line;
}

/* Removes and returns the next column of a comment, whose columns are separated by tabs. */
static pt_span next_column(pt_span *s)
{
    const char *const tab = memchr(s->at, '\t', s->size);
    const size_t size = tab != NULL ? (size_t)(tab - s->at) : s->size;
    const pt_span first = {s->at, size};
    s->at += size + (tab != NULL);
    s->size -= size + (tab != NULL);
    return pt_span_trim(first);
}

/* Parses "0x47f8e4". */
static bool parse_address(pt_span s, uint64_t *ret)
{
    if (!pt_span_skip(&s, "0x") || s.size == 0 || s.size > 16) return false;
    *ret = 0;
    for (size_t i = 0; i < s.size; i++) {
        const int digit = pt_hex_digit(s.at[i]);
        if (digit < 0) return false;
        *ret = *ret << 4 | (uint64_t)digit;
    }
    return true;
}

/* The name in "main.f+0x2f", without the offset. */
static pt_span without_offset(pt_span name)
{
    for (size_t i = name.size; i-- > 0;) {
        if (name.at[i] == '+' && i + 2 < name.size && name.at[i + 1] == '0' &&
            name.at[i + 2] == 'x')
            return (pt_span){name.at, i};
    }
    return name;
}

void pt_legacy_comment(pt_legacy *l, pt_span comment)
{
    uint64_t call;
    if (!l->hooks->annotate || !pt_span_skip(&comment, "#\t")) return;
    if (!parse_address(next_column(&comment), &call)) return;
    const pt_span name = without_offset(next_column(&comment));
    pt_span file = pt_span_trim(comment);
    int64_t line = 0;
    for (size_t i = file.size; i-- > 0;) {
        if (file.at[i] != ':') continue;
        pt_span number = {file.at + i + 1, file.size - i - 1};
        if (pt_span_number(&number, false, &line) && number.size == 0) file.size = i;
        break;
    }
    /* Comments have the order of the addresses; those of run-time functions may be missing. */
    for (size_t i = l->named; i < l->pcs.count; i++) {
        if (l->pcs.items[i] - 1 != call && l->pcs.items[i] != call) continue;
        pt_legacy_name(l, l->pcs.items[i], true, name, file, line);
        l->named = i + 1;
        return;
    }
}

void pt_legacy_malformed(pt_legacy *l, uint64_t offset)
{
    if (l->malformed++ == 0) l->first_malformed = offset;
}

/* ---- Frames to drop ---- */

static const char cpu_drop[] = "ProfileData::Add|ProfileData::prof_handler|"
                               "CpuProfiler::prof_handler|__pthread_sighandler|__restore";

static const char heap_drop[] =
    "calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|realloc|"
    "tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|tc_free|tc_memalign|tc_posix_memalign|tc_pvalloc|"
    "tc_valloc|tc_realloc|tc_new|tc_delete|tc_newarray|tc_deletearray|tc_new_nothrow|"
    "tc_newarray_nothrow|"
    "malloc_zone_malloc|malloc_zone_calloc|malloc_zone_valloc|malloc_zone_realloc|"
    "malloc_zone_memalign|malloc_zone_free|"
    "runtime\\..*|"
    "BaseArena::.*|(::)?do_malloc_no_errno|(::)?do_malloc_pages|(::)?do_malloc|"
    "DoSampledAllocation|MallocedMemBlock::MallocedMemBlock|_M_allocate|__builtin_(vec_)?delete|"
    "__builtin_(vec_)?new|__gnu_cxx::new_allocator::allocate|__libc_malloc|"
    "__malloc_alloc_template::allocate|allocate|cpp_alloc|operator new(\\[\\])?|"
    "simple_alloc::allocate";
static const char heap_keep[] = "runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*";

static const char lock_drop[] =
    "RecordLockProfileData|(base::)?RecordLockProfileData.*|(base::)?SubmitMutexProfileData.*|"
    "(base::)?SubmitSpinLockProfileData.*|(base::Mutex::)?AwaitCommon.*|(base::Mutex::)?Unlock.*|"
    "(base::Mutex::)?UnlockSlow.*|(base::Mutex::)?ReaderUnlock.*|(base::MutexLock::)?~MutexLock.*|"
    "(Mutex::)?AwaitCommon.*|(Mutex::)?Unlock.*|(Mutex::)?UnlockSlow.*|(Mutex::)?ReaderUnlock.*|"
    "(MutexLock::)?~MutexLock.*|(SpinLock::)?Unlock.*|(SpinLock::)?SlowUnlock.*|"
    "(SpinLockHolder::)?~SpinLockHolder.*";

void pt_legacy_drop_frames(pt_builder *b, pt_legacy_kind kind)
{
    static const char *const drop[] = {cpu_drop, heap_drop, lock_drop};
    pt_provenance *const p = pt_builder_provenance(b);
    p->drop_frames = pt_builder_text(b, drop[kind]).v;
    if (kind == PT_LEGACY_HEAP) p->keep_frames = pt_builder_text(b, heap_keep).v;
}

/* ---- Mappings ---- */

typedef struct {
    pt_builder *b;
    uint32_t count;
    uint32_t *by_start; /* rows of mappings, ascending by start */
    bool overlap;
    bool may_extend; /* some mapping has an offset, and the list is short enough */
} regions;

static pt_mapping *mapping_at(const regions *g, uint32_t i)
{
    return pt_builder_mapping_at(g->b, (pt_mapping_id){i});
}

static int compare_start(const void *a, const void *b, void *context)
{
    const pt_mapping *const x = mapping_at(context, *(const uint32_t *)a),
                            *const y = mapping_at(context, *(const uint32_t *)b);
    return (x->start > y->start) - (x->start < y->start);
}

static void order_regions(regions *g)
{
    qsort_r(g->by_start, g->count, sizeof *g->by_start, compare_start, g);
    g->overlap = false;
    for (uint32_t i = 1; i < g->count; i++)
        g->overlap |=
            mapping_at(g, g->by_start[i - 1])->limit > mapping_at(g, g->by_start[i])->start;
}

static regions regions_of(pt_builder *b)
{
    regions g = {.b = b, .count = pt_builder_mapping_count(b)};
    g.by_start = pt_alloc(g.count + 1, sizeof *g.by_start);
    for (uint32_t i = 0; i < g.count; i++) {
        g.by_start[i] = i;
        g.may_extend |= mapping_at(&g, i)->file_offset != 0;
    }
    if (g.count > SLOW_MAPPINGS_MAX) g.may_extend = false;
    order_regions(&g);
    return g;
}

static bool covers_address(const pt_mapping *m, uint64_t address)
{
    return m->start <= address && address < m->limit;
}

static uint32_t find_region(const regions *g, uint64_t address)
{
    if (g->overlap && g->count <= SLOW_MAPPINGS_MAX) {
        for (uint32_t i = 0; i < g->count; i++) {
            if (covers_address(mapping_at(g, i), address)) return i;
        }
        return PT_NONE;
    }
    const size_t after =
        PT_FIRST_WHERE(i, g->count, mapping_at(g, g->by_start[i])->start > address);
    return after > 0 && covers_address(mapping_at(g, g->by_start[after - 1]), address)
               ? g->by_start[after - 1]
               : PT_NONE;
}

/* Finds a mapping whose first part would cover the address, and extends the mapping to this part,
 * which old profilers did not list (remapMappingIDs of google/pprof). */
static uint32_t extend_region(regions *g, uint64_t address)
{
    for (uint32_t i = 0; g->may_extend && i < g->count; i++) {
        pt_mapping *const m = mapping_at(g, i);
        if (m->file_offset == 0 || m->file_offset > m->start ||
            address < m->start - m->file_offset || address >= m->start)
            continue;
        m->start -= m->file_offset;
        m->file_offset = 0;
        order_regions(g);
        return i;
    }
    return PT_NONE;
}

static void add_locations(pt_legacy *l)
{
    regions g = regions_of(l->b);
    for (size_t i = 0; i < l->location.count; i++) {
        const pt_legacy_location *const from = &l->location.items[i];
        uint32_t mapping = from->call == 0 ? PT_NONE : find_region(&g, from->call);
        if (mapping == PT_NONE && from->call != 0) {
            mapping = extend_region(&g, from->call);
            /* For an address without a mapping, google/pprof adds a mapping of all addresses. No
             * later address then needs an extended mapping. */
            if (mapping == PT_NONE) g.may_extend = false;
        }
        /* Without hooks->annotate a return address 0 becomes UINT64_MAX, as in google/pprof. */
        const bool wrapped = from->is_return && from->call == UINT64_MAX && !l->hooks->annotate;
        const pt_location location = {.mapping = mapping,
                                      .address = from->call + (wrapped ? 0 : from->is_return),
                                      .flags = from->is_return && !wrapped ? PT_LOCATION_RETURN_ADDR
                                                                           : 0};
        const pt_line line = {.function = from->function, .line = from->line};
        pt_builder_append_location(l->b, &location, &line, from->function != PT_NONE);
    }
    free(g.by_start);
}

pt_status pt_malformed_lines(const pt_builder *b, uint64_t count, uint64_t first, pt_error *reterr)
{
    const pt_status status = pt_builder_status(b, reterr);
    if (status != PT_OK || count == 0) return status;
    return pt_error_set(reterr, PT_ERR_DAMAGED,
                        "%" PRIu64 " line%s not understood, the first at byte %" PRIu64 "; kept %s",
                        count, count == 1 ? " is" : "s are", first,
                        pt_count_noun(pt_builder_sample_count(b), "samples").text);
}

pt_status pt_legacy_finish(pt_legacy *l, pt_reader *r, bool at_maps, pt_error *reterr)
{
    pt_span line;
    while (!at_maps && pt_span_line(r, &line))
        at_maps = pt_span_is_maps(line);
    if (at_maps) pt_procmaps_read(r, l->b, l->hooks->diag);
    add_locations(l);
    return pt_malformed_lines(l->b, l->malformed, l->first_malformed, reterr);
}

/* ---- Writing ---- */

uint64_t pt_legacy_put_stack(pt_out *out, const pt_profile *p, uint32_t stack, int digits)
{
    uint64_t nameless = 0;
    const uint32_t *const frame = pt_stack_frames(p, stack);
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++) {
        const uint64_t address = p->location->address[frame[i]];
        const bool is_return = p->location->flags[frame[i]] & PT_LOCATION_RETURN_ADDR;
        if (address == 0)
            nameless++;
        else
            pt_outf(out, " 0x%0*" PRIx64, digits, address + !is_return);
    }
    pt_out_char(out, '\n');
    return nameless;
}
