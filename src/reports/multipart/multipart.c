/*
 * Copyright (C) the ngx_symcache authors
 */
#include "multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HEADERS_MAX 8192
#define PARTS_MAX 100

static const uint8_t *find_text(const uint8_t *p, const uint8_t *end,
                                const char *text)
{
    return memmem(p, (size_t)(end - p), text, strlen(text));
}

/*
 * Reads a parameter such as name="x" of a header into out.  Browsers write a
 * quote in it as %22, so that there are no escapes.  Returns false if it has
 * none of that name.
 */
static bool read_parameter(const char *line, const char *name, char *out,
                           size_t size)
{
    size_t len = strlen(name), n;
    const char *p;

    for (p = strchr(line, ';'); p != NULL; p = strchr(p, ';')) {
        p += 1 + strspn(p + 1, " \t");
        if (strncasecmp(p, name, len) != 0 || p[len] != '=') {
            continue;
        }
        p += len + 1;
        n = *p == '"' ? strcspn(++p, "\"") : strcspn(p, "; \t");
        if (n >= size) {
            n = size - 1;
        }
        memcpy(out, p, n);
        out[n] = '\0';
        return true;
    }
    return false;
}

static void read_multipart_header(char *line, struct multipart_part *part)
{
    static const char disposition[] = "content-disposition:";
    static const char encoding[] = "content-encoding:";
    char file[MULTIPART_NAME_SIZE];
    const char *value;

    if (strncasecmp(line, encoding, sizeof(encoding) - 1) == 0) {
        value = line + sizeof(encoding) - 1;
        value += strspn(value, " \t");
        snprintf(part->coding, sizeof(part->coding), "%.*s",
                 (int)strcspn(value, " \t"), value);
    }
    if (strncasecmp(line, disposition, sizeof(disposition) - 1) == 0) {
        (void)read_parameter(line, "name", part->name, sizeof(part->name));
        part->is_file = read_parameter(line, "filename", file, sizeof(file));
    }
}

/* Reads the headers of a part, which end with an empty line.  Returns where its
 * content begins, or NULL. */
static const uint8_t *read_multipart_headers(const uint8_t *p,
                                             const uint8_t *end,
                                             struct multipart_part *part)
{
    const uint8_t *limit = end - p > HEADERS_MAX ? p + HEADERS_MAX : end, *eol;
    char line[1024];
    size_t n;

    while ((eol = find_text(p, limit, "\r\n")) != NULL) {
        n = (size_t)(eol - p);
        if (n == 0) {
            return eol + 2;
        }
        if (n < sizeof(line)) {
            memcpy(line, p, n);
            line[n] = '\0';
            read_multipart_header(line, part);
        }
        p = eol + 2;
    }
    return NULL;
}

static int fail_multipart(char *error, size_t size, const char *reason)
{
    snprintf(error, size, "multipart form data: %s", reason);
    return -1;
}

int multipart_read(const uint8_t *data, size_t size, const char *boundary,
                   void (*found)(void *arg, const struct multipart_part *part),
                   void *arg, char *error, size_t error_size)
{
    char delimiter[MULTIPART_BOUNDARY_MAX + 5];
    const uint8_t *p, *end = data + size, *next;
    struct multipart_part part;
    size_t len;
    unsigned n;

    len = (size_t)snprintf(delimiter, sizeof(delimiter), "\r\n--%s", boundary);
    if (len >= sizeof(delimiter)) {
        return fail_multipart(error, error_size, "the boundary is too long");
    }
    /* nothing need be before the first delimiter, not even an empty line */
    if (size >= len - 2 && memcmp(data, delimiter + 2, len - 2) == 0) {
        p = data + len - 2;
    } else if ((p = find_text(data, end, delimiter)) != NULL) {
        p += len;
    } else {
        return fail_multipart(error, error_size, "the boundary is not there");
    }

    for (n = 0; n < PARTS_MAX; n++) {
        if (end - p >= 2 && memcmp(p, "--", 2) == 0) {
            return 0;
        }
        memset(&part, 0, sizeof(part));
        p = find_text(p, end, "\r\n"); /* blanks may be before it */
        p = p != NULL ? read_multipart_headers(p + 2, end, &part) : NULL;
        if (p == NULL) {
            return fail_multipart(error, error_size,
                                  "the headers of a part do not end");
        }
        /* of a part without content, the delimiter begins with the line end
         * after its headers */
        next = find_text(p - 2, end, delimiter);
        if (next == NULL) {
            return fail_multipart(error, error_size, "a part does not end");
        }
        part.data = p;
        part.size = next > p ? (size_t)(next - p) : 0;
        found(arg, &part);
        p = next + len;
    }
    return fail_multipart(error, error_size, "there are too many parts");
}
