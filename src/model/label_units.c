/* label_units.c: see label_units.h. */
#include "model/label_units.h"

#include <string.h>

const char *pt_label_unit(const pt_profile *profile, const char *key)
{
    const pt_label_sets *sets = profile->labels;
    for (uint64_t i = 0; i < sets->offset[sets->t.count]; i++) {
        const pt_label *label = &sets->row[i];
        if (label->kind == PT_LABEL_NUMBER && pt_text_bytes(profile, label->unit) > 0 &&
            strcmp(pt_text(profile, label->key), key) == 0)
            return pt_text(profile, label->unit);
    }
    return strcmp(key, "alignment") == 0 || strcmp(key, "request") == 0 ? "bytes" : key;
}
