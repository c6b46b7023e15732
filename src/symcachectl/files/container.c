/*
 * Copyright (C) the ngx_symcache authors
 */
#include "container.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd_write.h"
#include "debuginfo/identity/identity.h"
#include "debuginfo/macho/macho.h"
#include "debuginfo/zip/zip.h"
#include "derived/symcache/symcache.h"
#include "sandbox/sandbox.h"

#define MEMORY (1ull << 30) /* in addition to the file */
#define MEMBERS_MAX 20000
#define PART_MAX (16ull << 30) /* bytes */
#define PIECE_MAX (1u << 20)

/* The child sends a head for each part, with its error or pieces after it: the
 * size of each in four bytes, and after the last one a size of 0 and whether
 * that was all.  If not, a head with the error follows. */
struct container_head {
    char name[sizeof(((struct container_part *)0)->name)];
    char error[sizeof(((struct container_part *)0)->error)];
    bool is_damaged; /* it, and not the reading of it */
    bool is_cut;
    bool has_content;
    bool is_last; /* there is no part; an error is that of the whole file */
};

enum container_kind container_sniff(int fd)
{
    uint8_t head[8];

    if (pread(fd, head, sizeof(head), 0) != sizeof(head)) {
        return CONTAINER_NONE;
    }
    if (memcmp(head, "PK\3\4", 4) == 0) {
        return CONTAINER_ZIP;
    }
    return memcmp(head, "\xca\xfe\xba", 3) == 0 && head[3] >= 0xbe &&
                   head[3] <= 0xbf && head[4] == 0 && head[5] == 0 &&
                   head[6] == 0 && head[7] > 0 && head[7] <= MACHO_SLICES_MAX
               ? CONTAINER_FAT
               : CONTAINER_NONE;
}

/* in the child ------------------------------------------------------------ */

static void container_put_bytes(int fd, const void *data, size_t size)
{
    if (fd_write(fd, data, size) != 0) {
        _exit(1);
    }
}

static void container_put_pieces(int fd, const uint8_t *data, size_t size)
{
    uint32_t n;

    for (; size > 0; data += n, size -= n) {
        n = size < PIECE_MAX ? (uint32_t)size : PIECE_MAX;
        container_put_bytes(fd, &n, sizeof(n));
        container_put_bytes(fd, data, n);
    }
}

static void container_put_end(int fd, bool is_whole)
{
    const uint32_t end[2] = {0, is_whole};

    container_put_bytes(fd, end, sizeof(end));
}

struct container_member {
    int fd;
    struct container_head head;
    bool is_begun;
};

/* The first piece tells whether a member is wanted; of an empty one, which may
 * be damaged, its name does. */
static int container_on_piece(void *arg, const uint8_t *data, size_t size)
{
    struct container_member *member = arg;

    if (!member->is_begun) {
        if (size > 0 && identity_format(data, size) < 0) {
            return 1;
        }
        member->is_begun = member->head.has_content = true;
        container_put_bytes(member->fd, &member->head, sizeof(member->head));
    }
    container_put_pieces(member->fd, data, size);
    return 0;
}

static void container_send_member(struct zip *zip,
                                  const struct zip_member *member, int fd)
{
    struct container_member m = {.fd = fd};
    char error[sizeof(m.head.error)] = "no debug file, and no program";
    int rc = 0;

    snprintf(m.head.name, sizeof(m.head.name), "%s", member->name);
    if (member->refuse != NULL) {
        snprintf(error, sizeof(error), "%s", member->refuse);
    } else if (member->size > PART_MAX) {
        snprintf(error, sizeof(error), "larger than 16 GiB");
    } else {
        rc = zip_unpack(zip, container_on_piece, &m, error, sizeof(error));
    }
    if (m.is_begun) {
        container_put_end(fd, rc == 0);
        if (rc == 0) {
            return;
        }
    }
    m.head.has_content = false;
    m.head.is_damaged = rc == -1;
    snprintf(m.head.error, sizeof(m.head.error), "%s", error);
    container_put_bytes(fd, &m.head, sizeof(m.head));
}

/* Returns what is wrong with the archive as a whole, or NULL. */
static const char *container_send_members(const uint8_t *data, size_t size,
                                          int fd)
{
    struct zip *zip = zip_open(data, size);
    struct zip_member member;
    size_t n;
    int rc = 1;

    if (zip == NULL) {
        return "the archive cannot be read";
    }
    if (zip_count(zip) > MEMBERS_MAX) {
        zip_close(zip);
        return "the archive has more than 20,000 members";
    }
    for (n = 0; n < MEMBERS_MAX && (rc = zip_next(zip, &member)) == 1; n++) {
        container_send_member(zip, &member, fd);
    }
    zip_close(zip);
    return rc < 0 ? "the directory of the archive is damaged" : NULL;
}

static const char *container_send_slices(const uint8_t *data, size_t size,
                                         int fd)
{
    static char error[200];
    struct macho_identity identity;
    const struct macho_slice *slice;
    struct container_head head;
    unsigned i;

    if (macho_identity_read(data, size, &identity, error, sizeof(error)) != 0) {
        return error;
    }
    for (i = 0; i < identity.num_slices; i++) {
        slice = &identity.slices[i];
        memset(&head, 0, sizeof(head));
        head.has_content = slice->is_sound && slice->has_uuid &&
                           slice->offset <= size &&
                           slice->size <= size - slice->offset;
        snprintf(head.name, sizeof(head.name), "%s",
                 symc_arch_name(slice->arch));
        head.is_cut = !slice->is_sound && slice->is_cut;
        if (!head.has_content) {
            snprintf(head.error, sizeof(head.error), "%s",
                     slice->is_sound ? "no UUID"
                     : head.is_cut   ? "is truncated: the file ends before it"
                                     : "cannot be read");
        }
        container_put_bytes(fd, &head, sizeof(head));
        if (head.has_content) {
            container_put_pieces(fd, data + slice->offset,
                                 (size_t)slice->size);
            container_put_end(fd, true);
        }
    }
    return NULL;
}

static _Noreturn void container_unpack_in_child(int in, size_t size,
                                                enum container_kind kind,
                                                int out)
{
    struct sandbox_limits limits = {size + MEMORY, 0,
                                    sandbox_seconds(PART_MAX)};
    struct container_head last = {.is_last = true};
    const char *error = NULL;
    const uint8_t *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, in, 0);

    if (data == MAP_FAILED) {
        snprintf(last.error, sizeof(last.error), "cannot be mapped");
    } else if (sandbox_enter(&limits, NULL, last.error, sizeof(last.error)) ==
               0) {
        error = kind == CONTAINER_ZIP ? container_send_members(data, size, out)
                                      : container_send_slices(data, size, out);
        last.is_damaged = error != NULL;
        snprintf(last.error, sizeof(last.error), "%s",
                 error != NULL ? error : "");
    }
    container_put_bytes(out, &last, sizeof(last));
    _exit(0);
}

/* in the parent ----------------------------------------------------------- */

static bool container_get_bytes(int fd, void *data, size_t size)
{
    char *p = data;
    ssize_t n;

    for (; size > 0; p += n > 0 ? n : 0, size -= n > 0 ? (size_t)n : 0) {
        n = read(fd, p, size);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
    }
    return true;
}

/* Writes the pieces to a temporary file.  Returns false if the child has not
 * sent all that it should.  Without room, *file is NULL and the rest is passed
 * over; *is_whole tells whether it is all of the part. */
static bool container_get_content(int fd, FILE **file, bool *is_whole)
{
    static char piece[PIECE_MAX];
    uint64_t all = 0;
    uint32_t n, whole;

    *file = tmpfile();
    for (;;) {
        if (!container_get_bytes(fd, &n, sizeof(n)) || n > PIECE_MAX ||
            all > PART_MAX || (n > 0 && !container_get_bytes(fd, piece, n))) {
            return false;
        }
        if (n == 0) {
            break;
        }
        all += n;
        if (*file != NULL && fwrite(piece, 1, n, *file) != n) {
            fclose(*file);
            *file = NULL;
        }
    }
    if (*file != NULL && fflush(*file) != 0) {
        fclose(*file);
        *file = NULL;
    }
    if (!container_get_bytes(fd, &whole, sizeof(whole))) {
        return false;
    }
    *is_whole = whole != 0;
    return true;
}

static void container_name_part(struct container_part *part,
                                const struct container_head *head)
{
    memset(part, 0, sizeof(*part));
    snprintf(part->name, sizeof(part->name), "%.*s",
             (int)sizeof(head->name) - 1, head->name);
    snprintf(part->error, sizeof(part->error), "%.*s",
             (int)sizeof(head->error) - 1, head->error);
    part->is_damaged = head->is_damaged;
    part->is_cut = head->is_cut;
    part->file = basename(part->name);
}

/* Returns 0 at the end that the child has told of, with its error. */
static int container_get_parts(int fd, enum container_kind kind,
                               void (*take)(void *arg,
                                            const struct container_part *part),
                               void *arg, char *error, size_t size)
{
    struct container_part part;
    struct container_head head;
    bool is_sent, is_whole;

    while (container_get_bytes(fd, &head, sizeof(head))) {
        container_name_part(&part, &head);
        if (head.is_last) {
            snprintf(error, size, "%s", part.error);
            return part.error[0] == '\0' ? 0 : part.is_damaged ? 1 : -1;
        }
        if (kind == CONTAINER_FAT) {
            part.file = NULL;
        }
        if (head.has_content) {
            is_sent = container_get_content(fd, &part.content, &is_whole);
            if ((!is_sent || !is_whole) && part.content != NULL) {
                fclose(part.content);
            }
            if (!is_sent) {
                break;
            }
            if (!is_whole) {
                continue; /* the next head says why */
            }
            if (part.content == NULL) {
                part.is_damaged = part.has_failed = true;
                snprintf(part.error, sizeof(part.error),
                         "there is no room for a temporary file");
            }
        }
        take(arg, &part);
    }
    snprintf(error, size, "its reader ended");
    return -1;
}

int container_read(int fd, enum container_kind kind,
                   void (*take)(void *arg, const struct container_part *part),
                   void *arg, char *error, size_t size)
{
    int ends[2], status, rc;
    struct stat st;
    pid_t pid;

    if (fstat(fd, &st) != 0 || pipe(ends) != 0) {
        snprintf(error, size, "%s", strerror(errno));
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        container_unpack_in_child(fd, (size_t)st.st_size, kind, ends[1]);
    }
    close(ends[1]);
    if (pid == -1) {
        close(ends[0]);
        snprintf(error, size, "no process to read it");
        return -1;
    }
    rc = container_get_parts(ends[0], kind, take, arg, error, size);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return rc;
}
