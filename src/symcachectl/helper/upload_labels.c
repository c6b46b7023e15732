/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload_labels.h"

#include <string.h>

#include "base/percent.h"
#include "proto/upload.h"

const char *upload_labels_print(char line[UPLOAD_LABELS_LINE],
                                const char *const texts[3])
{
    static const char *const names[] = {"product", "branch", "build"};
    struct build_labels labels = {.build = ""};
    const char *wrong = NULL;
    char *p = stpcpy(line, SYMCACHE_HEADER_LABELS ": ");
    size_t i;

    for (i = 0; i < 3 && wrong == NULL; i++) {
        if (texts[i] == NULL) {
            continue;
        }
        (void)build_labels_set(&labels, names[i], texts[i], &wrong);
        if (wrong == NULL) {
            p = stpcpy(stpcpy(p, names[i]), "=");
            p = stpcpy(percent_encode(p, texts[i]), "&");
        }
    }
    if (wrong == NULL && build_labels_check(&labels) != NULL) {
        wrong = "--product and --branch need --build";
    }
    if (wrong == NULL && labels.build[0] != '\0') {
        p[-1] = '\0';
    } else {
        line[0] = '\0';
    }
    return wrong;
}
