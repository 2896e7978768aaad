/* libs.c: the text list of mapped objects by the Perl pprof's rules. A line is a library's if its
 * path ends like a library's name, and the program's if it has the program's path. The last entry
 * is the program again, for all other addresses. process/maps.h parses the lines. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/regex.h"
#include "base/text.h"
#include "elf/image.h"
#include "personality/perl/perl.h"
#include "process/maps.h"

char *pt_perl_debugging_library(const char *path)
{
    static const char *const ends[] = {"", ".debug"};
    for (size_t i = 0; path[0] == '/' && i < PT_COUNT(ends); i++) {
        char *copy = pt_strf("/usr/lib/debug%s%s", path, ends[i]);
        struct stat st;
        if (stat(copy, &st) == 0 && S_ISREG(st.st_mode)) return copy;
        free(copy);
    }
    return NULL;
}

/* The first file that exists by --lib_prefix: with /a,/b and the path /usr/lib/x.so these are
 * /a/usr/lib/x.so, /b/usr/lib/x.so, /a/lib/x.so, ..., and else the path itself. The caller frees.
 */
static char *find_library(const char *path, const char *prefixes)
{
    if (prefixes == NULL || prefixes[0] == '\0') return pt_strdup(path);
    for (const char *suffix = path; suffix != NULL;) {
        for (const char *p = prefixes; *p != '\0';) {
            const size_t length = strcspn(p, ",");
            size_t kept = length;
            while (kept > 0 && p[kept - 1] == '/')
                kept--;
            char *there = pt_strf("%.*s%s", (int)kept, p, suffix);
            if (access(there, F_OK) == 0) return there;
            free(there);
            p += length + (p[length] == ',');
        }
        suffix = suffix[0] == '/' ? strchr(suffix + 1, '/') : NULL;
    }
    return pt_strdup(path);
}

bool pt_perl_find_text(const char *path, pt_perl_text_section *ret_text)
{
    PT_AUTO(pt_blob) blob = PT_BLOB_INIT;
    pt_elf elf;
    pt_elf_section text;
    const bool found =
        pt_file_read(path, PT_FILE_REGULAR | PT_FILE_MAP, UINT64_MAX, &blob, NULL) == PT_OK &&
        pt_elf_open(blob.data, blob.size, &elf) == PT_ELF_OK &&
        pt_elf_section_named(&elf, ".text", &text) && pt_blob_intact(&blob);
    if (found)
        *ret_text = (pt_perl_text_section){
            .address = text.addr, .offset = text.off, .bytes = text.size_bytes};
    return found;
}

static uint64_t fit_address(const pt_perl_session *s, uint64_t address)
{
    return s->address_digits == 8 ? address & UINT32_MAX : address;
}

static void add_lib(pt_perl_session *s, char *path, uint64_t start, uint64_t finish,
                    uint64_t offset)
{
    s->libs = pt_grow(s->libs, &s->lib_cap, s->lib_count + 1, sizeof *s->libs);
    s->libs[s->lib_count++] =
        (pt_perl_lib){.path = path, .start = start, .finish = finish, .offset = offset};
}

/* A line of the list. */
typedef struct {
    uint64_t start, finish, offset;
    const char *path;
    size_t path_length;
    bool executable, full; /* full: as in /proc/PID/maps; else brief: "START-END: PATH" */
} map_line;

static bool scan_map_line(const char *line, map_line *ret)
{
    const char *p = line + strspn(line, " \t");
    pt_maps_line full;
    *ret = (map_line){0};
    if (p == line && pt_maps_line_parse(line, strlen(line), &full)) {
        *ret = (map_line){.start = full.start,
                          .finish = full.limit,
                          .offset = full.file_offset,
                          .path = full.path,
                          .path_length = full.path_bytes,
                          .executable = (full.prot & PROT_EXEC) != 0,
                          .full = true};
        return full.path_bytes > 0;
    }
    const size_t range_bytes = pt_maps_range(p, strlen(p), &ret->start, &ret->finish);
    p += range_bytes;
    if (range_bytes == 0 || *p != ':') return false;
    ret->path = p + 1 + strspn(p + 1, " \t");
    ret->path_length = strcspn(ret->path, " \t");
    return ret->path_length > 0;
}

/* Is the line a library's? A brief line is a library's if its path contains ".so". */
static bool is_library(const pt_regex *library, const map_line *line)
{
    bool match = false;
    if (line->full)
        return line->executable &&
               pt_regex_match(library, line->path, line->path_length, &match, NULL) == PT_OK &&
               match;
    return memmem(line->path, line->path_length, ".so", 3) != NULL;
}

/* The length of a brief line's path: up to the last ".so" and its numbers. */
static size_t brief_length(const char *path, size_t length)
{
    size_t end = length;
    while (end >= 3 && memcmp(path + end - 3, ".so", 3) != 0)
        end--;
    while (end < length && path[end] == '.' && end + 1 < length &&
           isdigit((unsigned char)path[end + 1])) {
        end++;
        while (end < length && isdigit((unsigned char)path[end]))
            end++;
    }
    return end;
}

/* The path with the value of the line "build=VALUE" in place of "$build". The caller frees. */
static char *expand_build(const char *path, size_t length, const char *build)
{
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < length;) {
        const bool is_variable =
            length - i >= 6 && memcmp(path + i, "$build", 6) == 0 &&
            !(i + 6 < length && (isalnum((unsigned char)path[i + 6]) || path[i + 6] == '_'));
        if (is_variable) {
            pt_put_text(&text, build);
            i += 6;
        } else {
            pt_put_u8(&text, (uint8_t)path[i++]);
        }
    }
    return pt_buf_take(&text, NULL);
}

static void take_line(pt_perl_session *s, const pt_regex *library, const char *line,
                      const char *program, const char *build)
{
    map_line found;
    if (!scan_map_line(line, &found)) return;
    const bool lib = is_library(library, &found);
    const bool is_program = found.full && found.executable &&
                            strlen(program) == found.path_length &&
                            memcmp(program, found.path, found.path_length) == 0;
    if (!lib && !is_program) return;
    if (!found.full) found.path_length = brief_length(found.path, found.path_length);
    PT_FREE char *named = expand_build(found.path, found.path_length, build);
    char *path = find_library(named, s->settings->lib_prefix);
    uint64_t offset = found.offset;
    pt_perl_text_section text;
    PT_FREE char *debugging = pt_perl_debugging_library(path);
    pt_perl_image *image = debugging == NULL ? pt_perl_image_find(&s->images, path) : NULL;
    if (image != NULL && pt_perl_image_text(image, &text)) offset += text.address - text.offset;
    add_lib(s, path, found.start, found.finish, fit_address(s, offset));
}

void pt_perl_libs_parse(pt_perl_session *s, const char *text, size_t size)
{
    pt_regex *library = NULL;
    if (pt_regex_new("\\.(so|dll|dylib|bundle|node)((\\.\\d+)+\\w*(\\.\\d+){0,3})?$",
                     PT_REGEX_ICASE, &library, NULL) != PT_OK)
        return;
    PT_FREE char *real = s->program != NULL ? realpath(s->program, NULL) : NULL;
    const char *program = real != NULL ? real : s->program != NULL ? s->program : "";
    PT_FREE char *build = pt_strdup("");
    pt_reader r;
    size_t length;
    pt_reader_init(&r, text, size, NULL);
    for (const char *raw; (raw = pt_read_line(&r, &length)) != NULL;) {
        PT_FREE char *line = pt_strndup(raw, length);
        const char *p = line + strspn(line, " \t");
        if (pt_begins(p, "build=")) {
            free(build);
            build = pt_strdup(p + 6);
        }
        take_line(s, library, line, program, build);
    }
    pt_regex_free(library);
    pt_perl_text_section section;
    const char *more = s->settings->add_lib;
    if (more != NULL && more[0] != '\0' && pt_perl_find_text(more, &section))
        add_lib(s, pt_strdup(more), section.address,
                fit_address(s, section.address + section.bytes), section.address);
    uint64_t max_pc = 0;
    for (uint32_t i = 0; i < s->addresses.count; i++)
        if (pt_perl_pc(s, i) > max_pc) max_pc = pt_perl_pc(s, i);
    add_lib(s, pt_strdup(program), 0, max_pc, 0);
}
