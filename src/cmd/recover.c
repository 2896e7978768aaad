/* recover.c: pitot recover: makes a profile that all tools read from the journal of a killed
 * program, or from the folder of a killed recorder.
 *
 * While a program runs, its journal has the name of the profile that libprofiler.so.0 will write at
 * the end. After a ProfilerFlush, which writes the profile, the journal's name is NAME.journal. A
 * killed program leaves its journal under that name. pitot reads journals; gperftools' and Go's
 * pprof do not.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/reader.h"
#include "base/units.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "formats/journal.h"
#include "recording/recording.h"

typedef struct {
    pt_output_settings output;
    const char *mode;
} recover_settings;

static const pt_option recover_rows[] = {
    PT_OUTPUT_ROWS(recover_settings),
    PT_MODE_ROW(recover_settings, mode),
};
static const pt_option_table recover_options = PT_OPTION_TABLE(recover_rows);

/* Reads the facts at the head of a journal. Fails with PT_ERR_FORMAT if the file is not a
 * journal. */
static pt_status read_facts(const char *path, pt_journal_facts *ret_facts, pt_error *reterr)
{
    PT_AUTO(pt_blob) blob = PT_BLOB_INIT;
    pt_status status = pt_file_read(path, PT_FILE_MAP, UINT64_MAX, &blob, reterr);
    if (status == PT_OK) {
        pt_reader reader;
        pt_reader_init(&reader, blob.data, blob.size, reterr);
        status = pt_journal_read_facts(&reader, ret_facts, reterr);
        if (!pt_blob_intact(&blob)) status = pt_error_set(reterr, PT_ERR_DAMAGED, PT_FILE_SHRANK);
        if (status != PT_OK) pt_error_where(reterr, path, NULL, -1);
    }
    return status;
}

/* Is the file open in one of the descriptors of this folder (/proc/PID/task/TID/fd)? */
static bool is_among(const char *descriptors, const struct stat *file)
{
    bool found = false;
    DIR *const dir = opendir(descriptors);
    const struct dirent *entry;
    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        struct stat st;
        found = fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) &&
                st.st_ino == file->st_ino && st.st_dev == file->st_dev;
    }
    if (dir != NULL) closedir(dir);
    return found;
}

/* Does a thread of the process still have the file open? The descriptors of each thread are read,
 * since the library's thread has a table of descriptors of its own. */
static bool is_written_by(uint32_t pid, const char *path)
{
    struct stat st;
    bool found = false;
    if (stat(path, &st) != 0) return false;
    PT_FREE char *threads = pt_strf("/proc/%" PRIu32 "/task", pid);
    DIR *const dir = opendir(threads);
    const struct dirent *entry;
    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        PT_FREE char *descriptors = pt_strf("%s/%s/fd", threads, entry->d_name);
        found = entry->d_name[0] != '.' && is_among(descriptors, &st);
    }
    if (dir != NULL) closedir(dir);
    return found;
}

/* A profile's name and the path of its journal. */
typedef struct {
    const char *name;
    const char *journal;
    char *beside; /* owns the text of `journal` if the journal lies next to the profile */
    pt_journal_facts facts;
} left_behind;

static pt_status find_journal(const char *name, left_behind *ret, pt_error *reterr)
{
    *ret = (left_behind){.name = name, .journal = name};
    pt_status status = read_facts(name, &ret->facts, reterr);
    if (status != PT_ERR_FORMAT) return status;
    pt_error other = PT_ERROR_INIT;
    char *const beside = pt_strf("%s.journal", name);
    if (read_facts(beside, &ret->facts, &other) == PT_OK) {
        ret->journal = ret->beside = beside;
        return PT_OK;
    }
    free(beside);
    return status;
}

static int recover_one(pt_cmd_context *context, const recover_settings *settings,
                       const left_behind *left)
{
    pt_output_settings output = settings->output;
    const bool in_place = output.output == NULL;
    pt_error error = PT_ERROR_INIT;
    if (in_place && is_written_by(left->facts.pid, left->journal)) {
        pt_say(
            "%s: process %" PRIu32
            " (%s) is still writing this journal; -o FILE makes a profile of its present contents",
            left->journal, left->facts.pid, left->facts.comm);
        return PT_EXIT_FAILED;
    }
    const pt_load_options load = {.strict = context->input->strict, .pool = context->pool};
    PT_AUTO(pt_loaded) loaded = {0};
    int status = PT_EXIT_OK;
    if (pt_load(&left->journal, 1, &load, &loaded, &error) != PT_OK) {
        status = pt_fail(&error);
    } else {
        if (in_place) output.output = left->name;
        pt_cmd_say_damage(&loaded);
        status = pt_cmd_write(context, &output, loaded.profile, "gperftools");
        if (status == PT_EXIT_OK && !pt_cmd_writes_stdout(&output))
            pt_outf(context->out, "%s: %s samples of process %" PRIu32 " (%s)\n", output.output,
                    pt_count_of(pt_profile_total(loaded.profile, 0)).text, left->facts.pid,
                    left->facts.comm);
        if (status == PT_EXIT_OK && in_place && left->beside != NULL) unlink(left->beside);
        if (status == PT_EXIT_OK && loaded.damaged_count > 0) status = PT_EXIT_DAMAGED;
    }
    return status;
}

static bool is_any_written(const pt_folder_journals *left)
{
    bool is_any = false;
    for (size_t i = 0; i < left->count && !is_any; i++) {
        pt_journal_facts facts;
        pt_error error = PT_ERROR_INIT;
        is_any = read_facts(left->items[i], &facts, &error) == PT_OK &&
                 is_written_by(facts.pid, left->items[i]);
    }
    return is_any;
}

/* Recovers a recording whose recorder was killed: makes one profile of its processes' journals and
 * removes the folder. */
static int recover_folder(pt_cmd_context *context, const recover_settings *settings,
                          const char *folder)
{
    pt_output_settings output = settings->output;
    pt_error error = PT_ERROR_INIT;
    PT_UNREF_PROFILE const pt_profile *profile = NULL;
    PT_AUTO(pt_folder_journals) left = {0};
    int status;
    if (output.output == NULL) output.output = "recovered.pb.gz";
    pt_folder_journals_find(folder, &left);
    if (left.count == 0) {
        pt_say("%s: the folder holds no recording%s", folder,
               pt_folder_remove_left(folder) ? "; it is removed" : "");
        status = PT_EXIT_FAILED;
    } else if (pt_cmd_read_recording(&left, &profile, &error) != PT_OK) {
        status = pt_fail(&error);
    } else {
        status = pt_cmd_write(context, &output, profile, "pprof");
        if (status == PT_EXIT_OK && !pt_cmd_writes_stdout(&output)) {
            pt_outf(context->out, "%s: %s, %s\n", output.output,
                    pt_count_noun(pt_profile_total(profile, 0), "samples").text,
                    pt_count_noun(left.count, "journals").text);
            if (is_any_written(&left) || !pt_folder_remove_left(folder))
                pt_say("%s is kept: some of its processes are still running", folder);
        }
    }
    return status;
}

static int recover_run(pt_cmd_context *context, void *own)
{
    recover_settings *const settings = own;
    int worst = PT_EXIT_OK;
    if (context->arg_count == 0)
        return pt_record_tell_cut_off(true) > 0
                   ? PT_EXIT_OK
                   : pt_cmd_usage(context, "recover: there is no killed recording; name a journal");
    if (context->arg_count > 1 && settings->output.output != NULL)
        return pt_cmd_usage(context,
                            "recover: -o is for one journal; `pitot merge` adds several up");
    const int checked = pt_cmd_mode(context, settings->mode, &settings->output.mode);
    if (checked != PT_EXIT_OK) return checked;
    for (size_t i = 0; i < context->arg_count; i++) {
        left_behind left = {0};
        pt_error error = PT_ERROR_INIT;
        const int status = pt_path_look(context->args[i]) == PT_PATH_FOLDER
                               ? recover_folder(context, settings, context->args[i])
                           : find_journal(context->args[i], &left, &error) == PT_OK
                               ? recover_one(context, settings, &left)
                               : pt_fail(&error);
        free(left.beside);
        if (status != PT_EXIT_OK && worst != PT_EXIT_FAILED) worst = status;
    }
    return worst;
}

const pt_command pt_command_recover = {
    PT_COMMAND(recover),
    .group = PT_GROUP_FILES,
    .summary = "make a profile of the journal of a killed program",
    .arguments = "[PROFILE|FOLDER...]",
    .description =
        "A killed program with libprofiler.so.0 leaves a journal under the name of the profile: "
        "all samples except those of the last tenth of a second. pitot's commands read the "
        "journal. For other tools recover replaces it with a gperftools profile, or a "
        "profile.proto if the name ends in .pb.gz or --to=pprof is given. -o writes to another "
        "file.\n\nIf a process is still writing the journal, recover changes nothing; with -o it "
        "writes a profile of the present contents.\n\nA killed pitot record leaves a folder. "
        "recover FOLDER writes one profile, recovered.pb.gz, and removes the folder. The next "
        "pitot record prints the name of the folder once; recover without arguments lists all such "
        "folders.",
    .examples = (const char *const[]){"pitot recover server.prof", "now google-pprof reads it, too",
                                      "pitot recover server.prof -o now.pb.gz",
                                      "the samples of a running program so far", NULL},
    .needs = PT_NEEDS_PROFILE | PT_LOADS_ITSELF,
    .max_args = SIZE_MAX,
};
