/* fuzz_perl.c: an image and a profile, whatever they are, in the reports of the Perl pprof: the
 * whole personality, on files that lie in memory.
 *
 *   profile | image | bytes of the image u16, little-endian | report u8
 *
 * What brings its symbols needs no image.
 */
#include "memory_files.h"
#include "personality/perl/perl.h"
#include "reports_check.h"

static const char *const reports[][2] = {
    {"--text"},
    {"--text", "--lines"},
    {"--text", "--stacks"},
    {"--text", "--files"},
    {"--raw"},
    {"--collapsed"},
    {"--callgrind"},
    {"--dot"},
    {"--dot", "--lines"},
    {"--text", "--addresses"},
    {"--text", "--focus=main"},
    {"--dot", "--maxdegree=2"},
};

static void run_report(const char *const *words, size_t count, bool is_dot)
{
    pt_buf printed = PT_BUF_INIT, said = PT_BUF_INIT;
    pt_say_into(&said);
    silence s = be_silent();
    const int status = pt_perl_main(words, count);
    be_loud(&s, &printed);
    pt_say_into(NULL);
    if (status == PT_EXIT_OK && is_dot) check_dot(&printed);
    pt_buf_done(&printed);
    pt_buf_done(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    two_files files;
    if (!split_files(data, size, &files)) return 0;
    const size_t which = files.choice % (sizeof reports / sizeof reports[0]);
    char image_path[64], profile_path[64];
    const int image = put_file("image", files.image, files.image_bytes, image_path, 64);
    const int profile = put_file("profile", data, files.other_bytes, profile_path, 64);
    const char *words[4];
    size_t count = 0;
    for (size_t i = 0; i < 2 && reports[which][i] != NULL; i++)
        words[count++] = reports[which][i];
    if (!pt_perl_is_symbolized(profile_path)) words[count++] = image_path;
    words[count++] = profile_path;
    run_report(words, count, strcmp(reports[which][0], "--dot") == 0);
    close(image);
    close(profile);
    return 0;
}
