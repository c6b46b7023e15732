/*
 * Copyright (C) the ngx_symcache authors
 *
 * As Microsoft documents it ("Source Server", the language of the stream): a
 * variable is %name%, in any case; %var1% to %var10% are the parts of the
 * file's line.  %fnvar%(text) is the variable that the text names,
 * %fnbksl%(text) the text with \ for /, %fnfile%(text) what is after its last
 * slash.
 */
#include "srcsrv_url.h"

#include <string.h>
#include <strings.h>

#include "base/hex.h"

#define DEPTH 10 /* of variables in variables */
#define WORK_BASE 1000000
#define WORK_PER_BYTE 100

struct srcsrv_url_target {
    struct srcsrv_urls *urls;
    size_t entry;
};

struct out {
    char *data;
    uint32_t size;
};

static bool expand_variables(struct srcsrv_url_target *target,
                             struct symc_text text, unsigned depth,
                             struct out *out);

void srcsrv_urls_begin(struct srcsrv_urls *urls, const struct srcsrv *srcsrv)
{
    struct symc_text name, value;
    size_t at = 0;

    urls->srcsrv = srcsrv;
    urls->count = 0;
    urls->work = WORK_BASE + WORK_PER_BYTE * (uint64_t)srcsrv->size;
    while (urls->count < SRCSRV_VARIABLES &&
           srcsrv_variable(srcsrv, &at, &name, &value)) {
        urls->variables[urls->count].name = name;
        urls->variables[urls->count++].value = value;
    }
}

static bool url_spend_work(struct srcsrv_urls *urls, uint64_t work)
{
    if (urls->work < work) {
        urls->work = 0;
        return false;
    }
    urls->work -= work;
    return true;
}

static bool url_put_data(struct srcsrv_url_target *target, struct out *out,
                         const char *data, uint32_t size)
{
    if (size > SRCSRV_URL_MAX - out->size ||
        !url_spend_work(target->urls, size + 1)) {
        return false;
    }
    memcpy(out->data + out->size, data, size);
    out->size += size;
    return true;
}

static bool url_is_variable(struct symc_text text, const char *name)
{
    return text.size == strlen(name) &&
           strncasecmp(text.data, name, text.size) == 0;
}

/* The number in "var2"; 0: the name has another form. */
static unsigned url_part_number(struct symc_text name)
{
    unsigned n = 0;
    uint32_t i;

    if (name.size < 4 || name.size > 5 ||
        strncasecmp(name.data, "var", 3) != 0) {
        return 0;
    }
    for (i = 3; i < name.size; i++) {
        if (name.data[i] < '0' || name.data[i] > '9') {
            return 0;
        }
        n = 10 * n + (unsigned)(name.data[i] - '0');
    }
    return n <= 10 ? n : 0;
}

/* Gets the value of a variable.  Returns false if it is unknown. */
static bool url_find_variable(struct srcsrv_url_target *target,
                              struct symc_text name, struct symc_text *value)
{
    const struct srcsrv_urls *urls = target->urls;
    unsigned number = url_part_number(name);
    size_t i;

    if (number > 0) {
        return srcsrv_part(urls->srcsrv, target->entry, number, value);
    }
    if (!url_spend_work(target->urls, urls->count + 1)) {
        return false;
    }
    for (i = 0; i < urls->count; i++) {
        if (urls->variables[i].name.size == name.size &&
            strncasecmp(urls->variables[i].name.data, name.data, name.size) ==
                0) {
            *value = urls->variables[i].value;
            return true;
        }
    }
    return false;
}

/* The size of what is in the parentheses that a text begins with; it may have
 * others inside.  Returns false if there are none. */
static bool url_function_argument(struct symc_text text,
                                  struct symc_text *inside)
{
    uint32_t i, open = 0;

    for (i = 0; i < text.size; i++) {
        open += text.data[i] == '(';
        if (open == 0) {
            return false;
        }
        if (text.data[i] == ')' && --open == 0) {
            inside->data = text.data + 1;
            inside->size = i - 1;
            return true;
        }
    }
    return false;
}

static bool url_call_function(struct srcsrv_url_target *target,
                              struct symc_text function, struct symc_text text,
                              unsigned depth, struct out *out)
{
    char data[SRCSRV_URL_MAX];
    struct out made = {data, 0};
    struct symc_text value;
    uint32_t i, from = 0;

    if (!expand_variables(target, text, depth, &made)) {
        return false;
    }
    if (url_is_variable(function, "fnvar")) {
        text.data = data;
        text.size = made.size;
        return url_find_variable(target, text, &value) &&
               expand_variables(target, value, depth, out);
    }
    for (i = 0; i < made.size; i++) {
        if (url_is_variable(function, "fnbksl")) {
            data[i] = data[i] == '/' ? '\\' : data[i];
        } else if (data[i] == '/' || data[i] == '\\') {
            from = i + 1;
        }
    }
    return url_put_data(target, out, data + from, made.size - from);
}

static bool url_is_function(struct symc_text name)
{
    return url_is_variable(name, "fnvar") || url_is_variable(name, "fnbksl") ||
           url_is_variable(name, "fnfile");
}

/* Writes the value of the name after a "%", up to the end of the name or its
 * argument, and moves the text past it.  A "%" of an escape in a URL, such as
 * "%20", stays. */
static bool expand_name(struct srcsrv_url_target *target,
                        struct symc_text *text, unsigned depth,
                        struct out *out)
{
    struct symc_text name = {text->data, 0}, value, inside;
    const char *end = memchr(text->data, '%', text->size);

    if (end != NULL) {
        name.size = (uint32_t)(end - text->data);
        value.data = end + 1;
        value.size = text->size - name.size - 1;
        if (url_is_function(name) && url_function_argument(value, &inside)) {
            text->data = inside.data + inside.size + 1;
            text->size = value.size - inside.size - 2;
            return url_call_function(target, name, inside, depth, out);
        }
        if (url_find_variable(target, name, &inside)) {
            *text = value;
            return expand_variables(target, inside, depth, out);
        }
    }
    return text->size >= 2 && hex_digit(text->data[0]) >= 0 &&
           hex_digit(text->data[1]) >= 0 && url_put_data(target, out, "%", 1);
}

/* Writes a text with the values of its variables. */
static bool expand_variables(struct srcsrv_url_target *target,
                             struct symc_text text, unsigned depth,
                             struct out *out)
{
    const char *percent;
    uint32_t n;

    if (depth == 0) {
        return false;
    }
    while (text.size > 0) {
        percent = memchr(text.data, '%', text.size);
        n = percent == NULL ? text.size : (uint32_t)(percent - text.data);
        if (!url_put_data(target, out, text.data, n)) {
            return false;
        }
        text.data += n;
        text.size -= n;
        if (percent != NULL) {
            text.data++;
            text.size--;
            if (!expand_name(target, &text, depth - 1, out)) {
                return false;
            }
        }
    }
    return true;
}

bool srcsrv_url(struct srcsrv_urls *urls, size_t entry,
                char url[SRCSRV_URL_MAX], uint32_t *size)
{
    static const struct symc_text name = {"SRCSRVTRG", 9};
    struct srcsrv_url_target target = {urls, entry};
    struct out out = {url, 0};
    struct symc_text value;
    uint32_t i;

    if (!url_find_variable(&target, name, &value) ||
        !expand_variables(&target, value, DEPTH, &out) ||
        !((out.size > 7 && strncasecmp(url, "http://", 7) == 0) ||
          (out.size > 8 && strncasecmp(url, "https://", 8) == 0))) {
        return false;
    }
    for (i = 0; i < out.size; i++) {
        url[i] = url[i] == '\\' ? '/' : url[i];
    }
    *size = out.size;
    return true;
}
