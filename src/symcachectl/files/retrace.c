/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl retrace: a stack trace of a program that ProGuard or R8 has
 * shrunk, with its original names.  It is called as R8's retrace is.
 */
#include "symbolicate.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd_close.h"
#include "base/memory_output.h"
#include "debuginfo/proguard/proguard.h"
#include "symbolication/jvm/jvm.h"
#include "symcachectl/command.h"
#include "symcachectl/options.h"
#include "symcachectl/terminal/output.h"

#include "input.h"

/*
 * The mapping of a stack trace among those in a folder: R8 can write an id of
 * the mapping in place of a source file, r8-map-id-<hex>, and has it at the
 * begin of the mapping.
 */

#define HEAD 4096 /* bytes of a mapping, in which its comments are */
#define DIGITS 64 /* of a SHA-256; a shorter id is its begin */
#define DIGITS_MIN 7

static struct {
    char id[DIGITS + 1];
    char path[PATH_MAX]; /* "": not found yet */
    char unread[PATH_MAX];
    int error; /* of the last file or folder that cannot be read */
} wanted;

/* Reads an id, of which others may have only the first digits.  Returns how
 * many there are. */
static size_t retrace_read_id(const char *p, const char *end,
                              char id[DIGITS + 1])
{
    size_t n = 0;

    while (p < end && n < DIGITS &&
           strchr("0123456789abcdefABCDEF", *p) != NULL && *p != '\0') {
        id[n++] = *p++;
    }
    id[n] = '\0';
    return n;
}

static bool retrace_is_same(const char *a, const char *b)
{
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return n >= DIGITS_MIN && strncasecmp(a, b, n) == 0;
}

/* "# pg_map_id: 0123abc" or "# pg_map_hash: SHA-256 <hex>" */
static bool retrace_has_id(const char *head, size_t size)
{
    static const char *const lines[] = {"pg_map_id: ",
                                        "pg_map_hash: SHA-256 "};
    const char *at, *end = head + size;
    char id[DIGITS + 1];
    size_t i;

    for (i = 0; i < COUNT(lines); i++) {
        at = memmem(head, size, lines[i], strlen(lines[i]));
        if (at != NULL &&
            retrace_read_id(at + strlen(lines[i]), end, id) > 0 &&
            retrace_is_same(id, wanted.id)) {
            return true;
        }
    }
    return false;
}

static int retrace_look_at_mapping(const char *path, const struct stat *st,
                                   int type, struct FTW *ftw)
{
    char head[HEAD], *converted;
    ssize_t n;
    size_t size;
    bool is_found;
    int fd;

    if (type == FTW_SL || type == FTW_D ||
        (type == FTW_F && !S_ISREG(st->st_mode))) {
        return 0;
    }
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    n = fd >= 0 ? read(fd, head, sizeof(head)) : -1;
    if (n < 0) {
        wanted.error = errno;
        snprintf(wanted.unread, sizeof(wanted.unread), "%s", path);
    }
    fd_close(fd);
    size = n > 0 ? (size_t)n : 0;
    converted = input_as_utf8(head, &size);
    is_found = retrace_has_id(converted != NULL ? converted : head, size);
    free(converted);
    if (is_found) {
        snprintf(wanted.path, sizeof(wanted.path), "%s", path);
        return 1;
    }
    return 0;
}

/*
 * Finds the mapping in a folder, at any depth, that a trace names, and writes
 * its path.  Returns an exit code: COMMAND_NOT_FOUND after printing that the
 * trace names none, or which one is not there; or that it names several; and
 * COMMAND_IO if it may be where nothing can be read.
 */
static int retrace_find_mapping(const char *folder, const char *trace,
                                size_t size, char path[PATH_MAX])
{
    static const char mark[] = "r8-map-id-";
    const char *p = trace, *end = trace + size;
    char id[DIGITS + 1], text[160];
    int code = COMMAND_NOT_FOUND;

    wanted.id[0] = '\0';
    while ((p = memmem(p, (size_t)(end - p), mark, sizeof(mark) - 1)) !=
           NULL) {
        p += sizeof(mark) - 1;
        if (retrace_read_id(p, end, id) < DIGITS_MIN) {
            continue;
        }
        if (wanted.id[0] != '\0' && !retrace_is_same(id, wanted.id)) {
            snprintf(text, sizeof(text),
                     "the trace names several mappings, r8-map-id-%.20s and "
                     "%.20s",
                     wanted.id, id);
            return command_fail(COMMAND_NOT_FOUND, folder, text);
        }
        if (strlen(id) > strlen(wanted.id)) {
            memcpy(wanted.id, id, sizeof(id));
        }
    }
    if (wanted.id[0] == '\0') {
        return command_fail(COMMAND_NOT_FOUND, folder,
                            "the trace names no mapping in it: no frame has "
                            "r8-map-id-<hex> as its file");
    }
    wanted.path[0] = '\0';
    (void)nftw(folder, retrace_look_at_mapping, 16, FTW_PHYS);
    if (wanted.path[0] == '\0') {
        if (wanted.error != 0) {
            code = command_fail(COMMAND_IO, wanted.unread,
                                strerror(wanted.error));
        }
        snprintf(text, sizeof(text), "no mapping in it has the id %s",
                 wanted.id);
        return command_fail(code, folder, text);
    }
    snprintf(path, PATH_MAX, "%s", wanted.path);
    return COMMAND_OK;
}

#define TRACE_MAX (256u << 20)

static struct output output;

/* Reads the trace while that is still allowed. */
static int retrace_read_trace(const char *file, struct memory_output *bytes)
{
    FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    char piece[65536], *converted;
    size_t n;
    int error;

    if (f == NULL) {
        return command_fail(COMMAND_IO, file, strerror(errno));
    }
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0) {
        if (bytes->size + n > TRACE_MAX ||
            memory_output_write(bytes, piece, n) != 0) {
            return command_fail(COMMAND_IO, file, "is too large");
        }
    }
    error = ferror(f) ? errno : 0;
    if (f != stdin) {
        fclose(f);
    }
    converted = input_as_utf8((char *)bytes->data, &bytes->size);
    if (converted != NULL) {
        free(bytes->data);
        bytes->data = (uint8_t *)converted;
    }
    return error != 0 ? command_fail(COMMAND_IO, file, strerror(error))
                      : COMMAND_OK;
}

/* Opens a ProguardCache, or makes one of a mapping. */
static int retrace_open_mapping(const char *file,
                                struct proguardcache_reader *reader)
{
    struct input_bytes input;
    struct memory_output made = {NULL, 0, 0};
    const struct symc_sink sink = {memory_output_write, &made};
    struct failure failure = {FAILURE_NONE, ""};
    char error[256], *converted;
    bool is_binary = false;

    if (input_load(file, &input) != COMMAND_OK) {
        return COMMAND_IO;
    }
    if (!proguardcache_sniff(input.data, input.size)) {
        converted = input_as_utf8((char *)input.data, &input.size);
        input.data = converted != NULL ? (uint8_t *)converted : input.data;
        is_binary = memchr(input.data, '\0', input.size) != NULL;
        if (proguard_convert(input.data, input.size, &sink, &failure) != 0) {
            return command_fail(COMMAND_FOREIGN, file, failure.text);
        }
        input.data = made.data;
        input.size = made.size;
    }
    if (proguardcache_reader_open(reader, input.data, input.size, error,
                                  sizeof(error)) != SYMC_OPENED) {
        return command_fail(COMMAND_FOREIGN, file, error);
    }
    if (reader->counts[PROGUARDCACHE_CLASSES] == 0 && is_binary) {
        return command_fail(COMMAND_FOREIGN, file, "not a mapping");
    }
    if (reader->counts[PROGUARDCACHE_CLASSES] == 0) {
        (void)command_fail(COMMAND_OK, file,
                           "note: not a mapping: it renames nothing");
    }
    return COMMAND_OK;
}

/* Control characters but for those of lines are made visible. */
static void print_retraced(void *context, const char *data, size_t size)
{
    const char *end = data + size;
    struct symc_string text = {data, 0};

    for (; data < end; data++) {
        if (*data == '\n' || *data == '\t' ||
            (*data == '\r' && data + 1 < end && data[1] == '\n')) {
            text.size = (size_t)(data - text.data);
            output_string(context, &text);
            output_text(context, *data == '\n'   ? "\n"
                                 : *data == '\t' ? "\t"
                                                 : "\r");
            text.data = data + 1;
        }
    }
    text.size = (size_t)(end - text.data);
    output_string(context, &text);
}

int retrace_show(const char *mapping, const char *file)
{
    static const char too_large[] =
        "with its names the trace has more than 64 MiB and 16 times its "
        "size; the rest is not printed";
    const struct jvm_output_text to = {print_retraced, &output};
    struct proguardcache_reader reader;
    struct memory_output trace = {NULL, 0, 0};
    char found[PATH_MAX];
    struct stat st;
    int rc = retrace_read_trace(file, &trace);

    if (rc == COMMAND_OK && stat(mapping, &st) == 0 && S_ISDIR(st.st_mode)) {
        rc = retrace_find_mapping(mapping, (char *)trace.data, trace.size,
                                  found);
        mapping = found;
    }
    if (rc == COMMAND_OK) {
        rc = retrace_open_mapping(mapping, &reader);
    }
    if (rc == COMMAND_OK && trace.size > 0) {
        output_init(&output, STDOUT_FILENO);
        switch (
            jvm_retrace(&reader, (char *)trace.data, trace.size, &to)) {
        case JVM_RETRACED_NO_MEMORY:
            rc = command_fail(COMMAND_IO, file, "out of memory");
            break;
        case JVM_RETRACED_TOO_LARGE:
            rc = command_fail(COMMAND_FOREIGN, mapping, too_large);
            break;
        default:
            break;
        }
        rc = output_finish(&output, rc);
    }
    free(trace.data);
    return rc;
}

int retrace_command(int argc, char **argv)
{
    int is_quiet = 0, has_info = 0;
    const struct option_spec specs[] = {{"--quiet", &is_quiet, NULL},
                                        {"--info", &has_info, NULL}};

    argc = options_parse("retrace", specs, COUNT(specs), argc, argv);
    if (argc < 1 || argc > 2) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("retrace",
                                        argc < 1 ? "no MAPPING"
                                                 : "more than one TRACE",
                                        argc < 1 ? NULL : argv[2]);
    }
    return retrace_show(argv[0], argc == 2 ? argv[1] : "-");
}
