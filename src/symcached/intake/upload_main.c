/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process that reads uploaded files.  It gets all files open, enters
 * the sandbox, and only then looks at the first byte.
 *
 *   --upload file     MAX:KEEP NAME ID FILE
 *   --upload symbfile MAX:KEEP NAME ID FILE
 *   --upload first    MAX:KEEP NAME ID FILE
 *   --upload part     MAX:KEEP NAME ID FILE
 *   --upload artifacts MAX:KEEP NAME ID FILE
 *   --upload object   MAX:KEEP NAME
 *   --upload chunks MAX:KEEP - BOUNDARY
 *   --upload zip  MAX:KEEP PLACE BOUNDARY
 *   --upload package MAX:KEEP PLACE BOUNDARY
 *   --upload mappings MAX:KEEP PLACE BOUNDARY
 *
 * MAX is how many bytes may come out, KEEP how many stay free on the disk, and
 * PLACE where in the archive to go on, as the last process has said it, or
 * "-". A package is one of NuGet (.snupkg): of its members the PDBs are taken,
 * whose ids are not in their paths.  Mappings are the members <UUID>.txt.
 * Symbfiles do not name their module, so the path is believed; parts of them,
 * the first or another one, only get it back.  An object has a name and may be
 * any file whose identity can be read. Chunks are the parts of a form, each
 * packed by gzip where its field is called so, and are stored by their SHA-1.
 */
#include "intake.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>
#include <nettle/sha1.h>
#include "base/array.h"
#include "base/control.h"
#include "base/hex.h"
#include "child/child.h"
#include "proto/upload.h"
#include "sandbox/sandbox.h"
#include "symcached/space/space.h"
#include "debuginfo/identity/identity.h"
#include "debuginfo/sourcebundle/sourcebundle.h"
#include "debuginfo/symbfile/symbfile.h"
#include "debuginfo/zip/zip.h"
#include "form.h"
#include "upload_report.h"

#define UPLOAD_MEMORY (512ull * 1024 * 1024) /* beside the mappings */
#define TEXT_SIZE 512

struct upload_main {
    const uint8_t *in; /* the body of the request */
    size_t size;
    uint64_t max; /* bytes that may still come out */
    uint64_t keep;
    const uint8_t *outs[UPLOAD_OUTS]; /* all as large as a file may be */
    const uint8_t *scratch; /* of a symbfile, likewise */
    size_t nouts;
    const char *only; /* the end of the members that are taken, whose paths do
                         not tell where they belong; or NULL */
    bool is_package;
    const char *name; /* of the file that is looked at, for errors */
    int out;          /* its descriptor */
    enum body_kind kind;
    bool has_begun; /* a piece of the member was taken */
    struct limited_writer writer;
};

/* the report ------------------------------------------------------------- */

/*
 * Writes a line of n fields.  A field cannot contain a TAB or a line end: each
 * control character becomes a blank, and a field that is too long is cut.
 */
static void upload_say_fields(const char *const *fields, size_t n)
{
    char line[4096];
    size_t i, len = 0;
    const char *p;
    ssize_t rc;

    for (i = 0; i < n; i++) {
        for (p = fields[i]; *p != '\0' && len < sizeof(line) - n; p++) {
            line[len++] = control_is(*p) ? ' ' : *p;
        }
        line[len++] = i + 1 < n ? '\t' : '\n';
    }
    do {
        rc = write(UPLOAD_REPORT_FD, line, len);
    } while (rc < 0 && errno == EINTR);
    if (rc != (ssize_t)len) {
        _exit(1); /* without this line the others would be believed */
    }
}

static void upload_say_end(void)
{
    const char *const end = "end";

    upload_say_fields(&end, 1);
}

/* Says why nothing can be taken, or for 413 only the file, and returns -1. */
static int upload_main_refuse(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int upload_main_refuse(int status, const char *format, ...)
{
    char number[16], text[2048];
    const char *const fields[] = {"refuse", number, text};
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(number, sizeof(number), "%d", status);
    upload_say_fields(fields, COUNT(fields));
    return -1;
}

/* one file --------------------------------------------------------------- */

/* Reports why a writer failed, or why the input is bad. */
static int refuse_writer(const struct upload_main *upload,
                         enum body_status status, const char *detail)
{
    if (upload->writer.error == EFBIG) {
        return upload_main_refuse(413, "%s", upload->name);
    }
    if (limited_writer_is_full(&upload->writer)) {
        return upload_main_refuse(507, "%s: no room on the disk",
                                  upload->name);
    }
    return upload_main_refuse(status == BODY_SYSTEM ? 500 : 400, "%s: %s",
                              upload->name, detail);
}

static void start_writer(struct upload_main *upload, int fd)
{
    upload->writer = (struct limited_writer){
        .fd = fd, .max = upload->max, .keep = upload->keep};
}

/* Unpacks fd, whose content is packed, into the file's own descriptor. */
static int unpack_upload(struct upload_main *upload, int fd)
{
    char detail[TEXT_SIZE] = "";
    enum body_status status;

    start_writer(upload, upload->out);
    status = decompress(upload->kind, fd, NULL, &upload->writer, detail,
                        sizeof(detail));
    return status == BODY_OK ? 0 : refuse_writer(upload, status, detail);
}

static bool has_end(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len >= n && strcasecmp(name + len - n, end) == 0;
}

/* All of a file is there: tells where it belongs. */
static int finish_upload(struct upload_main *upload,
                         const char *const parts[3], bool packed)
{
    char ids[SYMSTORE_PATH_IDS][SYMCACHE_ID_TEXT_MAX + 1];
    char detail[TEXT_SIZE] = "", out[16], bytes[32], features[16];
    struct symstore_path place;
    const char *fields[UPLOAD_REPORT_FILE_FIELDS + SYMSTORE_PATH_IDS] = {
        "file",     out,          bytes,        place.name, place.id,
        place.file, upload->name, place.module, features};
    off_t size = lseek(upload->out, 0, SEEK_END);
    size_t i;

    if (size < 0) {
        return upload_main_refuse(500, "%s: %s", upload->name,
                                  strerror(errno));
    }
    if (size == 0) {
        return upload_main_refuse(400, "%s is empty", upload->name);
    }
    if (!symstore_path_read(upload->outs[upload->out - UPLOAD_OUT_FD],
                            (size_t)size, parts, packed, &place, detail,
                            sizeof(detail))) {
        return upload_main_refuse(400, "%s %s", upload->name, detail);
    }
    if (parts[1] == NULL && place.format != FORMAT_BREAKPAD &&
        has_end(parts[0], ".sym")) {
        return upload_main_refuse(400, "%s is not Breakpad's text",
                                  upload->name);
    }
    snprintf(out, sizeof(out), "%d", upload->out - UPLOAD_OUT_FD);
    snprintf(bytes, sizeof(bytes), "%" PRIu64, (uint64_t)size);
    snprintf(features, sizeof(features), "%d:%x", (int)place.format,
             place.features);
    for (i = 0; i < place.nids; i++) {
        symcache_id_print(ids[i], &place.ids[i]);
        fields[UPLOAD_REPORT_FILE_FIELDS + i] = ids[i];
    }
    upload_say_fields(fields, UPLOAD_REPORT_FILE_FIELDS + place.nids);
    upload->max -= (uint64_t)size < upload->max ? (uint64_t)size : upload->max;
    return 0;
}

/* Tells of a file that belongs where the request says. */
static int upload_say_file(struct upload_main *upload,
                           const char *const parts[3])
{
    char out[16], bytes[32], features[16];
    const char *const fields[] = {"file",   out,      bytes,    parts[0],
                                  parts[1], parts[2], parts[2], parts[0],
                                  features, parts[1]};

    snprintf(out, sizeof(out), "%d", upload->out - UPLOAD_OUT_FD);
    snprintf(bytes, sizeof(bytes), "%" PRIu64, upload->writer.written);
    snprintf(features, sizeof(features), "%d:%x", FORMAT_SYMBFILE,
             SYMCACHE_HAS_DEBUG);
    upload_say_fields(fields, COUNT(fields));
    return 0;
}

static bool is_packed(enum body_kind kind)
{
    return kind < BODY_OTHER;
}

/* The body is one file. */
static int upload_take_file(struct upload_main *upload,
                            const char *const path[3])
{
    char detail[TEXT_SIZE] = "";
    enum body_status status;
    const char *what;

    upload->out = UPLOAD_OUT_FD;
    upload->name = path[2] != NULL ? path[2] : path[0];
    upload->kind =
        body_sniff(upload->in,
                   upload->size < BODY_HEAD ? upload->size : BODY_HEAD, &what);
    if (is_packed(upload->kind)) {
        return unpack_upload(upload, UPLOAD_IN_FD) == 0
                   ? finish_upload(upload, path, true)
                   : -1;
    }
    start_writer(upload, upload->out);
    status = body_copy(UPLOAD_IN_FD, &upload->writer, detail, sizeof(detail));
    return status == BODY_OK ? finish_upload(upload, path, false)
                             : refuse_writer(upload, status, detail);
}

/* symbfiles -------------------------------------------------------------- */

static int write_joined(void *context, const void *data, size_t size)
{
    return limited_writer_write(context, data, size);
}

/* The body can be several symbfiles in a row, but only one is stored. */
static int upload_join_parts(struct upload_main *upload, const uint8_t *data,
                             size_t size)
{
    struct symc_sink sink = {write_joined, &upload->writer};
    char detail[TEXT_SIZE] = "";
    int rc;

    start_writer(upload, upload->out);
    rc = symbfile_join_parts(data, size, &sink, detail, sizeof(detail));
    return rc == 0 ? 0
           : rc == -1
               ? upload_main_refuse(400, "the symbfile %s", detail)
               : refuse_writer(upload, BODY_SYSTEM, "cannot be written");
}

/*
 * Copies the body to fd, unpacked.  A slice of a symbfile may begin with the
 * magic of gzip or zstd by chance: then it does not unpack, and is as it is.
 */
static int take_body(struct upload_main *upload, int fd, bool is_slice)
{
    char detail[TEXT_SIZE] = "";
    enum body_status status;
    const char *what;

    upload->kind =
        body_sniff(upload->in,
                   upload->size < BODY_HEAD ? upload->size : BODY_HEAD, &what);
    start_writer(upload, fd);
    if (upload->kind == BODY_GZIP || upload->kind == BODY_ZSTD ||
        upload->kind == BODY_MSFZ) {
        status = decompress(upload->kind, UPLOAD_IN_FD, NULL, &upload->writer,
                            detail, sizeof(detail));
        if (status == BODY_OK || !is_slice || upload->writer.error != 0) {
            return status == BODY_OK ? 0
                                     : refuse_writer(upload, status, detail);
        }
        if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
            return upload_main_refuse(500, "%s", strerror(errno));
        }
        start_writer(upload, fd);
    }
    status = body_copy(UPLOAD_IN_FD, &upload->writer, detail, sizeof(detail));
    return status == BODY_OK ? 0 : refuse_writer(upload, status, detail);
}

static bool may_begin(const uint8_t *data, size_t size)
{
    static const char magic[] = "symbfile";

    return memcmp(data, magic, size < sizeof(magic) - 1 ? size
                                                        : sizeof(magic) - 1) ==
           0;
}

static int take_symbfile(struct upload_main *upload, char **parts,
                         const char *mode)
{
    const char *const path[3] = {parts[0], parts[1], parts[2]};
    bool is_whole = strcmp(mode, "symbfile") == 0;
    const uint8_t *got = is_whole ? upload->scratch : upload->outs[0];

    upload->out = UPLOAD_OUT_FD;
    upload->name = "the body";
    if (take_body(upload, is_whole ? UPLOAD_SCRATCH_FD : upload->out,
                  strcmp(mode, "part") == 0) != 0) {
        return -1;
    }
    if (upload->writer.written == 0) {
        return upload_main_refuse(400, "the body is empty");
    }
    if (strcmp(mode, "part") != 0 &&
        !may_begin(got, (size_t)upload->writer.written)) {
        return upload_main_refuse(400, "the body is not a symbfile");
    }
    if (is_whole &&
        upload_join_parts(upload, got, (size_t)upload->writer.written) != 0) {
        return -1;
    }
    return upload_say_file(upload, path);
}

/* chunks ------------------------------------------------------------------ */

/* The parts of a form that are files. */
struct chunks {
    struct multipart_part parts[UPLOAD_OUTS];
    size_t n;
};

static void note_chunk(void *arg, const struct multipart_part *part)
{
    struct chunks *chunks = arg;

    if (part->is_file && chunks->n++ < UPLOAD_OUTS) {
        chunks->parts[chunks->n - 1] = *part;
    }
}

/* Copies a part to fd.  Returns 0, or -1. */
static int upload_copy_part(struct upload_main *upload,
                            const struct multipart_part *part, int fd)
{
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
        return upload_main_refuse(500, "%s", strerror(errno));
    }
    start_writer(upload, fd);
    return limited_writer_write(&upload->writer, part->data, part->size) == 0
               ? 0
               : refuse_writer(upload, BODY_SYSTEM, "cannot be written");
}

static int take_chunk(struct upload_main *upload,
                      const struct multipart_part *part)
{
    const uint8_t *got = upload->outs[upload->out - UPLOAD_OUT_FD];
    char id[sizeof("hash-") + 2 * SHA1_DIGEST_SIZE];
    const char *const place[3] = {SYMCACHE_NAME_NONE, id, UPLOAD_CHUNK};
    uint8_t sum[SHA1_DIGEST_SIZE];
    struct sha1_ctx sha1;

    upload->name = "a chunk";
    upload->kind = BODY_GZIP;
    if (strcmp(part->name, "file_gzip") != 0
            ? upload_copy_part(upload, part, upload->out) != 0
            : upload_copy_part(upload, part, UPLOAD_SCRATCH_FD) != 0 ||
                  unpack_upload(upload, UPLOAD_SCRATCH_FD) != 0) {
        return -1;
    }
    if (upload->writer.written == 0) {
        return upload_main_refuse(400, "a chunk is empty");
    }
    sha1_init(&sha1);
    sha1_update(&sha1, (size_t)upload->writer.written, got);
    sha1_digest(&sha1, sizeof(sum), sum);
    hex_print(stpcpy(id, "hash-"), sum, sizeof(sum), HEX_LOWER);
    upload->max -= upload->writer.written < upload->max
                       ? upload->writer.written
                       : upload->max;
    return upload_say_file(upload, place);
}

static int upload_take_chunks(struct upload_main *upload, const char *boundary)
{
    struct chunks chunks = {.n = 0};
    char detail[TEXT_SIZE];
    size_t i;

    if (multipart_read(upload->in, upload->size, boundary, note_chunk, &chunks,
                       detail, sizeof(detail)) != 0) {
        return upload_main_refuse(400, "%s", detail);
    }
    if (chunks.n == 0 || chunks.n > upload->nouts) {
        return upload_main_refuse(400, "a request has from 1 to %zu chunks",
                                  upload->nouts);
    }
    for (i = 0; i < chunks.n; i++) {
        upload->out = UPLOAD_OUT_FD + (int)i;
        if (take_chunk(upload, &chunks.parts[i]) != 0) {
            return -1;
        }
    }
    upload_say_end();
    return 0;
}

/* artifacts --------------------------------------------------------------- */

/* Faults in some of its files are not a reason to refuse the others. */
static void upload_say_doubts(const struct upload_main *upload)
{
    char text[UPLOAD_TEXT_SIZE], number[24];
    const char *const fields[] = {"doubts", number, text};
    size_t n = sourcebundle_scripts_check(upload->in, upload->size, text,
                                          sizeof(text));

    if (n > 0) {
        snprintf(number, sizeof(number), "%zu", n);
        upload_say_fields(fields, COUNT(fields));
    }
}

/* A bundle of scripts and maps, whose path is believed. */
static int take_artifacts(struct upload_main *upload,
                          const char *const path[3])
{
    struct sourcebundle_ids ids;
    char detail[TEXT_SIZE] = "";
    const char *fields[] = {"debugid", NULL};
    size_t i;

    upload->out = UPLOAD_OUT_FD;
    upload->name = "the bundle";
    if (sourcebundle_ids_read(upload->in, upload->size, &ids, detail,
                              sizeof(detail)) != 0) {
        return upload_main_refuse(400, "%s %s", upload->name, detail);
    }
    if (ids.n > UPLOAD_DEBUG_IDS) {
        return upload_main_refuse(400, "%s has more than %d debug ids",
                                  upload->name, UPLOAD_DEBUG_IDS);
    }
    for (i = 0; i < ids.n; i++) {
        fields[1] = ids.texts[i];
        upload_say_fields(fields, COUNT(fields));
    }
    sourcebundle_ids_free(&ids);
    upload_say_doubts(upload);
    start_writer(upload, upload->out);
    return body_copy(UPLOAD_IN_FD, &upload->writer, detail, sizeof(detail)) ==
                   BODY_OK
               ? upload_say_file(upload, path)
               : refuse_writer(upload, BODY_SYSTEM, detail);
}

/* many files ------------------------------------------------------------- */

/* Splits "<name>/<id>/<file>" in place.  Returns false if it is none. */
static bool upload_split_name(char *name, const char *parts[3])
{
    char *first = strchr(name, '/');
    char *second = first != NULL ? strchr(first + 1, '/') : NULL;

    if (second == NULL || strchr(second + 1, '/') != NULL ||
        first == name || second == first + 1 || second[1] == '\0') {
        return false;
    }
    *first = '\0';
    *second = '\0';
    parts[0] = name;
    parts[1] = first + 1;
    parts[2] = second + 1;
    return true;
}

/* Members that Tecken leaves out without a word, and folders; or all but those
 * of one kind. */
static bool is_left_out(const struct upload_main *upload, const char *name)
{
    static const char list[] = "-symbols.txt", store[] = ".DS_Store";
    const char *slash = strrchr(name, '/');
    size_t len = strlen(name);

    if (upload->only != NULL) {
        return !has_end(name, upload->only);
    }
    if (len == 0 || name[len - 1] == '/' ||
        strcmp(slash != NULL ? slash + 1 : name, store) == 0) {
        return true;
    }
    return slash == NULL && has_end(name, list);
}

/* The id of a symbol server: hex digits, with a prefix for other types. */
static bool is_id(const char *id)
{
    static const char *const prefixes[] = {"elf-buildid-sym-", "elf-buildid-",
                                           "mach-uuid-sym-", "mach-uuid-"};
    size_t i, n;

    for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        n = strlen(prefixes[i]);
        if (strncasecmp(id, prefixes[i], n) == 0) {
            id += n;
            break;
        }
    }
    return id[0] != '\0' && id[strspn(id, "0123456789abcdefABCDEF")] == '\0';
}

/* Finds the parts of a member's path in copy, which has its name.  Returns
 * false if there are others than three. */
static bool upload_find_parts(const struct upload_main *upload,
                              char copy[ZIP_NAME_SIZE], const char *parts[3])
{
    char *slash = strrchr(copy, '/');

    if (strpbrk(copy, "\\:") != NULL || control_in(copy)) {
        return false;
    }
    if (upload->only != NULL) {
        parts[0] = slash != NULL ? slash + 1 : copy;
        parts[1] = NULL;
        parts[2] = upload->is_package ? parts[0] : NULL;
        return true;
    }
    return upload_split_name(copy, parts) && is_id(parts[1]) &&
           parts[0][0] != '.' && parts[2][0] != '.';
}

/* total is the size of all members before it. */
static int upload_check_member(const struct upload_main *upload,
                               const struct zip_member *member,
                               uint64_t *total)
{
    char copy[ZIP_NAME_SIZE];
    const char *parts[3];

    memcpy(copy, member->name, sizeof(copy));
    if (!upload_find_parts(upload, copy, parts)) {
        return upload_main_refuse(
            400,
            "Unrecognized file pattern. Should only be "
            "<module>/<hex>/<file> or <name>-symbols.txt and nothing "
            "else. (First unrecognized pattern was '%s')",
            member->name);
    }
    if (member->refuse != NULL) {
        return upload_main_refuse(400, "%s %s", member->name, member->refuse);
    }
    if (member->size > upload->max - *total) {
        return upload_main_refuse(413, "%s", member->name);
    }
    *total += member->size;
    return 0;
}

#define ZIP_END 22
#define NO_FILES "the archive has no files"

/* Is what zip_open() does not take an archive without members, which is the end
 * of a directory alone? */
static bool is_empty_archive(const struct upload_form *form)
{
    const uint8_t *end;

    if (form->size < ZIP_END) {
        return false;
    }
    end = form->file + form->size - ZIP_END;
    return memcmp(end, "PK\5\6", 4) == 0 && end[10] == 0 && end[11] == 0;
}

/* Before anything is unpacked, all names and sizes are looked at. */
static int check_members(const struct upload_main *upload, struct zip *zip)
{
    uint64_t n = zip_count(zip), total = 0;
    struct zip_member member;
    bool has_file = false;

    if (n > UPLOAD_FILES_MAX) {
        return upload_main_refuse(400, "the archive has more than %d members",
                                  UPLOAD_FILES_MAX);
    }
    for (; n > 0; n--) {
        if (zip_next(zip, &member) != 1) {
            return upload_main_refuse(400, "File is not a zip file");
        }
        if (!is_left_out(upload, member.name) &&
            upload_check_member(upload, &member, &total) != 0) {
            return -1;
        }
        has_file = has_file || !has_end(member.name, "/");
    }
    return has_file ? 0 : upload_main_refuse(400, NO_FILES);
}

/* A file that is packed once more is first written to another file. */
static int begin_member(struct upload_main *upload, const uint8_t *head,
                        size_t len)
{
    const char *what;
    int fd = upload->out;

    upload->kind = body_sniff(head, len < BODY_HEAD ? len : BODY_HEAD, &what);
    if (is_packed(upload->kind)) {
        fd = UPLOAD_SCRATCH_FD;
        if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
            return -1;
        }
    }
    start_writer(upload, fd);
    return 0;
}

static int upload_take_piece(void *arg, const uint8_t *data, size_t len)
{
    struct upload_main *upload = arg;

    if (!upload->has_begun) {
        upload->has_begun = true;
        if (begin_member(upload, data, len) != 0) {
            return -1;
        }
    }
    return limited_writer_write(&upload->writer, data, len);
}

static int take_member(struct upload_main *upload, struct zip *zip,
                       struct zip_member *member)
{
    char detail[TEXT_SIZE] = "", path[ZIP_NAME_SIZE];
    const char *parts[3];
    int rc;

    upload->name = member->name;
    memcpy(path, member->name, sizeof(path));
    if (!upload_find_parts(upload, path, parts) || member->refuse != NULL) {
        return upload_main_refuse(400, "the archive has changed");
    }
    upload->has_begun = false;
    rc = zip_unpack(zip, upload_take_piece, upload, detail, sizeof(detail));
    if (rc != 0) {
        return refuse_writer(upload, rc == -1 ? BODY_BAD : BODY_SYSTEM,
                             detail);
    }
    if (!is_packed(upload->kind)) {
        return finish_upload(upload, parts, false);
    }
    return unpack_upload(upload, UPLOAD_SCRATCH_FD) == 0
               ? finish_upload(upload, parts, true)
               : -1;
}

/* Takes as many members as there are files for them. */
static int take_members(struct upload_main *upload, struct zip *zip)
{
    struct zip_member member;
    uint64_t place[2] = {0, 0};
    char text[48];
    const char *const next[] = {"next", text};
    size_t n = 0;
    int rc;

    while ((rc = zip_next(zip, &member)) == 1) {
        if (is_left_out(upload, member.name)) {
            continue;
        }
        upload->out = UPLOAD_OUT_FD + (int)n;
        if (take_member(upload, zip, &member) != 0) {
            return -1;
        }
        if (++n == upload->nouts) {
            zip_tell(zip, place);
            snprintf(text, sizeof(text), "%" PRIu64 ":%" PRIu64, place[0],
                     place[1]);
            upload_say_fields(next, COUNT(next));
            return 0;
        }
    }
    if (rc < 0) {
        return upload_main_refuse(400, "File is not a zip file");
    }
    upload_say_end();
    return 0;
}

static int read_archive(struct upload_main *upload, const char *text,
                        struct zip *zip)
{
    uint64_t place[2];
    char *end;

    if (strcmp(text, "-") == 0) {
        if (check_members(upload, zip) != 0) {
            return -1;
        }
        zip_rewind(zip);
    } else {
        place[0] = strtoull(text, &end, 10);
        place[1] = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
        if (zip_seek(zip, place) != 0) {
            return upload_main_refuse(400, "File is not a zip file");
        }
    }
    return take_members(upload, zip);
}

/* A text in the form that version 1 of Breakpad's symupload sends. */
static int take_symbol_file(struct upload_main *upload,
                            const struct upload_form *form)
{
    static const char *const path[3] = {"upload.sym", NULL, NULL};

    upload->out = UPLOAD_OUT_FD;
    upload->name = path[0];
    start_writer(upload, upload->out);
    if (limited_writer_write(&upload->writer, form->file, form->size) != 0) {
        return refuse_writer(upload, BODY_SYSTEM, "cannot be written");
    }
    if (finish_upload(upload, path, false) != 0) {
        return -1;
    }
    upload_say_end();
    return 0;
}

static int take_zip(struct upload_main *upload, const char *place,
                    const char *boundary)
{
    struct upload_form form;
    char detail[TEXT_SIZE], size[32], *dot;
    const char *fields[] = {"form", "0", size, form.name};
    struct zip *zip;
    bool is_text;
    int rc;

    if (upload_form_read(upload->in, upload->size, boundary, &form, detail,
                         sizeof(detail)) != 0) {
        return upload_main_refuse(400, "%s", detail);
    }
    if (form.file == NULL) {
        return form.has_url
                   ? upload_main_refuse(400,
                                        "Uploads by URL are not offered here")
                   : upload_main_refuse(
                         400, "Must be multipart form data with at least "
                              "one file");
    }
    dot = strrchr(form.name, '.');
    is_text = upload->only == NULL &&
              strcmp(form.name, SYMCACHE_UPLOAD_SYMBOL_FIELD) == 0;
    if (upload->only == NULL && !is_text &&
        (dot == NULL || strcasecmp(dot, ".zip") != 0)) {
        return upload_main_refuse(400,
                                  "Unrecognized archive file extension \"%s\"",
                                  dot != NULL ? dot : "");
    }
    if (control_in(form.name)) {
        return upload_main_refuse(
            400, "The name of the archive has a control character");
    }
    snprintf(size, sizeof(size), "%zu", form.size);
    fields[1] = form.is_try ? "1" : "0";
    upload_say_fields(fields, COUNT(fields));
    if (is_text) {
        return take_symbol_file(upload, &form);
    }
    zip = zip_open(form.file, form.size);
    if (zip == NULL) {
        return upload_main_refuse(400, is_empty_archive(&form)
                                           ? NO_FILES
                                           : "File is not a zip file");
    }
    rc = read_archive(upload, place, zip);
    zip_close(zip);
    return rc;
}

/* the process ------------------------------------------------------------ */

/* Maps what will be read, because the sandbox forbids it later. */
static int map_upload(struct upload_main *upload, bool many)
{
    off_t size = lseek(UPLOAD_IN_FD, 0, SEEK_END);
    void *map;
    size_t i;

    if (size < 0) {
        return upload_main_refuse(500, "lseek: %s", strerror(errno));
    }
    if (size == 0) {
        return upload_main_refuse(400, "the request has no body");
    }
    upload->size = (size_t)size;
    map = mmap(NULL, upload->size, PROT_READ, MAP_SHARED, UPLOAD_IN_FD, 0);
    if (map == MAP_FAILED) {
        return upload_main_refuse(500, "mmap: %s", strerror(errno));
    }
    upload->in = map;
    map = mmap(NULL, (size_t)upload->max + 1, PROT_READ,
               MAP_SHARED | MAP_NORESERVE, UPLOAD_SCRATCH_FD, 0);
    if (map == MAP_FAILED) {
        return upload_main_refuse(500, "mmap: %s", strerror(errno));
    }
    upload->scratch = map;
    upload->nouts = many ? UPLOAD_OUTS : 1;
    for (i = 0; i < upload->nouts; i++) {
        map = mmap(NULL, (size_t)upload->max + 1, PROT_READ,
                   MAP_SHARED | MAP_NORESERVE, UPLOAD_OUT_FD + (int)i, 0);
        if (map == MAP_FAILED) {
            return upload_main_refuse(500, "mmap: %s", strerror(errno));
        }
        upload->outs[i] = map;
    }
    return 0;
}

int upload_main(int argc, char **argv)
{
    bool is_package = argc == 6 && strcmp(argv[2], "package") == 0;
    bool is_chunks = argc == 6 && strcmp(argv[2], "chunks") == 0;
    bool is_mappings = argc == 6 && strcmp(argv[2], "mappings") == 0;
    bool many = is_package || is_mappings || is_chunks ||
                (argc == 6 && strcmp(argv[2], "zip") == 0);
    bool is_object = argc == 5 && strcmp(argv[2], "object") == 0;
    bool is_file = argc == 7 && strcmp(argv[2], "file") == 0;
    struct sandbox_limits limits = {0};
    struct upload_main upload = {0};
    char error[TEXT_SIZE], *end;

    if (!many && !is_object && argc != 7) {
        fprintf(stderr, SANDBOX_PROGRAM ": --upload is for symcached itself\n");
        return 2;
    }
    upload.max = strtoull(argv[3], &end, 10);
    upload.keep = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
    upload.is_package = is_package;
    upload.only = is_package ? ".pdb" : is_mappings ? ".txt" : NULL;
    if (map_upload(&upload, many) != 0) {
        return 0;
    }
    limits.memory =
        UPLOAD_MEMORY + upload.size + (upload.nouts + 1) * upload.max;
    /* one byte more is how the writer notices that it is too much */
    limits.file_size = upload.max + 65536;
    limits.cpu_seconds = sandbox_seconds(upload.size + upload.max);
    if (sandbox_enter(&limits, NULL, error, sizeof(error)) != 0) {
        upload_main_refuse(500, "%s", error);
        return 0;
    }
    if (is_chunks) {
        (void)upload_take_chunks(&upload, argv[5]);
    } else if (strcmp(argv[2], "artifacts") == 0) {
        if (take_artifacts(&upload, (const char *const[]){argv[4], argv[5],
                                                          argv[6]}) == 0) {
            upload_say_end();
        }
    } else if (many) {
        (void)take_zip(&upload, argv[4], argv[5]);
    } else if ((is_file || is_object
                    ? upload_take_file(&upload,
                                       (const char *const[]){
                                           argv[4], is_file ? argv[5] : NULL,
                                           is_file ? argv[6] : NULL})
                    : take_symbfile(&upload, argv + 4, argv[2])) == 0) {
        upload_say_end();
    }
    return 0;
}
