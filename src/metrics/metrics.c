/*
 * Copyright (C) the ngx_symcache authors
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "metrics.h"

static uint64_t values[METRICS_N];

static const struct {
    const char *name;
    const char *labels;
    const char *help;
} counters[METRICS_N] = {
#define METRICS_ROW(id, name, labels, help) {name, labels, help},
    METRICS_COUNTERS(METRICS_ROW)
#undef METRICS_ROW
};

void metrics_add(enum metric metric, uint64_t n)
{
    values[metric] += n;
}

/* sorted by name */
static struct gauge {
    struct gauge *next;
    const char *name;
    const char *help;
    double value;
    char labels[];
} * gauges;

void metrics_show(const char *name, const char *labels, const char *help,
                  double value)
{
    struct gauge **at = &gauges, *gauge;
    size_t size = strlen(labels) + 1;

    while (*at != NULL && strcmp((*at)->name, name) <= 0) {
        if (strcmp((*at)->name, name) == 0 &&
            strcmp((*at)->labels, labels) == 0) {
            (*at)->value = value;
            return;
        }
        at = &(*at)->next;
    }

    gauge = malloc(sizeof(*gauge) + size);
    if (gauge != NULL) {
        gauge->name = name;
        gauge->help = help;
        gauge->value = value;
        memcpy(gauge->labels, labels, size);
        gauge->next = *at;
        *at = gauge;
    }
}

void metrics_hide(const char *name)
{
    struct gauge **at = &gauges, *gauge;

    while ((gauge = *at) != NULL) {
        if (strcmp(gauge->name, name) == 0) {
            *at = gauge->next;
            free(gauge);
        } else {
            at = &gauge->next;
        }
    }
}

static void print_gauges(struct evbuffer *buf)
{
    const struct gauge *g;
    const char *last = "";

    for (g = gauges; g != NULL; g = g->next) {
        if (strcmp(last, g->name) != 0) {
            last = g->name;
            evbuffer_add_printf(buf, "# HELP %s %s\n# TYPE %s gauge\n", last,
                                g->help, last);
        }
        evbuffer_add_printf(buf, "%s%s%s%s %.0f\n", last,
                            g->labels[0] != '\0' ? "{" : "", g->labels,
                            g->labels[0] != '\0' ? "}" : "", g->value);
    }
}

void metrics_print(struct evbuffer *buf)
{
    const char *last = "", *labels;
    unsigned i;

    for (i = 0; i < METRICS_N; i++) {
        if (strcmp(last, counters[i].name) != 0) {
            last = counters[i].name;
            evbuffer_add_printf(buf, "# HELP %s %s\n# TYPE %s counter\n", last,
                                counters[i].help, last);
        }
        labels = counters[i].labels;
        evbuffer_add_printf(buf, "%s%s%s%s %" PRIu64 "\n", last,
                            labels[0] != '\0' ? "{" : "", labels,
                            labels[0] != '\0' ? "}" : "", values[i]);
    }
    print_gauges(buf);
}

void metrics_print_gauge(struct evbuffer *buf, const char *name,
                         const char *help, double value)
{
    evbuffer_add_printf(buf, "# HELP %s %s\n# TYPE %s gauge\n%s %.0f\n", name,
                        help, name, name, value);
}
