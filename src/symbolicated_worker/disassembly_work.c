/*
 * Copyright (C) the ngx_symcache authors
 *
 * A worker disassembles: disassembly/disassembly.h.
 */
#include "work_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "disassembly/disassembly.h"
#include "symbolication/symbolication.h"

struct disassembly_files {
    struct codecache_reader code;
    struct symc_reader names;
    bool has_code;
    bool has_names;
};

static void have_disassembly_file(void *arg, const struct work_file *file,
                                  const uint8_t *data, size_t size)
{
    struct disassembly_files *files = arg;
    char error[200];

    if (data == NULL) {
        return;
    }
    if (file->index == DISASSEMBLY_CODE) {
        files->has_code =
            codecache_reader_open(&files->code, data, size, error,
                                  sizeof(error)) == SYMC_OPENED;
    } else {
        files->has_names = symc_reader_open(&files->names, data, size, error,
                                            sizeof(error)) == SYMC_OPENED;
    }
}

void disassembly_work(const struct work_body *body)
{
    struct disassembly_files files = {.has_code = false};
    struct disassembly d = {.code = &files.code};
    struct json_writer w = {0};
    char error[DISASSEMBLY_ERROR] = "";

    if (!disassembly_order_read(&d.order, body->text)) {
        exit(1);
    }
    work_say(body->service, DISASSEMBLY_QUESTION,
             sizeof(DISASSEMBLY_QUESTION) - 1);
    work_ask(body->service, have_disassembly_file, &files);
    d.names = files.has_names ? &files.names : NULL;
    linkage_by(linkage_demangle_here); /* as this process has nothing */
    linkage_begin();
    if (!files.has_code) {
        work_refuse(body->service, DISASSEMBLY_LACKS_CODE);
    } else if (!disassemble(&d, &w, error)) {
        work_say(body->service, error, strlen(error));
        work_refuse(body->service, DISASSEMBLY_REFUSED);
    } else if (w.has_failed) {
        exit(1); /* no memory */
    } else {
        work_say(body->service, w.data, w.size);
        work_done(body->service);
    }
    free(w.data);
}
