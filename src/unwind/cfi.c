/* cfi.c: entries of .eh_frame and .debug_frame (DWARF 5, 6.4; LSB core, "Exception Frames"). */
#include "unwind/cfi.h"

/* ---- reading bytes ---- */

uint64_t pt_cursor_long_uleb(pt_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (c->bad || c->at == c->end) {
            c->bad = true;
            return 0;
        }
        const uint8_t byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

int64_t pt_cursor_sleb(pt_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        if (c->bad || c->at == c->end) {
            c->bad = true;
            return 0;
        }
        const uint8_t byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80) continue;
        if ((byte & 0x40) && shift < 64) value |= ~(uint64_t)0 << shift;
        return (int64_t)value;
    }
}

/* DW_EH_PE_X. */
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128,
    PE_UDATA2,
    PE_UDATA4,
    PE_UDATA8,
    PE_SLEB128 = 0x09,
    PE_SDATA2,
    PE_SDATA4,
    PE_SDATA8,
    PE_PCREL = 0x10,
    PE_TEXTREL = 0x20,
    PE_DATAREL = 0x30,
    PE_ALIGNED = 0x50,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

bool pt_cfi_pointer(pt_cursor *c, uint8_t encoding, uint64_t at_addr,
                    const pt_unwind_frames *frames, uint64_t *ret_value)
{
    if (encoding == PE_OMIT) return false;
    if (encoding == PE_ALIGNED) {
        const uint64_t padding = -at_addr & 7;
        pt_cursor_skip(c, padding);
        *ret_value = pt_cursor_fixed(c, 8);
        return !c->bad;
    }
    uint64_t value;
    switch (encoding & 0x0f) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8: value = pt_cursor_fixed(c, 8); break;
    case PE_ULEB128: value = pt_cursor_uleb(c); break;
    case PE_SLEB128: value = (uint64_t)pt_cursor_sleb(c); break;
    case PE_UDATA2: value = pt_cursor_fixed(c, 2); break;
    case PE_SDATA2: value = (uint64_t)(int64_t)(int16_t)pt_cursor_fixed(c, 2); break;
    case PE_UDATA4: value = pt_cursor_fixed(c, 4); break;
    case PE_SDATA4: value = (uint64_t)(int64_t)(int32_t)pt_cursor_fixed(c, 4); break;
    default: c->bad = true; return false;
    }
    switch (encoding & 0x70) {
    case 0: break;
    case PE_PCREL: value += at_addr; break;
    case PE_TEXTREL: value += frames->text_addr; break;
    case PE_DATAREL: value += frames->data_addr; break;
    default: return false; /* relative to a function, which these sections do not use */
    }
    *ret_value = value;
    return !c->bad && !(encoding & PE_INDIRECT);
}

/* ---- entries ---- */

/* The header of an entry. */
typedef struct {
    pt_cursor rest; /* from the id to the entry's end */
    uint64_t id, id_off;
    bool is_cie;
} entry;

/* Reads the header of the entry at off. Returns 1 for an entry; 0 for a zero length, with *ret_next
 * after it; -1 if the entries end at off, or the entry does not fit. */
static inline int entry_at(const pt_unwind_frames *frames, uint64_t off, entry *ret_entry,
                           uint64_t *ret_next)
{
    if (off > frames->size_bytes) return -1;
    pt_cursor c = {frames->bytes + off, frames->bytes + frames->size_bytes, false};
    uint64_t length = pt_cursor_fixed(&c, 4);
    if (c.bad) return -1;
    if (length == 0) {
        *ret_next = off + 4;
        return 0;
    }
    const bool is_64 = length == 0xffffffff;
    if (is_64) length = pt_cursor_fixed(&c, 8);
    if (c.bad || length > (uint64_t)(c.end - c.at)) return -1;
    c.end = c.at + length;
    *ret_next = (uint64_t)(c.end - frames->bytes);
    /* In .eh_frame the id has 4 bytes even if the length is 64-bit (binutils and gcc read it
     * so). */
    const bool is_wide_id = is_64 && frames->is_debug_frame;
    ret_entry->id_off = (uint64_t)(c.at - frames->bytes);
    ret_entry->id = is_wide_id ? pt_cursor_fixed(&c, 8) : pt_cursor_fixed(&c, 4);
    ret_entry->is_cie = ret_entry->id == (!frames->is_debug_frame ? 0
                                          : is_wide_id            ? UINT64_MAX
                                                                  : UINT32_MAX);
    ret_entry->rest = c;
    return 1;
}

bool pt_cfi_next(const pt_unwind_frames *frames, uint64_t *off, bool *ret_is_fde)
{
    entry e;
    const int found = entry_at(frames, *off, &e, off);
    if (found < 0 || (found == 0 && !frames->is_whole_section)) return false;
    *ret_is_fde = found == 1 && !e.is_cie && !e.rest.bad;
    return true;
}

static uint64_t addr_of(const pt_unwind_frames *frames, const uint8_t *at)
{
    return frames->addr + (uint64_t)(at - frames->bytes);
}

/* Reads a CIE's augmentation: letters and their data. Returns false at an unknown letter, after
 * which the data is unreadable. */
static bool read_augmentation(pt_cfi_reader *reader, pt_cfi_cie *cie, const char *letters,
                              pt_cursor *c)
{
    if (*letters != 'z') return *letters == '\0';
    cie->has_data = true;
    const uint64_t size_bytes = pt_cursor_uleb(c);
    pt_cursor data = *c;
    pt_cursor_skip(c, size_bytes);
    if (c->bad) return false;
    data.end = c->at;
    for (letters++; *letters != '\0' && !data.bad; letters++) {
        uint64_t ignored;
        switch (*letters) {
        case 'R': cie->address_encoding = (uint8_t)pt_cursor_fixed(&data, 1); break;
        case 'L': pt_cursor_fixed(&data, 1); break;
        case 'P': {
            const uint8_t encoding = (uint8_t)pt_cursor_fixed(&data, 1);
            pt_cfi_pointer(&data, encoding, addr_of(reader->frames, data.at), reader->frames,
                           &ignored);
            break;
        }
        case 'S': cie->is_signal = true; break;
        case 'B': break;      /* aarch64: return addresses are signed with key B */
        case 'G': break;      /* aarch64: memory tagging of the frame */
        default: return true; /* its data is skipped by its size */
        }
    }
    return !data.bad;
}

/* The longest program of a CIE that is run; compilers write about a dozen bytes. The cache may
 * evict a CIE, so each of its FDEs may run the program again: the program's length would cost time
 * for each FDE. */
enum { CIE_PROGRAM_MAX_BYTES = 4096 };

static bool read_cie(pt_cfi_reader *reader, uint64_t off, pt_cfi_cie *cie)
{
    const pt_unwind_frames *const frames = reader->frames;
    entry e;
    uint64_t next;
    if (entry_at(frames, off, &e, &next) != 1 || !e.is_cie) return false;
    pt_cursor c = e.rest;
    const uint64_t version = pt_cursor_fixed(&c, 1);
    if (version != 1 && version != 3 && version != 4) return false;
    const char *const letters = (const char *)c.at;
    while (!c.bad && pt_cursor_fixed(&c, 1) != 0)
        ;
    if (c.bad) return false;
    if (letters[0] == 'e' && letters[1] == 'h' && letters[2] == '\0') return false; /* of gcc 2 */
    if (version == 4) {
        const uint64_t address_bytes = pt_cursor_fixed(&c, 1);
        const uint64_t segment_bytes = pt_cursor_fixed(&c, 1);
        if (address_bytes != 8 || segment_bytes != 0) return false;
    }
    cie->code_align = pt_cursor_uleb(&c);
    cie->data_align = pt_cursor_sleb(&c);
    const uint64_t pc_column = version == 1 ? pt_cursor_fixed(&c, 1) : pt_cursor_uleb(&c);
    cie->address_encoding = PE_ABSPTR;
    if (c.bad || pc_column != reader->machine->return_addr ||
        !read_augmentation(reader, cie, letters, &c))
        return false;
    if (c.end - c.at > CIE_PROGRAM_MAX_BYTES) return false;
    const pt_unwind_rule none = {
        .cfa_kind = PT_CFA_NONE,
        .pc_slot = reader->machine->has_link ? PT_SLOT_SAME : PT_SLOT_UNKNOWN,
        .pc_off = reader->machine->has_link ? reader->machine->return_addr : 0,
        .fp_slot = PT_SLOT_SAME,
        .is_signal = cie->is_signal,
    };
    cie->first = pt_cfi_words_of(&none);
    return pt_cfi_run_first(reader, cie, c);
}

/* The CIE at off, from the cache or the file. Never NULL; check is_good. */
static inline const pt_cfi_cie *cie_at(pt_cfi_reader *reader, uint64_t off)
{
    pt_cfi_cie *const cie = &reader->cies[(off >> 2 ^ off >> 6) % PT_CFI_CIES];
    if (cie->off != off + 1) {
        *cie = (pt_cfi_cie){.off = off + 1};
        cie->is_good = read_cie(reader, off, cie);
    }
    return cie;
}

/* Reads the part of an FDE after its header. Returns false if the FDE or its CIE is damaged or
 * unusable. */
static inline bool read_fde(pt_cfi_reader *reader, const entry *e, pt_cfi_fde *ret_fde)
{
    const pt_unwind_frames *const frames = reader->frames;
    if (e->is_cie || e->rest.bad) return false;
    if (!frames->is_debug_frame && e->id > e->id_off) return false;
    const uint64_t cie_off = frames->is_debug_frame ? e->id : e->id_off - e->id;
    const pt_cfi_cie *const cie = cie_at(reader, cie_off);
    if (!cie->is_good) return false;
    pt_cursor c = e->rest;
    uint64_t start, size;
    if (cie->address_encoding == (PE_PCREL | PE_SDATA4)) { /* in nearly all files */
        start = addr_of(frames, c.at) + (uint64_t)(int64_t)(int32_t)pt_cursor_fixed(&c, 4);
        size = (uint64_t)(int64_t)(int32_t)pt_cursor_fixed(&c, 4);
    } else if (!pt_cfi_pointer(&c, cie->address_encoding, addr_of(frames, c.at), frames, &start) ||
               !pt_cfi_pointer(&c, cie->address_encoding & 0x0f, addr_of(frames, c.at), frames,
                               &size)) {
        return false;
    }
    if (cie->has_data) pt_cursor_skip(&c, pt_cursor_uleb(&c));
    if (c.bad || size == 0 || start + size < start) return false;
    *ret_fde = (pt_cfi_fde){.start_addr = start, .size_bytes = size, .cie = cie, .program = c};
    return true;
}

bool pt_cfi_fde_at(pt_cfi_reader *reader, uint64_t off, pt_cfi_fde *ret_fde)
{
    entry e;
    uint64_t next;
    return entry_at(reader->frames, off, &e, &next) == 1 && read_fde(reader, &e, ret_fde);
}

bool pt_cfi_next_fde(pt_cfi_reader *reader, uint64_t *off, uint64_t *ret_at, pt_cfi_fde *ret_fde)
{
    for (;;) {
        entry e;
        *ret_at = *off;
        const int found = entry_at(reader->frames, *off, &e, off);
        if (found < 0 || (found == 0 && !reader->frames->is_whole_section)) return false;
        if (found == 1 && read_fde(reader, &e, ret_fde)) return true;
    }
}
