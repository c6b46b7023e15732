/*
 * Copyright (C) the ngx_symcache authors
 */

#include "metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Former names of counters, which are still printed for one release. */
static const struct {
    enum metric metric;
    const char *name;
} former[] = {
    {METRIC_DOWNLOAD_MS, "symcached_download_milliseconds_total"},
    {METRIC_TRANSCODE_MS, "symcached_transcode_milliseconds_total"},
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

/* Prints whole numbers without a dot and without an exponent. */
static void print_value(struct evbuffer *buf, double value)
{
    evbuffer_add_printf(
        buf, value == (double)(int64_t)value ? " %.0f\n" : " %.3f\n", value);
}

static void print_former(struct evbuffer *buf)
{
    size_t i;

    for (i = 0; i < sizeof(former) / sizeof(former[0]); i++) {
        evbuffer_add_printf(buf,
                            "# HELP %s Former name of %s.\n"
                            "# TYPE %s counter\n%s %" PRIu64 "\n",
                            former[i].name, counters[former[i].metric].name,
                            former[i].name, former[i].name,
                            values[former[i].metric]);
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
        evbuffer_add_printf(buf, "%s%s%s%s", last,
                            g->labels[0] != '\0' ? "{" : "", g->labels,
                            g->labels[0] != '\0' ? "}" : "");
        print_value(buf, g->value);
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
        evbuffer_add_printf(buf, "%s%s%s%s", last,
                            labels[0] != '\0' ? "{" : "", labels,
                            labels[0] != '\0' ? "}" : "");
        print_value(buf, strstr(last, "_seconds") != NULL
                             ? (double)values[i] / 1000
                             : (double)values[i]);
    }
    print_former(buf);
    print_gauges(buf);
}

void metrics_print_gauge(struct evbuffer *buf, const char *name,
                         const char *help, double value)
{
    evbuffer_add_printf(buf, "# HELP %s %s\n# TYPE %s gauge\n%s %.0f\n", name,
                        help, name, name, value);
}
