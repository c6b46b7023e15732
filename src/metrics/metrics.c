/*
 * Copyright (C) the ngx_symcache authors
 */

#include "metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t metric_values[METRICS_N];

static const struct {
    const char *name;
    const char *labels;
    const char *help;
} metric_counters[METRICS_N] = {
#define METRICS_ROW(id, name, labels, help) {name, labels, help},
    METRICS_COUNTERS(METRICS_ROW)
#undef METRICS_ROW
};

/* Upper bounds, in milliseconds: from an answer out of memory to a transcoder
 * that takes the ten minutes that it may have. */
static const unsigned metric_bounds[] = {
    5,    10,   25,    50,    100,   250,    500,    1000,
    2500, 5000, 10000, 30000, 60000, 120000, 300000, 600000};

#define BOUNDS (sizeof(metric_bounds) / sizeof(metric_bounds[0]))

static struct {
    const char *name;
    const char *help;
    uint64_t counts[BOUNDS + 1]; /* the last has what is above all bounds */
    uint64_t ms;
} metric_histograms[METRICS_HISTOGRAMS_N] = {
#define METRICS_ROW(id, name, help) {name, help, {0}, 0},
    METRICS_HISTOGRAMS(METRICS_ROW)
#undef METRICS_ROW
};

void metrics_add(enum metric metric, uint64_t n)
{
    metric_values[metric] += n;
}

uint64_t metrics_counted(enum metric metric)
{
    return metric_values[metric];
}

void metrics_observe(enum metrics_histogram histogram, unsigned ms)
{
    size_t i;

    for (i = 0; i < BOUNDS && ms > metric_bounds[i]; i++) {
    }
    metric_histograms[histogram].counts[i]++;
    metric_histograms[histogram].ms += ms;
}

/* sorted by name */
static struct gauge {
    struct gauge *next;
    const char *name;
    const char *help;
    double value;
    char labels[];
} * metric_gauges;

void metrics_show(const char *name, const char *labels, const char *help,
                  double value)
{
    struct gauge **at = &metric_gauges, *gauge;
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
    struct gauge **at = &metric_gauges, *gauge;

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
static void print_metric_value(struct evbuffer *buf, double value)
{
    evbuffer_add_printf(
        buf, value == (double)(int64_t)value ? " %.0f\n" : " %.3f\n", value);
}

static void print_metric_help(struct evbuffer *buf, const char *name,
                              const char *type, const char *help)
{
    evbuffer_add_printf(buf, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                        type);
}

void metrics_print_histogram(struct evbuffer *buf, const char *name,
                             const char *labels, const unsigned *upper,
                             unsigned n, const uint64_t *counts, uint64_t sum,
                             double second)
{
    const char *comma = labels[0] != '\0' ? "," : "";
    const char *open = labels[0] != '\0' ? "{" : "";
    const char *close = labels[0] != '\0' ? "}" : "";
    uint64_t total = 0;
    unsigned i;

    for (i = 0; i < n; i++) {
        total += counts[i];
        evbuffer_add_printf(buf, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n",
                            name, labels, comma, upper[i] / second, total);
    }
    total += counts[n];
    evbuffer_add_printf(buf,
                        "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n"
                        "%s_sum%s%s%s %.6f\n"
                        "%s_count%s%s%s %" PRIu64 "\n",
                        name, labels, comma, total, name, open, labels, close,
                        (double)sum / second, name, open, labels, close,
                        total);
}

static void metrics_print_histograms(struct evbuffer *buf)
{
    unsigned i;

    for (i = 0; i < METRICS_HISTOGRAMS_N; i++) {
        print_metric_help(buf, metric_histograms[i].name, "histogram",
                          metric_histograms[i].help);
        metrics_print_histogram(
            buf, metric_histograms[i].name, "", metric_bounds, BOUNDS,
            metric_histograms[i].counts, metric_histograms[i].ms, 1000);
    }
}

static void print_gauges(struct evbuffer *buf)
{
    const struct gauge *g;
    const char *last = "";

    for (g = metric_gauges; g != NULL; g = g->next) {
        if (strcmp(last, g->name) != 0) {
            last = g->name;
            print_metric_help(buf, last, "gauge", g->help);
        }
        evbuffer_add_printf(buf, "%s%s%s%s", last,
                            g->labels[0] != '\0' ? "{" : "", g->labels,
                            g->labels[0] != '\0' ? "}" : "");
        print_metric_value(buf, g->value);
    }
}

void metrics_print(struct evbuffer *buf)
{
    const char *last = "", *labels;
    unsigned i;

    for (i = 0; i < METRICS_N; i++) {
        if (strcmp(last, metric_counters[i].name) != 0) {
            last = metric_counters[i].name;
            print_metric_help(buf, last, "counter", metric_counters[i].help);
        }
        labels = metric_counters[i].labels;
        evbuffer_add_printf(buf, "%s%s%s%s", last,
                            labels[0] != '\0' ? "{" : "", labels,
                            labels[0] != '\0' ? "}" : "");
        print_metric_value(buf, strstr(last, "_seconds") != NULL
                                    ? (double)metric_values[i] / 1000
                                    : (double)metric_values[i]);
    }
    metrics_print_histograms(buf);
    print_gauges(buf);
}

void metrics_print_gauge(struct evbuffer *buf, const char *name,
                         const char *help, double value)
{
    print_metric_help(buf, name, "gauge", help);
    evbuffer_add_printf(buf, "%s %.0f\n", name, value);
}
