/* private.c: see private.h. */
#include "transform/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "interp/v8.h"
#include "model/builder.h"
#include "transform/frames.h"

typedef struct {
    const pt_profile *p;
    const char *keep_labels;
    pt_builder *b; /* of the strings of the result */
    uint32_t
        *text;  /* of each string of p, 1 + the string without private parts; 0 = not made yet */
    bool *used; /* strings of the result */
    size_t used_count;
} cleaning;

/* Folders of the system: a path below such a folder keeps the folder's name, so that the system's
 * files differ from the user's. */
static const char *const system_folder[] = {
    "/usr/include", "/usr/lib64", "/usr/lib", "/usr/bin", "/usr/sbin",
    "/usr/share",   "/lib64",     "/lib",     "/bin",     "/sbin",
};

/* Keys of labels: the keys that pitot gives to samples, and google/pprof's key of a base's
 * samples. */
static const char *const kept_label[] = {
    "pid",   "tid",   "cpu",    "comm",     "time",    "wait",
    "waker", "merge", "marker", "category", "counter", "pprof::base",
};

/* ---- Texts ---- */

/* The parts of a path that stay; the caller frees the text. */
static char *clean_path(const char *path)
{
    const size_t bytes = strcspn(path, "?#"); /* the query of an address is also removed */
    const bool is_address = strstr(path, "://") != NULL;
    PT_FREE char *whole = is_address ? pt_strndup(path, bytes) : pt_strdup(path);
    const char *const backslash = strrchr(whole, '\\');
    const char *const name = backslash != NULL ? backslash + 1 : pt_base_name(whole);
    for (size_t i = 0; i < PT_COUNT(system_folder); i++) {
        const char *const folder = system_folder[i];
        const size_t length = strlen(folder);
        if (pt_begins(whole, folder) && whole[length] == '/') return pt_strf("%s/%s", folder, name);
    }
    return pt_strdup(name);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_.-+)]", c) != NULL);
}

/* The length of an address at the beginning of the text, up to a blank, a quote or the end of the
 * text; closing brackets at the end of the address are not a part of it. 0 if there is no
 * address. */
static size_t address_length(const char *text)
{
    size_t bytes = 0;
    while (is_word(text[bytes]))
        bytes++;
    if (bytes == 0 || !pt_begins(text + bytes, "://")) return 0;
    bytes = strcspn(text, " \t\n\"'`");
    while (strchr(")]}>", text[bytes - 1]) != NULL)
        bytes--;
    return bytes;
}

/* The length of an absolute path at the beginning of the text. Its folders may have blanks: the
 * path goes on to the last slash before a quote or a new line. 0 if there is no path. */
static size_t path_length(const char *text)
{
    if (text[0] != '/' && !pt_begins(text, "~/")) return 0;
    const char *const last = memrchr(text, '/', strcspn(text, "\n\"'`"));
    if (last == NULL || last == text) return 0;
    return (size_t)(last - text) + strcspn(last, " \t\n\"'`()[]{}<>,;=|:");
}

/* The text with [address] for addresses, and with the file's name alone for absolute paths; the
 * caller frees the text.
 */
static char *clean_text(const char *text)
{
    pt_buf into = PT_BUF_INIT;
    bool in_word = false;
    for (size_t bytes = 1; *text != '\0'; text += bytes) {
        const size_t address = in_word ? 0 : address_length(text);
        const size_t path = in_word || address > 0 ? 0 : path_length(text);
        bytes = address > 0 ? address : path > 0 ? path : 1;
        in_word = is_word(text[bytes - 1]);
        if (address > 0) {
            pt_put_text(&into, "[address]");
        } else if (path > 0) {
            PT_FREE char *whole = pt_strndup(text, bytes);
            PT_FREE char *name = clean_path(whole);
            pt_put_text(&into, name);
        } else {
            pt_put_u8(&into, (uint8_t)*text);
        }
    }
    return pt_buf_take(&into, NULL);
}

/* The id of a text; the caller's text is freed. */
static uint32_t take_text(cleaning *c, char *text)
{
    const uint32_t id = pt_builder_text(c->b, text != NULL ? text : "").v;
    free(text);
    return id;
}

static uint32_t path_of(cleaning *c, uint32_t string)
{
    return string == 0 ? 0 : take_text(c, clean_path(pt_text(c->p, string)));
}

static uint32_t same_of(cleaning *c, uint32_t string)
{
    return pt_builder_string(c->b, pt_text(c->p, string), pt_text_bytes(c->p, string)).v;
}

static uint32_t text_of(cleaning *c, uint32_t string)
{
    if (c->text[string] == 0) c->text[string] = 1 + take_text(c, clean_text(pt_text(c->p, string)));
    return c->text[string] - 1;
}

/* ---- Tables ---- */

static pt_events *clean_events(cleaning *c)
{
    const pt_events *const old = c->p->event;
    pt_events *const events = pt_table_new(sizeof *events, old->t.count);
    pt_event *const row = pt_alloc((size_t)old->t.count + 1, sizeof *row);
    for (uint32_t i = 0; i < old->t.count; i++) {
        row[i] = old->row[i];
        row[i].type = same_of(c, row[i].type);
        row[i].unit = same_of(c, row[i].unit);
    }
    events->row = row;
    return events;
}

static pt_mappings *clean_mappings(cleaning *c)
{
    const pt_mappings *const old = c->p->mapping;
    pt_mappings *const mappings = pt_mappings_new(old->t.count);
    for (uint32_t i = 0; i < old->t.count; i++) {
        pt_mapping *const m = (pt_mapping *)&mappings->row[i];
        *m = old->row[i];
        m->file = path_of(c, m->file);
        m->build_id = text_of(c, m->build_id);
        m->foreign_id = 0;
    }
    return mappings;
}

static pt_functions *clean_functions(cleaning *c)
{
    const pt_functions *const old = c->p->function;
    const uint32_t count = old->t.count;
    pt_functions *const table = pt_table_new(sizeof *table, count);
    uint32_t *const name = pt_alloc((size_t)count + 1, sizeof *name);
    uint32_t *const system_name = pt_alloc((size_t)count + 1, sizeof *system_name);
    uint32_t *const file = pt_alloc((size_t)count + 1, sizeof *file);
    for (uint32_t i = 0; i < count; i++) {
        name[i] = text_of(c, old->name[i]);
        system_name[i] = text_of(c, old->system_name[i]);
        file[i] = path_of(c, old->file[i]);
    }
    table->name = name;
    table->system_name = system_name;
    table->file = file;
    table->start_line = pt_column_copy(old->start_line, count, sizeof *old->start_line);
    table->source_id = pt_column_copy(old->source_id, count, sizeof *old->source_id);
    return table;
}

static bool is_named(const char *keys, const char *key)
{
    const size_t bytes = strlen(key);
    for (const char *at = keys; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        if (length == bytes && memcmp(at, key, bytes) == 0) return true;
        at += length + (at[length] == ',');
    }
    return false;
}

/* Does pitot give the label to samples? Programs have labels of the key "tier", too, with other
 * texts. */
static bool is_own_label(const cleaning *c, const pt_label *label)
{
    const char *const key = pt_text(c->p, label->key), *const text = pt_text(c->p, label->str);
    if (strcmp(key, PT_V8_TIER_KEY) == 0)
        return PT_ANY(t, PT_V8_TIERS,
                      pt_v8_tier_names[t] != NULL && strcmp(text, pt_v8_tier_names[t]) == 0);
    return PT_ANY(k, PT_COUNT(kept_label), strcmp(key, kept_label[k]) == 0);
}

/* The label sets with clean labels. Sets keep their numbers; a set may lose all its labels. */
static pt_label_sets *clean_labels(cleaning *c)
{
    const pt_label_sets *const old = c->p->labels;
    pt_label_sets *const sets = pt_table_new(sizeof *sets, old->t.count);
    uint64_t *const offset = pt_alloc((size_t)old->t.count + 1, sizeof *offset);
    pt_label *const row = pt_alloc(old->offset[old->t.count] + 1, sizeof *row);
    uint64_t count = 0;
    for (uint32_t set = 0; set < old->t.count; set++) {
        for (uint64_t i = old->offset[set]; i < old->offset[set + 1]; i++) {
            pt_label label = old->row[i];
            const bool named = is_named(c->keep_labels, pt_text(c->p, label.key));
            if (!named && !is_own_label(c, &label)) continue;
            label.key = same_of(c, label.key);
            label.str = named ? same_of(c, label.str) : text_of(c, label.str);
            label.unit = named ? same_of(c, label.unit) : text_of(c, label.unit);
            row[count++] = label;
        }
        offset[set + 1] = count;
    }
    sets->offset = offset;
    sets->row = row;
    return sets;
}

/* The samples with clean names of processes; NULL if samples have no such names. */
static pt_samples *clean_samples(cleaning *c)
{
    const pt_samples *const old = c->p->sample;
    if (old->comm == NULL) return NULL;
    PT_FREE uint32_t *rows = pt_alloc_numbers(old->t.count);
    pt_samples *const samples = pt_samples_pick(old, rows, old->t.count);
    for (uint32_t i = 0; i < old->t.count; i++)
        ((uint32_t *)samples->comm)[i] = text_of(c, old->comm[i]);
    return samples;
}

static pt_source *clean_source(cleaning *c)
{
    const pt_provenance *const old = pt_profile_provenance(c->p);
    pt_source *const source = pt_table_new(sizeof *source, 1);
    source->row = *old;
    pt_provenance *const row = &source->row;
    row->tool = same_of(c, old->tool);
    row->source_format = same_of(c, old->source_format);
    row->period_type = same_of(c, old->period_type);
    row->period_unit = same_of(c, old->period_unit);
    row->default_event = same_of(c, old->default_event);
    row->host = row->os = row->cpu_model = row->command_line = 0;
    row->doc_url = row->drop_frames = row->keep_frames = 0;
    row->comments = NULL;
    row->comment_count = 0;
    return source;
}

static pt_strings *take_strings(const pt_profile *of)
{
    const pt_strings *const old = of->string;
    pt_strings *const strings = pt_table_new(sizeof *strings, old->t.count);
    strings->offset = pt_column_copy(old->offset, (size_t)old->t.count + 1, sizeof *old->offset);
    strings->bytes = pt_column_copy(old->bytes, old->offset[old->t.count], 1);
    return strings;
}

pt_status pt_without_private(const pt_profile *profile, const char *keep_labels,
                             const pt_profile **ret_profile, pt_error *reterr)
{
    cleaning c = {.p = profile,
                  .keep_labels = keep_labels,
                  .b = pt_builder_new(),
                  .text = pt_alloc((size_t)profile->string->t.count + 1, sizeof *c.text)};
    pt_profile_tables tables = {
        .event = clean_events(&c),
        .mapping = clean_mappings(&c),
        .function = clean_functions(&c),
        .labels = clean_labels(&c),
        .sample = clean_samples(&c),
        .extra = pt_table_new(sizeof(pt_extras), 0),
        .unknown = pt_table_new(sizeof(pt_unknowns), 0),
        .source = clean_source(&c),
    };
    const pt_profile *texts = NULL;
    const pt_status status = pt_builder_freeze(c.b, &texts, reterr);
    if (status == PT_OK) tables.string = take_strings(texts);
    const pt_profile *const clean = pt_profile_derive(profile, &tables);
    free(c.text);
    pt_profile_unref(texts);
    if (status == PT_OK)
        *ret_profile = clean;
    else
        pt_profile_unref(clean);
    return status;
}
