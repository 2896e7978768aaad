/* output.c: writes a report's bytes to standard output, a file or a viewer. */
#include "personality/pprof/pprof.h"

#include "base/file.h"
#include "base/text.h"
#include "picture/graphviz.h"
#include "terminal/message.h"
#include "terminal/viewer.h"

#include <stdlib.h>
#include <unistd.h>

/* Writes all to the descriptor. */
static pt_status write_all(int fd, const pt_buf *bytes, const char *name, pt_error *reterr)
{
    pt_out out;
    pt_out_to_fd(&out, fd);
    pt_out_put(&out, bytes->data, bytes->size);
    pt_error error = PT_ERROR_INIT;
    if (pt_out_done(&out, &error) == PT_OK || out.broken_pipe) return PT_OK;
    return pt_error_set(reterr, error.status, "write %s: %s", name, error.message);
}

/* Sets Go's message for a file that cannot be opened or written. */
static pt_status file_error(const char *path, const pt_error *error, pt_error *reterr)
{
    static const char opening[] = "cannot create: ", writing[] = "cannot write: ";
    const char *why = error->message;
    const bool is_writing = pt_begins(why, writing);
    if (is_writing)
        why += sizeof writing - 1;
    else if (pt_begins(why, opening))
        why += sizeof opening - 1;
    return pt_error_set(reterr, error->status, "%s %s: %s", is_writing ? "write" : "open", path,
                        why);
}

/* Writes the first of profile001.TYPE, profile002.TYPE, ... that does not exist in the current
 * folder. */
static pt_status write_numbered(const char *type, const pt_buf *bytes, pt_error *reterr)
{
    for (int number = 1; number < 10000; number++) {
        PT_FREE char *name = pt_strf("profile%03d.%s", number, type);
        bool is_taken;
        pt_error error = PT_ERROR_INIT;
        const pt_status status =
            pt_file_add(name, PT_MODE_USUAL, bytes->data, bytes->size, &is_taken, &error);
        if (is_taken) continue;
        if (status != PT_OK) return file_error(name, &error, reterr);
        pt_print_error("Generating report in %s\n", name);
        return PT_OK;
    }
    return pt_error_set(reterr, PT_ERR_SYSTEM, "could not create file of the form profileNNN.%s",
                        type);
}

static pt_status put_report(const pt_pprof_command *command, const char *path, bool interactive,
                            const pt_buf *report, pt_error *reterr)
{
    if (path[0] != '\0') {
        pt_print_error("Generating report in %s\n", path);
        pt_error error = PT_ERROR_INIT;
        if (pt_file_replace(path, report->data, report->size, &error) == PT_OK) return PT_OK;
        return file_error(path, &error, reterr);
    }
    if (command->viewer != NULL)
        return pt_view(command->viewer, report,
                       command->graphviz != NULL             ? command->graphviz
                       : command->format == PT_PPROF_WEBLIST ? "html"
                                                             : "callgraph.out",
                       interactive, reterr);
    if (command->file_suffix != NULL && (interactive || isatty(STDOUT_FILENO)))
        return write_numbered(command->file_suffix, report, reterr);
    return write_all(STDOUT_FILENO, report, "standard output", reterr);
}

bool pt_pprof_shows(const pt_pprof_command *command, const pt_pprof_config *config)
{
    return (config->output == NULL || config->output[0] == '\0') && command->viewer == NULL &&
           command->graphviz == NULL && command->file_suffix == NULL && isatty(STDOUT_FILENO);
}

pt_status pt_pprof_deliver(const pt_pprof_command *command, const pt_pprof_config *config,
                           bool interactive, const pt_buf *report, pt_error *reterr)
{
    const char *path = config->output != NULL ? config->output : "";
    PT_AUTO(pt_buf) picture = PT_BUF_INIT;
    if (command->graphviz != NULL) {
        const pt_status status = pt_graphviz(report, command->graphviz, PT_ENGINE_AUTO,
                                             getenv("PATH"), NULL, &picture, NULL, reterr);
        if (status != PT_OK) return status;
        report = &picture;
    }
    return put_report(command, path, interactive, report, reterr);
}
