/* gmon_plan.c: parses the plan, the extra row with the layout of a gmon.out (gmon.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/gmon.h"

size_t pt_gmon_from_hex(const char *hex, uint8_t *bytes, size_t most)
{
    size_t n = 0;
    unsigned value;
    for (; n < most && sscanf(hex + 2 * n, "%2x", &value) == 1; n++)
        bytes[n] = (uint8_t)value;
    return n;
}

bool pt_gmon_next_step(const char **line, pt_gmon_step *ret)
{
    char hex[2 * (PT_GMON_DIMENSION_BYTES + 1) + 1];
    *ret = (pt_gmon_step){0};
    if (**line == '\0') return false;
    pt_gmon_histogram *const h = &ret->histogram;
    if (sscanf(*line, "h %" SCNx64 " %" SCNx64 " %" SCNu64 " %" SCNu64 " %u %32[0-9a-f]", &h->low,
               &h->high, &h->bin_count, &ret->rows, &h->rate, hex) == 6 &&
        pt_gmon_from_hex(hex, h->dimension, sizeof h->dimension) == sizeof h->dimension)
        ret->kind = 'h';
    else if (sscanf(*line, "a %" SCNu64, &ret->rows) == 1)
        ret->kind = 'a';
    else if (sscanf(*line, "b %" SCNu64 " %u", &ret->rows, &ret->length_bytes) == 2)
        ret->kind = 'b';
    const char *const end = strchr(*line, '\n');
    *line = end != NULL ? end + 1 : *line + strlen(*line);
    return true;
}

const char *pt_gmon_plan(const pt_profile *p)
{
    const char *plan = NULL;
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        if (strcmp(pt_text(p, p->extra->key[i]), PT_GMON_PLAN) != 0) continue;
        if (plan != NULL) return NULL;
        plan = pt_text(p, p->extra->value[i]);
    }
    return plan;
}

bool pt_gmon_read_facts(const pt_profile *p, pt_gmon_facts *ret_facts)
{
    const char *line = pt_gmon_plan(p);
    if (line == NULL) return false;
    pt_gmon_facts facts = {.is_bsd = pt_begins(line, "bsd ")};
    unsigned word_bytes, big_endian;
    if (!facts.is_bsd &&
        sscanf(line, "gnu %u %u %u", &word_bytes, &big_endian, &facts.version) != 3)
        return false;
    const char *const end = strchr(line, '\n');
    line = end != NULL ? end + 1 : "";
    for (pt_gmon_step s; pt_gmon_next_step(&line, &s);) {
        if (s.kind == 'h' && facts.histograms++ == 0) facts.first = s.histogram;
        facts.arcs += s.kind == 'a' ? s.rows : 0;
        facts.block_records += s.kind == 'b';
    }
    *ret_facts = facts;
    return true;
}
