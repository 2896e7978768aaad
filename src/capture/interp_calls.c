/* interp_calls.c: finds the calls in which threads of an interpreter wait for its lock.
 *
 * CPython waits in take_gil, which has no symbol in most files, but is the only function in the
 * image that calls pthread_cond_timedwait. */
#include <elf.h>
#include <string.h>

#include "capture/interp_image.h"

enum {
    SLOTS_MAX = 2, /* the loader may write a function's address to two slots: for calls, and for
                    * other uses */
    STUBS_MAX = 2,
    CALL_BYTES = 5,
    INDIRECT_BYTES = 6,
    STUB_HEAD_BYTES = 5, /* at most, of a stub before its jump: endbr64, bnd */
};

typedef struct {
    uint64_t slots[SLOTS_MAX], stubs[STUBS_MAX]; /* stubs: code that jumps to the address in a
                                                  * slot */
    uint32_t slot_count, stub_count;
} imported;

static bool is_named(const pt_elf_symbols *symbols, uint32_t number, const char *name)
{
    pt_elf_symbol symbol;
    return pt_elf_symbol_at(symbols, number, &symbol) && strcmp(symbol.name, name) == 0;
}

/* Finds where the loader writes the function's address. */
static void find_slots(const pt_elf *elf, const char *name, imported *f)
{
    pt_elf_symbols symbols;
    pt_elf_relocations walk = {0};
    pt_elf_relocation r;
    if (!pt_elf_symbols_open(elf, SHT_DYNSYM, &symbols)) return;
    while (f->slot_count < SLOTS_MAX && pt_elf_relocation_next(elf, &walk, &r))
        if ((r.type == R_X86_64_JUMP_SLOT || r.type == R_X86_64_GLOB_DAT) &&
            is_named(&symbols, r.symbol, name))
            f->slots[f->slot_count++] = r.addr;
}

/* The target of an instruction of `bytes` bytes that ends with a 32-bit distance. */
static uint64_t target_of(const uint8_t *insn, uint64_t bytes, uint64_t addr)
{
    int32_t by;
    memcpy(&by, insn + bytes - sizeof by, sizeof by);
    return addr + bytes + (uint64_t)(int64_t)by;
}

static bool is_slot(const imported *f, uint64_t addr)
{
    for (uint32_t i = 0; i < f->slot_count; i++)
        if (f->slots[i] == addr) return true;
    return false;
}

static bool is_stub(const imported *f, uint64_t addr)
{
    for (uint32_t i = 0; i < f->stub_count; i++)
        if (f->stubs[i] - addr <= STUB_HEAD_BYTES) return true;
    return false;
}

/* The bytes and the segment of the image's executable code. NULL: it has none. */
static const uint8_t *code_of(const pt_elf *elf, pt_elf_segment *ret)
{
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, ret); i++)
        if (ret->type == PT_LOAD && (ret->flags & PF_X) != 0)
            return pt_interp_bytes_at(elf, ret->addr, ret->file_bytes);
    return NULL;
}

/* Adds the return address of a call. */
static void note_return(pt_interp_image *image, uint64_t addr)
{
    int i = 0;
    while (i < PT_INTERP_LOCK_WAITS_MAX && image->lock_waits[i] != 0)
        i++;
    if (i < PT_INTERP_LOCK_WAITS_MAX) image->lock_waits[i] = addr;
}

static void find_calls(const uint8_t *code, const pt_elf_segment *segment, imported *f,
                       pt_interp_image *image)
{
    enum { THROUGH = 0xff, JUMP_THROUGH = 0x25, CALL_THROUGH = 0x15, CALL = 0xe8 };
    const uint8_t *const last = code + segment->file_bytes - INDIRECT_BYTES;
    for (const uint8_t *at = code; at <= last && (at = memchr(at, THROUGH, last - at + 1)); at++) {
        const uint64_t addr = segment->addr + (uint64_t)(at - code);
        if ((at[1] != JUMP_THROUGH && at[1] != CALL_THROUGH) ||
            !is_slot(f, target_of(at, INDIRECT_BYTES, addr)))
            continue;
        if (at[1] == CALL_THROUGH)
            note_return(image, addr + INDIRECT_BYTES);
        else if (f->stub_count < STUBS_MAX)
            f->stubs[f->stub_count++] = addr;
    }
    if (f->stub_count == 0) return;
    for (const uint8_t *at = code; at <= last && (at = memchr(at, CALL, last - at + 1)); at++) {
        const uint64_t addr = segment->addr + (uint64_t)(at - code);
        if (is_stub(f, target_of(at, CALL_BYTES, addr))) note_return(image, addr + CALL_BYTES);
    }
}

void pt_interp_find_lock_waits(const pt_elf *elf, pt_interp_image *image)
{
    imported f = {.slot_count = 0};
    pt_elf_segment segment;
    if (elf->machine != EM_X86_64 || image->facts.language != PT_BPF_PYTHON) return;
    find_slots(elf, "pthread_cond_timedwait", &f);
    const uint8_t *const code = f.slot_count > 0 ? code_of(elf, &segment) : NULL;
    if (code != NULL && segment.file_bytes >= INDIRECT_BYTES) find_calls(code, &segment, &f, image);
}
