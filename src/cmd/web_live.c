/* web_live.c: see web_live.h. */
#include "cmd/web_live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "model/builder.h"

#define JOURNAL ".journal"

static uint64_t mix_in(uint64_t version, uint64_t value)
{
    return (version ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (version >> 29);
}

static uint64_t mix_in_file(uint64_t version, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISDIR(st.st_mode)) return version;
    version = mix_in(version, (uint64_t)st.st_size + 1);
    version = mix_in(version, (uint64_t)st.st_ino);
    version = mix_in(version, (uint64_t)st.st_mtim.tv_sec);
    return mix_in(version, (uint64_t)st.st_mtim.tv_nsec);
}

/* A number for the content of a recording's journals, and of the files of values that lie next to
 * some of these (capture/keep.h). If the number differs from an earlier one, the files have
 * grown. */
static uint64_t version_of_journals(const char *folder)
{
    uint64_t version = 0;
    PT_AUTO(pt_folder_journals) journals = {0};
    pt_folder_journals_find(folder, &journals);
    for (size_t i = 0; i < journals.count; i++) {
        const char *const path = journals.items[i];
        PT_FREE char *values = pt_strf("%.*s.values", (int)(strlen(path) - strlen(JOURNAL)), path);
        version = mix_in_file(mix_in_file(version, path), values);
    }
    return version;
}

/* A number that changes when the content of these files changes; 0 if none of the files exists. */
static uint64_t version_of_files(const char *const *names, size_t count)
{
    uint64_t version = 0;
    for (size_t i = 0; i < count; i++)
        version = mix_in_file(version, names[i]);
    return version;
}

/* ---- The beginning ---- */

/* Is the only argument a recording that goes on? Then fills *ret. */
static bool find_running(const pt_cmd_context *context, pt_web_live *ret)
{
    pt_folder_running running;
    const char *const name = context->arg_count == 1 ? context->args[0] : "";
    char *folder = strcmp(name, PT_RECORDING_NAME) == 0 ? pt_folder_newest_running(getenv("TMPDIR"))
                                                        : pt_strdup(name);
    if (folder == NULL || !pt_folder_is_running(folder, &running)) {
        free(folder);
        return false;
    }
    *ret = (pt_web_live){.state = PT_LIVE_RECORDING,
                         .folder = folder,
                         .result = running.result,
                         .began_ns = running.began_ns};
    return true;
}

int64_t pt_web_live_seconds(const pt_web_live *live)
{
    if (live->state != PT_LIVE_RECORDING) return -1;
    const int64_t ns = pt_clock_ns(CLOCK_REALTIME) - live->began_ns;
    return ns > 0 ? ns / 1000000000 : 0;
}

int pt_web_live_load(pt_cmd_context *context, pt_web_live *ret_live)
{
    *ret_live = (pt_web_live){.state = PT_LIVE_FILES};
    if (!find_running(context, ret_live)) {
        ret_live->version = version_of_files(context->args, context->arg_count);
        return pt_cmd_load(context);
    }
    pt_error error = PT_ERROR_INIT;
    context->pool = pt_pool_new((unsigned)context->input->threads);
    const int status = pt_builder_freeze(pt_builder_new(), &context->profile, &error) == PT_OK
                           ? PT_EXIT_OK
                           : pt_fail(&error);
    /* The title is the name of the profile that the recording will write. */
    context->title = ret_live->result != NULL ? pt_base_name(ret_live->result) : PT_RECORDING_NAME;
    return status;
}

/* ---- Later ---- */

/* Reads these files, or this folder of a recording. Returns the new context, and frees `shown`.
 * Returns NULL if the profile cannot be read; `shown` then stays. */
static const pt_cmd_context *read_again(const pt_cmd_context *shown, const char *const *names,
                                        size_t count)
{
    pt_cmd_context *c = pt_alloc(1, sizeof *c);
    pt_buf said = PT_BUF_INIT; /* receives the messages, which are not shown, since the first
                                * reading has printed them */
    *c = pt_cmd_context_like(shown);
    c->args = names;
    c->arg_count = count;
    c->base = shown->base;
    c->confined = shown->confined;
    c->progress = NULL;
    pt_say_into(&said);
    const int status = pt_cmd_load(c);
    pt_say_into(NULL);
    pt_buf_done(&said);
    pt_pool_free(c->pool);
    c->pool = NULL;
    if (status != PT_EXIT_OK) return NULL;
    c->title = pt_strdup(shown->title);
    pt_loaded old = shown->loaded;
    pt_profile_unref(shown->profile);
    pt_profile_unref(shown->as_read);
    pt_profile_unref(shown->side[0]);
    pt_profile_unref(shown->side[1]);
    pt_loaded_done(&old);
    return c;
}

/* Reads the profile that the recording wrote at its end. Returns NULL if no profile was written
 * after the recording began; if the recording failed, a file of that name may be an older
 * profile. */
static const pt_cmd_context *read_result(const pt_cmd_context *shown, pt_web_live *live)
{
    struct stat st;
    if (live->result == NULL || stat(live->result, &st) != 0 || !S_ISREG(st.st_mode) ||
        (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec < live->began_ns)
        return NULL;
    const char **name = pt_alloc(1, sizeof *name);
    *name = live->result;
    live->version = version_of_files(name, 1);
    return read_again(shown, name, 1);
}

static const pt_cmd_context *read_recording(const pt_cmd_context *shown, pt_web_live *live)
{
    pt_folder_running running;
    if (!pt_folder_is_running(live->folder, &running)) {
        live->state = PT_LIVE_ENDED;
        return read_result(shown, live);
    }
    free(running.result);
    const uint64_t version = version_of_journals(live->folder);
    if (version == 0 || version == live->version) return NULL;
    const pt_cmd_context *const read = read_again(shown, &live->folder, 1);
    if (read != NULL) live->version = version;
    return read;
}

const pt_cmd_context *pt_web_live_look(const pt_cmd_context *shown, pt_web_live *live)
{
    if (live->state == PT_LIVE_RECORDING) return read_recording(shown, live);
    if (live->state != PT_LIVE_FILES) return NULL;
    const uint64_t version = version_of_files(shown->args, shown->arg_count);
    if (version == 0) live->state = PT_LIVE_ENDED;
    if (version == 0 || version == live->version) return NULL;
    const pt_cmd_context *const read = read_again(shown, shown->args, shown->arg_count);
    if (read != NULL) live->version = version;
    return read;
}
