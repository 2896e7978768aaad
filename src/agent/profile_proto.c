/* profile_proto.c: writes the running session's journal as a profile.proto (google/pprof,
 * proto/profile.proto), with the additions of formats/pprof_facts.c and pprof_write.c: why stacks
 * ended, as the label stack_end, and numbers about the session (pt_profile_facts), as a comment.
 *
 *   sample    stack of location numbers | count, nanoseconds | stack_end unless it is complete
 *   mapping   all that ever were, in the order of the journal; numbers begin with 1
 *   location  address (of the call, not after it) | mapping; numbered in the order of writing
 *   function  a function of an interpreter; its number is that in the journal
 *   strings   the fixed ones below; then path and build id of each mapping; then name and file of
 *             each function
 *
 * Nothing is sorted or named here: that is the reader's work.
 */
#include "agent/agent.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/plain/ascending.h"
#include "interp/v8.h"
#include "process/path_kind.h"
#include "wire/proto.h"

/* Field numbers of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION };
enum {
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE
};
enum { PROFILE_PERIOD = 12, PROFILE_COMMENT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START_LINE };
enum { MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_FILENAMES, MAPPING_HAS_LINES, MAPPING_HAS_INLINES };

/* The first strings, by number. */
enum {
    S_EMPTY,
    S_SAMPLES,
    S_COUNT,
    S_CPU,
    S_NANOSECONDS,
    S_STACK_END,
    S_MERGE,
    S_UNCERTAIN,
    S_TIER,
    S_TIERS, /* by pt_v8_tier */
    S_ENDS = S_TIERS + PT_V8_TIERS
};
enum { S_COMMENT = S_ENDS + PT_JOURNAL_END_COUNT, S_MAPPINGS };
static const char *const texts[S_TIERS] = {
    [S_EMPTY] = "",      [S_SAMPLES] = "samples",         [S_COUNT] = "count",
    [S_CPU] = "cpu",     [S_NANOSECONDS] = "nanoseconds", [S_STACK_END] = "stack_end",
    [S_MERGE] = "merge", [S_UNCERTAIN] = "uncertain",     [S_TIER] = PT_V8_TIER_KEY,
};

/* A mapping; the list is sorted by start. */
typedef struct {
    uint64_t start, limit;
    uint64_t upto; /* the largest limit of this and all earlier places: a search backwards ends
                    * where it is too low */
    uint32_t epoch_from, epoch_to;
    uint32_t id; /* 1 + its place in the journal */
} place;

/* A slot of the open-addressed table of locations. */
typedef struct {
    uint64_t address;
    uint32_t mapping;
    uint32_t id; /* 0 = free */
} location;

enum { LOCATIONS_FIRST = 1024 };

static struct {
    place *places;
    size_t place_count, place_bytes;
    location *table;
    size_t cap;
    uint32_t locations;
    /* The mapping of frames of each language; 0 = there are none. */
    uint32_t language[PT_JOURNAL_LANGUAGES];
    const pt_journal_code **codes; /* by number; NULL: there are none */
    uint32_t code_count;
    bool failed; /* out of memory */
} w;

/* ---- which mapping ---- */

static void count_place(const pt_journal_map *map, void *arg)
{
    (void)map;
    ++*(size_t *)arg;
}

/* Inserts a place in ascending order; the journal has nearly all mappings in that order. */
static void add_place(const pt_journal_map *map, void *arg)
{
    (void)arg;
    const uint32_t id = (uint32_t)++w.place_count;
    size_t at = id - 1;
    for (; at > 0 && w.places[at - 1].start > map->start; at--)
        w.places[at] = w.places[at - 1];
    w.places[at] = (place){.start = map->start,
                           .limit = map->limit,
                           .epoch_from = map->epoch_from,
                           .epoch_to = map->epoch_to,
                           .id = id};
}

static bool collect_places(void)
{
    size_t count = 0;
    pt_maps_each(count_place, &count);
    w.place_bytes = (count + 1) * sizeof w.places[0];
    w.places = pt_agent_map(w.place_bytes);
    if (w.places == NULL) return false;
    pt_maps_each(add_place, NULL);
    uint64_t upto = 0;
    for (size_t i = 0; i < w.place_count; i++) {
        if (w.places[i].limit > upto) upto = w.places[i].limit;
        w.places[i].upto = upto;
    }
    return true;
}

/* The mapping of an address in an epoch; 0 if no known mapping was there. */
static uint32_t mapping_of(uint64_t addr, uint16_t epoch)
{
    const size_t after = PT_FIRST_AFTER(w.places, w.place_count, start, addr);
    for (size_t i = after; i-- > 0 && w.places[i].upto > addr;) {
        const place *const p = &w.places[i];
        if (addr < p->limit && p->epoch_from <= epoch && epoch < p->epoch_to) return p->id;
    }
    return 0;
}

/* ---- locations ---- */

static location *slot_of(location *table, size_t cap, uint64_t address, uint32_t mapping)
{
    const uint64_t hash = (address ^ (uint64_t)mapping << 48) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = (size_t)(hash >> 20) & (cap - 1);; i = (i + 1) & (cap - 1)) {
        location *const at = &table[i];
        if (at->id == 0 || (at->address == address && at->mapping == mapping)) return at;
    }
}

static bool table_has_room(void)
{
    if ((size_t)w.locations * 4 < w.cap * 3) return true;
    const size_t cap = w.cap == 0 ? LOCATIONS_FIRST : w.cap * 2;
    location *const table = pt_agent_map(cap * sizeof table[0]);
    if (table == NULL) return false;
    for (size_t i = 0; i < w.cap; i++) {
        const location *const old = &w.table[i];
        if (old->id != 0) *slot_of(table, cap, old->address, old->mapping) = *old;
    }
    pt_agent_unmap(w.table, w.cap * sizeof w.table[0]);
    w.table = table;
    w.cap = cap;
    return true;
}

/* Returns the number of a location; a new location is written at once. Returns 0 if there is no
 * memory. */
static uint32_t location_of(uint64_t address, uint32_t mapping)
{
    if (!table_has_room()) return 0;
    location *const at = slot_of(w.table, w.cap, address, mapping);
    if (at->id != 0) return at->id;
    *at = (location){.address = address, .mapping = mapping, .id = ++w.locations};
    PT_OUTPUT_PUT(buf, {
        const size_t opened = pt_proto_open(&buf, PROFILE_LOCATION);
        pt_proto_uint(&buf, LOCATION_ID, at->id);
        pt_proto_uint_nonzero(&buf, LOCATION_MAPPING, mapping);
        pt_proto_uint_nonzero(&buf, LOCATION_ADDRESS, address);
        pt_proto_close(&buf, opened);
    });
    return at->id;
}

/* ---- functions of interpreters ---- */

static void count_code(const pt_journal_code *code, void *arg)
{
    uint32_t *const most = arg;
    w.language[code->language] = 1;
    if (code->number > *most) *most = code->number;
}

static void collect_code(const pt_journal_code *code, void *arg)
{
    (void)arg;
    w.codes[code->number] = code;
}

static bool collect_codes(void)
{
    uint32_t most = 0;
    pt_codes_each(count_code, &most);
    if (most == 0) return true;
    w.codes = pt_agent_map((most + 1) * sizeof w.codes[0]);
    if (w.codes == NULL) return false;
    w.code_count = most + 1;
    pt_codes_each(collect_code, NULL);
    uint32_t id = (uint32_t)w.place_count;
    for (unsigned i = 0; i < PT_JOURNAL_LANGUAGES; i++)
        if (w.language[i] != 0) w.language[i] = ++id;
    return true;
}

static const pt_journal_code *code_of(uint64_t word)
{
    const uint32_t number = PT_JOURNAL_CODE_NUMBER(word);
    return number < w.code_count ? w.codes[number] : NULL;
}

/* The tier of JavaScript's innermost function in a stack. */
static uint32_t tier_of(const uint64_t *pcs, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) {
        const pt_journal_code *const code = code_of(pcs[i]);
        const uint32_t tier = (uint32_t)PT_JOURNAL_CODE_PLACE(pcs[i]);
        if ((pcs[i] & PT_JOURNAL_CODE_FRAME) == 0 || code == NULL ||
            code->language != PT_JOURNAL_LANGUAGE_JAVASCRIPT)
            continue;
        return tier < PT_V8_TIERS ? tier : PT_V8_NO_TIER;
    }
    return PT_V8_NO_TIER;
}

static const char *tier_text(uint32_t tier)
{
    return pt_v8_tier_names[tier] != NULL ? pt_v8_tier_names[tier] : "";
}

/* The location of a frame of an interpreter, with the frame's word in place of an address. A frame
 * whose code has no record in the journal, for lack of room, has no function. */
static uint32_t code_location_of(uint64_t word)
{
    const uint32_t before = w.locations;
    const uint32_t number = PT_JOURNAL_CODE_NUMBER(word);
    const pt_journal_code *const code = code_of(word);
    const unsigned language = code != NULL ? code->language : PT_JOURNAL_LANGUAGE_PYTHON;
    const uint32_t mapping = w.language[language];
    const pt_python_layout *const layout = code != NULL && language == PT_JOURNAL_LANGUAGE_PYTHON
                                               ? pt_python_layout_of(3, code->minor)
                                               : NULL;
    if (language == PT_JOURNAL_LANGUAGE_JAVASCRIPT) /* the place is a tier, which is a label */
        word = PT_JOURNAL_CODE_FRAME | (uint64_t)number << 32;
    if (!table_has_room()) return 0;
    location *const at = slot_of(w.table, w.cap, word, mapping);
    if (at->id != 0) return at->id;
    *at = (location){.address = word, .mapping = mapping, .id = before + 1};
    w.locations++;
    int32_t line = code != NULL ? code->first_line : 0;
    if (pt_mapped_languages[language].has_lines && PT_JOURNAL_CODE_PLACE(word) > 0)
        line = PT_JOURNAL_CODE_PLACE(word);
    if (layout != NULL)
        line = pt_python_line(layout->lines,
                              (const uint8_t *)(code + 1) + code->name_bytes + code->file_bytes,
                              code->lines_bytes, code->first_line, PT_JOURNAL_CODE_PLACE(word));
    PT_OUTPUT_PUT(buf, {
        const size_t opened = pt_proto_open(&buf, PROFILE_LOCATION);
        pt_proto_uint(&buf, LOCATION_ID, at->id);
        pt_proto_uint_nonzero(&buf, LOCATION_MAPPING, mapping);
        if (code != NULL) {
            const size_t line_opened = pt_proto_open(&buf, LOCATION_LINE);
            pt_proto_uint(&buf, LINE_FUNCTION, number);
            pt_proto_uint_nonzero(&buf, LINE_LINE, (uint64_t)line);
            pt_proto_close(&buf, line_opened);
        }
        pt_proto_close(&buf, opened);
    });
    return at->id;
}

/* Writes a function. strings: the number of the last string so far; each function adds two. */
static void put_function(const pt_journal_code *code, void *arg)
{
    uint64_t *const strings = arg;
    PT_OUTPUT_PUT(buf, {
        const size_t opened = pt_proto_open(&buf, PROFILE_FUNCTION);
        pt_proto_uint(&buf, FUNCTION_ID, code->number);
        pt_proto_uint(&buf, FUNCTION_NAME, *strings + 1);
        pt_proto_uint(&buf, FUNCTION_SYSTEM_NAME, *strings + 1);
        pt_proto_uint(&buf, FUNCTION_FILE, *strings + 2);
        pt_proto_uint_nonzero(&buf, FUNCTION_START_LINE, (uint64_t)code->first_line);
        pt_proto_close(&buf, opened);
    });
    *strings += 2;
}

static void put_function_texts(const pt_journal_code *code, void *arg)
{
    (void)arg;
    const char *const text = (const char *)(code + 1);
    PT_OUTPUT_PUT(buf, {
        pt_proto_bytes(&buf, PROFILE_STRING, text, code->name_bytes);
        pt_proto_bytes(&buf, PROFILE_STRING, text + code->name_bytes, code->file_bytes);
    });
}

static void put_language(uint32_t id, uint64_t name)
{
    PT_OUTPUT_PUT(buf, {
        const size_t opened = pt_proto_open(&buf, PROFILE_MAPPING);
        pt_proto_uint(&buf, MAPPING_ID, id);
        pt_proto_uint(&buf, MAPPING_FILE, name);
        for (uint32_t has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINES; has++)
            pt_proto_uint(&buf, has, 1);
        pt_proto_close(&buf, opened);
    });
}

static void put_codes(void)
{
    if (w.code_count == 0) return;
    uint64_t strings = S_MAPPINGS - 1 + 2 * w.place_count;
    for (unsigned i = 0; i < PT_JOURNAL_LANGUAGES; i++)
        if (w.language[i] != 0) put_language(w.language[i], ++strings);
    pt_codes_each(put_function, &strings);
}

static void put_code_texts(void)
{
    for (unsigned i = 0; i < PT_JOURNAL_LANGUAGES; i++)
        if (w.language[i] != 0)
            PT_OUTPUT_PUT(buf, pt_proto_bytes(&buf, PROFILE_STRING, pt_mapped_languages[i].mapping,
                                              strlen(pt_mapped_languages[i].mapping)));
    pt_codes_each(put_function_texts, NULL);
}

/* ---- messages ---- */

static void put_label(pt_wire_buf *buf, unsigned key, unsigned text)
{
    const size_t opened = pt_proto_open(buf, SAMPLE_LABEL);
    pt_proto_uint(buf, LABEL_KEY, key);
    pt_proto_uint(buf, LABEL_STR, text);
    pt_proto_close(buf, opened);
}

static void put_end(pt_wire_buf *buf, unsigned end)
{
    if (end == PT_JOURNAL_END_ROOT || end >= PT_JOURNAL_END_COUNT) return;
    put_label(buf, S_STACK_END, S_ENDS + end);
}

static void put_sample(const pt_journal_stack *stack, void *arg)
{
    (void)arg;
    static PT_FAR uint64_t ids[PT_JOURNAL_CHAIN_MAX];
    const uint64_t *const pcs = (const uint64_t *)(stack + 1);
    for (uint32_t i = 0; i < stack->depth; i++) {
        const uint64_t address = pcs[i] - (i > 0 && pcs[i] > 0); /* of the call, not after it */
        ids[i] = (pcs[i] & PT_JOURNAL_CODE_FRAME) != 0
                     ? code_location_of(pcs[i])
                     : location_of(address, mapping_of(address, stack->epoch));
        if (ids[i] == 0) w.failed = true;
    }
    if (w.failed) return;
    const uint64_t values[] = {stack->count, stack->count * pt_agent.period_ns};
    PT_OUTPUT_PUT(buf, {
        const size_t opened = pt_proto_open(&buf, PROFILE_SAMPLE);
        pt_proto_packed(&buf, SAMPLE_LOCATION, ids, stack->depth);
        pt_proto_packed(&buf, SAMPLE_VALUE, values, 2);
        put_end(&buf, stack->end);
        if (stack->merged == PT_JOURNAL_MERGED_UNCERTAIN) put_label(&buf, S_MERGE, S_UNCERTAIN);
        const uint32_t tier = tier_of(pcs, stack->depth);
        if (tier != PT_V8_NO_TIER) put_label(&buf, S_TIER, S_TIERS + tier);
        pt_proto_close(&buf, opened);
    });
}

static pt_mapped named_as(const pt_journal_map *map)
{
    const char *const path = (const char *)(map + 1) + map->build_id_bytes;
    return pt_mapped_as(path, map->path_bytes, map->start, map->file_offset);
}

static void put_mapping(const pt_journal_map *map, void *arg)
{
    uint32_t *const id = arg;
    const pt_mapped as = named_as(map);
    ++*id;
    PT_OUTPUT_PUT(buf, {
        const size_t opened = pt_proto_open(&buf, PROFILE_MAPPING);
        pt_proto_uint(&buf, MAPPING_ID, *id);
        pt_proto_uint_nonzero(&buf, MAPPING_START, map->start);
        pt_proto_uint_nonzero(&buf, MAPPING_LIMIT, map->limit);
        pt_proto_uint_nonzero(&buf, MAPPING_OFFSET, as.file_offset);
        pt_proto_uint(&buf, MAPPING_FILE, S_MAPPINGS + 2 * (*id - 1));
        pt_proto_uint(&buf, MAPPING_BUILD, S_MAPPINGS + 2 * (*id - 1) + 1);
        pt_proto_close(&buf, opened);
    });
}

static void put_mapping_texts(const pt_journal_map *map, void *arg)
{
    (void)arg;
    const uint8_t *const id = (const uint8_t *)(map + 1);
    const pt_mapped as = named_as(map);
    char hex[2 * 64 + 1] = "";
    for (size_t i = 0; i < map->build_id_bytes && i < 64; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    PT_OUTPUT_PUT(buf, {
        pt_proto_bytes(&buf, PROFILE_STRING, as.name,
                       as.name_bytes < PATH_MAX ? as.name_bytes : PATH_MAX);
        pt_proto_bytes(&buf, PROFILE_STRING, hex, strlen(hex));
    });
}

static void put_type(uint32_t field, unsigned type, unsigned unit)
{
    PT_OUTPUT_PUT(buf, {
        const size_t opened = pt_proto_open(&buf, field);
        pt_proto_uint(&buf, TYPE_TYPE, type);
        pt_proto_uint(&buf, TYPE_UNIT, unit);
        pt_proto_close(&buf, opened);
    });
}

static void put_facts(void)
{
    const pt_journal_header *const header = pt_agent.journal.header;
    char facts[PT_PROFILE_FACTS_BYTES], text[PT_PROFILE_FACTS_BYTES + 64];
    const uint64_t micro_hz = UINT64_C(1000000000000000) / header->period_ns;
    pt_profile_facts(facts);
    snprintf(text, sizeof text, "pitot: true_hz=%llu.%06llu %s",
             (unsigned long long)(micro_hz / 1000000), (unsigned long long)(micro_hz % 1000000),
             facts);
    PT_OUTPUT_PUT(buf, pt_proto_bytes(&buf, PROFILE_STRING, text, strlen(text)));
}

static void put_strings(void)
{
    for (size_t i = 0; i < S_COMMENT; i++) {
        const char *const text = i < S_TIERS  ? texts[i]
                                 : i < S_ENDS ? tier_text(i - S_TIERS)
                                              : pt_profile_ends[i - S_ENDS];
        PT_OUTPUT_PUT(buf, pt_proto_bytes(&buf, PROFILE_STRING, text, strlen(text)));
    }
    put_facts();
    pt_maps_each(put_mapping_texts, NULL);
    put_code_texts();
}

static void put_numbers(void)
{
    const pt_journal_header *const header = pt_agent.journal.header;
    PT_OUTPUT_PUT(buf, {
        pt_proto_uint_nonzero(&buf, PROFILE_TIME, header->start_realtime_ns);
        pt_proto_uint_nonzero(&buf, PROFILE_DURATION,
                              header->last_monotonic_ns - header->start_monotonic_ns);
        pt_proto_uint_nonzero(&buf, PROFILE_PERIOD, header->period_ns);
        pt_proto_uint(&buf, PROFILE_COMMENT, S_COMMENT);
    });
}

bool pt_profile_put_proto(void)
{
    uint32_t mappings = 0;
    memset(&w, 0, sizeof w);
    w.failed = !collect_places() || !collect_codes();
    put_type(PROFILE_SAMPLE_TYPE, S_SAMPLES, S_COUNT);
    put_type(PROFILE_SAMPLE_TYPE, S_CPU, S_NANOSECONDS);
    put_type(PROFILE_PERIOD_TYPE, S_CPU, S_NANOSECONDS);
    if (!w.failed) pt_fold_each(put_sample, NULL);
    pt_maps_each(put_mapping, &mappings);
    put_codes();
    put_numbers();
    put_strings();
    pt_agent_unmap(w.table, w.cap * sizeof w.table[0]);
    pt_agent_unmap(w.places, w.place_bytes);
    pt_agent_unmap(w.codes, w.code_count * sizeof w.codes[0]);
    return !w.failed;
}
