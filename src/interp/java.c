/* java.c: code and methods of a Java virtual machine. See java.h. */
#include "interp/java.h"

#include <string.h>

typedef struct {
    const pt_java_vm *vm;
    pt_interp_read *read;
    void *arg;
} reading;

/* ---- the code cache ---- */

static const pt_java_heap *heap_of(const pt_java_vm *vm, uint64_t pc)
{
    for (uint32_t i = 0; i < vm->heap_count; i++)
        if (pc >= vm->heap[i].low && pc < vm->heap[i].limit) return &vm->heap[i];
    return NULL;
}

bool pt_java_has_code(const pt_java_vm *vm, uint64_t pc)
{
    return heap_of(vm, pc) != NULL;
}

/* Finds the address of the header of the blob that contains pc. */
static bool find_blob(const reading *r, uint64_t pc, uint64_t *ret_addr)
{
    enum { HOPS_MAX = 1 << 12, FREE = 0xff };
    const pt_java_heap *const heap = heap_of(r->vm, pc);
    if (heap == NULL) return false;
    uint64_t segment = (pc - heap->low) >> heap->log2_segment;
    for (int i = 0; i < HOPS_MAX; i++) {
        uint8_t back, is_used;
        if (!r->read(r->arg, heap->segments + segment, &back, 1) || back == FREE || back > segment)
            return false;
        if (back > 0) {
            segment -= back;
            continue;
        }
        const uint64_t block = heap->low + (segment << heap->log2_segment);
        *ret_addr = block + r->vm->layout.block_bytes;
        return r->read(r->arg, block + r->vm->layout.block_used, &is_used, 1) && is_used == 1;
    }
    return false;
}

static bool read_word(const reading *r, uint64_t addr, uint64_t *ret)
{
    return r->read(r->arg, addr, ret, sizeof *ret);
}

static bool read_number(const reading *r, uint64_t addr, uint32_t *ret)
{
    return r->read(r->arg, addr, ret, sizeof *ret);
}

static bool read_short(const reading *r, uint64_t addr, uint16_t *ret)
{
    return r->read(r->arg, addr, ret, sizeof *ret);
}

/* Reads the places of an nmethod's parts, which are addresses or offsets from the blob's start. */
static bool read_old_parts(const reading *r, pt_java_blob *b)
{
    const pt_java_layout *const l = &r->vm->layout;
    uint32_t pcs, pcs_limit, metadata;
    if (!read_number(r, b->addr + l->nmethod_pcs, &pcs) ||
        !read_number(r, b->addr + l->nmethod_pcs_limit, &pcs_limit) ||
        !read_number(r, b->addr + l->nmethod_metadata, &metadata) ||
        !read_word(r, b->addr + l->nmethod_scopes, &b->scopes) ||
        !read_word(r, b->addr + l->nmethod_deopt, &b->deopt[0]) ||
        !read_word(r, b->addr + l->nmethod_deopt_handle, &b->deopt[1]))
        return false;
    b->pcs = b->addr + pcs;
    b->pcs_limit = b->addr + pcs_limit;
    b->metadata = b->addr + metadata;
    return true;
}

/* Since version 25, an nmethod has two parts outside its blob: the immutable part has scopes and
 * places, the mutable part has relocations and, after these, the addresses of methods. */
static bool read_new_parts(const reading *r, pt_java_blob *b)
{
    const pt_java_layout *const l = &r->vm->layout;
    uint64_t immutable, mutable;
    uint32_t pcs, scopes, relocation, deopt[2] = {0, 0};
    if (!read_word(r, b->addr + l->nmethod_immutable, &immutable) ||
        !read_word(r, b->addr + l->blob_mutable, &mutable) ||
        !read_number(r, b->addr + l->nmethod_pcs, &pcs) ||
        !read_number(r, b->addr + l->nmethod_scopes, &scopes) ||
        !read_number(r, b->addr + l->blob_relocation, &relocation) ||
        !read_number(r, b->addr + l->nmethod_deopt, &deopt[0]) ||
        (l->nmethod_deopt_handle != 0 &&
         !read_number(r, b->addr + l->nmethod_deopt_handle, &deopt[1])))
        return false;
    b->pcs = immutable + pcs;
    b->pcs_limit = b->scopes = immutable + scopes;
    b->metadata = mutable + (((uint64_t)relocation + 7) & ~UINT64_C(7));
    for (int i = 0; i < 2; i++)
        b->deopt[i] = (int32_t)deopt[i] > 0 ? b->addr + deopt[i] : 0;
    return true;
}

static bool read_nmethod(const reading *r, pt_java_blob *b)
{
    enum { PCS_MAX_BYTES = 64 << 20 };
    const pt_java_layout *const l = &r->vm->layout;
    if (!read_word(r, b->addr + l->nmethod_method, &b->method) || b->method == 0 ||
        !read_number(r, b->addr + l->nmethod_compile, &b->compile) ||
        !read_number(r, b->addr + l->nmethod_original_pc, &b->original_pc) ||
        !(r->vm->is_split ? read_new_parts(r, b) : read_old_parts(r, b)))
        return false;
    return b->pcs_limit >= b->pcs && b->pcs_limit - b->pcs <= PCS_MAX_BYTES;
}

static bool read_code_range(const reading *r, uint32_t bytes, pt_java_blob *b)
{
    const pt_java_layout *const l = &r->vm->layout;
    uint32_t code, data;
    if (r->vm->is_split) {
        if (!read_number(r, b->addr + l->blob_code_offset, &code) ||
            !read_number(r, b->addr + l->blob_data, &data))
            return false;
        b->code = b->addr + code;
        b->limit = b->addr + data;
    } else if (!read_word(r, b->addr + l->blob_code, &b->code) ||
               !read_word(r, b->addr + l->blob_code_limit, &b->limit)) {
        return false;
    }
    return b->code >= b->addr && b->limit > b->code && b->limit - b->addr <= bytes;
}

static bool read_complete(const reading *r, pt_java_blob *b)
{
    const uint64_t at = b->addr + r->vm->layout.blob_complete;
    if (!r->vm->is_split) return read_number(r, at, &b->complete);
    uint16_t complete;
    if (!read_short(r, at, &complete)) return false;
    b->complete = (uint32_t)(int16_t)complete;
    return true;
}

static bool read_name(const reading *r, uint64_t addr, pt_java_blob *b)
{
    size_t bytes;
    if (!pt_interp_copy_text(r->read, r->arg, addr, sizeof b->name - 1, b->name, sizeof b->name - 1,
                             &bytes))
        return false;
    b->name[bytes] = '\0';
    return bytes > 0;
}

bool pt_java_blob_at(const pt_java_vm *vm, pt_interp_read *read, void *arg, uint64_t pc,
                     pt_java_blob *ret)
{
    enum { FRAME_WORDS_MAX = 1 << 16, WORD = 8 };
    const reading r = {vm, read, arg};
    const pt_java_layout *const l = &vm->layout;
    uint64_t name;
    uint32_t bytes, words;
    memset(ret, 0, sizeof *ret);
    if (!find_blob(&r, pc, &ret->addr) || !read_number(&r, ret->addr + l->blob_bytes, &bytes) ||
        !read_code_range(&r, bytes, ret) || pc < ret->code || pc >= ret->limit ||
        !read_complete(&r, ret) || !read_number(&r, ret->addr + l->blob_frame_words, &words) ||
        !read_word(&r, ret->addr + l->blob_name, &name) || !read_name(&r, name, ret))
        return false;
    ret->frame_bytes = words <= FRAME_WORDS_MAX ? words * WORD : 0;
    ret->kind = PT_JAVA_STUB;
    if (strcmp(ret->name, "Interpreter") == 0) ret->kind = PT_JAVA_INTERPRETER;
    ret->is_native = strcmp(ret->name, "native nmethod") == 0;
    if (!ret->is_native && strcmp(ret->name, "nmethod") != 0) return true;
    ret->kind = PT_JAVA_NMETHOD;
    return read_nmethod(&r, ret);
}

bool pt_java_blob_is(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                     const pt_java_blob *known)
{
    pt_java_blob now;
    return pt_java_blob_at(vm, read, arg, known->code, &now) && now.addr == known->addr &&
           now.code == known->code && now.limit == known->limit &&
           now.frame_bytes == known->frame_bytes && now.method == known->method &&
           now.compile == known->compile && now.pcs == known->pcs &&
           now.pcs_limit == known->pcs_limit && strcmp(now.name, known->name) == 0;
}

/* ---- scopes ---- */

/* The description of a place in an nmethod: 16 bytes, which begin with two numbers of 32 bits: the
 * offset in the code, and the offset of the place's scope. */
enum { PLACE_BYTES = 16 };

/* Finds the first description of a place at or after a pc. */
static bool find_place(const reading *r, const pt_java_blob *b, uint64_t pc, uint32_t ret_place[2])
{
    const int64_t offset = (int64_t)(pc - b->code);
    uint64_t low = 0, count = (b->pcs_limit - b->pcs) / PLACE_BYTES;
    const uint64_t all = count;
    while (count > 0) {
        const uint64_t half = count / 2;
        uint32_t at;
        if (!read_number(r, b->pcs + (low + half) * PLACE_BYTES, &at)) return false;
        if ((int32_t)at < offset) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low < all &&
           r->read(r->arg, b->pcs + low * PLACE_BYTES, ret_place, 2 * sizeof ret_place[0]);
}

bool pt_java_is_return(pt_interp_read *read, void *arg, const pt_java_blob *nmethod, uint64_t pc)
{
    const reading r = {NULL, read, arg};
    uint32_t place[2];
    return nmethod->kind == PT_JAVA_NMETHOD && find_place(&r, nmethod, pc, place) &&
           place[0] == pc - nmethod->code;
}

/* Reads a compressed number (UNSIGNED5): at most five bytes, the last of which is less than HIGH,
 * or is the fifth. */
static bool read_packed(const reading *r, uint64_t *at, uint32_t *ret)
{
    enum { BYTES_MAX = 5, DIGIT_BITS = 6, HIGH = 192 };
    uint32_t sum = 0;
    for (unsigned i = 0; i < BYTES_MAX; i++) {
        uint8_t byte;
        if (!r->read(r->arg, *at, &byte, 1) || byte < r->vm->least_byte) return false;
        ++*at;
        sum += (uint32_t)(byte - r->vm->least_byte) << (DIGIT_BITS * i);
        if (byte < HIGH) break;
    }
    *ret = sum;
    return true;
}

uint32_t pt_java_scopes_at(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                           const pt_java_blob *nmethod, uint64_t pc,
                           pt_java_scope ret[PT_JAVA_SCOPES_MAX])
{
    const reading r = {vm, read, arg};
    enum { STREAM_MAX_BYTES = 64 << 20, METHODS_MAX = 1 << 20 };
    uint32_t place[2], outer, method, bci, count = 0;
    if (nmethod->kind != PT_JAVA_NMETHOD) return 0;
    if (nmethod->is_native || !find_place(&r, nmethod, pc, place) || place[1] == 0) {
        ret[0] = (pt_java_scope){.method = nmethod->method, .bci = -1};
        return 1;
    }
    for (uint32_t offset = place[1]; offset != 0; offset = outer) {
        uint64_t at = nmethod->scopes + offset;
        if (count == PT_JAVA_SCOPES_MAX || offset > STREAM_MAX_BYTES ||
            !read_packed(&r, &at, &outer) || !read_packed(&r, &at, &method) ||
            !read_packed(&r, &at, &bci) || method == 0 || method > METHODS_MAX ||
            !read_word(&r, nmethod->metadata + (uint64_t)(method - 1) * sizeof(uint64_t),
                       &ret[count].method))
            return 0;
        ret[count++].bci = (int32_t)(bci - 1);
    }
    /* The outermost method must be the compiled method. */
    return ret[count - 1].method == nmethod->method ? count : 0;
}

/* ---- methods ---- */

enum { CONST_BYTES_MAX = 128 };

static uint16_t short_at(const uint8_t *bytes, uint16_t offset)
{
    uint16_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

/* Reads the constant pool's text with that number. */
static bool read_constant(const reading *r, uint64_t pool, uint32_t length, uint16_t number,
                          uint64_t *ret)
{
    return number > 0 && number < length &&
           read_word(r, pool + r->vm->layout.pool_bytes + (uint64_t)number * sizeof *ret, ret) &&
           *ret != 0;
}

/* Reads the symbols of a method: names of class, method and file. */
static bool read_symbols(const reading *r, uint64_t pool, uint16_t name, pt_java_method *ret)
{
    const pt_java_layout *const l = &r->vm->layout;
    uint64_t holder;
    uint32_t length;
    uint16_t file;
    if (!read_word(r, pool + l->pool_holder, &holder) || holder == 0 ||
        !read_number(r, pool + l->pool_length, &length) ||
        !read_constant(r, pool, length, name, &ret->name) ||
        !read_word(r, holder + l->class_name, &ret->class_name) || ret->class_name == 0 ||
        !read_short(r, l->has_pool_file ? pool + l->pool_file : holder + l->class_file, &file))
        return false;
    ret->file = 0;
    return file == 0 || read_constant(r, pool, length, file, &ret->file);
}

bool pt_java_method_at(const pt_java_vm *vm, pt_interp_read *read, void *arg, uint64_t method,
                       pt_java_method *ret)
{
    enum { HAS_LINES = 1, WORD = 8, ALIGNED = 7 };
    const reading r = {vm, read, arg};
    const pt_java_layout *const l = &vm->layout;
    uint8_t body[CONST_BYTES_MAX];
    uint64_t pool;
    uint32_t words;
    memset(ret, 0, sizeof *ret);
    ret->method = method;
    if (method == 0 || (method & ALIGNED) != 0 || l->const_bytes > sizeof body ||
        (size_t)l->const_constants + sizeof pool > l->const_bytes ||
        (size_t)l->const_words + sizeof words > l->const_bytes ||
        l->const_flags >= l->const_bytes || l->const_code_bytes + 2 > l->const_bytes ||
        l->const_name + 2 > l->const_bytes ||
        !read_word(&r, method + l->method_const, &ret->body) || ret->body == 0 ||
        (ret->body & ALIGNED) != 0 || !read(arg, ret->body, body, l->const_bytes))
        return false;
    memcpy(&pool, body + l->const_constants, sizeof pool);
    memcpy(&words, body + l->const_words, sizeof words);
    ret->code = ret->body + l->const_bytes;
    ret->code_bytes = short_at(body, l->const_code_bytes);
    const uint64_t limit = ret->body + (uint64_t)words * WORD;
    ret->lines = ret->lines_limit = ret->code + ret->code_bytes;
    if (ret->lines > limit) return false;
    if ((body[l->const_flags] & HAS_LINES) != 0) ret->lines_limit = limit;
    return pool != 0 && (pool & ALIGNED) == 0 &&
           read_symbols(&r, pool, short_at(body, l->const_name), ret);
}

/* A compressed number with a sign: 0, -1, 1, -2, ... */
static bool read_signed(const reading *r, uint64_t *at, int32_t *ret)
{
    uint32_t value;
    if (!read_packed(r, at, &value)) return false;
    *ret = (int32_t)((value >> 1) ^ (0 - (value & 1)));
    return true;
}

/* The table has pairs of differences, of bytecode and of line: one byte for small differences (5
 * and 3 bits), else 255 and two numbers; 0 ends the table. The result is the last pair that begins
 * at or before the place. */
int32_t pt_java_line(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                     const pt_java_method *method, int32_t bci)
{
    enum { END = 0, LONG = 0xff, LINE_BITS = 3, LINE_MASK = 7, PAIRS_MAX = 1 << 16 };
    const reading r = {vm, read, arg};
    uint64_t at = method->lines;
    int64_t from = 0, line = 0;
    int32_t best = 0;
    if (bci < 0) bci = 0;
    for (int i = 0; i < PAIRS_MAX && at < method->lines_limit; i++) {
        uint8_t byte;
        int32_t more, lines;
        if (!read(arg, at, &byte, 1)) return 0;
        if (byte == END) break;
        at++;
        if (byte != LONG) {
            more = byte >> LINE_BITS;
            lines = byte & LINE_MASK;
        } else if (!read_signed(&r, &at, &more) || !read_signed(&r, &at, &lines)) {
            return 0;
        }
        from += more;
        line += lines;
        if (from > bci) break;
        if (line < 0 || line > UINT16_MAX) return 0;
        best = (int32_t)line;
    }
    return best;
}

/* ---- names ---- */

static bool copy_symbol(const reading *r, uint64_t symbol, char *to, size_t cap, size_t *ret_bytes)
{
    uint16_t length;
    return read_short(r, symbol + r->vm->layout.symbol_length, &length) &&
           pt_interp_copy_text(r->read, r->arg, symbol + r->vm->layout.symbol_text, length, to, cap,
                               ret_bytes);
}

/* The length of a name without the address that follows a hidden class's name
 * (Main$$Lambda+0x00007f...), which differs in each run. */
static size_t name_without_address(const char *name, size_t bytes)
{
    const char *const plus = bytes > 0 ? memrchr(name, '+', bytes) : NULL;
    if (plus == NULL || bytes - (size_t)(plus - name) < 3 || plus[1] != '0' || plus[2] != 'x')
        return bytes;
    return (size_t)(plus - name);
}

bool pt_java_name(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                  const pt_java_method *method, char *to, size_t cap, size_t *ret_bytes)
{
    const reading r = {vm, read, arg};
    size_t bytes, more;
    if (cap == 0 || !copy_symbol(&r, method->class_name, to, cap - 1, &bytes)) return false;
    bytes = name_without_address(to, bytes);
    for (size_t i = 0; i < bytes; i++)
        if (to[i] == '/') to[i] = '.';
    to[bytes++] = '.';
    if (!copy_symbol(&r, method->name, to + bytes, cap - bytes, &more)) return false;
    *ret_bytes = bytes + more;
    return more > 0;
}

bool pt_java_file(const pt_java_vm *vm, pt_interp_read *read, void *arg,
                  const pt_java_method *method, char *to, size_t cap, size_t *ret_bytes)
{
    const reading r = {vm, read, arg};
    size_t bytes, more;
    *ret_bytes = 0;
    if (method->file == 0) return true;
    if (!copy_symbol(&r, method->class_name, to, cap, &bytes)) return false;
    const char *const slash = bytes > 0 ? memrchr(to, '/', bytes) : NULL;
    bytes = slash != NULL ? (size_t)(slash - to) + 1 : 0;
    if (!copy_symbol(&r, method->file, to + bytes, cap - bytes, &more)) return false;
    *ret_bytes = bytes + more;
    return true;
}
