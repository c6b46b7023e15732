/*
 * Copyright (C) the ngx_symcache authors
 *
 * Bodies with a crash report of Apple's.
 */
#include "work_kinds.h"

#include <stdio.h>
#include <stdlib.h>

#include "json/json.h"
#include "reports/apple/apple.h"
#include "crash_form.h"
#include "work_order.h"

static void answer_apple(const struct apple_report *report,
                         const struct form *apple_form,
                         struct work_service *service)
{
    struct json_writer w = {0};

    json_write_open(&w, '{');
    form_write(apple_form, &w);
    apple_write_json(report, &w);
    json_write_close(&w, '}');
    if (w.has_failed) {
        out_of_memory();
    }
    work_say(service, w.data, w.size);
    work_done(service);
    free(w.data);
}

static unsigned corrections_of(const struct order *order)
{
    static const struct {
        enum crash_correction from;
        enum apple_correction to;
    } words[] = {{CRASH_APPLE_REGISTERS, APPLE_STATES},
                 {CRASH_APPLE_IMAGES, APPLE_MAC},
                 {CRASH_APPLE_HEADERS, APPLE_LENIENT},
                 {CRASH_APPLE_NAMES, APPLE_NAMES},
                 {CRASH_APPLE_EXCEPTION, APPLE_EXCEPTION}};
    unsigned set = 0;
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        set |= (order->corrections & words[i].from) != 0 ? words[i].to : 0;
    }
    return set;
}

/* In Symbolicator's words, and why if it could not have read the form. */
static void refuse_report(struct work_service *service,
                          const struct apple_report *report)
{
    static const char words[] = "failed to parse apple crash report";
    char text[sizeof(words) + 2 + sizeof(report->error)];

    snprintf(text, sizeof(text), "%s: %s", words, report->error);
    refuse_work(service, CRASH_FAILED, report->text != NULL ? text : words);
}

static void apple_read_report(const struct form *apple_form,
                              const struct order *order,
                              const struct work_body *body)
{
    struct apple_report report;

    if (apple_read(&report, apple_form->file.data, apple_form->file.size,
                   body->limit, corrections_of(order)) == 0) {
        answer_apple(&report, apple_form, body->service);
    } else {
        refuse_report(body->service, &report);
    }
    apple_free(&report);
}

void apple_work(const struct work_body *body)
{
    struct form apple_form = {.file_name = "apple_crash_report",
                              .room = {.service = body->service}};
    struct order order;

    if (order_read(&order, body->text) != 0) {
        out_of_memory();
    }
    if (!form_read(&apple_form, &order,
                   &(struct bytes){body->data, body->size})) {
        refuse_work(body->service, apple_form.refusal, apple_form.error);
    } else if (apple_form.file.data == NULL && order.boundary != NULL) {
        refuse_work(body->service, CRASH_BAD_PART,
                    "missing apple crash report");
    } else {
        apple_read_report(&apple_form, &order, body);
    }
    packed_free(&apple_form.room);
    order_free(&order);
}
