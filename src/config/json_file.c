/*
 * Copyright (C) the ngx_symcache authors
 */

#include "json_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fingerprint.h"

#define JSON_FILE_MAX (1024 * 1024)

struct json_place {
    const cJSON *item;
    unsigned line;
};

static unsigned json_line_of(const char *text, const char *p)
{
    unsigned line = 1;

    for (; text < p; text++) {
        line += *text == '\n';
    }
    return line;
}

/* Replaces comments by blanks.  Unlike cJSON_Minify() this keeps the lines, so
 * that errors can name them. */
static void blank_json_comments(char *p)
{
    while (*p != '\0') {
        if (*p == '"') {
            for (p++; *p != '\0' && *p != '"'; p++) {
                p += *p == '\\' && p[1] != '\0';
            }
            p += *p != '\0';
        } else if (p[0] == '/' && p[1] == '/') {
            while (*p != '\0' && *p != '\n') {
                *p++ = ' ';
            }
        } else if (p[0] == '/' && p[1] == '*') {
            char *end = strstr(p + 2, "*/");

            if (end == NULL) {
                return; /* the parser reports an error at this place */
            }
            for (; p < end + 2; p++) {
                *p = *p == '\n' ? '\n' : ' ';
            }
        } else {
            p++;
        }
    }
}

static char *read_json_text(const char *name, char *error, size_t size)
{
    FILE *f = fopen(name, "re");
    char *text = NULL;
    size_t n;

    if (f == NULL) {
        snprintf(error, size, "%s: %s", name, strerror(errno));
        return NULL;
    }

    text = malloc(JSON_FILE_MAX + 1);
    if (text == NULL) {
        snprintf(error, size, "%s: out of memory", name);
        goto out;
    }

    n = fread(text, 1, JSON_FILE_MAX + 1, f);
    if (ferror(f)) {
        snprintf(error, size, "%s: %s", name, strerror(errno));
    } else if (n > JSON_FILE_MAX) {
        snprintf(error, size, "%s: larger than 1 MiB", name);
    } else if (memchr(text, '\0', n) != NULL) {
        snprintf(error, size, "%s: has a NUL byte", name);
    } else {
        text[n] = '\0';
        fclose(f);
        return text;
    }

out:
    free(text);
    fclose(f);
    return NULL;
}

/* like cJSON, which skips every byte up to the blank */
static const char *skip_json_blanks(const char *p)
{
    while (*p != '\0' && (unsigned char)*p <= ' ') {
        p++;
    }
    return p;
}

static const char *skip_json_string(const char *p)
{
    for (p++; *p != '\0' && *p != '"'; p++) {
        p += *p == '\\' && p[1] != '\0';
    }
    return *p == '"' ? p + 1 : p;
}

/*
 * Notes the line of each value, by walking through the text and the tree that
 * cJSON made of it at the same time.  The text is known to be well-formed, so
 * both agree, and cJSON has limited the depth (CJSON_NESTING_LIMIT).
 */
static const char *place_json_values(struct json_file *json, const char *p,
                                     const char **counted, unsigned *line,
                                     const cJSON *item)
{
    const cJSON *child;
    struct json_place *place;

    p = skip_json_blanks(p);
    for (; *counted < p; (*counted)++) {
        *line += **counted == '\n';
    }

    place = &json->places[json->nplaces++];
    place->item = item;
    place->line = *line;

    if (cJSON_IsString(item)) {
        return skip_json_string(p);
    }

    if (!cJSON_IsObject(item) && !cJSON_IsArray(item)) {
        return p + strcspn(p, ",]} \t\r\n");
    }

    p++;
    for (child = item->child; child != NULL; child = child->next) {
        if (cJSON_IsObject(item)) {
            p = skip_json_blanks(skip_json_string(skip_json_blanks(p))) + 1;
        }
        p = skip_json_blanks(place_json_values(json, p, counted, line, child));
        p += *p == ',';
    }

    p = skip_json_blanks(p);
    return *p != '\0' ? p + 1 : p;
}

static size_t count_json_values(const cJSON *item)
{
    size_t n = 1;
    const cJSON *child;

    for (child = item->child; child != NULL; child = child->next) {
        n += count_json_values(child);
    }
    return n;
}

/* The comma after a last value, or NULL.  cJSON stops at a ] and after a }. */
static const char *find_last_comma(const char *text, const char *at)
{
    at -= at > text && at[-1] == '}';
    if (*at != '}' && *at != ']') {
        return NULL;
    }
    while (at > text && (unsigned char)at[-1] <= ' ') {
        at--;
    }
    return at > text && at[-1] == ',' ? at - 1 : NULL;
}

/* Reports where the parser stopped.  The text there is not shown: it can be a
 * secret whose quote is missing, and logs are read by others. */
static void json_syntax_error(const char *name, const char *text,
                              const char *at, char *error, size_t size)
{
    const char *comma = find_last_comma(text, at), *start;

    if (*skip_json_blanks(text) == '\0') {
        snprintf(error, size, "%s: is empty", name);
        return;
    }
    at = comma != NULL ? comma : at;
    for (start = at; start > text && start[-1] != '\n'; start--) {
    }
    snprintf(error, size, "%s:%u: not valid JSON near column %zu%s%.*s", name,
             json_line_of(text, at), (size_t)(at - start) + 1,
             comma != NULL ? ": a comma before " : "", comma != NULL,
             comma != NULL ? skip_json_blanks(comma + 1) : "");
}

/* Where well-formed text without comments has the escape of a NUL, at which
 * cJSON would cut the string; or NULL. */
static const char *find_json_nul(const char *p)
{
    while ((p = strchr(p, '\\')) != NULL && strncmp(p, "\\u0000", 6) != 0) {
        p += 2;
    }
    return p;
}

static uint64_t json_text_fingerprint(const char *text)
{
    return fingerprint(FINGERPRINT_BASIS, text, strlen(text));
}

int json_file_read(const char *name, struct json_file *json, char *error,
                   size_t size)
{
    struct json_file file = {0};
    const char *end, *counted, *start;
    unsigned line = 1;

    file.text = read_json_text(name, error, size);
    if (file.text == NULL) {
        return -1;
    }
    file.fingerprint = json_text_fingerprint(file.text);
    blank_json_comments(file.text);

    start = file.text;
    if (strncmp(start, "\xEF\xBB\xBF", 3) == 0) {
        start += 3;
    }

    file.root = cJSON_ParseWithOpts(start, &end, 1);
    if (file.root == NULL) {
        json_syntax_error(name, file.text, end, error, size);
        goto failed;
    }
    end = find_json_nul(start);
    if (end != NULL) {
        snprintf(error, size, "%s:%u: a string has a NUL (\\u0000)", name,
                 json_line_of(file.text, end));
        goto failed;
    }

    file.name = strdup(name);
    file.places = calloc(count_json_values(file.root), sizeof(file.places[0]));
    if (file.name == NULL || file.places == NULL) {
        snprintf(error, size, "%s: out of memory", name);
        goto failed;
    }

    counted = start;
    place_json_values(&file, start, &counted, &line, file.root);
    *json = file;
    return 0;

failed:
    json_file_free(&file);
    return -1;
}

uint64_t json_file_look(const char *name, uint64_t former)
{
    char error[256], *text;
    uint64_t fingerprint;
    struct stat st;

    if (stat(name, &st) == 0 && !S_ISREG(st.st_mode)) {
        return former; /* a pipe gives each byte once */
    }
    text = read_json_text(name, error, sizeof(error));
    fingerprint = text == NULL ? 0 : json_text_fingerprint(text);
    free(text);
    return fingerprint;
}

void json_file_free(struct json_file *json)
{
    cJSON_Delete(json->root);
    free(json->places);
    free(json->text);
    free(json->name);
    memset(json, 0, sizeof(*json));
}

/* Looks for item below parent, and writes ".path.to.key" if it is found. */
static bool print_json_path(const cJSON *parent, const cJSON *item, char *buf,
                            size_t size)
{
    const cJSON *child;
    unsigned i = 0;
    int n;

    if (parent == item) {
        return true;
    }

    for (child = parent->child; child != NULL; child = child->next, i++) {
        if (cJSON_IsObject(parent)) {
            n = snprintf(buf, size, ".%s", child->string);
        } else {
            n = snprintf(buf, size, "[%u]", i);
        }
        if (n < 0 || (size_t)n >= size) {
            continue;
        }
        if (print_json_path(child, item, buf + n, size - (size_t)n)) {
            return true;
        }
    }

    buf[0] = '\0';
    return false;
}

void json_file_error(const struct json_file *json, const cJSON *item,
                     const char *reason, char *error, size_t size)
{
    char path[256] = "";
    unsigned line = 1;
    size_t i;

    for (i = 0; i < json->nplaces; i++) {
        if (json->places[i].item == item) {
            line = json->places[i].line;
            break;
        }
    }

    print_json_path(json->root, item, path, sizeof(path));
    snprintf(error, size, "%s:%u: %s%s%s", json->name, line,
             path[0] == '.' ? path + 1 : path, path[0] != '\0' ? ": " : "",
             reason);
}
