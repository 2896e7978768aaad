/* maps.c: which files are mapped executable, since when, until when, and which build of them.
 *
 * The source is /proc/self/maps, not the loader's list: it needs no lock of the loader, and also
 * shows code that the loader does not know (vDSO, JIT). It is read again when a sample lies outside
 * the known mappings, and, after a library was unloaded, at the next sample with code of a
 * file that may be unloaded, or in the next round of the drain thread.
 *
 * Epochs distinguish an address from the same address in another library that is mapped there
 * later: when a mapping goes, the epoch grows, and later stacks carry the new number. */
#include "agent/agent.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/plain/ascending.h"
#include "elf/image.h"
#include "process/maps.h"
#include "process/path_kind.h"

enum {
    LIVE_MAX = 4096,        /* executable mappings at once; further ones stay unknown */
    AREA_BYTES = 8 << 10,   /* of maps in the journal; more areas follow */
    TEXT_BYTES = 64 << 10,  /* of /proc/self/maps held at once */
    NOTES_MAX_BYTES = 8192, /* of notes in one segment; a segment with more has no build id */
    BUILD_ID_MAX = 64,
    PHDR_MAX = 64,
};

/* A mapping that exists now; the list is sorted by start. */
typedef struct {
    uint64_t start, limit;
    uint64_t image;         /* where the first byte of its file is mapped; 0 = not known */
    pt_journal_map *record; /* in the journal */
    bool seen;              /* in the present reading */
    bool lasts;             /* never unloaded */
} live_map;

/* A line of /proc/self/maps. path points into the text. */
typedef struct {
    pt_journal_map map;
    const char *path;
} maps_line;

static struct {
    live_map *live;
    size_t count;
    char *text;
    pt_journal_area *area;
    uint32_t changes; /* how many readings found a change */
    bool is_expired;  /* a library was unloaded since the last reading */
    uint32_t epoch;
    uint32_t next_epoch; /* the epoch that begins if the present reading finds that a mapping has
                          * gone */
    uint64_t now_ns;
    uint64_t header_start; /* where the first byte of the file of the present lines is mapped */
    uint64_t header_inode;
} maps;

PT_NEAR void pt_maps_reset(void)
{
    PT_SET(maps.count, 0);
    PT_SET(maps.area, NULL);
    PT_SET(maps.epoch, 0);
    PT_SET(maps.is_expired, false);
}

static size_t first_after(uint64_t addr)
{
    return PT_FIRST_AFTER(maps.live, maps.count, start, addr);
}

bool pt_maps_known(uint64_t addr)
{
    const size_t i = first_after(addr);
    return i > 0 && addr < maps.live[i - 1].limit;
}

bool pt_maps_lasts(uint64_t addr)
{
    const size_t i = first_after(addr);
    return i > 0 && addr < maps.live[i - 1].limit && maps.live[i - 1].lasts;
}

/* Marks the mappings of the file that has this address in its code. */
static void set_file_lasting(uint64_t addr)
{
    const size_t at = first_after(addr);
    if (at == 0 || addr >= maps.live[at - 1].limit) return;
    const uint64_t image = maps.live[at - 1].image;
    maps.live[at - 1].lasts = true;
    for (size_t i = 0; i < maps.count && image != 0; i++)
        maps.live[i].lasts |= maps.live[i].image == image;
}

void pt_maps_set_lasting(void)
{
    const uint64_t loader = getauxval(AT_BASE);
    set_file_lasting(getauxval(AT_ENTRY));
    set_file_lasting(getauxval(AT_SYSINFO_EHDR));
    set_file_lasting((uintptr_t)&getauxval);
    set_file_lasting((uintptr_t)&pt_maps_set_lasting);
    for (size_t i = 0; i < maps.count && loader != 0; i++)
        maps.live[i].lasts |= maps.live[i].image == loader;
}

const pt_journal_map *pt_maps_record_of(uint64_t addr)
{
    const size_t i = first_after(addr);
    return i > 0 && addr < maps.live[i - 1].limit ? maps.live[i - 1].record : NULL;
}

uint16_t pt_maps_epoch_of(const uint64_t *pcs, uint32_t depth)
{
    uint32_t epoch = 0;
    for (uint32_t i = 0; i < depth && maps.epoch > 0; i++) {
        if ((pcs[i] & PT_JOURNAL_CODE_FRAME) != 0) continue;
        const uint64_t addr = i > 0 && pcs[i] > 0 ? pcs[i] - 1 : pcs[i]; /* of the call */
        const size_t at = first_after(addr);
        const live_map *const map = at > 0 ? &maps.live[at - 1] : NULL;
        if (map == NULL || addr >= map->limit || map->record == NULL) return (uint16_t)maps.epoch;
        if (map->record->epoch_from > epoch) epoch = map->record->epoch_from;
    }
    return (uint16_t)epoch;
}

/* ---- reading a line ---- */

static bool parse_line(const char *text, maps_line *ret_line)
{
    pt_maps_line line;
    if (!pt_maps_line_parse(text, strlen(text), &line)) return false;
    *ret_line = (maps_line){
        .map = {.start = line.start,
                .limit = line.limit,
                .file_offset = line.file_offset,
                .inode = line.inode,
                .device_major = line.major,
                .device_minor = line.minor,
                .prot = (line.prot & PROT_READ ? 4u : 0) | (line.prot & PROT_WRITE ? 2u : 0) |
                        (line.prot & PROT_EXEC ? 1u : 0),
                .path_bytes =
                    (uint16_t)(line.path_bytes > UINT16_MAX ? UINT16_MAX : line.path_bytes)},
        .path = line.path};
    return true;
}

/* ---- build ids, read from memory without ever faulting ---- */

bool pt_maps_peek(uint64_t addr, void *bytes, size_t size)
{
    const struct iovec to = {bytes, size}, from = {(void *)(uintptr_t)addr, size};
    return process_vm_readv(pt_tick_getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr native_ehdr;
typedef Elf64_Phdr native_phdr;
#else
typedef Elf32_Ehdr native_ehdr;
typedef Elf32_Phdr native_phdr;
#endif

/* Copies the build id of the image whose first bytes are mapped at `image`. Returns its size in
 * bytes; 0 if the image has no build id. */
static size_t build_id_at(uint64_t image, uint8_t *ret_id)
{
    native_ehdr ehdr;
    native_phdr phdrs[PHDR_MAX];
    uint8_t notes[NOTES_MAX_BYTES];
    if (!pt_maps_peek(image, &ehdr, sizeof ehdr) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 ||
        ehdr.e_phentsize != sizeof phdrs[0] || ehdr.e_phnum > PHDR_MAX ||
        !pt_maps_peek(image + ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof phdrs[0]))
        return 0;
    uint64_t first_addr = 0;
    for (unsigned i = 0; i < ehdr.e_phnum; i++) {
        if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset == 0) first_addr = phdrs[i].p_vaddr;
    }
    for (unsigned i = 0; i < ehdr.e_phnum; i++) {
        const native_phdr *const segment = &phdrs[i];
        if (segment->p_type != PT_NOTE || segment->p_memsz > sizeof notes ||
            !pt_maps_peek(image + (segment->p_vaddr - first_addr), notes, segment->p_memsz))
            continue;
        const pt_elf_id id = pt_elf_build_id_in_notes(notes, segment->p_memsz, segment->p_align,
                                                      __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
        if (id.bytes != NULL && id.size_bytes <= BUILD_ID_MAX) {
            memcpy(ret_id, id.bytes, id.size_bytes);
            return id.size_bytes;
        }
    }
    return 0;
}

/* ---- the journal's records ---- */

static pt_journal_map *append_map(const maps_line *line, const uint8_t *build_id, size_t id_bytes)
{
    const size_t size = (sizeof(pt_journal_map) + id_bytes + line->map.path_bytes + 7) / 8 * 8;
    uint8_t *at = pt_journal_room(maps.area, size);
    if (at == NULL) {
        const size_t least = sizeof *maps.area + size;
        maps.area = pt_journal_area_new(&pt_agent.journal, PT_JOURNAL_MAPS,
                                        least > AREA_BYTES ? least : AREA_BYTES);
        if (maps.area == NULL) return NULL;
        at = pt_journal_room(maps.area, size);
    }
    pt_journal_map *const record = (pt_journal_map *)at;
    *record = line->map;
    record->build_id_bytes = (uint16_t)id_bytes;
    memcpy(at + sizeof *record, build_id, id_bytes);
    memcpy(at + sizeof *record + id_bytes, line->path, line->map.path_bytes);
    pt_journal_add(maps.area, size);
    return record;
}

static bool is_same_map(const pt_journal_map *record, const maps_line *line)
{
    const pt_journal_map *const map = &line->map;
    return record->start == map->start && record->limit == map->limit &&
           record->file_offset == map->file_offset && record->inode == map->inode &&
           record->device_major == map->device_major && record->device_minor == map->device_minor &&
           record->path_bytes == map->path_bytes &&
           memcmp((const char *)(record + 1) + record->build_id_bytes, line->path,
                  map->path_bytes) == 0;
}

static void set_gone(size_t i)
{
    if (maps.live[i].record != NULL) {
        maps.live[i].record->to_ns = maps.now_ns;
        maps.live[i].record->epoch_to = maps.next_epoch;
        pt_publish_note(maps.live[i].record, sizeof *maps.live[i].record);
    }
    maps.epoch = maps.next_epoch;
    memmove(&maps.live[i], &maps.live[i + 1], (maps.count - i - 1) * sizeof maps.live[0]);
    maps.count--;
}

/* The earlier mappings of a range of addresses. */
typedef struct {
    uint64_t start, limit;
    uint32_t epoch;       /* the first epoch without the last of these mappings; 0 = there was no
                           * earlier mapping */
    pt_journal_map *last; /* the last of these mappings, or NULL if two went in the same epoch */
} reuse;

static void note_reuse(const pt_journal_map *map, void *arg)
{
    reuse *const range = arg;
    if (map->start >= range->limit || range->start >= map->limit || map->epoch_to == UINT32_MAX ||
        map->epoch_to < range->epoch)
        return;
    range->last = map->epoch_to > range->epoch ? (pt_journal_map *)(uintptr_t)map : NULL;
    range->epoch = map->epoch_to;
}

static bool same_build(const pt_journal_map *record, const uint8_t *build_id, size_t id_bytes)
{
    return record->build_id_bytes == id_bytes && memcmp(record + 1, build_id, id_bytes) == 0;
}

/* If the same library returns to its former addresses, and no other mapping was there in between,
 * the old record of its mapping is used again: so a program that loads and unloads a library all
 * the time does not get more and more mappings and stacks. */
static pt_journal_map *take_up(const reuse *range, const maps_line *line, const uint8_t *build_id,
                               size_t id_bytes)
{
    pt_journal_map *const last = range->last;
    if (last == NULL || !is_same_map(last, line) || !same_build(last, build_id, id_bytes))
        return NULL;
    last->to_ns = 0;
    last->epoch_to = UINT32_MAX;
    pt_publish_note(last, sizeof *last);
    return last;
}

/* The address at which the beginning of a line's file is mapped; 0 = not known. A part of a file
 * may be mapped far from its other parts, as V8 maps its builtins a second time. */
static uint64_t image_of(const maps_line *line)
{
    if (maps.header_start != 0 && maps.header_inode == line->map.inode) return maps.header_start;
    for (size_t i = 0; i < maps.count && line->map.inode != 0; i++) {
        const pt_journal_map *const record = maps.live[i].record;
        if (record != NULL && record->inode == line->map.inode &&
            record->device_major == line->map.device_major &&
            record->device_minor == line->map.device_minor && maps.live[i].image != 0)
            return maps.live[i].image;
    }
    return 0;
}

/* Adds a line's mapping to the list. Known mappings that overlap the new one are gone, and leave
 * the list. A mapping counts from the first epoch on, unless another mapping was there before.
 * Returns true if the mapping is new. */
static bool meet_line(maps_line *line)
{
    size_t i = first_after(line->map.start);
    if (i > 0 && maps.live[i - 1].limit > line->map.start) i--;
    if (i < maps.count && maps.live[i].record != NULL && is_same_map(maps.live[i].record, line)) {
        maps.live[i].seen = true;
        return false;
    }
    while (i < maps.count && maps.live[i].start < line->map.limit)
        set_gone(i);
    if (maps.count == LIVE_MAX) return false;
    uint8_t build_id[BUILD_ID_MAX];
    const uint64_t image = image_of(line);
    const size_t id_bytes = image != 0 ? build_id_at(image, build_id) : 0;
    reuse range = {.start = line->map.start, .limit = line->map.limit};
    pt_maps_each(note_reuse, &range);
    pt_journal_map *record = take_up(&range, line, build_id, id_bytes);
    line->map.from_ns = maps.now_ns;
    line->map.epoch_from = range.epoch;
    line->map.epoch_to = UINT32_MAX;
    if (record == NULL) record = append_map(line, build_id, id_bytes);
    memmove(&maps.live[i + 1], &maps.live[i], (maps.count - i) * sizeof maps.live[0]);
    maps.live[i] = (live_map){.start = line->map.start,
                              .limit = line->map.limit,
                              .image = image,
                              .record = record,
                              .seen = true};
    maps.count++;
    return true;
}

static bool take_line(const char *text, void *arg)
{
    (void)arg;
    maps_line line;
    if (!parse_line(text, &line)) return false;
    const bool is_vdso = pt_mapped_kind_of(line.path, line.map.path_bytes) == PT_MAPPED_VDSO;
    if (line.map.file_offset == 0 && (line.map.inode != 0 || is_vdso)) {
        maps.header_start = line.map.start;
        maps.header_inode = line.map.inode;
    } else if (line.map.inode != maps.header_inode) {
        maps.header_start = 0;
    }
    const bool news = (line.map.prot & 1) != 0 && meet_line(&line);
    if (is_vdso) maps.header_start = 0; /* mappings without a file follow */
    return news;
}

/* Calls `take` for each line, with at most TEXT_BYTES of the file in memory at once. Returns true
 * if `take` returned true for any line. */
static bool read_lines(int fd, bool (*take)(const char *text, void *arg), void *arg)
{
    size_t held = 0;
    bool any = false;
    for (;;) {
        const ssize_t got = read(fd, maps.text + held, TEXT_BYTES - 1 - held);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return any;
        held += (size_t)got;
        char *start = maps.text, *end;
        while ((end = memchr(start, '\n', held - (size_t)(start - maps.text))) != NULL) {
            *end = '\0';
            any |= take(start, arg);
            start = end + 1;
        }
        held -= (size_t)(start - maps.text);
        memmove(maps.text, start, held);
        if (held == TEXT_BYTES - 1) held = 0; /* no line is that long: drop it */
    }
}

static int open_maps(void)
{
    if (maps.live == NULL) {
        maps.live = pt_agent_map((LIVE_MAX + 1) * sizeof maps.live[0]);
        maps.text = pt_agent_map(TEXT_BYTES);
    }
    return maps.live == NULL || maps.text == NULL
               ? -1
               : open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
}

/* A search for the mapping around addr; the result is in low and limit. */
typedef struct {
    uint64_t addr, low, limit;
} around;

static bool take_around(const char *text, void *arg)
{
    around *const want = arg;
    maps_line line;
    if (!parse_line(text, &line) || (line.map.prot & 4) == 0 || want->addr < line.map.start ||
        want->addr >= line.map.limit)
        return false;
    want->low = line.map.start;
    want->limit = line.map.limit;
    return true;
}

bool pt_maps_around(uint64_t addr, uint64_t *ret_low, uint64_t *ret_limit)
{
    around want = {.addr = addr};
    const int fd = open_maps();
    const bool found = fd >= 0 && read_lines(fd, take_around, &want);
    if (fd >= 0) close(fd);
    if (found) {
        *ret_low = want.low;
        *ret_limit = want.limit;
    }
    return found;
}

/* Reads the mappings. A mapping that has vanished is dropped; if keeps_absent, it stays until
 * another mapping takes its addresses. */
static bool read_again(bool keeps_absent)
{
    const int fd = open_maps();
    if (fd < 0) return false;
    maps.now_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
    maps.next_epoch = maps.epoch < UINT16_MAX ? maps.epoch + 1 : maps.epoch;
    for (size_t i = 0; i < maps.count; i++)
        maps.live[i].seen = false;
    maps.header_start = 0;
    bool changed = read_lines(fd, take_line, NULL);
    close(fd);
    for (size_t i = maps.count; i-- > 0 && !keeps_absent;) {
        if (!maps.live[i].seen) {
            set_gone(i);
            changed = true;
        }
    }
    maps.changes += changed;
    return changed;
}

bool pt_maps_refresh(void)
{
    maps.is_expired = false;
    return read_again(false);
}

void pt_maps_learn(void)
{
    read_again(maps.is_expired);
}

void pt_maps_expire(void)
{
    maps.is_expired = true;
}

bool pt_maps_are_expired(void)
{
    return maps.is_expired;
}

PT_NEAR uint32_t pt_maps_changes(void)
{
    return maps.changes;
}

void pt_maps_each_live(void (*use)(const pt_maps_live *live, void *arg), void *arg)
{
    for (size_t i = 0; i < maps.count; i++) {
        const live_map *const map = &maps.live[i];
        const pt_maps_live live = {.start = map->start,
                                   .limit = map->limit,
                                   .image = map->image,
                                   .inode = map->record != NULL ? map->record->inode : 0};
        use(&live, arg);
    }
}

void pt_maps_each(void (*use)(const pt_journal_map *map, void *arg), void *arg)
{
    const pt_agent_journal *const journal = &pt_agent.journal;
    for (size_t at = PT_JOURNAL_HEADER_BYTES; at < journal->used_bytes;) {
        const pt_journal_area *const area = (const pt_journal_area *)(journal->base + at);
        for (size_t used = 0; area->kind == PT_JOURNAL_MAPS && used < area->used_bytes;) {
            const pt_journal_map *const map =
                (const pt_journal_map *)((const uint8_t *)(area + 1) + used);
            use(map, arg);
            used += (sizeof *map + map->build_id_bytes + map->path_bytes + 7) / 8 * 8;
        }
        at += area->size_bytes;
    }
}
