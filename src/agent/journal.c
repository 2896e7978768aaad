/* journal.c: the image of the crash journal, in private memory; wire/journal.h draws its layout.
 * All data that the library works with is in this image and in the rings. publish.c copies the
 * image to the file, which the library never reads back.
 *
 * Address space for the largest image is reserved at once, and becomes usable memory in steps:
 * limits on data and strict accounting of memory count usable memory, not reserved addresses. */
#include "agent/agent.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    IMAGE_MAX_BYTES = PT_JOURNAL_MAX_BYTES,
    IMAGE_MIN_BYTES = 1 << 20, /* if there is room for less only, no image is opened */
    STEP_BYTES = 1 << 20,
};

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static bool make_memory(pt_agent_journal *journal, size_t upto)
{
    if (upto <= journal->open_bytes) return true;
    if (upto > journal->size_bytes || mprotect(journal->base, upto, PROT_READ | PROT_WRITE) != 0)
        return false;
    journal->open_bytes = upto;
    return true;
}

/* Makes at least `bytes` of the image usable: in large steps or, if there is no memory for a step,
 * only the pages that are needed. */
static bool reach_bytes(pt_agent_journal *journal, size_t bytes)
{
    return bytes <= journal->open_bytes || make_memory(journal, round_up(bytes, STEP_BYTES)) ||
           make_memory(journal, round_up(bytes, (size_t)sysconf(_SC_PAGESIZE)));
}

/* The header of a process that has no image yet. */
static PT_EDGE pt_journal_header early;

PT_NEAR void pt_journal_open_early(pt_agent_journal *journal)
{
    memset(&early, 0, offsetof(pt_journal_header, exe));
    memset(&early.own_weight, 0, sizeof early - offsetof(pt_journal_header, own_weight));
    *journal = (pt_agent_journal){.header = &early};
}

bool pt_journal_make(pt_agent_journal *journal)
{
    if (journal->header != &early) return journal->header != NULL;
    pt_agent_journal made;
    if (!pt_journal_open(&made)) return false;
    *made.header = early;
    *journal = made;
    return true;
}

bool pt_journal_open(pt_agent_journal *journal)
{
    for (size_t size = IMAGE_MAX_BYTES; size >= IMAGE_MIN_BYTES; size /= 4) {
        void *const at =
            mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) continue; /* a limit on address space */
        madvise(at, size, MADV_DONTFORK);
        madvise(at, size, MADV_NOHUGEPAGE); /* a huge page would be 2 MB for a few stacks */
        journal->base = at;
        journal->size_bytes = size;
        journal->open_bytes = 0;
        journal->used_bytes = PT_JOURNAL_HEADER_BYTES;
        if (reach_bytes(journal, PT_JOURNAL_HEADER_BYTES)) {
            journal->header = at;
            return true;
        }
        munmap(at, size);
    }
    errno = ENOMEM;
    return false;
}

void *pt_journal_spare(const pt_agent_journal *journal, size_t bytes)
{
    const bool is_there = journal->base != NULL && bytes <= journal->open_bytes &&
                          journal->used_bytes <= journal->open_bytes - bytes;
    return is_there ? journal->base + journal->used_bytes : NULL;
}

pt_journal_area *pt_journal_area_new(pt_agent_journal *journal, uint32_t kind, size_t size_bytes)
{
    const size_t size = round_up(size_bytes, PT_JOURNAL_ALIGN_BYTES);
    if (!pt_journal_make(journal) || size > journal->size_bytes - journal->used_bytes ||
        !reach_bytes(journal, journal->used_bytes + size))
        return NULL;
    pt_journal_area *const area = (pt_journal_area *)(journal->base + journal->used_bytes);
    journal->used_bytes += size;
    *area = (pt_journal_area){.magic = PT_JOURNAL_AREA_MAGIC, .kind = kind, .size_bytes = size};
    pt_publish_note(area, sizeof *area);
    return area;
}

void *pt_journal_room(pt_journal_area *area, size_t size)
{
    const bool fits = area != NULL && size <= area->size_bytes - sizeof *area - area->used_bytes;
    return fits ? (uint8_t *)(area + 1) + area->used_bytes : NULL;
}

void pt_journal_add(pt_journal_area *area, size_t size)
{
    pt_publish_note((uint8_t *)(area + 1) + area->used_bytes, size);
    pt_publish_note(area, sizeof *area);
    area->used_bytes += size;
}

PT_NEAR void pt_journal_close(pt_agent_journal *journal, bool with_process)
{
    if (journal->base != NULL && !with_process) munmap(journal->base, journal->size_bytes);
    journal->header = NULL;
    journal->base = NULL;
}
