/* source.c: see source.h. */
#include "cmd/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/near.h"
#include "base/text.h"
#include "view/fold.h"

/* True if the profile, when it was read, did not have the name. */
static bool is_added_by_symbolizing(void *context, const char *name)
{
    const pt_profile *as_read = ((const pt_cmd_context *)context)->as_read;
    if (as_read == NULL) return false;
    return !PT_ANY(i, as_read->string->t.count, strcmp(pt_text(as_read, i), name) == 0);
}

pt_source_texts *pt_cmd_texts(pt_cmd_context *context, pt_source_search *search,
                              const pt_text_settings *settings)
{
    PT_FREE char *here = getcwd(NULL, 0);
    const char *path = settings->source_path != NULL ? settings->source_path : here;
    pt_source_texts *texts =
        pt_source_texts_new(path, settings->trim_path, pt_source_fetch_text, search);
    if (context->confined) pt_source_texts_confine(texts, here, is_added_by_symbolizing, context);
    return texts;
}

void pt_cmd_code_init(pt_cmd_code *code, pt_cmd_context *context, const pt_code_settings *settings)
{
    *code = (pt_cmd_code){0};
    pt_lookup_init(&code->lookup, context->place);
    code->search = (pt_source_search){.options = &code->lookup.source, .diag = &context->diag};
    if (settings == NULL) return;
    bool has_objdump = false;
    /* objdump is needed without capstone, or if --with requests it. */
    if (settings->with != PT_CODE_CAPSTONE &&
        (settings->with == PT_CODE_OBJDUMP || pt_disasm_version() == NULL))
        has_objdump = pt_objdump_find(getenv("PPROF_TOOLS"), getenv("PATH"), &code->objdump);
    code->options = (pt_code_options){
        .images = &code->lookup.source,
        .syntax = settings->intel ? PT_SYNTAX_INTEL : PT_SYNTAX_ATT,
        .objdump = has_objdump ? &code->objdump : NULL,
        .prefers_objdump = settings->with == PT_CODE_OBJDUMP,
        .demangle = context->symbol->demangle,
        .pool = context->pool,
        .diag = &context->diag,
    };
    if (settings->with == PT_CODE_OBJDUMP && !has_objdump)
        pt_say("--with=objdump: objdump is neither in PPROF_TOOLS nor in PATH");
}

void pt_cmd_code_done(pt_cmd_code *code)
{
    pt_lookup_done(&code->lookup);
    free(code->objdump.path);
}

int pt_cmd_list(pt_cmd_context *context, const pt_text_settings *text, const pt_code_settings *code,
                pt_listing_request *request, pt_listing_printer *print, const void *settings)
{
    pt_regex *pattern = pt_cmd_name_pattern(context);
    PT_AUTO(pt_cmd_code) how;
    pt_cmd_code_init(&how, context, code);
    pt_source_texts *texts = pt_cmd_texts(context, &how.search, text);
    request->event = context->event;
    request->whole = context->whole;
    request->name = context->pattern;
    request->pattern = pattern;
    request->code = code != NULL ? &how.options : NULL;
    request->texts = texts;
    request->context = text->whole ? -1 : text->context;
    request->limit = (size_t)text->functions;
    pt_listing listing;
    pt_error error = PT_ERROR_INIT;
    const pt_status status = pt_listing_init(&listing, context->answer, request, &error);
    const int result = status == PT_OK             ? print(context, settings, &listing)
                       : status == PT_ERR_NOTFOUND ? pt_cmd_unmatched(context)
                                                   : pt_fail(&error);
    if (status == PT_OK) pt_listing_done(&listing);
    pt_source_texts_free(texts);
    pt_regex_free(pattern);
    return result;
}

uint64_t pt_cmd_address(const char *pattern)
{
    char *end;
    if (!pt_begins(pattern, "0x") || pattern[2] == '\0') return 0;
    errno = 0;
    const unsigned long long address = strtoull(pattern, &end, 16);
    return *end == '\0' && errno == 0 ? address : 0;
}

int pt_cmd_pattern(pt_cmd_context *context, pt_regex **ret_pattern)
{
    pt_error error = PT_ERROR_INIT;
    if (pt_regex_new(context->pattern, 0, ret_pattern, &error) == PT_OK) return PT_EXIT_OK;
    return pt_cmd_usage(context, "%s: %s", context->command->name, error.message);
}

pt_regex *pt_cmd_name_pattern(const pt_cmd_context *context)
{
    pt_regex *pattern = NULL;
    return pt_regex_new(context->pattern, 0, &pattern, NULL) == PT_OK ? pattern : NULL;
}

/* Does any report have a row of this name? */
static bool is_name(const pt_cmd_context *context)
{
    PT_AUTO(pt_fold) fold = {0};
    if (pt_fold_init(&fold, context->answer, &(pt_fold_rule){0}, NULL) != PT_OK) return false;
    PT_FREE bool *rows = pt_fold_find(&fold, context->pattern, NULL);
    return rows != NULL;
}

int pt_cmd_unmatched(pt_cmd_context *context)
{
    if (context->answer != NULL && is_name(context)) {
        pt_say("%s: '%s' has no code to show: pitot found no code, or no samples in it",
               context->title, context->pattern);
        return PT_EXIT_NO_MATCH;
    }
    pt_regex *pattern = NULL;
    const int status = pt_cmd_pattern(context, &pattern);
    pt_regex_free(pattern);
    if (status != PT_EXIT_OK) return status;
    const pt_profile *p = context->profile;
    pt_near near;
    pt_near_init(&near, context->pattern);
    for (uint32_t f = 0; f < p->function->t.count; f++)
        pt_near_offer(&near, pt_text(p, p->function->name[f]));
    PT_AUTO(pt_buf) list = PT_BUF_INIT;
    for (size_t i = 0; i < near.count; i++)
        pt_putf(&list, "%s%s", i > 0 ? ", " : "; near: ", near.best[i].word);
    pt_say("%s: '%s' matches no function or source file with samples%s", context->title,
           context->pattern, pt_buf_text(&list));
    return PT_EXIT_NO_MATCH;
}
