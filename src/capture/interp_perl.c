/* interp_perl.c: the Perl of a process. */
#include <stdio.h>

#include "capture/interp_language.h"
#include "wire/journal.h"

static void read_perl(const pt_elf *elf, const char *path, pt_interp_image *image)
{
    enum { KEY, VERSION, EVALUATOR, COUNT };
    pt_wanted_symbol wanted[COUNT] = {
        {.name = PT_PERL_MARK}, {.name = PT_PERL_VERSION}, {.name = PT_PERL_EVALUATOR}};
    (void)path;
    pt_wanted_symbols_find(elf, wanted, COUNT);
    if (wanted[KEY].addr == 0) return;
    const uint8_t *const minor = pt_interp_bytes_at(elf, wanted[VERSION].addr, 1);
    const pt_perl_layout *const layout = pt_perl_layout_of(minor != NULL ? *minor : 0);
    if (layout == NULL || wanted[EVALUATOR].addr == 0) {
        image->refused = PT_BPF_PERL;
        snprintf(image->reason, sizeof image->reason, PT_PERL_UNKNOWN, minor != NULL ? *minor : 0);
        return;
    }
    image->facts = (pt_bpf_interp){
        .language = PT_BPF_PERL, .state = wanted[KEY].addr, .perl = {.layout = *layout}};
    pt_interp_find_evaluator(elf, &wanted[EVALUATOR], &image->evaluator);
}

static bool read_perl_code(pt_code_reading *r, uint64_t addr, uint32_t check, pt_code_content *ret)
{
    uint64_t now;
    (void)addr;
    if (r->copy == NULL) return false;
    const pt_perl_code *const code = &r->copy->perl;
    ret->first_line = code->first_line;
    return pt_perl_name(pt_code_read_memory, r, code, ret->name, sizeof ret->name,
                        &ret->name_bytes) &&
           pt_perl_file(pt_code_read_memory, r, code, ret->file, sizeof ret->file,
                        &ret->file_bytes) &&
           (!r->has_asked || (pt_perl_check(pt_code_read_process, r->proc, code, &now) &&
                              pt_interp_short_check(now) == check));
}

const pt_interp_language pt_interp_perl = {
    .language = PT_JOURNAL_LANGUAGE_PERL,
    .needs_glibc = true,
    .begins_early = true,
    .has_guards = true,
    .lie = PT_PERL_LIES,
    .missing = PT_PERL_MISSING,
    .is_file = pt_perl_is_file,
    .read_file = read_perl,
    .read_code = read_perl_code,
};
