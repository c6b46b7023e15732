/*
 * Copyright (C) the ngx_symcache authors
 */

#include "printable.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/utf8.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"

/* C1 controls, marks and overrides of direction, ends of lines and
 * paragraphs. */
static bool printable_is_steering(uint32_t c)
{
    return (c >= 0x80 && c < 0xA0) || c == 0x61C || c == 0x200E ||
           c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

char *printable(const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;
    char *out, *to;
    size_t i;
    uint32_t c;
    int n;

    out = size < SIZE_MAX / 8 ? malloc(4 * size + 8) : NULL;
    if (out == NULL) {
        command_no_memory();
    }
    to = out;
    for (i = 0; i < size; i += n < 0 ? 1 : (size_t)n) {
        n = utf8_decode(p + i, size - i, &c);
        if (n < 0 || c < 0x20 || c == 0x7F) {
            to += snprintf(to, 5, "\\x%02x", p[i]);
        } else if (printable_is_steering(c)) {
            to += snprintf(to, 7, "\\u%04x", (unsigned)c);
        } else {
            memcpy(to, p + i, (size_t)n);
            to += n;
        }
    }
    *to = '\0';
    return out;
}

void printable_put(FILE *stream, const char *text)
{
    char *out;

    if (text != NULL) {
        out = printable(text, strlen(text));
        fputs(out, stream);
        free(out);
    }
}

/* How many bytes of a text may go to a terminal as they are, as the first of
 * them is not what is printed. */
static size_t printable_line_control(const char *text, size_t size)
{
    return *text == '\n' || *text == '\t'                   ? 1
           : size > 1 && text[0] == '\r' && text[1] == '\n' ? 2
                                                            : 0;
}

void printable_put_lines(FILE *stream, const char *text, size_t size)
{
    const char *end = text + size, *p;
    char *safe;
    size_t n;

    while (text < end) {
        n = printable_line_control(text, (size_t)(end - text));
        fwrite(text, 1, n, stream);
        text += n;
        for (p = text;
             p < end && printable_line_control(p, (size_t)(end - p)) == 0;
             p++) {
        }
        safe = printable(text, (size_t)(p - text));
        fputs(safe, stream);
        free(safe);
        text = p;
    }
}

void printable_put_address(FILE *stream, const char *address)
{
    const char *host = NULL, *at = NULL;
    size_t i;

    if (address != NULL && (strncasecmp(address, "http://", 7) == 0 ||
                            strncasecmp(address, "https://", 8) == 0)) {
        host = strstr(address, "://") + 3;
    }
    for (i = 0; host != NULL && i < strcspn(host, "/?#"); i++) {
        at = host[i] == '@' ? host + i + 1 : at;
    }
    if (at != NULL) {
        fprintf(stream, "%.*s", (int)(host - address), address);
        address = at;
    }
    printable_put(stream, address);
}

const char *printable_field(const cJSON *object, const char *key)
{
    const char *text;

    text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text != NULL ? text : "";
}

void printable_put_field(FILE *stream, const cJSON *object, const char *key)
{
    printable_put(stream, printable_field(object, key));
}

void printable_put_code(FILE *stream, const cJSON *frame)
{
    const char *line = printable_field(frame, "context_line");

    line += strspn(line, " \t");
    if (*line != '\0') {
        fputs("        ", stream);
        printable_put(stream, line);
        putc('\n', stream);
    }
}

double printable_number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

size_t printable_width(const char *text)
{
    size_t n;

    for (n = 0; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return n;
}

void printable_json(FILE *stream, const cJSON *object)
{
    char *text = cjson_print(object);
    const unsigned char *p = (const unsigned char *)text;
    size_t i, size;
    uint32_t c;
    int n;

    size = strlen(text);
    for (i = 0; i < size; i += n < 0 ? 1 : (size_t)n) {
        n = utf8_decode(p + i, size - i, &c);
        if (n < 0) {
            fputs("\\ufffd", stream);
        } else if (c == 0x7F || printable_is_steering(c)) {
            fprintf(stream, "\\u%04x", (unsigned)c);
        } else {
            fwrite(p + i, 1, (size_t)n, stream);
        }
    }
    fputc('\n', stream);
    cJSON_free(text);
}

void printable_size(char *buf, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    unsigned unit = 0;

    while (n >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        n /= 1024;
        unit++;
    }
    snprintf(buf, PRINTABLE_SIZE_MAX, "%.*f %s", unit > 0, n, units[unit]);
}

void printable_time(char *buf, double seconds)
{
    struct tm tm;
    time_t t;

    memcpy(buf, "-", 2);
    if (seconds >= 1 && seconds < 1e11) {
        t = (time_t)seconds;
        if (localtime_r(&t, &tm) != NULL) {
            strftime(buf, PRINTABLE_TIME_MAX, "%Y-%m-%d %H:%M:%S", &tm);
        }
    }
}
