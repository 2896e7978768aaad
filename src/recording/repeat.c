/* repeat.c: makes several recordings one after the other, for `pitot diff`. See recording.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/signals.h"
#include "recording/recording.h"
#include "terminal/message.h"

static char *run_name(const char *output, int64_t number)
{
    PT_FREE char *part = pt_strf("%lld", (long long)number);
    return pt_record_name_part(output, part);
}

static int wait_for_run(pid_t pid, int64_t number)
{
    int status = 0;
    pid_t ended;
    pt_record_signals_pass_to(pid);
    if (pt_record_end_signal != 0)
        kill(pid, pt_record_end_signal); /* the signal came before the
                                          * child existed */
    do
        ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    pt_record_signals_pass_to(0);
    if (ended < 0) return PT_EXIT_FAILED;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    pt_say("the recorder of run %lld was ended by signal %d", (long long)number, WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

/* "pitot.1.pb.gz pitot.2.pb.gz" */
static char *run_names(const char *output, int64_t count)
{
    pt_buf names = PT_BUF_INIT;
    for (int64_t i = 1; i <= count; i++) {
        PT_FREE char *name = run_name(output, i);
        if (i > 1) pt_put_u8(&names, ' ');
        pt_put_quoted(&names, name);
    }
    pt_buf_text(&names);
    return pt_buf_take(&names, NULL);
}

int pt_record_repeat(pt_record_settings *settings,
                     int (*record)(void *context, pt_record_settings *settings), void *context)
{
    pt_record_signals before;
    int status = PT_EXIT_OK;
    pt_record_signals_take(true, &before);
    for (int64_t i = 1; i <= settings->repeat && status == PT_EXIT_OK && pt_record_end_signal == 0;
         i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            pt_record_signals_give_back(&before);
            settings->output = run_name(settings->output, i); /* until the process ends */
            return record(context, settings);
        }
        if (pid < 0) pt_say("run %lld: fork: %s", (long long)i, strerror(errno));
        status = pid < 0 ? PT_EXIT_FAILED : wait_for_run(pid, i);
        if (status != PT_EXIT_OK && i < settings->repeat)
            pt_say("run %lld of %lld ended with status %d: the other runs are not made",
                   (long long)i, (long long)settings->repeat, status);
    }
    pt_record_signals_give_back(&before);
    if (status == PT_EXIT_OK && pt_record_end_signal != 0) {
        pt_say("stopped by signal %d (%s): the other runs are not made", (int)pt_record_end_signal,
               strsignal(pt_record_end_signal));
        status = 128 + pt_record_end_signal;
    }
    if (status != PT_EXIT_OK) return status;
    PT_FREE char *names = run_names(settings->output, settings->repeat);
    pt_say("next: pitot diff BEFORE... -- %s", names);
    return PT_EXIT_OK;
}
