/* java_walk.c: steps from a frame of a Java virtual machine to its caller's frame. See java.h.
 *
 * A frame of compiled code, or of a stub that has a frame size (x86-64; addresses fall):
 *
 *   sp + frame_bytes - 8    return address
 *   sp + frame_bytes - 16   the caller's frame pointer
 *   sp                      locals, spilled values
 *
 * A frame of the interpreter, and the words below its frame pointer:
 *
 *   fp + 8    return address
 *   fp        the caller's frame pointer
 *   fp - 8    the caller's stack pointer, before arguments
 *   fp - 24   method
 *   fp - 64   address of the bytecode at the last call
 *
 * While an interpreted method is entered, the return address is in rax and the caller's stack
 * pointer in r13. (A method handle removes its last argument, so this pointer may be fp + 8.)
 *
 * Only the innermost frame can be incomplete, if it was interrupted at the beginning or at the end
 * of its function. The instructions around the pc show how much of the frame exists. */
#include <string.h>

#include "interp/java.h"

enum { WORD = 8, SENDER_SP = -8, METHOD = -24, BYTECODE = -64 };

/* ---- steps ---- */

static bool go_to(const pt_java_reader *r, pt_java_frame *frame, uint64_t pc, uint64_t sp,
                  uint64_t fp)
{
    if (sp <= frame->sp || sp % WORD != 0 || !r->is_code(r->arg, pc - 1)) return false;
    *frame = (pt_java_frame){.pc = pc, .sp = sp, .fp = fp, .is_return = true};
    return true;
}

/* Steps out of a function that has made no frame, or has removed it: the return address is on top
 * of the stack. */
static bool step_bare(const pt_java_reader *r, pt_java_frame *frame)
{
    uint64_t pc;
    return r->read_stack(r->arg, frame->sp, &pc) &&
           go_to(r, frame, pc, frame->sp + WORD, frame->fp);
}

/* Steps out of a frame of `bytes` bytes, with the caller's frame pointer below the return
 * address. */
static bool step_sized(const pt_java_reader *r, pt_java_frame *frame, uint64_t bytes)
{
    uint64_t pc, fp;
    const uint64_t top = frame->sp + bytes;
    return bytes >= 2 * WORD && top > frame->sp && r->read_stack(r->arg, top - WORD, &pc) &&
           r->read_stack(r->arg, top - 2 * WORD, &fp) && go_to(r, frame, pc, top, fp);
}

/* Steps out of a frame with a frame pointer. The stub that nmethods call first (since version 14)
 * keeps 8 bytes of ones between the saved frame pointer and the stub's return address. */
static bool step_by_fp(const pt_java_reader *r, pt_java_frame *frame)
{
    uint64_t pc, fp, at = frame->fp + WORD;
    if (frame->fp < frame->sp || frame->fp % WORD != 0 || !r->read_stack(r->arg, frame->fp, &fp) ||
        !r->read_stack(r->arg, at, &pc))
        return false;
    if (pc == UINT64_MAX && !r->read_stack(r->arg, at += WORD, &pc)) return false;
    return go_to(r, frame, pc, at + WORD, fp);
}

/* ---- instructions ---- */

enum { CODE_BYTES_MAX = 256 };

typedef struct {
    uint8_t at[CODE_BYTES_MAX];
    size_t count;
} instructions;

/* Reads instructions, at most until the end of the blob. */
static bool read_code(const pt_java_reader *r, const pt_java_blob *blob, uint64_t from,
                      uint64_t most, instructions *ret)
{
    if (from < blob->code || from >= blob->limit) return false;
    if (most > blob->limit - from) most = blob->limit - from;
    if (most > CODE_BYTES_MAX) most = CODE_BYTES_MAX;
    ret->count = (size_t)most;
    return r->read(r->arg, from, ret->at, ret->count);
}

static bool is_there(const instructions *code, size_t at, const char *bytes, size_t count)
{
    return at <= code->count && code->count - at >= count &&
           memcmp(code->at + at, bytes, count) == 0;
}
#define IS_THERE(code, at, bytes) is_there(code, at, bytes, sizeof(bytes) - 1)

/* The byte before the number in `add $N, %rsp` and in `sub $N, %rsp`. */
enum { ADD = 0xc4, SUB = 0xec };

/* The length of the instruction at offset `at`, if that instruction moves the stack pointer by
 * `bytes`; 0 for any other instruction. move: ADD or SUB. */
static size_t length_of_move(const instructions *code, size_t at, uint8_t move, uint64_t bytes)
{
    uint32_t number;
    if (code->count < 3 || at > code->count - 3 || code->at[at] != 0x48 || code->at[at + 2] != move)
        return 0;
    if (code->at[at + 1] == 0x83 && code->count - at > 3) return code->at[at + 3] == bytes ? 4 : 0;
    if (code->at[at + 1] != 0x81 || code->count - at < 7) return 0;
    memcpy(&number, code->at + at + 3, sizeof number);
    return number == bytes ? 7 : 0;
}

/* Steps from the beginning of a function: `push %rbp`, perhaps `mov %rsp, %rbp`, `sub $N, %rsp`;
 * or `sub $N, %rsp` and `mov %rbp, M(%rsp)`. */
static bool step_beginning(const pt_java_reader *r, const pt_java_blob *blob, pt_java_frame *frame)
{
    instructions code;
    const size_t pc = (size_t)(frame->pc - blob->code);
    if (!read_code(r, blob, blob->code, CODE_BYTES_MAX, &code)) return false;
    for (size_t i = 0; i < code.count; i++) {
        const size_t whole = length_of_move(&code, i, SUB, blob->frame_bytes - WORD);
        if (whole > 0) {
            if (pc <= i) return step_bare(r, frame);
            const uint64_t fp = frame->fp;
            if (!step_sized(r, frame, blob->frame_bytes)) return false;
            if (pc == i + whole) frame->fp = fp; /* rbp is not saved yet */
            return true;
        }
        if (code.at[i] != 0x55) continue;
        size_t sub = i + 1;
        if (IS_THERE(&code, sub, "\x48\x8b\xec") || IS_THERE(&code, sub, "\x48\x89\xe5")) sub += 3;
        const size_t length = length_of_move(&code, sub, SUB, blob->frame_bytes - 2 * WORD);
        const bool is_small = blob->frame_bytes == 2 * WORD && sub > i + 1;
        if (length == 0 && !is_small) continue;
        if (pc <= i) return step_bare(r, frame);
        if (pc < sub + length) return step_sized(r, frame, 2 * WORD);
        return step_sized(r, frame, blob->frame_bytes);
    }
    return step_bare(r, frame);
}

/* Does the function return from there without moving the stack before? The instructions may be
 * tests of a safepoint and of pending exceptions, and ret. */
static bool is_returning(const instructions *code, size_t at)
{
    static const struct {
        const char *bytes;
        uint8_t count, length;
    } tests[] = {
        {"\x49\x3b\xa7", 3, 7}, /* cmp disp32(%r15), %rsp */
        {"\x49\x3b\x67", 3, 4}, /* cmp disp8(%r15), %rsp */
        {"\x85\x05", 2, 6},     /* test %eax, disp32(%rip) */
        {"\x41\x85\x02", 3, 3}, /* test %eax, (%r10) */
        {"\x4d\x8b\x97", 3, 7}, /* mov disp32(%r15), %r10 */
        {"\x4d\x8b\x57", 3, 4}, /* mov disp8(%r15), %r10 */
        {"\x41\xf6\x87", 3, 8}, /* testb $1, disp32(%r15) */
        {"\x49\x83\x7f", 3, 5}, /* cmpq $0, disp8(%r15) */
        {"\x49\x81\x7f", 3, 8}, /* the same with a long number */
        {"\x0f\x87", 2, 6},     /* ja */
        {"\x0f\x85", 2, 6},     /* jne */
        {"\xc5\xf8\x77", 3, 3}, /* vzeroupper */
    };
    enum { STEPS_MAX = 6, RET = 0xc3 };
    for (int step = 0; step < STEPS_MAX && at < code->count; step++) {
        if (code->at[at] == RET) return true;
        size_t length = 0;
        for (size_t i = 0; i < sizeof tests / sizeof tests[0] && length == 0; i++)
            if (is_there(code, at, tests[i].bytes, tests[i].count)) length = tests[i].length;
        if (length == 0) return false;
        at += length;
    }
    return false;
}

/* Steps from the innermost frame of a blob with a frame size. */
static bool step_innermost_sized(const pt_java_reader *r, const pt_java_blob *blob,
                                 pt_java_frame *frame, pt_java_found *found)
{
    enum { POP = 0x5d, LOOK_BYTES = 48 };
    const pt_java_scope own = {.method = blob->method, .bci = -1}; /* method 0: of a stub */
    instructions code;
    if (blob->complete <= blob->limit - blob->code && frame->pc - blob->code < blob->complete) {
        found->scope = own;
        return step_beginning(r, blob, frame);
    }
    if (!read_code(r, blob, frame->pc, LOOK_BYTES, &code)) return false;
    const size_t add = length_of_move(&code, 0, ADD, blob->frame_bytes - 2 * WORD);
    const bool is_bare = is_returning(&code, 0);
    const bool is_popping = add < code.count && code.at[add] == POP && is_returning(&code, add + 1);
    if (is_bare || is_popping) found->scope = own;
    if (is_bare) return step_bare(r, frame);
    return step_sized(r, frame, is_popping && add == 0 ? 2 * WORD : blob->frame_bytes);
}

/* Is pc a return address in Java code? */
static bool is_java_return(const pt_java_reader *r, uint64_t pc)
{
    const pt_java_blob *const blob = r->blob_at(r->arg, pc);
    if (blob == NULL) return false;
    return blob->kind == PT_JAVA_INTERPRETER || pt_java_is_return(r->read, r->arg, blob, pc);
}

/* Steps from an innermost frame that does not exist yet or any more: a method is being entered or
 * left. */
static bool step_entering(const pt_java_reader *r, pt_java_frame *frame)
{
    uint64_t top;
    if (r->read_stack(r->arg, frame->sp, &top) && is_java_return(r, top))
        return step_bare(r, frame);
    return is_java_return(r, frame->result) &&
           go_to(r, frame, frame->result, frame->bytecode, frame->fp);
}

/* Steps from the innermost frame of a stub with a frame size, which begins with `push %rbp`, `mov
 * %rsp, %rbp` and then saves registers. */
static bool step_innermost_pushed(const pt_java_reader *r, const pt_java_blob *blob,
                                  pt_java_frame *frame)
{
    enum { HEAD_BYTES = 4 };
    instructions code;
    if (!read_code(r, blob, blob->code, HEAD_BYTES, &code) ||
        !IS_THERE(&code, 0, "\x55\x48\x8b\xec"))
        return false;
    if (frame->pc == blob->code) return step_bare(r, frame);
    if (frame->pc < blob->code + HEAD_BYTES) return step_sized(r, frame, 2 * WORD);
    return step_by_fp(r, frame);
}

/* ---- the interpreter ---- */

/* Has the innermost frame a frame pointer, but no method yet? The method is then in rbx. */
static bool is_half_entered(const pt_java_reader *r, const pt_java_frame *frame)
{
    uint64_t pc;
    return !frame->is_return && frame->fp + (uint64_t)(int64_t)METHOD < frame->sp &&
           r->read_stack(r->arg, frame->fp + WORD, &pc) && is_java_return(r, pc);
}

/* Reads the method of the interpreter's frame at fp, and the place in that method. */
static bool read_interpreted(const pt_java_reader *r, const pt_java_frame *frame,
                             pt_java_scope *ret)
{
    uint64_t method, saved, sender;
    if (frame->fp % WORD != 0 || frame->fp < frame->sp ||
        !r->read_stack(r->arg, frame->fp + (uint64_t)(int64_t)SENDER_SP, &sender) ||
        sender <= frame->fp || sender % WORD != 0)
        return false;
    if (is_half_entered(r, frame))
        method = frame->method;
    else if (!r->read_stack(r->arg, frame->fp + (uint64_t)(int64_t)METHOD, &method))
        return false;
    const pt_java_method *const known = r->method_at(r->arg, method);
    if (known == NULL) return false;
    if (!r->read_stack(r->arg, frame->fp + (uint64_t)(int64_t)BYTECODE, &saved)) saved = 0;
    const uint64_t now = frame->is_return ? saved : frame->bytecode;
    *ret = (pt_java_scope){.method = method, .bci = -1};
    if (now - known->code < known->code_bytes)
        ret->bci = (int32_t)(now - known->code);
    else if (saved - known->code < known->code_bytes)
        ret->bci = (int32_t)(saved - known->code);
    return true;
}

static bool step_interpreted(const pt_java_reader *r, pt_java_frame *frame)
{
    uint64_t pc, fp, sender;
    return r->read_stack(r->arg, frame->fp + WORD, &pc) && r->read_stack(r->arg, frame->fp, &fp) &&
           r->read_stack(r->arg, frame->fp + (uint64_t)(int64_t)SENDER_SP, &sender) &&
           go_to(r, frame, pc, sender, fp);
}

/* ---- code that belongs to no method ---- */

/* The lengths of the two forms of calls of a stub: by a distance, and by an address in r10. */
enum { CALL_BYTES = 5, LONG_CALL_BYTES = 13 };

/* Is the instruction before that return address a call of the stub? */
static bool is_call_of(const pt_java_reader *r, const pt_java_blob *stub, uint64_t pc)
{
    uint8_t code[LONG_CALL_BYTES];
    uint64_t target;
    int32_t offset;
    if (!pt_java_has_code(r->vm, pc) || !r->read(r->arg, pc - LONG_CALL_BYTES, code, sizeof code))
        return false;
    memcpy(&offset, code + LONG_CALL_BYTES - sizeof offset, sizeof offset);
    memcpy(&target, code + 2, sizeof target);
    if (code[LONG_CALL_BYTES - CALL_BYTES] == 0xe8)
        target = pc + (uint64_t)(int64_t)offset;
    else if (memcmp(code, "\x49\xba", 2) != 0 || memcmp(code + 10, "\x41\xff\xd2", 3) != 0)
        return false;
    return target >= stub->code && target < stub->limit;
}

/* Is pc a return address in C or C++, after a call of an address in a register or in memory? */
static bool is_native_return(const pt_java_reader *r, uint64_t pc)
{
    enum { BYTES = 6, CALL = 0xff };
    uint8_t code[BYTES];
    if (pt_java_has_code(r->vm, pc) || !r->is_code(r->arg, pc - 1) ||
        !r->read(r->arg, pc - BYTES, code, sizeof code))
        return false;
    return (code[4] == CALL && (code[5] & 0xf8) == 0xd0) ||
           (code[3] == CALL && (code[4] & 0xf8) == 0x50) ||
           (code[0] == CALL && (code[1] == 0x15 || (code[1] & 0xf8) == 0x90));
}

/* Steps from the innermost frame of a stub that has pushed some words or has a frame pointer. The
 * stub's return address is recognised by the instruction before it, a call of the stub. */
static bool step_called(const pt_java_reader *r, const pt_java_blob *stub, pt_java_frame *frame)
{
    enum { WORDS_MAX = 16 };
    uint64_t pc;
    if (r->read_stack(r->arg, frame->sp, &pc) && is_native_return(r, pc))
        return step_bare(r, frame);
    if (frame->fp >= frame->sp && r->read_stack(r->arg, frame->fp + WORD, &pc) &&
        (is_call_of(r, stub, pc) || is_native_return(r, pc)))
        return step_by_fp(r, frame);
    for (uint64_t i = 0; i < WORDS_MAX; i++) {
        const uint64_t at = frame->sp + i * WORD;
        if (!r->read_stack(r->arg, at, &pc)) return false;
        if (is_call_of(r, stub, pc)) return go_to(r, frame, pc, at + WORD, frame->fp);
    }
    return false;
}

/* Steps from the innermost frame of a stub without a frame size: it has a frame pointer, or no
 * frame at all. */
static bool step_innermost_stub(const pt_java_reader *r, const pt_java_blob *blob,
                                pt_java_frame *frame)
{
    enum { RET = 0xc3, PUSH = 0x55, LOOK_BYTES = 8 };
    instructions code;
    if (!read_code(r, blob, frame->pc, LOOK_BYTES, &code)) return false;
    if (code.at[0] == RET || IS_THERE(&code, 0, "\x55\x48\x8b\xec")) return step_bare(r, frame);
    if (IS_THERE(&code, 0, "\x48\x8b\xec") && frame->pc > blob->code) {
        uint8_t before;
        if (r->read(r->arg, frame->pc - 1, &before, 1) && before == PUSH)
            return step_sized(r, frame, 2 * WORD);
    }
    return step_entering(r, frame) || step_called(r, blob, frame);
}

/* Is the blob a stub that fetches more frames from the heap? When a virtual thread (since version
 * 21) continues after a wait, only some of its frames are on the stack, and the outermost of these
 * returns to such a stub. */
static bool is_barrier(const pt_java_blob *blob)
{
    static const char name[] = "StubRoutines (continuation";
    return blob->kind == PT_JAVA_STUB && strncmp(blob->name, name, sizeof name - 1) == 0;
}

/* ---- a step ---- */

bool pt_java_step(const pt_java_reader *r, const pt_java_blob *blob, pt_java_frame *frame,
                  pt_java_found *ret_found)
{
    *ret_found = (pt_java_found){.pc = frame->pc, .scope = {.bci = -1}};
    if (blob->kind == PT_JAVA_INTERPRETER) {
        if (read_interpreted(r, frame, &ret_found->scope)) return step_interpreted(r, frame);
        return !frame->is_return && step_entering(r, frame);
    }
    if (frame->is_return && is_barrier(blob)) return false;
    if (blob->frame_bytes == 0)
        return frame->is_return ? step_by_fp(r, frame) : step_innermost_stub(r, blob, frame);
    const bool is_stub = blob->kind == PT_JAVA_STUB;
    if (!frame->is_return)
        return (is_stub && step_innermost_pushed(r, blob, frame)) ||
               step_innermost_sized(r, blob, frame, ret_found);
    uint64_t original;
    if (blob->kind == PT_JAVA_NMETHOD &&
        (frame->pc == blob->deopt[0] || frame->pc == blob->deopt[1]) &&
        r->read_stack(r->arg, frame->sp + blob->original_pc, &original) && original >= blob->code &&
        original < blob->limit)
        ret_found->pc = original;
    return step_sized(r, frame, blob->frame_bytes);
}
