/* answers.c: see answers.h. */
#include "serve/answers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pt_answers_init(pt_answers *answers, uint64_t room)
{
    *answers = (pt_answers){.room = room};
}

static void drop_answer(pt_answers *answers, size_t at)
{
    pt_known_answer *const known = &answers->known.items[at];
    answers->bytes -= known->bytes;
    free(known->key);
    close(known->fd);
    *known = answers->known.items[--answers->known.count];
}

void pt_answers_done(pt_answers *answers)
{
    while (answers->known.count > 0)
        drop_answer(answers, 0);
    free(answers->known.items);
    *answers = (pt_answers){0};
}

/* Puts the size of a text and then the text, so that different lists of texts give different
 * keys. */
static void put_sized(pt_buf *to, const char *text)
{
    pt_putf(to, "%zu:%s", strlen(text), text);
}

char *pt_answers_key(const pt_serve_request *request, uint64_t generation)
{
    pt_buf key = PT_BUF_INIT;
    pt_putf(&key, "%" PRIu64 " ", generation);
    put_sized(&key, request->path);
    for (size_t i = 0; i < request->parameter_count; i++) {
        put_sized(&key, request->parameter[i].name);
        put_sized(&key, request->parameter[i].value);
    }
    return pt_buf_take(&key, NULL);
}

bool pt_answers_find(pt_answers *answers, const char *key, pt_answered *ret)
{
    for (size_t i = 0; i < answers->known.count; i++) {
        pt_known_answer *const known = &answers->known.items[i];
        if (strcmp(known->key, key) != 0) continue;
        const int fd = fcntl(known->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0) return false;
        known->asked = ++answers->asked;
        if (pt_keeper_read(fd, ret)) return true;
        close(fd);
        return false;
    }
    return false;
}

static void drop_oldest(pt_answers *answers)
{
    size_t oldest = 0;
    for (size_t i = 1; i < answers->known.count; i++)
        if (answers->known.items[i].asked < answers->known.items[oldest].asked) oldest = i;
    drop_answer(answers, oldest);
}

void pt_answers_keep(pt_answers *answers, const char *key, int fd)
{
    enum { MOST = 256 };
    struct stat status;
    if (fstat(fd, &status) != 0) return;
    const uint64_t bytes = (uint64_t)status.st_size + strlen(key);
    if (bytes > answers->room / PT_ANSWERS_SHARE) return;
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return;
    while (answers->known.count == MOST || answers->bytes + bytes > answers->room)
        drop_oldest(answers);
    PT_PUSH(answers->known, (pt_known_answer){pt_strdup(key), own, bytes, ++answers->asked});
    answers->bytes += bytes;
}
