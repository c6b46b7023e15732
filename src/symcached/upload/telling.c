/*
 * Copyright (C) the ngx_symcache authors
 */
#include "telling.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An address may be the beginning of another one. */
static bool has_address(const char *list, const char *address)
{
    size_t n = strlen(address);

    while (strncmp(list, address, n) != 0 ||
           (list[n] != ',' && list[n] != '\0')) {
        list = strchr(list, ',');
        if (list == NULL) {
            return false;
        }
        list++;
    }
    return true;
}

void telling_note_untold(struct telling *telling, const char *address)
{
    size_t len = strlen(telling->untold);

    if (!has_address(telling->untold, address)) {
        snprintf(telling->untold + len, sizeof(telling->untold) - len,
                 "%s%s", len > 0 ? "," : "", address);
    }
}

void telling_join(struct telling *telling)
{
    telling->left++;
}

void telling_leave(struct telling *telling)
{
    if (--telling->left == 0) {
        event_active(telling->ended, 0, 0);
    }
}

void telling_cancel(struct telling *telling)
{
    telling->done = NULL;
}

void telling_free(struct telling *telling)
{
    LIST_REMOVE(telling, entry);
    event_free(telling->ended);
    free(telling);
}
