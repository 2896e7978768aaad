/* interp_image.h: what a mapped file says of the CPython, PHP or Perl in it, and of libc's keys of
 * threads. */
#ifndef PT_CAPTURE_INTERP_IMAGE_H
#define PT_CAPTURE_INTERP_IMAGE_H

#include "elf/image.h"
#include "interp/merge.h"
#include "interp/perl.h"
#include "interp/php.h"
#include "interp/python.h"

/* Addresses are as linked. */
typedef struct pt_interp_image {
    const pt_python_layout *layout; /* static; NULL: no CPython whose frames can be read */
    pt_python_refusal refusal;      /* why not; PT_PYTHON_READABLE: there is none */
    pt_python_build build;          /* if refused */
    uint64_t runtime, code_type, text_type, bytes_type;
    bool is_refused_php;               /* another PHP than PT_PHP_BUILD */
    uint64_t globals, generator_class; /* of PHP: executor_globals, zend_ce_generator; 0: none */
    const pt_perl_layout *perl;        /* static; NULL: no Perl whose frames can be read */
    bool is_refused_perl;              /* another Perl than those of pt_perl_layout_of: */
    uint8_t perl_minor;
    uint64_t key; /* of Perl: PL_thr_key */
    pt_interp_evaluator evaluator;
    /* The file is glibc's: the offset, in the structure of a thread, of its blocks of values. 0: it
     * is not. */
    uint32_t thread_keys;
} pt_interp_image;

/* Reads the facts; all zero if the file has none. path: as mapped. */
void pt_interp_image_read(const pt_elf *elf, const char *path, pt_interp_image *ret_image);

#endif
