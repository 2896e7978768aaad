/* test_java.c: code, methods, lines and frames of Java from images of memory that lie as the tables
 * of HotSpot 17 and 21 say; versions that are not known; memory that is none. */
#include "memory_image.h"

#include <stdio.h>

#include "interp/java.h"

/* ---- a made machine ---- */

enum {
    HEAP_BYTES = 0x1000,
    LOG2_SEGMENT = 7,
    BLOCK = 16, /* bytes of a HeapBlock */
    CODE = 0x180,
    CODE_BYTES = 0x40,
    PCS = 0x1d0, /* in the nmethod, as the next two */
    SCOPES = 0x220,
    METADATA = 0x230,
    ORIGINAL_PC = 8, /* in a frame */
    DEOPT = 0x38,    /* in the code */
    INTERPRETER = 0x800,
    STUB = 0xc00, /* in the heap, as the one before */
    NATIVE_PC = 0x1234,
};

/* The places of HotSpot 17 on x86-64. */
static const struct {
    const char *type, *field;
    uint64_t offset;
} fields[] = {
    {"GrowableArrayBase", "_len", 0},
    {"GrowableArray<int>", "_data", 8},
    {"CodeHeap", "_memory", 8},
    {"CodeHeap", "_segmap", 120},
    {"CodeHeap", "_log2_segment_size", 256},
    {"VirtualSpace", "_low_boundary", 0},
    {"VirtualSpace", "_high_boundary", 8},
    {"VirtualSpace", "_low", 16},
    {"HeapBlock::Header", "_used", 8},
    {"CodeBlob", "_name", 96},
    {"CodeBlob", "_size", 12},
    {"CodeBlob", "_frame_complete_offset", 20},
    {"CodeBlob", "_data_offset", 24},
    {"CodeBlob", "_frame_size", 28},
    {"CodeBlob", "_code_begin", 32},
    {"CodeBlob", "_code_end", 40},
    {"CompiledMethod", "_method", 112},
    {"CompiledMethod", "_scopes_data_begin", 120},
    {"CompiledMethod", "_deopt_handler_begin", 128},
    {"CompiledMethod", "_deopt_mh_handler_begin", 136},
    {"nmethod", "_metadata_offset", 260},
    {"nmethod", "_scopes_pcs_offset", 268},
    {"nmethod", "_dependencies_offset", 272},
    {"nmethod", "_orig_pc_offset", 300},
    {"nmethod", "_compile_id", 304},
    {"Method", "_constMethod", 8},
    {"ConstMethod", "_constants", 8},
    {"ConstMethod", "_constMethod_size", 24},
    {"ConstMethod", "_flags", 28},
    {"ConstMethod", "_code_size", 32},
    {"ConstMethod", "_name_index", 34},
    {"ConstantPool", "_pool_holder", 24},
    {"ConstantPool", "_length", 60},
    {"ConstantPool", "_source_file_name_index", 54},
    {"Klass", "_name", 24},
    {"Symbol", "_length", 4},
    {"Symbol", "_body", 6},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };
static const struct {
    const char *type;
    uint64_t bytes;
} types[] = {{"HeapBlock", BLOCK}, {"ConstMethod", 48}, {"ConstantPool", 72}};
enum { TYPES = sizeof types / sizeof types[0] };

typedef struct {
    image *m;
    uint64_t symbols[PT_JAVA_SYMBOLS];
    uint64_t major, heap, segments, nmethod, method[2];
} machine;

static void put_int(image *m, uint64_t addr, uint32_t value)
{
    memcpy(m->bytes + (addr - BASE), &value, sizeof value);
}

static void put_bytes(image *m, uint64_t addr, const void *bytes, size_t count)
{
    memcpy(m->bytes + (addr - BASE), bytes, count);
}

static uint64_t make_text(image *m, const char *text)
{
    const uint64_t at = make(m, strlen(text) + 1);
    put_bytes(m, at, text, strlen(text) + 1);
    return at;
}

static uint64_t make_symbol(image *m, const char *text)
{
    const uint64_t at = make(m, 6 + strlen(text));
    const uint16_t length = (uint16_t)strlen(text);
    put_bytes(m, at + 4, &length, sizeof length);
    put_bytes(m, at + 6, text, length);
    return at;
}

static void make_tables(machine *j, uint64_t heaps)
{
    enum { STRIDE = 48, TYPE_STRIDE = 40 };
    static const uint64_t form[PT_JAVA_SYMBOLS] = {
        [PT_JAVA_FIELD_STRIDE] = STRIDE,     [PT_JAVA_FIELD_NAME] = 8,
        [PT_JAVA_FIELD_OFFSET] = 32,         [PT_JAVA_FIELD_ADDRESS] = 40,
        [PT_JAVA_TYPE_STRIDE] = TYPE_STRIDE, [PT_JAVA_TYPE_SIZE] = 32};
    image *const m = j->m;
    const uint64_t table = make(m, (FIELDS + 3) * STRIDE),
                   sizes = make(m, (TYPES + 1) * TYPE_STRIDE);
    for (int i = 0; i < PT_JAVA_SYMBOLS; i++) {
        j->symbols[i] = make(m, 8);
        put(m, j->symbols[i], form[i]);
    }
    put(m, j->symbols[PT_JAVA_FIELDS], table);
    put(m, j->symbols[PT_JAVA_TYPES], sizes);
    uint64_t row = table;
    for (int i = 0; i < FIELDS; i++, row += STRIDE) {
        put(m, row, make_text(m, fields[i].type));
        put(m, row + 8, make_text(m, fields[i].field));
        put(m, row + 32, fields[i].offset);
    }
    put(m, row, make_text(m, "CodeCache"));
    put(m, row + 8, make_text(m, "_heaps"));
    put(m, row + 40, heaps);
    row += STRIDE;
    put(m, row, make_text(m, "Abstract_VM_Version"));
    put(m, row + 8, make_text(m, "_vm_major_version"));
    put(m, row + 40, j->major);
    for (int i = 0; i < TYPES; i++) {
        put(m, sizes + (uint64_t)i * TYPE_STRIDE, make_text(m, types[i].type));
        put(m, sizes + (uint64_t)i * TYPE_STRIDE + 32, types[i].bytes);
    }
}

/* A method whose bytecode 0 is at the line, and whose bytecode 5 is two lines further down. least:
 * of compressed numbers. */
static uint64_t make_method(image *m, const char *class, const char *name, const char *file,
                            uint8_t line, uint8_t least)
{
    enum { POOL_LENGTH = 4, WORDS = 8 };
    const uint64_t method = make(m, 88), body = make(m, 80), pool = make(m, 72 + 8 * POOL_LENGTH);
    const uint64_t holder = make(m, 64);
    const uint16_t code_bytes = 9, name_index = 1, file_index = file != NULL ? 2 : 0;
    const uint8_t lines[] = {0xff, least, (uint8_t)(2 * line + least), 5 << 3 | 2, 0};
    put(m, method + 8, body);
    put(m, body + 8, pool);
    put_int(m, body + 24, WORDS);
    put_int(m, body + 28, 1);
    put_bytes(m, body + 32, &code_bytes, 2);
    put_bytes(m, body + 34, &name_index, 2);
    put_bytes(m, body + 48 + code_bytes, lines, sizeof lines);
    put(m, pool + 24, holder);
    put_int(m, pool + 60, POOL_LENGTH);
    put_bytes(m, pool + 54, &file_index, 2);
    put(m, pool + 72 + 8, make_symbol(m, name));
    if (file != NULL) put(m, pool + 72 + 16, make_symbol(m, file));
    put(m, holder + 24, make_symbol(m, class));
    return method;
}

static uint64_t code_of(uint64_t body)
{
    return body + 48;
}

/* A blob in the heap, and its segments. */
static uint64_t make_blob(machine *j, uint64_t offset, const char *name, uint32_t frame_words)
{
    image *const m = j->m;
    const uint64_t block = j->heap + offset, blob = block + BLOCK;
    const uint32_t bytes = 0x300;
    m->bytes[block + 8 - BASE] = 1;
    put_int(m, blob + 12, bytes);
    put_int(m, blob + 20, 4); /* complete */
    put_int(m, blob + 28, frame_words);
    put(m, blob + 32, blob + CODE);
    put(m, blob + 40, blob + CODE + CODE_BYTES);
    put(m, blob + 96, make_text(m, name));
    for (uint64_t i = 0; i * (1 << LOG2_SEGMENT) < BLOCK + bytes; i++)
        m->bytes[j->segments + (offset >> LOG2_SEGMENT) + i - BASE] = (uint8_t)i;
    return blob;
}

/* At the code's offset 8 the method is at its bytecode 5; at 20 it is there, too, and has the other
 * one inlined, which is at its beginning. */
static void make_nmethod(machine *j, uint8_t x)
{
    image *const m = j->m;
    static const int32_t places[][2] = {{-1, 0}, {8, 1}, {20, 4}, {INT32_MAX, 0}};
    const uint8_t scopes[] = {0,
                              x,
                              (uint8_t)(1 + x),
                              (uint8_t)(6 + x),
                              (uint8_t)(1 + x),
                              (uint8_t)(2 + x),
                              (uint8_t)(1 + x)};
    const uint64_t blob = j->nmethod = make_blob(j, 0, "nmethod", 4);
    put(m, blob + 112, j->method[0]);
    put(m, blob + 120, blob + SCOPES);
    put(m, blob + 128, blob + CODE + DEOPT);
    put(m, blob + 136, 0);
    put_int(m, blob + 260, METADATA);
    put_int(m, blob + 268, PCS);
    put_int(m, blob + 272, PCS + 4 * 16);
    put_int(m, blob + 300, ORIGINAL_PC);
    put_int(m, blob + 304, 77);
    for (int i = 0; i < 4; i++)
        put_bytes(m, blob + PCS + 16 * (uint64_t)i, places[i], sizeof places[i]);
    put_bytes(m, blob + SCOPES, scopes, sizeof scopes);
    put(m, blob + METADATA, j->method[0]);
    put(m, blob + METADATA + 8, j->method[1]);
}

static machine make_machine(uint32_t major)
{
    const uint8_t least = major >= 20;
    machine j = {.m = make_image()};
    image *const m = j.m;
    const uint64_t heaps = make(m, 8), array = make(m, 16), items = make(m, 8), heap = make(m, 264);
    j.major = make(m, 8);
    j.segments = make(m, HEAP_BYTES >> LOG2_SEGMENT);
    put_int(m, j.major, major);
    make_tables(&j, heaps);
    m->used = (m->used + 0xfff) / 0x1000 * 0x1000;
    j.heap = make(m, HEAP_BYTES);
    memset(m->bytes + (j.segments - BASE), 0xff, HEAP_BYTES >> LOG2_SEGMENT);
    put(m, heaps, array);
    put_int(m, array, 1);
    put(m, array + 8, items);
    put(m, items, heap);
    put(m, heap + 8, j.heap);
    put(m, heap + 16, j.heap + HEAP_BYTES);
    put(m, heap + 120 + 16, j.segments);
    put_int(m, heap + 256, LOG2_SEGMENT);
    j.method[0] = make_method(m, "app/Main", "run", "Main.java", 10, least);
    j.method[1] = make_method(m, "app/Main$$Lambda+0x00007f00", "apply", NULL, 30, least);
    make_nmethod(&j, least);
    make_blob(&j, INTERPRETER, "Interpreter", 0);
    make_blob(&j, STUB, "StubRoutines (1)", 0);
    return j;
}

/* ---- tests ---- */

static void methods_lines_and_inlined_calls_are_read(void **state)
{
    (void)state;
    static const uint32_t majors[] = {11, 17, 21, 22};
    for (size_t v = 0; v < sizeof majors / sizeof majors[0]; v++) {
        machine j = make_machine(majors[v]);
        pt_java_vm vm;
        pt_java_blob blob;
        pt_java_method method;
        pt_java_scope at[PT_JAVA_SCOPES_MAX];
        char text[64];
        size_t bytes;
        assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &vm), PT_JAVA_READY);
        assert_int_equal(vm.major, majors[v]);
        const uint64_t code = j.nmethod + CODE;
        assert_true(pt_java_blob_at(&vm, read_image, j.m, code + 30, &blob));
        assert_int_equal(blob.kind, PT_JAVA_NMETHOD);
        assert_int_equal(blob.frame_bytes, 32);
        assert_int_equal(blob.compile, 77);
        assert_false(pt_java_blob_at(&vm, read_image, j.m, code + CODE_BYTES, &blob));
        assert_true(pt_java_blob_at(&vm, read_image, j.m, code, &blob));
        assert_true(pt_java_is_return(read_image, j.m, &blob, code + 8));
        assert_false(pt_java_is_return(read_image, j.m, &blob, code + 9));
        assert_int_equal(pt_java_scopes_at(&vm, read_image, j.m, &blob, code + 8, at), 1);
        assert_int_equal(at[0].method, j.method[0]);
        assert_int_equal(at[0].bci, 5);
        /* Between two places the later one counts. */
        assert_int_equal(pt_java_scopes_at(&vm, read_image, j.m, &blob, code + 9, at), 2);
        assert_int_equal(at[0].method, j.method[1]);
        assert_int_equal(at[0].bci, 0);
        assert_int_equal(at[1].method, j.method[0]);
        assert_int_equal(at[1].bci, 5);

        assert_true(pt_java_method_at(&vm, read_image, j.m, j.method[0], &method));
        assert_int_equal(pt_java_line(&vm, read_image, j.m, &method, 0), 10);
        assert_int_equal(pt_java_line(&vm, read_image, j.m, &method, 4), 10);
        assert_int_equal(pt_java_line(&vm, read_image, j.m, &method, 5), 12);
        assert_true(pt_java_name(&vm, read_image, j.m, &method, text, sizeof text, &bytes));
        assert_int_equal(bytes, strlen("app.Main.run"));
        assert_memory_equal(text, "app.Main.run", bytes);
        assert_true(pt_java_file(&vm, read_image, j.m, &method, text, sizeof text, &bytes));
        assert_int_equal(bytes, strlen("app/Main.java"));
        assert_memory_equal(text, "app/Main.java", bytes);
        assert_true(pt_java_method_at(&vm, read_image, j.m, j.method[1], &method));
        assert_true(pt_java_name(&vm, read_image, j.m, &method, text, sizeof text, &bytes));
        assert_int_equal(bytes, strlen("app.Main$$Lambda.apply"));
        assert_memory_equal(text, "app.Main$$Lambda.apply", bytes);
        assert_true(pt_java_file(&vm, read_image, j.m, &method, text, sizeof text, &bytes));
        assert_int_equal(bytes, 0);
        free(j.m);
    }
}

/* ---- walks ---- */

typedef struct {
    machine *j;
    pt_java_vm vm;
    pt_java_blob blob;
    pt_java_method method;
} walk;

static bool read_of_walk(void *arg, uint64_t addr, void *to, size_t size)
{
    return read_image(((walk *)arg)->j->m, addr, to, size);
}

static bool read_stack(void *arg, uint64_t addr, uint64_t *ret_word)
{
    return read_of_walk(arg, addr, ret_word, sizeof *ret_word);
}

static const pt_java_blob *blob_at(void *arg, uint64_t pc)
{
    walk *const w = arg;
    return pt_java_blob_at(&w->vm, read_of_walk, w, pc, &w->blob) ? &w->blob : NULL;
}

static const pt_java_method *method_at(void *arg, uint64_t method)
{
    walk *const w = arg;
    return pt_java_method_at(&w->vm, read_of_walk, w, method, &w->method) ? &w->method : NULL;
}

static bool is_code(void *arg, uint64_t pc)
{
    return pc == NATIVE_PC - 1 || pt_java_has_code(&((walk *)arg)->vm, pc);
}

static pt_java_reader reader_of(walk *w)
{
    return (pt_java_reader){&w->vm, w, read_of_walk, read_stack, blob_at, method_at, is_code};
}

static bool step(walk *w, pt_java_frame *frame, pt_java_found *found)
{
    const pt_java_reader reader = reader_of(w);
    if (blob_at(w, frame->pc) == NULL) return false;
    const pt_java_blob blob = w->blob;
    return pt_java_step(&reader, &blob, frame, found);
}

/* An interpreted method, which C calls by a stub, calls a compiled one. */
typedef struct {
    uint64_t stack, interpreted_fp, stub_fp, interpreter_pc, stub_pc;
} made_stack;

static made_stack make_stack(machine *j)
{
    image *const m = j->m;
    const uint64_t stack = make(m, 0x200);
    const made_stack s = {.stack = stack,
                          .interpreted_fp = stack + 0xa0,
                          .stub_fp = stack + 0x100,
                          .interpreter_pc = j->heap + INTERPRETER + BLOCK + CODE + 9,
                          .stub_pc = j->heap + STUB + BLOCK + CODE + 9};
    uint64_t body;
    memcpy(&body, m->bytes + (j->method[0] + 8 - BASE), sizeof body);
    put(m, stack + 16, s.interpreted_fp);
    put(m, stack + 24, s.interpreter_pc);
    put(m, s.interpreted_fp - 64, code_of(body) + 5);
    put(m, s.interpreted_fp - 24, j->method[0]);
    put(m, s.interpreted_fp - 8, s.interpreted_fp + 16);
    put(m, s.interpreted_fp, s.stub_fp);
    put(m, s.interpreted_fp + 8, s.stub_pc);
    put(m, s.stub_fp, 0x4242);
    put(m, s.stub_fp + 8, NATIVE_PC);
    return s;
}

static void a_stack_goes_from_compiled_code_to_c(void **state)
{
    (void)state;
    machine j = make_machine(17);
    walk w = {.j = &j};
    pt_java_found found;
    assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &w.vm), PT_JAVA_READY);
    const made_stack s = make_stack(&j);
    pt_java_frame frame = {.pc = j.nmethod + CODE + 20, .sp = s.stack, .fp = 7};
    assert_true(step(&w, &frame, &found));
    assert_int_equal(frame.pc, s.interpreter_pc);
    assert_int_equal(frame.sp, s.stack + 32);
    assert_int_equal(frame.fp, s.interpreted_fp);
    assert_true(step(&w, &frame, &found));
    assert_int_equal(found.scope.method, j.method[0]);
    assert_int_equal(found.scope.bci, 5);
    assert_int_equal(frame.pc, s.stub_pc);
    assert_int_equal(frame.fp, s.stub_fp);
    assert_true(step(&w, &frame, &found));
    assert_int_equal(frame.pc, NATIVE_PC);
    assert_int_equal(frame.sp, s.stub_fp + 16);
    assert_int_equal(frame.fp, 0x4242);
    free(j.m);
}

static void a_deoptimized_frame_has_its_place_on_the_stack(void **state)
{
    (void)state;
    machine j = make_machine(17);
    walk w = {.j = &j};
    pt_java_found found;
    assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &w.vm), PT_JAVA_READY);
    const made_stack s = make_stack(&j);
    put(j.m, s.stack + ORIGINAL_PC, j.nmethod + CODE + 8);
    pt_java_frame frame = {
        .pc = j.nmethod + CODE + DEOPT, .sp = s.stack, .fp = 7, .is_return = true};
    assert_true(step(&w, &frame, &found));
    assert_int_equal(found.pc, j.nmethod + CODE + 8);
    free(j.m);
}

/* Where the innermost frame is half made or half removed, the instructions tell. */
static void beginnings_and_ends_of_functions_are_known(void **state)
{
    (void)state;
    static const uint8_t begins[] = {0x89, 0x84, 0x24, 0,    0xc0, 0xfe,
                                     0xff, 0x55, 0x48, 0x83, 0xec, 16};
    static const uint8_t ends[] = {0x48, 0x83, 0xc4, 16,   0x5d, 0x49, 0x3b, 0xa7, 0,   1,
                                   0,    0,    0x0f, 0x87, 0,    0,    0,    0,    0xc3};
    enum { END_AT = 0x20 };
    /* Where the pc is, and the bytes between the stack pointer and the return address. */
    static const struct {
        unsigned pc, held;
        bool is_fp_saved;
    } cases[] = {{0, 0, false},          {7, 0, false},           {8, 8, true},
                 {12, 24, true},         {END_AT, 24, true},      {END_AT + 4, 8, true},
                 {END_AT + 5, 0, false}, {END_AT + 12, 0, false}, {END_AT + 18, 0, false}};
    machine j = make_machine(17);
    walk w = {.j = &j};
    assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &w.vm), PT_JAVA_READY);
    const uint64_t code = j.nmethod + CODE;
    put_bytes(j.m, code, begins, sizeof begins);
    put_bytes(j.m, code + END_AT, ends, sizeof ends);
    put_int(j.m, j.nmethod + 20, sizeof begins); /* complete */
    const made_stack s = make_stack(&j);
    const uint64_t top = s.stack + 32;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pt_java_found found;
        /* No inlined method runs there, though the next described place is in one. */
        pt_java_frame frame = {
            .pc = code + cases[i].pc, .sp = top - 8 - cases[i].held, .fp = s.interpreted_fp};
        if (cases[i].is_fp_saved) frame.fp = 7;
        assert_true(step(&w, &frame, &found));
        assert_int_equal(frame.pc, s.interpreter_pc);
        assert_int_equal(frame.sp, top);
        assert_int_equal(frame.fp, s.interpreted_fp);
        assert_int_equal(found.scope.method, cases[i].pc == sizeof begins ? 0 : j.method[0]);
    }
    free(j.m);
}

/* A stub without a frame of a known size: its return address is on top, behind a saved frame
 * pointer, or behind words that it has pushed. A call of it stands before that address. */
static void the_return_address_of_a_stub_is_behind_a_call_of_it(void **state)
{
    (void)state;
    enum {
        SHORT_CALL = 0x20,
        LONG_CALL = 0x2d,
        OTHER_CALL = 0x35
    }; /* where calls in the code end */
    machine j = make_machine(17);
    walk w = {.j = &j};
    pt_java_found found;
    assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &w.vm), PT_JAVA_READY);
    const uint64_t code = j.nmethod + CODE, stub = j.heap + STUB + BLOCK + CODE;
    const uint64_t stack = make(j.m, 0x100), fp = stack + 0x40;
    const uint32_t offset = (uint32_t)(stub + 4 - (code + SHORT_CALL)), other = 4;
    put_bytes(j.m, code + SHORT_CALL - 5, "\xe8", 1);
    put_int(j.m, code + SHORT_CALL - 4, offset);
    put_bytes(j.m, code + LONG_CALL - 13, "\x49\xba", 2);
    put(j.m, code + LONG_CALL - 11, stub + 4);
    put_bytes(j.m, code + LONG_CALL - 3, "\x41\xff\xd2", 3);
    put_bytes(j.m, code + OTHER_CALL - 5, "\xe8", 1);
    put_int(j.m, code + OTHER_CALL - 4, other);

    put(j.m, fp, 0x4242);
    put(j.m, fp + 8, code + LONG_CALL);
    pt_java_frame frame = {.pc = stub + 9, .sp = stack, .fp = fp};
    assert_true(step(&w, &frame, &found));
    assert_int_equal(frame.pc, code + LONG_CALL);
    assert_int_equal(frame.sp, fp + 16);
    assert_int_equal(frame.fp, 0x4242);

    put(j.m, fp + 8, code + OTHER_CALL);
    put(j.m, stack, code + OTHER_CALL);
    put(j.m, stack + 16, code + SHORT_CALL);
    frame = (pt_java_frame){.pc = stub + 9, .sp = stack, .fp = fp};
    assert_true(step(&w, &frame, &found));
    assert_int_equal(frame.pc, code + SHORT_CALL);
    assert_int_equal(frame.sp, stack + 24);
    assert_int_equal(frame.fp, fp);

    put(j.m, stack + 16, code + OTHER_CALL);
    frame = (pt_java_frame){.pc = stub + 9, .sp = stack, .fp = fp};
    assert_false(step(&w, &frame, &found));
    free(j.m);
}

static void a_virtual_thread_whose_callers_are_in_the_heap_ends_there(void **state)
{
    (void)state;
    machine j = make_machine(21);
    walk w = {.j = &j};
    pt_java_found found;
    const made_stack s = make_stack(&j);
    make_blob(&j, STUB, "StubRoutines (continuation stubs)", 0);
    assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &w.vm), PT_JAVA_READY);
    pt_java_frame frame = {
        .pc = s.stub_pc, .sp = s.stub_fp - 16, .fp = s.stub_fp, .is_return = true};
    assert_false(step(&w, &frame, &found));
    free(j.m);
}

/* ---- memory that lies ---- */

static void other_versions_are_refused(void **state)
{
    (void)state;
    static const uint32_t majors[] = {0, 8, 10, 23, 24, 26, UINT32_MAX};
    for (size_t v = 0; v < sizeof majors / sizeof majors[0]; v++) {
        machine j = make_machine(17);
        pt_java_vm vm;
        put_int(j.m, j.major, majors[v]);
        assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &vm), PT_JAVA_REFUSED);
        assert_int_equal(vm.major, majors[v]);
        free(j.m);
    }
}

static pt_java_state state_of(const machine *j)
{
    pt_java_vm vm;
    return pt_java_vm_read(j->symbols, read_image, j->m, &vm);
}

/* The loader may not have written all rows yet, so that the table seems to end before. */
static void a_machine_without_a_field_is_no_known_one_yet(void **state)
{
    (void)state;
    enum { STRIDE = 48 };
    machine j = make_machine(17);
    uint64_t table;
    memcpy(&table, j.m->bytes + (j.symbols[PT_JAVA_FIELDS] - BASE), sizeof table);
    for (int i = 0; i < FIELDS + 2; i++) {
        uint64_t type, at = table + (uint64_t)i * STRIDE;
        memcpy(&type, j.m->bytes + (at - BASE), sizeof type);
        put(j.m, at, 0);
        assert_int_equal(state_of(&j), PT_JAVA_PARTIAL);
        put(j.m, at, type);
    }
    assert_int_equal(state_of(&j), PT_JAVA_READY);
    put_int(j.m, j.major, 25); /* which has other fields */
    assert_int_equal(state_of(&j), PT_JAVA_PARTIAL);
    free(j.m);
}

static void a_machine_that_has_not_started_is_asked_again(void **state)
{
    (void)state;
    machine j = make_machine(17);
    pt_java_vm vm;
    uint64_t heaps;
    /* The variable is the first thing in the image. */
    memcpy(&heaps, j.m->bytes + FIRST_FREE, sizeof heaps);
    put(j.m, BASE + FIRST_FREE, 0);
    assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &vm), PT_JAVA_NOT_YET);
    put(j.m, BASE + FIRST_FREE, heaps);
    assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &vm), PT_JAVA_READY);
    free(j.m);
}

static void read_all(machine *j, walk *w, const made_stack *s)
{
    pt_java_frame frame = {.pc = j->nmethod + CODE + 20, .sp = s->stack, .fp = 7};
    pt_java_scope at[PT_JAVA_SCOPES_MAX];
    pt_java_found found;
    char text[64];
    size_t bytes;
    for (int i = 0; i < 8; i++) {
        if (blob_at(w, frame.pc) != NULL) {
            const pt_java_blob blob = w->blob;
            pt_java_scopes_at(&w->vm, read_of_walk, w, &blob, frame.pc, at);
        }
        if (!step(w, &frame, &found)) break;
    }
    for (int i = 0; i < 2; i++) {
        if (method_at(w, j->method[i]) == NULL) continue;
        const pt_java_method method = w->method;
        const int32_t line = pt_java_line(&w->vm, read_of_walk, w, &method, 5);
        assert_true(line >= 0 && line <= UINT16_MAX);
        if (pt_java_name(&w->vm, read_of_walk, w, &method, text, sizeof text, &bytes))
            assert_true(bytes <= sizeof text);
        if (pt_java_file(&w->vm, read_of_walk, w, &method, text, sizeof text, &bytes))
            assert_true(bytes <= sizeof text);
    }
}

/* Each word that is changed to a large, a small or a near value leaves an end to all loops. */
static void memory_that_lies_ends_each_loop(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, UINT64_MAX, BASE + FIRST_FREE, 0x0101010101010101};
    machine j = make_machine(17);
    walk w = {.j = &j};
    const made_stack s = make_stack(&j);
    image *const good = malloc(sizeof *good);
    memcpy(good, j.m, sizeof *good);
    for (uint64_t at = FIRST_FREE; at < good->used; at += 8)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            memcpy(j.m->bytes + at, &values[v], sizeof values[v]);
            j.m->reads = 0;
            if (pt_java_vm_read(j.symbols, read_image, j.m, &w.vm) == PT_JAVA_READY)
                read_all(&j, &w, &s);
            assert_true(j.m->reads < 100000);
            memcpy(j.m->bytes + at, good->bytes + at, sizeof values[v]);
        }
    free(good);
    free(j.m);
}

static void random_memory_ends_each_loop(void **state)
{
    (void)state;
    uint64_t seed = 3;
    machine j = make_machine(17);
    walk w = {.j = &j};
    const made_stack s = make_stack(&j);
    assert_int_equal(pt_java_vm_read(j.symbols, read_image, j.m, &w.vm), PT_JAVA_READY);
    for (int i = 0; i < 200; i++) {
        fill_at_random(j.m, &seed);
        j.m->reads = 0;
        read_all(&j, &w, &s);
        pt_java_vm again;
        pt_java_vm_read(j.symbols, read_image, j.m, &again);
        assert_true(j.m->reads < 3000000);
    }
    free(j.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_lines_and_inlined_calls_are_read),
        cmocka_unit_test(a_stack_goes_from_compiled_code_to_c),
        cmocka_unit_test(a_deoptimized_frame_has_its_place_on_the_stack),
        cmocka_unit_test(beginnings_and_ends_of_functions_are_known),
        cmocka_unit_test(the_return_address_of_a_stub_is_behind_a_call_of_it),
        cmocka_unit_test(a_virtual_thread_whose_callers_are_in_the_heap_ends_there),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(a_machine_without_a_field_is_no_known_one_yet),
        cmocka_unit_test(a_machine_that_has_not_started_is_asked_again),
        cmocka_unit_test(memory_that_lies_ends_each_loop),
        cmocka_unit_test(random_memory_ends_each_loop),
    };
    return cmocka_run_group_tests_name("java", tests, NULL, NULL);
}
