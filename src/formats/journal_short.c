/* journal_short.c: journals of processes that ended after a sample or two, which lie in one file
 * (PT_JOURNAL_SHORT). Each journal is converted to an ordinary journal. Any program of the
 * recording may write to the file, so each size and offset in the file is checked. */
#include <string.h>

#include "formats/journal.h"

enum { ALIGN_BYTES = 8 };

#define TEXTS_AT offsetof(pt_journal_header, exe)
#define TAIL_AT  offsetof(pt_journal_header, own_weight)

static bool is_record_at(const uint8_t *bytes, size_t size, size_t at)
{
    pt_journal_short head;
    if (size - at < sizeof head + PT_JOURNAL_SHORT_FIELDS_BYTES) return false;
    memcpy(&head, bytes + at, sizeof head);
    return head.magic == PT_JOURNAL_SHORT_MAGIC && head.bytes % ALIGN_BYTES == 0 &&
           head.bytes >= sizeof head + PT_JOURNAL_SHORT_FIELDS_BYTES && head.bytes <= size - at &&
           head.bytes <= PT_JOURNAL_SHORT_MOST_BYTES;
}

/* Is there a whole record at `at`? At its end must be the next record or the end of the file. If a
 * record was cut short, the next record begins before that end. */
static bool is_whole_at(const uint8_t *bytes, size_t size, size_t at)
{
    pt_journal_short head;
    if (!is_record_at(bytes, size, at)) return false;
    memcpy(&head, bytes + at, sizeof head);
    const size_t end = at + head.bytes;
    uint32_t next = PT_JOURNAL_SHORT_MAGIC;
    if (size - end >= sizeof next) memcpy(&next, bytes + end, sizeof next);
    return next == PT_JOURNAL_SHORT_MAGIC;
}

bool pt_journal_next_short(const uint8_t *bytes, size_t size, size_t *at, pt_journal_short_at *ret)
{
    for (; *at < size; (*at)++) {
        pt_journal_short head;
        if (!is_whole_at(bytes, size, *at)) continue;
        memcpy(&head, bytes + *at, sizeof head);
        *ret = (pt_journal_short_at){.record = bytes + *at, .bytes = head.bytes};
        *at += head.bytes;
        return true;
    }
    return false;
}

void pt_journal_unfold_short(const pt_journal_short_at *from, pt_buf *journal)
{
    pt_journal_header header;
    const uint8_t *at = from->record + sizeof(pt_journal_short);
    size_t left = from->bytes - sizeof(pt_journal_short) - PT_JOURNAL_SHORT_FIELDS_BYTES;
    memset(&header, 0, sizeof header);
    memcpy(&header, at, TEXTS_AT);
    at += TEXTS_AT;
    memcpy(&header.own_weight, at, sizeof header - TAIL_AT);
    at += sizeof header - TAIL_AT;
    const size_t exe = header.exe_bytes, command = header.command_bytes;
    pt_buf_clear(journal);
    header.header_bytes = sizeof header;
    const bool has_texts =
        exe <= sizeof header.exe && command <= sizeof header.command && exe + command <= left;
    if (has_texts) {
        memcpy(header.exe, at, exe);
        memcpy(header.command, at + exe, command);
        at += exe + command;
        left -= exe + command;
    } else {
        header.exe_bytes = header.command_bytes = 0;
        left = 0;
    }
    pt_put(journal, &header, sizeof header);
    for (pt_journal_area area; left >= sizeof area;) {
        memcpy(&area, at, sizeof area);
        if (area.magic != PT_JOURNAL_AREA_MAGIC || area.used_bytes > left - sizeof area) return;
        const size_t bytes = sizeof area + area.used_bytes;
        area.size_bytes = bytes;
        pt_put(journal, &area, sizeof area);
        pt_put(journal, at + sizeof area, area.used_bytes);
        at += bytes;
        left -= bytes;
    }
}
