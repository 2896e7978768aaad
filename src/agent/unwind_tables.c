/* unwind_tables.c: unwind tables of all executable mappings, for the handler.
 *
 *   maps.c ---> images (kept while they are mapped) ---> snapshot ---> pt_tick.tables
 *                  | .eh_frame, copied out of memory          |
 *                  `-> pt_unwind_compile                      `- a former snapshot is freed when
 *                                                               no handler can be using it
 *
 * An image is read where it is mapped (images.c). In a recording the table of an image comes from a
 * file that an earlier recording made; if there is none, the table is made when a sample needs it.
 */
#include "agent/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/plain/kept_key.h"
#include "elf/image.h"

enum {
    IMAGES_MAX = 4096,
    HDR_BYTES = 16, /* of .eh_frame_hdr: its head, which gives the place of .eh_frame */
    FRAMES_MAX_BYTES = 256 << 20,
    TABLE_MAX_BYTES = 64 << 20,
};

/* An executable mapping, with its unwind table after an attempt to make the table. */
typedef struct {
    pt_maps_live map;
    uint64_t bias;
    bool wanted; /* a sample needs its table */
    bool asked;  /* whether the recorder offers a table */
    bool tried;
    void *blob; /* NULL: there is no table */
    size_t blob_bytes;
    pt_unwind_table table;
    void *base_blob; /* NULL if the table of the base register is not needed */
    size_t base_blob_bytes;
    pt_unwind_table base_table;
} image;

typedef struct {
    pt_tick_tables tables; /* for the handler */
    size_t bytes;          /* of the snapshot, with the tables that follow it */
    pt_unwind_module module[];
    /* then as many pt_unwind_table, as many of the base register, and as many states */
} snapshot;

static struct {
    image *images, *spare;
    uint32_t count, spare_count;
    uint32_t changes; /* pt_maps_changes at the last update */
    uint32_t generation;
    bool pending; /* no attempt was made yet for some images */
    snapshot *current;
} tables;

bool pt_tables_known(void)
{
    return tables.current != NULL;
}

static void *take_memory(void *arg, size_t bytes)
{
    (void)arg;
    return pt_agent_map(bytes);
}

static void *resize_memory(void *arg, void *memory, size_t bytes, size_t wanted_bytes)
{
    (void)arg;
    void *const at = mremap(memory, bytes, wanted_bytes, MREMAP_MAYMOVE);
    return at == MAP_FAILED ? NULL : at;
}

static void release_memory(void *arg, void *memory, size_t bytes)
{
    (void)arg;
    munmap(memory, bytes);
}

/* ---- one image ---- */

/* Finds the linked address of .eh_frame by .eh_frame_hdr, and the number of bytes from there to the
 * end of its segment.
 */
static bool find_frames(const pt_image *mapped, pt_unwind_frames *frames)
{
    const pt_image_segment *const phdrs = mapped->segments;
    const unsigned count = mapped->count;
    for (unsigned i = 0; i < count; i++) {
        uint8_t hdr[HDR_BYTES] = {0};
        const uint64_t bytes = phdrs[i].p_memsz < HDR_BYTES ? phdrs[i].p_memsz : HDR_BYTES;
        if (phdrs[i].p_type != PT_GNU_EH_FRAME ||
            !pt_maps_peek(mapped->bias + phdrs[i].p_vaddr, hdr, (size_t)bytes) ||
            !pt_unwind_eh_frame_addr(hdr, bytes, phdrs[i].p_vaddr, &frames->addr))
            continue;
        for (unsigned j = 0; j < count; j++) {
            const uint64_t skipped = frames->addr - phdrs[j].p_vaddr;
            if (phdrs[j].p_type != PT_LOAD || skipped >= phdrs[j].p_filesz) continue;
            frames->size_bytes = phdrs[j].p_filesz - skipped;
            return frames->size_bytes <= FRAMES_MAX_BYTES;
        }
    }
    return false;
}

/* Is the mapping where the program headers place code? A program may have a copy of its code
 * elsewhere, as V8 has of its builtins; the image's rules do not describe the copy. */
static bool is_in_place(const pt_image *mapped, uint64_t start)
{
    for (unsigned i = 0; i < mapped->count; i++) {
        const pt_image_segment *const s = &mapped->segments[i];
        const uint64_t low = mapped->bias + (s->p_vaddr & ~UINT64_C(0xfff));
        if (s->p_type == PT_LOAD && start >= low && start < mapped->bias + s->p_vaddr + s->p_memsz)
            return true;
    }
    return false;
}

/* Does the file belong to this user or root, and can nobody else write to it? Another user may have
 * other rights than this process. It must also have a plausible size. */
static bool is_trusted(const struct stat *st)
{
    return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == 0) &&
           (st->st_mode & (S_IWGRP | S_IWOTH)) == 0 && st->st_size > 0 &&
           st->st_size <= TABLE_MAX_BYTES;
}

static bool read_whole(int fd, uint8_t *to, size_t bytes)
{
    for (size_t held = 0; held < bytes;) {
        const ssize_t got = read(fd, to + held, bytes - held);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        held += (size_t)got;
    }
    return true;
}

/* Finds the path of the table that the recorder offers for a mapped file. Returns false if the
 * recorder offers no table, or the mapped file was removed or replaced. */
static bool find_offered(const image *one, const pt_elf_id id, char ret_path[PATH_MAX])
{
    char link[PATH_MAX], all[PATH_MAX], mapped[PATH_MAX], hex[2 * PT_UNWIND_ID_MAX + 1];
    char key[sizeof hex + PT_KEPT_KEY_FACTS];
    struct stat st;
    if (!pt_agent_join(link, sizeof link, pt_agent.base_path, "/" PT_JOURNAL_TABLES)) return false;
    const ssize_t length = readlink(link, all, sizeof all - 1);
    if (length <= 0) return false;
    all[length] = '\0';
    const char *const stands = strrchr(all, PT_JOURNAL_TABLE_KEY);
    if (stands == NULL || !pt_images_path(&one->map, mapped) ||
        pt_libc_lstat_at(AT_FDCWD, mapped, &st) != 0 || st.st_ino != one->map.inode)
        return false;
    pt_elf_id_hex(id, hex, sizeof hex);
    pt_kept_key_put(key, sizeof key, hex, &st);
    const int bytes =
        snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)(stands - all), all, key, stands + 1);
    return bytes > 0 && bytes < PATH_MAX;
}

/* Memory that is written at once: its pages are made in one call. */
static void *map_present(size_t bytes)
{
    void *const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Copies the table that the recorder offers, which an earlier recording made; nobody else can
 * change the copy. */
static bool take_offered(image *one)
{
    char name[PATH_MAX];
    struct stat st;
    const pt_journal_map *const record = pt_maps_record_of(one->map.start);
    if (!pt_agent.recording || record == NULL || record->build_id_bytes == 0 ||
        record->build_id_bytes > PT_UNWIND_ID_MAX)
        return false;
    const pt_elf_id own = {.bytes = (const uint8_t *)(record + 1),
                           .size_bytes = record->build_id_bytes};
    if (!find_offered(one, own, name)) return false;
    const int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return false;
    if (pt_libc_fstat(fd, &st) == 0 && is_trusted(&st)) {
        one->blob_bytes = (size_t)st.st_size;
        one->blob = map_present(one->blob_bytes);
        if (one->blob != NULL &&
            (!read_whole(fd, one->blob, one->blob_bytes) ||
             pt_unwind_table_open(one->blob, one->blob_bytes, &one->table) != PT_UNWIND_OK ||
             one->table.id_bytes != own.size_bytes ||
             memcmp(one->table.id, own.bytes, own.size_bytes) != 0)) {
            pt_agent_unmap(one->blob, one->blob_bytes);
            one->blob = NULL;
        }
    }
    close(fd);
    return one->blob != NULL;
}

/* Takes the table of another mapping of the same image: a file may be mapped in parts, as Node maps
 * its code in large pages. */
static bool share_table(image *one)
{
    for (uint32_t i = 0; i < tables.count; i++) {
        const image *const other = &tables.images[i];
        if (other->blob == NULL || other->map.image != one->map.image ||
            other->map.inode != one->map.inode)
            continue;
        one->blob = other->blob;
        one->blob_bytes = other->blob_bytes;
        one->table = other->table;
        one->base_blob = other->base_blob;
        one->base_blob_bytes = other->base_blob_bytes;
        one->base_table = other->base_table;
        return true;
    }
    return false;
}

/* Opens the table in a compiled blob. If that fails, the blob is freed: the image has no rules. */
static void open_table(image *one)
{
    if (pt_unwind_table_open(one->blob, one->blob_bytes, &one->table) == PT_UNWIND_OK) return;
    munmap(one->blob, one->blob_bytes);
    one->blob = NULL;
}

/* Makes the table of a vDSO without .eh_frame (aarch64) from its instructions: all of its file is
 * in memory, and its code is short. */
static void try_code_of_vdso(image *one, const pt_unwind_memory *memory)
{
    const uintptr_t vdso = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    pt_elf elf;
    if (one->map.start == vdso && vdso != 0 &&
        pt_elf_open((const void *)vdso, one->map.limit - one->map.start, &elf) == PT_ELF_OK &&
        pt_unwind_compile_elf(&elf, NULL, 0, memory, &one->blob, &one->blob_bytes) == PT_UNWIND_OK)
        open_table(one);
}

/* Makes the tables that the image lacks. */
static void compile_tables(image *one, const pt_unwind_frames *frames,
                           const pt_unwind_memory *memory)
{
    if (one->blob == NULL &&
        pt_unwind_compile(frames, NULL, 0, memory, &one->blob, &one->blob_bytes) == PT_UNWIND_OK)
        open_table(one);
    if (one->blob != NULL && pt_unwind_needs_base(&one->table))
        pt_unwind_compile_base(frames, memory, &one->base_blob, &one->base_blob_bytes,
                               &one->base_table);
}

/* Is a table needed that the recorder does not offer? The reader of a recording walks the copies of
 * stacks that lack a table, so that a module without samples needs none. */
static bool is_needed(const image *one)
{
    return !pt_agent.recording || one->wanted;
}

static void try_image(image *one)
{
    pt_image mapped;
    pt_unwind_frames frames = {0};
    const pt_unwind_memory memory = {take_memory, resize_memory, release_memory, NULL};
    one->tried = true;
    if (!pt_image_look(&one->map, &mapped) || !is_in_place(&mapped, one->map.start)) return;
    one->bias = mapped.bias;
    if (share_table(one)) return;
    if (!one->asked && take_offered(one) && !pt_unwind_needs_base(&one->table)) return;
    one->asked = true;
    one->tried = one->blob != NULL || is_needed(one);
    if (!one->tried) return;
    frames.machine = mapped.machine;
    if (!find_frames(&mapped, &frames)) {
        if (one->blob == NULL) try_code_of_vdso(one, &memory);
        return;
    }
    uint8_t *const copy = pt_agent_map((size_t)frames.size_bytes);
    if (copy == NULL) return;
    frames.bytes = copy;
    if (pt_maps_peek(one->bias + frames.addr, copy, (size_t)frames.size_bytes))
        compile_tables(one, &frames, &memory);
    munmap(copy, (size_t)frames.size_bytes);
}

/* ---- all of them ---- */

static void keep_or_add(const pt_maps_live *live, void *arg)
{
    (void)arg;
    if (tables.spare_count == IMAGES_MAX) return;
    image *const to = &tables.spare[tables.spare_count++];
    for (uint32_t i = 0; i < tables.count; i++) {
        image *const old = &tables.images[i];
        if (memcmp(&old->map, live, sizeof *live) != 0) continue;
        *to = *old;
        *old = (image){0};
        return;
    }
    *to = (image){.map = *live};
}

/* Makes tables.images the list of present mappings, with the tables made so far. The images of
 * mappings that are gone stay in tables.spare: the handler may still be using their tables. Returns
 * false if there is no memory. */
static bool look_at_maps(void)
{
    if (tables.images == NULL) tables.images = pt_agent_map(IMAGES_MAX * sizeof(image));
    if (tables.spare == NULL) tables.spare = pt_agent_map(IMAGES_MAX * sizeof(image));
    if (tables.images == NULL || tables.spare == NULL) return false;
    tables.spare_count = 0;
    pt_maps_each_live(keep_or_add, NULL);
    image *const old = tables.images;
    const uint32_t old_count = tables.count;
    tables.images = tables.spare;
    tables.count = tables.spare_count;
    tables.spare = old;
    tables.spare_count = old_count;
    return true;
}

static bool is_due(const image *one)
{
    return !one->tried && (!one->asked || is_needed(one));
}

/* Learns for which images the handler wants tables. Returns true if there are such images. */
static bool hear_wishes(void)
{
    bool any = false;
    const snapshot *const s = tables.current;
    for (uint32_t i = 0; s != NULL && i < tables.count; i++) {
        image *const one = &tables.images[i];
        one->wanted |= atomic_load(&s->tables.state[i]) == PT_TICK_TABLE_WANTED;
        any |= is_due(one);
    }
    return any;
}

static uint8_t state_of(const image *one)
{
    return one->tried    ? PT_TICK_TABLE_SETTLED
           : one->wanted ? PT_TICK_TABLE_WANTED
                         : PT_TICK_TABLE_UNMADE;
}

static void try_images(uint64_t budget_ns)
{
    const uint64_t start_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
    tables.pending = false;
    for (uint32_t i = 0; i < tables.count; i++) {
        if (!is_due(&tables.images[i])) continue;
        if (pt_agent_clock_ns(CLOCK_MONOTONIC) - start_ns > budget_ns) {
            tables.pending = true;
            return;
        }
        try_image(&tables.images[i]);
    }
}

static snapshot *make_snapshot(void)
{
    snapshot *s;
    const size_t bytes =
        sizeof(snapshot) + tables.count * (sizeof(pt_unwind_module) + 2 * sizeof(pt_unwind_table) +
                                           sizeof(s->tables.state[0]));
    s = pt_agent_map(bytes);
    if (s == NULL) return NULL;
    pt_unwind_table *const table = (pt_unwind_table *)(s->module + tables.count);
    pt_unwind_table *const base_table = table + tables.count;
    s->bytes = bytes;
    if (++tables.generation == 0) tables.generation = 1;
    s->tables = (pt_tick_tables){
        .all = {.modules = s->module, .count = tables.count, .generation = tables.generation},
        .state = (_Atomic(uint8_t) *)(base_table + tables.count)};
    for (uint32_t i = 0; i < tables.count; i++) {
        const image *const one = &tables.images[i];
        table[i] = one->table;
        atomic_init(&s->tables.state[i], state_of(one));
        s->module[i] = (pt_unwind_module){.start = one->map.start,
                                          .limit = one->map.limit,
                                          .bias = one->bias,
                                          .table = one->blob != NULL ? &table[i] : NULL};
        if (one->base_blob == NULL) continue;
        base_table[i] = one->base_table;
        s->module[i].base_table = &base_table[i];
    }
    return s;
}

/* Does an image in the list use the table? */
static bool has_table(const image *images, uint32_t count, const void *blob)
{
    for (uint32_t i = 0; i < count; i++)
        if (images[i].blob == blob) return true;
    return false;
}

static void free_gone(void)
{
    for (uint32_t i = 0; i < tables.spare_count; i++) {
        const image gone = tables.spare[i];
        tables.spare[i] = (image){0};
        if (gone.blob == NULL || has_table(tables.images, tables.count, gone.blob) ||
            has_table(tables.spare, tables.spare_count, gone.blob))
            continue;
        munmap(gone.blob, gone.blob_bytes);
        if (gone.base_blob != NULL) munmap(gone.base_blob, gone.base_blob_bytes);
    }
    tables.spare_count = 0;
}

/* Is it too early to make tables? To make the tables of a compiler or a browser takes longer than
 * many of its processes live. So stacks are copied for a while, if the ring has room for copies. A
 * copy has no frames of an interpreter. */
static bool is_too_early(void)
{
    enum { EARLY_TICKS = 64, USUAL_PERIOD_NS = 1000000 };
    return atomic_load(&pt_tick.copies_stacks) && tables.current == NULL &&
           pt_agent.period_ns >= USUAL_PERIOD_NS && pt_agent.journal.header->ticks < EARLY_TICKS &&
           !pt_languages_any();
}

void pt_tables_update(uint64_t budget_ns)
{
    if (is_too_early()) return;
    const uint32_t changes = pt_maps_changes();
    const bool is_wanted = hear_wishes();
    if (changes == tables.changes && !tables.pending && !is_wanted) return;
    if (changes != tables.changes && !look_at_maps()) return;
    tables.changes = changes;
    try_images(budget_ns);
    snapshot *const old = tables.current;
    tables.current = make_snapshot();
    atomic_store(&pt_tick.tables, tables.current != NULL ? &tables.current->tables : NULL);
    pt_threads_wait_for_handlers();
    if (old != NULL) munmap(old, old->bytes);
    free_gone();
}
