/*
 * Copyright (C) the ngx_symcache authors
 */

#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symcachectl/command.h"
#include "base/utf8.h"
#include "sandbox/sandbox.h"

#define FIRST_READ 65536

/* This may only call what a signal handler may call. */
static void input_on_sigbus(int signo)
{
    ssize_t n;
    static const char text[] =
        "symcachectl: the file was cut short while it was read\n";

    (void)signo;
    n = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)n;
    _exit(COMMAND_IO);
}

static int map_input(int fd, size_t size, struct input_bytes *bytes)
{
    struct sigaction action;

    bytes->size = size;
    bytes->data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes->data == MAP_FAILED) {
        return -1;
    }
    memset(&action, 0, sizeof(action));
    action.sa_handler = input_on_sigbus;
    return sigaction(SIGBUS, &action, NULL);
}

static int grow_input(struct input_bytes *bytes, size_t *room)
{
    size_t more;
    uint8_t *data;

    more = *room == 0 ? FIRST_READ : 2 * *room;
    if (more > INPUT_MAX_READ) {
        errno = EFBIG;
        return -1;
    }
    data = realloc(bytes->data, more);
    if (data == NULL) {
        return -1;
    }
    bytes->data = data;
    *room = more;
    return 0;
}

static int input_read_all(int fd, struct input_bytes *bytes)
{
    ssize_t n;
    size_t room;

    bytes->data = NULL;
    bytes->size = room = 0;
    while (bytes->size < room || grow_input(bytes, &room) == 0) {
        n = read(fd, bytes->data + bytes->size, room - bytes->size);
        if (n == 0) {
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            break;
        }
        bytes->size += n > 0 ? (size_t)n : 0;
    }
    n = errno;
    free(bytes->data);
    errno = (int)n;
    return -1;
}

static int load_input(const char *file, struct input_bytes *bytes)
{
    int fd, rc;
    struct stat st;

    fd = strcmp(file, "-") == 0 ? STDIN_FILENO
                                : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        return -1;
    }
    if (S_ISREG(st.st_mode) && st.st_size > 0) {
        rc = map_input(fd, (size_t)st.st_size, bytes);
    } else {
        rc = input_read_all(fd, bytes);
    }
    if (fd != STDIN_FILENO) {
        close(fd);
    }
    return rc;
}

void input_enter_sandbox(void)
{
    char error[256];
    static const struct sandbox_limits limits = {0, 0, 0};

    if (sandbox_enter(&limits, NULL, error, sizeof(error)) != 0) {
        fprintf(stderr, "symcachectl: warning: %s; parsing without it\n",
                error);
    }
}

int input_load(const char *file, struct input_bytes *bytes)
{
    if (load_input(file, bytes) != 0) {
        return command_fail(COMMAND_IO, file, strerror(errno));
    }
    input_enter_sandbox();
    return COMMAND_OK;
}

int input_open(const char *file, int damaged_code, struct input *input)
{
    char error[256];
    struct input_bytes bytes;
    enum symc_reader_status status;

    if (input_load(file, &bytes) != COMMAND_OK) {
        return COMMAND_IO;
    }
    if (!derived_sniff(bytes.data, bytes.size, &input->kind)) {
        input->kind = SYMCACHE_KIND_SYMCACHE; /* which says what it is not */
    }
    status = derived_type(input->kind)
                 ->open(&input->reader, bytes.data, bytes.size, error,
                        sizeof(error));
    if (status == SYMC_OPENED) {
        return COMMAND_OK;
    }
    return command_fail(
        status == SYMC_DAMAGED ? damaged_code : COMMAND_FOREIGN, file, error);
}

char *input_as_utf8(const char *text, size_t *size)
{
    size_t n;
    char *converted;

    if (*size < 2 || (memcmp(text, "\xff\xfe", 2) != 0 &&
                      memcmp(text, "\xfe\xff", 2) != 0)) {
        return NULL;
    }
    converted = malloc(*size / 2 * 3 + 1);
    if (converted == NULL) {
        command_no_memory();
    }
    n = utf16_to_utf8(text, *size, converted);
    converted[n] = '\0';
    *size = n;
    return converted;
}
