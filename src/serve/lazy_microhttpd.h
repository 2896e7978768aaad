/* lazy_microhttpd.h: loads libmicrohttpd on first use: loading it and its dependencies takes longer
 * than most commands run. Include it where PT_WITH_MICROHTTPD is defined. */
#pragma once

#include <microhttpd.h>

/* The functions of the library. */
typedef struct pt_microhttpd {
    struct MHD_Daemon *(*start_daemon)(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback,
                                       void *, MHD_AccessHandlerCallback, void *, ...);
    void (*stop_daemon)(struct MHD_Daemon *);
    int (*get_connection_values_n)(struct MHD_Connection *, enum MHD_ValueKind,
                                   MHD_KeyValueIteratorN, void *);
    const char *(*lookup_connection_value)(struct MHD_Connection *, enum MHD_ValueKind,
                                           const char *);
    const union MHD_ConnectionInfo *(*get_connection_info)(struct MHD_Connection *,
                                                           enum MHD_ConnectionInfoType, ...);
    void (*suspend_connection)(struct MHD_Connection *);
    void (*resume_connection)(struct MHD_Connection *);
    struct MHD_Response *(*create_response_from_buffer)(size_t, void *,
                                                        enum MHD_ResponseMemoryMode);
    struct MHD_Response *(*create_response_from_fd_at_offset64)(uint64_t, int, uint64_t);
    enum MHD_Result (*add_response_header)(struct MHD_Response *, const char *, const char *);
    enum MHD_Result (*queue_response)(struct MHD_Connection *, unsigned, struct MHD_Response *);
    void (*destroy_response)(struct MHD_Response *);
} pt_microhttpd;

/* Loads the library, once. NULL if it is missing; *ret_missing is then a message. */
const pt_microhttpd *pt_microhttpd_load(const char **ret_missing);
