/* The bytes as the memory of a Java virtual machine: first where its tables are, and the addresses
 * of code and a method; its tables, blobs, methods and a stack are read by the callback alone, for
 * a bounded time. */
#include "interp/java.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES = 200, STEPS_MAX = 16, PLACES = 6 };

/* The reads that one call of each kind may take. */
enum {
    LAYOUT_READS_MAX = 8192 * 2 * 140,
    BLOB_READS_MAX = 4200,
    SCOPES_READS_MAX = 1800,
    LINE_READS_MAX = 720000,
};

typedef struct {
    memory m;
    pt_java_vm vm;
    pt_java_blob blob;
    pt_java_method method;
} machine;

static bool read_machine(void *arg, uint64_t addr, void *to, size_t size)
{
    return read_memory(&((machine *)arg)->m, addr, to, size);
}

static bool read_stack(void *arg, uint64_t addr, uint64_t *ret_word)
{
    return addr % 8 == 0 && read_machine(arg, addr, ret_word, sizeof *ret_word);
}

static const pt_java_blob *blob_at(void *arg, uint64_t pc)
{
    machine *const j = arg;
    const unsigned before = j->m.reads;
    const bool is_there = pt_java_blob_at(&j->vm, read_machine, j, pc, &j->blob);
    check(j->m.reads - before <= BLOB_READS_MAX);
    return is_there ? &j->blob : NULL;
}

static const pt_java_method *method_at(void *arg, uint64_t method)
{
    machine *const j = arg;
    return pt_java_method_at(&j->vm, read_machine, j, method, &j->method) ? &j->method : NULL;
}

static bool is_code(void *arg, uint64_t pc)
{
    return pt_java_has_code(&((const machine *)arg)->vm, pc);
}

static void read_method(machine *j, const pt_java_scope *scope)
{
    char text[TEXT_BYTES];
    size_t bytes;
    if (method_at(j, scope->method) == NULL) return;
    const pt_java_method method = j->method;
    const unsigned before = j->m.reads;
    const int32_t line = pt_java_line(&j->vm, read_machine, j, &method, scope->bci);
    check(line >= 0 && line <= UINT16_MAX && j->m.reads - before <= LINE_READS_MAX);
    if (pt_java_name(&j->vm, read_machine, j, &method, text, sizeof text, &bytes))
        check(bytes <= sizeof text);
    if (pt_java_file(&j->vm, read_machine, j, &method, text, sizeof text, &bytes))
        check(bytes <= sizeof text);
}

static void read_scopes(machine *j, const pt_java_blob *blob, uint64_t pc)
{
    pt_java_scope scopes[PT_JAVA_SCOPES_MAX];
    const unsigned before = j->m.reads;
    const uint32_t count = pt_java_scopes_at(&j->vm, read_machine, j, blob, pc, scopes);
    check(count <= PT_JAVA_SCOPES_MAX && j->m.reads - before <= SCOPES_READS_MAX);
    for (uint32_t i = 0; i < count; i++)
        read_method(j, &scopes[i]);
}

static void walk_stack(machine *j, pt_java_frame frame)
{
    const pt_java_reader reader = {&j->vm,  j,         read_machine, read_stack,
                                   blob_at, method_at, is_code};
    pt_java_found found;
    for (int i = 0; i < STEPS_MAX; i++) {
        const uint64_t sp = frame.sp;
        if (blob_at(j, frame.pc - frame.is_return) == NULL) return;
        const pt_java_blob blob = j->blob;
        const bool is_step = pt_java_step(&reader, &blob, &frame, &found);
        read_scopes(j, &blob, found.pc);
        read_method(j, &found.scope);
        if (!is_step) return;
        check(frame.sp > sp && frame.is_return);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t symbols[PT_JAVA_SYMBOLS], words[PLACES];
    machine j = {.m = {.bytes = data, .size = size}};
    if (size < sizeof words) return 0;
    memcpy(words, data, sizeof words);
    for (int i = 0; i < PT_JAVA_SYMBOLS; i++)
        symbols[i] = MEMORY_ADDR + sizeof words + 8 * (uint64_t)i;
    const pt_java_state state = pt_java_vm_read(symbols, read_machine, &j, &j.vm);
    check(j.m.reads <= LAYOUT_READS_MAX);
    if (state != PT_JAVA_READY) return 0;
    check(j.vm.heap_count > 0 && j.vm.heap_count <= PT_JAVA_HEAPS_MAX);
    for (int is_return = 0; is_return < 2; is_return++)
        walk_stack(&j, (pt_java_frame){.pc = words[0],
                                       .sp = words[1],
                                       .fp = words[2],
                                       .is_return = is_return != 0,
                                       .bytecode = words[3],
                                       .result = words[4],
                                       .method = words[5]});
    return 0;
}
