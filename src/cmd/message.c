/* message.c: what the command line says on standard error. */
#include <stdarg.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "render/text.h"

static _Thread_local pt_buf *heard;

void pt_cmd_hear(pt_buf *into)
{
    heard = into;
}

/* Messages quote names from files and arguments: control characters must not reach a terminal. */
static void say(const char *format, va_list args)
{
    if (heard != NULL) {
        pt_vputf(heard, format, args);
        pt_put_u8(heard, '\n');
        return;
    }
    pt_buf line = PT_BUF_INIT;
    pt_put_text(&line, "pitot: ");
    pt_vputf(&line, format, args);
    fflush(stderr);
    pt_out err;
    pt_out_to_fd(&err, 2);
    pt_text_put(&err, pt_buf_text(&line), 0);
    pt_out_char(&err, '\n');
    pt_out_done(&err, NULL);
    pt_buf_done(&line);
}

void pt_cmd_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

int pt_cmd_fail(const pt_error *error)
{
    char text[1200];
    pt_error_text(error, text, sizeof text);
    pt_cmd_say("%s", text);
    return error->status == PT_ERR_USAGE ? PT_EXIT_USAGE : PT_EXIT_FAILED;
}

int pt_cmd_usage(const pt_cmd_context *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    if (context->command != NULL && heard == NULL)
        pt_cmd_say("`pitot help %s` shows how it is used", context->command->name);
    return PT_EXIT_USAGE;
}
