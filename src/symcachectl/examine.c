/*
 * Copyright (C) the ngx_symcache authors
 */

#include "examine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debuginfo/pdb/pdb.h"
#include "debuginfo/pe/pe.h"
#include "sandbox/sandbox.h"
#include "symcache/symcache.h"

#define EXAMINE_SECONDS 60          /* of CPU time */
#define EXAMINE_MEMORY (1ull << 30) /* in addition to the file */

static const char msf_magic[] = "Microsoft C/C++ MSF 7.00";

enum examine_kind examine_sniff(int fd)
{
    char head[sizeof(msf_magic) - 1];
    ssize_t n = pread(fd, head, sizeof(head), 0);

    if (n >= 2 && memcmp(head, "MZ", 2) == 0) {
        return EXAMINE_IMAGE;
    }
    if (n >= 4 && memcmp(head, "SYMC", 4) == 0) {
        return EXAMINE_SYMCACHE;
    }
    if (n == sizeof(head) && memcmp(head, msf_magic, sizeof(head)) == 0) {
        return EXAMINE_PDB;
    }
    return EXAMINE_OTHER;
}

/* in the child ----------------------------------------------------------- */

static void image(const uint8_t *data, size_t size, struct examine_result *r)
{
    char error[200];
    struct pe_identity id;

    if (pe_identity_read(data, size, &id, r->error, sizeof(r->error)) != 0) {
        r->is_portable = pe_portable_identity_read(data, size, &id, error,
                                                   sizeof(error)) == 0;
        if (!r->is_portable) {
            return;
        }
    }
    if (id.name_size > sizeof(r->name)) {
        snprintf(r->error, sizeof(r->error), "names a PDB of %zu bytes",
                 id.name_size);
        r->is_portable = false;
        return;
    }
    if (!r->is_portable) {
        r->error[0] = '\0';
    }
    memcpy(r->guid, id.guid, sizeof(r->guid));
    memcpy(r->name, id.name, id.name_size);
    r->name_size = (uint32_t)id.name_size;
    r->age = id.age;
}

static void examine_pdb(const uint8_t *data, size_t size,
                        struct examine_result *r)
{
    struct pdb_identity id;

    if (pdb_identity_read(data, size, &id, r->error, sizeof(r->error)) == 0) {
        r->error[0] = '\0';
        memcpy(r->guid, id.guid, sizeof(r->guid));
        r->age = id.age;
    }
}

static void examine_symcache(const uint8_t *data, size_t size,
                             struct examine_result *r)
{
    struct symfile_reader reader;

    if (symfile_reader_open(&reader, data, size, r->error, sizeof(r->error)) !=
            SYMFILE_OPENED ||
        symfile_verify(&reader, r->error, sizeof(r->error)) != SYMFILE_SOUND) {
        return;
    }
    r->error[0] = '\0';
    memcpy(r->guid, data + SYMFILE_AT_GUID, sizeof(r->guid));
    r->age = symfile_load(data + SYMFILE_AT_AGE);
}

static void examine(int fd, size_t size, struct examine_result *r)
{
    struct sandbox_limits limits = {size + EXAMINE_MEMORY, 0, EXAMINE_SECONDS};
    const uint8_t *data;

    data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        snprintf(r->error, sizeof(r->error), "cannot be mapped: %s",
                 strerror(errno));
        return;
    }
    if (sandbox_enter(&limits, r->error, sizeof(r->error)) != 0) {
        return;
    }
    switch (r->kind) {
    case EXAMINE_IMAGE:
        image(data, size, r);
        break;
    case EXAMINE_PDB:
        examine_pdb(data, size, r);
        break;
    case EXAMINE_SYMCACHE:
        examine_symcache(data, size, r);
        break;
    case EXAMINE_OTHER:
        break;
    }
}

/* in the parent ---------------------------------------------------------- */

/* Reads all that the child process writes.  Returns 0 or -1. */
static int hear(int fd, struct examine_result *result)
{
    size_t done;
    ssize_t n;

    for (done = 0; done<sizeof(*result); done += n> 0 ? (size_t)n : 0) {
        n = read(fd, (char *)result + done, sizeof(*result) - done);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return -1;
        }
    }
    return 0;
}

/* Checks all bounds, because a hostile file may have taken over the child
 * process. */
static bool is_sane(struct examine_result *result, enum examine_kind kind)
{
    result->error[sizeof(result->error) - 1] = '\0';
    return result->kind == kind && result->name_size <= sizeof(result->name);
}

static int in_child(int fd, size_t size, struct examine_result *result)
{
    enum examine_kind kind = result->kind;
    int ends[2], status, rc;
    ssize_t n;
    pid_t pid;

    if (pipe(ends) != 0) {
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        examine(fd, size, result);
        n = write(ends[1], result, sizeof(*result));
        _exit(n == sizeof(*result) ? 0 : 1);
    }
    close(ends[1]);
    rc = pid > 0 ? hear(ends[0], result) : -1;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid > 0 && (rc != 0 || !is_sane(result, kind))) {
        memset(result, 0, sizeof(*result));
        snprintf(result->error, sizeof(result->error),
                 "cannot be parsed: the parser ended (%s %d)",
                 WIFSIGNALED(status) ? "signal" : "code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        result->kind = kind;
        return 0;
    }
    return rc;
}

int examine_file(int fd, struct examine_result *result)
{
    struct stat st;

    memset(result, 0, sizeof(*result));
    result->kind = examine_sniff(fd);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        snprintf(result->error, sizeof(result->error),
                 "is empty, or no regular file");
        return -1;
    }
    if (result->kind != EXAMINE_OTHER &&
        in_child(fd, (size_t)st.st_size, result) != 0) {
        snprintf(result->error, sizeof(result->error),
                 "cannot be parsed: no process for it: %s", strerror(errno));
    }
    return result->error[0] == '\0' ? 0 : -1;
}
