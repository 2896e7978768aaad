/* record_write.c: see record_write.h. */
#include "cmd/record_write.h"

#include "base/file.h"
#include "base/pool.h"
#include "cmd/input.h"
#include "cmd/output.h"
#include "formats/format.h"
#include "recording/recording.h"

typedef struct {
    pt_file_writer writer;
    const char *path;
    mode_t mode;
    pt_out *out; /* standard output; NULL: a file */
    bool open;
} one_file;

static pt_out *open_one(void *context, const char *suffix, pt_error *reterr)
{
    one_file *const file = context;
    if (file->open || suffix[0] != '\0') {
        pt_error_set(reterr, PT_ERR_UNSUPPORTED, "a recording is written to one file");
        return NULL;
    }
    if (file->out != NULL) return file->out;
    if (pt_file_create(file->path, file->mode, &file->writer, reterr) != PT_OK) return NULL;
    file->open = true;
    return &file->writer.out;
}

static const pt_format *format_of(const char *path)
{
    const pt_format *format = pt_format_for_path(path);
    return format == NULL || format->write == NULL ? pt_format_find("pprof") : format;
}

/* Sets ->profile to the profile as the format can hold it: if the format has no addresses, the
 * profile gets names now, since no reader of the file can find the names later. Prints the
 * losses. */
static int fit_to_format(pt_cmd_context *context, const pt_profile *profile,
                         const pt_format *format)
{
    pt_profile_unref(context->profile);
    context->profile = pt_profile_ref(profile);
    if (!(format->capabilities & PT_CAN_ADDRESSES)) {
        if (context->pool == NULL) context->pool = pt_pool_new(0);
        const int status = pt_cmd_symbolize(context);
        if (status != PT_EXIT_OK) return status;
    }
    pt_diag losses;
    pt_diag_init(&losses);
    pt_format_losses(context->profile, format, &losses);
    pt_cmd_say_losses(&losses, format, "leaves out");
    pt_diag_done(&losses);
    return PT_EXIT_OK;
}

pt_status pt_record_write(void *cmd_context, const pt_profile *profile, const char *path,
                          mode_t mode, pt_error *reterr)
{
    pt_cmd_context *const context = cmd_context;
    const pt_format *format = format_of(path);
    if (fit_to_format(context, profile, format) != PT_EXIT_OK)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "%s: not written", path);
    one_file file = {
        .path = path, .mode = mode, .out = pt_record_to_stdout(path) ? context->out : NULL};
    const pt_output output = {.context = &file, .open = open_one};
    const pt_write_options options = {.event = PT_NONE, .diag = &context->diag};
    pt_status status = format->write(context->profile, &output, &options, reterr);
    if (status == PT_OK && file.out != NULL) return pt_out_flush(file.out, reterr);
    if (status == PT_OK && file.open) status = pt_out_flush(&file.writer.out, reterr);
    if (status == PT_OK && file.open) status = pt_file_keep_old(&file.writer, NULL, reterr);
    if (status == PT_OK && file.open) return pt_file_commit(&file.writer, true, reterr);
    if (file.open) pt_file_abandon(&file.writer);
    if (status != PT_OK && reterr->path[0] == '\0') pt_error_where(reterr, path, NULL, -1);
    return status;
}
