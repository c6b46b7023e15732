/*
 * Copyright (C) the ngx_symcache authors
 */

#include "body_folder.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/log.h"
#include "base/spool.h"
#include "store_roots.h"

static int body_folder = -1;
static char body_folder_path[PATH_MAX];

int body_folder_open(const struct config *config, char *error, size_t size)
{
    const char *path = config->symbolication.spool;

    if (path == NULL) {
        return 0;
    }
    body_folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (body_folder == -1) {
        snprintf(error, size, "symbolication.spool: %s: %s", path,
                 strerror(errno));
        return -1;
    }
    snprintf(body_folder_path, sizeof(body_folder_path), "%s", path);
    return 0;
}

int body_folder_descriptor(void)
{
    return body_folder;
}

int body_folder_use(char *error, size_t size)
{
    if (spool_folder(body_folder) == 0) {
        return 0;
    }
    snprintf(error, size,
             "symbolication.spool: no file without a name can be made in %s: "
             "%s%s",
             body_folder_path, strerror(errno),
             errno == EOPNOTSUPP ? ", by its file system" : "");
    return -1;
}

/* Without its folder, a body has its place in memory, as where none is
 * configured.  The descriptor stays open: a thread that is about to make a
 * file with it must not meet another one of that number. */
void body_folder_check(void)
{
    if (body_folder == -1 ||
        !directory_is_replaced(body_folder, body_folder_path)) {
        return;
    }
    spool_folder(-1);
    body_folder = -1;
    log_error(0,
              "\"symbolication.spool\": %s is another folder than at the "
              "start, which cannot be opened from the sandbox: large bodies "
              "are kept in memory until a restart",
              body_folder_path);
}
