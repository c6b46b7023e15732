/*
 * Copyright (C) the ngx_symcache authors
 */
#include "peer_notification.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An address may be the beginning of another one. */
static bool notification_has_address(const char *list, const char *address)
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

void peer_notification_note_untold(struct peer_notification *notification,
                                   const char *address)
{
    size_t len = strlen(notification->untold);

    if (!notification_has_address(notification->untold, address)) {
        snprintf(notification->untold + len,
                 sizeof(notification->untold) - len, "%s%s",
                 len > 0 ? "," : "", address);
    }
}

void peer_notification_join(struct peer_notification *notification)
{
    notification->left++;
}

void peer_notification_leave(struct peer_notification *notification)
{
    if (--notification->left == 0) {
        event_active(notification->ended, 0, 0);
    }
}

void peer_notification_cancel(struct peer_notification *notification)
{
    if (notification != NULL) {
        notification->done = NULL;
    }
}

void peer_notification_free(struct peer_notification *notification)
{
    LIST_REMOVE(notification, entry);
    event_free(notification->ended);
    free(notification);
}
