/* lazy_microhttpd.h: libmicrohttpd, loaded when it is needed: with the libraries that it brings it
 * takes longer to load than most commands run. Included where PT_WITH_MICROHTTPD is defined. */
#ifndef PT_SERVE_LAZY_MICROHTTPD_H
#define PT_SERVE_LAZY_MICROHTTPD_H

#include <microhttpd.h>

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

/* NULL, and why in *ret_missing, if it is not there. */
const pt_microhttpd *pt_microhttpd_load(const char **ret_missing);

#endif
