/*
 * Copyright (C) the ngx_symcache authors
 *
 * A minidump that is walked, and what is written of it.
 */
#pragma once

#include "derived/cficache/cficache.h"
#include "derived/symcache/symcache.h"
#include "json/json.h"
#include "reports/minidump/minidump.h"
#include "crash_form.h"

/* Frames of a thread that are answered. */
#define REPORT_FRAMES 256

/* What there is of a module. */
struct module_symbols {
    bool is_wanted;
    bool is_asked;
    bool is_used; /* its CFI was, or would have been */
    bool has_cfi;
    bool has_names;
    uint8_t cfi_state; /* enum crash_file_state */
    struct cficache_reader cfi;
    struct symc_reader names;
};

struct frame {
    uint64_t address;
    enum stackwalk_trust trust;
    bool is_interrupted;
};

struct thread {
    struct stackwalk_registers registers; /* of the first frame */
    size_t first;
    size_t nframes;
    bool is_interrupted; /* some frame is */
};

struct minidump_work {
    struct form form;
    struct minidump dump;
    char *lookup_file; /* the first module's, if rules have another; or NULL */
    struct stackwalk walk;
    struct module_symbols *symbols; /* of all modules */
    uint32_t *asked; /* modules of the newest question, room for all */
    size_t nasked;
    struct thread *threads;
    struct thread *thread; /* that is walked */
    struct frame *frames;
    size_t nframes;
    size_t room;
    size_t max_frames;
    bool has_more;   /* frames than max_frames */
    bool is_wanting; /* the walk came to a module that was not asked for */
    struct json_writer writer;
};

/* Writes what is asked for, or the result; see reports/crash/crash.h. */
void minidump_message_question(struct minidump_work *work);
void minidump_message_result(struct minidump_work *work);
