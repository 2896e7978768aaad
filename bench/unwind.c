/* unwind WALKER DEPTH FRAMES: walks a stack without frame pointers from a signal handler again and
 * again, until so many million frames are walked; the stack has DEPTH calls of four kinds.
 *
 *   table     pitot's tables, with a thread's cache of rules
 *   search    pitot's tables, searched anew for each frame
 *   unw-step  libunwind, a step a frame, from the signal's context: as libprofiler does
 *   unw       libunwind's unw_backtrace, its own cache
 *   glibc     backtrace(), which is libgcc's unwinder
 *
 * compile FILE TIMES: the unwind table of a file, made so many times; frames FILE TIMES: of its
 * call frame information only, not of code that has none. Prints what was done.
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "unwind_deep.h"
#include "unwind_maker.h"

#ifdef PT_WITH_LIBUNWIND
#include <libunwind.h>
#endif

enum { MOST = 1024 };

static made_process process;
static pt_unwind_cache cache;
static pt_unwind_limits limits;
static uint64_t frames, wanted;
static const char *walker;

/* libunwind defines a backtrace of its own. */
static int (*glibc_backtrace)(void **pcs, int most);

static uint64_t by_table(const void *context, pt_unwind_cache *with)
{
    uint64_t regs[PT_MACHINE_REGS_MAX], pcs[MOST];
    pt_unwind_state state;
    pt_unwind_end end;
    state_of_context(context, regs, &state);
    return pt_unwind(&state, &process.all, &limits, with, pcs, MOST, &end);
}

#ifdef PT_WITH_LIBUNWIND
static uint64_t by_steps(void *context)
{
    unw_cursor_t cursor;
    unw_word_t pc;
    uint64_t count = 0;
    if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) != 0) return 0;
    do {
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        count++;
    } while (unw_step(&cursor) > 0);
    return count;
}
#endif

static uint64_t walk(void *context)
{
    void *pcs[MOST];
    if (strcmp(walker, "table") == 0) return by_table(context, &cache);
    if (strcmp(walker, "search") == 0) return by_table(context, NULL);
    if (strcmp(walker, "glibc") == 0) return (uint64_t)glibc_backtrace(pcs, MOST);
#ifdef PT_WITH_LIBUNWIND
    if (strcmp(walker, "unw-step") == 0) return by_steps(context);
    if (strcmp(walker, "unw") == 0) return (uint64_t)unw_backtrace(pcs, MOST);
#endif
    fprintf(stderr, "unwind: this build has no walker '%s'\n", walker);
    exit(2);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    while (frames < wanted)
        frames += walk(context);
}

static int compile(const char *path, int times, bool is_frames_only)
{
    made_table table = {0};
    for (int i = 0; i < times; i++) {
        if (i > 0) free_table(&table);
        if (!(is_frames_only ? make_table_of_frames : make_table_of_file)(path, &table)) {
            fprintf(stderr, "unwind: %s: it cannot be read, or has no frames\n", path);
            return 1;
        }
    }
    printf("%s: %zu bytes of frames, table %zu (%.2f)\n", path, table.eh_frame_bytes,
           table.blob_bytes, (double)table.blob_bytes / (double)table.eh_frame_bytes);
    free_table(&table);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    const bool is_frames_only = strcmp(argv[1], "frames") == 0;
    if (is_frames_only || strcmp(argv[1], "compile") == 0)
        return compile(argv[2], atoi(argv[3]), is_frames_only);
    const struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    void *const libc = dlopen("libc.so.6", RTLD_NOW);
    if (libc != NULL) *(void **)&glibc_backtrace = dlsym(libc, "backtrace");
    walker = argv[1];
    wanted = strtoull(argv[3], NULL, 10) * 1000000;
    make_process(&process);
    limits = limits_of_thread();
    sigaction(SIGUSR1, &action, NULL);
    unwind_deep(atoi(argv[2]));
    printf("%s: %llu frames\n", walker, (unsigned long long)frames);
    free_process(&process);
    return 0;
}
