/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbfile: makes and reads symbfiles, the files of names of
 * Elastic's Universal Profiling, and sends them to a server.
 */
#include <capstone/capstone.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addresses.h"
#include "run_conversion.h"
#include "debuginfo/symbfile/symbfile.h"
#include "input.h"
#include "symcachectl/command.h"
#include "symcachectl/helper/symbfile_push.h"
#include "symcachectl/options.h"
#include "symcachectl/terminal/output.h"

#define NAME "symbfile"
#define PARTS_MAX 10000 /* as servers allow */
#define SHOWN 40 /* bytes of a line that is not an address */

struct symbfile {
    const char *output;
    const char *url;
    const char *api_key;
    const char *parts;
    const char *debug_file;
    int has_return_pads;
    struct symbfile_search search;
    struct addresses addresses;
    struct output out;
    bool has_found;
};

static struct symbfile symbfile; /* its buffers are large */

static int symbfile_damaged(const char *file, const struct failure *failure)
{
    return command_fail(failure->code == FAILURE_DAMAGED ? COMMAND_FOREIGN
                                                         : COMMAND_IO,
                        file, failure->text);
}

/* make -------------------------------------------------------------------- */

static int write_symbfile(const char *input, const char *output, bool is_pads)
{
    const struct conversion c = {
        .program = "symcachectl", .input = input, .output = output,
        .folder = ".", .has_sandbox = true, .is_durable = true,
        .make = is_pads ? symbfile_output_pads : symbfile_output};

    if (is_pads) {
        cs_version(NULL, NULL); /* the sandbox could not load the library */
    }
    return run_conversion(&c);
}

static int symbfile_make(int argc, char **argv)
{
    if (argc != 1 || symbfile.output == NULL) {
        return command_usage(NAME,
                             argc == 0                 ? "no FILE"
                             : symbfile.output == NULL ? "make without -o"
                                                       : "more than one FILE",
                             argc > 1 ? argv[1] : NULL);
    }
    return write_symbfile(argv[0], symbfile.output,
                          symbfile.has_return_pads != 0);
}

/* push -------------------------------------------------------------------- */

/* Makes both files in a folder and sends them.  Without instructions, which the
 * converter has said, there are ranges only; they are enough. */
static int symbfile_send_both(struct symbfile_push *push, const char *file,
                              const char *ranges, const char *pads)
{
    int code = symbfile_id(file, push->file_id);
    bool has_pads;

    if (code == COMMAND_OK) {
        code = write_symbfile(symbfile.debug_file != NULL ? symbfile.debug_file
                                                          : file,
                              ranges, false);
    }
    if (code != COMMAND_OK) {
        return code;
    }
    has_pads = symbfile.debug_file == NULL &&
               write_symbfile(file, pads, true) == COMMAND_OK;
    return symbfile_push(push, ranges, has_pads ? pads : NULL);
}

static int symbfile_push_command(int argc, char **argv)
{
    char folder[] = "/tmp/symbfile-XXXXXX";
    char ranges[sizeof(folder) + 8], pads[sizeof(folder) + 8];
    struct symbfile_push push = {
        .url = symbfile.url, .api_key = symbfile.api_key, .parts = 1};
    int code;

    if (argc != 1 || symbfile.url == NULL) {
        return command_usage(NAME,
                             symbfile.url == NULL ? "push without --url"
                             : argc == 0          ? "no FILE"
                                                  : "more than one FILE",
                             argc > 1 ? argv[1] : NULL);
    }
    if (options_number(NAME, "--parts", symbfile.parts, 1, PARTS_MAX,
                       &push.parts) != COMMAND_OK) {
        return COMMAND_USAGE;
    }
    if (mkdtemp(folder) == NULL) {
        return command_fail(COMMAND_IO, folder, strerror(errno));
    }
    snprintf(ranges, sizeof(ranges), "%s/ranges", folder);
    snprintf(pads, sizeof(pads), "%s/pads", folder);
    code = symbfile_send_both(&push, argv[0], ranges, pads);
    unlink(ranges);
    unlink(pads);
    rmdir(folder);
    return code;
}

/* show -------------------------------------------------------------------- */

static void print_symbfile_place(struct output *out,
                                 const struct symc_string *file, uint32_t line)
{
    static const struct symc_string unknown = {"?", 1};

    output_string(out, file->size == 0 ? &unknown : file);
    output_text(out, ":");
    output_decimal(out, line);
}

static void print_symbfile_frame(struct output *out,
                                 const struct symbfile_frame *frame)
{
    output_string(out, &frame->func);
    output_text(out, " at ");
    print_symbfile_place(out, &frame->file, frame->line);
    output_text(out, "\n");
}

static void show_symbfile_range(struct output *out,
                                const struct symbfile_record *record)
{
    size_t i;

    output_text(out, "range ");
    output_hex(out, record->address, 1);
    output_text(out, " size ");
    output_hex(out, record->size, 1);
    output_text(out, " depth ");
    output_decimal(out, record->depth);
    output_text(out, " ");
    output_string(out, &record->func);
    if (record->file.size > 0) {
        output_text(out, " in ");
        output_string(out, &record->file);
    }
    if (record->depth > 0) {
        output_text(out, " called at ");
        print_symbfile_place(out, &record->call_file, record->call_line);
    }
    output_text(out, "\n");
    for (i = 0; i < record->num_lines; i++) {
        output_text(out, "    ");
        output_hex(out, record->address + record->lines[i].offset, 1);
        output_text(out, " line ");
        output_decimal(out, record->lines[i].line);
        output_text(out, "\n");
    }
}

static void show_symbfile_pad(struct output *out,
                              const struct symbfile_record *record)
{
    size_t i;

    output_text(out, "return pad ");
    output_hex(out, record->address, 1);
    output_text(out, "\n");
    for (i = 0; i < record->num_frames; i++) {
        output_text(out, "    ");
        print_symbfile_frame(out, &record->frames[i]);
    }
}

static int symbfile_show(int argc, char **argv)
{
    int rc;
    struct input_bytes bytes;
    struct symbfile_reader reader;
    struct symbfile_record record;
    struct failure failure = {FAILURE_DAMAGED, ""};

    if (argc != 1) {
        return command_usage(NAME, argc == 0 ? "no FILE"
                                             : "more than one FILE",
                             argc > 1 ? argv[1] : NULL);
    }
    if (input_load(argv[0], &bytes) != COMMAND_OK) {
        return COMMAND_IO;
    }
    output_init(&symbfile.out, STDOUT_FILENO);
    symbfile_reader_init(&reader, bytes.data, bytes.size);
    while ((rc = symbfile_reader_next(&reader, &record)) > 0 &&
           symbfile.out.error == 0) {
        (record.is_pad ? show_symbfile_pad
                       : show_symbfile_range)(&symbfile.out, &record);
    }
    if (rc < 0) {
        output_flush(&symbfile.out);
        snprintf(failure.text, sizeof(failure.text), "%s", reader.error);
        failure.code = reader.is_out_of_memory ? FAILURE_LIMIT
                                               : FAILURE_DAMAGED;
        rc = symbfile_damaged(argv[0], &failure);
    }
    symbfile_reader_free(&reader);
    return output_finish(&symbfile.out, rc);
}

/* lookup ------------------------------------------------------------------ */

static void print_symbfile_frames(uint64_t address)
{
    long i, n;
    const struct symbfile_frame *frames;

    n = symbfile_search_at(&symbfile.search, address, &frames);
    if (n < 0) {
        command_no_memory();
    }
    for (i = 0; i < n; i++) {
        print_symbfile_frame(&symbfile.out, &frames[i]);
    }
    symbfile.has_found = symbfile.has_found || n > 0;
}

static int symbfile_bad_address(void)
{
    char text[SHOWN + 1];
    size_t size =
        symbfile.addresses.size < SHOWN ? symbfile.addresses.size : SHOWN;

    output_flush(&symbfile.out);
    if (symbfile.addresses.error != 0) {
        return command_fail(COMMAND_IO, "standard input",
                            strerror(symbfile.addresses.error));
    }
    memcpy(text, symbfile.addresses.text, size);
    text[size] = '\0';
    return command_usage(NAME, "no address on standard input", text);
}

static int symbfile_from_stdin(void)
{
    int rc;
    uint64_t address;

    addresses_init(&symbfile.addresses);
    for (;;) {
        if (!addresses_is_ready(&symbfile.addresses)) {
            output_flush(&symbfile.out);
        }
        if (symbfile.out.error != 0) {
            return COMMAND_OK; /* output_finish() reports the error */
        }
        rc = addresses_next(&symbfile.addresses, addresses_parse, &address);
        if (rc <= 0) {
            return rc == 0 ? COMMAND_OK : symbfile_bad_address();
        }
        print_symbfile_frames(address);
    }
}

static int from_arguments(int count, char **texts)
{
    int i;
    uint64_t address;

    for (i = 0; i < count; i++) {
        if (addresses_parse(texts[i], strlen(texts[i]), &address) == 0) {
            print_symbfile_frames(address);
        }
    }
    return COMMAND_OK;
}

static int symbfile_lookup(int argc, char **argv)
{
    int i, rc;
    uint64_t address;
    struct input_bytes bytes;
    struct failure failure = {FAILURE_NONE, ""};

    if (argc == 0 || (argc == 1 && strcmp(argv[0], "-") == 0)) {
        return command_usage(NAME, argc == 0 ? "no FILE"
                                             : "standard input cannot be both "
                                               "FILE and addresses", NULL);
    }
    for (i = 1; i < argc; i++) {
        if (addresses_parse(argv[i], strlen(argv[i]), &address) != 0) {
            return command_usage(NAME, "no address", argv[i]);
        }
    }
    if (input_load(argv[0], &bytes) != COMMAND_OK) {
        return COMMAND_IO;
    }
    if (symbfile_search_open(&symbfile.search, bytes.data, bytes.size,
                             &failure) != 0) {
        return symbfile_damaged(argv[0], &failure);
    }
    output_init(&symbfile.out, STDOUT_FILENO);
    rc = argc > 1 ? from_arguments(argc - 1, argv + 1) : symbfile_from_stdin();
    symbfile_search_free(&symbfile.search);
    return output_finish(&symbfile.out, rc == COMMAND_OK && !symbfile.has_found
                                            ? COMMAND_NOT_FOUND
                                            : rc);
}

int symbfile_command(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } symbfile_actions[] = {{"make", symbfile_make},
                            {"show", symbfile_show},
                            {"lookup", symbfile_lookup},
                            {"push", symbfile_push_command}};
    const struct option_spec specs[] = {
        {"-o", NULL, &symbfile.output},
        {"--return-pads", &symbfile.has_return_pads, NULL},
        {"--url", NULL, &symbfile.url},
        {"--api-key", NULL, &symbfile.api_key},
        {"--parts", NULL, &symbfile.parts},
        {"--debug-file", NULL, &symbfile.debug_file}};
    size_t i;

    argc = options_parse(NAME, specs, COUNT(specs), argc, argv);
    if (argc < 0) {
        return COMMAND_USAGE;
    }
    for (i = 0; argc > 0 && i < COUNT(symbfile_actions); i++) {
        if (strcmp(argv[0], symbfile_actions[i].name) == 0) {
            return symbfile_actions[i].run(argc - 1, argv + 1);
        }
    }
    return command_usage(NAME, "make, show, lookup or push",
                         argc > 0 ? argv[0] : NULL);
}
