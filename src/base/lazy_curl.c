/* lazy_curl.c: see lazy_curl.h. The rows below are the functions that pitot calls. */
#define CURL_DISABLE_TYPECHECK
#include "base/lazy_curl.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>

#include "base/lazy.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

static struct {
    CURLcode (*global_init)(long);
    curl_version_info_data *(*version_info)(CURLversion);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    CURLcode (*easy_perform)(CURL *);
    const char *(*easy_strerror)(CURLcode);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *);
    CURLMcode (*multi_add_handle)(CURLM *, CURL *);
    CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
    CURLMcode (*multi_perform)(CURLM *, int *);
    CURLMcode (*multi_poll)(CURLM *, struct curl_waitfd *, unsigned, int, int *);
    CURLMsg *(*multi_info_read)(CURLM *, int *);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
} api;

static const pt_lazy_function functions[] = {
#define ROW(name)                                                                                  \
    {                                                                                              \
        "curl_" #name, offsetof(__typeof__(api), name), NULL                                       \
    }
    ROW(global_init),    ROW(version_info),  ROW(easy_init),        ROW(easy_cleanup),
    ROW(easy_setopt),    ROW(easy_getinfo),  ROW(easy_perform),     ROW(easy_strerror),
    ROW(multi_init),     ROW(multi_cleanup), ROW(multi_add_handle), ROW(multi_remove_handle),
    ROW(multi_perform),  ROW(multi_poll),    ROW(multi_info_read),  ROW(slist_append),
    ROW(slist_free_all),
#undef ROW
};

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static const char *missing;

/* Loads libcurl. The soname has not changed since 2006; Debian has a variant of it for each TLS
 * library. */
static void load_curl(void)
{
    static const char *const sonames[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    static const char *const why[] = {[PT_LAZY_NOT_INSTALLED] = "libcurl is not installed",
                                      [PT_LAZY_TOO_OLD] = "libcurl is too old"};
    const size_t count = sizeof functions / sizeof functions[0];
    missing = why[pt_lazy_load(sonames, functions, count, &api)];
}

const char *pt_curl_missing(void)
{
    pthread_once(&loaded, load_curl);
    return missing;
}

/* ---- the functions ---- */

CURLcode curl_global_init(long flags)
{
    return pt_curl_missing() == NULL ? api.global_init(flags) : CURLE_FAILED_INIT;
}

curl_version_info_data *curl_version_info(CURLversion age)
{
    static curl_version_info_data none = {.version = "not installed"};
    return pt_curl_missing() == NULL ? api.version_info(age) : &none;
}

CURL *curl_easy_init(void)
{
    return pt_curl_missing() == NULL ? api.easy_init() : NULL;
}

void curl_easy_cleanup(CURL *easy)
{
    if (easy != NULL) api.easy_cleanup(easy);
}

/* The option's number determines the type of its argument (curl.h, CURLOPTTYPE_x). */
CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    CURLcode code;
    va_list args;
    if (easy == NULL) return CURLE_BAD_FUNCTION_ARGUMENT;
    va_start(args, option);
    if (option >= CURLOPTTYPE_OFF_T && option < CURLOPTTYPE_BLOB)
        code = api.easy_setopt(easy, option, va_arg(args, curl_off_t));
    else if (option >= CURLOPTTYPE_OBJECTPOINT)
        code = api.easy_setopt(easy, option, va_arg(args, void *));
    else
        code = api.easy_setopt(easy, option, va_arg(args, long));
    va_end(args);
    return code;
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
    va_list args;
    if (easy == NULL) return CURLE_BAD_FUNCTION_ARGUMENT;
    va_start(args, info);
    void *const into = va_arg(args, void *);
    va_end(args);
    return api.easy_getinfo(easy, info, into);
}

CURLcode curl_easy_perform(CURL *easy)
{
    return easy != NULL ? api.easy_perform(easy) : CURLE_FAILED_INIT;
}

const char *curl_easy_strerror(CURLcode code)
{
    return pt_curl_missing() == NULL ? api.easy_strerror(code) : missing;
}

CURLM *curl_multi_init(void)
{
    return pt_curl_missing() == NULL ? api.multi_init() : NULL;
}

CURLMcode curl_multi_cleanup(CURLM *multi)
{
    return multi != NULL ? api.multi_cleanup(multi) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy)
{
    return multi != NULL ? api.multi_add_handle(multi, easy) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy)
{
    return multi != NULL ? api.multi_remove_handle(multi, easy) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_perform(CURLM *multi, int *running)
{
    if (multi == NULL) *running = 0;
    return multi != NULL ? api.multi_perform(multi, running) : CURLM_BAD_HANDLE;
}

CURLMcode curl_multi_poll(CURLM *multi, struct curl_waitfd extra[], unsigned extra_count,
                          int timeout_ms, int *ret)
{
    return multi != NULL ? api.multi_poll(multi, extra, extra_count, timeout_ms, ret)
                         : CURLM_BAD_HANDLE;
}

CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    return multi != NULL ? api.multi_info_read(multi, left) : NULL;
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
    return pt_curl_missing() == NULL ? api.slist_append(list, text) : NULL;
}

void curl_slist_free_all(struct curl_slist *list)
{
    if (list != NULL) api.slist_free_all(list);
}
