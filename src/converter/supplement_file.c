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

#include "base/fd_close.h"
#include "base/fd_write.h"
#include "debuginfo/elf/elf.h"
#include "sandbox/sandbox.h"

#define MEMORY ((uint64_t)64 << 20)
#define MEMORY_FACTOR                                                         \
    8 /* bytes for each of a file: sections are compressed                    \
       */
#define PATHS ((size_t)1 << 20) /* bytes of paths of .dwo files */
#define SYSTEM "/usr/lib/debug/"

/* Files that are searched as a whole. */
#define SMALL ((size_t)1 << 20)

/* May the file have the section?  Most small ones have not, and need no
 * process. */
static bool supplement_may_have(const uint8_t *data, size_t size)
{
    static const char gnu[] = ".gnu_debugaltlink", sup[] = ".debug_sup";

    return elf_sniff(data, size) &&
           (size > SMALL || memmem(data, size, gnu, sizeof(gnu)) != NULL ||
            memmem(data, size, sup, sizeof(sup)) != NULL);
}

/* Reads something of a file into memory.  Returns its bytes. */
typedef size_t read_function(const uint8_t *data, size_t size, char *to,
                             size_t room);

static size_t read_supplement_link(const uint8_t *data, size_t size, char *to,
                                   size_t room)
{
    struct elf_altlink link;

    memset(&link, 0, sizeof(link));
    if (room < sizeof(link) || !elf_altlink_read(data, size, &link)) {
        return 0;
    }
    memcpy(to, &link, sizeof(link));
    return sizeof(link);
}

/* In the child. */
static void answer_supplement(const uint8_t *data, size_t size,
                              bool has_sandbox, read_function *read_it,
                              char *to, size_t room, int fd)
{
    struct sandbox_limits limits = {MEMORY + MEMORY_FACTOR * (uint64_t)size +
                                        room,
                                    0, sandbox_seconds(size)};
    char error[200];
    size_t n;

    if (has_sandbox &&
        sandbox_enter(&limits, NULL, error, sizeof(error)) != 0) {
        _exit(1);
    }
    n = read_it(data, size, to, room);
    _exit(fd_write(fd, to, n) == 0 ? 0 : 1);
}

/* Has a child without rights read something of a file.  Nothing of that is to
 * be believed.  Returns its bytes, 0 if it failed. */
static size_t ask_supplement_child(const struct conversion *conversion,
                                   const uint8_t *data, size_t size,
                                   read_function *read_it, char *to,
                                   size_t room)
{
    int fds[2], status = -1;
    size_t n = 0;
    ssize_t rc = 1;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0) {
        return 0;
    }
    pid = fork();
    if (pid == 0) {
        close(fds[0]);
        answer_supplement(data, size, conversion->has_sandbox, read_it, to,
                          room, fds[1]);
    }
    close(fds[1]);
    while (pid > 0 && n < room && (rc > 0 || errno == EINTR)) {
        rc = read(fds[0], to + n, room - n);
        if (rc == 0) {
            break;
        }
        n += rc > 0 ? (size_t)rc : 0;
    }
    close(fds[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid > 0 && WIFEXITED(status) &&
        WEXITSTATUS(status) == FAILURE_TEMPORARY) {
        _exit(FAILURE_TEMPORARY); /* which the child has told of */
    }
    return pid > 0 && status == 0 ? n : 0;
}

static bool ask_link(const struct conversion *conversion, const uint8_t *data,
                     size_t size, struct elf_altlink *link)
{
    return ask_supplement_child(conversion, data, size, read_supplement_link,
                                (char *)link,
                                sizeof(*link)) == sizeof(*link) &&
           link->id_size > 1 && link->id_size <= sizeof(link->id) &&
           memchr(link->path, '\0', sizeof(link->path)) != NULL;
}

static bool map_supplement_file(const char *path,
                                struct supplement_file *supplement)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    fd_close(fd);
    if (p == MAP_FAILED) {
        return false;
    }
    supplement->data = p;
    supplement->size = (size_t)st.st_size;
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
static void find_supplement(const struct conversion *conversion,
                            const struct elf_altlink *link,
                            struct supplement_file *supplement)
{
    static const char folder[] = SYSTEM ".dwz/";
    const char *slash = strrchr(conversion->input, '/');
    const char *name = strrchr(link->path, '/');
    int dir = slash != NULL ? (int)(slash - conversion->input) + 1 : 0;
    char path[PATH_MAX];

    name = name != NULL ? name + 1 : link->path;
    if (name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
        snprintf(path, sizeof(path), "%.*s%s", dir, conversion->input, name);
        if (map_supplement_file(path, supplement)) {
            return;
        }
        snprintf(path, sizeof(path), "%.*s.dwz/%s", dir, conversion->input,
                 name);
        if (map_supplement_file(path, supplement)) {
            return;
        }
    }
    if (strncmp(link->path, folder, sizeof(folder) - 1) == 0 &&
        strstr(link->path, "/../") == NULL &&
        map_supplement_file(link->path, supplement)) {
        return;
    }
    print_id_path(path, sizeof(path), link->id, link->id_size);
    (void)map_supplement_file(path, supplement);
}

/* The image of crash.pdb is crash.dll, crash.exe or crash.sys. */
static void find_image(const struct conversion *conversion,
                       struct supplement *supplement)
{
    static const char *const ends[] = {".dll", ".exe", ".sys"};
    size_t i, stem = strlen(conversion->input);
    char path[PATH_MAX];

    if (stem < 4 || strcasecmp(conversion->input + stem - 4, ".pdb") != 0) {
        return;
    }
    stem -= 4;
    for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if ((size_t)snprintf(path, sizeof(path), "%.*s%s", (int)stem,
                             conversion->input, ends[i]) < sizeof(path) &&
            map_supplement_file(path, &supplement->image)) {
            return;
        }
    }
}

/* split DWARF ------------------------------------------------------------- */

#define FILES_MAX 16384 /* a process may have 65,530 mappings */

static struct supplement_file split[FILES_MAX];

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Maps the package of a program: PROGRAM.dwp, or of PROGRAM.debug that, too.
 */
static void find_package(const struct conversion *conversion,
                         const uint8_t *data, size_t size,
                         struct supplement *supplement)
{
    static const char end[] = ".debug";
    size_t n = strlen(conversion->input);
    char path[PATH_MAX];
    bool is_found = false;

    if (conversion->dwp != NULL && !is_folder(conversion->dwp)) {
        is_found = map_supplement_file(conversion->dwp, &split[0]);
    } else if (elf_sniff(data, size) && n + sizeof(".dwp") <= sizeof(path)) {
        snprintf(path, sizeof(path), "%s.dwp", conversion->input);
        is_found = map_supplement_file(path, &split[0]);
        if (!is_found && n >= sizeof(end) &&
            strcmp(conversion->input + n - (sizeof(end) - 1), end) == 0) {
            snprintf(path, sizeof(path), "%.*s.dwp",
                     (int)(n - (sizeof(end) - 1)), conversion->input);
            is_found = map_supplement_file(path, &split[0]);
        }
    }
    supplement->split = split;
    supplement->num_split = is_found;
}

/*
 * Maps a file that has the longest end of a path below the folder of the
 * input, or the one that was named: a file must not name any other of this
 * machine, and a tree of builds may have been moved.
 */
static bool find_below(const struct conversion *conversion, const char *wanted,
                       struct supplement_file *supplement)
{
    const char *slash = strrchr(conversion->input, '/'), *up;
    int dir = slash != NULL ? (int)(slash - conversion->input) + 1 : 0;
    char path[PATH_MAX];

    while ((up = strstr(wanted, "../")) != NULL) {
        wanted = up + 3;
    }
    for (; wanted != NULL; wanted = strchr(wanted, '/')) {
        wanted += strspn(wanted, "/");
        if (*wanted == '\0' || strcmp(wanted, "..") == 0) {
            break;
        }
        if (conversion->dwp != NULL) {
            snprintf(path, sizeof(path), "%s/%s", conversion->dwp, wanted);
        } else {
            snprintf(path, sizeof(path), "%.*s%s", dir, conversion->input,
                     wanted);
        }
        if (map_supplement_file(path, supplement)) {
            return true;
        }
    }
    return false;
}

void supplement_map(const struct conversion *conversion, const uint8_t *data,
                    size_t size, struct supplement *supplement)
{
    struct elf_altlink link;

    if (conversion->uuid_map != NULL) {
        (void)map_supplement_file(conversion->uuid_map, &supplement->uuid_map);
    }
    if (conversion->symbol_map != NULL) {
        (void)map_supplement_file(conversion->symbol_map,
                                  &supplement->symbol_map);
    }
    if (conversion->line_mapping != NULL) {
        (void)map_supplement_file(conversion->line_mapping,
                                  &supplement->line_mapping);
    }
    if (conversion->is_like_symbolic) {
        return;
    }
    if (conversion->has_wanted &&
        conversion->wanted == SYMCACHE_KIND_BREAKPAD &&
        !elf_sniff(data, size)) {
        if (conversion->image == NULL) {
            find_image(conversion, supplement);
        } else {
            (void)map_supplement_file(conversion->image, &supplement->image);
        }
    } else if (conversion->altlink != NULL) {
        (void)map_supplement_file(conversion->altlink, &supplement->altlink);
    } else if (supplement_may_have(data, size) &&
               ask_link(conversion, data, size, &link)) {
        find_supplement(conversion, &link, &supplement->altlink);
    }
    find_package(conversion, data, size, supplement);
}

void supplement_map_dwo(const struct conversion *conversion,
                        const uint8_t *data, size_t size,
                        struct supplement *supplement)
{
    static char paths[PATHS];
    size_t n, at, used;

    if (supplement->num_split > 0) {
        return;
    }
    n = ask_supplement_child(conversion, data, size, elf_split_paths, paths,
                             sizeof(paths));
    for (at = 0; at < n && supplement->num_split < FILES_MAX; at += used + 1) {
        used = strnlen(paths + at, n - at);
        if (at + used == n) {
            break; /* without its end */
        }
        if (find_below(conversion, paths + at,
                       &split[supplement->num_split])) {
            supplement->num_split++;
        }
    }
    supplement->split = split;
}
