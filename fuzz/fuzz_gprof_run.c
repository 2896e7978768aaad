/* fuzz_gprof_run.c: an image and a profile, whatever they are, in the reports of gprof: the whole
 * personality, on files that lie in memory. fuzz_gprof.c goes through its parts faster.
 *
 *   profile | image | bytes of the image u16, little-endian | report u8
 */
#include "cmd/cmd.h"
#include "memory_files.h"
#include "reports_check.h"

enum { WORDS_MAX = 3 };

static const char *const reports[][WORDS_MAX] = {
    {"-b"},
    {"-p", "-q"},
    {"-l", "-b"},
    {"-C"},
    {"-A", "-x"},
    {"--json"},
    {"-T", "-z"},
    {"-c", "-b"},
    {"--function-ordering"},
    {"-a", "-L", "-i"},
    {"-n", "main/f", "-b"},
    {"-E", "main", "-k"},
    {"-O", "bsd", "-b"},
    {"--debug", "-b"},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    two_files files;
    if (!split_files(data, size, &files)) return 0;
    const char *const *const report = reports[files.choice % (sizeof reports / sizeof reports[0])];
    char image_path[64], profile_path[64];
    const int image = put_file("image", files.image, files.image_bytes, image_path, 64);
    const int profile = put_file("profile", data, files.other_bytes, profile_path, 64);
    const char *words[WORDS_MAX + 2];
    size_t count = 0;
    while (count < WORDS_MAX && report[count] != NULL) {
        words[count] = report[count];
        count++;
    }
    words[count++] = image_path;
    words[count++] = profile_path;
    pt_buf printed = PT_BUF_INIT, said = PT_BUF_INIT;
    pt_say_into(&said);
    silence s = be_silent();
    const int status = pt_command_find("gprof")->personality(words, count);
    be_loud(&s, &printed);
    pt_say_into(NULL);
    if (status == PT_EXIT_OK && strcmp(words[0], "--json") == 0) check_json(&printed);
    close(image);
    close(profile);
    pt_buf_done(&printed);
    pt_buf_done(&said);
    return 0;
}
