/* code.c: locations -> images; images -> instructions; rows and functions of code. */
#include "view/code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"

#define MAX_CODE_BYTES (UINT64_C(4) << 20)

/* Readable names, each made once, by their linkage names: the key is the address of the linkage
 * name's text. */
struct pt_code_names {
    struct {
        const char *linkage;
        char *plain, *brief;
    } * items;
    size_t count, cap;
    pt_index index;
};

/* ---- Names ---- */

/* A function's readable name: the linkage name demangled; if it is not mangled, the readable form
 * of the source name `plain`; else the linkage name as it is. The caller frees the name. */
static char *make_readable(const char *linkage, const char *plain, pt_demangle_mode mode)
{
    char *name = pt_demangle(linkage, mode);
    if (name == NULL && plain[0] != '\0' && mode != PT_DEMANGLE_NONE)
        name = pt_demangle_source_name(plain, mode);
    return name != NULL ? name : pt_strdup(linkage);
}

/* The index of a function's readable names in image->names. */
static uint32_t readable_names(const pt_code_image *image, const char *linkage, const char *plain,
                               pt_demangle_mode mode)
{
    struct pt_code_names *names = image->names;
    const uint64_t hash = pt_hash_mix((uintptr_t)linkage, (uintptr_t)plain);
    const uint32_t known =
        PT_INDEX_FIND(&names->index, hash, i, names->items[i].linkage == linkage);
    if (known != PT_NONE) return known;
    const pt_demangle_mode brief = mode == PT_DEMANGLE_NONE ? mode : PT_DEMANGLE_SIMPLE;
    PT_GROW(*names, names->count + 1);
    names->items[names->count].linkage = linkage;
    names->items[names->count].plain = make_readable(linkage, plain, mode);
    names->items[names->count].brief = make_readable(linkage, plain, brief);
    pt_index_add(&names->index, hash, (uint32_t)names->count);
    return (uint32_t)names->count++;
}

const char *pt_code_name(const pt_code_image *image, const char *linkage_name,
                         pt_demangle_mode mode)
{
    const uint32_t name = readable_names(image, linkage_name, "", mode);
    return image->names->items[name].plain;
}

const char *pt_code_own_name(const pt_code_image *image, const char *name)
{
    struct pt_code_names *const names = image->names;
    PT_GROW(*names, names->count + 1);
    names->items[names->count].plain = pt_strdup(name);
    names->items[names->count].brief = NULL;
    names->items[names->count].linkage = names->items[names->count].plain;
    return names->items[names->count++].linkage;
}

/* ---- Images ---- */

static void say_unopened(const pt_code_options *options, const char *path, const pt_error *error)
{
    if (path[0] == '\0' || path[0] == '[') return; /* no file */
    char text[1024];
    pt_error_text(error, text, sizeof text);
    pt_diag_add(options->diag, 1, "mapped files without code to show: %s%s%s",
                error->path[0] != '\0' ? "" : path, error->path[0] != '\0' ? "" : ": ", text);
}

/* Opens the file of a mapping. Returns false if that fails. */
static bool open_image(const pt_profile *p, const pt_mapping *map, const pt_code_options *options,
                       pt_source_search *search, pt_code_image *image)
{
    const char *path = pt_text(p, map->file);
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_error error = PT_ERROR_INIT;
    *image = (pt_code_image){.build_id = pt_text(p, map->build_id)};
    if (pt_source_find_image(search, path, image->build_id, &file, &error) != PT_OK) {
        say_unopened(options, path, &error);
        return false;
    }
    char *found = pt_strdup(file.path);
    if (pt_object_open(&file, pt_source_find_companion, search, &image->object, &error) != PT_OK) {
        say_unopened(options, path, &error);
        free(found);
        return false;
    }
    image->path = found;
    image->names = pt_alloc(1, sizeof *image->names);
    pt_index_init(&image->names->index);
    return true;
}

static void place_location(pt_code *code, const pt_profile *p, uint32_t location, uint32_t image)
{
    const pt_mapping *map = &p->mapping->row[p->location->mapping[location]];
    const bool is_return = (p->location->flags[location] & PT_LOCATION_RETURN_ADDR) != 0;
    const uint64_t pc = p->location->address[location] - (is_return ? 1 : 0);
    const pt_elf *elf = pt_object_elf(code->image[image].object);
    if (pt_elf_addr_of_mapped(elf, map->start, map->limit, map->file_offset, pc,
                              &code->addr[location]))
        code->image_of[location] = image;
}

void pt_code_init(pt_code *ret_code, const pt_profile *p, const bool *wanted,
                  const pt_code_options *options)
{
    enum { UNSEEN = PT_NONE, FAILED = PT_NONE - 1 };
    const uint32_t count = p->location->t.count, mappings = p->mapping->t.count;
    pt_code code = {.image_of = pt_alloc(count + 1, sizeof *code.image_of),
                    .addr = pt_alloc(count + 1, sizeof *code.addr),
                    .image = pt_alloc(mappings + 1, sizeof *code.image),
                    .search = pt_alloc(1, sizeof *code.search)};
    *code.search = (pt_source_search){.options = options->images, .diag = options->diag};
    memset(code.image_of, 0xff, count * sizeof *code.image_of);
    PT_FREE uint32_t *of_mapping = pt_alloc(mappings + 1, sizeof *of_mapping);
    memset(of_mapping, 0xff, mappings * sizeof *of_mapping);
    for (uint32_t l = 0; l < count; l++) {
        const uint32_t m = p->location->mapping[l];
        if (!wanted[l] || m == PT_NONE || p->location->address[l] == 0) continue;
        if (of_mapping[m] == UNSEEN) {
            const pt_mapping *map = &p->mapping->row[m];
            pt_code_image *image = &code.image[code.image_count];
            of_mapping[m] = FAILED;
            for (uint32_t k = 0; k < m && of_mapping[m] == FAILED; k++)
                if (of_mapping[k] < FAILED && p->mapping->row[k].file == map->file &&
                    p->mapping->row[k].build_id == map->build_id)
                    of_mapping[m] = of_mapping[k];
            if (of_mapping[m] == FAILED && open_image(p, map, options, code.search, image))
                of_mapping[m] = (uint32_t)code.image_count++;
        }
        if (of_mapping[m] < FAILED) place_location(&code, p, l, of_mapping[m]);
    }
    *ret_code = code;
}

void pt_code_done(pt_code *code)
{
    for (size_t i = 0; i < code->image_count; i++) {
        pt_code_image *image = &code->image[i];
        for (size_t k = 0; k < image->names->count; k++)
            PT_FREE_ALL(image->names->items[k].plain, image->names->items[k].brief);
        free(image->names->items);
        pt_index_done(&image->names->index);
        PT_FREE_ALL(image->names, (char *)(uintptr_t)image->path);
        pt_object_free(image->object);
    }
    PT_FREE_ALL(code->image, code->search, code->image_of, code->addr);
    *code = (pt_code){0};
}

/* ---- Rows and functions ---- */

void pt_code_function_done(pt_code_function *f)
{
    for (size_t i = 0; i < f->row_count; i++)
        if (f->row[i].owns_text) free((char *)(uintptr_t)f->row[i].text);
    PT_FREE_ALL(f->row, f->frame, f->made_name, f->error);
    *f = (pt_code_function){0};
}

bool *pt_code_rows_near(const bool *has_value, size_t count, int64_t context, bool fills_gap)
{
    bool *const near = pt_alloc(count + 1, sizeof *near);
    const size_t around = context >= 0 ? (size_t)context : 0;
    size_t end = 0; /* near[0, end) is final */
    for (size_t i = 0; i < count; i++) {
        if (context >= 0 && !has_value[i]) continue;
        size_t from = i > around ? i - around : 0;
        if (from < end || (fills_gap && end > 0 && from == end + 1)) from = end;
        end = count - i > around + 1 ? i + around + 1 : count;
        for (size_t k = from; k < end; k++)
            near[k] = true;
    }
    return near;
}

/* ---- Instructions ---- */

typedef struct {
    pt_code_function *function;
    const pt_code_image *image;
    const pt_code_options *options;
    uint64_t start, end;
    size_t *frame_first; /* per row: the index of its first frame in function->frame */
} disassembling;

static pt_code_row *add_instruction(disassembling *d, uint64_t addr, uint32_t size_bytes,
                                    char *owned)
{
    pt_code_function *const f = d->function;
    f->row = pt_grow(f->row, &f->row_cap, f->row_count + 1, sizeof *f->row);
    pt_code_row *const row = &f->row[f->row_count++];
    *row = (pt_code_row){.at = addr,
                         .size_bytes = size_bytes,
                         .text = owned,
                         .text_size = strlen(owned),
                         .owns_text = true};
    return row;
}

/* Appends " <fib+0x10>": the symbol of a target. The name is left out if the instruction is in the
 * same symbol. */
static void put_target(pt_buf *buf, const disassembling *d, uint64_t from, uint64_t target)
{
    pt_object_symbol symbol;
    if (!pt_object_symbol_at(d->image->object, target, &symbol)) return;
    const bool inside = from >= symbol.addr && from < symbol.end_addr && target != symbol.addr;
    const char *name = pt_code_name(d->image, symbol.name, d->options->demangle);
    pt_putf(buf, " <%s", inside ? "" : name);
    if (target != symbol.addr) pt_putf(buf, "+0x%llx", (unsigned long long)(target - symbol.addr));
    pt_put_text(buf, ">");
}

static void take_instruction(void *context, const pt_instruction *i)
{
    disassembling *d = context;
    pt_buf buf = PT_BUF_INIT;
    pt_put_text(&buf, i->mnemonic);
    if (i->operands[0] != '\0') {
        const size_t used = strlen(i->mnemonic);
        pt_putf(&buf, "%*s%s", used < 7 ? (int)(7 - used) : 1, "", i->operands);
    }
    if (i->has_target) put_target(&buf, d, i->addr, i->target);
    if (i->has_reference) {
        pt_putf(&buf, "  # 0x%llx", (unsigned long long)i->target);
        put_target(&buf, d, i->addr, i->target);
    }
    pt_code_row *const row = add_instruction(d, i->addr, i->size_bytes, pt_buf_take(&buf, NULL));
    row->has_target = i->has_target;
    row->target = i->target;
}

/* Finds the target in a line of objdump, where the address precedes the symbol: "jne    40112a
 * <main+0x14>". */
static void find_target(pt_code_row *row)
{
    const char *const name = strstr(row->text, " <");
    const char *digits = name;
    while (digits != NULL && digits > row->text && isxdigit((unsigned char)digits[-1]))
        digits--;
    if (digits == NULL || digits == name || digits == row->text || digits[-1] != ' ' ||
        strchr(row->text, '#') != NULL)
        return;
    row->has_target = true;
    row->target = strtoull(digits, NULL, 16);
}

static pt_status disassemble_by_objdump(disassembling *d, pt_error *reterr)
{
    PT_AUTO(pt_objdump_listing) l = {0};
    const pt_status status = pt_objdump_run(d->options->objdump, d->image->path, d->start, d->end,
                                            d->options->syntax == PT_SYNTAX_INTEL, &l, reterr);
    if (status != PT_OK) return status;
    uint64_t after = d->start;
    for (size_t i = 0; i < l.count; i++) {
        const uint64_t addr = l.line[i].addr;
        if (addr < after || addr >= d->end) continue; /* listed before, or outside the range */
        const uint64_t next =
            i + 1 < l.count && l.line[i + 1].addr > addr ? l.line[i + 1].addr : d->end;
        find_target(add_instruction(d, addr, next - addr < 16 ? (uint32_t)(next - addr) : 1,
                                    pt_strdup(l.line[i].text)));
        after = addr + 1;
    }
    return PT_OK;
}

static pt_status disassemble_range(disassembling *d, pt_error *reterr)
{
    const pt_elf *elf = pt_object_elf(d->image->object);
    const bool has_objdump = d->options->objdump != NULL;
    if (has_objdump && (d->options->prefers_objdump || !pt_disasm_knows(elf)))
        return disassemble_by_objdump(d, reterr);
    return pt_disasm(elf, d->start, d->end, d->options->syntax, take_instruction, d, reterr);
}

static void take_frames(void *context, size_t index, const pt_object_frame *frames, size_t count,
                        uint64_t symbol_bytes)
{
    (void)symbol_bytes;
    disassembling *d = context;
    pt_code_function *const f = d->function;
    f->frame = pt_grow(f->frame, &f->frame_cap, f->frame_count + count, sizeof *f->frame);
    d->frame_first[index] = f->frame_count;
    f->row[index].frame_count = (uint32_t)count;
    for (size_t k = 0; k < count; k++) {
        const uint32_t name =
            readable_names(d->image, frames[k].linkage_name, frames[k].name, d->options->demangle);
        f->frame[f->frame_count++] = (pt_code_frame){
            .function = d->image->names->items[name].plain,
            .brief = d->image->names->items[name].brief,
            .linkage_name = frames[k].linkage_name,
            .file = frames[k].file,
            .line = frames[k].line,
        };
    }
}

static void find_frames(disassembling *d)
{
    pt_code_function *const f = d->function;
    PT_FREE uint64_t *addrs = pt_alloc(f->row_count + 1, sizeof *addrs);
    PT_FREE size_t *frame_first = pt_alloc(f->row_count + 1, sizeof *frame_first);
    d->frame_first = frame_first;
    for (size_t i = 0; i < f->row_count; i++)
        addrs[i] = f->row[i].at;
    pt_object_resolve(d->image->object, PT_OBJECT_LINES, addrs, f->row_count, d->options->pool,
                      take_frames, d);
    for (size_t i = 0; i < f->row_count; i++)
        if (f->row[i].frame_count > 0) f->row[i].frame = f->frame + frame_first[i];
}

pt_status pt_code_disassemble(pt_code_function *function, const pt_code_image *image,
                              uint64_t start, uint64_t end, const pt_code_options *options,
                              pt_error *reterr)
{
    if (end - start > MAX_CODE_BYTES) end = start + MAX_CODE_BYTES;
    disassembling d = {
        .function = function, .image = image, .options = options, .start = start, .end = end};
    const pt_status status = disassemble_range(&d, reterr);
    if (status == PT_OK) {
        find_frames(&d);
        return PT_OK;
    }
    for (size_t i = 0; i < function->row_count; i++)
        free((char *)(uintptr_t)function->row[i].text);
    function->row_count = 0;
    return status;
}

char *pt_code_instruction_text(const pt_code_image *image, uint64_t addr,
                               const pt_code_options *options)
{
    enum { LONGEST = 16 }; /* bytes of an instruction */
    PT_AUTO(pt_code_function) f = {0};
    disassembling d = {
        .function = &f, .image = image, .options = options, .start = addr, .end = addr + LONGEST};
    pt_error error = PT_ERROR_INIT;
    char *first = NULL;
    if (disassemble_range(&d, &error) == PT_OK && f.row_count > 0) {
        first = (char *)(uintptr_t)f.row[0].text;
        f.row[0].owns_text = false;
    }
    return first;
}
