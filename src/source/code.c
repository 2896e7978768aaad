/* code.c: see code.h. */
#include "source/code.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/claim.h"
#include "base/clock.h"
#include "base/place.h"
#include "base/text.h"

#define TEXT_BYTES_MAX (UINT64_C(256) << 20)
#define CLOCK_SLACK_NS INT64_C(2000000000)

static const char *root_of(const pt_source_options *options)
{
    return options->root != NULL ? options->root : "";
}

/* Reads a file of the kernel or of perf's cache; frees path. */
static bool read_owned(char *path, pt_blob *ret_blob)
{
    PT_CLOSE int fd = pt_open_regular(path, NULL);
    const bool ok =
        fd >= 0 && pt_file_read_fd(fd, path, 0, TEXT_BYTES_MAX, ret_blob, NULL) == PT_OK;
    free(path);
    return ok;
}

/* ---- the kernel ---- */

void pt_source_kernel_id(const pt_source_options *options, char id[PT_KERNEL_ID_BYTES])
{
    PT_AUTO(pt_blob) notes = PT_BLOB_INIT;
    id[0] = '\0';
    if (!read_owned(pt_strf("%s/sys/kernel/notes", root_of(options)), &notes)) return;
    const uint16_t one = 1;
    const bool is_big_endian = *(const uint8_t *)&one == 0;
    pt_elf_id_hex(pt_elf_build_id_in_notes(notes.data, notes.size, 4, is_big_endian), id,
                  PT_KERNEL_ID_BYTES);
}

static pt_status names_of_running_kernel(const pt_source_options *options, pt_code_names *ret_names,
                                         pt_error *reterr)
{
    PT_AUTO(pt_blob) symbols = PT_BLOB_INIT, modules = PT_BLOB_INIT;
    if (!read_owned(pt_strf("%s/proc/kallsyms", root_of(options)), &symbols))
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "/proc/kallsyms is unreadable");
    read_owned(pt_strf("%s/proc/modules", root_of(options)), &modules);
    const pt_status status =
        pt_kallsyms_read((const char *)symbols.data, symbols.size, (const char *)modules.data,
                         modules.size, ret_names, reterr);
    return status;
}

static bool names_kept_by_perf(const pt_source_options *options, const char *id,
                               pt_code_names *ret_names)
{
    PT_AUTO(pt_blob) symbols = PT_BLOB_INIT;
    if (options->perf_dir == NULL || strlen(id) < 4 ||
        !read_owned(pt_strf("%s/.build-id/%.2s/%s/kallsyms", options->perf_dir, id, id + 2),
                    &symbols))
        return false;
    const pt_status status =
        pt_kallsyms_read((const char *)symbols.data, symbols.size, NULL, 0, ret_names, NULL);
    return status == PT_OK;
}

pt_status pt_source_kernel_names(const pt_source_search *search, const char *build_id,
                                 int64_t start_ns, pt_code_names *ret_names, pt_error *reterr)
{
    char running[PT_KERNEL_ID_BYTES];
    /* Did the recording begin after the machine started? */
    const bool is_of_this_boot =
        search->options->is_this_boot ||
        (start_ns > 0 &&
         start_ns + CLOCK_SLACK_NS >= pt_clock_ns(CLOCK_REALTIME) - pt_clock_ns(CLOCK_BOOTTIME));
    pt_source_kernel_id(search->options, running);
    const bool is_other =
        build_id[0] != '\0' && running[0] != '\0' && strcmp(build_id, running) != 0;
    const bool is_same = build_id[0] != '\0' && running[0] != '\0' && !is_other;
    if (!is_other && (is_of_this_boot || (start_ns == 0 && is_same)))
        return names_of_running_kernel(search->options, ret_names, reterr);
    if (names_kept_by_perf(search->options, build_id, ret_names)) return PT_OK;
    if (is_other)
        return pt_error_set(reterr, PT_ERR_NOTFOUND,
                            "the running kernel has build id %s, the profile's had %s", running,
                            build_id);
    if (start_ns > 0)
        return pt_error_set(
            reterr, PT_ERR_NOTFOUND,
            "the profile is older than this boot, and the kernel's addresses change at boot");
    return pt_error_set(reterr, PT_ERR_NOTFOUND,
                        "the profile has neither its time nor its kernel's build id");
}

bool pt_source_find_vmlinux(const pt_source_search *search, const char *build_id,
                            pt_image_file *ret_file)
{
    static const char *const places[] = {
        "%s/usr/lib/debug/boot/vmlinux-%s", "%s/usr/lib/debug/lib/modules/%s/vmlinux",
        "%s/boot/vmlinux-%s", "%s/lib/modules/%s/vmlinux", "%s/lib/modules/%s/build/vmlinux"};
    struct utsname name;
    pt_source_options here = *search->options;
    const pt_source_search quiet = {.options = &here};
    if (build_id[0] == '\0' || uname(&name) != 0) return false;
    here.debuginfod = NULL;
    for (size_t i = 0; i < PT_COUNT(places); i++) {
        PT_FREE char *path = pt_strf(places[i], root_of(search->options), name.release);
        if (access(path, R_OK) == 0 &&
            pt_source_find_image(&quiet, path, build_id, ret_file, NULL) == PT_OK)
            return true;
    }
    return pt_source_find_image(search, "[vmlinux]", build_id, ret_file, NULL) == PT_OK;
}

/* ---- just-in-time compilers ---- */

/* The process's pid in its own namespace (proc(5), NSpid), which it uses in file names. */
static int64_t pid_inside(int64_t pid)
{
    PT_FREE char *path = pt_strf("/proc/%lld/status", (long long)pid);
    FILE *status = fopen(path, "re");
    char line[256];
    long long inside = pid;
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (!pt_begins(line, "NSpid:")) continue;
        char *last = line + 6, *state = NULL;
        for (char *word = strtok_r(line + 6, " \t\n", &state); word != NULL;
             word = strtok_r(NULL, " \t\n", &state))
            last = word;
        if (atoll(last) > 0) inside = atoll(last);
    }
    if (status != NULL) fclose(status);
    return inside;
}

/* A search for the files that a compiler wrote for one process. */
typedef struct {
    const pt_source_search *search;
    int64_t pid, user; /* user: -1, unknown */
} claims;

/* Reads the file if it is accepted. root: of the process, or NULL for this process's. */
static bool read_claim(const claims *c, const char *root, const char *path, pt_blob *ret_blob)
{
    char *refusal;
    PT_CLOSE int fd = pt_claim_open(root, path, c->user, &refusal);
    PT_FREE char *why = refusal;
    if (why != NULL)
        pt_diag_add(c->search->diag, 1, "maps of compilers not used: %s: %s", path, why);
    return fd >= 0 && pt_file_read_fd(fd, path, 0, TEXT_BYTES_MAX, ret_blob, NULL) == PT_OK;
}

static bool try_dump(const claims *c, const char *root, const char *path, pt_code_names *ret_names)
{
    PT_AUTO(pt_blob) dump = PT_BLOB_INIT;
    if (!read_claim(c, root, path, &dump)) return false;
    return pt_jitdump_read(dump.data, dump.size, ret_names, NULL) == PT_OK;
}

static bool try_map(const claims *c, const char *root, const char *path, pt_code_names *ret_names)
{
    PT_AUTO(pt_blob) map = PT_BLOB_INIT;
    if (!read_claim(c, root, path, &map)) return false;
    return pt_perf_map_read((const char *)map.data, map.size, ret_names, NULL) == PT_OK;
}

/* Searches the dumps of perf's agents: ~/.debug/jit/java-jit-20260101.../jit-PID.dump. */
static bool try_perf_dumps(const claims *c, long long pid, pt_code_names *ret_names)
{
    const char *const perf_dir = c->search->options->perf_dir;
    if (perf_dir == NULL) return false;
    PT_FREE char *pattern = pt_strf("%s/jit/*/jit-%lld.dump", perf_dir, pid);
    glob_t found = {0};
    bool ok = false;
    if (glob(pattern, 0, NULL, &found) == 0) /* Names end in the date: the latest is last. */
        for (size_t i = found.gl_pathc; i > 0 && !ok; i--)
            ok = try_dump(c, NULL, found.gl_pathv[i - 1], ret_names);
    globfree(&found);
    return ok;
}

static bool find_dump(const claims *c, const char *dump_path, long long inside,
                      pt_code_names *ret_dump)
{
    const char *const root = root_of(c->search->options);
    PT_FREE char *process_root = pt_strf("/proc/%lld/root", (long long)c->pid);
    PT_FREE char *mapped = dump_path != NULL ? pt_strf("%s%s", root, dump_path) : NULL;
    PT_FREE char *usual = pt_strf("%s/tmp/jit-%lld.dump", root, (long long)c->pid);
    PT_FREE char *here = pt_strf("jit-%lld.dump", inside);
    PT_FREE char *below = pt_strf("/tmp/jit-%lld.dump", inside);
    return (dump_path != NULL && (try_dump(c, NULL, mapped, ret_dump) ||
                                  try_dump(c, process_root, dump_path, ret_dump))) ||
           try_dump(c, NULL, usual, ret_dump) || try_dump(c, NULL, here, ret_dump) ||
           try_dump(c, process_root, below, ret_dump) || try_perf_dumps(c, inside, ret_dump);
}

static bool find_map(const claims *c, long long inside, pt_code_names *ret_map)
{
    PT_FREE char *process_root = pt_strf("/proc/%lld/root", (long long)c->pid);
    PT_FREE char *usual =
        pt_strf("%s/tmp/perf-%lld.map", root_of(c->search->options), (long long)c->pid);
    PT_FREE char *below = pt_strf("/tmp/perf-%lld.map", inside);
    return try_map(c, NULL, usual, ret_map) || try_map(c, process_root, below, ret_map);
}

bool pt_source_jit_names(const pt_source_search *search, int64_t pid, int64_t user,
                         const char *dump_path, pt_code_names *ret_dump, pt_code_names *ret_map)
{
    const claims c = {.search = search, .pid = pid, .user = user};
    const long long inside = pid_inside(pid);
    *ret_dump = *ret_map = (pt_code_names){0};
    const bool has_dump = find_dump(&c, dump_path, inside, ret_dump);
    const bool has_map = find_map(&c, inside, ret_map);
    if (!has_dump) *ret_dump = (pt_code_names){0};
    if (!has_map) *ret_map = (pt_code_names){0};
    return has_dump || has_map;
}
