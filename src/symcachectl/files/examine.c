/*
 * Copyright (C) the ngx_symcache authors
 */

#include "examine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "debuginfo/msfz/msfz.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/pe/pe.h"
#include "sandbox/sandbox.h"
#include "derived/symcache/symcache.h"

#define EXAMINE_SECONDS 60          /* of CPU time */
#define EXAMINE_MEMORY (1ull << 30) /* in addition to the file */

static const char msf_magic[] = "Microsoft C/C++ MSF 7.00";

enum examine_kind examine_sniff(int fd)
{
    char head[sizeof(MSFZ_MAGIC)];
    ssize_t n = pread(fd, head, sizeof(head), 0);

    if (n >= 2 && memcmp(head, "MZ", 2) == 0) {
        return EXAMINE_IMAGE;
    }
    if (n >= 4 && memcmp(head, "SYMC", 4) == 0) {
        return EXAMINE_SYMCACHE;
    }
    if (n == sizeof(head) &&
        (memcmp(head, msf_magic, sizeof(msf_magic) - 1) == 0 ||
         memcmp(head, MSFZ_MAGIC, sizeof(head)) == 0)) {
        return EXAMINE_PDB;
    }
    return EXAMINE_OTHER;
}

/* in the child ----------------------------------------------------------- */

static void examine_image(const uint8_t *data, size_t size,
                          struct examine_result *result)
{
    char error[200];
    struct pe_identity id;
    struct pe_code code;

    if (pe_identity_read(data, size, &id, result->error,
                         sizeof(result->error)) != 0) {
        result->is_portable = pe_portable_identity_read(data, size, &id, error,
                                                        sizeof(error)) == 0;
        if (!result->is_portable) {
            return;
        }
    }
    if (id.name_size > sizeof(result->name)) {
        snprintf(result->error, sizeof(result->error),
                 "names a PDB of %zu bytes", id.name_size);
        result->is_portable = false;
        return;
    }
    result->stamp = id.age;
    if (!result->is_portable) {
        result->error[0] = '\0';
    } else if (pe_code_read(data, size, &code, error, sizeof(error)) == 0 &&
               code.debug_id.is_known) {
        result->stamp = code.debug_id.age;
    }
    memcpy(result->guid, id.guid, sizeof(result->guid));
    memcpy(result->name, id.name, id.name_size);
    result->name_size = (uint32_t)id.name_size;
    result->age = id.age;
}

static void examine_pdb(const uint8_t *data, size_t size,
                        struct examine_result *result)
{
    struct pdb_identity id;

    if (pdb_identity_read(data, size, &id, result->error,
                          sizeof(result->error)) == 0) {
        result->error[0] = '\0';
        memcpy(result->guid, id.guid, sizeof(result->guid));
        result->age = id.age;
    }
}

static void examine_symcache(const uint8_t *data, size_t size,
                             struct examine_result *result)
{
    struct symc_reader reader;

    if (symc_reader_open(&reader, data, size, result->error,
                         sizeof(result->error)) != SYMC_OPENED ||
        symc_verify(&reader, result->error, sizeof(result->error)) !=
            SYMC_SOUND) {
        return;
    }
    result->error[0] = '\0';
    memcpy(result->guid, data + SYMC_AT_GUID, sizeof(result->guid));
    result->age = le32(data + SYMC_AT_AGE);
}

static void examine_any(const uint8_t *data, size_t size, void *result)
{
    struct examine_result *r = result;

    switch (r->kind) {
    case EXAMINE_IMAGE:
        examine_image(data, size, r);
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

struct examine_place_result {
    bool is_read; /* by the parser, to the end */
    bool is_found;
    char name[SYMCACHE_NAME_MAX + 1]; /* of the file */
    char error[512];
    struct symstore_path place;
};

static void examine_for_place(const uint8_t *data, size_t size, void *result)
{
    struct examine_place_result *r = result;
    const char *const parts[3] = {r->name, NULL, NULL};

    r->is_found = symstore_path_read(data, size, parts, false, &r->place,
                                     r->error, sizeof(r->error));
    r->is_read = true;
}

struct examine_unified_result {
    int status;
    char name[SYMCACHE_NAME_MAX + 1];
    char error[512];
    struct unified_path path;
};

static void examine_for_unified(const uint8_t *data, size_t size, void *result)
{
    struct examine_unified_result *r = result;

    r->status = unified_path_read(data, size, r->name, &r->path, r->error,
                                  sizeof(r->error));
}

/* What a child does: examine fills result, which begins with the data that is
 * known already. */
struct examination {
    int fd;
    size_t size;
    void (*examine)(const uint8_t *data, size_t size, void *result);
    void *result;
    size_t result_size;
    char *error; /* in result */
    size_t error_size;
};

static void examine(const struct examination *examination)
{
    struct sandbox_limits limits = {examination->size + EXAMINE_MEMORY, 0,
                                    EXAMINE_SECONDS};
    const uint8_t *data;

    data = mmap(NULL, examination->size, PROT_READ, MAP_PRIVATE,
                examination->fd, 0);
    if (data == MAP_FAILED) {
        snprintf(examination->error, examination->error_size,
                 "cannot be mapped: %s", strerror(errno));
        return;
    }
    if (sandbox_enter(&limits, NULL, examination->error,
                      examination->error_size) == 0) {
        examination->examine(data, examination->size, examination->result);
    }
}

/* in the parent ---------------------------------------------------------- */

/* Reads all that the child process writes.  Returns 0 or -1. */
static int examine_read_result(int fd, void *result, size_t size)
{
    size_t done;
    ssize_t n;

    for (done = 0; done < size; done += n > 0 ? (size_t)n : 0) {
        n = read(fd, (char *)result + done, size - done);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return -1;
        }
    }
    return 0;
}

/* Runs an examination in a child.  Returns 0; -1 with errno if there is no
 * child; or 1 if it has not told all, and why, in words. */
static int examine_in_sandbox(const struct examination *examination, char *why,
                              size_t why_size)
{
    int ends[2], status = 0, rc;
    ssize_t n;
    pid_t pid;

    if (pipe(ends) != 0) {
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        examine(examination);
        n = write(ends[1], examination->result, examination->result_size);
        _exit(n == (ssize_t)examination->result_size ? 0 : 1);
    }
    close(ends[1]);
    rc = pid > 0 ? examine_read_result(ends[0], examination->result,
                                       examination->result_size)
                 : -1;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid > 0 && rc != 0) {
        snprintf(why, why_size,
                 "cannot be parsed: the parser ended (%s %d)",
                 WIFSIGNALED(status) ? "signal" : "code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        return 1;
    }
    return rc;
}

/* Checks all bounds, because a hostile file may have taken over the child
 * process. */
static int examine_in_child(int fd, size_t size, struct examine_result *result)
{
    enum examine_kind kind = result->kind;
    struct examination examination = {fd,
                                      size,
                                      examine_any,
                                      result,
                                      sizeof(*result),
                                      result->error,
                                      sizeof(result->error)};
    char why[sizeof(result->error)] = "";
    int rc = examine_in_sandbox(&examination, why, sizeof(why));

    if (rc == 0 && (result->kind != kind ||
                    result->name_size > sizeof(result->name))) {
        snprintf(why, sizeof(why), "cannot be parsed");
        rc = 1;
    }
    if (rc > 0) {
        memset(result, 0, sizeof(*result));
        memcpy(result->error, why, sizeof(why));
        result->kind = kind;
    }
    result->error[sizeof(result->error) - 1] = '\0';
    return rc < 0 ? -1 : 0;
}

/* Is it a part of a path, and nothing else? */
static bool examine_is_part(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL && text[0] != '\0' &&
           text[0] != '.' && strchr(text, '/') == NULL;
}

/* Has a child said what could be, and no path to another folder? */
static bool examine_is_unified(struct unified_path *path)
{
    size_t size = strnlen(path->id, sizeof(path->id));

    path->arch[sizeof(path->arch) - 1] = '\0';
    path->format[sizeof(path->format) - 1] = '\0';
    return size > 2 && size < sizeof(path->id) &&
           strspn(path->id, "0123456789abcdef") == size && path->type >= 0 &&
           path->type < UNIFIED_TYPES;
}

#define EXAMINE_EMPTIED "is damaged: it is empty"

/* Is it without bytes, although its name is that of a file with symbols?  Links
 * of a build that failed, and full disks, leave such. */
static bool examine_is_emptied(const struct stat *st, const char *name)
{
    static const char *const ends[] = {".pdb", ".dll",   ".exe", ".sys",
                                       ".so",  ".dylib", ".dwp", ".debug",
                                       ".wasm"};
    const char *end = strrchr(name, '.'), *so = strstr(name, ".so.");
    bool is_named =
        so != NULL && strspn(so + 4, "0123456789.") == strlen(so + 4);
    size_t i;

    for (i = 0; end != NULL && i < COUNT(ends); i++) {
        is_named |= strcasecmp(end, ends[i]) == 0;
    }
    return S_ISREG(st->st_mode) && st->st_size == 0 && is_named;
}

int examine_unified(int fd, const char *name, struct unified_path *path,
                    char *error, size_t size)
{
    struct examine_unified_result result = {.status = -1};
    struct examination examination = {.fd = fd,
                                      .examine = examine_for_unified,
                                      .result = &result,
                                      .result_size = sizeof(result),
                                      .error = result.error,
                                      .error_size = sizeof(result.error)};
    struct stat st = {0};

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        snprintf(error, size, EXAMINE_EMPTIED);
        return examine_is_emptied(&st, name) ? -1 : 0;
    }
    snprintf(result.name, sizeof(result.name), "%s", name);
    examination.size = (size_t)st.st_size;
    snprintf(error, size, "no process to look at it");
    if (examine_in_sandbox(&examination, error, size) != 0) {
        return -1;
    }
    *path = result.path;
    result.error[sizeof(result.error) - 1] = '\0';
    snprintf(error, size, "%s", result.error);
    if (result.status == 1 && !examine_is_unified(path)) {
        snprintf(error, size, "cannot be parsed");
        return -1;
    }
    return result.status == 0 || result.status == 1 ? result.status : -1;
}

bool examine_is_packed(int fd)
{
    static const struct {
        const char *text;
        size_t size;
    } packed[] = {{"MSCF", 4}, /* a cabinet */
                  {"\x1f\x8b", 2},
                  {"\x28\xb5\x2f\xfd", 4}, /* zstd */
                  {"BZh", 3},
                  {"\xfd"
                   "7zXZ",
                   5}};
    char head[8] = "";
    size_t i;

    if (pread(fd, head, sizeof(head), 0) <= 0) {
        return false;
    }
    for (i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
        if (memcmp(head, packed[i].text, packed[i].size) == 0) {
            return true;
        }
    }
    return false;
}

int examine_place(int fd, const char *name, struct symstore_path *place,
                  char *error, size_t size)
{
    struct examine_place_result result = {0};
    struct examination examination = {.fd = fd,
                                      .examine = examine_for_place,
                                      .result = &result,
                                      .result_size = sizeof(result),
                                      .error = result.error,
                                      .error_size = sizeof(result.error)};
    struct stat st = {0};

    snprintf(result.name, sizeof(result.name), "%s", name);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        snprintf(error, size, "%s",
                 examine_is_emptied(&st, name)
                     ? EXAMINE_EMPTIED
                     : "is empty, or no regular file");
        return 1;
    }
    examination.size = (size_t)st.st_size;
    snprintf(error, size, "no process to look at it");
    if (examine_in_sandbox(&examination, error, size) != 0) {
        return -1;
    }
    *place = result.place;
    result.error[sizeof(result.error) - 1] = '\0';
    if (!result.is_read) {
        snprintf(error, size, "%s", result.error);
        return -1;
    }
    if (!result.is_found ||
        !examine_is_part(place->name, sizeof(place->name)) ||
        !examine_is_part(place->id, sizeof(place->id)) ||
        !examine_is_part(place->file, sizeof(place->file))) {
        snprintf(error, size, "%s",
                 examine_is_packed(fd) ? "is packed: unpack it first"
                                       : result.error);
        return 1;
    }
    return 0;
}

int examine_file(int fd, struct examine_result *result)
{
    struct stat st = {0};

    memset(result, 0, sizeof(*result));
    result->kind = examine_sniff(fd);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        snprintf(result->error, sizeof(result->error),
                 "is empty, or no regular file");
        return -1;
    }
    if (result->kind != EXAMINE_OTHER &&
        examine_in_child(fd, (size_t)st.st_size, result) != 0) {
        snprintf(result->error, sizeof(result->error),
                 "cannot be parsed: no process for it: %s", strerror(errno));
    }
    return result->error[0] == '\0' ? 0 : -1;
}
