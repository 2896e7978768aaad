/* output.c: texts of a command line, and the name of a recording's file. See recording.h. */
#include <errno.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "recording/recording.h"

char *pt_record_command_text(const char *const *args, size_t count)
{
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) pt_put_u8(&text, ' ');
        pt_put_quoted(&text, args[i]);
    }
    pt_buf_text(&text);
    return pt_buf_take(&text, NULL);
}

char *pt_record_name_part(const char *output, const char *part)
{
    const char *const slash = strrchr(output, '/');
    const char *const name = slash != NULL ? slash + 1 : output;
    const size_t stem =
        (size_t)(name - output) + strcspn(name + (name[0] == '.'), ".") + (name[0] == '.');
    return pt_strf("%.*s.%s%s", (int)stem, output, part, output + stem);
}

bool pt_record_to_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

pt_status pt_record_can_write(const char *path, pt_error *reterr)
{
    struct stat is;
    if (pt_record_to_stdout(path) && isatty(STDOUT_FILENO))
        return pt_error_set(
            reterr, PT_ERR_USAGE,
            "a profile is binary; name a file with -o FILE, or redirect standard output");
    if (pt_record_to_stdout(path)) return PT_OK;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return pt_error_set(reterr, PT_ERR_USAGE, "%s is a folder; name a file with -o", path);
    PT_FREE char *copy = pt_strdup(path);
    const char *folder = dirname(copy);
    if (access(folder, W_OK | X_OK) == 0) return pt_file_may_create(path, reterr);
    const int why = errno;
    return pt_error_errno(
        reterr, why, "%s cannot be written, nothing is recorded; name another place with -o: %s",
        path, folder);
}
