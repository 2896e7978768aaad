/* web_files.c: see web_files.h. */
#include "cmd/web_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cmd/input.h"
#include "cmd/options.h"

/* The profile that is shown, of a difference the side after. */
static const pt_profile *profile_of(const pt_cmd_context *c)
{
    return c->side[1] != NULL ? c->side[1] : c->profile;
}

/* Reads the file as standard input, which it becomes. NULL: a message says why not. */
static pt_cmd_context *load_file(const pt_cmd_context *like, int file, const char *name)
{
    static const char *const words[] = {"-"};
    pt_cmd_context *c = pt_alloc(1, sizeof *c);
    *c = pt_cmd_context_like(like);
    c->args = words;
    c->arg_count = 1;
    c->stdin_name = name;
    c->confined = like->confined;
    c->progress = NULL;
    if (lseek(file, 0, SEEK_SET) != 0 || dup2(file, STDIN_FILENO) < 0) {
        pt_say("%s: the file did not arrive", name);
        return NULL;
    }
    const int status = pt_cmd_load(c);
    PT_CLOSE int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    pt_pool_free(c->pool);
    c->pool = NULL;
    return status == PT_EXIT_OK ? c : NULL;
}

/* Makes `after` the difference to `before`. Names of source files that either profile had when it
 * was read stay those of a stranger (cmd/source.c). */
static bool subtract_before(pt_cmd_context *after, const pt_cmd_context *before)
{
    static const pt_subtract_options marks = {.marks_base = true};
    const pt_profile *const as_read[2] = {before->as_read, after->as_read};
    if (pt_cmd_subtract(after, profile_of(before), &marks) != PT_EXIT_OK) return false;
    if (as_read[0] != NULL && as_read[1] != NULL) {
        pt_error error = PT_ERROR_INIT;
        after->as_read = NULL;
        if (pt_subtract(as_read[1], as_read[0], &marks, &after->as_read, &after->diag, &error) !=
            PT_OK) {
            pt_fail(&error);
            return false;
        }
    } else if (as_read[1] == NULL) {
        after->as_read = as_read[0];
    }
    pt_base_settings *base = pt_alloc(1, sizeof *base);
    const char **title = pt_alloc(1, sizeof *title);
    *title = before->title;
    base->base = (pt_option_list){.items = title, .count = 1};
    after->base = base;
    return true;
}

const pt_cmd_context *pt_web_open_file(const pt_cmd_context *shown, const pt_serve_request *request)
{
    const char *name = pt_serve_get(request, "name"), *as = pt_serve_get(request, "as");
    name = pt_strdup(name != NULL && name[0] != '\0' ? pt_base_name(name) : "the file");
    if (as == NULL) as = "";
    pt_cmd_context *opened = load_file(shown, request->body, name);
    if (opened == NULL || as[0] == '\0') return opened;
    if (strcmp(as, "after") == 0) return subtract_before(opened, shown) ? opened : NULL;
    if (strcmp(as, "before") != 0) {
        pt_say("as=%s: it is before or after", as);
        return NULL;
    }
    pt_cmd_context *after = pt_alloc(1, sizeof *after);
    *after = *shown;
    after->profile = pt_profile_ref(profile_of(shown));
    after->side[0] = after->side[1] = NULL;
    return subtract_before(after, opened) ? after : NULL;
}

/* ---- Profiles that grow ---- */

static uint64_t mix_in(uint64_t stamp, uint64_t value)
{
    return (stamp ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (stamp >> 29);
}

static uint64_t mix_in_file(uint64_t stamp, const char *path)
{
    struct stat st;
    struct timespec now;
    if (stat(path, &st) != 0 || S_ISDIR(st.st_mode)) return stamp;
    stamp = mix_in(stamp, 1);
    stamp = mix_in(stamp, (uint64_t)st.st_size);
    stamp = mix_in(stamp, (uint64_t)st.st_ino);
    stamp = mix_in(stamp, (uint64_t)st.st_mtim.tv_sec);
    stamp = mix_in(stamp, (uint64_t)st.st_mtim.tv_nsec);
    /* Its bytes are put there by memory, which moves no time of change. */
    if (pt_ends(path, ".journal") && clock_gettime(CLOCK_MONOTONIC, &now) == 0)
        stamp = mix_in(stamp, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    return stamp;
}

uint64_t pt_web_stamp(const char *const *names, size_t count)
{
    uint64_t stamp = 0;
    for (size_t i = 0; i < count; i++) {
        pt_folder_journals journals;
        const bool is_recording = pt_cmd_find_recording(names[i], &journals);
        for (size_t k = 0; k < journals.count; k++)
            stamp = mix_in_file(stamp, journals.items[k]);
        if (!is_recording) stamp = mix_in_file(stamp, names[i]);
        pt_folder_journals_done(&journals);
    }
    return stamp;
}

const pt_cmd_context *pt_web_read_again(const pt_cmd_context *shown)
{
    pt_cmd_context *c = pt_alloc(1, sizeof *c);
    *c = pt_cmd_context_like(shown);
    c->args = shown->args;
    c->arg_count = shown->arg_count;
    c->base = shown->base;
    c->confined = shown->confined;
    c->progress = NULL;
    const int status = pt_cmd_load(c);
    pt_pool_free(c->pool);
    c->pool = NULL;
    if (status != PT_EXIT_OK) return NULL;
    pt_loaded old = shown->loaded;
    c->title = pt_strdup(shown->title);
    pt_profile_unref(shown->profile);
    pt_profile_unref(shown->as_read);
    pt_profile_unref(shown->side[0]);
    pt_profile_unref(shown->side[1]);
    pt_loaded_done(&old);
    return c;
}
