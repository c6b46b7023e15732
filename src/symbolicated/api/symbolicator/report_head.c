/*
 * Copyright (C) the ngx_symcache authors
 */
#include "native_answer.h"

/* The first processor that a module is known to be for. */
static const char *find_report_arch(const struct symbolicator_request *request,
                                    const struct symbolicator_result *results)
{
    const struct symc_reader *reader;
    uint32_t arch;
    size_t i;

    for (i = 0; i < request->nmodules; i++) {
        reader = results[i].reader;
        if (reader == NULL) {
            continue;
        }
        arch = le32(reader->data + SYMC_AT_ARCH);
        if (arch != SYMC_ARCH_UNKNOWN) {
            return symc_arch_name(arch);
        }
    }
    return "unknown";
}

/* As the worker says it, but for the processor if it does not know that. */
static void write_report_system(struct json_writer *w, const struct json *json,
                                uint32_t system, const char *arch)
{
    uint32_t i;

    json_write_open(w, '{');
    for (i = system + 1; i < json->values[system].end;
         i = json->values[i + 1].end) {
        json_write_name(w, json_text(json, i), json->values[i].size);
        if (json->values[i + 1].type == JSON_NULL) {
            json_write_text(w, arch);
        } else {
            json_write_value(w, json, i + 1);
        }
    }
    json_write_close(w, '}');
}

void report_head_write(struct json_writer *w,
                       const struct symbolicator_request *request,
                       const struct symbolicator_result *results)
{
    const struct json *json = &request->json;
    uint32_t i, report = request->report;

    if (report == 0 || json->values[report].type != JSON_OBJECT) {
        return;
    }
    for (i = report + 1; i < json->values[report].end;
         i = json->values[i + 1].end) {
        json_write_name(w, json_text(json, i), json->values[i].size);
        if (json->values[i + 1].type == JSON_OBJECT) {
            write_report_system(w, json, i + 1,
                                find_report_arch(request, results));
        } else {
            json_write_value(w, json, i + 1);
        }
    }
}
