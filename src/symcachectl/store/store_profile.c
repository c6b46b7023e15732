/*
 * Copyright (C) the ngx_symcache authors
 */
#include "store_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/profile/profile.h"
#include "store_reader.h"
#include "symbolicated/api/build_id.h"
#include "symbolicated/api/body_input.h"
#include "symcachectl/command.h"

#define UNPACKED_MAX (1u << 30)

struct profile_names {
    const struct profile *profile;
    int root;
};

static const struct symc_reader *reader_of(void *arg, uint32_t i)
{
    const struct profile_names *names = arg;
    const struct profile_module *from = &names->profile->modules[i];
    const char *name = from->name != NULL ? from->name : SYMCACHE_NAME_NONE;
    const union derived_reader *reader = NULL;
    struct api_module module = {0};
    symcache_key_t key;

    if (symcache_name_parse(name, strlen(name), &key) == SYMCACHE_OK &&
        symcache_id_parse(from->id, strlen(from->id), &key) == SYMCACHE_OK) {
        if (build_id_module(&module, &key) != 0) {
            command_no_memory();
        }
        reader = store_reader_file(names->root, &module.key);
        free(module.hints);
    }
    return reader != NULL ? &reader->symcache : NULL;
}

/* Unpacks what is packed.  Returns false with input->error. */
static bool unpack_profile(struct input *input, char *data, size_t size)
{
    enum input_coding coding = INPUT_PLAIN;

    if (size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0) {
        coding = INPUT_GZIP;
    } else if (size >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0) {
        coding = INPUT_ZSTD;
    }
    if (input_begin(input, coding, data, size, UNPACKED_MAX) != 0) {
        command_no_memory();
    }
    while (input_more(input)) {
    }
    return input->error == NULL;
}

static int show_profile(const char *root, const char *file, const void *data,
                        size_t size)
{
    struct profile profile = {0};
    struct profile_names names = {.profile = &profile, .root = -1};
    struct profile_output out = {0};
    char error[PROFILE_ERROR];
    int code;

    names.root = store_reader_enter(root, &code);
    if (code != COMMAND_OK) {
        return code;
    }
    if (!profile_read(&profile, data, size, error)) {
        code = command_fail(COMMAND_FOREIGN, file, error);
    } else if (profile_find_names(&profile, reader_of, &names) != 0) {
        command_no_memory();
    } else {
        profile_write(&profile, &out);
        if (out.has_failed) {
            command_no_memory();
        }
        fwrite(out.data, 1, out.size, stdout);
        code = command_finish(COMMAND_OK);
    }
    free(out.data);
    profile_free(&profile);
    return code;
}

int store_profile_show(const char *root, const char *file, char *data,
                       size_t size)
{
    struct input input;
    int code;

    if (unpack_profile(&input, data, size)) {
        code = show_profile(root, file, input.data, input.size);
    } else {
        code = command_fail(COMMAND_FOREIGN, file, input.error);
    }
    input_end(&input);
    return code;
}
