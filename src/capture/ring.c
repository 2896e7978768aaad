/* ring.c: reads records from a perf ring. See ring.h. */
#include "capture/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORD_MAX = 1 << 16 };

/* ---- the ring ---- */

pt_status pt_ring_open(int fd, size_t bytes, pt_ring *ret_ring, pt_error *reterr)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = page_bytes;
    while (room <= bytes / 2)
        room *= 2;
    void *const memory = mmap(NULL, page_bytes + room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        const int error = errno;
        pt_error_errno(reterr, error, "cannot map a ring of %zu KiB for samples", room / 1024);
        return error == EPERM || error == ENOMEM ? PT_ERR_NOMEM : PT_ERR_SYSTEM;
    }
    pt_ring_take(memory, page_bytes, room, ret_ring);
    return PT_OK;
}

void pt_ring_take(void *mapping, size_t page_bytes, uint64_t bytes, pt_ring *ret_ring)
{
    pt_ring_borrow(mapping, (uint8_t *)mapping + page_bytes, bytes, ret_ring);
    ret_ring->mapped_bytes = page_bytes + (size_t)bytes;
}

void pt_ring_borrow(struct perf_event_mmap_page *page, uint8_t *data, uint64_t bytes,
                    pt_ring *ret_ring)
{
    *ret_ring = (pt_ring){.page = page, .data = data, .bytes = bytes, .tail = page->data_tail};
}

void pt_ring_close(pt_ring *ring)
{
    if (ring->mapped_bytes > 0) munmap(ring->page, ring->mapped_bytes);
    free(ring->scratch);
    *ring = (pt_ring){0};
}

void pt_ring_look(pt_ring *ring)
{
    ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

const struct perf_event_header *pt_ring_peek(pt_ring *ring)
{
    const uint64_t left = ring->head - ring->tail;
    if (left == 0) return NULL;
    const uint64_t at = ring->tail & (ring->bytes - 1);
    const struct perf_event_header *const record =
        (const struct perf_event_header *)(ring->data + at);
    /* Records are aligned to 8, so a header never wraps around. */
    if (left < sizeof *record || record->size < sizeof *record || record->size % 8 != 0 ||
        record->size > left || left > ring->bytes) {
        ring->tail = ring->head;
        return NULL;
    }
    if (at + record->size <= ring->bytes) return record;
    if (ring->scratch == NULL) ring->scratch = pt_alloc(RECORD_MAX, 1);
    const size_t first = (size_t)(ring->bytes - at), size = record->size;
    memcpy(ring->scratch, record, first);
    memcpy(ring->scratch + first, ring->data, size - first);
    return (const struct perf_event_header *)ring->scratch;
}

void pt_ring_next(pt_ring *ring, const struct perf_event_header *record)
{
    ring->tail += record->size;
}

void pt_ring_release(pt_ring *ring)
{
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

/* ---- records ---- */

/* A forward reader of a record's words; bad is sticky. */
typedef struct {
    const uint64_t *at, *end;
    bool bad;
} words;

static uint64_t take_word(words *w)
{
    if (w->at >= w->end) {
        w->bad = true;
        return 0;
    }
    return *w->at++;
}

static const uint64_t *take_many(words *w, uint64_t count)
{
    if (count > (uint64_t)(w->end - w->at)) {
        w->bad = true;
        return NULL;
    }
    const uint64_t *const first = w->at;
    w->at += count;
    return first;
}

static void read_stack(words *w, bool is_compact, pt_perf_sample *s)
{
    s->stack_room = take_word(w);
    if (s->stack_room == 0) return; /* the word with the copied size is absent then */
    if (is_compact) {
        s->stack_bytes = take_word(w);
        s->stack = (const uint8_t *)take_many(w, s->stack_bytes / 8 + (s->stack_bytes % 8 != 0));
        return;
    }
    s->stack = (const uint8_t *)take_many(w, s->stack_room / 8);
    s->stack_bytes = take_word(w);
    if (s->stack_bytes > s->stack_room) s->stack_bytes = s->stack_room;
}

static bool is_code(const pt_bpf_code *code, uint32_t bytes)
{
    return bytes >= PT_BPF_CODE_HEAD_BYTES && code->end == PT_BPF_CODE_END &&
           code->name_from.bytes <= PT_BPF_NAME_BYTES &&
           code->file_from.bytes <= PT_BPF_FILE_BYTES &&
           code->more_from.bytes <= bytes - PT_BPF_CODE_HEAD_BYTES;
}

/* Reads the raw bytes (PERF_SAMPLE_RAW): a stack, a code object or the end of a wait if the BPF
 * program wrote the record, else four bytes of padding. */
static void read_walked(words *w, pt_perf_sample *s)
{
    const uint64_t *const first = w->at;
    const uint32_t bytes = (uint32_t)take_word(w);
    if (w->bad || bytes < 4 || (bytes + 4) % 8 != 0) {
        w->bad = true;
        return;
    }
    take_many(w, (bytes + 4) / 8 - 1);
    const pt_bpf_stack *const stack = (const pt_bpf_stack *)(const void *)first;
    if (w->bad || bytes < PT_BPF_STACK_HEAD_BYTES) return;
    const pt_bpf_code *const code = (const pt_bpf_code *)(const void *)first;
    if (is_code(code, bytes)) {
        s->code = code;
        return;
    }
    if (stack->end == PT_BPF_WAIT_END && bytes >= PT_BPF_WAIT_END_BYTES) {
        s->ended = (const pt_bpf_wait_end *)(const void *)first;
        return;
    }
    if (stack->role != PT_BPF_SAMPLE) s->wait = stack;
    if (stack->end == PT_BPF_COPIED_END) return;
    if (stack->end == PT_BPF_KNOWN_END && stack->role == PT_BPF_SAMPLE) {
        s->known = stack;
        return;
    }
    const uint32_t more = stack->frame_count != PT_BPF_FRAMES_BAD ? stack->frame_count : 0;
    if (stack->count <= PT_BPF_DEPTH_MAX && more <= PT_BPF_FRAMES_MAX &&
        bytes == PT_BPF_STACK_HEAD_BYTES + (stack->count + 2 * more) * 8)
        s->walked = stack;
}

static bool read_sample(const pt_perf_layout *layout, words *w, pt_perf_record *r)
{
    const uint64_t has = layout->sample_type;
    pt_perf_sample *const s = &r->sample;
    *s = (pt_perf_sample){0};
    if (has & PERF_SAMPLE_IDENTIFIER) r->id = take_word(w);
    if (has & PERF_SAMPLE_IP) s->ip = take_word(w);
    if (has & PERF_SAMPLE_TID) {
        const uint64_t both = take_word(w);
        r->pid = (uint32_t)both;
        r->tid = (uint32_t)(both >> 32);
    }
    if (has & PERF_SAMPLE_TIME) r->time_ns = take_word(w);
    if (has & PERF_SAMPLE_CPU) r->cpu = (uint32_t)take_word(w);
    if (has & PERF_SAMPLE_PERIOD) s->period = take_word(w);
    if (has & PERF_SAMPLE_READ) s->count = take_word(w);
    if (has & PERF_SAMPLE_CALLCHAIN) {
        s->chain_count = take_word(w);
        s->chain = take_many(w, s->chain_count);
    }
    if (has & PERF_SAMPLE_RAW) read_walked(w, s);
    const pt_bpf_stack *const stack = s->walked != NULL ? s->walked : s->known;
    const bool is_from_program = stack != NULL || s->code != NULL || s->ended != NULL;
    if (has & PERF_SAMPLE_REGS_USER) {
        s->abi = take_word(w);
        if (s->abi != PERF_SAMPLE_REGS_ABI_NONE)
            s->regs = take_many(w, is_from_program ? 1 : layout->regs_count);
        if (is_from_program) s->regs = NULL;
    }
    if (has & PERF_SAMPLE_STACK_USER) read_stack(w, (r->misc & PT_PERF_MISC_COMPACT) != 0, s);
    if (stack != NULL && (has & PERF_SAMPLE_PERIOD)) s->period = stack->period;
    return !w->bad;
}

/* Reads the path, which ends the body. It is terminated and padded with zeros to a whole word. */
static const char *take_text(words *w)
{
    const char *const text = (const char *)w->at;
    const size_t room = (size_t)((const char *)w->end - text);
    if (text == NULL || memchr(text, '\0', room) == NULL) {
        w->bad = true;
        return "";
    }
    return text;
}

static bool read_mmap(words *w, pt_perf_record *r)
{
    enum { BUILD_ID_MAX = 20 };
    pt_perf_mmap *const m = &r->mmap;
    *m = (pt_perf_mmap){0};
    take_word(w); /* pid and tid, which the trailer repeats */
    m->start = take_word(w);
    m->bytes = take_word(w);
    m->file_offset = take_word(w);
    const uint64_t *const file = take_many(w, 3);
    if (r->type == PERF_RECORD_MMAP2 && file != NULL) {
        const uint8_t *const id = (const uint8_t *)file;
        if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
            m->build_id = id + 4;
            m->build_id_bytes = id[0] <= BUILD_ID_MAX ? id[0] : BUILD_ID_MAX;
        } else {
            m->major = (uint32_t)file[0];
            m->minor = (uint32_t)(file[0] >> 32);
            m->inode = file[1];
        }
    }
    m->protection = (uint32_t)take_word(w);
    m->path = take_text(w);
    return !w->bad;
}

/* The trailer (sample_id_all) of all records but samples: tid, time, cpu, id. */
enum { TRAILER_WORDS = 4, TRAILER_TIME = 1 };

static bool read_trailer(words *w, pt_perf_record *r)
{
    if (w->end - w->at < TRAILER_WORDS) return false;
    w->end -= TRAILER_WORDS;
    const uint64_t *const trailer = w->end;
    r->pid = (uint32_t)trailer[0];
    r->tid = (uint32_t)(trailer[0] >> 32);
    r->time_ns = trailer[TRAILER_TIME];
    r->cpu = (uint32_t)trailer[2];
    r->id = trailer[3];
    return true;
}

static void read_task(words *w, pt_perf_record *r)
{
    const uint64_t pids = take_word(w), tids = take_word(w);
    r->task.pid = (uint32_t)pids;
    r->task.ppid = (uint32_t)(pids >> 32);
    r->task.tid = (uint32_t)tids;
    r->task.ptid = (uint32_t)(tids >> 32);
}

uint32_t pt_perf_record_pid(const pt_perf_layout *layout, const struct perf_event_header *record)
{
    const uint64_t *const body = (const uint64_t *)(record + 1);
    const size_t count = (record->size - sizeof *record) / 8;
    if (record->type != PERF_RECORD_SAMPLE)
        return count >= TRAILER_WORDS ? (uint32_t)body[count - TRAILER_WORDS] : 0;
    const uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
    const size_t at = (size_t)__builtin_popcountll(layout->sample_type & before);
    return (layout->sample_type & PERF_SAMPLE_TID) != 0 && at < count ? (uint32_t)body[at] : 0;
}

uint64_t pt_perf_record_time(const pt_perf_layout *layout, const struct perf_event_header *record)
{
    const uint64_t *const body = (const uint64_t *)(record + 1);
    const size_t count = (record->size - sizeof *record) / 8;
    if (record->type != PERF_RECORD_SAMPLE)
        return count >= TRAILER_WORDS ? body[count - TRAILER_WORDS + TRAILER_TIME] : 0;
    const uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
    const size_t at = (size_t)__builtin_popcountll(layout->sample_type & before);
    return at < count ? body[at] : 0;
}

bool pt_perf_record_read(const pt_perf_layout *layout, const struct perf_event_header *record,
                         pt_perf_record *ret_record)
{
    pt_perf_record r = {.type = record->type, .misc = record->misc};
    const uint64_t *const body = (const uint64_t *)(record + 1);
    words w = {.at = body, .end = body + (record->size - sizeof *record) / 8};
    bool is_good = true;
    if (r.type == PERF_RECORD_SAMPLE) {
        is_good = read_sample(layout, &w, &r);
    } else {
        if (!read_trailer(&w, &r)) return false;
        switch (r.type) {
        case PERF_RECORD_MMAP2: is_good = read_mmap(&w, &r); break;
        case PERF_RECORD_COMM:
            take_word(&w);
            r.comm.text = take_text(&w);
            r.comm.is_exec = (r.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
            break;
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT: read_task(&w, &r); break;
        case PERF_RECORD_LOST:
            take_word(&w); /* the event's id */
            r.lost = take_word(&w);
            break;
        case PERF_RECORD_LOST_SAMPLES: r.lost = take_word(&w); break;
        case PERF_RECORD_SWITCH:
        case PERF_RECORD_SWITCH_CPU_WIDE:
            r.sched.is_out = (r.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
            r.sched.is_preempted =
                r.sched.is_out && (r.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
            break;
        case PERF_RECORD_THROTTLE:
        case PERF_RECORD_UNTHROTTLE: break;
        default: return false;
        }
    }
    if (!is_good || w.bad) return false;
    *ret_record = r;
    return true;
}

bool pt_perf_record_compact(const pt_perf_layout *layout, const struct perf_event_header *record,
                            bool is_stackless, pt_perf_compact *ret_compact)
{
    enum { SHORT_BYTES = 1024 };
    const uint64_t *const all = (const uint64_t *)record;
    pt_perf_record r;
    /* A walked stack, and a copy of 0 bytes, both end with a word 0; the record of the copy is
     * longer. */
    if (record->size <= SHORT_BYTES && all[record->size / 8 - 1] == 0) return false;
    if (record->type != PERF_RECORD_SAMPLE || (record->misc & PT_PERF_MISC_COMPACT) != 0 ||
        !(layout->sample_type & PERF_SAMPLE_STACK_USER) ||
        !pt_perf_record_read(layout, record, &r) || r.sample.stack == NULL)
        return false;
    const uint64_t copied = is_stackless && r.sample.wait == NULL ? 0 : r.sample.stack_bytes;
    const size_t stack_bytes = (size_t)(copied + 7) & ~(size_t)7;
    if (stack_bytes >= r.sample.stack_room) return false;
    const uint64_t *const body = (const uint64_t *)(record + 1);
    const size_t body_bytes = (size_t)(r.sample.stack - (const uint8_t *)body);
    *ret_compact = (pt_perf_compact){
        .header = {.type = record->type,
                   .misc = record->misc | PT_PERF_MISC_COMPACT,
                   .size = (uint16_t)(sizeof *record + body_bytes + 8 + stack_bytes)},
        .body = body,
        .body_bytes = body_bytes,
        .copied = copied,
        .stack = r.sample.stack,
        .stack_bytes = stack_bytes};
    return true;
}
