/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a list of modules, as people and xperf write it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symcachectl/helper/module_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line written for the module that was read must name the same module. */
static void check(const struct identity *identity)
{
    char text[SYMCACHE_NAME_MAX + 64], age[16];
    struct identity again;
    const char *wrong;

    if (strlen(identity->name) != identity->key.name_len ||
        identity->key.name_len == 0 || strchr(identity->name, '/') != NULL) {
        abort();
    }
    snprintf(age, sizeof(age), "%u", identity->key.age);
    snprintf(text, sizeof(text), "%s,%.32s,%s", identity->name, identity->id,
             age);
    if (identity->name[0] != '#' && identity->name[0] != '"' &&
        identity->name[0] != ' ' && identity->name[0] != '[' &&
        identity->name[0] != '0' &&
        strstr(identity->name, "CodeView Record") == NULL &&
        strstr(identity->name, "[RSDS] PdbSig") == NULL &&
        identity->name[identity->key.name_len - 1] != ' ' &&
        (list_line(text, strlen(text), &again, &wrong) != LIST_MODULE ||
         strcmp(again.id, identity->id) != 0 ||
         strcmp(again.name, identity->name) != 0)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct list list;
    struct identity identity;
    enum list_found found;
    const char *wrong = NULL;
    FILE *stream;

    stream = size > 0 ? fmemopen((void *)data, size, "r") : NULL;
    if (stream == NULL) {
        return 0;
    }
    list_init(&list, stream);
    while ((found = list_next(&list, &identity, &wrong)) != LIST_END) {
        if (found == LIST_MODULE) {
            check(&identity);
        } else if (found == LIST_BAD && wrong == NULL) {
            abort(); /* refused without a reason */
        }
    }
    fclose(stream);
    return 0;
}
