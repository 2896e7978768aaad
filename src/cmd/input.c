/* input.c: divides arguments into programs and profiles, loads and symbolizes. */
#include "cmd/input.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/folder.h"
#include "cmd/lookup.h"
#include "cmd/options.h"
#include "cmd/query.h"
#include "cmd/remote.h"
#include "recording/recording.h"
#include "symbolize/symbolize.h"
#include "transform/filter.h"
#include "transform/interpreter.h"
#include "transform/scale.h"

pt_path_kind pt_path_look(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return PT_PATH_MISSING;
    if (S_ISDIR(st.st_mode)) return PT_PATH_FOLDER;
    if (!S_ISREG(st.st_mode))
        return PT_PATH_OTHER; /* the beginning of a pipe can be read only once */
    PT_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char head[4] = {0};
    if (fd < 0 || read(fd, head, sizeof head) < 2) return PT_PATH_OTHER;
    if (memcmp(head, "\177ELF", 4) == 0) return PT_PATH_IMAGE;
    return memcmp(head, "#!", 2) == 0 ? PT_PATH_SCRIPT : PT_PATH_OTHER;
}

/* Prints the command that records, since all arguments are programs. Returns the exit status. */
static int only_programs(const pt_cmd_context *context, const char *program)
{
    if (pt_path_look(PT_DEFAULT_PROFILE) == PT_PATH_OTHER)
        return pt_cmd_usage(
            context, "%s is a program; name its profile, too: pitot %s %s " PT_DEFAULT_PROFILE,
            program, context->command->name, program);
    return pt_cmd_usage(context, "%s is a program, not a profile; to record it: pitot record %s%s",
                        program, strchr(program, '/') != NULL ? "" : "./", program);
}

void pt_cmd_say_damage(const pt_loaded *loaded)
{
    for (size_t i = 0; i < loaded->input_count; i++)
        if (loaded->inputs[i].error != NULL) pt_fail(loaded->inputs[i].error);
}

static void set_title(pt_cmd_context *context)
{
    const pt_loaded *loaded = &context->loaded;
    size_t profiles = 0;
    for (size_t i = 0; i < loaded->input_count; i++) {
        if (loaded->inputs[i].is_program || loaded->inputs[i].failed) continue;
        context->title = context->stdin_name != NULL && strcmp(loaded->inputs[i].name, "-") == 0
                             ? context->stdin_name
                             : loaded->inputs[i].name;
        profiles++;
    }
    if (profiles == 1) return;
    context->title_memory = pt_strf("%zu profiles", profiles);
    context->title = context->title_memory;
}

const char *pt_cmd_before_title(const pt_cmd_context *context)
{
    if (context->side[0] == NULL) return NULL;
    if (pt_query_has_base(&context->query)) return context->query.base_time;
    const pt_base_settings *const asked = context->base;
    const pt_option_list *const names = asked->base.count > 0 ? &asked->base : &asked->diff_base;
    const bool is_private = context->query.no_private;
    return names->count == 1   ? (is_private ? pt_base_name(names->items[0]) : names->items[0])
           : names->count == 0 ? "the base"
                               : "several profiles";
}

static int find_format(const pt_cmd_context *context, const pt_format **ret_format)
{
    const char *name = context->input->from;
    *ret_format = NULL;
    if (name == NULL) return PT_EXIT_OK;
    *ret_format = pt_format_find(name);
    if (*ret_format != NULL) return PT_EXIT_OK;
    const char *near = pt_format_near(name);
    return pt_cmd_usage(context, "--from=%s: there is no such format%s%s%s", name,
                        near != NULL ? "; did you mean "
                                     : "; `pitot version --features` lists them",
                        near != NULL ? near : "", near != NULL ? "?" : "");
}

/* The time when the oldest of the profiles was written; 0 = unknown. */
static int64_t written_ns(const pt_loaded *loaded)
{
    int64_t oldest = 0;
    for (size_t i = 0; i < loaded->input_count; i++) {
        struct stat st;
        const pt_load_input *const in = &loaded->inputs[i];
        if (in->is_program || in->url != NULL || stat(in->name, &st) != 0) continue;
        const int64_t at = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        if (oldest == 0 || at < oldest) oldest = at;
    }
    return oldest;
}

int pt_cmd_symbolize(pt_cmd_context *context)
{
    static const pt_symbolize_mode modes[] = {
        [PT_SYMBOLS_AUTO] = PT_SYMBOLIZE_FULL,
        [PT_SYMBOLS_FULL] = PT_SYMBOLIZE_FULL,
        [PT_SYMBOLS_SYMBOLS] = PT_SYMBOLIZE_SYMBOLS,
        [PT_SYMBOLS_OFF] = PT_SYMBOLIZE_OFF,
    };
    const pt_symbol_settings *asked = context->symbol;
    const unsigned needs = context->command->needs;
    const bool folds =
        needs & PT_NEEDS_QUERY && !(needs & PT_NEEDS_ALL_FRAMES) && !context->query.native;
    PT_FREE bool *unseen = folds ? pt_folded_locations(context->profile) : NULL;
    PT_LOOKUP pt_lookup lookup;
    pt_lookup_init(&lookup, context->place);
    const pt_symbolize_options options = {
        .mode = modes[asked->symbols],
        .demangle = asked->demangle,
        .names_code = true,
        .force = asked->force,
        .unseen = unseen,
        .program = pt_loaded_program(&context->loaded),
        .taken_ns = written_ns(&context->loaded),
        .source = lookup.source,
        .cache = lookup.cache,
        .progress = context->progress,
    };
    const pt_profile *named;
    pt_error error = PT_ERROR_INIT;
    if (pt_symbolize(context->profile, &options, context->pool, &named, &context->diag, &error) !=
        PT_OK)
        return pt_fail(&error);
    if (context->command->needs & PT_KEEPS_READ && context->as_read == NULL)
        context->as_read = pt_profile_ref(context->profile);
    pt_profile_unref(context->profile);
    context->profile = named;
    const bool asks = context->loaded.remote_count > 0 && options.mode != PT_SYMBOLIZE_OFF;
    return asks ? pt_remote_symbolize(context) : PT_EXIT_OK;
}

/* Saves a profile from a server, which cannot be fetched again, and prints its path. */
static void keep_fetched(pt_cmd_context *context)
{
    if (context->loaded.remote_count == 0) return;
    PT_FREE char *path = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_remote_save(context->profile, context->pool, &path, &error) == PT_OK)
        pt_say("the fetched profile is in %s", path);
    else
        pt_say("the fetched profile was not saved: %s", error.message);
}

/* The word size of the first program among the names, for formats without a word size; 0 if there
 * is none. */
static uint32_t program_word_bytes(const char *const *names, size_t count)
{
    enum { CLASS = 4 }; /* EI_CLASS of e_ident */
    for (size_t i = 0; i < count; i++) {
        char head[CLASS + 1] = {0};
        if (strcmp(names[i], "-") == 0 || pt_path_look(names[i]) != PT_PATH_IMAGE) continue;
        PT_CLOSE int fd = open(names[i], O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read(fd, head, sizeof head) == sizeof head)
            return head[CLASS] == 1 ? 4 : head[CLASS] == 2 ? 8 : 0;
    }
    return 0;
}

int pt_cmd_subtract(pt_cmd_context *context, const pt_profile *before,
                    const pt_subtract_options *how)
{
    const pt_profile *less = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_subtract(context->profile, before, how, &less, &context->diag, &error) != PT_OK)
        return pt_fail(&error);
    if (context->command->needs & PT_KEEPS_SIDES) {
        context->side[0] = pt_profile_ref(before);
        context->side[1] = pt_profile_ref(context->profile);
    }
    pt_profile_unref(context->profile);
    context->profile = less;
    return PT_EXIT_OK;
}

/* Subtracts the bases, if any, from ->profile. */
static int subtract_bases(pt_cmd_context *context, const pt_load_options *options)
{
    static const pt_base_settings nothing = {0};
    const pt_base_settings *const asked = context->base != NULL ? context->base : &nothing;
    const bool marks = asked->diff_base.count > 0;
    const pt_option_list *const names = marks ? &asked->diff_base : &asked->base;
    if (marks && asked->base.count > 0)
        return pt_cmd_usage(context, "--base and --diff-base exclude each other");
    if (names->count == 0 && asked->normalize && !pt_query_has_base(&context->query))
        return pt_cmd_usage(context, "--normalize needs --base, --diff-base or --base-time");
    if (names->count == 0) return PT_EXIT_OK;
    pt_loaded base;
    pt_error error = PT_ERROR_INIT;
    int status;
    if (pt_load(names->items, names->count, options, &base, &error) != PT_OK) {
        status = pt_fail(&error);
    } else if (base.profile == NULL) {
        status = pt_cmd_usage(context, "--base=%s is a program, not a profile", names->items[0]);
    } else {
        pt_cmd_say_damage(&base);
        context->loaded.damaged_count += base.damaged_count;
        pt_diag_merge(&context->diag, &base.diag);
        const pt_subtract_options how = {.marks_base =
                                             marks || context->command->needs & PT_MARKS_BASE,
                                         .normalizes = asked->normalize};
        status = pt_cmd_subtract(context, base.profile, &how);
    }
    pt_loaded_done(&base);
    return status;
}

/* Symbolizes both profiles of a difference (->side), if the command keeps these profiles. */
static int symbolize_sides(pt_cmd_context *context)
{
    int status = PT_EXIT_OK;
    const pt_profile *const whole = context->profile;
    for (size_t i = 0; i < 2 && status == PT_EXIT_OK && context->side[i] != NULL; i++) {
        context->profile = context->side[i];
        status = pt_cmd_symbolize(context);
        context->side[i] = context->profile;
    }
    context->profile = whole;
    return status;
}

/* Does an argument name a recording? It does if the argument is @recording, or the folder of a
 * recording that goes on or whose recorder was killed. *ret_journals then has the journals of the
 * recording (none if there are no samples yet). The caller frees *ret_journals in any case. */
static bool find_recording(const char *name, pt_folder_journals *ret_journals)
{
    const bool is_running = strcmp(name, PT_RECORDING_NAME) == 0;
    PT_FREE char *running = is_running ? pt_folder_newest_running(getenv("TMPDIR")) : NULL;
    const char *const folder = running != NULL ? running : name;
    *ret_journals = (pt_folder_journals){0};
    if (pt_path_look(folder) == PT_PATH_FOLDER) pt_folder_journals_find(folder, ret_journals);
    return is_running || ret_journals->count > 0;
}

pt_status pt_cmd_read_recording(const pt_folder_journals *journals, const pt_profile **ret_profile,
                                pt_error *reterr)
{
    PT_FREE char *tables_folder = pt_user_cache("pitot/tables");
    const pt_table_cache tables = {.folder = tables_folder, .stamp = pt_cache_stamp()};
    return pt_recorded_left(journals, &tables, ret_profile, reterr);
}

/* Subtracts the bases from ->profile, and gives ->profile names. */
static int finish_loading(pt_cmd_context *context, const pt_load_options *options)
{
    int status = subtract_bases(context, options);
    if (status == PT_EXIT_OK && context->command->needs & PT_NEEDS_SYMBOLS)
        status = pt_cmd_symbolize(context);
    if (status == PT_EXIT_OK && context->command->needs & PT_NEEDS_SYMBOLS)
        status = symbolize_sides(context);
    return status;
}

/* Loads the journals of one recording, which becomes ->profile with the argument as its title. */
static int load_recording(pt_cmd_context *context, const char *name,
                          const pt_folder_journals *journals)
{
    pt_error error = PT_ERROR_INIT;
    if (journals->count == 0)
        return pt_cmd_usage(context, "%s: no recording of yours goes on, or it has no samples yet",
                            name);
    context->pool = pt_pool_new((unsigned)context->input->threads);
    if (pt_cmd_read_recording(journals, &context->loaded.profile, &error) != PT_OK)
        return pt_fail(&error);
    context->profile = pt_profile_ref(context->loaded.profile);
    context->title = name;
    PT_LOOKUP pt_lookup lookup;
    pt_lookup_init(&lookup, context->place);
    const pt_load_options options = {.strict = context->input->strict,
                                     .progress = context->progress,
                                     .source = &lookup.source,
                                     .pool = context->pool};
    return finish_loading(context, &options);
}

static int load_names(pt_cmd_context *context, const char *const *names, size_t count)
{
    const pt_fetch_options fetch = pt_remote_options(context);
    pt_load_options options = {.word_bytes = program_word_bytes(names, count),
                               .strict = context->input->strict,
                               .fetch = &fetch,
                               .progress = context->progress,
                               .annotate = context->input->annotate,
                               .stdin_name = context->stdin_name,
                               .all_events = context->command->needs & PT_NEEDS_ALL_EVENTS};
    int status = find_format(context, &options.from);
    if (status != PT_EXIT_OK) return status;
    PT_LOOKUP pt_lookup lookup;
    pt_lookup_init(&lookup, context->place);
    options.source = &lookup.source;
    context->pool = pt_pool_new((unsigned)context->input->threads);
    options.pool = context->pool;
    pt_error error = PT_ERROR_INIT;
    if (pt_load(names, count, &options, &context->loaded, &error) != PT_OK) return pt_fail(&error);
    if (context->loaded.profile == NULL && context->stdin_name != NULL)
        return pt_cmd_usage(context, "%s is a program, not a profile", context->stdin_name);
    if (context->loaded.profile == NULL) return only_programs(context, names[0]);
    pt_cmd_say_damage(&context->loaded);
    pt_remote_say_failures(&context->loaded);
    pt_diag_merge(&context->diag, &context->loaded.diag);
    context->profile = pt_profile_ref(context->loaded.profile);
    set_title(context);
    status = finish_loading(context, &options);
    keep_fetched(context);
    return status;
}
int pt_cmd_load(pt_cmd_context *context)
{
    static const char *const usual[] = {PT_DEFAULT_PROFILE};
    const bool usual_one = context->arg_count == 0;
    const char *const ignored = pt_filter_pattern(&context->query, PT_FILTER_IGNORE);
    const bool is_missing = usual_one && pt_path_look(PT_DEFAULT_PROFILE) == PT_PATH_MISSING;
    if (is_missing && ignored != NULL && pt_path_look(ignored) == PT_PATH_OTHER)
        return pt_cmd_usage(context, PT_IGNORED_FILE, ignored, context->command->name, ignored);
    if (is_missing)
        return pt_cmd_usage(context, "%s: name a profile; there is no " PT_DEFAULT_PROFILE " here",
                            context->command->name);
    if (usual_one) pt_say("showing " PT_DEFAULT_PROFILE);
    const char *const *const names = usual_one ? usual : context->args;
    const size_t count = usual_one ? 1 : context->arg_count;
    for (size_t i = 0; i < count; i++) {
        pt_folder_journals journals;
        const bool is_recording = find_recording(names[i], &journals);
        int status = PT_EXIT_OK;
        if (is_recording && count > 1)
            status = pt_cmd_usage(context, "%s: name a recording without other profiles", names[i]);
        else if (is_recording)
            status = load_recording(context, names[i], &journals);
        pt_folder_journals_done(&journals);
        if (is_recording) return status;
    }
    return load_names(context, names, count);
}

pt_cmd_context pt_cmd_context_like(const pt_cmd_context *context)
{
    return (pt_cmd_context){.command = context->command,
                            .common = context->common,
                            .input = context->input,
                            .symbol = context->symbol,
                            .place = context->place,
                            .progress = context->progress,
                            .out = context->out,
                            .look = context->look};
}
