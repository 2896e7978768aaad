/* lazy_curl.h: libcurl without the price of libcurl. It and the thirty libraries that it brings
 * take 5 ms to be loaded, more than most commands run; so the program is not linked with it.
 * lazy_curl.c defines the functions of libcurl that we call, under their own names: the first call
 * loads the library. Who uses libcurl includes <curl/curl.h> as ever.
 *
 * Where it is not installed, initialising fails and every handle is NULL.
 */
#ifndef PT_BASE_LAZY_CURL_H
#define PT_BASE_LAZY_CURL_H

/* NULL when libcurl is there (it is then loaded), else why not. */
const char *pt_curl_missing(void);

#endif
