/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the form of an upload, the archive in it, and the report that
 * the process which reads them writes.  What comes out of an archive must never
 * exceed the limit, and a failure must have a reason.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symcached/space/space.h"
#include "base/control.h"
#include "debuginfo/identity/identity.h"
#include "debuginfo/zip/zip.h"
#include "symcached/intake/form.h"
#include "symcached/intake/upload_report.h"

#define LIMIT 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *arg, const uint8_t *data, size_t size)
{
    return limited_writer_write(arg, data, size);
}

static void unpack(struct zip *zip)
{
    static int out = -1;
    struct limited_writer writer = {.max = LIMIT};
    struct zip_member member;
    char error[256] = "";
    unsigned n;
    int rc;

    if (out < 0) {
        out = memfd_create("out", 0);
    }
    for (n = 0; n < 100 && zip_next(zip, &member) == 1; n++) {
        if (ftruncate(out, 0) != 0 || lseek(out, 0, SEEK_SET) != 0) {
            abort();
        }
        writer.fd = out;
        writer.written = 0;
        writer.error = 0;
        rc = zip_unpack(zip, take, &writer, error, sizeof(error));
        if ((rc == -1 && error[0] == '\0') || writer.written > LIMIT ||
            (rc == 0 && writer.written != member.size)) {
            abort();
        }
    }
}

static void identify(const uint8_t *data, size_t size)
{
    static const char *const parts[] = {
        "crash.pdb", "3249D99D0C4049318610F4E4FB0B69361", "crash.pdb"};
    struct symstore_path place;
    struct unified_path unified;
    char error[512] = "";

    if (unified_path_read(data, size, parts[0], &unified, error,
                          sizeof(error)) < 0 &&
        error[0] == '\0') {
        abort();
    }
    error[0] = '\0';
    if (!symstore_path_read(data, size, parts, false, &place, error,
                            sizeof(error)) &&
        error[0] == '\0') {
        abort();
    }
}

static void report(const uint8_t *data, size_t size)
{
    static struct upload_report result;
    char *text = malloc(size + 1);
    size_t i;

    memcpy(text, data, size);
    text[size] = '\0';
    upload_report_read(&result, text, size);
    for (i = 0; i < result.nfiles && result.status == 0; i++) {
        if (strchr(result.files[i].place.file, '/') != NULL ||
            control_in(result.files[i].place.id) ||
            result.files[i].place.name[0] == '.') {
            abort();
        }
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct upload_form form;
    char error[256] = "";
    struct zip *zip;

    if (upload_form_read(data, size, "b0undary", &form, error,
                         sizeof(error)) != 0) {
        if (error[0] == '\0') {
            abort();
        }
        form.file = NULL;
    }
    zip = form.file != NULL ? zip_open(form.file, form.size)
                            : zip_open(data, size);
    if (zip != NULL) {
        unpack(zip);
        zip_close(zip);
    }
    identify(data, size);
    report(data, size);
    return 0;
}
