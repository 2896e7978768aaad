/* Tests of src/bpf/v8.bpf.h in user space: what it reads of V8's functions is what user space reads
 * of the same bytes. */
#include "base_check.h"

#include <stdlib.h>
#include <string.h>

#include "../../fuzz/v8_node20.h"
#include "bpf_frames.h"
#include "unwind_maker.h"

/* Random words, most of them tagged addresses; many maps are those of shared functions, of scripts,
 * scope infos and strings (flat, of two parts, thin). */
static void fill_v8_memory(uint64_t *seed)
{
    static const uint64_t kinds[] = {SHARED, SHARED, SHARED,   SHARED, SHARED, SCRIPT, SCRIPT,
                                     SCRIPT, SCOPE,  BYTECODE, 8,      9,      5};
    for (size_t i = 0; i < MEMORY_BYTES; i += 8) {
        const uint64_t random = next_random(seed), block = random / 16 % (MEMORY_BYTES / 64);
        uint64_t word = random % 16 == 0 ? random : MEMORY_ADDR + block * 64 + (random % 16 != 1);
        if (i % 64 == 8 && random % 8 != 0) /* 16 bits at 0x0c */
            word = kinds[random / 8 % (sizeof kinds / sizeof kinds[0])] << 32;
        if (i % 64 == 24 && random % 4 == 0) word = random / 4 % 3 << 32; /* locals */
        memcpy(interp_memory + i, &word, sizeof word);
    }
}

static void check_v8_words(const uint64_t *words, uint64_t addr, size_t bytes)
{
    if (addr == 0) return;
    assert_true(addr >= MEMORY_ADDR && addr - MEMORY_ADDR <= MEMORY_BYTES - bytes);
    assert_memory_equal(words, interp_memory + (addr - MEMORY_ADDR), bytes);
}

/* Copies the new function and compares the copy with the memory. Returns the number of parts of
 * strings in it. */
static unsigned copy_new_function(void)
{
    pt_bpf_code *const code = &cpu->code;
    pt_bpf_v8_copy *const copy = &code->v8;
    unsigned parts = 0;
    memset(code->name, 0xff, sizeof *code - offsetof(pt_bpf_code, name));
    copy_v8_code(cpu);
    assert_int_equal(code->more_from.bytes, sizeof *copy);
    check_copy(code->name, &code->name_from, code->name_from.addr, PT_BPF_NAME_BYTES);
    check_copy(code->file, &code->file_from, code->file_from.addr, PT_BPF_FILE_BYTES);
    check_v8_words(copy->script.words, copy->script.addr, sizeof copy->script.words);
    check_v8_words(copy->scope.words, copy->scope.addr, sizeof copy->scope.words);
    check_v8_words(copy->tail, copy->tail_addr, sizeof copy->tail);
    for (int i = 0; i < PT_BPF_V8_OBJECTS; i++) {
        const pt_bpf_v8_object *const o = &copy->objects[i];
        uint16_t type;
        if (o->object == 0) continue;
        check_v8_words(o->head, o->object - 1, sizeof o->head);
        assert_true(read_for_user_space(NULL, o->head[0] - 1 + 0x0c, &type, sizeof type));
        assert_int_equal(o->type, type);
        parts += i >= PT_BPF_V8_PART;
    }
    return parts;
}

static void functions_of_v8_have_the_checks_that_user_space_computes(void **state)
{
    uint64_t seed = 1, compared = 0, functions = 0, parts = 0;
    unsigned tiers = 0; /* bit i: tier i was met */
    cpu = pt_alloc(1, sizeof *cpu);
    for (unsigned round = 0; round < 3000; round++) {
        const pt_bpf_interp interp = {.v8 = {.layout = node_20}};
        fill_v8_memory(&seed);
        cpu->process = round;
        cpu->stack.count = 200;
        cpu->stack.frame_count = 0;
        cpu->v8.count = 100;
        for (uint32_t i = 0; i < 100; i++)
            cpu->v8.frames[i] = (pt_bpf_v8_frame){
                .function = MEMORY_ADDR + next_random(&seed) % MEMORY_BYTES / 8 * 8 + 1,
                .place = 2 * i};
        uint64_t below[PT_V8_TIER_BELOW] = {next_random(&seed), MEMORY_ADDR + round % 256 * 64 + 1};
        cpu->v8.position = below[0] &= round % 2 == 0 ? UINT64_MAX << 32 : UINT64_MAX;
        cpu->v8.bytecode = below[1];
        cpu->v8.is_in_file = round % 3 == 0;
        const unsigned tier =
            pt_v8_tier_of(&node_20, read_for_user_space, NULL, below, round % 3 == 0);
        assert_true(begin_v8(cpu, &interp));
        while (step_v8(cpu)) {
            if (cpu->is_code_new == 0) continue;
            functions++;
            parts += copy_new_function();
        }
        assert_int_equal(cpu->v8.next, 100);
        for (uint32_t i = 0, last = 0; i < cpu->stack.frame_count; i++) {
            const uint64_t *const two = cpu->stack.pcs + cpu->stack.count + 2 * (size_t)i;
            uint64_t check;
            assert_true(pt_v8_check(&node_20, read_for_user_space, NULL, PT_BPF_FRAME_CODE(two[0]),
                                    &check));
            assert_int_equal(PT_BPF_FRAME_CHECK(two[1]), pt_interp_short_check(check));
            assert_true(i == 0 || PT_BPF_FRAME_PLACE(two[1]) > (int32_t)last);
            last = (uint32_t)PT_BPF_FRAME_PLACE(two[1]);
            assert_true(last < 200 && last % 2 == 0);
            assert_int_equal(PT_BPF_FRAME_TIER(two[0]), last == 0 ? tier : PT_V8_NO_TIER);
            tiers |= 1u << PT_BPF_FRAME_TIER(two[0]);
            compared++;
        }
    }
    free(cpu);
    assert_int_equal(tiers, (1u << PT_V8_TIERS) - 1);
    assert_true(compared > 10000 && functions > 1000 && parts > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_v8_have_the_checks_that_user_space_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
