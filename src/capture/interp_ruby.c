/* interp_ruby.c: the Ruby of a process. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/interp_language.h"
#include "interp/ruby_find.h"
#include "wire/journal.h"

/* The address where the loader writes the number of the module with the variable: the target of a
 * relocation of that type (ABI, "Thread-Local Storage") with the variable's symbol, or without a
 * symbol, which means this file. 0: there is none. */
static uint64_t find_module_number(const pt_elf *elf, uint64_t symbol)
{
    pt_elf_relocations walk = {0};
    pt_elf_relocation r;
    while (pt_elf_relocation_next(elf, &walk, &r))
        if (r.type == R_X86_64_DTPMOD64 && (r.symbol == symbol || r.symbol == 0)) return r.addr;
    return 0;
}

static bool read_file(void *arg, uint64_t addr, void *to, size_t size)
{
    const uint8_t *const bytes = pt_interp_bytes_at(arg, addr, size);
    if (bytes != NULL) memcpy(to, bytes, size);
    return bytes != NULL;
}

/* Finds an evaluator that has no symbol. */
static void find_hidden_evaluator(const pt_elf *elf, pt_wanted_symbol *evaluator)
{
    pt_elf copy = *elf;
    pt_ruby_image image = {.read = read_file, .arg = &copy};
    pt_elf_section relocations;
    pt_elf_segment segment;
    uint64_t limit;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &segment); i++) {
        if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
        image.code = segment.addr;
        image.code_limit = segment.addr + segment.file_bytes;
    }
    if (!pt_elf_section_named(elf, ".rela.dyn", &relocations)) return;
    image.relocations = relocations.addr;
    image.relocation_bytes = relocations.size_bytes;
    uint64_t *const starts = pt_interp_entries(elf, &image.start_count);
    image.starts = starts;
    if (starts != NULL && pt_ruby_find_evaluator(&image, &evaluator->addr, &limit))
        evaluator->bytes = limit - evaluator->addr;
    free(starts);
}

/* Finds the thread-local variable of the context, which may have no symbol. Returns the address of
 * the module's number; 0: it is not found. */
static uint64_t find_context(const pt_elf *elf, const pt_wanted_symbol *reader,
                             pt_wanted_symbol *context)
{
    pt_elf copy = *elf;
    const pt_ruby_image image = {.read = read_file, .arg = &copy};
    uint64_t module;
    if (context->is_found) return find_module_number(elf, context->number);
    return reader->addr != 0 && pt_ruby_find_context(&image, reader->addr, &module, &context->addr)
               ? module
               : 0;
}

static void read_ruby(const pt_elf *elf, const char *path, pt_interp_image *image)
{
    enum {
        CONTEXT,
        ONLY_CONTEXT,
        VERSION,
        OBJECT,
        STRING,
        EVALUATOR,
        READER,
        COUNT,
        TEXT_BYTES = 8
    };
    pt_wanted_symbol wanted[COUNT] = {
        {.name = PT_RUBY_CONTEXT},      {.name = PT_RUBY_ONLY_CONTEXT}, {.name = PT_RUBY_VERSION},
        {.name = "rb_cObject"},         {.name = "rb_cString"},         {.name = PT_RUBY_EVALUATOR},
        {.name = PT_RUBY_READS_CONTEXT}};
    char text[TEXT_BYTES] = "";
    (void)path;
    pt_wanted_symbols_find(elf, wanted, COUNT);
    if (!wanted[VERSION].is_found) return;
    const uint8_t *const version = pt_interp_bytes_at(elf, wanted[VERSION].addr, sizeof text - 1);
    if (version != NULL) memcpy(text, version, sizeof text - 1);
    const pt_ruby_layout *const layout = pt_ruby_layout_of_text(text);
    uint64_t state = 0;
    if (layout != NULL && layout->context_thread != 0)
        state = wanted[ONLY_CONTEXT].addr;
    else if (layout != NULL)
        state = find_context(elf, &wanted[READER], &wanted[CONTEXT]);
    if (layout != NULL && !wanted[EVALUATOR].is_found)
        find_hidden_evaluator(elf, &wanted[EVALUATOR]);
    if (layout == NULL || wanted[EVALUATOR].addr == 0 || state == 0) {
        image->refused = PT_BPF_RUBY;
        if (layout == NULL)
            pt_ruby_reason(text, image->reason, sizeof image->reason);
        else
            snprintf(image->reason, sizeof image->reason, PT_RUBY_HIDES);
        return;
    }
    image->facts = (pt_bpf_interp){.language = PT_BPF_RUBY,
                                   .state = state,
                                   .ruby = {.context = wanted[CONTEXT].addr,
                                            .object = wanted[OBJECT].addr,
                                            .string = wanted[STRING].addr,
                                            .layout = *layout}};
    pt_interp_find_evaluator(elf, &wanted[EVALUATOR], &image->evaluator);
}

static void move_ruby(pt_bpf_interp *facts, uint64_t bias)
{
    facts->ruby.object += bias;
    facts->ruby.string += bias;
}

static bool read_ruby_code(pt_code_reading *r, uint64_t addr, uint32_t check, pt_code_content *ret)
{
    const pt_ruby_layout *const layout = &r->proc->interp.facts.ruby.layout;
    uint64_t now;
    (void)addr;
    if (r->copy == NULL || r->copy->ruby.names.label.bytes == UINT64_MAX) return false;
    const pt_ruby_names *const names = &r->copy->ruby.names;
    const pt_ruby_code *const code = &r->copy->ruby.code;
    ret->first_line = code->first_line;
    return pt_ruby_name(pt_code_read_memory, r, names, ret->name, sizeof ret->name,
                        &ret->name_bytes) &&
           pt_ruby_path(pt_code_read_memory, r, names, ret->file, sizeof ret->file,
                        &ret->file_bytes) &&
           (!r->has_asked || (pt_ruby_check(layout, pt_code_read_process, r->proc,
                                            &r->copy->ruby.keys, code, r->copy->ruby.owner, &now) &&
                              pt_interp_short_check(now) == check));
}

const pt_interp_language pt_interp_ruby = {
    .language = PT_JOURNAL_LANGUAGE_RUBY,
    .needs_glibc = true,
    .begins_early = true,
    .lie = PT_RUBY_LIES,
    .missing = PT_RUBY_MISSING,
    .is_file = pt_ruby_is_file,
    .read_file = read_ruby,
    .move = move_ruby,
    .read_code = read_ruby_code,
};
