/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions of libcurl and of the disassembler, which load their library when
 * the first of them is called.  With libcurl come 32 other libraries: to load
 * them takes five times as long as to walk the stacks of a minidump, and most
 * commands ask no server.  The linker finds these functions here, instead of
 * in the libraries, and callers notice nothing.
 *
 * Makefile has the names of the libraries as of the machine that it builds on.
 */
#define CURL_DISABLE_TYPECHECK

#include <capstone/capstone.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"

/* Ends the process without the library or the function. */
static void *find(const char *library, void **handle, const char *name)
{
    void *function = NULL;

    if (*handle == NULL) {
        *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    }
    if (*handle != NULL) {
        function = dlsym(*handle, name);
    }
    if (function == NULL) {
        fprintf(stderr, "symcachectl: %s\n", dlerror());
        exit(COMMAND_IO);
    }
    return function;
}

static void *curl_library, *capstone_library;

/* The function of this name in its library. */
#define CURL_FUNCTION(name) \
    ((__typeof__(&(name)))find(LIBCURL, &curl_library, #name))
#define CAPSTONE_FUNCTION(name) \
    ((__typeof__(&(name)))find(LIBCAPSTONE, &capstone_library, #name))

/* The same function here. */
#define CURL(result, name, parameters, arguments) \
    result(name) parameters                       \
    {                                             \
        return CURL_FUNCTION(name) arguments;     \
    }
#define CAPSTONE(result, name, parameters, arguments) \
    result(name) parameters                           \
    {                                                 \
        return CAPSTONE_FUNCTION(name) arguments;     \
    }

CURL(CURL *, curl_easy_init, (void), ())
CURL(CURLcode, curl_easy_perform, (CURL * easy), (easy))
CURL(const char *, curl_easy_strerror, (CURLcode code), (code))
CURL(CURLHcode, curl_easy_header,
     (CURL * easy, const char *name, size_t index, unsigned int origin,
      int request, struct curl_header **header),
     (easy, name, index, origin, request, header))
CURL(CURLM *, curl_multi_init, (void), ())
CURL(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL *easy),
     (multi, easy))
CURL(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL *easy),
     (multi, easy))
CURL(CURLMcode, curl_multi_perform, (CURLM * multi, int *running),
     (multi, running))
CURL(CURLMcode, curl_multi_poll,
     (CURLM * multi, struct curl_waitfd fds[], unsigned int n, int ms,
      int *ready),
     (multi, fds, n, ms, ready))
CURL(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *left),
     (multi, left))
CURL(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi))
CURL(struct curl_slist *, curl_slist_append,
     (struct curl_slist * list, const char *text), (list, text))
CURL(CURLU *, curl_url, (void), ())
CURL(CURLUcode, curl_url_set,
     (CURLU * url, CURLUPart part, const char *text, unsigned int flags),
     (url, part, text, flags))
CURL(curl_version_info_data *, curl_version_info, (CURLversion version),
     (version))

CAPSTONE(unsigned int, cs_version, (int *major, int *minor), (major, minor))
CAPSTONE(cs_err, cs_open, (cs_arch arch, cs_mode mode, csh *handle),
         (arch, mode, handle))
CAPSTONE(cs_err, cs_close, (csh * handle), (handle))
CAPSTONE(cs_insn *, cs_malloc, (csh handle), (handle))
CAPSTONE(bool, cs_disasm_iter,
         (csh handle, const uint8_t **code, size_t *size, uint64_t *address,
          cs_insn *insn),
         (handle, code, size, address, insn))

void curl_easy_cleanup(CURL *easy)
{
    CURL_FUNCTION(curl_easy_cleanup)(easy);
}

void curl_easy_reset(CURL *easy)
{
    CURL_FUNCTION(curl_easy_reset)(easy);
}

void curl_slist_free_all(struct curl_slist *list)
{
    if (list != NULL) {
        CURL_FUNCTION(curl_slist_free_all)(list);
    }
}

void curl_url_cleanup(CURLU *url)
{
    CURL_FUNCTION(curl_url_cleanup)(url);
}

void curl_free(void *memory)
{
    if (memory != NULL) {
        CURL_FUNCTION(curl_free)(memory);
    }
}

void cs_free(cs_insn *insn, size_t n)
{
    CAPSTONE_FUNCTION(cs_free)(insn, n);
}

/* The type of the value is that of the option. */
CURLcode(curl_easy_setopt)(CURL *easy, CURLoption option, ...)
{
    __typeof__(&(curl_easy_setopt)) set = CURL_FUNCTION(curl_easy_setopt);
    CURLcode code;
    va_list list;

    va_start(list, option);
    if (option < CURLOPTTYPE_OBJECTPOINT) {
        code = set(easy, option, va_arg(list, long));
    } else if (option >= CURLOPTTYPE_OFF_T && option < CURLOPTTYPE_BLOB) {
        code = set(easy, option, va_arg(list, curl_off_t));
    } else {
        code = set(easy, option, va_arg(list, void *));
    }
    va_end(list);
    return code;
}

/* Versions of curl.h differ in whether the URL is const. */
CURLUcode url_get(CURLU *url, CURLUPart part, char **text,
                  unsigned int flags) __asm__("curl_url_get");

CURLUcode url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags)
{
    return CURL_FUNCTION(curl_url_get)(url, part, text, flags);
}

CURLcode(curl_easy_getinfo)(CURL *easy, CURLINFO info, ...)
{
    CURLcode code;
    va_list list;

    va_start(list, info);
    code = CURL_FUNCTION(curl_easy_getinfo)(easy, info, va_arg(list, void *));
    va_end(list);
    return code;
}
