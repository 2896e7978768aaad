/* objdump.c: finds and runs objdump, and parses its output. */
#include "source/objdump.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/text.h"

#define MAX_OUTPUT_BYTES (UINT64_C(1) << 30)

/* ---- parsing its output ---- */

/* Texts that many lines share, each once. The texts of instructions stay in `output`. */
struct pt_objdump_texts {
    char **items;
    size_t count, cap;
    pt_index index;
    char *output;
};

static const char *shared_text(struct pt_objdump_texts *texts, const char *text, size_t size)
{
    if (size == 0) return "";
    const uint64_t hash = pt_hash_bytes(text, size);
    const uint32_t known =
        PT_INDEX_FIND(&texts->index, hash, i,
                      strncmp(texts->items[i], text, size) == 0 && texts->items[i][size] == '\0');
    if (known != PT_NONE) return texts->items[known];
    PT_GROW(*texts, texts->count + 1);
    texts->items[texts->count] = pt_strndup(text, size);
    pt_index_add(&texts->index, hash, (uint32_t)texts->count);
    return texts->items[texts->count++];
}

/* The number of hexadecimal digits at text; sets *ret_value. Too many: returns 0 and leaves
 * *ret_value unchanged. */
static size_t hex_prefix(const char *text, const char *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    bool fits = true;
    size_t n = 0;
    for (; text + n < end && pt_hex_digit(text[n]) >= 0; n++) {
        fits = fits && value <= UINT64_MAX >> 4;
        value = value << 4 | (uint64_t)pt_hex_digit(text[n]);
    }
    if (fits && n > 0) *ret_value = value;
    return fits ? n : 0;
}

/* Parses "  1139:  push %rbp": hexadecimal, a colon, space, and the rest. */
static bool read_instruction(const char *at, const char *end, uint64_t *ret_addr,
                             const char **ret_text)
{
    uint64_t addr = 0;
    const size_t digits = hex_prefix(at, end, &addr);
    if (digits == 0) return false;
    at += digits;
    if (at == end || *at != ':' || at + 1 == end || !pt_is_space(at[1])) return false;
    for (at++; at < end && pt_is_space(*at);)
        at++;
    *ret_addr = addr;
    *ret_text = at;
    return true;
}

/* Skips one semicolon and one space before a place or a name (LLVM's objdump). */
static const char *skip_mark(const char *at, const char *end)
{
    if (at < end && *at == ';') at++;
    if (at < end && pt_is_space(*at)) at++;
    return at;
}

/* Parses "PATH:12 (discriminator 3)", at the last colon before a digit. */
static bool read_place(const char *at, const char *end, const char **ret_colon, uint64_t *ret_line)
{
    at = skip_mark(at, end);
    for (const char *c = end; c-- > at;) {
        if (*c != ':' || c + 1 == end || c[1] < '0' || c[1] > '9') continue;
        uint64_t line = 0;
        for (const char *d = c + 1; d < end && *d >= '0' && *d <= '9' && line <= UINT32_MAX; d++)
            line = line * 10 + (uint64_t)(*d - '0');
        *ret_colon = c;
        *ret_line = line;
        return true;
    }
    return false;
}

/* Parses "NAME():". */
static bool read_function(const char *at, const char *end, const char **ret_name,
                          const char **ret_end)
{
    const char *name = skip_mark(at, end);
    if (name == end || pt_is_space(*name)) return false;
    for (const char *c = end - 3; c > name; c--) {
        if (memcmp(c, "():", 3) != 0) continue;
        *ret_name = name;
        *ret_end = c;
        return true;
    }
    return false;
}

/* Parses "0000000000001139 <main>:": the text before the last colon, without the leading digits. */
static bool read_label(const char *at, const char *end, const char **ret_name, const char **ret_end)
{
    while (at < end && pt_hex_digit(*at) >= 0)
        at++;
    if (at < end && pt_is_space(*at)) at++;
    for (const char *c = end; c-- > at;) {
        if (*c != ':') continue;
        *ret_name = at;
        *ret_end = c;
        return true;
    }
    return false;
}

void pt_objdump_parse(const char *output, size_t size, pt_objdump_listing *ret_listing)
{
    struct pt_objdump_texts *texts = pt_alloc(1, sizeof *texts);
    pt_index_init(&texts->index);
    texts->output = pt_strndup(size > 0 ? output : "", size);
    pt_objdump_listing listing = {.texts = texts};
    pt_objdump_line now = {.function = "", .file = ""};
    const size_t known = strlen(texts->output); /* ends at a NUL, which no objdump prints */
    size_t cap = 0;
    for (char *at = texts->output, *last = at + known, *next; at < last; at = next) {
        char *end = memchr(at, '\n', (size_t)(last - at));
        next = end != NULL ? end + 1 : last;
        if (end == NULL) end = last;
        while (at < end && pt_is_space(*at))
            at++;
        while (end > at && pt_is_space(end[-1]))
            end--;
        const char *from, *to;
        uint64_t line;
        if (read_instruction(at, end, &now.addr, &now.text)) {
            if (end < last) *end = '\0';
            listing.line = pt_grow(listing.line, &cap, listing.count + 1, sizeof *listing.line);
            listing.line[listing.count++] = now;
        } else if (read_place(at, end, &to, &line)) {
            from = skip_mark(at, end);
            if (line > UINT32_MAX) continue;
            now.file = shared_text(texts, from, (size_t)(to - from));
            now.line = (uint32_t)line;
        } else if (read_function(at, end, &from, &to) || read_label(at, end, &from, &to)) {
            now.function = shared_text(texts, from, (size_t)(to - from));
        } else {
            now = (pt_objdump_line){.function = "", .file = ""};
        }
    }
    *ret_listing = listing;
}

void pt_objdump_listing_done(pt_objdump_listing *listing)
{
    struct pt_objdump_texts *texts = listing->texts;
    if (texts != NULL) {
        for (size_t i = 0; i < texts->count; i++)
            free(texts->items[i]);
        PT_FREE_ALL(texts->items, texts->output);
        pt_index_done(&texts->index);
        free(texts);
    }
    free(listing->line);
    *listing = (pt_objdump_listing){0};
}

/* ---- running it ---- */

/* Reads up to the limit; false when there is more. */
static bool drain_pipe(int fd, pt_buf *output)
{
    char chunk[65536];
    for (;;) {
        const ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        if (output->size + (size_t)got > MAX_OUTPUT_BYTES) return false;
        pt_put(output, chunk, (size_t)got);
    }
}

/* Runs the program; true when it exits with 0. *ret_errnum: why it did not start. */
static bool run_objdump(const char *const *args, pt_buf *output, int *ret_status, int *ret_errnum)
{
    int ends[2];
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    *ret_errnum = 0;
    *ret_status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *ret_errnum = errno;
        return false;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    *ret_errnum =
        posix_spawn(&pid, args[0], &actions, NULL, (char *const *)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (*ret_errnum == 0 && !drain_pipe(ends[0], output)) kill(pid, SIGKILL);
    close(ends[0]);
    if (*ret_errnum != 0) return false;
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(*ret_status) && WEXITSTATUS(*ret_status) == 0;
}

/* Sets the error "[objdump --disassemble ...]: exit status 1". */
static pt_status set_failure(const char *const *args, int status, int errnum, pt_error *reterr)
{
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    for (size_t i = 0; args[i] != NULL; i++)
        pt_putf(&line, "%s%s", i == 0 ? "[" : " ", args[i]);
    pt_put_text(&line, "]: ");
    if (errnum != 0)
        pt_put_text(&line, strerror(errnum));
    else if (WIFSIGNALED(status))
        pt_putf(&line, "signal: %s", strsignal(WTERMSIG(status)));
    else
        pt_putf(&line, "exit status %d", WEXITSTATUS(status));
    pt_error_set(reterr, PT_ERR_SYSTEM, "%s", pt_buf_text(&line));
    return PT_ERR_SYSTEM;
}

pt_status pt_objdump_run(const pt_objdump_tool *tool, const char *file, uint64_t start,
                         uint64_t end, bool intel_syntax, pt_objdump_listing *ret_listing,
                         pt_error *reterr)
{
    const char *args[12];
    size_t count = 0;
    PT_FREE char *from = pt_strf("--start-address=%#llx", (unsigned long long)start);
    PT_FREE char *to = pt_strf("--stop-address=%#llx", (unsigned long long)end);
    /* A file name that begins with a dash would be an option. */
    PT_FREE char *name = pt_strf("%s%s", file[0] == '-' ? "./" : "", file);
    args[count++] = tool->path;
    args[count++] = "--disassemble";
    args[count++] = "--demangle";
    args[count++] = "--no-show-raw-insn";
    args[count++] = "--line-numbers";
    args[count++] = from;
    args[count++] = to;
    if (intel_syntax && tool->is_llvm) {
        args[count++] = "--x86-asm-syntax=intel";
    } else if (intel_syntax) {
        args[count++] = "-M";
        args[count++] = "intel";
    }
    args[count++] = name;
    args[count] = NULL;
    PT_AUTO(pt_buf) output = PT_BUF_INIT;
    int status, errnum;
    pt_status result = PT_OK;
    if (run_objdump(args, &output, &status, &errnum))
        pt_objdump_parse(pt_buf_text(&output), output.size, ret_listing);
    else
        result = set_failure(args, status, errnum, reterr);
    return result;
}

/* ---- finding it ---- */

/* The major version in "LLVM version 14.0.6"; UINT_MAX for a development build; 0: none. */
static unsigned llvm_version(const char *printed)
{
    const char *at = strstr(printed, "LLVM version ");
    if (at == NULL) return 0;
    at += strlen("LLVM version ");
    char *end;
    const unsigned long major = strtoul(at, &end, 10);
    return end == at || *end != '.' || major > 1000000 ? 0 : (unsigned)major;
}

/* Runs a candidate with --version. */
static bool is_objdump(const char *path, bool *ret_is_llvm)
{
    const char *const args[] = {path, "--version", NULL};
    PT_AUTO(pt_buf) printed = PT_BUF_INIT;
    int status, errnum;
    bool fits = false;
    if (run_objdump(args, &printed, &status, &errnum)) {
        *ret_is_llvm = llvm_version(pt_buf_text(&printed)) >= 8;
        fits = *ret_is_llvm || strstr(pt_buf_text(&printed), "GNU objdump") != NULL;
    }
    return fits;
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* FOLDER/NAME; an empty folder means those of search_path. NULL: no such program. The caller frees
 * it. */
static char *find_program(const char *folder, size_t size, const char *name,
                          const char *search_path)
{
    char *path = NULL;
    if (size > 0) {
        path = pt_strf("%.*s/%s", (int)size, folder, name);
        if (is_program(path)) return path;
        free(path);
        return NULL;
    }
    for (const char *at = search_path; at != NULL && *at != '\0';) {
        const char *end = strchrnul(at, ':');
        /* Not from the current folder, to which an empty or relative entry would lead. */
        if (*at == '/') {
            path = pt_strf("%.*s/%s", (int)(end - at), at, name);
            if (is_program(path)) return path;
            free(path);
        }
        at = *end == ':' ? end + 1 : NULL;
    }
    return NULL;
}

/* Searches the list for one kind of item. named: items "objdump:FOLDER"; else items without the
 * name of a tool. */
static char *find_in_list(const char *config, bool named, const char *name, const char *search_path)
{
    for (const char *at = config; at != NULL;) {
        const char *end = strchrnul(at, ',');
        const char *next = *end == ',' ? end + 1 : NULL;
        const char *colon = memchr(at, ':', (size_t)(end - at));
        const bool is_ours = colon != NULL && colon - at == 7 && pt_begins(at, "objdump");
        const bool is_for_all = colon == NULL || colon == at;
        if (named ? is_ours : is_for_all) {
            const char *folder = colon != NULL ? colon + 1 : at;
            char *path = find_program(folder, (size_t)(end - folder), name, search_path);
            if (path != NULL) return path;
        }
        at = next;
    }
    return NULL;
}

bool pt_objdump_find(const char *config, const char *search_path, pt_objdump_tool *ret_tool)
{
    static const char *const names[] = {"llvm-objdump", "objdump"};
    const char *list = config != NULL ? config : "";
    for (size_t i = 0; i < 2; i++) {
        char *path = find_in_list(list, true, names[i], search_path);
        if (path == NULL) path = find_in_list(list, false, names[i], search_path);
        bool is_llvm = false;
        if (path != NULL && is_objdump(path, &is_llvm)) {
            *ret_tool = (pt_objdump_tool){.path = path, .is_llvm = is_llvm};
            return true;
        }
        free(path);
    }
    return false;
}
