/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: what a server of debuginfod answers to /metadata.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symcached/metadata/results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct results results = {.list = cJSON_CreateArray()};
    const cJSON *entry;

    (void)results_add_answer(&results, (const char *)data, size);
    if (cJSON_GetArraySize(results.list) != results.n ||
        results.n > RESULTS_MAX) {
        abort();
    }
    cJSON_ArrayForEach(entry, results.list)
    {
        if (!cJSON_IsString(cJSON_GetObjectItem(entry, "type")) ||
            strlen(cJSON_GetObjectItem(entry, "buildid")->valuestring) < 2) {
            abort();
        }
    }
    cJSON_Delete(results.list);
    return 0;
}
