/* fetch_address.c: parses names of servers by the rules of the three programs, and derives
 * addresses from addresses. No network access.
 *
 * Rules: OWN is pitot's. GO is adjustURL of cmd/pprof in Go 1.23, with the necessary parts of
 * net/url. PERL is ParseProfileURL and FetchDynamicProfile of gperftools' pprof. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/text.h"
#include "load/fetch_int.h"

#define EXPAND_MAX 10000 /* limit of names from one host@N */

/* ---- Addresses ---- */

void pt_url_done(pt_url *u)
{
    PT_FREE_ALL(u->scheme, u->host, u->path, u->query);
    *u = (pt_url){0};
}

/* Splits path and query; drops the fragment. */
static void take_path(pt_url *u, const char *text)
{
    const size_t whole = strcspn(text, "#");
    const size_t path = strcspn(text, "?#");
    u->path = pt_strndup(text, path);
    u->query = path < whole ? pt_strndup(text + path + 1, whole - path - 1) : pt_strdup("");
}

/* True if "[::1]:80", "host:80" or "user:word@host" has a host, and a numeric port if any. */
static bool is_host(const char *text, size_t length)
{
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] <= ' ' || strchr("\"<>\\^`{|}", text[i]) != NULL) return false;
        if (text[i] == '@') at = i + 1;
    }
    size_t end = length;
    while (end > at && isdigit((unsigned char)text[end - 1]))
        end--;
    const bool port = end > at && text[end - 1] == ':';
    if (port) {
        if (length - end > 5 || strtoul(text + end, NULL, 10) > 65535) return false;
        end--;
    } else {
        end = length;
    }
    if (end == at) return false;
    if (text[at] == '[') return text[end - 1] == ']' && end - at > 2;
    return memchr(text + at, ':', end - at) == NULL;
}

static bool parse_unix(const char *text, pt_url *ret)
{
    const char *const path = strstr(text, ":/");
    const size_t length = path != NULL ? (size_t)(path - text) : strlen(text);
    if (length == 0) return false;
    *ret = (pt_url){.scheme = pt_strdup("unix"), .host = pt_strndup(text, length)};
    take_path(ret, path != NULL ? path + 1 : "");
    return true;
}

bool pt_url_parse(const char *text, pt_url *ret)
{
    static const char *const schemes[] = {"http", "https", "https+insecure"};
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) return false;
    }
    if (pt_begins(text, "unix:")) return parse_unix(text + 5, ret);
    for (size_t i = 0; i < PT_COUNT(schemes); i++) {
        const size_t length = strlen(schemes[i]);
        if (strncasecmp(text, schemes[i], length) != 0 || !pt_begins(text + length, "://"))
            continue;
        const char *const host = text + length + 3;
        const size_t host_bytes = strcspn(host, "/?#");
        if (!is_host(host, host_bytes)) return false;
        *ret = (pt_url){.scheme = pt_strdup(schemes[i]), .host = pt_strndup(host, host_bytes)};
        take_path(ret, host + host_bytes);
        return true;
    }
    return false;
}

/* The URL as text; the caller frees it. */
static char *text_of_url(const pt_url *u)
{
    const char *const mark = u->query[0] != '\0' ? "?" : "";
    if (strcmp(u->scheme, "unix") == 0)
        return pt_strf("unix:%s%s%s%s%s", u->host, u->path[0] != '\0' ? ":" : "", u->path, mark,
                       u->query);
    return pt_strf("%s://%s%s%s%s", u->scheme, u->host, u->path, mark, u->query);
}

static void set_path(pt_url *u, char *path)
{
    free(u->path);
    u->path = path;
}

static void set_query(pt_url *u, char *query)
{
    free(u->query);
    u->query = query;
}

/* ---- Queries ---- */

typedef struct {
    char *key, *value; /* decoded */
} pair;

typedef PT_VECTOR(pair) pairs;

/* Decodes percent escapes and plus signs; NULL for an invalid escape. */
static char *unescape_text(const char *text, size_t length)
{
    char *const to = pt_alloc(length + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            to[n++] = text[i] == '+' ? ' ' : text[i];
            continue;
        }
        const int high = length - i > 2 ? pt_hex_digit(text[i + 1]) : -1;
        const int low = length - i > 2 ? pt_hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            free(to);
            return NULL;
        }
        to[n++] = (char)(high << 4 | low);
        i += 2;
    }
    return to;
}

static void put_escaped(pt_buf *buf, const char *text)
{
    for (; *text != '\0'; text++) {
        if (isalnum((unsigned char)*text) || strchr("-_.~", *text) != NULL)
            pt_put_u8(buf, (uint8_t)*text);
        else if (*text == ' ')
            pt_put_u8(buf, '+');
        else
            pt_putf(buf, "%%%02X", (unsigned char)*text);
    }
}

static pairs pairs_of(const char *query)
{
    pairs p = {0};
    while (*query != '\0') {
        const size_t length = strcspn(query, "&");
        const char *const sign = memchr(query, '=', length);
        const size_t key_bytes = sign != NULL ? (size_t)(sign - query) : length;
        if (length > 0 && memchr(query, ';', length) == NULL) {
            char *const key = unescape_text(query, key_bytes);
            char *const value =
                sign != NULL ? unescape_text(sign + 1, length - key_bytes - 1) : pt_strdup("");
            if (key != NULL && value != NULL) {
                PT_PUSH(p, (pair){key, value});
            } else {
                PT_FREE_ALL(key, value);
            }
        }
        query += length + (query[length] == '&');
    }
    return p;
}

static const char *value_of(const pairs *p, const char *key)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->items[i].key, key) == 0) return p->items[i].value;
    }
    return NULL;
}

/* Sets the only value of a key. */
static void set_value(pairs *p, const char *key, char *value)
{
    size_t kept = 0;
    bool done = false;
    for (size_t i = 0; i < p->count; i++) {
        const bool same = strcmp(p->items[i].key, key) == 0;
        if (same && !done) {
            free(p->items[i].value);
            p->items[i].value = value;
            done = true;
        } else if (same) {
            PT_FREE_ALL(p->items[i].key, p->items[i].value);
            continue;
        }
        p->items[kept++] = p->items[i];
    }
    p->count = kept;
    if (done) return;
    PT_PUSH(*p, (pair){pt_strdup(key), value});
}

/* Sorts by key, stable (url.Values.Encode). There are few pairs. */
static void sort_pairs(pairs *p)
{
    for (size_t i = 1; i < p->count; i++) {
        const pair moving = p->items[i];
        size_t to = i;
        for (; to > 0 && strcmp(p->items[to - 1].key, moving.key) > 0; to--)
            p->items[to] = p->items[to - 1];
        p->items[to] = moving;
    }
}

static char *query_of(const pairs *p)
{
    pt_buf buf = PT_BUF_INIT;
    for (size_t i = 0; i < p->count; i++) {
        if (i > 0) pt_put_u8(&buf, '&');
        put_escaped(&buf, p->items[i].key);
        pt_put_u8(&buf, '=');
        put_escaped(&buf, p->items[i].value);
    }
    return pt_buf_take(&buf, NULL);
}

/* ---- Rules ---- */

/* True for HOST:PORT at the end, or before a path or a query. */
static bool is_host_port(const char *name)
{
    const size_t length = strcspn(name, "/?#");
    size_t colon = length;
    while (colon > 0 && isdigit((unsigned char)name[colon - 1]))
        colon--;
    if (colon == length || colon < 2 || name[colon - 1] != ':') return false;
    for (size_t i = 0; i < colon - 1 && name[0] != '['; i++) {
        if (!isalnum((unsigned char)name[i]) && strchr(".-_", name[i]) == NULL) return false;
    }
    return is_host(name, length);
}

/* Results of net/url.Parse; with URL_HOST *ret is the URL. */
typedef enum { URL_INVALID, URL_NO_HOST, URL_NO_HOST_BUT_SCHEME, URL_HOST } url_kind;

static url_kind go_parse(const char *text, pt_url *ret)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) return URL_INVALID;
    }
    size_t scheme = 0;
    if (isalpha((unsigned char)text[0])) {
        while (isalnum((unsigned char)text[scheme]) ||
               (text[scheme] != '\0' && strchr("+-.", text[scheme]) != NULL))
            scheme++;
    }
    if (text[scheme] != ':') {
        if (text[0] == ':') return URL_INVALID;
        /* In a relative path, a colon in the first segment is an error. */
        const size_t piece = strcspn(text, "/?");
        return memchr(text, ':', piece) != NULL ? URL_INVALID : URL_NO_HOST;
    }
    if (scheme == 0) return URL_INVALID;
    const bool file = scheme == 4 && strncasecmp(text, "file", 4) == 0;
    if (!pt_begins(text + scheme + 1, "//") || strcspn(text + scheme + 3, "/?#") == 0)
        return file ? URL_NO_HOST : URL_NO_HOST_BUT_SCHEME;
    return pt_url_parse(text, ret) ? URL_HOST : URL_INVALID;
}

static bool go_url(const char *name, pt_url *ret)
{
    const url_kind kind = go_parse(name, ret);
    if (kind == URL_HOST || kind == URL_NO_HOST) return kind == URL_HOST;
    PT_FREE char *with_scheme = pt_strf("http://%s", name);
    return go_parse(with_scheme, ret) == URL_HOST;
}

static bool own_url(const char *name, pt_url *ret)
{
    if (pt_url_parse(name, ret)) return true;
    if (!is_host_port(name)) return false;
    PT_FREE char *with_scheme = pt_strf("http://%s", name);
    return pt_url_parse(with_scheme, ret);
}

/* The start of a page of the Perl pprof in a path: a known name at the end, some with a query.
 * NULL: none. */
static const char *perl_page(const char *path)
{
    static const struct {
        const char *name;
        bool query;
    } pages[] = {
        {"/pprof/heap", false},           {"/pprof/profile", true},
        {"/pprof/pmuprofile", true},      {"/pprof/growth", false},
        {"/pprof/contention", false},     {"/pprof/wall", true},
        {"/pprof/filteredprofile", true}, {"/pprof/censusprofile", true},
    };
    const char *first = NULL;
    for (size_t i = 0; i < PT_COUNT(pages); i++) {
        for (const char *at = strstr(path, pages[i].name); at != NULL;
             at = strstr(at + 1, pages[i].name)) {
            const char end = at[strlen(pages[i].name)];
            if ((end == '\0' || (end == '?' && pages[i].query)) && (first == NULL || at < first))
                first = at;
        }
    }
    return first;
}

static bool perl_url(const char *name, pt_url *ret)
{
    if (name[0] == '\0') return false;
    if (pt_url_parse(name, ret)) return true;
    PT_FREE char *with_scheme = pt_strf("http://%s", name);
    return pt_url_parse(with_scheme, ret);
}

static bool parse_by_rule(pt_fetch_rule rule, const char *name, pt_url *ret)
{
    if (pt_begins(name, "unix:")) return pt_url_parse(name, ret);
    switch (rule) {
    case PT_FETCH_OWN: return own_url(name, ret);
    case PT_FETCH_GO: return go_url(name, ret);
    case PT_FETCH_PERL: return perl_url(name, ret);
    }
    return false;
}

bool pt_fetch_is_remote(pt_fetch_rule rule, const char *name)
{
    PT_AUTO(pt_url) url = {0};
    if (rule == PT_FETCH_PERL) return name[0] != '\0';
    if (!parse_by_rule(rule, name, &url)) return false;
    return true;
}

/* Sets the query's seconds by options, by the query itself, or by the rule. Returns the seconds. */
static int64_t settle_query(pt_url *u, const pt_fetch_options *options, int64_t by_rule)
{
    pairs p = pairs_of(u->query);
    const char *const given = value_of(&p, "seconds");
    int64_t seconds = options->seconds;
    if (seconds <= 0 && given != NULL) {
        char *end;
        const long value = strtol(given, &end, 10);
        seconds = end != given && *end == '\0' && value > 0 && value <= INT32_MAX ? value : 0;
    } else if (seconds > 0 || by_rule > 0) {
        if (seconds <= 0) seconds = by_rule;
        set_value(&p, "seconds", pt_strf("%" PRId64, seconds));
    }
    if (options->rule == PT_FETCH_GO) sort_pairs(&p);
    set_query(u, query_of(&p));
    for (size_t i = 0; i < p.count; i++)
        PT_FREE_ALL(p.items[i].key, p.items[i].value);
    free(p.items);
    return seconds;
}

static int64_t own_address(pt_url *u, const pt_fetch_options *options, char **ret_other)
{
    const bool bare = u->path[0] == '\0' || strcmp(u->path, "/") == 0;
    if (bare) set_path(u, pt_strdup("/debug/pprof/profile"));
    /* Only CPU profiles collect for some time; heap and others answer at once. */
    const bool collects = pt_ends(u->path, "/profile") || pt_ends(u->path, "/pmuprofile");
    const int64_t seconds = settle_query(u, options, collects ? PT_FETCH_OWN_SECONDS : 0);
    if (bare) {
        pt_url other = *u;
        other.path = (char[]){"/pprof/profile"};
        *ret_other = text_of_url(&other);
    }
    return seconds;
}

static int64_t perl_address(pt_url *u, const pt_fetch_options *options)
{
    const char *const page = perl_page(u->path);
    if (page == NULL) {
        const size_t kept = strlen(u->path) - (pt_ends(u->path, "/") ? 1 : 0);
        set_path(u, pt_strf("%.*s/pprof/profile", (int)kept, u->path));
    }
    if (!pt_ends(u->path, "/pprof/profile") && !pt_ends(u->path, "/pprof/pmuprofile")) return 0;
    const int64_t seconds = options->seconds > 0 ? options->seconds : PT_FETCH_PERL_SECONDS;
    set_query(u,
              pt_strf("%s%sseconds=%" PRId64, u->query, u->query[0] != '\0' ? "&" : "", seconds));
    return seconds;
}

static int64_t go_address(pt_url *u, const pt_fetch_options *options)
{
    if (u->path[0] == '\0' || strcmp(u->path, "/") == 0)
        set_path(u, pt_strdup("/debug/pprof/profile"));
    return settle_query(u, options, 0);
}

static int64_t timeout_of(const pt_fetch_options *options, int64_t seconds)
{
    if (options->timeout_s > 0) return options->timeout_s;
    if (options->rule == PT_FETCH_PERL && seconds > 0)
        return (int64_t)((double)seconds * 1.01) + 60;
    if (seconds <= 0) return 60;
    return seconds + seconds / 2 + (options->rule == PT_FETCH_OWN ? 5 : 0);
}

char *pt_fetch_addresses(const char *name, const pt_fetch_options *options, int64_t *ret_seconds,
                         int64_t *ret_timeout_s, char **ret_other)
{
    PT_AUTO(pt_url) url = {0};
    *ret_other = NULL;
    if (!parse_by_rule(options->rule, name, &url)) return NULL;
    int64_t seconds = 0;
    switch (options->rule) {
    case PT_FETCH_OWN: seconds = own_address(&url, options, ret_other); break;
    case PT_FETCH_GO: seconds = go_address(&url, options); break;
    case PT_FETCH_PERL: seconds = perl_address(&url, options); break;
    }
    if (ret_seconds != NULL) *ret_seconds = seconds;
    if (ret_timeout_s != NULL) *ret_timeout_s = timeout_of(options, seconds);
    return text_of_url(&url);
}

char *pt_fetch_address(const char *name, const pt_fetch_options *options, int64_t *ret_seconds,
                       int64_t *ret_timeout_s)
{
    char *other;
    char *const address = pt_fetch_addresses(name, options, ret_seconds, ret_timeout_s, &other);
    free(other);
    return address;
}

/* ---- host@N ---- */

/* Parses the number in host@N or host@N/path. Returns the place of the '@'. NULL: another form. */
static const char *number_of_hosts(const char *name, unsigned long *ret_number)
{
    const char *const at = strchr(name, '@');
    if (at == NULL || at == name || memchr(name, '/', (size_t)(at - name)) != NULL) return NULL;
    char *end;
    if (!isdigit((unsigned char)at[1])) return NULL;
    const unsigned long number = strtoul(at + 1, &end, 10);
    if (*end != '\0' && *end != '/') return NULL;
    *ret_number = number < EXPAND_MAX ? number : EXPAND_MAX;
    return at;
}

size_t pt_fetch_expand_count(const char *name)
{
    unsigned long number;
    return number_of_hosts(name, &number) != NULL ? number : 1;
}

char *pt_fetch_expand(const char *name, size_t i)
{
    unsigned long number;
    const char *const at = number_of_hosts(name, &number);
    if (at == NULL) return pt_strdup(name);
    const char *const path = at + 1 + strspn(at + 1, "0123456789");
    return pt_strf("%zu.%.*s%s", i, (int)(at - name), name, path);
}

/* ---- Neighbours ---- */

char *pt_fetch_neighbour(const char *profile_url, const char *word)
{
    static const char *const pages[] = {
        "/pprof/heap",       "/pprof/growth", "/pprof/profile",         "/pprof/pmuprofile",
        "/pprof/contention", "/pprof/wall",   "/pprof/filteredprofile", "/pprof/censusprofile",
    };
    PT_AUTO(pt_url) url = {0};
    if (!pt_url_parse(profile_url, &url)) return NULL;
    bool beside = strstr(url.path, "/debug/pprof/") != NULL;
    for (size_t i = 0; i < PT_COUNT(pages) && !beside; i++)
        beside = pt_ends(url.path, pages[i]);
    if (beside) {
        const char *const slash = strrchr(url.path, '/');
        set_path(&url, pt_strf("%.*s/%s", (int)(slash - url.path), url.path, word));
    } else {
        set_path(&url, pt_strf("/%s%s", word, strcmp(word, "symbol") == 0 ? "z" : ""));
    }
    set_query(&url, pt_strdup(""));
    return text_of_url(&url);
}
