/* pprof_facts.c: facts of a profile for which profile.proto has no field. */
#include "base/text.h"
#include "formats/pprof_int.h"

#include <string.h>

#define HEAD         "pitot: "
#define COLUMNS_WORD "columns=labels"

char *pprof_facts_text(const pt_profile *p)
{
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    pt_facts_put(&text, pt_profile_provenance(p));
    if (pt_facts_ends_known(p)) pt_put_text(&text, " " PT_FACTS_ENDS_WORD);
    if (pt_samples_optional(p->sample) != 0) pt_put_text(&text, " " COLUMNS_WORD);
    return text.size > 0 ? pt_strf(HEAD "%s", pt_buf_text(&text) + 1) : NULL;
}

bool pprof_take_facts(pprof_reader *r, const char *comment)
{
    if (!pt_begins(comment, HEAD)) return false;
    PT_FREE char *copy = pt_strdup(comment + strlen(HEAD));
    pt_provenance taken = *pt_builder_provenance(r->builder);
    bool ends = false, columns = false;
    char *rest = copy;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (strcmp(word, PT_FACTS_ENDS_WORD) == 0)
            ends = true;
        else if (strcmp(word, COLUMNS_WORD) == 0)
            columns = true;
        else if (!pt_facts_take(word, &taken))
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
