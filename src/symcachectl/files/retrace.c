/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl retrace: a stack trace of a program that ProGuard or R8 has
 * shrunk, with its original names.  It is called as R8's retrace is.
 */
#include "retrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "debuginfo/proguard/proguard.h"
#include "input.h"
#include "mapping_folder.h"
#include "symbolication/jvm/jvm.h"
#include "symcachectl/command.h"
#include "symcachectl/options.h"
#include "symcachectl/terminal/output.h"

#define TRACE_MAX (256u << 20)

/* What was read or made, in memory. */
struct bytes {
    char *data;
    size_t size;
    size_t room;
};

static struct output output;

static int append_text(void *context, const void *data, size_t size)
{
    struct bytes *bytes = context;

    if (array_need(&bytes->data, &bytes->room, bytes->size + size, 1) != 0) {
        return -1;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return 0;
}

/* Reads the trace while that is still allowed. */
static int read_trace(const char *file, struct bytes *bytes)
{
    FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    char piece[65536];
    size_t n;

    if (f == NULL) {
        return command_fail(COMMAND_IO, file, strerror(errno));
    }
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0) {
        if (bytes->size + n > TRACE_MAX || append_text(bytes, piece, n) != 0) {
            return command_fail(COMMAND_IO, file, "is too large");
        }
    }
    n = (size_t)ferror(f);
    if (f != stdin) {
        fclose(f);
    }
    return n != 0 ? command_fail(COMMAND_IO, file, "cannot be read")
                  : COMMAND_OK;
}

/* Opens a ProguardCache, or makes one of a mapping. */
static int open_mapping(const char *file, struct proguardcache_reader *reader)
{
    struct input_bytes input;
    struct bytes made = {NULL, 0, 0};
    const struct symc_sink sink = {append_text, &made};
    struct failure failure = {FAILURE_NONE, ""};
    char error[256];

    if (input_load(file, &input) != COMMAND_OK) {
        return COMMAND_IO;
    }
    if (!proguardcache_sniff(input.data, input.size)) {
        if (memmem(input.data, input.size, " -> ", 4) == NULL) {
            fprintf(stderr,
                    "symcachectl: %s: note: not a mapping: it renames "
                    "nothing\n",
                    file);
        }
        if (proguard_convert(input.data, input.size, &sink, &failure) != 0) {
            return command_fail(COMMAND_FOREIGN, file, failure.text);
        }
        input.data = (uint8_t *)made.data;
        input.size = made.size;
    }
    return proguardcache_reader_open(reader, input.data, input.size, error,
                                     sizeof(error)) == SYMC_OPENED
               ? COMMAND_OK
               : command_fail(COMMAND_FOREIGN, file, error);
}

/* Control characters but for those of lines are made visible. */
static void print_retraced(void *context, const char *data, size_t size)
{
    const char *end = data + size;
    struct symc_string text = {data, 0};

    for (; data < end; data++) {
        if (*data == '\n' || *data == '\t' || *data == '\r') {
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
    const struct jvm_output_text to = {print_retraced, &output};
    struct proguardcache_reader reader;
    struct bytes trace = {NULL, 0, 0};
    char found[PATH_MAX];
    struct stat st;
    int rc = read_trace(file, &trace);

    if (rc == COMMAND_OK && stat(mapping, &st) == 0 && S_ISDIR(st.st_mode)) {
        rc = mapping_folder_find(mapping, trace.data, trace.size, found);
        mapping = found;
    }
    if (rc == COMMAND_OK) {
        rc = open_mapping(mapping, &reader);
    }
    if (rc == COMMAND_OK) {
        output_init(&output, STDOUT_FILENO);
        if (trace.size > 0 &&
            jvm_retrace(&reader, trace.data, trace.size, &to) != 0) {
            rc = command_fail(COMMAND_IO, file, "out of memory");
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

    argc = options_parse("retrace", specs, sizeof(specs) / sizeof(specs[0]),
                         argc, argv);
    if (argc < 1 || argc > 2) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("retrace",
                                        argc < 1 ? "no MAPPING"
                                                 : "more than one TRACE",
                                        argc < 1 ? NULL : argv[2]);
    }
    return retrace_show(argv[0], argc == 2 ? argv[1] : "-");
}
