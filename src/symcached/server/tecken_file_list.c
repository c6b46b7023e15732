/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tecken_file_list.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/control.h"
#include "base/fd_close.h"
#include "base/hex.h"
#include "config/config.h"
#include "proto/key.h"
#include "symcached/upload/upload.h"
#include "upload_page.h"

#define BODY_MAX (4u << 20)
#define FILES_MAX 1024 /* as Tecken has it */
#define BUFFER 65536

#define NUMBER_MAX 9007199254740991.0 /* whole numbers of JSON, RFC 8259, 6 */

/* the list ---------------------------------------------------------------- */

/* Reads the body.  Returns NULL with a status and what is wrong. */
static cJSON *tecken_read_json(const struct config *config, const char *body,
                               int *status, const char **wrong)
{
    static char error[256]; /* for the answer, which is printed at once */
    char *text = NULL;
    cJSON *json = NULL;
    ssize_t n = -1;
    int fd;

    *status = 400;
    *wrong = "malformed JSON request body";
    if (body == NULL) {
        return NULL;
    }
    fd = nginx_body_file_open(config->uploads.spool, body, status, error,
                              sizeof(error));
    if (fd < 0) {
        *wrong = error;
        return NULL;
    }
    text = malloc(BODY_MAX + 1);
    n = text != NULL ? pread(fd, text, BODY_MAX + 1, 0) : -1;
    close(fd);
    if (n < 0) {
        *status = 503;
        *wrong = "the request cannot be read";
    } else if (n > (ssize_t)BODY_MAX) {
        *status = 413;
        *wrong = "the request is too large";
    } else {
        json = cJSON_ParseWithLength(text, (size_t)n);
    }
    free(text);
    return json;
}

/* Returns whether a path has three parts that can be one of a store, and fills
 * *place with these. */
static bool tecken_read_path(const char *path, struct symstore_path *place)
{
    char copy[3 * SYMCACHE_NAME_MAX + 3], *at = copy, *part;
    const char *parts[3];
    int i;

    if (strlen(path) >= sizeof(copy) || control_in(path)) {
        return false;
    }
    snprintf(copy, sizeof(copy), "%s", path);
    for (i = 0; i < 3; i++) {
        part = strsep(&at, "/");
        parts[i] = part;
        if (part == NULL || part[0] == '\0' || part[0] == '.' ||
            strpbrk(part, "\\%#") != NULL ||
            strlen(part) > SYMCACHE_NAME_MAX) {
            return false;
        }
    }
    return at == NULL && upload_place_spell(place, parts);
}

static bool tecken_read_md5(const char *text, uint8_t md5[16])
{
    return strspn(text, HEX_LOWER) == 32 && hex_bytes(text, md5, 16);
}

/* Returns false if it is no description of a file. */
static bool tecken_read_file(const struct config *config, bool only_try,
                             const cJSON *item, const char *too_large,
                             struct tecken_file *file)
{
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(item, "size");
    const char *md5 = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(item, "md5_hash"));
    struct symstore_path place;

    file->path = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(item, "key"));
    if (file->path == NULL || md5 == NULL || !cJSON_IsNumber(size) ||
        size->valuedouble < 0 || size->valuedouble > NUMBER_MAX) {
        return false;
    }
    file->size = (uint64_t)size->valuedouble;
    if (!tecken_read_path(file->path, &place)) {
        file->wrong = "invalid key";
    } else if (!tecken_read_md5(md5, file->md5)) {
        file->wrong = "invalid MD5 hex digest";
    } else if (file->size > config->uploads.max_size) {
        file->wrong = too_large;
    } else if (asprintf(&file->there, "%s/%s%s/%s/%s", config->uploads.root,
                        only_try ? UPLOADS_TRY "/" : "", place.name, place.id,
                        place.file) < 0) {
        file->there = NULL;
    }
    return true;
}

struct tecken_files *tecken_files_read(const struct config *config,
                                       bool only_try, const char *body,
                                       int *status, const char **wrong)
{
    struct tecken_files *files = calloc(1, sizeof(*files));
    const cJSON *array, *item;
    bool is_good = true;

    if (files == NULL) {
        *status = 503;
        *wrong = "out of memory";
        return NULL;
    }
    refusal_print_size(files->too_large, sizeof(files->too_large), config,
                       "the file");
    files->json = tecken_read_json(config, body, status, wrong);
    array = cJSON_GetObjectItemCaseSensitive(files->json, "files");
    if (cJSON_IsArray(array) && cJSON_GetArraySize(array) > FILES_MAX) {
        *wrong = "too many files";
    } else if (cJSON_IsArray(array)) {
        files->list = calloc((size_t)cJSON_GetArraySize(array) + 1,
                             sizeof(files->list[0]));
        cJSON_ArrayForEach(item, array)
        {
            is_good =
                is_good && files->list != NULL &&
                tecken_read_file(config, only_try, item, files->too_large,
                                 &files->list[files->n++]);
        }
        if (is_good && files->list != NULL) {
            *wrong = NULL;
            return files;
        }
    }
    tecken_files_free(files);
    return NULL;
}

void tecken_files_free(struct tecken_files *files)
{
    if (files == NULL) {
        return;
    }
    while (files->n > 0) {
        free(files->list[--files->n].there);
    }
    free(files->list);
    cJSON_Delete(files->json);
    free(files);
}

/* Returns whether an open file has been read, with its MD5. */
static bool tecken_sum_md5(int fd, uint8_t sum[EVP_MAX_MD_SIZE], char *buffer)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned len = 0;
    ssize_t n = -1;

    if (ctx != NULL && EVP_DigestInit_ex(ctx, EVP_md5(), NULL) == 1) {
        while ((n = read(fd, buffer, BUFFER)) > 0 &&
               EVP_DigestUpdate(ctx, buffer, (size_t)n) == 1) {
        }
    }
    if (n != 0 || EVP_DigestFinal_ex(ctx, sum, &len) != 1) {
        len = 0;
    }
    EVP_MD_CTX_free(ctx);
    return len == 16;
}

/* Returns the file that the list has first at the place of this one, which may
 * be the same, or NULL if that cannot be there. */
static struct tecken_file *first_there(const struct tecken_files *files,
                                       const struct tecken_file *file)
{
    struct tecken_file *first = files->list;

    while (first < file && (first->there == NULL || file->there == NULL ||
                            strcmp(first->there, file->there) != 0)) {
        first++;
    }
    return file->there != NULL ? first : NULL;
}

/* Each place is read once, however often the list names it. */
void tecken_files_compare(struct tecken_files *files)
{
    char *buffer = malloc(BUFFER);
    struct tecken_file *file, *first;
    struct stat st;
    size_t i;
    int fd;

    for (i = 0; i < files->n && buffer != NULL; i++) {
        file = &files->list[i];
        first = first_there(files, file);
        if (first == NULL) {
            continue;
        }
        fd = first->is_read ? -1
                            : open(file->there, O_RDONLY | O_NOFOLLOW |
                                                    O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            (uint64_t)st.st_size == file->size) {
            first->is_read = true;
            first->read_size = tecken_sum_md5(fd, first->sum, buffer)
                                   ? file->size
                                   : UINT64_MAX;
        }
        fd_close(fd);
        file->is_there = first->is_read && first->read_size == file->size &&
                         memcmp(first->sum, file->md5, 16) == 0;
    }
    free(buffer);
}
