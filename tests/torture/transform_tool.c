/* transform_tool.c: what `go tool pprof -proto` does to profiles, by our transforms alone:
 *
 *   transform_tool OUTPUT [NAME=VALUE]... PROFILE...
 *
 * NAME is an option of pprof: focus, ..., tagroot, base, diff_base, normalize, divide_by,
 * noinlines, showcolumns. OUTPUT is a profile.proto without gzip. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "formats/format.h"
#include "load/load.h"
#include "personality/pprof/as_pprof.h"
#include "personality/pprof/merge.h"
#include "transform/aggregate.h"
#include "transform/filter.h"
#include "transform/merge.h"
#include "transform/prune.h"
#include "transform/scale.h"
#include "transform/tags.h"

typedef struct {
    const char **items;
    size_t count, cap;
} name_list;

typedef struct {
    pt_query query;
    name_list profiles, bases;
    bool diff, normalize, no_inlines, show_columns;
    double divide_by;
} request;

static void must(pt_status status, const pt_error *error)
{
    if (status == PT_OK) return;
    fprintf(stderr, "transform_tool: %s%s%s\n", error->path, error->path[0] != '\0' ? ": " : "",
            error->message);
    exit(1);
}

static void set(request *r, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **into;
    } texts[] = {
        {"focus", &r->query.focus},         {"ignore", &r->query.ignore},
        {"hide", &r->query.hide},           {"show", &r->query.show},
        {"show_from", &r->query.show_from}, {"prune_from", &r->query.prune_from},
        {"tagfocus", &r->query.tag_focus},  {"tagignore", &r->query.tag_ignore},
        {"tagshow", &r->query.tag_show},    {"taghide", &r->query.tag_hide},
        {"tagroot", &r->query.tag_root},    {"tagleaf", &r->query.tag_leaf},
        {"unit", &r->query.tag_unit},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(texts[i].name, name) == 0) *texts[i].into = value;
    const bool diff = strcmp(name, "diff_base") == 0;
    if (diff || strcmp(name, "base") == 0) {
        PT_GROW(r->bases, r->bases.count + 1);
        r->bases.items[r->bases.count++] = value;
        r->diff |= diff;
    }
    if (strcmp(name, "normalize") == 0) r->normalize = true;
    if (strcmp(name, "noinlines") == 0) r->no_inlines = true;
    if (strcmp(name, "showcolumns") == 0) r->show_columns = true;
    if (strcmp(name, "divide_by") == 0) r->divide_by = strtod(value, NULL);
}

static const pt_profile *merged(const name_list *names)
{
    pt_error error = PT_ERROR_INIT;
    pt_merge *merge = pt_merge_new_by(&pt_pprof_merge_rules, NULL);
    for (size_t i = 0; i < names->count; i++) {
        pt_loaded loaded;
        must(pt_load(&names->items[i], 1, &(pt_load_options){0}, &loaded, &error), &error);
        PT_UNREF_PROFILE const pt_profile *profile = pt_as_pprof(loaded.profile);
        must(pt_merge_add(merge, profile, &error), &error);
        pt_loaded_done(&loaded);
    }
    const pt_profile *result = NULL;
    must(pt_merge_finish(merge, &result, &error), &error);
    return result;
}

static const pt_profile *fetched(const request *r)
{
    pt_error error = PT_ERROR_INIT;
    PT_UNREF_PROFILE const pt_profile *source = merged(&r->profiles);
    PT_UNREF_PROFILE const pt_profile *whole = NULL;
    if (r->bases.count > 0) {
        PT_UNREF_PROFILE const pt_profile *base = merged(&r->bases);
        const pt_subtract_options options = {
            .marks_base = r->diff, .normalizes = r->normalize, .rules = &pt_pprof_merge_rules};
        must(pt_subtract(source, base, &options, &whole, NULL, &error), &error);
    } else {
        whole = pt_profile_ref(source);
    }
    return pt_prune(whole, NULL);
}

/* The sums of all events, as they are in memory. */
static bool same_totals(const pt_profile *a, const pt_profile *b)
{
    for (uint32_t e = 0; e < a->event->t.count; e++)
        if (pt_profile_total(a, e) != pt_profile_total(b, e)) return false;
    return a->sample->t.count == b->sample->t.count;
}

/* Nothing is lost or doubled: what is kept and dropped is all there was, and what drops nothing
 * leaves the sums as they were. */
static void check_sums(const pt_profile *before, const pt_profile *tagged, const pt_filtered *f)
{
    const uint32_t dropped = f->unfocused + f->ignored + f->emptied + f->unshown + f->tag_dropped;
    if (f->kept + dropped != before->sample->t.count)
        must(PT_ERR_DAMAGED, &(pt_error){.message = "kept and dropped do not add up"});
    if (!same_totals(before, tagged) || (dropped == 0 && !same_totals(before, f->profile)))
        must(PT_ERR_DAMAGED, &(pt_error){.message = "sums have changed"});
}

static const pt_profile *answered(const request *r, const pt_profile *profile)
{
    pt_error error = PT_ERROR_INIT;
    pt_tagged tagged;
    must(pt_tag_frames(profile, &r->query, &tagged, NULL, &error), &error);
    must(pt_profile_check(tagged.profile, &error), &error);
    pt_filtered filtered;
    must(pt_filter(tagged.profile, &r->query, &filtered, NULL, &error), &error);
    must(pt_profile_check(filtered.profile, &error), &error);
    check_sums(profile, tagged.profile, &filtered);
    PT_UNREF_PROFILE const pt_profile *coarse =
        r->no_inlines ? pt_aggregate(filtered.profile, (pt_keep){.functions = true,
                                                                 .files = true,
                                                                 .lines = true,
                                                                 .addresses = true,
                                                                 .columns = r->show_columns})
                      : pt_profile_ref(filtered.profile);
    pt_profile_unref(tagged.profile);
    pt_filtered_done(&filtered);
    const pt_profile *const divided = pt_divide(coarse, r->divide_by);
    must(pt_profile_check(divided, &error), &error);
    return divided;
}

static pt_out *open_output(void *context, const char *suffix, pt_error *reterr)
{
    (void)suffix;
    (void)reterr;
    return context;
}

int main(int argc, char **argv)
{
    request r = {.divide_by = 1, .query = {.pprof = true}};
    if (argc < 3) return 2;
    for (int i = 2; i < argc; i++) {
        char *const equals = strchr(argv[i], '=');
        if (equals != NULL) {
            *equals = '\0';
            set(&r, argv[i], equals + 1);
            continue;
        }
        PT_GROW(r.profiles, r.profiles.count + 1);
        r.profiles.items[r.profiles.count++] = argv[i];
    }
    PT_UNREF_PROFILE const pt_profile *whole = fetched(&r);
    PT_UNREF_PROFILE const pt_profile *answer = answered(&r, whole);
    pt_error error = PT_ERROR_INIT;
    const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    pt_out out;
    pt_out_to_fd(&out, fd);
    const pt_output output = {.context = &out, .open = open_output};
    must(pt_format_find("pprof")->write(answer, &output, &(pt_write_options){.raw = true}, &error),
         &error);
    must(pt_out_done(&out, &error), &error);
    close(fd);
    free(r.profiles.items);
    free(r.bases.items);
    return 0;
}
