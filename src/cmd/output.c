/* output.c: see output.h. */
#include "cmd/output.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/options.h"
#include "base/units.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "render/losses.h"
#include "transform/one_event.h"
#include "transform/private.h"

bool pt_cmd_writes_stdout(const pt_output_settings *settings)
{
    return settings->output == NULL || pt_cmd_is_stdout(settings->output);
}

const pt_profile *pt_cmd_shown(bool to_stdout, const pt_profile *profile)
{
    return to_stdout && isatty(STDOUT_FILENO) ? pt_profile_on_one_line(profile)
                                              : pt_profile_ref(profile);
}

int pt_cmd_mode(const pt_cmd_context *context, const char *text, mode_t *ret_mode)
{
    const size_t digits = strspn(text, "01234567");
    const unsigned long mode = strtoul(text, NULL, 8);
    const bool is_octal = digits > 0 && text[digits] == '\0' && mode <= 0777 && (mode & 0600) != 0;
    if (!is_octal && strcmp(text, "umask") != 0)
        return pt_cmd_usage(context, "--mode=%s: use an octal mode such as 0640, or umask", text);
    *ret_mode = is_octal ? (mode_t)mode : PT_MODE_USUAL;
    return PT_EXIT_OK;
}

static int no_such_format(const pt_cmd_context *context, const char *name)
{
    const char *near = pt_format_near(name);
    if (near != NULL)
        return pt_cmd_usage(context, "--to=%s: there is no such format; did you mean %s?", name,
                            near);
    return pt_cmd_usage(context, "--to=%s: there is no such format; `pitot formats` lists them",
                        name);
}

static int choose_format(const pt_cmd_context *context, const pt_output_settings *settings,
                         const char *otherwise, const pt_format **ret_format)
{
    const pt_format *format = NULL;
    if (settings->to != NULL) {
        format = pt_format_find(settings->to);
        if (format == NULL) return no_such_format(context, settings->to);
    } else if (!pt_cmd_writes_stdout(settings)) {
        format = pt_format_for_path(settings->output);
    }
    if (format == NULL && otherwise != NULL) format = pt_format_find(otherwise);
    if (format == NULL && settings->output != NULL)
        return pt_cmd_usage(context,
                            "%s: the name has no known ending; choose a format with --to=FORMAT",
                            settings->output);
    if (format == NULL)
        return pt_cmd_usage(context, "%s: name a file with -o FILE, or a format with --to=FORMAT",
                            context->command->name);
    if (format->write == NULL) {
        pt_say("%s can only be read; `pitot formats` lists the formats that can be written",
               format->name);
        return PT_EXIT_FAILED;
    }
    *ret_format = format;
    return PT_EXIT_OK;
}

/* Must addresses get names before the profile is written? Only if a reader of the format could not
 * name them later. */
static bool wants_names(const pt_cmd_context *context, const pt_format *format)
{
    if (!(context->command->needs & PT_OFFERS_SYMBOLS)) return false;
    const bool can_be_named_later =
        format->capabilities & PT_CAN_ADDRESSES &&
        (format->capabilities & PT_CAN_MAPPINGS || !(format->capabilities & PT_CAN_NAMES));
    return context->symbol->symbols != PT_SYMBOLS_AUTO || !can_be_named_later;
}

void pt_cmd_say_losses(const pt_diag *losses, const pt_format *format, const char *verb)
{
    if (losses->count == 0) return;
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    for (size_t i = 0; i < losses->count; i++) {
        pt_putf(&text, "%s", i > 0 ? ", " : "");
        pt_put_count_noun(&text, losses->facts[i].count, losses->facts[i].text);
    }
    pt_say("%s %s %s", format->name, verb, pt_buf_text(&text));
}

/* Prints the data of the profile that the format does not hold. With --strict, such losses are a
 * failure: returns PT_EXIT_FAILED. */
static int weigh_losses(const pt_cmd_context *context, const pt_diag *losses,
                        const pt_format *format)
{
    const bool refuse = context->input->strict && losses->count > 0;
    pt_cmd_say_losses(losses, format, refuse ? "would leave out" : "leaves out");
    if (!refuse) return PT_EXIT_OK;
    pt_say("nothing was written; without --strict it is written with these losses");
    return PT_EXIT_FAILED;
}

/* Writes the file that --losses names. */
static int write_losses(pt_cmd_context *context, const pt_output_settings *settings,
                        const pt_format *format, bool written, const pt_diag *losses,
                        const pt_diag *changes)
{
    pt_error error = PT_ERROR_INIT;
    pt_file_writer file;
    if (settings->losses == NULL) return PT_EXIT_OK;
    if (strcmp(settings->losses, "-") == 0) {
        pt_losses_json(context->out, format->name, written, losses, changes);
        return PT_EXIT_OK;
    }
    if (pt_file_create(settings->losses, PT_MODE_USUAL, &file, &error) != PT_OK)
        return pt_fail(&error);
    pt_losses_json(&file.out, format->name, written, losses, changes);
    if (pt_file_commit(&file, true, &error) != PT_OK) return pt_fail(&error);
    return PT_EXIT_OK;
}

/* The files to which one profile is written: FILE, or FILE.SUFFIX for each suffix that the format's
 * writer opens. */
typedef struct {
    pt_cmd_context *context;
    const pt_output_settings *settings;
    PT_VECTOR(pt_file_writer *) file; /* each allocated by itself: sinks point to writers */
} output_files;

static pt_out *open_file(void *opaque, const char *suffix, pt_error *reterr)
{
    output_files *files = opaque;
    if (pt_cmd_writes_stdout(files->settings)) {
        if (suffix[0] == '\0') return files->context->out;
        pt_error_set(reterr, PT_ERR_USAGE,
                     "this format needs several files; name them with -o FILE");
        return NULL;
    }
    /* A profile may be written to thousands of files: only the last is open. Of each other file
     * only a descriptor of its folder is open. */
    if (files->file.count > 0) pt_file_allow_most();
    if (files->file.count > 0 &&
        pt_file_end_bytes(files->file.items[files->file.count - 1], true, reterr) != PT_OK)
        return NULL;
    PT_FREE char *path = pt_strf("%s%s", files->settings->output, suffix);
    pt_file_writer *file = pt_alloc(1, sizeof *file);
    if (pt_file_create(path, files->settings->mode, file, reterr) != PT_OK) {
        free(file);
        return NULL;
    }
    PT_PUSH(files->file, file);
    return &file->out;
}

/* Renames every file to its final name or, after a failure, removes all files. */
static pt_status close_files(output_files *files, pt_status status, pt_error *reterr)
{
    const bool several = files->file.count > 1;
    for (size_t i = 0; i < files->file.count; i++) {
        PT_FREE pt_file_writer *file = files->file.items[i];
        PT_FREE char *path = pt_strdup(file->path);
        if (status != PT_OK)
            pt_file_abandon(file);
        else
            status = pt_file_commit(file, true, reterr);
        if (status == PT_OK && several) pt_say("wrote %s", path);
    }
    free(files->file.items);
    return status;
}

static bool ends_in_pb(const char *path)
{
    const size_t length = path != NULL ? strlen(path) : 0;
    return length > 3 && strcasecmp(path + length - 3, ".pb") == 0;
}

static int write_to(pt_cmd_context *context, const pt_output_settings *settings,
                    const pt_profile *profile, const pt_format *format, uint32_t event,
                    pt_diag *changes)
{
    const pt_write_options options = {
        .event = event,
        .raw = settings->raw || ends_in_pb(settings->output),
        .pool = context->pool,
        .diag = changes,
    };
    pt_error error = PT_ERROR_INIT;
    output_files files = {.context = context, .settings = settings};
    const pt_output output = {.context = &files, .open = open_file};
    if (!pt_cmd_writes_stdout(settings))
        pt_progress_begin(context->progress, PT_PROGRESS_TIME, 0, "writing %s", settings->output);
    pt_status status = format->write(profile, &output, &options, &error);
    pt_progress_end(context->progress);
    status = close_files(&files, status, &error);
    if (status == PT_OK || context->out->broken_pipe) return PT_EXIT_OK;
    if (error.path[0] == '\0' && !pt_cmd_writes_stdout(settings))
        pt_error_where(&error, settings->output, NULL, -1);
    return pt_fail(&error);
}

/* Writes the profile, unless a loss forbids it, and reports the losses. */
static int write_and_tell(pt_cmd_context *context, const pt_output_settings *settings,
                          const pt_profile *profile, const pt_format *format, uint32_t event)
{
    pt_diag losses, changes;
    pt_diag_init(&losses);
    pt_diag_init(&changes);
    pt_format_losses(profile, format, &losses);
    int status = weigh_losses(context, &losses, format);
    if (status == PT_EXIT_OK) {
        const pt_profile *ordered = settings->canonical ? pt_profile_canonical(profile) : NULL;
        status = write_to(context, settings, ordered != NULL ? ordered : profile, format, event,
                          &changes);
        pt_profile_unref(ordered);
        pt_diag_merge(&context->diag, &changes);
    }
    const int losses_status =
        write_losses(context, settings, format, status == PT_EXIT_OK, &losses, &changes);
    pt_diag_done(&losses);
    pt_diag_done(&changes);
    return status != PT_EXIT_OK ? status : losses_status;
}

int pt_cmd_write(pt_cmd_context *context, const pt_output_settings *settings,
                 const pt_profile *profile, const char *otherwise)
{
    const pt_format *format = NULL;
    int status = choose_format(context, settings, otherwise, &format);
    if (status != PT_EXIT_OK) return status;
    if (settings->losses != NULL && strcmp(settings->losses, "-") == 0 &&
        pt_cmd_writes_stdout(settings))
        return pt_cmd_usage(context, "--losses=-: standard output has the profile; name a file");
    if (wants_names(context, format)) {
        PT_BUG_IF(profile != context->profile);
        status = pt_cmd_symbolize(context);
        if (status != PT_EXIT_OK) return status;
        profile = context->profile;
    }
    PT_UNREF_PROFILE const pt_profile *clean = NULL;
    pt_error error = PT_ERROR_INIT;
    if (settings->no_private) {
        if (pt_without_private(profile, settings->keep_labels, &clean, &error) != PT_OK)
            return pt_fail(&error);
        profile = clean;
    }
    uint32_t event = PT_NONE;
    if (settings->event != NULL) {
        event = pt_profile_find_event(profile, settings->event);
        if (event == PT_NONE)
            return pt_cmd_usage(
                context, "--event=%s: the profile has no such event; `pitot info` lists its events",
                settings->event);
    }
    /* A format that holds addresses is binary: it is not written to a terminal. */
    if (pt_cmd_writes_stdout(settings) && isatty(STDOUT_FILENO) &&
        format->capabilities & PT_CAN_MAPPINGS)
        return pt_cmd_usage(
            context, "%s is a binary format; name a file with -o FILE, or redirect standard output",
            format->name);
    PT_UNREF_PROFILE const pt_profile *shown =
        pt_cmd_shown(pt_cmd_writes_stdout(settings), profile);
    if (event == PT_NONE || !(format->capabilities & PT_CAN_EVENTS))
        return write_and_tell(context, settings, shown, format, event);
    PT_UNREF_PROFILE const pt_profile *alone = pt_one_event(shown, event, &context->diag);
    return write_and_tell(context, settings, alone, format, PT_NONE);
}

void pt_cmd_say_page(pt_cmd_context *context, const char *path, uint64_t count, const char *things,
                     uint64_t bytes)
{
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    pt_putf(&line, "%s: ", path);
    pt_put_count(&line, (int64_t)count);
    pt_putf(&line, " %s, ", things);
    pt_put_value(&line, (int64_t)bytes, "bytes", NULL, PT_STYLE_SHORT);
    pt_put_text(&line, "; open it in a browser: xdg-open ");
    pt_put_quoted(&line, path);
    pt_put_u8(&line, '\n');
    pt_out_put(context->out, line.data, line.size);
}
