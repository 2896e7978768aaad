/* weblist.c: -weblist of the pprof personality: pitot's own page of the functions that match. */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/lookup.h"
#include "model/sums.h"
#include "personality/pprof/pprof.h"
#include "render/weblist.h"
#include "terminal/message.h"
#include "transform/scale.h"
#include "view/table.h"

/* The most symbols that are disassembled. */
#define SYMBOL_LIMIT 100

static pt_report_head head_of(const pt_graph_report *report, const pt_profile *profile,
                              int64_t whole, const char *query)
{
    pt_report_head head = {
        .title = report->title != NULL ? report->title : "profile",
        .summary = pt_summary_of(profile, report->event),
        .query = query,
        .kept = pt_summary_samples(profile),
        .kept_total = pt_profile_magnitude(profile, report->event),
    };
    head.summary.total = whole;
    head.kept_share = pt_share(head.kept_total, whole);
    return head;
}

static void say_facts(const pt_diag *diag)
{
    for (size_t i = 0; i < diag->count; i++)
        pt_print_error("%s\n", diag->facts[i].text);
}

static pt_status put_page(const pt_pprof_session *session, const pt_pprof_config *config,
                          const pt_graph_report *report, const pt_profile *profile,
                          const pt_regex *pattern, const char *pattern_text, pt_out *out,
                          pt_error *reterr)
{
    static const pt_place_settings usual = {.debuginfod = true};
    PT_LOOKUP pt_lookup lookup;
    pt_lookup_init(&lookup, &usual);
    pt_objdump_tool tool = {0};
    const bool has_objdump = pt_objdump_find(session->tools, getenv("PATH"), &tool);
    PT_FREE char *tool_path = tool.path;
    PT_FREE char *here = getcwd(NULL, 0);
    /* Makes the text of the filters, "focus=parse, hide=std", which the caller frees. */
    pt_buf buf = PT_BUF_INIT;
    for (size_t i = 0; i < report->filter_count; i++)
        pt_putf(&buf, "%s%s", i > 0 ? ", " : "", report->filters[i]);
    PT_FREE char *query = pt_buf_take(&buf, NULL);
    const char *path = config->source_path;
    pt_source_texts *texts = pt_source_texts_new(path != NULL && path[0] != '\0' ? path : here,
                                                 config->trim_path, NULL, NULL);
    PT_AUTO(pt_diag) diag;
    pt_diag_init(&diag);
    const pt_code_options code = {
        .images = &lookup.source,
        .syntax = config->intel_syntax ? PT_SYNTAX_INTEL : PT_SYNTAX_ATT,
        .objdump = has_objdump ? &tool : NULL,
        .prefers_objdump = has_objdump,
        .pool = session->pool,
        .diag = &diag,
    };
    const int64_t whole = (int64_t)((double)report->total * report->ratio);
    const pt_listing_request request = {.event = report->event,
                                        .whole = whole,
                                        .pattern = pattern,
                                        .with_lines = true,
                                        .code = &code,
                                        .symbol_limit = SYMBOL_LIMIT,
                                        .texts = texts,
                                        .context = 5};
    pt_listing list;
    pt_status status = pt_listing_init(&list, profile, &request, reterr);
    if (status == PT_ERR_NOTFOUND)
        pt_error_set(reterr, status, "no matches found for regexp: %s", pattern_text);
    if (status == PT_OK) {
        const pt_report_head head = head_of(report, profile, whole, query);
        pt_weblist_html(out, &head, &list);
        pt_listing_done(&list);
    }
    say_facts(&diag);
    pt_source_texts_free(texts);
    return status;
}

pt_status pt_pprof_weblist(const pt_pprof_session *session, const pt_pprof_config *config,
                           const pt_graph_report *report, const pt_regex *pattern,
                           const char *pattern_text, pt_out *out, pt_error *reterr)
{
    if (config->mean)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "-weblist shows sums, not means: -list "
                            "-mean and -disasm -mean show them");
    const pt_profile *divided = pt_divide(report->profile, config->divide_by);
    const pt_status status =
        put_page(session, config, report, divided, pattern, pattern_text, out, reterr);
    pt_profile_unref(divided);
    return status;
}
