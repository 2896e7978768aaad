/* pprof.c: the format profile.proto, which `go tool pprof` and most collectors write, and its
 * probe. pprof_int.h has the layout; pprof_read.c and pprof_samples.c read it, pprof_write.c writes
 * it.
 *
 * The format has no magic. A file usually begins with `0a`, the tag of the first sample type. The
 * probe checks that the fields in the head are fields of Profile and correctly nested.
 */
#include "formats/pprof_int.h"

/* Does the message consist of varint fields 1 to most only, as far as the head reaches? */
static bool varints_only(const pb_field *message, uint32_t most)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_VARINT || field.number > most) return false;
    }
    return cursor.ok;
}

/* Score of a field as evidence for Profile; -1 = the field is evidence against Profile. */
static int evidence_of(const pb_field *field)
{
    switch (field->number) {
    case PPROF_SAMPLE_TYPE:
    case PPROF_PERIOD_TYPE: return field->wire == PB_BYTES && varints_only(field, 2) ? 3 : -1;
    case PPROF_FUNCTION: return field->wire == PB_BYTES && varints_only(field, 5) ? 1 : -1;
    case PPROF_MAPPING: return field->wire == PB_BYTES && varints_only(field, 10) ? 1 : -1;
    case PPROF_SAMPLE:
    case PPROF_LOCATION:
    case PPROF_STRING_TABLE: return field->wire == PB_BYTES ? 1 : -1;
    case PPROF_COMMENT: return field->wire == PB_BYTES || field->wire == PB_VARINT ? 1 : -1;
    default:
        if (field->number > PPROF_DOC_URL) return 0;
        return field->wire == PB_VARINT ? 1 : -1;
    }
}

static bool holds_bytes(uint64_t number)
{
    return (number >= PPROF_SAMPLE_TYPE && number <= PPROF_STRING_TABLE) ||
           number == PPROF_PERIOD_TYPE || number == PPROF_COMMENT;
}

/* Evidence of a field that begins in the head of the file and ends after the head: 1 = Profile has
 * a field with this tag, and the length fits the file; 0 = unknown, since the file is truncated
 * there; -1 = the field does not fit. */
static int partial_evidence(const pt_probe_input *input, const uint8_t *pos)
{
    const uint8_t *const end = input->head + input->head_bytes;
    uint64_t tag, size;
    if (!pb_varint(&pos, end, &tag)) return end - pos < 10 ? 0 : -1;
    if ((tag & 7) == PB_VARINT) return end - pos < 10 ? 0 : -1;
    if ((tag & 7) != PB_BYTES || !holds_bytes(tag >> 3)) return -1;
    if (!pb_varint(&pos, end, &size)) return end - pos < 10 ? 0 : -1;
    return size <= input->file_bytes ? 1 : 0;
}

static int probe_pprof(const pt_probe_input *input)
{
    pb_cursor cursor = pb_open(input->head, input->head_bytes);
    int sum = 0, fields = 0;
    pb_field field;
    while (pb_next(&cursor, &field)) {
        const int more = evidence_of(&field);
        if (more < 0) return 0;
        if (more == 0 && fields == 0) return 0; /* no writer puts an unknown field first */
        sum += more;
        fields++;
    }
    if (!cursor.ok) {
        const int more = partial_evidence(input, cursor.bad);
        if (more < 0) return 0;
        sum += more;
    }
    if (sum < 2) return 0;
    return sum >= 4 ? 90 : 60;
}

const pt_format pt_format_pprof = {
    .name = "pprof",
    .aliases = "proto profile.proto pb",
    .extensions = ".pb.gz .pb .pprof .pgo",
    .summary = "profile.proto, gzipped or not: go tool pprof, runtime/pprof, most collectors",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_LABELS | PT_CAN_EVENTS | PT_CAN_DEFAULT | PT_CAN_LINES |
                    PT_CAN_INLINES | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_NAMES |
                    PT_CAN_UNITS | PT_CAN_COMMENTS | PT_CAN_END | PT_CAN_TIME | PT_CAN_HEADER |
                    PT_CAN_UNKNOWN,
    .probe = probe_pprof,
    .read = pprof_read,
    .write = pprof_write,
};
