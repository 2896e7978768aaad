/* remote.c: see remote.h. */
#include "cmd/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/options.h"
#include "formats/format.h"
#include "object/demangle.h"
#include "terminal/message.h"

#define COPIES_MAX 10000 /* the most numbered files of one name, as in google/pprof */

/* ---- Fetching ---- */

static void say_line(void *unused, const char *line)
{
    (void)unused;
    pt_say("%s", line);
}

void pt_remote_progress(void *unused, const pt_fetch_progress *p)
{
    (void)unused;
    if (!isatty(STDERR_FILENO)) return;
    char line[128];
    int n = 0;
    if (!p->over) {
        n = snprintf(line, sizeof line, "  %.0f s", p->elapsed_s);
        if (p->seconds > 0)
            n += snprintf(line + n, sizeof line - (size_t)n, " of %" PRId64 " s", p->seconds);
        if (p->count > 1)
            n += snprintf(line + n, sizeof line - (size_t)n, ", %zu of %zu servers have answered",
                          p->done, p->count);
        if (p->bytes > 0)
            n += snprintf(line + n, sizeof line - (size_t)n, ", %" PRIu64 " kB received",
                          p->bytes / 1000);
    }
    pt_show_progress(n > 0 ? line : NULL);
}

static char *demangle_name(void *opaque, const char *name)
{
    const pt_cmd_context *const context = opaque;
    return pt_demangle(name, context->symbol->demangle);
}

pt_fetch_options pt_remote_options(const pt_cmd_context *context)
{
    const pt_input_settings *const input = context->input;
    return (pt_fetch_options){
        .rule = PT_FETCH_OWN,
        .seconds = input->seconds,
        .timeout_s = input->timeout,
        .tls_cert = input->tls_cert,
        .tls_key = input->tls_key,
        .tls_ca = input->tls_ca,
        .max_bytes = input->max_memory,
        .agent = "pitot/" PT_VERSION,
        .say = say_line,
        .progress = pt_remote_progress,
        .demangle = demangle_name,
        .context = (void *)(uintptr_t)context,
    };
}

void pt_remote_say_failures(const pt_loaded *loaded)
{
    size_t profiles = 0;
    for (size_t i = 0; i < loaded->input_count; i++) {
        const pt_load_input *const input = &loaded->inputs[i];
        profiles += !input->is_program;
    }
    if (loaded->failed_count > 0)
        pt_say("%zu of %zu profiles were fetched", profiles - loaded->failed_count, profiles);
}

int pt_remote_symbolize(pt_cmd_context *context)
{
    const pt_fetch_options options = pt_remote_options(context);
    const pt_loaded *const loaded = &context->loaded;
    const pt_profile *named;
    pt_error error = PT_ERROR_INIT;
    if (pt_fetch_symbolize(context->profile, loaded->remote_mappings, loaded->remote_mapping_count,
                           context->symbol->force, &options, &named, &context->diag,
                           &error) != PT_OK)
        return pt_fail(&error);
    pt_profile_unref(context->profile);
    context->profile = named;
    return PT_EXIT_OK;
}

/* ---- Keeping ---- */

/* Is the folder fit to save in? A folder that the user named may belong to anybody. The default
 * folder must not be in another user's HOME. */
static bool is_fit(const char *path, bool is_named)
{
    struct stat st;
    return pt_make_folder(path, 0755) || (is_named && stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

char *pt_remote_folder(void)
{
    const char *const asked = getenv("PPROF_TMPDIR"), *const home = getenv("HOME"),
                      *const tmp = getenv("TMPDIR");
    char *const folders[] = {
        asked != NULL && asked[0] != '\0' ? pt_strdup(asked) : NULL,
        home != NULL && home[0] != '\0' ? pt_strf("%s/pprof", home) : NULL,
        pt_strdup(tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp"),
    };
    char *found = NULL;
    for (size_t i = 0; i < PT_COUNT(folders); i++) {
        if (folders[i] != NULL && found == NULL && is_fit(folders[i], i != 1))
            found = folders[i];
        else
            free(folders[i]);
    }
    return found;
}

/* The beginning of a saved profile's name: "pprof.MAIN.TYPE.TYPE.". The caller frees. */
static char *name_of(const pt_profile *p)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_text(&buf, "pprof.");
    const char *const file = p->mapping->t.count > 0 ? pt_text(p, p->mapping->row[0].file) : "";
    if (file[0] != '\0') pt_putf(&buf, "%s.", pt_base_name(file));
    for (uint32_t i = 0; i < p->event->t.count; i++)
        pt_putf(&buf, "%s.", pt_text(p, p->event->row[i].type));
    for (size_t i = 0; i < buf.size; i++) {
        if (buf.data[i] == '/' || buf.data[i] < ' ')
            buf.data[i] = '_'; /* the server chose the name */
    }
    enum { NAME_MAX_BYTES = 200 };
    if (buf.size > NAME_MAX_BYTES) buf.size = NAME_MAX_BYTES;
    return pt_buf_take(&buf, NULL);
}

static pt_out *open_sink(void *context, const char *suffix, pt_error *reterr)
{
    (void)suffix;
    (void)reterr;
    return context;
}

/* Writes to the first name that is free. *ret_path is the path of the file. */
static pt_status save_copy(const char *folder, const char *name, const pt_buf *bytes,
                           char **ret_path, pt_error *reterr)
{
    pt_error error = PT_ERROR_INIT;
    for (int i = 1; i < COPIES_MAX; i++) {
        bool is_taken;
        char *const path = pt_strf("%s/%s%03d.pb.gz", folder, name, i);
        if (pt_file_add(path, PT_MODE_PRIVATE, bytes->data, bytes->size, &is_taken, &error) ==
            PT_OK) {
            *ret_path = path;
            return PT_OK;
        }
        free(path);
        if (!is_taken) break;
    }
    return pt_error_set(reterr, error.status, "cannot save the profile in %s: %s", folder,
                        error.message);
}

pt_status pt_remote_save(const pt_profile *profile, pt_pool *pool, char **ret_path,
                         pt_error *reterr)
{
    PT_FREE char *folder = pt_remote_folder();
    if (folder == NULL)
        return pt_error_set(reterr, PT_ERR_SYSTEM,
                            "there is no folder for the profile; set PPROF_TMPDIR");
    pt_buf bytes = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &bytes);
    const pt_output output = {.context = &out, .open = open_sink};
    const pt_write_options options = {.event = PT_NONE, .pool = pool};
    pt_status status = pt_format_find("pprof")->write(profile, &output, &options, reterr);
    const pt_status put = pt_out_done(&out, status == PT_OK ? reterr : NULL);
    if (status == PT_OK) status = put;
    PT_FREE char *name = name_of(profile);
    char *path = NULL;
    if (status == PT_OK) status = save_copy(folder, name, &bytes, &path, reterr);
    pt_buf_done(&bytes);
    if (status == PT_OK) *ret_path = path;
    return status;
}
