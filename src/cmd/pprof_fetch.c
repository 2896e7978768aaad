/* pprof_fetch.c: sources become one profile with names, in pprof's order: read, tell the main
 * binary, merge, subtract bases, symbolize, drop what the profile calls uninteresting, comment. */
#include "cmd/pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "model/builder.h"
#include "symbolize/symbolize.h"
#include "transform/merge.h"
#include "transform/prune.h"
#include "transform/scale.h"

typedef struct {
    const pt_pprof_source *source;
    pt_pool *pool;
    pt_diag diag;
} fetching;

/* ---- The main binary ---- */

static void *copied(const void *column, size_t count, size_t size)
{
    if (column == NULL) return NULL;
    void *copy = pt_alloc(count, size);
    memcpy(copy, column, count * size);
    return copy;
}

/* A profile without mappings gets one, of all addresses: its file may be given by name. */
static const pt_profile *with_mapping(const pt_profile *p)
{
    const pt_locations *l = p->location;
    const uint32_t count = l->t.count;
    pt_locations *locations = pt_table_new(sizeof *locations, count);
    uint32_t *lines = pt_alloc((size_t)count + 1, sizeof *lines);
    memcpy(lines, l->line_first, ((size_t)count + 1) * sizeof *lines);
    locations->mapping = pt_alloc(count, sizeof *locations->mapping); /* all in mapping 0 */
    locations->address = copied(l->address, count, sizeof *l->address);
    locations->line_first = lines;
    locations->flags = copied(l->flags, count, sizeof *l->flags);
    locations->symbol_bytes = copied(l->symbol_bytes, count, sizeof *l->symbol_bytes);
    locations->source_id = copied(l->source_id, count, sizeof *l->source_id);
    const pt_profile_tables tables = {.location = locations, .mapping = pt_mappings_new(1)};
    return pt_profile_derive(p, &tables);
}

/* The program's name and the build id from the command line belong to mapping 0. */
static pt_status tell_binary(const pt_pprof_source *source, const pt_profile **profile,
                             pt_error *reterr)
{
    if ((*profile)->mapping->t.count == 0) {
        const pt_profile *mapped = with_mapping(*profile);
        pt_profile_unref(*profile);
        *profile = mapped;
    }
    const char *build_id = source->build_id != NULL ? source->build_id : "";
    if (source->program == NULL && build_id[0] == '\0') return PT_OK;
    pt_builder *b = pt_builder_extend(*profile);
    pt_mapping *main_mapping = pt_builder_mapping_at(b, (pt_mapping_id){0});
    if (source->program != NULL) {
        const uint32_t file = pt_builder_text(b, source->program).v;
        main_mapping->file = file;
    }
    if (build_id[0] != '\0' && main_mapping->build_id == 0)
        main_mapping->build_id = pt_builder_text(b, build_id).v;
    const pt_profile *told;
    const pt_status status = pt_builder_freeze(b, &told, reterr);
    if (status != PT_OK) return status;
    pt_profile_unref(*profile);
    *profile = told;
    return PT_OK;
}

/* ---- Reading ---- */

static void say_error(const char *name, const pt_error *error)
{
    fprintf(stderr, "%s: %s\n", name, error->message);
}

/* One profile, or NULL and the reason on standard error. */
static const pt_profile *load_one(fetching *f, const char *name)
{
    const pt_load_options options = {.pool = f->pool, .pprof = true};
    pt_loaded loaded = {0};
    pt_error error = PT_ERROR_INIT;
    const pt_profile *profile = NULL;
    if (pt_load(&name, 1, &options, &loaded, &error) != PT_OK)
        say_error(name, &error);
    else if (loaded.profile == NULL)
        fprintf(stderr, "%s: a program, not a profile\n", name);
    else
        profile = pt_profile_ref(loaded.profile);
    for (size_t i = 0; i < loaded.input_count && profile != NULL; i++)
        if (loaded.inputs[i].error.status != PT_OK) say_error(name, &loaded.inputs[i].error);
    pt_diag_merge(&f->diag, &loaded.diag);
    pt_loaded_done(&loaded);
    return profile;
}

/* One after the other, each told its binary before they are merged; those that cannot be read are
 * left out. */
static pt_status load_each(fetching *f, const char *const *names, size_t count, const char *kind,
                           const pt_profile **ret_profile, pt_error *reterr)
{
    size_t got = 0;
    pt_merge *merge = pt_merge_new_pprof(&f->diag);
    pt_status status = PT_OK;
    for (size_t i = 0; i < count && status == PT_OK; i++) {
        const pt_profile *one = load_one(f, names[i]);
        if (one == NULL) continue;
        got++;
        status = tell_binary(f->source, &one, reterr);
        if (status == PT_OK) status = pt_merge_add(merge, one, reterr);
        pt_profile_unref(one);
    }
    if (status == PT_OK && got == 0)
        status = pt_error_set(reterr, PT_ERR_NOTFOUND, "failed to fetch any %s profiles", kind);
    if (status != PT_OK) {
        pt_merge_free(merge);
        return status;
    }
    if (got < count) fprintf(stderr, "Fetched %zu %s profiles out of %zu\n", got, kind, count);
    return pt_merge_finish(merge, ret_profile, reterr);
}

/* All of them merged. Many files are read at once if all are well and none has to be told what it
 * is of. */
static pt_status load_all(fetching *f, const char *const *names, size_t count, const char *kind,
                          const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_load_options options = {.pool = f->pool, .pprof = true};
    const bool told = f->source->program != NULL || f->source->build_id != NULL;
    if (count == 1 || told) return load_each(f, names, count, kind, ret_profile, reterr);
    pt_loaded loaded = {0};
    const pt_status status = pt_load(names, count, &options, &loaded, NULL);
    const bool well = status == PT_OK && loaded.profile != NULL && loaded.damaged_count == 0;
    if (well) {
        *ret_profile = pt_profile_ref(loaded.profile);
        pt_diag_merge(&f->diag, &loaded.diag);
    }
    pt_loaded_done(&loaded);
    return well ? PT_OK : load_each(f, names, count, kind, ret_profile, reterr);
}

/* Sources less bases. */
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
                                             .pprof = true};
        status = pt_subtract(profile, base, &options, ret_profile, &f->diag, reterr);
        pt_profile_unref(base);
    }
    pt_profile_unref(profile);
    return status;
}

/* ---- Names ---- */

typedef struct {
    pt_symbolize_options options;
    char **folders; /* of PPROF_BINARY_PATH */
} naming;

/* -symbolize: words joined by colons. */
static pt_status read_symbolize(const char *text, pt_symbolize_options *ret, pt_error *reterr)
{
    static const char *const modes[] = {"full", "none", "templates"};
    static const pt_demangle_mode demangle[] = {PT_DEMANGLE_FULL, PT_DEMANGLE_NONE,
                                                PT_DEMANGLE_TEMPLATES};
    *ret = (pt_symbolize_options){.mode = PT_SYMBOLIZE_FULL, .demangle = PT_DEMANGLE_SIMPLE};
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
        } else if (strncmp(w, "demangle=", 9) == 0) {
            ret->force = true;
            for (size_t i = 0; i < 3; i++)
                if (strcmp(w + 9, modes[i]) == 0) ret->demangle = demangle[i];
        } else {
            fprintf(stderr,
                    "ignoring unrecognized symbolization option: %s\n"
                    "expecting -symbolize=[local|fastlocal|remote|none][:force]"
                    "[:demangle=[none|full|templates|default]\n",
                    w);
        }
    }
    (void)reterr;
    return PT_OK;
}

/* PPROF_BINARY_PATH, or $HOME/pprof/binaries: folders, joined by colons. */
static pt_option_list binary_folders(char **ret_memory)
{
    const char *path = getenv("PPROF_BINARY_PATH");
    const char *home = getenv("HOME");
    char *memory = path != NULL && path[0] != '\0'
                       ? pt_strdup(path)
                       : pt_strf("%s/pprof/binaries", home != NULL ? home : "");
    pt_option_list list = {.items = pt_alloc(strlen(memory) + 1, sizeof *list.items)};
    char *rest = memory;
    for (char *folder; (folder = strsep(&rest, ":")) != NULL;)
        if (folder[0] != '\0') list.items[list.count++] = folder;
    *ret_memory = memory;
    return list;
}

static pt_status give_names(fetching *f, const pt_profile **profile, pt_error *reterr)
{
    pt_symbolize_options options;
    pt_status status = read_symbolize(f->source->symbolize, &options, reterr);
    if (status != PT_OK || options.mode == PT_SYMBOLIZE_OFF) return status;
    PT_FREE char *memory = NULL;
    pt_option_list folders = binary_folders(&memory);
    options.program = f->source->program;
    options.source.binary_dirs = folders.items;
    options.source.binary_dir_count = folders.count;
    const pt_profile *named;
    status = pt_symbolize(*profile, &options, f->pool, &named, &f->diag, reterr);
    free(folders.items);
    if (status != PT_OK) return status;
    pt_profile_unref(*profile);
    *profile = named;
    return PT_OK;
}

static pt_status finish(fetching *f, const pt_profile **profile, pt_error *reterr)
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

static pt_status fetch(fetching *f, const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_profile *profile = NULL;
    pt_status status = load_difference(f, &profile, reterr);
    if (status != PT_OK) return status;
    status = give_names(f, &profile, reterr);
    if (status == PT_OK) status = finish(f, &profile, reterr);
    if (status == PT_OK)
        *ret_profile = profile;
    else
        pt_profile_unref(profile);
    return status;
}

pt_status pt_pprof_fetch(const pt_pprof_source *source, pt_pprof_session *ret_session,
                         pt_error *reterr)
{
    fetching f = {.source = source, .pool = pt_pool_new(0)};
    pt_diag_init(&f.diag);
    const pt_profile *profile = NULL;
    const pt_status status = fetch(&f, &profile, reterr);
    for (size_t i = 0; i < f.diag.count; i++)
        fprintf(stderr, "%llu %s\n", (unsigned long long)f.diag.facts[i].count,
                f.diag.facts[i].text);
    pt_diag_done(&f.diag);
    if (status == PT_OK)
        *ret_session =
            (pt_pprof_session){.profile = profile, .pool = f.pool, .tools = source->tools};
    else
        pt_pool_free(f.pool);
    return status;
}

void pt_pprof_session_done(pt_pprof_session *session)
{
    pt_profile_unref(session->profile);
    pt_pool_free(session->pool);
    *session = (pt_pprof_session){0};
}
