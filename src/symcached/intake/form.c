/*
 * Copyright (C) the ngx_symcache authors
 */
#include "form.h"

#include <string.h>

static void take_form_part(void *arg, const struct multipart_part *part)
{
    struct upload_form *form = arg;

    if (part->is_file) {
        if (form->file == NULL) {
            form->file = part->data;
            form->size = part->size;
            memcpy(form->name, part->name, sizeof(part->name));
        }
    } else if (strcmp(part->name, "try") == 0) {
        form->is_try = part->size > 0;
    } else if (strcmp(part->name, "url") == 0) {
        form->has_url = true;
    }
}

int upload_form_read(const uint8_t *data, size_t size, const char *boundary,
                     struct upload_form *form, char *error, size_t error_size)
{
    memset(form, 0, sizeof(*form));
    return multipart_read(data, size, boundary, take_form_part, form, error,
                          error_size);
}
