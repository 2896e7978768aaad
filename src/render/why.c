/* why.c: findings as sentences.
 *
 *   1. 96.5% of the CPU time is spent copying memory below Ledger::append (copy.cc:6).
 *        main > Ledger::append > std::vector::vector > __memmove_avx_unaligned_erms
 *        At most 190ms of 197ms can be saved. Try: pass large objects by reference.
 */
#include "render/why.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "render/brief.h"
#include "render/value.h"

/* The event's values as a noun: "the CPU time". */
static const char *noun_of(const pt_summary *summary)
{
    if (strcmp(summary->type, "cpu") == 0 && summary->kind == PT_EVENT_TIME) return "the CPU time";
    if (strcmp(summary->type, "off-cpu") == 0) return "the waiting time";
    if (strcmp(summary->type, "wall") == 0) return "the time";
    if (strcmp(summary->type, "samples") == 0) return "the samples";
    return summary->type;
}

static void put_name(pt_buf *to, const pt_look *look, const char *name)
{
    PT_AUTO(pt_buf) brief = PT_BUF_INIT;
    if (!look->long_names) pt_brief_name(name, &brief);
    pt_putf(to, "%s", look->long_names ? name : pt_buf_text(&brief));
}

/* Puts a place: "Ledger::append (ledger.cc:88)". */
static void put_place(pt_buf *to, const pt_look *look, const pt_why_place *place)
{
    put_name(to, look, place->name);
    if (place->file[0] == '\0') return;
    pt_putf(to, " (%s", pt_base_name(place->file));
    if (place->line > 0) pt_putf(to, ":%lld", (long long)place->line);
    pt_putf(to, ")");
}

/* Puts the function, and its file unless the name has the file in it, as "[libz.so.1+0x12]" has.
 * Returns true if the text may include time in functions that this function calls. The finding's
 * share may be less than the function's total: samples that show a cause belong to another
 * finding. */
static bool put_symptom(pt_buf *to, const pt_look *look, const pt_why_finding *f)
{
    const char *const name = f->kind == PT_WHY_LIBRARY && f->via != NULL ? f->via : f->symptom;
    const bool is_below = strcmp(name, f->symptom) != 0;
    if (is_below) pt_putf(to, "and below ");
    put_name(to, look, name);
    if (name == f->symptom && name[0] != '[' && f->symptom_object[0] != '\0')
        pt_putf(to, " of %s", pt_base_name(f->symptom_object));
    return is_below;
}

/* Puts the place. The name "[app]" stands for code of a file without names, "[not sampled: exit]"
 * for code whose time a recording counts but cannot sample. */
static void put_own(pt_buf *to, const pt_look *look, const pt_why_finding *f)
{
    static const char not_sampled[] = "[not sampled: ";
    if (pt_begins(f->place.name, not_sampled)) {
        const char *const name = f->place.name + sizeof not_sampled - 1;
        pt_putf(to, "code that cannot be sampled: %.*s", (int)strcspn(name, "]"), name);
        return;
    }
    if (f->place.name[0] == '[') pt_putf(to, "code without names of ");
    put_place(to, look, &f->place);
    if (f->place.name[0] != '[') pt_putf(to, " itself");
}

/* Puts " below ", or ", 43.1% of it below " if less than 80 % of the finding is below the place. */
static void put_part(pt_buf *to, double share, const char *before, const char *word)
{
    if (share < 0.8)
        pt_putf(to, ", %s of it", pt_percent_of(share).text);
    else
        pt_putf(to, "%s", before);
    pt_putf(to, " %s ", word);
}

/* Is the event known to be CPU time? Plain samples may also measure wall time. */
static bool is_of_cpu(const pt_summary *summary)
{
    static const char *const others[] = {"off-cpu", "wall", "samples"};
    return !PT_ANY(i, PT_COUNT(others), strcmp(summary->type, others[i]) == 0);
}

/* The text after "60 % of the CPU time is spent": "copying memory below f (a.c:3)". */
static char *sentence_of(const pt_look *look, const pt_summary *summary, const pt_why_finding *f)
{
    pt_buf text = PT_BUF_INIT;
    if (f->kind == PT_WHY_CAUSE) {
        const bool waits = f->cause->doing_on_cpu != NULL;
        pt_putf(&text, "%s",
                waits && is_of_cpu(summary) ? f->cause->doing_on_cpu : f->cause->doing);
        if (f->processes > 1) pt_putf(&text, ", in %s processes", pt_count_of(f->processes).text);
        if (f->place.name != NULL) {
            put_part(&text, f->place.share, f->processes > 1 ? "," : "", "below");
            put_place(&text, look, &f->place);
        }
        return pt_buf_take(&text, NULL);
    }
    pt_putf(&text, "in ");
    if (f->kind == PT_WHY_OWN) {
        put_own(&text, look, f);
        return pt_buf_take(&text, NULL);
    }
    const bool is_below = put_symptom(&text, look, f);
    if (f->place.name != NULL) {
        put_part(&text, f->place.share, ",", "called by");
        put_place(&text, look, &f->place);
    }
    if (is_below) pt_putf(&text, ", without a known cause");
    return pt_buf_take(&text, NULL);
}

/* The part of the sentence after its noun: "is spent copying memory below f (a.c:3)", "are spent in
 * f itself", "comes from f itself". The caller frees the text. */
static char *predicate_of(const pt_look *look, const pt_summary *summary, const char *noun,
                          const pt_why_finding *f)
{
    PT_FREE char *text = sentence_of(look, summary, f);
    if (summary->kind == PT_EVENT_BYTES) return pt_strf("comes from %s", text + strlen("in "));
    return pt_strf("%s spent %s", pt_ends(noun, "s") ? "are" : "is", text);
}

/* The text of a path: "main > ... > parse > memcpy". The caller frees. */
static char *path_text(const pt_look *look, const pt_why_path *path)
{
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < path->count; i++) {
        if (i > 0) pt_putf(&text, i == 1 && path->is_cut ? " > ... > " : " > ");
        put_name(&text, look, path->name[i]);
    }
    return pt_buf_take(&text, NULL);
}

/* The text about the direct callers: "Called by parse (a.c:3) 61%, read_all (b.c:9) 22%." The
 * caller frees. */
static char *sources_text(const pt_look *look, const pt_why_finding *f)
{
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < f->source_count; i++) {
        pt_putf(&text, "%s", i == 0 ? "Called by " : ", ");
        put_place(&text, look, &f->source[i]);
        pt_putf(&text, " %s", pt_percent_of(f->source[i].share).text);
    }
    if (f->source_count > 0) pt_putf(&text, ".");
    return pt_buf_take(&text, NULL);
}

/* A function with at least this many frames in its average stack is reported as calling itself. */
#define DEPTH_SHOWN 3.0

/* The text of a finding's advice: ". Try: reserve the size before the loop". The caller frees. */
static char *advice_of(const pt_why_finding *f)
{
    if (f->cause != NULL) return pt_strf(". Try: %s", f->cause->advice);
    if (f->depth >= DEPTH_SHOWN)
        return pt_strf(
            ". It calls itself, %.0f deep on average. Try: keep results that it computes "
            "again",
            f->depth);
    return pt_strf("%s", "");
}

static void put_detail(pt_out *out, const pt_look *look, const char *text)
{
    if (text[0] == '\0') return;
    pt_text_pad(out, 5);
    pt_text_put_wrapped(out, look, 5, 7, text);
}

static void put_finding(pt_out *out, const pt_look *look, const pt_report_head *head,
                        const pt_why *why, size_t number)
{
    const pt_why_finding *const f = &why->finding[number];
    const char *const noun = why->function != NULL ? "it" : noun_of(&head->summary);
    PT_FREE char *predicate = predicate_of(look, &head->summary, noun, f);
    PT_FREE char *path = path_text(look, &f->path);
    PT_FREE char *sources = sources_text(look, f);
    const char *const unit = head->summary.unit;
    PT_FREE char *all =
        pt_strf("%zu. %s of %s %s.", number + 1, pt_percent_of(f->share).text, noun, predicate);
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_text_put_wrapped(out, look, 0, 3, all);
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    put_detail(out, look, path);
    put_detail(out, look, sources);
    PT_FREE char *advice = advice_of(f);
    PT_FREE char *gain =
        pt_strf("At most %s of %s can be saved%s.", pt_value_of(unit, f->value).text,
                pt_value_of(unit, why->whole).text, advice);
    put_detail(out, look, gain);
}

static void put_function(pt_out *out, const pt_look *look, const pt_report_head *head,
                         const pt_why *why)
{
    const char *const unit = head->summary.unit;
    pt_buf text = PT_BUF_INIT;
    put_name(&text, look, why->function);
    if (why->functions > 1)
        pt_putf(&text, " and %s more that match%s", pt_count_of(why->functions - 1).text,
                why->functions == 2 ? "es" : "");
    pt_putf(&text, ": %s, %s of %s;", pt_value_of(unit, why->whole).text,
            pt_percent_of(pt_share(why->whole, head->summary.total)).text, noun_of(&head->summary));
    pt_putf(&text, " %s of it in the function%s.",
            pt_percent_of(pt_share(why->self, why->whole)).text,
            why->functions > 1 ? "s themselves" : " itself");
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_text_put_wrapped(out, look, 0, 3, pt_buf_text(&text));
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    pt_buf_done(&text);
    for (size_t i = 0; i < why->path_count; i++) {
        PT_FREE char *path = path_text(look, &why->path[i]);
        pt_outf(out, "%7s  ", pt_percent_of(why->path[i].share).text);
        pt_text_put_wrapped(out, look, 9, 11, path);
    }
    if (why->more_paths > 0)
        pt_outf(out, "%7s  %s\n", "", pt_count_noun(why->more_paths, "more paths").text);
    if (why->count > 0) pt_out_char(out, '\n');
}

static void put_rest(pt_out *out, const pt_look *look, const pt_report_head *head,
                     const pt_why *why)
{
    PT_FREE char *text = NULL;
    const char *const noun = noun_of(&head->summary);
    if (why->count == 0)
        text =
            pt_strf("Nothing stands out: no cause, and no function of the program, has a share of "
                    "%s that is large and more than chance. pitot top shows all functions.",
                    noun);
    else if (why->rest >= 0.1)
        text =
            pt_strf("The other %s are spread over smaller causes; pitot top shows all functions.",
                    pt_percent_of(why->rest).text);
    if (text == NULL) return;
    pt_text_colour(out, look, PT_COLOUR_QUIET);
    pt_text_put_wrapped(out, look, 0, 3, text);
    pt_text_colour_end(out, look, PT_COLOUR_QUIET);
}

void pt_why_text(pt_out *out, const pt_look *look, const pt_report_head *head, const pt_why *why)
{
    pt_report_head_text(out, look, head);
    if (why->function != NULL) put_function(out, look, head, why);
    for (size_t i = 0; i < why->count && pt_out_ok(out); i++)
        put_finding(out, look, head, why, i);
    if (why->busy_thread_share > 0) {
        PT_FREE char *text = pt_strf("One thread of %s has %s of the time: more threads would not "
                                     "help unless its work is divided.",
                                     pt_count_of(why->thread_count).text,
                                     pt_percent_of(why->busy_thread_share).text);
        pt_text_put_wrapped(out, look, 0, 3, text);
    }
    if (why->function == NULL) put_rest(out, look, head, why);
}

/* ---- JSON ---- */

static void put_json_place(pt_json_w *w, const pt_why_place *place)
{
    pt_json_key_text(w, "function", place->name);
    pt_json_key_text(w, "file", place->file);
    pt_json_key_int_or_null(w, "line", place->line, place->line > 0);
}

static void put_json_path(pt_json_w *w, const pt_why_path *path)
{
    PT_JSON_EACH (w, "path", i, path->count)
        pt_json_text(w, path->name[i]);
}

static const char *const kinds[] = {
    [PT_WHY_CAUSE] = "cause", [PT_WHY_OWN] = "own", [PT_WHY_LIBRARY] = "library"};

static void put_json_finding(pt_json_w *w, const pt_summary *summary, const pt_why_finding *f)
{
    const pt_look look = {.long_names = true};
    PT_FREE char *sentence = predicate_of(&look, summary, noun_of(summary), f);
    pt_json_object(w);
    pt_json_key_text(w, "kind", kinds[f->kind]);
    if (f->cause != NULL) pt_json_key_text(w, "cause", f->cause->id);
    pt_json_key_text(w, "sentence", sentence);
    pt_json_key_int(w, "value", f->value);
    pt_json_key_double(w, "share", f->share);
    pt_json_key_double(w, "share_low", f->interval.low);
    pt_json_key_double(w, "share_high", f->interval.high);
    if (f->place.name != NULL) put_json_place(w, &f->place);
    if (f->via != NULL) pt_json_key_text(w, "called", f->via);
    pt_json_key_text(w, "leaf", f->symptom);
    if (f->kind == PT_WHY_OWN) pt_json_key_double(w, "depth", f->depth);
    put_json_path(w, &f->path);
    PT_JSON_OBJECTS (w, "callers", i, f->source_count) {
        put_json_place(w, &f->source[i]);
        pt_json_key_double(w, "share", f->source[i].share);
    }
    if (f->cause != NULL) pt_json_key_text(w, "advice", f->cause->advice);
    pt_json_object_end(w);
}

static void put_json_function(pt_json_w *w, const pt_why *why)
{
    pt_json_key_object(w, "function");
    pt_json_key_text(w, "name", why->function);
    pt_json_key_uint(w, "matches", why->functions);
    pt_json_key_int(w, "total", why->whole);
    pt_json_key_int(w, "self", why->self);
    PT_JSON_OBJECTS (w, "paths", i, why->path_count) {
        pt_json_key_int(w, "value", why->path[i].value);
        pt_json_key_double(w, "share", why->path[i].share);
        put_json_path(w, &why->path[i]);
    }
    pt_json_key_uint(w, "more_paths", why->more_paths);
    pt_json_object_end(w);
}

void pt_why_json(pt_out *out, const pt_report_head *head, const pt_why *why)
{
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "why");
    pt_report_profile_json(&w, head);
    if (why->function != NULL) put_json_function(&w, why);
    PT_JSON_EACH (&w, "findings", i, why->count)
        put_json_finding(&w, &head->summary, &why->finding[i]);
    pt_json_key_double(&w, "rest", why->rest);
    pt_json_object_end(&w);
}
