/* pprof_facts.c: what pitot knows of a profile and profile.proto has no field for. */
#include "formats/pprof_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD         "pitot: "
#define ENDS_WORD    "stack_end=root" /* stacks without the label reached their root */
#define COLUMNS_WORD "columns=labels"

/* A figure of the provenance, under the name it has in the comment. */
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
#define FACT_COUNT (sizeof facts / sizeof facts[0])

bool pprof_ends_known(const pt_profile *p)
{
    for (uint32_t s = 0; s < p->stack->t.count; s++) {
        if (p->stack->end[s] != PT_STACK_END_UNKNOWN) return true;
    }
    return false;
}

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

char *pprof_facts_text(const pt_profile *p)
{
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < FACT_COUNT; i++)
        put_fact(&text, &facts[i], pt_profile_provenance(p));
    if (pprof_ends_known(p)) pt_put_text(&text, " " ENDS_WORD);
    if (pt_samples_optional(p->sample) != 0) pt_put_text(&text, " " COLUMNS_WORD);
    char *const comment = text.size > 0 ? pt_strf(HEAD "%s", pt_buf_text(&text) + 1) : NULL;
    pt_buf_done(&text);
    return comment;
}

static bool take_fact(const char *word, pt_provenance *into)
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

bool pprof_take_facts(pprof_reader *r, const char *comment)
{
    if (strncmp(comment, HEAD, strlen(HEAD)) != 0) return false;
    PT_FREE char *copy = pt_strdup(comment + strlen(HEAD));
    pt_provenance taken = *pt_builder_provenance(r->builder);
    bool ends = false, columns = false;
    char *rest = copy;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (strcmp(word, ENDS_WORD) == 0)
            ends = true;
        else if (strcmp(word, COLUMNS_WORD) == 0)
            columns = true;
        else if (!take_fact(word, &taken))
            return false;
    }
    *pt_builder_provenance(r->builder) = taken;
    if (ends) r->end_key = pt_builder_text(r->builder, PPROF_END_KEY).v;
    static const char *const keys[PPROF_COLUMN_KEYS] = PPROF_COLUMN_KEY_TEXTS;
    for (size_t i = 0; i < PPROF_COLUMN_KEYS && columns; i++)
        r->column_key[i] = pt_builder_text(r->builder, keys[i]).v;
    r->has_columns |= columns;
    return true;
}

bool pprof_end_named(const char *text, pt_stack_end *ret_end)
{
    for (int end = 0; end < PT_STACK_END_COUNT; end++) {
        if (strcmp(text, pt_stack_end_name((pt_stack_end)end)) == 0) {
            *ret_end = (pt_stack_end)end;
            return true;
        }
    }
    return false;
}
