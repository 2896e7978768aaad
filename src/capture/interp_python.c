/* interp_python.c: the CPython of a process. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "capture/interp_language.h"
#include "wire/journal.h"

static bool is_python_file(const char *path)
{
    const char *const name = pt_base_name(path);
    return pt_begins(name, "python") || pt_begins(name, "libpython");
}

/* Since 3.11 the file has a symbol with the version's number; before, the file's name has the
 * version. */
static bool find_version(const pt_elf *elf, const pt_wanted_symbol *version, const char *path,
                         pt_python_build *build)
{
    const uint8_t *const bytes = pt_interp_bytes_at(elf, version->addr, sizeof(uint32_t));
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
    pt_wanted_symbol wanted[COUNT] = {{.name = "_PyRuntime"},
                                      {.name = "PyCode_Type"},
                                      {.name = "PyUnicode_Type"},
                                      {.name = "PyBytes_Type"},
                                      {.name = "_PyEval_EvalFrameDefault"},
                                      {.name = "Py_Version"},
                                      {.name = PT_PYTHON_UNLOCKED_MARK},
                                      {.name = PT_PYTHON_DEBUG_MARK}};
    pt_wanted_symbols_find(elf, wanted, COUNT);
    if (wanted[RUNTIME].addr == 0) return;
    pt_python_build build = {.is_unlocked = wanted[UNLOCKED].addr != 0,
                             .is_debug = wanted[DEBUG].addr != 0,
                             .has_types = wanted[CODE].addr != 0 && wanted[TEXT].addr != 0 &&
                                          wanted[BYTES].addr != 0};
    const uint8_t *const told = pt_interp_bytes_at(elf, wanted[RUNTIME].addr, sizeof build.told);
    build.has_told = told != NULL;
    if (told != NULL) memcpy(build.told, told, sizeof build.told);
    build.has_version = find_version(elf, &wanted[VERSION], path, &build);
    const pt_python_refusal refusal = pt_python_judge(&build);
    if (refusal != PT_PYTHON_READABLE) {
        image->refused = PT_BPF_PYTHON;
        pt_python_reason(refusal, &build, image->reason, sizeof image->reason);
        return;
    }
    image->facts =
        (pt_bpf_interp){.language = PT_BPF_PYTHON,
                        .state = wanted[RUNTIME].addr,
                        .python = {.code_type = wanted[CODE].addr,
                                   .text_type = wanted[TEXT].addr,
                                   .bytes_type = wanted[BYTES].addr,
                                   .layout = *pt_python_layout_of(build.major, build.minor)}};
    pt_interp_find_evaluator(elf, &wanted[EVALUATOR], &image->evaluator);
}

static void move_python(pt_bpf_interp *facts, uint64_t bias)
{
    facts->python.code_type += bias;
    facts->python.text_type += bias;
    facts->python.bytes_type += bias;
}

/* Is the object in use? Memory of a freed object has no count of references there. */
static bool is_alive(pt_proc *proc, uint64_t object)
{
    uint64_t references;
    return object != 0 && pt_code_read_process(proc, object, &references, sizeof references) &&
           references != 0 && references <= UINT32_MAX;
}

/* Reads a code object. False: it is not the object that the kernel copied, or is unreadable. */
static bool read_same(pt_proc *proc, uint64_t addr, uint32_t check, pt_python_code *ret_code)
{
    const pt_bpf_interp *const facts = &proc->interp.facts;
    uint32_t now;
    return pt_python_code_read(&facts->python.layout, pt_code_read_process, proc, addr, ret_code,
                               &now) &&
           now == check && ret_code->type == facts->python.code_type && is_alive(proc, addr) &&
           is_alive(proc, ret_code->name) && is_alive(proc, ret_code->file) &&
           is_alive(proc, ret_code->lines);
}

/* Is the object still the same, after all of it was read? */
static bool is_still(const pt_code_reading *r, uint64_t addr, uint32_t check)
{
    pt_python_code again;
    return !r->has_asked || read_same(r->proc, addr, check, &again);
}

/* Reads the line table. If it cannot be read, frames of the object have its first line. */
static void read_lines(pt_code_reading *r, uint64_t addr, uint32_t check,
                       const pt_python_code *code, pt_code_content *content)
{
    uint64_t lines, bytes;
    if (!pt_python_bytes(pt_code_read_memory, r, code->lines,
                         r->proc->interp.facts.python.bytes_type, &lines, &bytes) ||
        bytes > PT_CODE_LINES_BYTES)
        return;
    PT_FREE uint8_t *table = pt_alloc(bytes + 1, 1);
    if (!pt_code_read_memory(r, lines, table, (size_t)bytes) || !is_still(r, addr, check)) return;
    content->lines = table;
    content->lines_bytes = (uint32_t)bytes;
    table = NULL;
}

static bool read_python_code(pt_code_reading *r, uint64_t addr, uint32_t check,
                             pt_code_content *ret)
{
    const pt_bpf_interp *const facts = &r->proc->interp.facts;
    const pt_python_layout *const layout = &facts->python.layout;
    pt_python_code code;
    if (r->copy != NULL)
        code = r->copy->python;
    else if (!read_same(r->proc, addr, check, &code))
        return false;
    if (!pt_python_text(layout, pt_code_read_memory, r, code.name, facts->python.text_type,
                        ret->name, sizeof ret->name, &ret->name_bytes) ||
        !pt_python_text(layout, pt_code_read_memory, r, code.file, facts->python.text_type,
                        ret->file, sizeof ret->file, &ret->file_bytes) ||
        !is_still(r, addr, check))
        return false;
    ret->first_line = code.first_line;
    ret->form = layout->lines;
    read_lines(r, addr, check, &code, ret);
    return true;
}

const pt_interp_language pt_interp_python = {
    .language = PT_JOURNAL_LANGUAGE_PYTHON,
    .needs_glibc = true,
    .lie = PT_PYTHON_LIE,
    .missing = PT_PYTHON_MISSING,
    .is_file = is_python_file,
    .read_file = read_python,
    .move = move_python,
    .read_code = read_python_code,
};
