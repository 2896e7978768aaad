/* otlp.h: field numbers of OTLP profiles, for the reader and the writer.
 *
 * Source: opentelemetry/proto/profiles/v1development/profiles.proto of opentelemetry-proto, alpha
 * of 2026.
 */
#pragma once

#include "formats/format.h"

enum { OTLP_DATA_RESOURCE_PROFILES = 1, OTLP_DATA_DICTIONARY = 2 };
enum { OTLP_RESOURCE_RESOURCE = 1, OTLP_RESOURCE_SCOPES = 2, OTLP_RESOURCE_SCHEMA_URL = 3 };
enum { OTLP_SCOPE_SCOPE = 1, OTLP_SCOPE_PROFILES = 2, OTLP_SCOPE_SCHEMA_URL = 3 };
/* Fields of Resource and InstrumentationScope, and of KeyValue in both (common.proto). */
enum { OTLP_OWNER_ATTRIBUTES = 1, OTLP_OWNER_DROPPED_ATTRIBUTES = 2, OTLP_OWNER_ENTITIES = 3 };
enum {
    OTLP_ORIGIN_NAME = 1, /* InstrumentationScope: name of the tool */
    OTLP_ORIGIN_VERSION,
    OTLP_ORIGIN_ATTRIBUTES,
    OTLP_ORIGIN_DROPPED_ATTRIBUTES
};
enum { OTLP_PAIR_KEY = 1, OTLP_PAIR_VALUE = 2, OTLP_PAIR_KEY_ROW = 3 };
enum {
    OTLP_MAPPINGS = 1, /* tables of the dictionary; row 0 of each is the zero value */
    OTLP_LOCATIONS,
    OTLP_FUNCTIONS,
    OTLP_LINKS,
    OTLP_STRINGS,
    OTLP_ATTRIBUTES,
    OTLP_STACKS,
    OTLP_TABLES
};
enum {
    OTLP_PROFILE_SAMPLE_TYPE = 1,
    OTLP_PROFILE_SAMPLES,
    OTLP_PROFILE_TIME, /* fixed64 */
    OTLP_PROFILE_DURATION,
    OTLP_PROFILE_PERIOD_TYPE,
    OTLP_PROFILE_PERIOD,
    OTLP_PROFILE_ID, /* 16 bytes */
    OTLP_PROFILE_DROPPED_ATTRIBUTES,
    OTLP_PROFILE_PAYLOAD_FORMAT,
    OTLP_PROFILE_PAYLOAD,
    OTLP_PROFILE_ATTRIBUTES
};
enum {
    OTLP_SAMPLE_STACK = 1,
    OTLP_SAMPLE_ATTRIBUTES,
    OTLP_SAMPLE_LINK,
    OTLP_SAMPLE_VALUES,
    OTLP_SAMPLE_TIMES /* fixed64 */
};
enum { OTLP_TYPE_TYPE = 1, OTLP_TYPE_UNIT = 2 };
enum {
    OTLP_MAPPING_START = 1,
    OTLP_MAPPING_LIMIT,
    OTLP_MAPPING_OFFSET,
    OTLP_MAPPING_FILE,
    OTLP_MAPPING_ATTRIBUTES
};
enum {
    OTLP_LOCATION_MAPPING = 1,
    OTLP_LOCATION_ADDRESS,
    OTLP_LOCATION_LINES,
    OTLP_LOCATION_ATTRIBUTES
};
enum { OTLP_LINE_FUNCTION = 1, OTLP_LINE_LINE = 2, OTLP_LINE_COLUMN = 3 };
enum {
    OTLP_FUNCTION_NAME = 1,
    OTLP_FUNCTION_SYSTEM_NAME,
    OTLP_FUNCTION_FILE,
    OTLP_FUNCTION_START_LINE
};
enum { OTLP_STACK_LOCATIONS = 1 };
enum { OTLP_LINK_TRACE = 1, OTLP_LINK_SPAN = 2 };
enum { OTLP_ATTRIBUTE_KEY = 1, OTLP_ATTRIBUTE_VALUE = 2, OTLP_ATTRIBUTE_UNIT = 3 };
enum {
    OTLP_ANY_STRING = 1,
    OTLP_ANY_BOOL,
    OTLP_ANY_INT,
    OTLP_ANY_DOUBLE,
    OTLP_ANY_ARRAY,
    OTLP_ANY_LIST,
    OTLP_ANY_BYTES,
    OTLP_ANY_STRING_ROW /* row of the dictionary's strings */
};

/* Attribute of a mapping: its build id (semantic conventions, "process"). */
#define OTLP_BUILD_ID "process.executable.build_id.gnu"
/* Attribute of a scope: type of the default event (semantic conventions, "pprof"). */
#define OTLP_DEFAULT_TYPE "pprof.scope.default_sample_type"
/* Attributes of locations. OTLP_FOLDED: several symbols share the code. OTLP_FRAME_TYPE: the kind
 * of frame, such as "kernel". */
#define OTLP_FOLDED     "pprof.location.is_folded"
#define OTLP_FRAME_TYPE "profile.frame.type"
/* Keys of the two labels that represent a link. */
#define OTLP_TRACE_ID "trace_id"
#define OTLP_SPAN_ID  "span_id"

/* A slice of the file. */
typedef struct otlp_slice {
    const uint8_t *data;
    size_t size;
} otlp_slice;

/* Probe (otlp_probe.c) and writer (otlp_write.c) of the format, as in pt_format. */
int pt_otlp_probe(const pt_probe_input *input);
pt_status pt_otlp_write(const pt_profile *profile, const pt_output *output,
                        const pt_write_options *options, pt_error *reterr);
