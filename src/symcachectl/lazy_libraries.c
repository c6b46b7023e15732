/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions of libraries which load their library when the first of them is
 * called.  With libcurl come 32 other libraries: to load them takes five times
 * as long as to walk the stacks of a minidump, and most commands ask no
 * server. To load those that unpack and hash takes as long as the walk.  The
 * linker finds these functions here, instead of in the libraries, and callers
 * notice nothing.
 *
 * Makefile has the names of the libraries as of the machine that it builds on.
 */
#define CURL_DISABLE_TYPECHECK

#include "lazy_libraries.h"

#include <capstone/capstone.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <isa-l/igzip_lib.h>
#include <lzma.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <nettle/base64.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "command.h"

static void *open_library(const char *library, void **handle)
{
    if (*handle == NULL) {
        *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    }
    return *handle;
}

/* Ends the process without the library or the function. */
static void *find_symbol(const char *library, void **handle, const char *name)
{
    void *function = NULL;

    if (open_library(library, handle) != NULL) {
        function = dlsym(*handle, name);
    }
    if (function == NULL) {
        fprintf(stderr, "symcachectl: %s\n", dlerror());
        exit(COMMAND_IO);
    }
    return function;
}

static void *curl_library, *capstone_library;

/* The function of this name. */
#define CURL_FUNCTION(name)                                                   \
    ((__typeof__(&(name)))find_symbol(LIBCURL, &curl_library, #name))

/* The same function here, which is looked up once: some are called for each
 * block. */
#define SAME(library, handle, result, name, parameters, arguments)            \
    result name parameters                                                    \
    {                                                                         \
        static __typeof__(&(name)) function;                                  \
                                                                              \
        if (function == NULL) {                                               \
            function =                                                        \
                (__typeof__(function))find_symbol(library, &(handle), #name); \
        }                                                                     \
        return function arguments;                                            \
    }
#define CURL(result, name, parameters, arguments)                             \
    SAME(LIBCURL, curl_library, result, name, parameters, arguments)
#define CAPSTONE(result, name, parameters, arguments)                         \
    SAME(LIBCAPSTONE, capstone_library, result, name, parameters, arguments)

CURL(CURL *, curl_easy_init, (void), ())
CURL(CURLcode, curl_easy_perform, (CURL * easy), (easy))
CURL(void, curl_easy_cleanup, (CURL * easy), (easy))
CURL(void, curl_easy_reset, (CURL * easy), (easy))
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
CURL(void, curl_url_cleanup, (CURLU * url), (url))
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
CAPSTONE(void, cs_free, (cs_insn * insn, size_t n), (insn, n))

void curl_slist_free_all(struct curl_slist *list)
{
    if (list != NULL) {
        CURL_FUNCTION(curl_slist_free_all)(list);
    }
}

void curl_free(void *memory)
{
    if (memory != NULL) {
        CURL_FUNCTION(curl_free)(memory);
    }
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

/* unpacking and hashing --------------------------------------------------- */

static void *isal_library, *lzma_library, *minizip_library, *nettle_library,
    *z_library, *zstd_library;

void lazy_libraries_load(void)
{
    (void)open_library(LIBISAL, &isal_library);
    (void)open_library(LIBLZMA, &lzma_library);
    (void)open_library(LIBMINIZIP, &minizip_library);
    (void)open_library(LIBNETTLE, &nettle_library);
    (void)open_library(LIBZ, &z_library);
    (void)open_library(LIBZSTD, &zstd_library);
}

#define ISAL(result, name, parameters, arguments)                             \
    SAME(LIBISAL, isal_library, result, name, parameters, arguments)
#define LZMA(result, name, parameters, arguments)                             \
    SAME(LIBLZMA, lzma_library, result, name, parameters, arguments)
#define MINIZIP(result, name, parameters, arguments)                          \
    SAME(LIBMINIZIP, minizip_library, result, name, parameters, arguments)
#define NETTLE(result, name, parameters, arguments)                           \
    SAME(LIBNETTLE, nettle_library, result, name, parameters, arguments)
#define Z(result, name, parameters, arguments)                                \
    SAME(LIBZ, z_library, result, name, parameters, arguments)
#define ZSTD(result, name, parameters, arguments)                             \
    SAME(LIBZSTD, zstd_library, result, name, parameters, arguments)

ISAL(void, isal_inflate_init, (struct inflate_state * state), (state))
ISAL(int, isal_inflate, (struct inflate_state * state), (state))

LZMA(lzma_ret, lzma_stream_decoder,
     (lzma_stream * stream, uint64_t memory, uint32_t flags),
     (stream, memory, flags))
LZMA(lzma_ret, lzma_code, (lzma_stream * stream, lzma_action action),
     (stream, action))
LZMA(void, lzma_end, (lzma_stream * stream), (stream))

MINIZIP(unzFile, unzOpen2_64, (const void *path, zlib_filefunc64_def *calls),
        (path, calls))
MINIZIP(int, unzClose, (unzFile file), (file))
MINIZIP(int, unzGetGlobalInfo64, (unzFile file, unz_global_info64 *info),
        (file, info))
MINIZIP(int, unzGoToFirstFile, (unzFile file), (file))
MINIZIP(int, unzGoToNextFile, (unzFile file), (file))
MINIZIP(int, unzGetFilePos64, (unzFile file, unz64_file_pos *at), (file, at))
MINIZIP(int, unzGoToFilePos64, (unzFile file, const unz64_file_pos *at),
        (file, at))
MINIZIP(int, unzGetCurrentFileInfo64,
        (unzFile file, unz_file_info64 *info, char *name, uLong name_size,
         void *extra, uLong extra_size, char *comment, uLong comment_size),
        (file, info, name, name_size, extra, extra_size, comment,
         comment_size))
MINIZIP(int, unzOpenCurrentFile, (unzFile file), (file))
MINIZIP(int, unzReadCurrentFile, (unzFile file, voidp buf, unsigned size),
        (file, buf, size))
MINIZIP(int, unzCloseCurrentFile, (unzFile file), (file))
MINIZIP(zipFile, zipOpen64, (const void *path, int append), (path, append))
MINIZIP(int, zipOpenNewFileInZip64,
        (zipFile file, const char *name, const zip_fileinfo *info,
         const void *local, uInt local_size, const void *global,
         uInt global_size, const char *comment, int method, int level,
         int zip64),
        (file, name, info, local, local_size, global, global_size, comment,
         method, level, zip64))
MINIZIP(int, zipWriteInFileInZip,
        (zipFile file, const void *data, unsigned size), (file, data, size))
MINIZIP(int, zipCloseFileInZip, (zipFile file), (file))
MINIZIP(int, zipClose, (zipFile file, const char *comment), (file, comment))

NETTLE(void, nettle_sha256_init, (struct sha256_ctx * context), (context))
NETTLE(void, nettle_sha256_update,
       (struct sha256_ctx * context, size_t size, const uint8_t *data),
       (context, size, data))
NETTLE(void, nettle_sha256_digest,
       (struct sha256_ctx * context, size_t size, uint8_t *digest),
       (context, size, digest))
NETTLE(void, nettle_base64_encode_raw,
       (char *to, size_t size, const uint8_t *data), (to, size, data))
NETTLE(void, nettle_base64_decode_init, (struct base64_decode_ctx * context),
       (context))
NETTLE(int, nettle_base64_decode_update,
       (struct base64_decode_ctx * context, size_t *to_size, uint8_t *to,
        size_t size, const char *text),
       (context, to_size, to, size, text))
NETTLE(int, nettle_base64_decode_final, (struct base64_decode_ctx * context),
       (context))
NETTLE(int, nettle_memeql_sec, (const void *a, const void *b, size_t size),
       (a, b, size))

Z(int, inflateInit_, (z_streamp stream, const char *version, int size),
  (stream, version, size))
Z(int, inflateInit2_,
  (z_streamp stream, int bits, const char *version, int size),
  (stream, bits, version, size))
Z(int, inflate, (z_streamp stream, int flush), (stream, flush))
Z(int, inflateReset, (z_streamp stream), (stream))
Z(int, inflateEnd, (z_streamp stream), (stream))

ZSTD(ZSTD_CCtx *, ZSTD_createCCtx, (void), ())
ZSTD(size_t, ZSTD_freeCCtx, (ZSTD_CCtx * context), (context))
ZSTD(size_t, ZSTD_CCtx_reset, (ZSTD_CCtx * context, ZSTD_ResetDirective reset),
     (context, reset))
ZSTD(size_t, ZSTD_CCtx_setParameter,
     (ZSTD_CCtx * context, ZSTD_cParameter parameter, int value),
     (context, parameter, value))
ZSTD(size_t, ZSTD_CCtx_setPledgedSrcSize,
     (ZSTD_CCtx * context, unsigned long long size), (context, size))
ZSTD(size_t, ZSTD_compressStream2,
     (ZSTD_CCtx * context, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
      ZSTD_EndDirective end),
     (context, out, in, end))
ZSTD(ZSTD_DCtx *, ZSTD_createDCtx, (void), ())
ZSTD(size_t, ZSTD_freeDCtx, (ZSTD_DCtx * context), (context))
ZSTD(size_t, ZSTD_decompress,
     (void *to, size_t room, const void *from, size_t size),
     (to, room, from, size))
ZSTD(size_t, ZSTD_decompressStream,
     (ZSTD_DStream * stream, ZSTD_outBuffer *out, ZSTD_inBuffer *in),
     (stream, out, in))
ZSTD(unsigned, ZSTD_isError, (size_t code), (code))
