/*
 * Copyright (C) the ngx_symcache authors
 */
#include "report_child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symcachectl/command.h"

#define REPORT_MAX (256u << 20)

/* Reads all that the child writes. */
static cJSON *read_report(int fd)
{
    FILE *in = fdopen(fd, "r");
    char *text = NULL;
    size_t size = 0, room = 0, n = 1;
    cJSON *object;

    while (in != NULL && n > 0 && size < REPORT_MAX) {
        if (room - size < 65536) {
            room = 2 * room + 65536;
            text = realloc(text, room);
        }
        if (text == NULL) {
            command_no_memory();
        }
        n = fread(text + size, 1, room - size, in);
        size += n;
    }
    object = text != NULL ? cJSON_ParseWithLength(text, size) : NULL;
    free(text);
    if (in != NULL) {
        fclose(in);
    }
    return object;
}

cJSON *report_child_read(const char *file, int (*work)(void *arg, FILE *out),
                         void *arg, int *code)
{
    int status, ends[2];
    pid_t pid;
    FILE *out;
    cJSON *object;

    if (pipe(ends) != 0 || (pid = fork()) == -1) {
        *code = command_fail(COMMAND_IO, file, strerror(errno));
        return NULL;
    }
    if (pid == 0) {
        close(ends[0]);
        out = fdopen(ends[1], "w");
        status = out != NULL ? work(arg, out) : COMMAND_IO;
        if (out != NULL && fflush(out) != 0) {
            status = COMMAND_IO;
        }
        fflush(stderr);
        _exit(status);
    }
    close(ends[1]);
    object = read_report(ends[0]);
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == COMMAND_OK &&
        object != NULL) {
        return object;
    }
    cJSON_Delete(object);
    *code = WIFEXITED(status) && WEXITSTATUS(status) != COMMAND_OK
                ? WEXITSTATUS(status)
                : command_fail(COMMAND_IO, file,
                               "cannot be read: it was cut short, or its "
                               "reader was killed");
    return NULL;
}
