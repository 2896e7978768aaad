/* otlp_probe.c: recognises OpenTelemetry profiles. protobuf has no magic number, so the nesting of
 * messages down to a Profile identifies them. otlp.h has the field numbers. */
#include "formats/otlp.h"

#include "formats/protobuf.h"

/* Do all fields of the message have the wire type bytes and numbers from 1 to `most`, as far as the
 * head reaches? cut: the message may end within a field. *ret_inside: the content of the last field
 * with the number `wanted`, or, if no field with that number is complete, of the truncated
 * field. */
static bool only_bytes(const uint8_t *data, size_t size, bool cut, uint32_t most, uint32_t wanted,
                       otlp_slice *ret_inside)
{
    pb_cursor cursor = pb_open(data, size);
    pb_field field;
    ret_inside->data = NULL;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_BYTES || field.number > most) return false;
        if (field.number == wanted) *ret_inside = (otlp_slice){field.data, field.size};
    }
    if (cursor.ok) return true;
    if (!cut) return false;
    uint64_t tag, bytes;
    const uint8_t *pos = cursor.bad;
    if (!pb_varint(&pos, data + size, &tag) || !pb_varint(&pos, data + size, &bytes)) return true;
    if ((tag & 7) != PB_BYTES || tag >> 3 > most || tag >> 3 == 0) return false;
    if (tag >> 3 == wanted && ret_inside->data == NULL)
        *ret_inside = (otlp_slice){pos, (size_t)(data + size - pos)};
    return true;
}

/* Does the slice begin like a Profile: with a type of two small numbers, or with samples? */
static bool looks_like_profile(otlp_slice profile)
{
    pb_cursor cursor = pb_open(profile.data, profile.size);
    pb_field field;
    if (!pb_next(&cursor, &field)) return false;
    if (field.wire != PB_BYTES || field.number > OTLP_PROFILE_SAMPLES) return false;
    pb_cursor inside = pb_open(field.data, field.size);
    while (field.number == OTLP_PROFILE_SAMPLE_TYPE && pb_next(&inside, &field)) {
        if (field.wire != PB_VARINT || field.number > OTLP_TYPE_UNIT) return false;
    }
    return inside.ok || field.number == OTLP_PROFILE_SAMPLES;
}

static bool looks_like_resource(otlp_slice resource, bool cut)
{
    otlp_slice scope, profile;
    return only_bytes(resource.data, resource.size, cut, OTLP_RESOURCE_SCHEMA_URL,
                      OTLP_RESOURCE_SCOPES, &scope) &&
           scope.data != NULL &&
           only_bytes(scope.data, scope.size, cut, OTLP_SCOPE_SCHEMA_URL, OTLP_SCOPE_PROFILES,
                      &profile) &&
           profile.data != NULL && looks_like_profile(profile);
}

static bool looks_like_dictionary(otlp_slice dictionary, bool cut)
{
    pb_cursor cursor = pb_open(dictionary.data, dictionary.size);
    pb_field field;
    unsigned fields = 0;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_BYTES || field.number >= OTLP_TABLES) return false;
        fields++;
    }
    return fields >= 2 && (cursor.ok || cut);
}

int pt_otlp_probe(const pt_probe_input *input)
{
    const bool cut = input->file_bytes > input->head_bytes;
    otlp_slice resource, dictionary;
    if (input->head_bytes == 0) return 0;
    if (!only_bytes(input->head, input->head_bytes, cut, OTLP_DATA_DICTIONARY,
                    OTLP_DATA_RESOURCE_PROFILES, &resource) ||
        !only_bytes(input->head, input->head_bytes, cut, OTLP_DATA_DICTIONARY, OTLP_DATA_DICTIONARY,
                    &dictionary))
        return 0;
    if (resource.data != NULL && looks_like_resource(resource, cut)) return 92;
    return resource.data == NULL && dictionary.data != NULL &&
                   looks_like_dictionary(dictionary, cut)
               ? 70
               : 0;
}
