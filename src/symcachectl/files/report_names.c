/*
 * Copyright (C) the ngx_symcache authors
 */
#include "report_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd_close.h"
#include "symcachectl/command.h"
#include "symcachectl/helper/json_request.h"
#include "symcachectl/store/store_reader.h"

static int report_absence; /* errno: why no daemon is where one would be */

/* Ends the process if the configuration cannot be read, which was said. */
static bool report_is_running(const struct settings *settings)
{
    const char *address = settings_socket(settings);
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    int fd;

    if (address == NULL) {
        exit(COMMAND_IO);
    }
    if (strncmp(address, "unix:", 5) != 0) {
        return true;
    }
    if (strlen(address + 5) >= sizeof(where.sun_path)) {
        report_absence = ENAMETOOLONG;
        return false;
    }
    memcpy(where.sun_path, address + 5, strlen(address + 5) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1 ||
        connect(fd, (struct sockaddr *)&where, sizeof(where)) != 0) {
        report_absence = errno;
    }
    fd_close(fd);
    return report_absence == 0;
}

bool report_names_here(const struct settings *settings)
{
    static bool is_known, is_here;

    if (!is_known) {
        is_here = settings->socket == NULL &&
                  (settings->root != NULL || !report_is_running(settings));
        is_known = true;
    }
    return is_here;
}

int report_names(const struct settings *settings, const char *path,
                 const char *file, char *text, const char *without,
                 void (*print)(const cJSON *answer))
{
    char reason[256];
    int code = COMMAND_OK;
    cJSON *answer;

    if (!report_names_here(settings)) {
        return json_request_post(settings, path, text, print, NULL);
    }
    if (settings->root == NULL) {
        snprintf(reason, sizeof(reason),
                 "symbolicated is not reached there: %s: %s",
                 strerror(report_absence), without);
        (void)command_fail(COMMAND_OK, settings_socket(settings), reason);
    }
    answer = store_reader_answer(settings->root, path, file, text, &code);
    if (answer != NULL) {
        print(answer);
        code = command_finish(COMMAND_OK);
    }
    cJSON_Delete(answer);
    return code;
}
