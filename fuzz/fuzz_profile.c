/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a profile of any format.  With names, it is a profile again, in
 * which no frame that got one wants names; without names, it is as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/profile/profile.h"
#include "../t/unit/symc_example.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct symc_reader *reader_of(void *arg, uint32_t module)
{
    return arg;
}

static size_t unnamed(const struct profile *profile)
{
    size_t i, n = 0;

    for (i = 0; i < profile->nplaces; i++) {
        n += profile->places[i].count == 0;
    }
    return n;
}

static void write_names(struct profile *profile, struct symc_reader *reader,
                        struct profile_output *out)
{
    if (profile_find_names(profile, reader_of, reader) != 0) {
        abort();
    }
    profile_write(profile, out);
    if (out->has_failed) {
        abort();
    }
}

static void check(const uint8_t *data, size_t size, struct symc_reader *reader)
{
    struct profile profile = {0}, again = {0};
    struct profile_output out = {0};
    char error[PROFILE_ERROR] = "";

    if (!profile_read(&profile, data, size, error)) {
        if (error[0] == '\0') {
            abort();
        }
        profile_free(&profile);
        return;
    }
    write_names(&profile, reader, &out);
    if (reader == NULL &&
        (out.size != size || memcmp(out.data, data, size) != 0)) {
        abort();
    }
    if (reader != NULL &&
        (!profile_read(&again, out.data, out.size, error) ||
         again.nplaces > profile.nplaces ||
         (again.format == PROFILE_PERF &&
          again.nplaces != unnamed(&profile)))) {
        abort();
    }
    profile_free(&again);
    profile_free(&profile);
    free(out.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct symc_reader reader;
    char error[128];

    symc_reader_open(&reader, example_v9, sizeof(example_v9), error,
                     sizeof(error));
    check(data, size, NULL);
    check(data, size, &reader);
    return 0;
}
