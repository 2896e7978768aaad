/* web_files.c: see web_files.h. */
#include "cmd/web_files.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/input.h"
#include "cmd/options.h"

/* The profile of the context; if that is a difference, the difference's side PT_AFTER. */
static const pt_profile *profile_of(const pt_cmd_context *c)
{
    return c->side[1] != NULL ? c->side[1] : c->profile;
}

/* Makes the file standard input and reads the profile from there. Returns NULL, after a message, if
 * it cannot be read. */
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

/* Turns the profile of `after` into the difference to `before`. as_read also becomes the
 * difference: the page must not open source files that only the profiles name, and cmd/source.c
 * finds these names in as_read. */
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
