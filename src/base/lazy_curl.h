/* lazy_curl.h: libcurl, loaded on the first call. libcurl and its thirty dependencies take 5 ms to
 * load, longer than most commands run, so the program is not linked with libcurl. lazy_curl.c
 * defines the functions of libcurl that pitot calls, under their own names; the first call loads
 * the library. Callers include <curl/curl.h> as usual.
 *
 * Where libcurl is not installed, initialisation fails and every handle is NULL.
 */
#pragma once

/* Loads libcurl. Returns NULL on success, else the reason of the failure. */
const char *pt_curl_missing(void);
