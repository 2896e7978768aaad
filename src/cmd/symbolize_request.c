/* symbolize_request.c: reads lines of input, and finds the place of the address that each asks
 * about: in a file, in a process, in the kernel. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cmd/symbolize_int.h"

/* Reads the number at text, up to the text's end or white space. addr2line reads every number as
 * hexadecimal, and other words as 0, like bfd_scan_vma. llvm-symbolizer goes by the prefix (0x, 0,
 * none); a number without prefix that contains a letter is also hexadecimal. */
static bool parse_address(const symbolize_job *j, const char *text, uint64_t *ret_address)
{
    char *end = NULL;
    const bool has_prefix = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (j->is_addr2line) {
        *ret_address = strtoull(text, NULL, 16);
        return true;
    }
    if (!(text[0] >= '0' && text[0] <= '9') && strspn(text, "abcdefABCDEF") == 0) return false;
    errno = 0;
    *ret_address = strtoull(text, &end, 0);
    if (!has_prefix && end[strspn(end, "0123456789abcdefABCDEF")] == '\0' && *end != '\0')
        *ret_address = strtoull(text, &end, 16);
    return end != text && errno == 0 && (*end == '\0' || *end == ' ' || *end == '\t');
}

/* Takes the word NAME from "NAME" or 'NAME' or NAME at *text, and moves *text past it. Returns NULL
 * if a quote is not closed. The caller frees the word. */
static char *take_word(const char **text)
{
    const char *at = *text + strspn(*text, " \t");
    const char quote = *at == '"' || *at == '\'' ? *at : '\0';
    const char *end = quote != '\0' ? strchr(at + 1, quote) : at + strcspn(at, " \t");
    if (end == NULL) return NULL;
    char *word = quote != '\0' ? pt_strndup(at + 1, (size_t)(end - at - 1))
                               : pt_strndup(at, (size_t)(end - at));
    *text = quote != '\0' ? end + 1 : end;
    return word;
}

static bool take_prefix(const char **text, const char *prefix)
{
    const size_t n = strlen(prefix);
    if (strncmp(*text, prefix, n) != 0 || ((*text)[n] != ' ' && (*text)[n] != '\t')) return false;
    *text += n;
    *text += strspn(*text, " \t");
    return true;
}

/* Gives the request's address its name, if `names` has code at this address. */
static bool name_request(request *r, const pt_code_names *names)
{
    pt_code_answer found;
    if (!pt_code_names_find(names, r->linked, &found)) return false;
    r->code = pt_alloc(1, sizeof *r->code);
    *r->code = found;
    return true;
}

/* Resolves an address of the kernel by the kernel's symbols. */
static void place_in_kernel(symbolize_job *j, request *r)
{
    const pt_source_search search = {.options = j->images.source};
    pt_error error = PT_ERROR_INIT;
    if (!j->code.has_kernel &&
        pt_source_kernel_names(&search, "", 0, &j->code.kernel, &error) != PT_OK)
        pt_say("%s", error.message);
    j->code.has_kernel = true;
    name_request(r, &j->code.kernel);
    free(r->text);
    r->text =
        pt_strdup(r->code != NULL && r->code->module[0] != '\0' ? r->code->module : "[kernel]");
}

/* Resolves an address of compiled code by the dump or map of its compiler. */
static void place_in_compiled(symbolize_job *j, request *r, const pt_process_map *map)
{
    const pt_source_search search = {.options = j->images.source, .diag = &j->context->diag};
    if (!j->code.has_compiled)
        pt_source_jit_names(&search, j->process.pid, j->process.user,
                            map->kind == PT_MAPPED_JITDUMP ? map->path : NULL, &j->code.dump,
                            &j->code.map);
    j->code.has_compiled = true;
    if (!name_request(r, &j->code.dump)) name_request(r, &j->code.map);
}

/* Finds the mapping of the address in the process. */
static void place_in_process(symbolize_job *j, request *r)
{
    const pt_process_map *map = pt_process_find(&j->process, r->asked);
    if (map == NULL && r->asked >> 63 != 0) {
        place_in_kernel(j, r);
        return;
    }
    if (map == NULL) return;
    free(r->text);
    r->text = pt_strdup(map->name);
    if (pt_mapped_is_memory(map->kind) || map->kind == PT_MAPPED_JITDUMP)
        place_in_compiled(j, r, map);
    if (r->code != NULL || !pt_mapped_is_image(map->kind)) return;
    /* The path as the process sees it, the path as pitot sees it, and the link to the mapped file,
     * for a file whose name is gone. */
    const long long pid = (long long)j->process.pid;
    PT_FREE char *inside = pt_strf("/proc/%lld/root%s", pid, map->path);
    PT_FREE char *mapped = pt_strf("/proc/%lld/map_files/%" PRIx64 "-%" PRIx64, pid,
                                   map->range.start, map->range.limit);
    const char *paths[] = {inside, map->path, mapped, NULL}, *vdso[] = {map->path, NULL};
    r->image = images_named(&j->images, map->path, map->kind == PT_MAPPED_FILE ? paths : vdso);
    if (r->image->chains == NULL ||
        !pt_elf_addr_of_mapped(pt_chains_elf(r->image->chains), map->range.start, map->range.limit,
                               map->range.file_offset, r->asked, &r->linked))
        r->image = NULL;
}

static uint64_t first_segment(const pt_elf *elf)
{
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s); i++)
        if (s.type == PT_LOAD) return s.addr - s.off % 4096;
    return 0;
}

static void place_in_file(symbolize_job *j, request *r, const char *name)
{
    pt_elf_section section;
    r->image = images_named(&j->images, name, (const char *[]){name, NULL});
    if (r->image->chains == NULL) return;
    if (j->settings->relative) r->linked += first_segment(pt_chains_elf(r->image->chains));
    if (j->settings->section == NULL) return;
    if (pt_elf_section_named(pt_chains_elf(r->image->chains), j->settings->section, &section))
        r->linked += section.addr;
    else
        r->image = NULL;
}

void read_request(symbolize_job *j, const char *line)
{
    request r = {.row = PT_NONE};
    const char *at = line + strspn(line, " \t");
    if (!j->is_addr2line && take_prefix(&at, "DATA"))
        r.kind = REQUEST_DATA;
    else if (!j->is_addr2line)
        take_prefix(&at, "CODE");
    PT_FREE char *name = NULL;
    const bool names_file = j->file == NULL && j->process.pid == 0;
    if (names_file) {
        name = take_word(&at);
        at += strspn(at, " \t");
    }
    if ((names_file && (name == NULL || name[0] == '\0')) || !parse_address(j, at, &r.asked)) {
        r.kind = REQUEST_ECHO;
        r.text = pt_strdup(line);
    } else {
        r.text = j->file == NULL ? pt_strdup(name != NULL ? name : "") : NULL;
        r.linked = r.asked - j->adjust;
        if (j->process.pid != 0)
            place_in_process(j, &r);
        else
            place_in_file(j, &r, j->file != NULL ? j->file : r.text);
    }
    PT_PUSH(j->requests, r);
}
