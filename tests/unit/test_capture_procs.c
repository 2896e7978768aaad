/* The processes of a recording, made from records of perf's events, and their counted stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/between.h"
#include "capture/procs.h"
#include "capture/set.h"

static pt_perf_record map_record(uint32_t pid, uint64_t start, uint64_t limit, uint64_t off,
                                 const char *path)
{
    return (pt_perf_record){.type = PERF_RECORD_MMAP2,
                            .pid = pid,
                            .tid = pid,
                            .mmap = {.start = start,
                                     .bytes = limit - start,
                                     .file_offset = off,
                                     .protection = PROT_READ | PROT_EXEC,
                                     .path = path}};
}

/* "start-limit+offset path" of each, in hex. */
static const char *maps_of(const pt_procs *procs, const pt_proc *proc)
{
    static char text[512];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < proc->map.count; i++) {
        const pt_proc_map *const m = &proc->map.items[i];
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lx-%lx+%lx %s", i > 0 ? ", " : "",
                               m->range.start, m->range.limit, m->range.file_offset,
                               procs->images.all.items[m->image]->path);
    }
    return text;
}

static void a_new_mapping_cuts_what_it_lies_over(void **state)
{
    static const struct {
        uint64_t start, limit;
        const char *then;
    } rows[] = {
        {0x1000, 0x2000, "1000-2000+0 new, 2000-5000+100 old"},
        {0x1000, 0x3000, "1000-3000+0 new, 3000-5000+1100 old"},
        {0x4000, 0x6000, "2000-4000+100 old, 4000-6000+0 new"},
        {0x3000, 0x4000, "2000-3000+100 old, 3000-4000+0 new, 4000-5000+2100 old"},
        {0x2000, 0x5000, "2000-5000+0 new"},
        {0x1000, 0x6000, "1000-6000+0 new"},
        {0x5000, 0x6000, "2000-5000+100 old, 5000-6000+0 new"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pt_procs procs;
        pt_procs_init(&procs, "/nowhere");
        pt_perf_record r = map_record(9, 0x2000, 0x5000, 0x100, "old");
        pt_procs_on_mmap(&procs, &r);
        r = map_record(9, rows[i].start, rows[i].limit, 0, "new");
        const pt_proc *const proc = pt_procs_on_mmap(&procs, &r);
        assert_string_equal(maps_of(&procs, proc), rows[i].then);
        pt_procs_done(&procs);
    }
}

static void a_child_has_its_parents_mappings_until_it_execs(void **state)
{
    pt_procs procs;
    pt_procs_init(&procs, "/nowhere");
    pt_perf_record r = map_record(9, 0x2000, 0x5000, 0, "prog");
    pt_procs_on_mmap(&procs, &r)->is_wanted = true;
    r = (pt_perf_record){.type = PERF_RECORD_FORK,
                         .task = {.pid = 10, .ppid = 9, .tid = 10, .ptid = 9}};
    const pt_proc *const child = pt_procs_on_fork(&procs, &r);
    assert_true(child->is_wanted);
    assert_string_equal(maps_of(&procs, child), "2000-5000+0 prog");
    r = (pt_perf_record){.type = PERF_RECORD_COMM, .pid = 10, .tid = 10};
    r.comm.text = "other";
    r.comm.is_exec = true;
    pt_procs_on_comm(&procs, &r);
    assert_string_equal(maps_of(&procs, child), "");
    assert_string_equal(child->comm, "other");
    assert_string_equal(maps_of(&procs, pt_procs_find(&procs, 9)), "2000-5000+0 prog");
    r = (pt_perf_record){.type = PERF_RECORD_FORK, /* a thread */
                         .task = {.pid = 10, .ppid = 10, .tid = 11, .ptid = 10}};
    assert_null(pt_procs_on_fork(&procs, &r));
    pt_procs_done(&procs);
}

/* A sample whose stack was not copied: the kernel's frame, then the place of its thread in user
 * space. */
static pt_sink_sample in_the_kernel(pt_proc *proc, uint32_t tid)
{
    static const uint64_t pcs[] = {UINT64_C(0xffffffff81000000), 0x2100};
    return (pt_sink_sample){.proc = proc,
                            .tid = tid,
                            .pcs = pcs,
                            .kernel_count = 1,
                            .count = 2,
                            .end = PT_STACK_END_BAD_READ,
                            .values = {3}};
}

/* For samples of processes of nowhere. */
static pt_sink *empty_sink(pt_builder *builder, pt_procs *procs)
{
    const pt_event event = {.type = pt_builder_text(builder, "samples").v,
                            .unit = pt_builder_text(builder, "count").v};
    for (int i = 0; i < PT_SINK_VALUES; i++)
        pt_builder_event(builder, &event);
    pt_procs_init(procs, "/nowhere");
    return pt_sink_new(builder, procs, NULL, false);
}

static void
a_stack_in_the_middle_of_execve_is_the_kernels_once_the_new_program_is_known(void **state)
{
    pt_procs procs;
    pt_between between = {0};
    pt_builder *const builder = pt_builder_new();
    pt_sink *const sink = empty_sink(builder, &procs);
    pt_proc *const proc = pt_procs_get(&procs, 9);
    pt_sink_sample sample = in_the_kernel(proc, 9);
    pt_between_hold(&between, sink, &sample);
    pt_between_hold(&between, sink, &sample);
    sample.end = PT_STACK_END_ROOT; /* at the program's entry: it counts as whole already */
    pt_between_hold(&between, sink, &sample);
    sample = in_the_kernel(proc, 10); /* another thread's: what follows is no new program */
    pt_between_hold(&between, sink, &sample);
    assert_int_equal(pt_between_release(&between, sink, 9, true), 6);
    assert_int_equal(pt_between_release(&between, sink, 9, true), 0);
    pt_between_end(&between, sink);
    assert_int_equal(between.held.count, 0);
    pt_between_done(&between);

    pt_sink_finish(sink);
    const pt_profile *profile;
    assert_int_equal(pt_builder_freeze(builder, &profile, NULL), PT_OK);
    assert_int_equal(profile->sample->t.count, 2);
    const uint32_t exec = profile->sample->stack[0], other = profile->sample->stack[1];
    assert_int_equal(profile->stack->end[exec], PT_STACK_END_ROOT);
    assert_int_equal(pt_stack_depth(profile, exec), 1);
    assert_int_equal(profile->stack->end[other], PT_STACK_END_BAD_READ);
    assert_int_equal(pt_stack_depth(profile, other), 2);
    pt_profile_unref(profile);
    pt_sink_free(sink);
    pt_procs_done(&procs);
}

static void when_too_many_are_held_the_oldest_are_what_they_seem(void **state)
{
    pt_procs procs;
    pt_between between = {0};
    pt_builder *const builder = pt_builder_new();
    pt_sink *const sink = empty_sink(builder, &procs);
    pt_proc *const proc = pt_procs_get(&procs, 9);
    for (uint32_t tid = 0; tid < PT_BETWEEN_MAX + 7; tid++) {
        const pt_sink_sample sample = in_the_kernel(proc, tid);
        pt_between_hold(&between, sink, &sample);
    }
    assert_int_equal(between.held.count, PT_BETWEEN_MAX);
    assert_int_equal(between.held.items[0].tid, 7);
    pt_between_end(&between, sink);
    pt_between_done(&between);
    pt_sink_finish(sink);
    const pt_profile *profile;
    assert_int_equal(pt_builder_freeze(builder, &profile, NULL), PT_OK);
    assert_int_equal(pt_profile_total(profile, 0), 3 * (PT_BETWEEN_MAX + 7)); /* each weighs 3 */
    pt_profile_unref(profile);
    pt_sink_free(sink);
    pt_procs_done(&procs);
}

static void a_fault_is_no_system_call_whatever_its_stack(void **state)
{
#if defined(__x86_64__)
    uint64_t regs[PT_MACHINE_REGS_MAX] = {[0] = (uint64_t)-ENOSYS}; /* ax */
    pt_perf_sample raw = {.abi = PERF_SAMPLE_REGS_ABI_64, .regs = regs};
    pt_sink_sample sample = in_the_kernel(NULL, 9);
    assert_true(pt_between_might_be(&sample, &raw));
    raw.stack_bytes = 8;
    assert_false(pt_between_might_be(&sample, &raw));
    raw.stack_bytes = 0;
    regs[0] = 0; /* where fork's child goes on, and its stack is being copied */
    assert_false(pt_between_might_be(&sample, &raw));
    regs[0] = (uint64_t)-ENOSYS;
    sample.kernel_count = 0;
    assert_false(pt_between_might_be(&sample, &raw));
#else
    skip();
#endif
}

static void a_process_number_that_is_used_again_is_another_process(void **state)
{
    pt_procs procs;
    pt_procs_init(&procs, "/nowhere");
    pt_perf_record r = map_record(9, 0x2000, 0x5000, 0, "first");
    const pt_proc *const first = pt_procs_on_mmap(&procs, &r);
    r = (pt_perf_record){.type = PERF_RECORD_FORK,
                         .task = {.pid = 9, .ppid = 1, .tid = 9, .ptid = 1}};
    const pt_proc *const second = pt_procs_on_fork(&procs, &r);
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(pt_procs_find(&procs, 9), second);
    assert_string_equal(maps_of(&procs, second), "");
    pt_procs_done(&procs);
}

/* Its counts stay, and a sample that comes late is one more. */
static void a_process_that_is_forgotten_keeps_its_counts(void **state)
{
    enum { CHILDREN = 3 * PT_PROCS_GONE, FIRST = 1 << 22 };
    const pt_profile *p;
    pt_procs procs;
    pt_builder *const builder = pt_builder_new();
    pt_sink *const sink = empty_sink(builder, &procs);
    uint32_t forgotten = 0;
    for (uint32_t i = 0; i < CHILDREN; i++) {
        pt_proc *const child = pt_procs_get(&procs, FIRST + i);
        const pt_sink_sample sample = in_the_kernel(child, FIRST + i);
        assert_int_equal(pt_sink_add(sink, &sample), i);
        assert_int_equal(pt_sink_add(sink, &sample), i);
        pt_proc *const gone = pt_procs_end(&procs, child);
        if (gone == NULL) continue;
        assert_int_equal(gone->pid, FIRST + i - PT_PROCS_GONE);
        pt_sink_forget(sink, gone);
        pt_procs_drop(&procs, gone);
        forgotten++;
    }
    assert_int_equal(forgotten, CHILDREN - PT_PROCS_GONE);
    const pt_sink_sample late = in_the_kernel(pt_procs_get(&procs, FIRST), FIRST);
    pt_sink_add(sink, &late);
    pt_sink_finish(sink);
    assert_int_equal(pt_builder_freeze(builder, &p, NULL), PT_OK);
    assert_int_equal(pt_profile_total(p, 0), 3 * (2 * CHILDREN + 1)); /* each weighs 3 */
    pt_profile_unref(p);
    pt_sink_free(sink);
    pt_procs_done(&procs);
}

/* As servers do for each request (prctl(2), PR_SET_NAME). */
static void process_that_goes_back_to_a_former_name_has_the_stacks_of_that_name(void **state)
{
    static const char *const names[] = {"idle", "busy"};
    pt_procs procs;
    pt_builder *const builder = pt_builder_new();
    pt_sink *const sink = empty_sink(builder, &procs);
    for (uint32_t i = 0; i < 100; i++) {
        pt_perf_record r = {.type = PERF_RECORD_COMM, .pid = 9, .tid = 9};
        r.comm.text = names[i % 2];
        const pt_sink_sample sample = in_the_kernel(pt_procs_on_comm(&procs, &r), 9);
        assert_int_equal(pt_sink_add(sink, &sample), i % 2);
    }
    pt_builder_free(builder);
    pt_sink_free(sink);
    pt_procs_done(&procs);
}

/* As where libraries are loaded and unloaded, or code is made, again and again. */
static void a_process_whose_mappings_change_keeps_the_rows_of_its_stacks(void **state)
{
    enum { CHANGES = 5000, STACKS = 3 };
    pt_procs procs;
    pt_builder *const builder = pt_builder_new();
    pt_sink *const sink = empty_sink(builder, &procs);
    uint64_t pcs[] = {0, 0x5010};
    for (uint32_t i = 0; i < CHANGES; i++) {
        pt_perf_record r = map_record(9, 0x5000, 0x6000, 0, "program");
        pt_proc *const proc = pt_procs_on_mmap(&procs, &r);
        r = map_record(9, 0x100000 + 0x1000 * (i % 7), 0x101000 + 0x1000 * (i % 7), 0, "code");
        r.mmap.inode = i % 2;
        pt_procs_on_mmap(&procs, &r);
        pcs[0] = 0x5001 + i % STACKS;
        const pt_sink_sample sample = {
            .proc = proc, .tid = 9, .pcs = pcs, .count = 2, .values = {1, 10}};
        assert_int_equal(pt_sink_add(sink, &sample), i % STACKS);
    }
    const pt_profile *p;
    pt_sink_finish(sink);
    assert_int_equal(pt_builder_freeze(builder, &p, NULL), PT_OK);
    assert_int_equal(pt_profile_total(p, 0), CHANGES);
    assert_int_equal(p->sample->t.count, STACKS);
    pt_profile_unref(p);
    pt_sink_free(sink);
    pt_procs_done(&procs);
}

/* The words of Python frames have the highest bit, too. */
static void memory_that_is_mapped_again_leaves_stacks_whole(void **state)
{
    static const uint64_t pcs[] = {0x2100, 0x8100};
    pt_procs procs;
    pt_procs_init(&procs, "/proc");
    const pt_perf_record code = map_record(1, 0x8000, 0x9000, 0, "/usr/bin/node");
    const pt_perf_record small = map_record(1, 0x2000, 0x3000, 0, "//anon");
    const pt_perf_record large = map_record(1, 0x2000, 0x5000, 0, "");
    const pt_perf_record file = map_record(1, 0x2000, 0x3000, 0, "/usr/lib/libz.so");
    pt_proc *const proc = pt_procs_on_mmap(&procs, &code);
    pt_procs_on_mmap(&procs, &small);
    const uint32_t before = proc->generation;
    pt_procs_on_mmap(&procs, &large);
    assert_int_not_equal(proc->generation, before);
    assert_int_equal(pt_proc_right_frames(proc, before, pcs, 2), 2);
    pt_procs_on_mmap(&procs, &file);
    assert_int_equal(pt_proc_right_frames(proc, before, pcs, 2), 1);
    pt_procs_done(&procs);
}

static void a_number_in_a_copied_stack_is_an_address(void **state)
{
    const uint64_t pcs[] = {0x2100, UINT64_C(0xd015afd8a6fb3000), UINT64_C(0xffffffffff600000)};
    const pt_profile *p;
    pt_procs procs;
    pt_builder *const builder = pt_builder_new();
    pt_sink *const sink = empty_sink(builder, &procs);
    const pt_sink_sample sample = {
        .proc = pt_procs_get(&procs, 9), .tid = 9, .pcs = pcs, .count = 3, .values = {3, 30}};
    pt_sink_add(sink, &sample);
    pt_sink_finish(sink);
    assert_int_equal(pt_builder_freeze(builder, &p, NULL), PT_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(p->location->address[pt_stack_frames(p, p->sample->stack[0])[i]], pcs[i]);
    pt_profile_unref(p);
    pt_sink_free(sink);
    pt_procs_done(&procs);
}

static void of_processes_that_are_long_gone_nothing_is_kept(void **state)
{
    enum { CHILDREN = 5000, FIRST = 1 << 22 /* no number of a process (proc(5), pid_max) */ };
    pt_procs procs;
    pt_procs_init(&procs, "/nowhere");
    pt_perf_record r = map_record(9, 0x2000, 0x5000, 0, "prog");
    pt_procs_on_mmap(&procs, &r);
    for (uint32_t i = 0; i < CHILDREN; i++) {
        r = (pt_perf_record){.type = PERF_RECORD_FORK,
                             .task = {.pid = FIRST + i, .ppid = 9, .tid = FIRST + i, .ptid = 9}};
        pt_proc *const child = pt_procs_on_fork(&procs, &r);
        assert_int_equal(pt_proc_modules(&procs, child, true).count, 1);
        pt_proc *const gone = pt_procs_end(&procs, child);
        assert_null(pt_procs_end(&procs, child)); /* once is enough */
        if (gone != NULL) pt_procs_drop(&procs, gone);
        /* A process that was sampled at its end has its mappings still. */
        assert_string_equal(maps_of(&procs, pt_procs_find(&procs, FIRST + i)), "2000-5000+0 prog");
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < CHILDREN; i++)
        kept += pt_procs_find(&procs, FIRST + i) != NULL;
    assert_int_equal(kept, PT_PROCS_GONE);
    assert_string_equal(maps_of(&procs, pt_procs_find(&procs, 9)), "2000-5000+0 prog");
    pt_procs_done(&procs);
}

/* Another thread than the first calls exec: the first ends, and the caller gets its number. */
static void process_in_which_a_thread_called_exec_lives_on(void **state)
{
    enum { SELF = 9, FIRST = 1 << 22 };
    pt_procs procs;
    pt_procs_init(&procs, "/nowhere");
    pt_perf_record r = map_record(SELF, 0x2000, 0x5000, 0, "prog");
    pt_procs_on_mmap(&procs, &r);
    pt_proc *const self = pt_procs_find(&procs, SELF);
    assert_null(pt_procs_end(&procs, self));
    r = (pt_perf_record){.type = PERF_RECORD_COMM, .pid = SELF, .tid = SELF};
    r.comm.text = "other";
    r.comm.is_exec = true;
    assert_ptr_equal(pt_procs_on_comm(&procs, &r), self);
    for (uint32_t i = 0; i < 2 * PT_PROCS_GONE; i++) {
        pt_proc *const gone = pt_procs_end(&procs, pt_procs_get(&procs, FIRST + i));
        assert_ptr_not_equal(gone, self);
        if (gone != NULL) pt_procs_drop(&procs, gone);
    }
    assert_ptr_equal(pt_procs_find(&procs, SELF), self);
    pt_procs_end(&procs, self); /* now it does end */
    assert_true(self->is_leaving);
    pt_procs_done(&procs);
}

static void records_tell_how_many_threads_a_process_has(void **state)
{
    pt_procs procs;
    pt_procs_init(&procs, "/nowhere");
    const uint32_t self = 9;
    pt_perf_record r = {.task = {.pid = self, .ppid = 1, .tid = self, .ptid = 1}};
    pt_proc *const proc = pt_procs_on_fork(&procs, &r);
    assert_int_equal(proc->threads, 1);
    r.task = (typeof(r.task)){.pid = self, .ppid = self, .tid = self + 1, .ptid = self};
    assert_null(pt_procs_on_fork(&procs, &r));
    assert_int_equal(proc->threads, 2);
    pt_procs_done(&procs);
}

static void this_process_is_known_from_its_maps(void **state)
{
    pt_procs procs;
    pt_procs_init(&procs, "/proc");
    pt_proc *const self = pt_procs_get(&procs, (uint32_t)getpid());
    assert_true(pt_procs_read(&procs, self));
    assert_string_equal(self->comm, "test_capture_pr");
    const uint64_t pc = (uint64_t)(uintptr_t)&this_process_is_known_from_its_maps;
    const pt_proc_map *const map = pt_proc_map_at(self, pc);
    assert_non_null(map);
    const pt_unwind_modules modules = pt_proc_modules(&procs, self, true);
    const pt_unwind_module *const module = pt_unwind_module_at(&modules, pc);
    assert_non_null(module);
    assert_non_null(module->table);
    assert_int_not_equal(pt_unwind_rule_at(&modules, pc).cfa_kind, PT_CFA_NONE);
    pt_procs_done(&procs);
}

/* An image whose stacks need the base register has a second table. */
static unsigned tables_in(const pt_procs *procs)
{
    unsigned count = 0;
    for (size_t i = 0; i < procs->images.all.count; i++) {
        const pt_image *const image = procs->images.all.items[i];
        if (image->owner != NULL) continue;
        count += image->mapped.blob != NULL;
        count += image->mapped.base_blob != NULL;
    }
    return count;
}

/* Of a program's many libraries, few have code in a stack. */
static void files_are_read_when_a_stack_has_code_of_them(void **state)
{
    enum { FIRST = 1 << 22 /* no number of a process */ };
    const uint64_t pcs[] = {(uint64_t)(uintptr_t)&files_are_read_when_a_stack_has_code_of_them,
                            (uint64_t)(uintptr_t)&gnu_get_libc_version + 1};
    pt_procs procs;
    pt_procs_init(&procs, "/proc");
    pt_proc *const self = pt_procs_get(&procs, (uint32_t)getpid());
    assert_true(pt_procs_read(&procs, self));
    const pt_perf_record r = {.type = PERF_RECORD_FORK,
                              .task = {.pid = FIRST, .ppid = self->pid, .tid = FIRST}};
    pt_proc *const child = pt_procs_on_fork(&procs, &r);
    pt_proc_modules(&procs, child, false);
    pt_unwind_modules modules = pt_proc_modules(&procs, self, false);
    assert_int_equal(tables_in(&procs), 0);
    assert_non_null(pt_unwind_module_at(&modules, pcs[0]));
    const uint32_t generation = modules.generation;
    assert_true(pt_proc_read_met(&procs, self, pcs, 1));
    assert_int_equal(tables_in(&procs), 1);
    modules = pt_proc_modules(&procs, self, false);
    assert_int_not_equal(modules.generation, generation); /* a cache of rules knows */
    assert_non_null(pt_unwind_module_at(&modules, pcs[0])->table);
    assert_null(pt_unwind_module_at(&modules, pcs[1])->table);
    assert_false(pt_proc_read_met(&procs, self, pcs, 1)); /* nothing new */
    assert_true(pt_proc_read_met(&procs, child, pcs, 1)); /* read for its parent */
    modules = pt_proc_modules(&procs, child, false);
    assert_non_null(pt_unwind_module_at(&modules, pcs[0])->table);
    assert_true(pt_proc_read_met(&procs, self, pcs, 2));
    assert_int_equal(tables_in(&procs), 2);
    modules = pt_proc_modules(&procs, self, true);
    assert_true(tables_in(&procs) > 2);
    assert_non_null(pt_unwind_module_at(&modules, pcs[1])->table);
    pt_procs_done(&procs);
}

/* The kernel's record of a mapping has the build id, the maps file the inode. */
static void a_mapping_that_is_reported_twice_is_not_replaced(void **state)
{
    const uint64_t pc = (uint64_t)(uintptr_t)&a_mapping_that_is_reported_twice_is_not_replaced;
    pt_procs procs;
    pt_procs_init(&procs, "/proc");
    pt_proc *const self = pt_procs_get(&procs, (uint32_t)getpid());
    assert_true(pt_procs_read(&procs, self));
    pt_proc_modules(&procs, self, true);
    const pt_proc_map map = *pt_proc_map_at(self, pc);
    const pt_image *const image = procs.images.all.items[map.image];
    if (image->build_id_bytes == 0) skip(); /* the linker gave none */
    const uint32_t generation = self->generation;
    pt_perf_record r =
        map_record(self->pid, map.range.start, map.range.limit, map.range.file_offset, image->path);
    r.mmap.build_id = image->build_id;
    r.mmap.build_id_bytes = image->build_id_bytes;
    pt_procs_on_mmap(&procs, &r);
    assert_int_equal(self->generation, generation);
    assert_int_equal(pt_proc_right_frames(self, generation, &pc, 1), 1);
    assert_true(pt_procs_read(&procs, self)); /* and in the other order */
    assert_int_equal(self->generation, generation);
    const uint8_t other_id[] = {1, 2, 3, 4, 5, 6, 7, 8};
    r.mmap.build_id = other_id;
    r.mmap.build_id_bytes = sizeof other_id;
    pt_procs_on_mmap(&procs, &r);
    assert_int_not_equal(self->generation, generation);
    pt_procs_done(&procs);
}

/* A file that was replaced by another of its path is not looked at as the other. */
static void a_file_that_was_replaced_is_another(void **state)
{
    const uint64_t pc = (uint64_t)(uintptr_t)&a_file_that_was_replaced_is_another;
    pt_procs procs;
    pt_procs_init(&procs, "/proc");
    pt_proc *const self = pt_procs_get(&procs, (uint32_t)getpid());
    assert_true(pt_procs_read(&procs, self));
    const pt_proc_map map = *pt_proc_map_at(self, pc);
    const pt_image *const image = procs.images.all.items[map.image];
    const pt_image_key before = {.path = image->path,
                                 .major = image->major,
                                 .minor = image->minor,
                                 .inode = image->inode + 1};
    const uint32_t older = pt_images_add(&procs.images, &before);
    assert_false(pt_images_are_same(&procs.images, older, map.image, self->pid, map.range.start,
                                    map.range.limit));
    assert_true(image->is_found);
    assert_false(procs.images.all.items[older]->is_looked_at);
    pt_procs_done(&procs);
}

static void count_forgotten(void *arg, const pt_unwind_table *table)
{
    assert_non_null(table->rows);
    ++*(unsigned *)arg;
}

static void tables_of_files_that_no_process_has_mapped_are_freed_and_made_again(void **state)
{
    pt_procs procs;
    unsigned forgotten = 0;
    pt_procs_init(&procs, "/proc");
    pt_proc *self = pt_procs_get(&procs, (uint32_t)getpid());
    assert_true(pt_procs_read(&procs, self));
    pt_proc_modules(&procs, self, true);
    const unsigned all = tables_in(&procs);
    assert_true(all > 1);
    procs.images.read_count = PT_IMAGES_SWEEP;
    pt_procs_sweep(&procs, count_forgotten, &forgotten);
    assert_int_equal(forgotten, 0); /* all are mapped */
    assert_int_equal(tables_in(&procs), all);
    pt_procs_drop(&procs, self);
    pt_procs_sweep(&procs, count_forgotten, &forgotten);
    assert_int_equal(tables_in(&procs), all); /* no file was read since */
    procs.images.read_count = PT_IMAGES_SWEEP;
    pt_procs_sweep(&procs, count_forgotten, &forgotten);
    assert_true(forgotten >= all - 1); /* the vDSO's stays */
    assert_int_equal(tables_in(&procs), all - forgotten);
    self = pt_procs_get(&procs, (uint32_t)getpid());
    assert_true(pt_procs_read(&procs, self));
    pt_proc_modules(&procs, self, true);
    assert_int_equal(tables_in(&procs), all);
    pt_procs_done(&procs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_mapping_cuts_what_it_lies_over),
        cmocka_unit_test(a_child_has_its_parents_mappings_until_it_execs),
        cmocka_unit_test(
            a_stack_in_the_middle_of_execve_is_the_kernels_once_the_new_program_is_known),
        cmocka_unit_test(when_too_many_are_held_the_oldest_are_what_they_seem),
        cmocka_unit_test(a_fault_is_no_system_call_whatever_its_stack),
        cmocka_unit_test(a_process_number_that_is_used_again_is_another_process),
        cmocka_unit_test(of_processes_that_are_long_gone_nothing_is_kept),
        cmocka_unit_test(a_process_whose_mappings_change_keeps_the_rows_of_its_stacks),
        cmocka_unit_test(memory_that_is_mapped_again_leaves_stacks_whole),
        cmocka_unit_test(a_number_in_a_copied_stack_is_an_address),
        cmocka_unit_test(a_process_that_is_forgotten_keeps_its_counts),
        cmocka_unit_test(process_that_goes_back_to_a_former_name_has_the_stacks_of_that_name),
        cmocka_unit_test(process_in_which_a_thread_called_exec_lives_on),
        cmocka_unit_test(records_tell_how_many_threads_a_process_has),
        cmocka_unit_test(this_process_is_known_from_its_maps),
        cmocka_unit_test(a_file_that_was_replaced_is_another),
        cmocka_unit_test(files_are_read_when_a_stack_has_code_of_them),
        cmocka_unit_test(a_mapping_that_is_reported_twice_is_not_replaced),
        cmocka_unit_test(tables_of_files_that_no_process_has_mapped_are_freed_and_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
