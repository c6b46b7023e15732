/*
 * Copyright (C) the ngx_symcache authors
 */
#include "results.h"

#include <string.h>

#define TEXT_MAX 4096

/* Of one answer.  Each is compared with those before, in the event loop. */
#define ENTRIES_MAX (2 * RESULTS_MAX)

static bool is_hex(const char *text)
{
    size_t n = strlen(text);

    return n >= 2 && n <= 128 && strspn(text, "0123456789abcdef") == n;
}

static const char *results_text(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(item) && strlen(item->valuestring) <= TEXT_MAX
               ? item->valuestring
               : NULL;
}

static bool results_is_same(const cJSON *entry, const char *name,
                            const char *text)
{
    const char *other = results_text(entry, name);

    return text == NULL || other == NULL ? text == other
                                         : strcmp(text, other) == 0;
}

static bool has_result(const struct results *results, const char *type,
                       const char *build_id, const char *file,
                       const char *archive)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, results->list)
    {
        if (results_is_same(entry, "buildid", build_id) &&
            results_is_same(entry, "type", type) &&
            results_is_same(entry, "file", file) &&
            results_is_same(entry, "archive", archive)) {
            return true;
        }
    }
    return false;
}

void results_add(struct results *results, const char *type,
                 const char *build_id, const char *file, const char *archive)
{
    cJSON *entry;

    if (results->list == NULL ||
        has_result(results, type, build_id, file, archive)) {
        return;
    }
    if (results->n == RESULTS_MAX) {
        results->is_cut = true;
        return;
    }
    entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "type", type);
    cJSON_AddStringToObject(entry, "buildid", build_id);
    if (file != NULL) {
        cJSON_AddStringToObject(entry, "file", file);
    }
    if (archive != NULL) {
        cJSON_AddStringToObject(entry, "archive", archive);
    }
    cJSON_AddItemToArray(results->list, entry);
    results->n++;
}

bool results_add_answer(struct results *results, const char *text,
                        size_t size)
{
    cJSON *answer = cJSON_ParseWithLength(text, size);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(answer, "results");
    const cJSON *entry;
    const char *type, *build_id;
    int n = 0;
    bool is_complete =
        cJSON_IsArray(list) &&
        !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(answer, "complete"));

    cJSON_ArrayForEach(entry, list)
    {
        if (n++ == ENTRIES_MAX) {
            is_complete = false;
            break;
        }
        type = results_text(entry, "type");
        build_id = results_text(entry, "buildid");
        if (build_id != NULL && is_hex(build_id) && type != NULL &&
            (strcmp(type, "debuginfo") == 0 ||
             strcmp(type, "executable") == 0)) {
            results_add(results, type, build_id, results_text(entry, "file"),
                        results_text(entry, "archive"));
        }
    }
    cJSON_Delete(answer);
    return is_complete;
}
