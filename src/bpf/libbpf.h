/* libbpf.h: the libbpf functions that pitot calls, declared as in libbpf version 1 (bpf/libbpf.h,
 * bpf/bpf.h), so that building needs none of its headers. The library is loaded on first use.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct bpf_map;
struct bpf_program;
struct bpf_object_open_opts;

/* The first fields of libbpf's struct; size_bytes says how many there are. */
struct bpf_map_create_opts {
    size_t size_bytes;
    uint32_t btf_fd, btf_key_type_id, btf_value_type_id, btf_vmlinux_value_type_id;
    uint32_t inner_map_fd, map_flags;
    uint64_t map_extra;
};

typedef int (*pt_libbpf_print)(int level, const char *format, va_list arguments);

typedef struct pt_libbpf {
    pt_libbpf_print (*set_print)(pt_libbpf_print print);
    /* NULL with errno on failure. */
    struct bpf_object *(*object_open_mem)(const void *bytes, size_t size,
                                          const struct bpf_object_open_opts *opts);
    int (*object_load)(struct bpf_object *object);
    void (*object_close)(struct bpf_object *object);
    struct bpf_map *(*object_find_map_by_name)(const struct bpf_object *object, const char *name);
    struct bpf_program *(*object_find_program_by_name)(const struct bpf_object *object,
                                                       const char *name);
    int (*map_fd)(const struct bpf_map *map);
    struct bpf_map *(*object_next_map)(const struct bpf_object *object, const struct bpf_map *map);
    const char *(*map_name)(const struct bpf_map *map);
    int (*map_reuse_fd)(struct bpf_map *map, int fd);
    int (*map_set_max_entries)(struct bpf_map *map, uint32_t count);
    int (*program_fd)(const struct bpf_program *program);
    int (*program_set_autoload)(struct bpf_program *program, bool autoload);
    int (*raw_tracepoint_open)(const char *name, int program_fd);
    int (*link_create)(int program_fd, int target_fd, int attach_type, const void *opts);
    int (*iter_create)(int link_fd);
    int (*map_create)(uint32_t type, const char *name, uint32_t key_bytes, uint32_t value_bytes,
                      uint32_t count, const struct bpf_map_create_opts *opts);
    int (*map_update_elem)(int fd, const void *key, const void *value, uint64_t flags);
    int (*map_lookup_elem)(int fd, const void *key, void *ret_value);
    /* batch: NULL at first, then the value that the last call wrote to ret_batch. *count: before,
     * the room; after, the number of entries. -ENOENT: these entries were the last. */
    int (*map_lookup_batch)(int fd, void *batch, void *ret_batch, void *ret_keys, void *ret_values,
                            uint32_t *count, const void *opts);
    int (*map_delete_elem)(int fd, const void *key);
} pt_libbpf;

/* Loads the library once. NULL: it is missing; *ret_why has the reason. */
const pt_libbpf *pt_libbpf_loaded(const char **ret_why);
