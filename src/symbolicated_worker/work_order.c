/*
 * Copyright (C) the ngx_symcache authors
 */
#include "work_order.h"

#include <stdlib.h>
#include <string.h>

static void order_read_line(struct order *order, const char *name,
                            const char *value)
{
    if (strcmp(name, "boundary") == 0) {
        order->boundary = value;
    } else if (strcmp(name, "coding") == 0) {
        order->coding = value;
    } else if (strcmp(name, "rewrite") == 0) {
        order->rewrite = value;
    } else if (strcmp(name, "corrections") == 0) {
        order->corrections = (unsigned)strtoul(value, NULL, 10);
    } else if (strcmp(name, "sources") == 0) {
        order->has_sources = strcmp(value, "1") == 0;
    } else if (strcmp(name, "unpacked") == 0) {
        order->unpacked = strtoull(value, NULL, 10);
    } else if (strcmp(name, "answer") == 0) {
        order->answer = strtoull(value, NULL, 10);
    }
}

int order_read(struct order *order, const char *text)
{
    char *line, *value, *rest;

    memset(order, 0, sizeof(*order));
    order->text = rest = strdup(text);
    if (rest == NULL) {
        return -1;
    }
    while ((line = strsep(&rest, "\n")) != NULL) {
        value = strchr(line, ' ');
        if (value != NULL) {
            *value = '\0';
            order_read_line(order, line, value + 1);
        }
    }
    return 0;
}

void order_free(struct order *order)
{
    free(order->text);
}

_Noreturn void out_of_memory(void)
{
    exit(1);
}

void refuse_work(struct work_service *service, uint32_t why, const char *text)
{
    work_say(service, text, strlen(text));
    work_refuse(service, why);
}
