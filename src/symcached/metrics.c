/*
 * Copyright (C) the ngx_symcache authors
 */

#include <inttypes.h>
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
}

void metrics_print_gauge(struct evbuffer *buf, const char *name,
                         const char *help, double value)
{
    evbuffer_add_printf(buf, "# HELP %s %s\n# TYPE %s gauge\n%s %.0f\n", name,
                        help, name, name, value);
}
