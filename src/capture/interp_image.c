/* interp_image.c: see interp_image.h. */
#include "capture/interp_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "unwind/split.h"

/* A dynamic symbol that is wanted. */
typedef struct {
    const char *name;
    uint64_t addr, bytes; /* addr 0: not found */
} wanted_symbol;

static void find_symbols(const pt_elf *elf, wanted_symbol *wanted, size_t count)
{
    pt_elf_symbols symbols;
    pt_elf_symbol symbol;
    if (!pt_elf_symbols_open(elf, SHT_DYNSYM, &symbols)) return;
    for (uint32_t i = 1; pt_elf_symbol_at(&symbols, i, &symbol); i++) {
        if (symbol.section_index == SHN_UNDEF) continue;
        for (size_t w = 0; w < count; w++)
            if (strcmp(symbol.name, wanted[w].name) == 0) {
                wanted[w].addr = symbol.value;
                wanted[w].bytes = symbol.size_bytes;
            }
    }
}

/* The file's bytes at an address as linked. NULL: it does not have them. */
static const uint8_t *bytes_at(const pt_elf *elf, uint64_t addr, uint64_t bytes)
{
    uint64_t off;
    if (addr == 0 || !pt_elf_offset_of_addr(elf, addr, &off) || off > elf->size_bytes ||
        bytes > elf->size_bytes - off)
        return NULL;
    return elf->bytes + off;
}

/* The start addresses of the entries of .eh_frame, ascending: .eh_frame_hdr has a sorted table of
 * them, pairs of offsets from its own beginning (LSB, "The .eh_frame_hdr section"). */
static uint64_t *entries_of(const pt_elf *elf, uint32_t *ret_count)
{
    enum { USUAL = 0x3b031b01, HEAD = 12, PAIR = 8 };
    pt_elf_section section;
    uint64_t size;
    uint32_t encodings, count;
    const uint8_t *const bytes = pt_elf_section_named(elf, ".eh_frame_hdr", &section)
                                     ? pt_elf_section_bytes(elf, &section, &size)
                                     : NULL;
    if (bytes == NULL || size < HEAD) return NULL;
    memcpy(&encodings, bytes, sizeof encodings);
    memcpy(&count, bytes + 8, sizeof count);
    if (encodings != USUAL || count == 0 || count > (size - HEAD) / PAIR) return NULL;
    uint64_t *const entries = pt_alloc(count, sizeof *entries);
    for (uint32_t i = 0; i < count; i++) {
        int32_t offset;
        memcpy(&offset, bytes + HEAD + (size_t)i * PAIR, sizeof offset);
        entries[i] = section.addr + (uint64_t)(int64_t)offset;
    }
    *ret_count = count;
    return entries;
}

static void find_evaluator(const pt_elf *elf, const wanted_symbol *symbol,
                           pt_interp_evaluator *evaluator)
{
    enum { CODE_MAX_BYTES = 1 << 20 };
    const uint8_t *const code =
        symbol->bytes <= CODE_MAX_BYTES ? bytes_at(elf, symbol->addr, symbol->bytes) : NULL;
    uint32_t count;
    if (code == NULL) return;
    evaluator->low[0] = symbol->addr;
    evaluator->limit[0] = symbol->addr + symbol->bytes;
    uint64_t *const starts = entries_of(elf, &count);
    if (starts != NULL)
        pt_unwind_split_part(elf->machine, code, symbol->bytes, symbol->addr, starts, count,
                             &evaluator->low[1], &evaluator->limit[1]);
    free(starts);
}

/* Since 3.11 the file has its version as a number; before, its name does. */
static bool find_version(const pt_elf *elf, const wanted_symbol *version, const char *path,
                         pt_python_build *build)
{
    const uint8_t *const bytes = bytes_at(elf, version->addr, sizeof(uint32_t));
    uint32_t number;
    if (bytes == NULL) return pt_python_version_of_name(path, &build->major, &build->minor);
    memcpy(&number, bytes, sizeof number);
    build->major = number >> 24;
    build->minor = number >> 16 & 0xff;
    return true;
}

static void read_python(const pt_elf *elf, const char *path, pt_interp_image *image)
{
    enum { RUNTIME, CODE, TEXT, BYTES, EVALUATOR, VERSION, UNLOCKED, DEBUG, COUNT };
    wanted_symbol wanted[COUNT] = {{.name = "_PyRuntime"},
                                   {.name = "PyCode_Type"},
                                   {.name = "PyUnicode_Type"},
                                   {.name = "PyBytes_Type"},
                                   {.name = "_PyEval_EvalFrameDefault"},
                                   {.name = "Py_Version"},
                                   {.name = PT_PYTHON_UNLOCKED_MARK},
                                   {.name = PT_PYTHON_DEBUG_MARK}};
    find_symbols(elf, wanted, COUNT);
    if (wanted[RUNTIME].addr == 0) return;
    pt_python_build *const build = &image->build;
    build->has_version = find_version(elf, &wanted[VERSION], path, build);
    build->is_unlocked = wanted[UNLOCKED].addr != 0;
    build->is_debug = wanted[DEBUG].addr != 0;
    build->has_types = wanted[CODE].addr != 0 && wanted[TEXT].addr != 0 && wanted[BYTES].addr != 0;
    image->refusal = pt_python_judge(build);
    if (image->refusal != PT_PYTHON_READABLE) return;
    image->layout = pt_python_layout_of(build->major, build->minor);
    image->runtime = wanted[RUNTIME].addr;
    image->code_type = wanted[CODE].addr;
    image->text_type = wanted[TEXT].addr;
    image->bytes_type = wanted[BYTES].addr;
    find_evaluator(elf, &wanted[EVALUATOR], &image->evaluator);
}

static void read_php(const pt_elf *elf, pt_interp_image *image)
{
    enum { GLOBALS, CLASS, EVALUATOR, COUNT };
    wanted_symbol wanted[COUNT] = {
        {.name = "executor_globals"}, {.name = PT_PHP_MARK}, {.name = PT_PHP_EVALUATOR}};
    find_symbols(elf, wanted, COUNT);
    if (wanted[CLASS].addr == 0) return;
    image->is_refused_php =
        wanted[GLOBALS].addr == 0 || wanted[EVALUATOR].addr == 0 ||
        memmem(elf->bytes, elf->size_bytes, PT_PHP_BUILD, sizeof PT_PHP_BUILD) == NULL;
    if (image->is_refused_php) return;
    image->globals = wanted[GLOBALS].addr;
    image->generator_class = wanted[CLASS].addr;
    find_evaluator(elf, &wanted[EVALUATOR], &image->evaluator);
}

static void read_perl(const pt_elf *elf, pt_interp_image *image)
{
    enum { KEY, VERSION, EVALUATOR, COUNT };
    wanted_symbol wanted[COUNT] = {
        {.name = PT_PERL_MARK}, {.name = PT_PERL_VERSION}, {.name = PT_PERL_EVALUATOR}};
    find_symbols(elf, wanted, COUNT);
    if (wanted[KEY].addr == 0) return;
    const uint8_t *const minor = bytes_at(elf, wanted[VERSION].addr, 1);
    if (minor != NULL) image->perl_minor = *minor;
    image->perl = pt_perl_layout_of(image->perl_minor);
    if (wanted[EVALUATOR].addr == 0) image->perl = NULL;
    image->is_refused_perl = image->perl == NULL;
    image->key = wanted[KEY].addr;
    if (image->perl != NULL) find_evaluator(elf, &wanted[EVALUATOR], &image->evaluator);
}

/* glibc has symbols for debuggers, which hold the bits, the number and the offset of a field of its
 * threads. */
static void read_libc(const pt_elf *elf, pt_interp_image *image)
{
    enum { BITS, COUNT, OFFSET, FIELDS, OFFSET_MAX = 1 << 16 };
    wanted_symbol wanted = {.name = "_thread_db_pthread_specific"};
    uint32_t field[FIELDS];
    find_symbols(elf, &wanted, 1);
    const uint8_t *const bytes = bytes_at(elf, wanted.addr, sizeof field);
    if (bytes == NULL) return;
    memcpy(field, bytes, sizeof field);
    if (field[OFFSET] < OFFSET_MAX && field[OFFSET] % 8 == 0) image->thread_keys = field[OFFSET];
}

void pt_interp_image_read(const pt_elf *elf, const char *path, pt_interp_image *ret_image)
{
    const char *const name = pt_base_name(path);
    *ret_image = (pt_interp_image){.layout = NULL};
    if (!elf->is_64 || elf->is_big_endian) return;
    if (pt_begins(name, "python") || pt_begins(name, "libpython"))
        read_python(elf, path, ret_image);
    else if (pt_php_is_file(path))
        read_php(elf, ret_image);
    else if (pt_perl_is_file(path))
        read_perl(elf, ret_image);
    else if (pt_begins(name, "libc.so") || pt_begins(name, "libc-") ||
             pt_begins(name, "libpthread"))
        read_libc(elf, ret_image);
}
