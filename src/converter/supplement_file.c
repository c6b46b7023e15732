/*
 * Copyright (C) the ngx_symcache authors
 */
#include "supplement_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debuginfo/elf/elf.h"
#include "sandbox/sandbox.h"

#define SECONDS 10
#define MEMORY ((uint64_t)64 << 20)
#define SYSTEM "/usr/lib/debug/"

/* Names of sections are near the end of a file. */
#define TAIL ((size_t)1 << 20)

/* May the file have the section?  Most have not, and need no process. */
static bool may_have(const uint8_t *data, size_t size)
{
    static const char name[] = ".gnu_debugaltlink";
    size_t tail = size < TAIL ? size : TAIL;

    return elf_sniff(data, size) &&
           memmem(data + size - tail, tail, name, sizeof(name)) != NULL;
}

/* In the child.  Nothing of the file is believed but what fits the struct. */
static void read_link(const uint8_t *data, size_t size, bool has_sandbox,
                      int fd)
{
    struct sandbox_limits limits = {size + MEMORY, 0, SECONDS};
    struct elf_altlink link;
    char error[200];

    memset(&link, 0, sizeof(link));
    if ((has_sandbox &&
         sandbox_enter(&limits, NULL, error, sizeof(error)) != 0) ||
        !elf_altlink_read(data, size, &link) ||
        write(fd, &link, sizeof(link)) != (ssize_t)sizeof(link)) {
        _exit(1);
    }
    _exit(0);
}

static bool ask_child(const struct conversion *c, const uint8_t *data,
                      size_t size, struct elf_altlink *link)
{
    int fds[2], status = -1;
    bool is_read;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0) {
        return false;
    }
    pid = fork();
    if (pid == 0) {
        close(fds[0]);
        read_link(data, size, c->has_sandbox, fds[1]);
    }
    close(fds[1]);
    is_read = pid > 0 &&
              read(fds[0], link, sizeof(*link)) == (ssize_t)sizeof(*link);
    close(fds[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return is_read && status == 0 && link->id_size > 1 &&
           link->id_size <= sizeof(link->id) &&
           memchr(link->path, '\0', sizeof(link->path)) != NULL;
}

static bool map_file(const char *path, const uint8_t **data, size_t *file_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (p == MAP_FAILED) {
        return false;
    }
    *data = p;
    *file_size = (size_t)st.st_size;
    return true;
}

/* Where the build id of a file has it on a Linux system. */
static void print_id_path(char *path, size_t size, const uint8_t *id, size_t n)
{
    size_t i, at;

    at = (size_t)snprintf(path, size, SYSTEM ".build-id/%02x/", id[0]);
    for (i = 1; i < n && at + 3 < size; i++) {
        at += (size_t)snprintf(path + at, size - at, "%02x", id[i]);
    }
    snprintf(path + at, size - at, ".debug");
}

/*
 * A file must not name any other file of this machine: of its path the last
 * part counts, beside the input, and all of it only below the folder of dwz's
 * files.
 */
static void find(const struct conversion *c, const struct elf_altlink *link,
                 struct supplement *s)
{
    static const char folder[] = SYSTEM ".dwz/";
    const char *slash = strrchr(c->input, '/');
    const char *name = strrchr(link->path, '/');
    int dir = slash != NULL ? (int)(slash - c->input) + 1 : 0;
    char path[PATH_MAX];

    name = name != NULL ? name + 1 : link->path;
    if (name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
        snprintf(path, sizeof(path), "%.*s%s", dir, c->input, name);
        if (map_file(path, &s->data, &s->size)) {
            return;
        }
        snprintf(path, sizeof(path), "%.*s.dwz/%s", dir, c->input, name);
        if (map_file(path, &s->data, &s->size)) {
            return;
        }
    }
    if (strncmp(link->path, folder, sizeof(folder) - 1) == 0 &&
        strstr(link->path, "/../") == NULL &&
        map_file(link->path, &s->data, &s->size)) {
        return;
    }
    print_id_path(path, sizeof(path), link->id, link->id_size);
    (void)map_file(path, &s->data, &s->size);
}

/* The image of crash.pdb is crash.dll, crash.exe or crash.sys. */
static void find_image(const struct conversion *c, struct supplement *s)
{
    static const char *const ends[] = {".dll", ".exe", ".sys"};
    size_t i, stem = strlen(c->input);
    char path[PATH_MAX];

    if (stem < 4 || strcasecmp(c->input + stem - 4, ".pdb") != 0) {
        return;
    }
    stem -= 4;
    for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if ((size_t)snprintf(path, sizeof(path), "%.*s%s", (int)stem, c->input,
                             ends[i]) < sizeof(path) &&
            map_file(path, &s->image, &s->image_size)) {
            return;
        }
    }
}

void supplement_map(const struct conversion *c, const uint8_t *data,
                    size_t size, struct supplement *s)
{
    struct elf_altlink link;

    if (c->has_wanted && c->wanted == DEBUGINFO_BREAKPAD &&
        !elf_sniff(data, size)) {
        if (c->image == NULL) {
            find_image(c, s);
        } else {
            (void)map_file(c->image, &s->image, &s->image_size);
        }
    } else if (c->altlink != NULL) {
        (void)map_file(c->altlink, &s->data, &s->size);
    } else if (may_have(data, size) && ask_child(c, data, size, &link)) {
        find(c, &link, s);
    }
}
