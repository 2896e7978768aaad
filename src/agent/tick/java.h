/* java.h: the methods of a Java virtual machine (HotSpot) in a sample, and their names.
 *
 *   pc in the code cache -> the thread's own cache, by pc; is the same code still there?
 *          | not there, or other code is there now
 *          v
 *        blob and its methods (interp/java.h) -> name, file -> the table of all threads (codes.h)
 *
 *   frame -> its caller's (pt_java_step), on the thread's own stack
 *
 * A method that is on the stack, its class and its code are not freed: the virtual machine finds
 * them on the stack itself. But a frame that is half made may hold an old value, the address of a
 * method that was freed. So each method that the thread's cache does not have is copied by the
 * kernel, and the pages of the methods in the cache are tested (peek.h).
 */
#pragma once

#include "agent/tick/codes.h"
#include "agent/tick/language.h"
#include "agent/tick/peek.h"
#include "interp/java.h"
#include "unwind/unwind.h"

enum {
    PT_TICK_JAVA_NAME_BYTES = 1024,
    PT_TICK_JAVA_FILE_BYTES = 1024,
    PT_TICK_JAVA_PLACE_WORDS = 12,
    PT_TICK_JAVA_WRONG_LOOKS = 100, /* after so many wrong methods the facts count as wrong */
};

/* The facts that the handler reads; never changed, only replaced. */
typedef struct {
    const pt_java_vm *vm;
    pt_tick_codes *codes;
} pt_tick_java_facts;

/* A pc in Java's code cache, with the code and the methods there. */
typedef struct {
    uint64_t pc;     /* 0: empty */
    uint32_t sample; /* in which the blob was last compared */
    uint32_t count;  /* the number of its methods' words; 0 if they were not read, or do not fit
                      * into `words` */
    pt_java_blob blob;
    uint64_t words[PT_TICK_JAVA_PLACE_WORDS];
} pt_tick_java_place;

typedef struct {
    pt_java_method method; /* method.method 0: empty */
    uint32_t number;       /* of its name and file */
    uint32_t sample;       /* in which the name was last compared */
    int32_t bci, line;     /* the place whose line was read last */
    bool has_line;
} pt_tick_java_method;

/* A thread's own cache; all zero is empty. */
typedef struct {
    pt_tick_pages pages;
    pt_tick_copies copies; /* of the method whose names are read */
    pt_tick_java_place place[512];
    pt_tick_java_method method[256];
    pt_java_scope scopes[PT_JAVA_SCOPES_MAX];
    uint64_t words[PT_JAVA_SCOPES_MAX]; /* of the frame at hand */
    uint8_t text[PT_TICK_JAVA_NAME_BYTES + PT_TICK_JAVA_FILE_BYTES];
} pt_tick_java_cache;

struct pt_tick_walk;

/* A walk through frames of Java. */
typedef struct {
    const pt_tick_java_facts *facts; /* NULL: there are none to look for */
    pt_tick_java_cache *cache;
    struct pt_tick_walk *walk;
    pt_java_reader reader;
    uint32_t reads_left;
    bool is_copying; /* the kernel copies memory outside the code cache (peek.h) */
} pt_tick_java_walk;

/* cache: the thread's, or NULL. walk: must outlive *java. */
void pt_tick_java_begin(pt_tick_java_walk *java, pt_tick_java_cache *cache,
                        struct pt_tick_walk *walk);

/* Is the walk's frame a frame of Java's code? */
bool pt_tick_java_has_frame(const pt_tick_java_walk *java);

/* Steps from a frame of Java's code to its caller; returns as pt_tick_walk_step. java->cache->words
 * then has a frame word for each function of the frame that was left, innermost first; *ret_count
 * is the number of these words, and may be 0. */
int pt_tick_java_step(pt_tick_java_walk *java, uint32_t *ret_count);
