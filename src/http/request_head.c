/*
 * Copyright (C) the ngx_symcache authors
 */
#include "request_head.h"

#include <string.h>
#include <strings.h>

/* The fields seen so far that determine the end of the body. */
struct framing {
    bool has_host;
    bool has_length;
    bool has_coding;
};

/* RFC 9110, 5.6.2: what names of fields and methods are made of. */
static bool is_head_token(unsigned char c)
{
    static const uint32_t set[8] = {0, 0x03FF6CFA, 0xC7FFFFFE, 0x57FFFFFF};

    return (set[c / 32] >> c % 32 & 1) != 0;
}

/* Returns where a name or method ends. */
static char *skip_head_token(char *p)
{
    while (is_head_token((unsigned char)*p)) {
        p++;
    }
    return p;
}

/* nginx forwards its input unchanged, including bytes beyond ASCII. */
static bool is_head_target(unsigned char c)
{
    return c > ' ' && c != 0x7F;
}

static bool is_head_value(unsigned char c)
{
    return (c >= ' ' && c != 0x7F) || c == '\t';
}

/* Returns where a value ends, in a head that ends at end. */
static char *skip_head_value(char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;
    uint64_t x, y;

    for (; end - p >= 8; p += 8) {
        memcpy(&x, p, 8);
        y = x ^ ones * 0x7F;
        /* a control character or DEL; only these borrow from their neighbours
         */
        if (((((x - ones * ' ') & ~x) | ((y - ones) & ~y)) & tops) != 0) {
            break;
        }
    }
    while (is_head_value((unsigned char)*p)) {
        p++;
    }
    return p;
}

int http_head_find_end(const char *data, size_t size, uint32_t *seen)
{
    const char *lf;

    /* the caller skips blank lines before a request */
    while ((lf = memchr(data + *seen, '\n', size - *seen)) != NULL) {
        if (lf == data || lf[-1] != '\r') {
            return -400;
        }
        *seen = (uint32_t)(lf + 1 - data);
        if (*seen >= 4 && lf[-2] == '\n') {
            return *seen <= HTTP_HEAD_MAX ? (int)*seen : -431;
        }
    }
    *seen = (uint32_t)size;
    return size < HTTP_HEAD_MAX ? 0 : -431;
}

static enum http_method head_method_of(const char *text, size_t size)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",
        [HTTP_HEAD] = "HEAD",
        [HTTP_POST] = "POST",
        [HTTP_OPTIONS] = "OPTIONS",
    };
    int i;

    for (i = 0; i < HTTP_OTHER; i++) {
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0) {
            break;
        }
    }
    return (enum http_method)i;
}

/* "http://host" in front of the path is allowed, and says nothing to us. */
static char *skip_head_origin(char *target)
{
    static const char scheme[] = "http://";

    return strncasecmp(target, scheme, sizeof(scheme) - 1) == 0
               ? target + strcspn(target + sizeof(scheme) - 1, "/?") +
                     sizeof(scheme) - 1
               : target;
}

/* The line ends at end.  Returns 0, or a status. */
static int parse_head_line(char *data, char *end, struct http_head *head)
{
    static const char version[] = " HTTP/";
    char *p = skip_head_token(data), *target, *query;

    if (p == data || *p != ' ') {
        return 400;
    }
    head->method = head_method_of(data, (size_t)(p - data));
    target = ++p;
    while (is_head_target((unsigned char)*p)) {
        p++;
    }
    if (p == target || end - p != (ptrdiff_t)sizeof(version) + 2 ||
        memcmp(p, version, sizeof(version) - 1) != 0) {
        return 400;
    }
    *p = '\0';
    p += sizeof(version) - 1;
    if (p[0] != '1' || p[1] != '.' || p[2] < '0' || p[2] > '9') {
        return 505;
    }
    head->closes = head->is_http10 = p[2] == '0';
    target = skip_head_origin(target);
    query = strchr(target, '?');
    if (query != NULL) {
        *query++ = '\0';
        head->query = (uint32_t)(query - data);
    }
    head->path = (uint32_t)(target - data);
    return 0;
}

/* Returns 0, or a status.  A length that is too large becomes UINT64_MAX. */
static int parse_head_length(const char *value, struct http_head *head)
{
    uint64_t length = 0;

    if (*value == '\0') {
        return 400;
    }
    for (; *value != '\0'; value++) {
        if (*value < '0' || *value > '9') {
            return 400;
        }
        length = length < UINT64_MAX / 10 - 1
                     ? 10 * length + (uint64_t)(*value - '0')
                     : UINT64_MAX;
    }
    head->length = length;
    return 0;
}

/* Whether a list of words has this one. */
static bool head_has_word(const char *value, const char *word)
{
    size_t n, size = strlen(word);

    for (; *value != '\0'; value += n) {
        value += strspn(value, " \t,");
        n = strcspn(value, " \t,");
        if (n == size && strncasecmp(value, word, size) == 0) {
            return true;
        }
    }
    return false;
}

/* Reads a field about the connection or the body.  Returns 0, or a status. */
static int heed_header(const char *name, const char *value,
                       struct http_head *head, struct framing *framing)
{
    bool *once = NULL;
    int status = 0;

    switch (*name | 0x20) {
    case 'h':
        once = strcasecmp(name, "Host") == 0 ? &framing->has_host : NULL;
        break;
    case 'c':
        if (strcasecmp(name, "Content-Length") == 0) {
            once = &framing->has_length;
            status = parse_head_length(value, head);
        } else if (strcasecmp(name, "Connection") == 0 &&
                   head_has_word(value, "close")) {
            head->closes = true;
        }
        break;
    case 't':
        if (strcasecmp(name, "Transfer-Encoding") == 0) {
            once = &framing->has_coding;
            head->is_chunked = true;
            status = strcasecmp(value, "chunked") == 0 ? 0 : 501;
        }
        break;
    case 'e':
        if (strcasecmp(name, "Expect") == 0 &&
            strcasecmp(value, "100-continue") == 0) {
            head->is_awaited = true;
        }
        break;
    default:
        break;
    }
    if (once != NULL && *once) {
        return 400; /* twice, which may not even be equal */
    }
    if (once != NULL) {
        *once = true;
    }
    return status;
}

/*
 * Reads the field at *from, which moves on to the next one, and writes its
 * name and value as two strings to *to.  Returns 0, or a status.
 */
static int parse_head_field(char **from, char **to, const char *head_end,
                            struct http_head *head, struct framing *framing)
{
    char *p = skip_head_token(*from), *name = *to, *out, *value, *begin, *end;

    if (p == *from || *p != ':') {
        return 400; /* a blank: folded, or before the colon */
    }
    memmove(name, *from, (size_t)(p - *from));
    out = name + (p - *from);
    for (begin = p + 1; *begin == ' ' || *begin == '\t';) {
        begin++;
    }
    p = skip_head_value(begin, head_end);
    if (p[0] != '\r' || p[1] != '\n') {
        return 400;
    }
    for (end = p; end > begin && (end[-1] == ' ' || end[-1] == '\t');) {
        end--;
    }
    *from = p + 2;
    *out++ = '\0';
    value = out;
    memmove(value, begin, (size_t)(end - begin));
    out = value + (end - begin);
    *out++ = '\0';
    *to = out;
    return heed_header(name, value, head, framing);
}

int http_head_parse(char *data, size_t size, struct http_head *head)
{
    char *end = data + size - 2, *from, *to;
    struct framing framing = {0};
    int status;

    memset(head, 0, sizeof(*head));
    from = memchr(data, '\r', size);
    status = from[1] == '\n' ? parse_head_line(data, from, head) : 400;
    from += 2;
    head->fields = (uint32_t)(from - data);
    for (to = from; status == 0 && from < end;) {
        status = parse_head_field(&from, &to, end, head, &framing);
    }
    if (status != 0) {
        return status;
    }
    *to = '\0'; /* a name that is empty is the end */
    head->is_awaited = head->is_awaited && !head->is_http10;
    if ((framing.has_coding && (framing.has_length || head->is_http10)) ||
        (!framing.has_host && !head->is_http10)) {
        return 400;
    }
    return 0;
}

const char *http_head_find(const char *data, const struct http_head *head,
                           const char *name)
{
    const char *p;
    bool is_it;

    for (p = data + head->fields; *p != '\0'; p += strlen(p) + 1) {
        is_it = (*p | 0x20) == (*name | 0x20) && strcasecmp(p, name) == 0;
        p += strlen(p) + 1;
        if (is_it) {
            return p;
        }
    }
    return NULL;
}
