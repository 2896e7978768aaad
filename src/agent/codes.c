/* codes.c: makes the memory in which the handlers of all threads keep functions of interpreters,
 * and copies the functions of counted stacks to the journal.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent.h"

enum {
    TEXTS_BYTES = 32 << 20,
    AREA_BYTES = 64 << 10, /* of functions in the journal; more areas follow */
};

static struct {
    pt_tick_codes *all; /* NULL: no interpreter was found; never freed, since handlers use this
                         * memory */
    pt_journal_area *area;
} codes;

static PT_FAR uint8_t is_in_journal[PT_TICK_CODES / 8];

PT_NEAR void pt_codes_reset(void)
{
    if (codes.area == NULL) return; /* the former journal had no functions */
    codes.area = NULL;
    memset(is_in_journal, 0, sizeof is_in_journal);
}

pt_tick_codes *pt_codes_for_handlers(void)
{
    if (codes.all != NULL) return codes.all;
    pt_tick_codes *const all = pt_agent_map(sizeof *all);
    void *const texts = mmap(NULL, TEXTS_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == NULL || texts == MAP_FAILED) {
        if (all != NULL) munmap(all, sizeof *all);
        if (texts != MAP_FAILED) munmap(texts, TEXTS_BYTES);
        return NULL;
    }
    all->texts = texts;
    all->texts_cap = TEXTS_BYTES;
    return codes.all = all;
}

static size_t record_bytes(const pt_journal_code *code)
{
    return (sizeof *code + code->name_bytes + code->file_bytes + code->lines_bytes + 7) / 8 * 8;
}

static void keep_code(uint32_t number)
{
    const pt_tick_known_code *const code =
        codes.all != NULL ? pt_tick_code_of(codes.all, number) : NULL;
    if (code == NULL || (is_in_journal[number / 8] >> number % 8 & 1) != 0) return;
    const pt_journal_code record = {.number = number,
                                    .lines_bytes = code->lines_bytes,
                                    .first_line = code->first_line,
                                    .name_bytes = code->name_bytes,
                                    .file_bytes = code->file_bytes,
                                    .minor = code->minor,
                                    .language = code->language};
    const size_t bytes = record_bytes(&record);
    uint8_t *to = pt_journal_room(codes.area, bytes);
    if (to == NULL) {
        const size_t least = sizeof *codes.area + bytes;
        codes.area = pt_journal_area_new(&pt_agent.journal, PT_JOURNAL_CODES,
                                         least > AREA_BYTES ? least : AREA_BYTES);
        to = pt_journal_room(codes.area, bytes);
        if (to == NULL) return;
    }
    memcpy(to, &record, sizeof record);
    memcpy(to + sizeof record, code + 1,
           (size_t)record.name_bytes + record.file_bytes + record.lines_bytes);
    pt_journal_add(codes.area, bytes);
    is_in_journal[number / 8] |= (uint8_t)(1 << number % 8);
}

bool pt_codes_keep(const uint64_t *words, uint32_t count)
{
    bool has_frames = false;
    for (uint32_t i = 0; i < count; i++) {
        if ((words[i] & PT_JOURNAL_CODE_FRAME) == 0) continue;
        has_frames = true;
        keep_code(PT_JOURNAL_CODE_NUMBER(words[i]));
    }
    return has_frames;
}

void pt_codes_each(void (*use)(const pt_journal_code *code, void *arg), void *arg)
{
    const pt_agent_journal *const journal = &pt_agent.journal;
    for (size_t at = PT_JOURNAL_HEADER_BYTES; at < journal->used_bytes;) {
        const pt_journal_area *const area = (const pt_journal_area *)(journal->base + at);
        for (size_t used = 0; area->kind == PT_JOURNAL_CODES && used < area->used_bytes;) {
            const pt_journal_code *const code =
                (const pt_journal_code *)((const uint8_t *)(area + 1) + used);
            use(code, arg);
            used += record_bytes(code);
        }
        at += area->size_bytes;
    }
}
