/* read.c: profiles by the Perl pprof's rules. All records and frames are kept as the file has them;
 * only return addresses are moved back by a byte, so that they point into the call. Files in
 * formats that the original does not know (profile.proto, gmon, ...) are read by load, as by every
 * other command. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/reader.h"
#include "base/text.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "personality/perl/perl.h"

#define DEPTH_MAX 65536

static bool say_failure(const pt_error *error)
{
    pt_fail(error);
    return false;
}

/* ---- Header lines ---- */

/* Is the line "--- NAME", with any number of spaces between? */
static bool is_marker(const char *line, size_t length, const char *name)
{
    if (!pt_begins_n(line, length, "---")) return false;
    size_t at = 3;
    while (at < length && line[at] == ' ')
        at++;
    return pt_begins_n(line + at, length - at, name);
}

/* Reads the first line that is no command (a line that begins with %, such as %warn). NULL if
 * binary data follow. */
static const char *header_line(pt_reader *r, size_t *ret_length, bool quiet)
{
    *ret_length = 0;
    if (pt_reader_left(r) == 0 || *r->pos < ' ' || *r->pos > '~') return NULL;
    for (;;) {
        const char *line = pt_read_line(r, ret_length);
        if (line == NULL || !pt_begins_n(line, *ret_length, "%")) return line;
        if (quiet) continue;
        if (pt_begins_n(line, *ret_length, "%warn "))
            pt_perl_say("WARNING: %.*s\n", (int)*ret_length - 6, line + 6);
        else
            pt_perl_say("ignoring an unknown command in the profile: %.*s\n", (int)*ret_length,
                        line);
    }
}

bool pt_perl_is_symbolized(const char *path)
{
    PT_AUTO(pt_blob) blob = PT_BLOB_INIT;
    if (pt_path_look(path) != PT_PATH_OTHER || access(path, R_OK) != 0 ||
        pt_file_read(path, PT_FILE_EMPTY_OK, UINT64_MAX, &blob, NULL) != PT_OK)
        return false;
    pt_reader r;
    size_t length;
    pt_reader_init(&r, blob.data, blob.size, NULL);
    const char *line = header_line(&r, &length, true);
    return line != NULL && is_marker(line, length, "symbol");
}

/* ---- Symbols in the file ---- */

static bool is_lower_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Reads a line "0x4011ab main--helper": the names of an address. */
static bool read_symbol(pt_perl_session *s, const char *line, size_t length)
{
    if (!pt_begins_n(line, length, "0x")) return false;
    size_t at = 2;
    uint64_t address = 0;
    for (; at < length && is_lower_hex(line[at]); at++)
        address = address * 16 + (uint64_t)(line[at] <= '9' ? line[at] - '0' : line[at] - 'a' + 10);
    const size_t digits_end = at;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    if (digits_end == 2 || at == digits_end || at >= length) return false;
    const uint32_t id = pt_perl_address(s, address);
    s->given_names =
        pt_grow(s->given_names, &s->given_names_cap, (size_t)id + 1, sizeof *s->given_names);
    while (s->given_names_count <= id)
        s->given_names[s->given_names_count++] = PT_NONE;
    s->given_names[id] = pt_perl_word(s, line + at, length - at);
    return true;
}

static void read_symbols(pt_perl_session *s, pt_reader *r)
{
    size_t length;
    for (const char *line; (line = pt_read_line(r, &length)) != NULL;) {
        if (pt_begins_n(line, length, "---")) return;
        if (read_symbol(s, line, length)) continue;
        if (!pt_begins_n(line, length, "binary=")) continue;
        PT_FREE char *program = pt_strndup(line + 7, length - 7);
        if (s->program != NULL && strcmp(s->program, "(unknown)") != 0 &&
            strcmp(s->program, program) != 0)
            pt_perl_say("Warning: the profile is of the binary '%s', not of '%s'\n", program,
                        s->program);
        free(s->program);
        s->program = pt_strdup(program);
    }
}

/* ---- Binary CPU profiles ---- */

/* Finds the width and byte order of the file's words. The first word is 0 and the second a small
 * number, so the places of zero bytes show both. */
static bool find_words(pt_perl_session *s, pt_reader *r)
{
    static const uint8_t zeros[8];
    if (pt_reader_left(r) < 16) return false;
    const uint8_t *p = r->pos;
    const bool wide = memcmp(p, zeros, 8) == 0;
    if (!wide && memcmp(p, zeros, 4) != 0) return false;
    const uint8_t *second = p + (wide ? 8 : 4);
    const size_t half = wide ? 4 : 2;
    const bool big = memcmp(second + half, zeros, half) != 0;
    if (big && memcmp(second, zeros, half) != 0) return false;
    pt_reader_set_word(r, wide ? 8 : 4);
    pt_reader_set_order(r, big);
    s->address_digits = wide ? 16 : 8;
    return true;
}

typedef PT_VECTOR(uint32_t) frame_list;

static bool read_records(pt_perl_session *s, pt_reader *r, pt_perl_profile *profile,
                         const char *path)
{
    frame_list frames = {0};
    bool ok = true;
    while (pt_reader_left(r) >= 2u * r->word_bytes) {
        const uint64_t at = pt_reader_offset(r);
        const uint64_t count = pt_read_word(r);
        const uint64_t depth = pt_read_word(r);
        if (depth > DEPTH_MAX) {
            pt_say("%s: the record at byte %" PRIu64 " claims %" PRIu64
                   " frames; the file is damaged there",
                   path, at, depth);
            ok = false;
            break;
        }
        const size_t whole = pt_reader_left(r) / r->word_bytes;
        if (depth > whole) {
            pt_say("%s: the record at byte %" PRIu64 " claims %" PRIu64
                   " frames, %zu are left; kept what is before it",
                   path, at, depth, whole);
            s->context->loaded.damaged_count++;
            break;
        }
        frames.count = 0;
        bool is_trailer = false;
        PT_GROW(frames, (size_t)depth + 1);
        for (uint64_t i = 0; i < depth; i++) {
            const uint64_t pc = pt_read_word(r);
            if (i == 0 && pc == 0) is_trailer = true;
            uint64_t address = i > 0 && !s->symbolized ? pc - 1 : pc;
            if (s->address_digits == 8) address &= UINT32_MAX;
            if (!is_trailer) frames.items[frames.count++] = pt_perl_address(s, address);
        }
        if (is_trailer) break;
        pt_perl_profile_add(profile, pt_perl_stack(s, frames.items, frames.count), (double)count);
    }
    free(frames.items);
    return ok;
}

static bool read_cpu(pt_perl_session *s, pt_reader *r, const char *path, bool first,
                     pt_perl_profile *profile)
{
    pt_read_word(r);
    const uint64_t header_words = pt_read_word(r);
    const uint64_t version = pt_read_word(r);
    const uint64_t period = pt_read_word(r);
    const uint64_t limit = (uint64_t)1 << 32;
    if (!pt_reader_ok(r) || version > limit || period > limit || header_words > limit ||
        header_words < 3) {
        pt_say("%s: not a profile, or its header is damaged", path);
        return false;
    }
    for (uint64_t i = 2; i < header_words && pt_reader_ok(r); i++)
        pt_read_word(r);
    if (!pt_reader_ok(r)) return true;
    if (!read_records(s, r, profile, path)) return false;
    if (first && !s->symbolized) pt_perl_libs_parse(s, (const char *)r->pos, pt_reader_left(r));
    return true;
}

/* ---- Everything else that pitot reads ---- */

/* The number of a location's address, which for a return address is the address of the call. A
 * location without an address gets an address that no other location has. Also gives the address
 * its names. */
static uint32_t model_address(pt_perl_session *s, const pt_profile *p, uint32_t location,
                              uint64_t *next_fake)
{
    const uint8_t flags = p->location->flags[location];
    uint64_t address = p->location->address[location];
    if (flags & PT_LOCATION_RETURN_ADDR && address > 0) address--;
    if (address == 0) address = (*next_fake)++;
    const uint32_t id = pt_perl_address(s, address);
    const uint32_t first = p->location->line_first[location];
    const uint32_t end = p->location->line_first[location + 1];
    size_t known;
    pt_perl_names_of(s, id, &known);
    if (known > 0 || first == end) return id;
    PT_FREE pt_perl_name *names = pt_alloc(end - first, sizeof *names);
    for (uint32_t line = end; line-- > first;) {
        const uint32_t function = p->line->function[line];
        const char *name = function != PT_NONE ? pt_text(p, p->function->name[function]) : "??";
        const char *file = function != PT_NONE ? pt_text(p, p->function->file[function]) : "";
        PT_FREE char *brief = pt_perl_short_name(name, s->settings->no_strip_templates);
        PT_FREE char *where =
            pt_strf("%s:%" PRId64, file[0] != '\0' ? file : "??", p->line->line[line]);
        names[end - 1 - line] = (pt_perl_name){.short_name = pt_perl_wordz(s, brief),
                                               .file_line = pt_perl_wordz(s, where),
                                               .full_name = pt_perl_wordz(s, name)};
    }
    pt_perl_give_names(s, id, names, end - first);
    return id;
}

/* The event that is shown: the event that the options choose, else the default event. If the
 * default event is a time and the first event counts samples, the first event. */
static uint32_t model_event(const pt_perl_session *s, const pt_profile *p)
{
    static const struct {
        size_t offset;
        const char *type;
    } asked[] = {
        {offsetof(pt_perl_settings, inuse_space), "inuse_space"},
        {offsetof(pt_perl_settings, inuse_objects), "inuse_objects"},
        {offsetof(pt_perl_settings, alloc_space), "alloc_space"},
        {offsetof(pt_perl_settings, alloc_objects), "alloc_objects"},
        {offsetof(pt_perl_settings, contentions), "contentions"},
        {offsetof(pt_perl_settings, total_delay), "delay"},
    };
    for (size_t i = 0; i < PT_COUNT(asked); i++) {
        if (!*(const bool *)((const char *)s->settings + asked[i].offset)) continue;
        const uint32_t event = pt_profile_find_event(p, asked[i].type);
        if (event != PT_NONE) return event;
    }
    const uint32_t usual = pt_profile_default_event(p);
    if (usual == PT_NONE) return usual;
    return p->event->row[usual].kind == PT_EVENT_TIME && p->event->row[0].kind == PT_EVENT_COUNT
               ? 0
               : usual;
}

static void take_model(pt_perl_session *s, const pt_profile *p, uint32_t event,
                       pt_perl_profile *profile)
{
    uint64_t next_fake = (uint64_t)1 << 56;
    PT_FREE uint32_t *address_of = pt_alloc(p->location->t.count, sizeof *address_of);
    for (uint32_t i = 0; i < p->location->t.count; i++)
        address_of[i] = model_address(s, p, i, &next_fake);
    PT_FREE uint32_t *stack_of = pt_alloc(p->stack->t.count, sizeof *stack_of);
    frame_list frames = {0};
    for (uint32_t i = 0; i < p->stack->t.count; i++) {
        const uint32_t depth = pt_stack_depth(p, i);
        PT_GROW(frames, (size_t)depth + 1);
        for (uint32_t k = 0; k < depth; k++)
            frames.items[k] = address_of[pt_stack_frames(p, i)[k]];
        stack_of[i] = pt_perl_stack(s, frames.items, depth);
    }
    free(frames.items);
    const int64_t *values = p->sample->value[event];
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        pt_perl_profile_add(profile, stack_of[p->sample->stack[i]], (double)values[i]);
}

static bool read_model(pt_perl_session *s, const char *path, bool first, pt_perl_profile *profile)
{
    pt_cmd_context *context = s->context;
    const char *const names[] = {path, s->program};
    const pt_load_options options = {.pool = context->pool};
    pt_error error = PT_ERROR_INIT;
    pt_loaded_done(&context->loaded);
    context->loaded = (pt_loaded){0};
    const bool has_program = s->program != NULL && pt_path_look(s->program) == PT_PATH_IMAGE;
    if (pt_load(names, has_program ? 2 : 1, &options, &context->loaded, &error) != PT_OK)
        return say_failure(&error);
    if (context->loaded.profile == NULL) {
        pt_say("%s is a program, not a profile", path);
        return false;
    }
    pt_cmd_say_damage(&context->loaded);
    pt_profile_unref(context->profile);
    context->profile = pt_profile_ref(context->loaded.profile);
    context->symbol->demangle = PT_DEMANGLE_FULL;
    if (pt_cmd_symbolize(context) != PT_EXIT_OK) return false;
    const uint32_t event = model_event(s, context->profile);
    if (event == PT_NONE) {
        pt_say("%s: the profile has no values", path);
        return false;
    }
    s->from_model = true;
    if (first) {
        const pt_event_kind kind = context->profile->event->row[event].kind;
        s->kind = kind == PT_EVENT_BYTES  ? PT_PERL_HEAP
                  : kind == PT_EVENT_TIME ? PT_PERL_CONTENTION
                                          : PT_PERL_CPU;
        pt_perl_libs_parse(s, "", 0);
    }
    take_model(s, context->profile, event, profile);
    return true;
}

/* ---- A file ---- */

static bool read_known_format(pt_perl_session *s, pt_reader *r, const char *path, bool first,
                              pt_perl_profile *profile, bool *ret_unknown)
{
    size_t length;
    const char *header = header_line(r, &length, false);
    if (header != NULL && is_marker(header, length, "symbol")) {
        if (!s->symbolized) {
            pt_say("%s brings its symbols: name it without a program", path);
            return false;
        }
        read_symbols(s, r);
        header = header_line(r, &length, false);
    }
    PT_FREE char *line = header != NULL ? pt_strndup(header, length) : NULL;
    if (line != NULL && pt_begins(line, "heap profile:")) {
        s->kind = strstr(line, "growth") != NULL ? PT_PERL_GROWTH : PT_PERL_HEAP;
        return pt_perl_read_heap(s, line, r, first, profile);
    }
    if (line != NULL && is_marker(line, length, "contention")) {
        s->kind = PT_PERL_CONTENTION;
        return pt_perl_read_contention(s, r, first, profile);
    }
    if (line != NULL && is_marker(line, length, "Stacks:")) {
        pt_perl_say(
            "old format of contention profiles: signals of condition variables are counted as "
            "contentions\n");
        s->kind = PT_PERL_CONTENTION;
        return pt_perl_read_contention(s, r, first, profile);
    }
    const bool is_profile = line == NULL || is_marker(line, length, "profile");
    if (!is_profile || !find_words(s, r)) {
        *ret_unknown = true;
        return false;
    }
    s->kind = PT_PERL_CPU;
    return read_cpu(s, r, path, first, profile);
}

bool pt_perl_read(pt_perl_session *session, const char *path, bool first, pt_perl_profile *profile)
{
    PT_AUTO(pt_blob) blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    if (pt_file_read(path, 0, UINT64_MAX, &blob, &error) != PT_OK) return say_failure(&error);
    if (pt_compression_of(blob.data, blob.size) != PT_PLAIN) {
        pt_blob_done(&blob); /* read_model reads the file itself */
        return read_model(session, path, first, profile);
    }
    pt_reader r;
    pt_reader_init(&r, blob.data, blob.size, NULL);
    bool unknown = false;
    bool ok = read_known_format(session, &r, path, first, profile, &unknown);
    if (!pt_blob_intact(&blob)) { /* zeros were read in place of the lost part */
        pt_say("%s: " PT_FILE_SHRANK, path);
        ok = unknown = false;
    }
    if (!unknown) return ok;
    pt_blob_done(&blob);
    return read_model(session, path, first, profile);
}
