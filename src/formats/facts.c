/* facts.c: see facts.h. */
#include "formats/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A number of the provenance, and its name in the text. */
typedef struct {
    const char *name;
    size_t at;
    enum { FACT_HZ, FACT_I64, FACT_U64 } kind;
} fact;

static const fact facts[] = {
    {"asked_hz", offsetof(pt_provenance, asked_hz), FACT_HZ},
    {"true_hz", offsetof(pt_provenance, true_hz), FACT_HZ},
    {"cpu_used_ns", offsetof(pt_provenance, cpu_used_ns), FACT_I64},
    {"cpu_seen_ns", offsetof(pt_provenance, cpu_seen_ns), FACT_I64},
    {"lost", offsetof(pt_provenance, lost), FACT_U64},
    {"throttled", offsetof(pt_provenance, throttled), FACT_U64},
};
#define FACT_COUNT PT_COUNT(facts)

static void put_fact(pt_buf *text, const fact *f, const pt_provenance *from)
{
    const void *const value = (const char *)from + f->at;
    switch (f->kind) {
    case FACT_HZ:
        if (*(const double *)value > 0) pt_putf(text, " %s=%.17g", f->name, *(const double *)value);
        break;
    case FACT_I64:
        if (*(const int64_t *)value != 0)
            pt_putf(text, " %s=%" PRId64, f->name, *(const int64_t *)value);
        break;
    case FACT_U64:
        if (*(const uint64_t *)value != 0)
            pt_putf(text, " %s=%" PRIu64, f->name, *(const uint64_t *)value);
        break;
    }
}

void pt_facts_put(pt_buf *text, const pt_provenance *from)
{
    for (size_t i = 0; i < FACT_COUNT; i++)
        put_fact(text, &facts[i], from);
}

bool pt_facts_take(const char *word, pt_provenance *into)
{
    const char *const equals = strchr(word, '=');
    if (equals == NULL || equals[1] == '\0') return false;
    char *end;
    errno = 0;
    for (size_t i = 0; i < FACT_COUNT; i++) {
        if (strlen(facts[i].name) != (size_t)(equals - word) ||
            memcmp(facts[i].name, word, (size_t)(equals - word)) != 0)
            continue;
        void *const value = (char *)into + facts[i].at;
        switch (facts[i].kind) {
        case FACT_HZ: *(double *)value = strtod(equals + 1, &end); break;
        case FACT_I64: *(int64_t *)value = strtoll(equals + 1, &end, 10); break;
        case FACT_U64: *(uint64_t *)value = strtoull(equals + 1, &end, 10); break;
        }
        if (facts[i].kind == FACT_HZ && !(*(double *)value > 0 && *(double *)value < 1e18))
            return false;
        return *end == '\0' && errno == 0;
    }
    return false;
}

bool pt_facts_end_named(const char *text, pt_stack_end *ret_end)
{
    for (int end = 0; end < PT_STACK_END_COUNT; end++) {
        if (strcmp(text, pt_stack_end_name((pt_stack_end)end)) == 0) {
            *ret_end = (pt_stack_end)end;
            return true;
        }
    }
    return false;
}

bool pt_facts_ends_known(const pt_profile *p)
{
    return PT_ANY(s, p->stack->t.count, p->stack->end[s] != PT_STACK_END_UNKNOWN);
}
