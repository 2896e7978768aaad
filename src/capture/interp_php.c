/* interp_php.c: the PHP of a process. */
#include <stdio.h>

#include "capture/interp_language.h"
#include "wire/journal.h"

const pt_php_layout *pt_interp_php_layout(const pt_elf *elf)
{
    pt_elf_section constants;
    uint64_t size;
    if (!pt_elf_section_named(elf, ".rodata", &constants))
        return pt_php_layout_in(elf->bytes, elf->size_bytes);
    const uint8_t *const bytes = pt_elf_section_bytes(elf, &constants, &size);
    return pt_php_layout_in(bytes, size);
}

static void read_php(const pt_elf *elf, const char *path, pt_interp_image *image)
{
    enum { GLOBALS, CLASS, EVALUATOR, COUNT };
    pt_wanted_symbol wanted[COUNT] = {
        {.name = "executor_globals"}, {.name = PT_PHP_MARK}, {.name = PT_PHP_EVALUATOR}};
    (void)path;
    pt_wanted_symbols_find(elf, wanted, COUNT);
    if (wanted[CLASS].addr == 0) return;
    const pt_php_layout *const layout = pt_interp_php_layout(elf);
    if (wanted[GLOBALS].addr == 0 || wanted[EVALUATOR].addr == 0 || layout == NULL) {
        image->refused = PT_BPF_PHP;
        snprintf(image->reason, sizeof image->reason, PT_PHP_UNKNOWN);
        return;
    }
    image->facts =
        (pt_bpf_interp){.language = PT_BPF_PHP,
                        .state = wanted[GLOBALS].addr,
                        .php = {.generator_class = wanted[CLASS].addr, .layout = *layout}};
    pt_interp_find_evaluator(elf, &wanted[EVALUATOR], &image->evaluator);
}

static void move_php(pt_bpf_interp *facts, uint64_t bias)
{
    facts->php.generator_class += bias;
}

static bool read_php_function(pt_code_reading *r, uint64_t addr, uint32_t check,
                              pt_code_content *ret)
{
    uint64_t now;
    (void)addr;
    if (r->copy == NULL) return false;
    const pt_php_function *const f = &r->copy->php;
    ret->first_line = f->first_line;
    return pt_php_name(pt_code_read_memory, r, f, ret->name, sizeof ret->name, &ret->name_bytes) &&
           (f->file == 0 || pt_php_text(pt_code_read_memory, r, f->file, ret->file,
                                        sizeof ret->file, &ret->file_bytes)) &&
           (!r->has_asked || (pt_php_check(pt_code_read_process, r->proc, f, &now) &&
                              pt_interp_short_check(now) == check));
}

const pt_interp_language pt_interp_php = {
    .language = PT_JOURNAL_LANGUAGE_PHP,
    .is_one_chain = true,
    .has_fibers = true,
    .lie = PT_PHP_LIES,
    .missing = PT_PHP_MISSING,
    .is_file = pt_php_is_file,
    .read_file = read_php,
    .move = move_php,
    .read_code = read_php_function,
};
