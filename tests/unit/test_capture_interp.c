/* test_capture_interp.c: what the kernel's walker sends of interpreters' functions becomes names.
 */
#include "base_check.h"

#include <elf.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_int.h"
#include "capture/interp.h"
#include "capture/interp_language.h"
#include "wire/journal.h"

enum { CODE = 0x7000, CHECK = 0x55, LINE = 3 };

static pt_builder *builder;
static pt_named *named;

static int begin(void **state)
{
    builder = pt_builder_new();
    named = pt_named_new(builder);
    return 0;
}

static int end(void **state)
{
    pt_named_free(named);
    pt_builder_free(builder);
    return 0;
}

/* A process whose interpreter has its evaluator at 0x1000. */
static pt_proc process_of(uint32_t language)
{
    pt_proc proc = {.pid = 1, .start = 1, .has_exited = true};
    proc.interp.facts.language = language;
    proc.interp.language = pt_interp_languages[language]->language;
    proc.interp.evaluator = (pt_interp_evaluator){.low = {0x1000}, .limit = {0x2000}};
    return proc;
}

/* A file's code in PHP, whose name needs no text. */
static pt_bpf_code main_of_php(void)
{
    return (pt_bpf_code){.language = PT_BPF_PHP,
                         .code = CODE,
                         .check = CHECK,
                         .php = {.kind = PT_PHP_USER, .first = CODE}};
}

/* A stack with the evaluator as its only pc, and one frame. */
static pt_bpf_stack *stack_of(uint64_t addr, uint32_t check)
{
    pt_bpf_stack *const stack = pt_alloc(1, sizeof *stack);
    stack->count = stack->frame_count = 1;
    stack->pcs[0] = 0x1800;
    stack->pcs[1] = addr | PT_BPF_FRAME_ENTRY | PT_BPF_FRAME_LAST;
    stack->pcs[2] = (uint64_t)check << 32 | (LINE + 1);
    return stack;
}

/* The name of the stack's innermost function. */
static const char *name_of_first(pt_proc *proc, const pt_bpf_stack *stack)
{
    PT_FREE pt_named_chain *chain = pt_alloc(1, sizeof *chain);
    pt_function function;
    uint8_t language;
    pt_named_join(named, proc, stack, stack->count, true, 100, chain);
    assert_int_equal(chain->count, 2);
    pt_named_line(named, chain->words[0], &function, &language);
    assert_int_equal(language, proc->interp.language);
    return pt_builder_get_text(builder, (pt_string_id){function.name});
}

static void a_copy_is_of_the_language_that_it_was_made_in(void **state)
{
    const pt_bpf_code copy = main_of_php();
    PT_FREE pt_bpf_stack *stack = stack_of(CODE, CHECK);
    pt_proc php = process_of(PT_BPF_PHP), perl = process_of(PT_BPF_PERL);
    perl.start = 2;
    pt_named_learn(named, &php, &copy);
    pt_named_learn(named, &perl, &copy); /* the process maps a Perl below the PHP by now */
    assert_string_equal(name_of_first(&php, stack), "{main}");
    assert_string_equal(name_of_first(&perl, stack), "[Perl code]");
}

/* Without a check the frame has no name, and tells nothing of the layout. */
static void frames_whose_texts_are_unreadable_are_code_of_the_language(void **state)
{
    const pt_bpf_code copy = main_of_php();
    PT_FREE pt_bpf_stack *unreadable = stack_of(CODE, 0), *readable = stack_of(CODE, CHECK);
    pt_proc php = process_of(PT_BPF_PHP);
    for (int i = 0; i < 100; i++)
        assert_string_equal(name_of_first(&php, unreadable), "[PHP code]");
    assert_int_equal(php.interp.right, 0);
    assert_int_equal(php.interp.wrong, 0);
    pt_named_learn(named, &php, &copy);
    assert_string_equal(name_of_first(&php, readable), "{main}");
    assert_int_equal(php.interp.right, 1);
    assert_string_equal(pt_named_refused(named), "");
}

/* The walk ended where memory was unreadable: the chain is not whole. */
static void a_chain_is_cut_where_frames_are_missing(void **state)
{
    PT_FREE pt_bpf_stack *stack = stack_of(CODE, CHECK);
    PT_FREE pt_named_chain *chain = pt_alloc(1, sizeof *chain);
    pt_proc php = process_of(PT_BPF_PHP);
    pt_named_join(named, &php, stack, stack->count, true, 100, chain);
    assert_false(chain->is_cut);
    stack->pcs[1] &= ~PT_BPF_FRAME_LAST;
    pt_named_join(named, &php, stack, stack->count, true, 100, chain);
    assert_true(chain->is_cut);
    assert_int_equal(chain->count, 2);
}

/* Overwrites a name in the table of names. */
static void hide_name(char *bytes, size_t size, const char *name)
{
    char *at = bytes;
    while ((at = memmem(at, size - (size_t)(at - bytes), name, strlen(name) + 1)) != NULL)
        *at++ = '#';
}

/* Does the loader write the number of a module there? */
static bool is_module_number(const pt_elf *elf, uint64_t addr)
{
    pt_elf_section section;
    uint64_t bytes = 0;
    if (!pt_elf_section_named(elf, ".rela.dyn", &section)) return false;
    const uint8_t *const at = pt_elf_section_bytes(elf, &section, &bytes);
    for (uint64_t k = 0; k + sizeof(Elf64_Rela) <= bytes; k += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        memcpy(&r, at + k, sizeof r);
        if (r.r_offset == addr) return ELF64_R_TYPE(r.r_info) == R_X86_64_DTPMOD64;
    }
    return false;
}

/* The file of a Ruby that exports what 3.3 hides has the known answer. (Not the variable's place,
 * which the loader writes if it is exported.) */
static void a_ruby_without_symbols_has_the_facts_of_the_same_ruby_with_symbols(void **state)
{
    glob_t found;
    pt_elf elf;
    if (glob("/usr/lib/*/libruby-3.1.so.3.1", 0, NULL, &found) != 0) skip();
    FILE *const file = fopen(found.gl_pathv[0], "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    PT_FREE char *bytes = pt_alloc(size, 1);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    globfree(&found);
    pt_interp_image with, without;
    assert_int_equal(pt_elf_open(bytes, size, &elf), PT_ELF_OK);
    pt_interp_image_read(&elf, "libruby-3.1.so.3.1", &with);
    assert_int_equal(with.facts.language, PT_BPF_RUBY);
    hide_name(bytes, size, PT_RUBY_CONTEXT);
    hide_name(bytes, size, PT_RUBY_EVALUATOR);
    pt_interp_image_read(&elf, "libruby-3.1.so.3.1", &without);
    assert_int_equal(without.facts.language, PT_BPF_RUBY);
    assert_true(is_module_number(&elf, with.facts.state));
    assert_true(is_module_number(&elf, without.facts.state));
    for (int part = 0; part < 2; part++) {
        const uint64_t limit = with.evaluator.limit[part];
        assert_int_equal(without.evaluator.low[part], with.evaluator.low[part]);
        assert_in_range(without.evaluator.limit[part], limit, limit + 15); /* up to the next one */
    }
}

static int puts_done;

bool __wrap_pt_bpf_engine_put(pt_bpf_engine *engine, uint32_t pid, uint32_t program,
                              const pt_unwind_modules *modules, const pt_bpf_interp *interp);

/* The kernel's table is full for the first three times. */
bool __wrap_pt_bpf_engine_put(pt_bpf_engine *engine, uint32_t pid, uint32_t program,
                              const pt_unwind_modules *modules, const pt_bpf_interp *interp)
{
    return ++puts_done > 3;
}

static void a_full_table_is_asked_again_now_and_then(void **state)
{
    enum { SAMPLES = 10000 };
    PT_FREE pt_capture *c = pt_alloc(1, sizeof *c);
    const pt_unwind_modules modules = {.generation = 4};
    pt_proc proc = process_of(PT_BPF_PHP);
    proc.has_exited = false;
    c->walker = (pt_bpf_engine *)(uintptr_t)1;
    c->named = named;
    for (int i = 0; i < SAMPLES; i++)
        pt_feed_walker(c, &proc, &modules);
    assert_int_equal(puts_done, 4);
    assert_int_equal(c->facts.not_walked, 1);
    assert_int_equal(proc.walked_generation, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_copy_is_of_the_language_that_it_was_made_in, begin, end),
        cmocka_unit_test(a_ruby_without_symbols_has_the_facts_of_the_same_ruby_with_symbols),
        cmocka_unit_test_setup_teardown(frames_whose_texts_are_unreadable_are_code_of_the_language,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_chain_is_cut_where_frames_are_missing, begin, end),
        cmocka_unit_test_setup_teardown(a_full_table_is_asked_again_now_and_then, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
