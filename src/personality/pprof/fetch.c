/* fetch.c: makes one profile, with names, of all sources. The steps are in pprof's order: read the
 * sources, set the main binary, merge, subtract bases, symbolize, drop the frames that the profile
 * marks as uninteresting, add a comment. */
#include "base/text.h"
#include "cmd/lookup.h"
#include "personality/pprof/pprof.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/remote.h"
#include "model/builder.h"
#include "personality/pprof/as_pprof.h"
#include "personality/pprof/merge.h"
#include "symbolize/symbolize.h"
#include "terminal/message.h"
#include "transform/prune.h"
#include "transform/scale.h"

typedef struct {
    const pt_pprof_source *source;
    pt_fetch_options fetch;
    pt_lookup lookup; /* finds images, first in `folders` */
    pt_option_list folders;
    char *folders_text; /* the memory of their names */
    pt_pool *pool;
    bool fetched; /* an input came from a server */
    bool damaged; /* only a part of an input could be read */
    pt_remote_mapping *remote;
    size_t remote_count;
    const pt_profile *as_read; /* the profile before files gave it names; or NULL */
    pt_diag diag;
} fetching;

/* ---- The main binary ---- */

/* Applies pt_as_pprof to a profile that was read, then gives its mapping 0 the program's name and
 * the build id from the command line. Takes over the reference. */
static const pt_profile *name_main_binary(void *context, const pt_profile *profile)
{
    const pt_pprof_source *source = context;
    const pt_profile *p = pt_as_pprof(profile);
    pt_profile_unref(profile);
    const char *build_id = source->build_id != NULL ? source->build_id : "";
    if ((source->program == NULL && build_id[0] == '\0') || p->mapping->t.count == 0) return p;
    pt_builder *b = pt_builder_extend(p);
    const uint32_t file = source->program != NULL ? pt_builder_text(b, source->program).v : 0;
    const uint32_t id = pt_builder_text(b, build_id).v;
    pt_mapping *main_mapping = pt_builder_mapping_at(b, (pt_mapping_id){0});
    if (source->program != NULL) main_mapping->file = file;
    if (main_mapping->build_id == 0) main_mapping->build_id = id;
    const pt_profile *named_profile;
    if (pt_builder_freeze(b, &named_profile, NULL) != PT_OK)
        return p; /* the limit of strings is exceeded */
    pt_profile_unref(p);
    return named_profile;
}

/* ---- Reading ---- */

static void say_line(void *context, const char *line)
{
    (void)context;
    pt_print_error("%s\n", line);
}

/* Prints the errors of the inputs that failed or were damaged. */
static void say_errors(const pt_loaded *loaded)
{
    for (size_t i = 0; i < loaded->input_count; i++) {
        const pt_load_input *input = &loaded->inputs[i];
        if (input->is_program)
            pt_print_error("%s: a program, not a profile\n", input->name);
        else if (input->error != NULL)
            pt_print_error("%s: %s\n", input->name, input->error->message);
    }
}

static void note_servers(fetching *f, pt_loaded *loaded)
{
    f->remote =
        pt_realloc(f->remote, f->remote_count + loaded->remote_mapping_count, sizeof *f->remote);
    for (size_t i = 0; i < loaded->remote_mapping_count; i++)
        f->remote[f->remote_count++] = loaded->remote_mappings[i];
    loaded->remote_mapping_count = 0; /* f->remote owns them now */
    f->fetched |= loaded->remote_count > 0;
    f->damaged |= loaded->damaged_count > 0;
}

/* Has each event a type that another event also has? pprof leaves such events out, and would have
 * no event left. */
static bool has_like_events_only(const pt_profile *p)
{
    const uint32_t count = p->event->t.count;
    for (uint32_t e = 0; e < count; e++) {
        bool again = false;
        for (uint32_t o = 0; o < count && !again; o++)
            again = o != e && p->event->row[o].type == p->event->row[e].type;
        if (!again) return false;
    }
    return true;
}

/* Loads and merges the profiles. Those that cannot be read are reported and left out. */
static pt_status load_all(fetching *f, const char *const *names, size_t count, const char *kind,
                          const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_load_options options = {.pool = f->pool,
                                     .rules = &pt_pprof_merge_rules,
                                     .skip_failures = true,
                                     .fetch = &f->fetch,
                                     .source = &f->lookup.source,
                                     .prepare = name_main_binary,
                                     .prepare_context = (void *)f->source};
    PT_AUTO(pt_loaded) loaded = {0};
    pt_error error = PT_ERROR_INIT;
    pt_status status = pt_load(names, count, &options, &loaded, &error);
    say_errors(&loaded);
    size_t got = 0;
    for (size_t i = 0; i < loaded.input_count; i++)
        got += loaded.inputs[i].format != NULL && !loaded.inputs[i].failed;
    if (status == PT_OK && loaded.profile != NULL && has_like_events_only(loaded.profile)) {
        pt_error_set(&error, PT_ERR_USAGE, "profiles have empty common sample type list");
        status = PT_ERR_USAGE;
    }
    if (status == PT_OK && loaded.profile != NULL) {
        if (got < count) pt_print_error("Fetched %zu %s profiles out of %zu\n", got, kind, count);
        *ret_profile = pt_profile_ref(loaded.profile);
        pt_diag_merge(&f->diag, &loaded.diag);
        note_servers(f, &loaded);
    } else if (got == 0) {
        pt_error_set(reterr, PT_ERR_NOTFOUND, "failed to fetch any %s profiles", kind);
    } else {
        pt_error_set(reterr, error.status, "problem fetching %s profiles: %s%s", kind,
                     error.message, strcmp(kind, "base") == 0 ? "," : "");
    }
    const bool well = status == PT_OK && loaded.profile != NULL;
    return well ? PT_OK : PT_ERR_NOTFOUND;
}

/* Loads the sources and subtracts the bases. */
static pt_status load_difference(fetching *f, const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_pprof_source *source = f->source;
    const pt_option_list *bases = source->base.count > 0 ? &source->base : &source->diff_base;
    const pt_profile *profile, *base;
    pt_status status =
        load_all(f, source->sources, source->source_count, "source", &profile, reterr);
    if (status != PT_OK || bases->count == 0) {
        if (status == PT_OK) *ret_profile = profile;
        return status;
    }
    status = load_all(f, bases->items, bases->count, "base", &base, reterr);
    if (status == PT_OK) {
        const pt_subtract_options options = {.marks_base = source->diff_base.count > 0,
                                             .normalizes = source->normalize,
                                             .rules = &pt_pprof_merge_rules};
        status = pt_subtract(profile, base, &options, ret_profile, &f->diag, reterr);
        pt_profile_unref(base);
    }
    pt_profile_unref(profile);
    return status;
}

/* ---- Names ---- */

/* Parses -symbolize: words joined by colons. */
static void read_symbolize(const char *text, pt_symbolize_options *ret)
{
    static const char *const modes[] = {"full", "none", "templates"};
    /* pprof's "none" passes the demangler no options, so names are shown in full. */
    static const pt_demangle_mode demangle[] = {PT_DEMANGLE_PPROF_FULL, PT_DEMANGLE_BINUTILS,
                                                PT_DEMANGLE_PPROF_TEMPLATES};
    *ret = (pt_symbolize_options){.mode = PT_SYMBOLIZE_FULL, .demangle = PT_DEMANGLE_PPROF};
    for (const char *word = text != NULL ? text : ""; *word != '\0';) {
        const size_t length = strcspn(word, ":");
        PT_FREE char *w = pt_strndup(word, length);
        word += length + (word[length] == ':');
        if (strcmp(w, "") == 0) continue;
        if (strcmp(w, "none") == 0 || strcmp(w, "no") == 0 || strcmp(w, "remote") == 0) {
            ret->mode = PT_SYMBOLIZE_OFF;
        } else if (strcmp(w, "local") == 0) {
            ret->mode = PT_SYMBOLIZE_FULL;
        } else if (strcmp(w, "fastlocal") == 0) {
            ret->mode = PT_SYMBOLIZE_SYMBOLS;
        } else if (strcmp(w, "force") == 0) {
            ret->force = true;
        } else if (pt_begins(w, "demangle=")) {
            ret->force = true;
            for (size_t i = 0; i < 3; i++)
                if (strcmp(w + 9, modes[i]) == 0) ret->demangle = demangle[i];
        } else {
            pt_print_error("ignoring unrecognized symbolization option: %s\n"
                           "expecting -symbolize=[local|fastlocal|remote|none][:force]"
                           "[:demangle=[none|full|templates|default]\n",
                           w);
        }
    }
}

/* Folders of -lib_prefix, joined by commas; then PPROF_BINARY_PATH, or $HOME/pprof/binaries, joined
 * by colons. */
static pt_option_list binary_folders(const char *lib_prefix, char **ret_memory)
{
    const char *path = getenv("PPROF_BINARY_PATH");
    const char *home = getenv("HOME");
    const bool has_path = path != NULL && path[0] != '\0';
    char *memory = pt_strf("%s:%s%s", lib_prefix != NULL ? lib_prefix : "",
                           has_path       ? path
                           : home != NULL ? home
                                          : "",
                           has_path ? "" : "/pprof/binaries");
    for (size_t i = 0; lib_prefix != NULL && lib_prefix[i] != '\0'; i++)
        if (memory[i] == ',') memory[i] = ':';
    pt_option_list list = {.items = pt_alloc(strlen(memory) + 1, sizeof *list.items)};
    char *rest = memory;
    for (char *folder; (folder = strsep(&rest, ":")) != NULL;)
        if (folder[0] != '\0') list.items[list.count++] = folder;
    *ret_memory = memory;
    return list;
}

/* Is the word one of the words, joined by colons, of the value of -symbolize? */
static bool has_word(const char *symbolize, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = symbolize != NULL ? symbolize : ""; *at != '\0';) {
        const size_t n = strcspn(at, ":");
        if (n == length && strncasecmp(at, word, n) == 0) return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static bool names_nothing(const char *symbolize)
{
    return has_word(symbolize, "none") || has_word(symbolize, "no");
}

static bool may_ask_servers(const char *symbolize)
{
    return !names_nothing(symbolize) && !has_word(symbolize, "local") &&
           !has_word(symbolize, "fastlocal");
}

static pt_status symbolize_fetched(fetching *f, const pt_profile **profile, pt_error *reterr)
{
    pt_symbolize_options options;
    read_symbolize(f->source->symbolize, &options);
    const pt_profile *named;
    if (options.mode != PT_SYMBOLIZE_OFF) {
        options.program = f->source->program;
        options.source = f->lookup.source;
        options.cache = f->lookup.cache;
        const pt_status status =
            pt_symbolize(*profile, &options, f->pool, &named, &f->diag, reterr);
        if (status != PT_OK) return status;
        f->as_read = *profile;
        *profile = named;
    }
    if (f->fetched && may_ask_servers(f->source->symbolize)) {
        const pt_status status =
            pt_fetch_symbolize(*profile, f->remote, f->remote_count, options.force, &f->fetch,
                               &named, &f->diag, reterr);
        if (status != PT_OK) return status;
        pt_profile_unref(*profile);
        *profile = named;
    }
    if (names_nothing(f->source->symbolize)) return PT_OK;
    const pt_status status =
        pt_symbolize_rename(*profile, options.demangle, options.force, &named, reterr);
    if (status != PT_OK) return status;
    pt_profile_unref(*profile);
    *profile = named;
    return PT_OK;
}

static pt_status finish_fetch(fetching *f, const pt_profile **profile, pt_error *reterr)
{
    if (!f->source->all_frames) {
        const pt_profile *pruned = pt_prune(*profile, &f->diag);
        pt_profile_unref(*profile);
        *profile = pruned;
    }
    const char *comment = f->source->add_comment;
    if (comment == NULL || comment[0] == '\0') return PT_OK;
    pt_builder *b = pt_builder_extend(*profile);
    pt_builder_comment(b, pt_builder_text(b, comment));
    const pt_profile *commented;
    const pt_status status = pt_builder_freeze(b, &commented, reterr);
    if (status != PT_OK) return status;
    pt_profile_unref(*profile);
    *profile = commented;
    return PT_OK;
}

/* Saves a fetched profile: the server may not have it again. */
static void keep_fetched(const fetching *f, const pt_profile *profile)
{
    PT_FREE char *path = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_remote_save(profile, f->pool, &path, &error) == PT_OK)
        pt_print_error("Saved profile in %s\n", path);
    else
        pt_print_error("Could not save profile: %s\n", error.message);
}

static pt_status fetch_profiles(fetching *f, const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_profile *profile = NULL;
    pt_status status = load_difference(f, &profile, reterr);
    if (status != PT_OK) return status;
    status = symbolize_fetched(f, &profile, reterr);
    if (status == PT_OK) status = finish_fetch(f, &profile, reterr);
    if (status == PT_OK && f->fetched) keep_fetched(f, profile);
    if (status == PT_OK)
        *ret_profile = profile;
    else
        pt_profile_unref(profile);
    return status;
}

pt_status pt_pprof_fetch(const pt_pprof_source *source, pt_pprof_session *ret_session,
                         pt_error *reterr)
{
    fetching f = {
        .source = source,
        .fetch = {.rule = PT_FETCH_GO,
                  .seconds = source->seconds > 0 ? source->seconds : 0,
                  .timeout_s = source->timeout > 0 ? source->timeout : 0,
                  .tls_cert = source->tls_cert,
                  .tls_key = source->tls_key,
                  .tls_ca = source->tls_ca,
                  .say = say_line},
        .pool = pt_pool_new(0),
    };
    pt_diag_init(&f.diag);
    /* The places to search: pprof's own, then perf's cache and debuginfod. */
    static const pt_place_settings usual = {.debuginfod = true, .cache = true};
    pt_lookup_init(&f.lookup, &usual);
    f.folders = binary_folders(f.source->lib_prefix, &f.folders_text);
    f.lookup.source.binary_dirs = f.folders.items;
    f.lookup.source.binary_dir_count = f.folders.count;
    const pt_profile *profile = NULL;
    const pt_status status = fetch_profiles(&f, &profile, reterr);
    for (size_t i = 0; i < f.diag.count; i++)
        pt_print_error("%llu %s\n", (unsigned long long)f.diag.facts[i].count,
                       f.diag.facts[i].text);
    pt_diag_done(&f.diag);
    for (size_t i = 0; i < f.remote_count; i++)
        PT_FREE_ALL(f.remote[i].url, f.remote[i].key);
    PT_FREE_ALL(f.remote, f.folders.items, f.folders_text);
    pt_lookup_done(&f.lookup);
    if (status == PT_OK)
        *ret_session = (pt_pprof_session){.profile = profile,
                                          .as_read = f.as_read,
                                          .pool = f.pool,
                                          .tools = source->tools,
                                          .damaged = f.damaged};
    else
        pt_pool_free(f.pool);
    if (status != PT_OK) pt_profile_unref(f.as_read);
    return status;
}

void pt_pprof_session_done(pt_pprof_session *session)
{
    pt_profile_unref(session->profile);
    pt_profile_unref(session->as_read);
    pt_pool_free(session->pool);
    *session = (pt_pprof_session){0};
}
