/* fuzz_serve.c: what a request says to `pitot serve`, whatever it is, through the gate and the
 * routes: who names no token is not answered, and a report that is made keeps its form.
 *
 *   lines: K rest of the line. K: P path, Q name=value, T token, H host, O origin, S site, M mode,
 *   D destination, C cookie, A authorization, L address to listen at
 */
#include <ctype.h>

#include "cmd/web_routes.h"
#include "reports_check.h"
#include "resident.h"
#include "serve/address.h"
#include "serve/gate.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

enum { PARAMETERS_MAX = 8 };

typedef struct {
    pt_gate_request said;
    const char *path, *address;
    pt_serve_parameter parameter[PARAMETERS_MAX];
    size_t parameter_count;
} asked;

static void take_line(asked *a, char *line)
{
    const struct {
        char letter;
        const char **into;
    } texts[] = {{'P', &a->path},        {'T', &a->said.token},
                 {'H', &a->said.host},   {'O', &a->said.origin},
                 {'S', &a->said.site},   {'M', &a->said.mode},
                 {'C', &a->said.cookie}, {'A', &a->said.authorization},
                 {'L', &a->address},     {'D', &a->said.destination}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (line[0] == texts[i].letter) *texts[i].into = line + 1;
    if (line[0] != 'Q' || a->parameter_count == PARAMETERS_MAX) return;
    char *const value = strchr(line, '=');
    if (value != NULL) *value = '\0';
    a->parameter[a->parameter_count++] =
        (pt_serve_parameter){line + 1, value != NULL ? value + 1 : ""};
}

static void check_gate(const asked *a)
{
    static const pt_gate gate = {.host = "localhost", .token = TOKEN, .cookie = "pitot-8080"};
    const pt_gate_request *const said = &a->said;
    const char *const refusal = pt_gate_refusal(&gate, said);
    if (refusal != NULL && strchr(refusal, '\n') != refusal + strlen(refusal) - 1)
        fuzz_fail("gate", "a refusal is no line");
    if (refusal != NULL) return;
    const char *const places[] = {said->token, said->cookie, said->authorization};
    bool is_known = false;
    for (size_t i = 0; i < 3; i++)
        is_known = is_known || (places[i] != NULL && strstr(places[i], TOKEN) != NULL);
    if (!is_known) fuzz_fail("gate", "answered without the token");
    if (said->host != NULL && strncasecmp(said->host, "localhost", 9) != 0 &&
        strncmp(said->host, "127.", 4) != 0 && strncmp(said->host, "[::1]", 5) != 0)
        fuzz_fail("gate", "answered by a foreign name");
}

static void check_address(const char *text)
{
    pt_serve_address address;
    pt_error error = PT_ERROR_INIT;
    if (pt_serve_parse(text, &address, &error) != PT_OK) {
        if (error.message[0] == '\0') fuzz_fail("address", "no message");
        return;
    }
    if (address.host[0] == '\0' || address.port[0] == '\0') fuzz_fail("address", "a part is empty");
    pt_serve_is_loopback(address.host);
}

static void check_location(const pt_serve_request *request)
{
    pt_buf to = PT_BUF_INIT;
    pt_web_put_parameters(&to, request);
    for (size_t i = 0; i < to.size; i++)
        if (!isalnum(to.data[i]) && memchr("?&=%-._~", to.data[i], 8) == NULL)
            fuzz_fail("location", "a character that has to be escaped");
    pt_buf_done(&to);
}

static const pt_profile *some_profile(void)
{
    static const char text[] = "main;parse;read 3\nmain;emit 2\n";
    static const pt_profile *profile;
    pt_status status;
    if (profile == NULL)
        profile =
            fuzz_read(pt_format_find("folded"), (const uint8_t *)text, sizeof text - 1, &status);
    return profile;
}

static void run_route(const pt_web_route *route, const pt_web_args *args)
{
    pt_buf report = PT_BUF_INIT, said = PT_BUF_INIT;
    const int status = fuzz_run(some_profile(), route->command, args->words.items,
                                args->words.count, &report, &said);
    if (status == PT_EXIT_OK && args->json)
        check_json(&report);
    else if (status == PT_EXIT_OK && strncmp(route->type, "text/plain", 10) == 0)
        check_text(&report);
    pt_buf_done(&report);
    pt_buf_done(&said);
}

static void check_route(const char *path, const pt_serve_request *request)
{
    static const pt_web_default defaults[] = {{"source-path", ""}, {"trim-path", ""}};
    static const pt_web_options options = {.defaults = defaults, .default_count = 2};
    const pt_web_route *const route = pt_web_route_find(path);
    if (route == NULL) return;
    pt_web_args args = {0};
    pt_buf said = PT_BUF_INIT;
    const bool taken = pt_web_args_of(route, request, &options, &args, &said);
    if (!taken && said.size == 0) fuzz_fail("route", "refused without a word");
    /* A graph is drawn by another program, and two others look for files. */
    if (taken && strcmp(path, "graph") != 0 && strcmp(path, "source") != 0 &&
        strcmp(path, "disasm") != 0)
        run_route(route, &args);
    pt_buf_done(&said);
    pt_args_done(&args.words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PT_FREE char *text = pt_strndup((const char *)data, size);
    asked a = {.path = "top"};
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        take_line(&a, line);
    const pt_serve_request request = {
        .path = a.path, .parameter = a.parameter, .parameter_count = a.parameter_count};
    check_gate(&a);
    if (a.address != NULL) check_address(a.address);
    check_location(&request);
    check_route(a.path, &request);
    return 0;
}
