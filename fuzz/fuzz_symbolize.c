/* fuzz_symbolize.c: any lines as the standard input of `pitot symbolize`, in every style, on any
 * image.
 *
 *   lines | image | bytes of the image u16, little-endian | choices u8
 */
#include "cmd/options.h"
#include "memory_files.h"
#include "reports_check.h"

extern const pt_command pt_command_symbolize;

enum { WORDS_MAX = 8 };

/* The command on standard input, as run.c runs it, without what it keeps on disk. */
static int run_command(const char *const *words, size_t count, pt_buf *report)
{
    static pt_place_settings place;
    static pt_symbol_settings symbol;
    static pt_common_settings common;
    pt_out out;
    pt_cmd_context context = {.command = &pt_command_symbolize,
                              .out = &out,
                              .common = &common,
                              .symbol = &symbol,
                              .place = &place,
                              .resident = true};
    void *settings = pt_alloc(1, pt_command_symbolize.settings_bytes);
    pt_command_options o;
    pt_option_list operands = {0};
    pt_error error = PT_ERROR_INIT;
    int status = PT_EXIT_USAGE;
    pt_out_to_buf(&out, report);
    pt_command_options_init(&o, &pt_command_symbolize, settings, &context);
    pt_options_init(&o.options);
    if (pt_options_parse(&o.options, words, count, &operands, &error) != PT_OK)
        fuzz_fail("options", error.message);
    status = pt_command_symbolize.run(&context, settings);
    free(operands.items);
    pt_options_done(&o.options);
    free(settings);
    pt_out_done(&out, NULL);
    pt_diag_done(&context.diag);
    pt_pool_free(context.pool);
    return status;
}

static size_t choose_words(uint8_t choices, const char *image_path, const char **words)
{
    static const char *const styles[] = {"--output-style=LLVM", "--output-style=GNU",
                                         "--output-style=JSON", "--output-style=addr2line"};
    size_t count = 0;
    words[count++] = styles[choices % 4];
    words[count++] = "--threads=1";
    if (choices & 4) words[count++] = "--basenames";
    if (choices & 8) words[count++] = "--addresses";
    if (choices & 16) words[count++] = "--relative-address";
    if (choices & 32) words[count++] = "--demangle";
    if (choices & 64) return count; /* lines name their files */
    words[count++] = "-e";
    words[count++] = image_path;
    return count;
}

/* The text is standard input while the command runs. */
static int ask(const uint8_t *text, size_t size, const char *const *words, size_t count,
               pt_buf *report)
{
    char path[64];
    const int input = put_file("input", text, size, path, sizeof path);
    const int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    lseek(input, 0, SEEK_SET);
    if (dup2(input, STDIN_FILENO) < 0) fuzz_fail("input", "not redirected");
    const int status = run_command(words, count, report);
    if (kept >= 0) {
        dup2(kept, STDIN_FILENO);
        close(kept);
    }
    close(input);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    two_files files;
    if (!split_files(data, size, &files)) return 0;
    char image_path[64];
    const int image =
        put_file("image", files.image, files.image_bytes, image_path, sizeof image_path);
    const char *words[WORDS_MAX];
    const size_t count = choose_words(files.choice, image_path, words);
    pt_buf report = PT_BUF_INIT, said = PT_BUF_INIT;
    pt_say_into(&said);
    ask(data, files.other_bytes, words, count, &report);
    pt_say_into(NULL);
    pt_buf_done(&report);
    pt_buf_done(&said);
    close(image);
    return 0;
}
