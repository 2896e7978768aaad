/* kernels_load FILE: loads the BPF programs of FILE, and prints the instructions that the kernel's
 * verifier followed in each, "NAME COUNT" a line. A program that the kernel refuses: "NAME refused:
 * " and the verifier's last words. */
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS_MAX = 16, LOG_BYTES = 1 << 20, STATISTICS = 4, CPUS = 16 };

static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level, (void)format, (void)arguments;
    return 0;
}

/* The end of what the verifier said, as one line. */
static const char *last_words(char *log)
{
    enum { BYTES = 400 };
    const size_t bytes = strlen(log);
    for (char *c = log; (c = strchr(c, '\n')) != NULL;)
        *c = ' ';
    return log + (bytes > BYTES ? bytes - BYTES : 0);
}

int main(int argc, char **argv)
{
    static char logs[PROGRAMS_MAX][LOG_BYTES];
    struct bpf_program *program = NULL;
    int count = 0;
    libbpf_set_print(print_nothing);
    struct bpf_object *const object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
    if (object == NULL) return 2;
    bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "cpus"), CPUS);
    while ((program = bpf_object__next_program(object, program)) != NULL && count < PROGRAMS_MAX) {
        bpf_program__set_log_level(program, STATISTICS);
        bpf_program__set_log_buf(program, logs[count++], LOG_BYTES);
    }
    const int error = bpf_object__load(object);
    count = 0;
    while ((program = bpf_object__next_program(object, program)) != NULL && count < PROGRAMS_MAX) {
        char *const log = logs[count++];
        const char *const statistics = strstr(log, "processed ");
        if (bpf_program__fd(program) >= 0 && statistics != NULL)
            printf("%s %ld\n", bpf_program__name(program), strtol(statistics + 10, NULL, 10));
        else
            printf("%s refused: %s\n", bpf_program__name(program), last_words(log));
    }
    return error != 0;
}
