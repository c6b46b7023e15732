/*
 * Copyright (C) the ngx_symcache authors
 */
#include "minidump_work.h"

#include <stdio.h>
#include <string.h>

#define CODE_FILE_MAX 4096 /* bytes */

static const char *message_type(const struct minidump *dump)
{
    switch (dump->os) {
    case MINIDUMP_WINDOWS:
        return "pe";
    case MINIDUMP_MACOS:
    case MINIDUMP_IOS:
        return "macho";
    case MINIDUMP_LINUX:
    case MINIDUMP_ANDROID:
    case MINIDUMP_SOLARIS:
        return "elf";
    default:
        return "unknown";
    }
}

static bool has_id_of_first(const struct minidump *dump, size_t i)
{
    return strcmp(dump->modules[i].debug_id, dump->modules[0].debug_id) == 0;
}

/* symbolicated refuses a request with a longer name; one that a dump has is
 * cut, where a character begins. */
static void message_code_file(struct json_writer *message, const char *file)
{
    size_t size = strlen(file);

    if (size > CODE_FILE_MAX) {
        size = CODE_FILE_MAX;
        while (size > 0 && ((unsigned char)file[size] & 0xc0) == 0x80) {
            size--;
        }
    }
    json_put_string(message, "code_file", file, size);
}

static void message_module(struct minidump_work *work, size_t i)
{
    const struct minidump_module *module = &work->dump.modules[i];
    struct json_writer *message = &work->writer;

    json_write_open(message, '{');
    json_put_known(message, "type", message_type(&work->dump));
    json_put_known(message, "code_id", module->code_id);
    if (module->code_file[0] != '\0') {
        message_code_file(message, module->code_file);
    }
    if (module->has_debug_id) {
        json_put_known(message, "debug_id", module->debug_id);
    }
    if (module->debug_file != NULL && module->debug_file[0] != '\0') {
        json_put_known(message, "debug_file", module->debug_file);
    }
    json_put_hex(message, "image_addr", module->base);
    json_put_number(message, "image_size", module->size);
}

void minidump_message_question(struct minidump_work *work)
{
    struct json_writer *message = &work->writer;
    size_t i;

    json_write_reset(message);
    json_write_open(message, '{');
    form_write(&work->form, message);
    json_put_open(message, "modules", '[');
    work->nasked = 0;
    for (i = 0; i < work->dump.num_modules; i++) {
        if (!work->symbols[i].is_wanted || work->symbols[i].is_asked) {
            continue;
        }
        work->asked[work->nasked++] = (uint32_t)i;
        message_module(work, i);
        if (has_id_of_first(&work->dump, i)) {
            json_put_known(message, "lookup_file", work->lookup_file);
        }
        json_write_close(message, '}');
    }
    json_write_close(message, ']');
    json_put_open(message, "stacktraces", '[');
    json_write_open(message, '{');
    json_put_open(message, "frames", '[');
    for (i = 0; i < work->nasked; i++) {
        json_write_open(message, '{');
        json_put_hex(message, "instruction_addr",
                     work->dump.modules[work->asked[i]].base);
        json_write_close(message, '}');
    }
    json_write_close(message, ']');
    json_write_close(message, '}');
    json_write_close(message, ']');
    json_write_close(message, '}');
}

/* the result ---------------------------------------------------------------
 */

static void message_system(struct minidump_work *work)
{
    const struct minidump *dump = &work->dump;
    struct json_writer *message = &work->writer;

    json_put_open(message, "system_info", '{');
    json_put_known(message, "os_name", minidump_os_name(dump->os));
    json_put_known(message, "os_version", dump->os_version);
    json_put_known(message, "os_build", dump->os_build);
    json_put_known(message, "cpu_arch",
                   dump->cpu_name != NULL ? dump->cpu_name : "unknown");
    json_put_known(message, "device_model", "");
    json_write_close(message, '}');
}

static void message_head(struct minidump_work *work)
{
    const struct minidump *dump = &work->dump;
    struct json_writer *message = &work->writer;
    char reason[MINIDUMP_REASON + 32] = "";

    if (dump->has_exception) {
        snprintf(reason, sizeof(reason), "%s / 0x%llx", dump->reason,
                 (unsigned long long)dump->crash_address);
    }
    json_put_open(message, "report", '{');
    json_put_number(message, "timestamp", dump->time);
    message_system(work);
    json_put_bool(message, "crashed", dump->has_exception);
    json_put_known(message, "crash_reason", reason);
    json_put_known(message, "assertion", "");
    json_write_close(message, '}');
}

static void message_registers(struct minidump_work *work,
                              const struct stackwalk_registers *registers)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[work->dump.cpu];
    struct json_writer *message = &work->writer;
    unsigned i;

    json_put_open(message, "registers", '{');
    for (i = 0; i < cpu->num_registers; i++) {
        if ((registers->known >> i & 1) != 0) {
            json_put_hex(message, cpu->names[i], registers->values[i]);
        }
    }
    json_write_close(message, '}');
}

/* Those who look names up take the address of each frame but the first for a
 * return address; where a frame says of itself that it is none, the first one
 * has to do so, too. */
static void message_frame(struct json_writer *message,
                          const struct frame *frame, bool is_exact)
{
    static const char *const trusts[] = {[STACKWALK_CONTEXT] = "context",
                                         [STACKWALK_CFI] = "cfi",
                                         [STACKWALK_FP] = "fp",
                                         [STACKWALK_SCAN] = "scan"};

    json_write_open(message, '{');
    json_put_hex(message, "instruction_addr", frame->address);
    json_put_known(message, "trust", trusts[frame->trust]);
    if (is_exact) {
        json_put_bool(message, "adjust_instruction_addr", false);
    }
    json_write_close(message, '}');
}

static void message_own_frames(struct minidump_work *work,
                               const struct minidump_thread *thread)
{
    struct json_writer *message = &work->writer;
    struct minidump_own_frame frame;
    uint32_t i;

    work->has_more |=
        thread->num_own_frames > work->max_frames - work->nframes;
    for (i = 0; i < thread->num_own_frames && work->nframes < work->max_frames;
         i++, work->nframes++) {
        frame = minidump_own_frame(&work->dump, thread, i);
        json_write_open(message, '{');
        json_put_hex(message, "instruction_addr", frame.address);
        json_put_known(message, "trust", "prewalked");
        json_put_string(message, "function", (const char *)frame.function.data,
                        frame.function.size);
        json_write_close(message, '}');
    }
}

static void message_thread(struct minidump_work *work, size_t i)
{
    const struct minidump *dump = &work->dump;
    const struct thread *thread = &work->threads[i];
    struct json_writer *message = &work->writer;
    const struct frame *frame;
    size_t k;

    json_write_open(message, '{');
    json_put_number(message, "thread_id", dump->threads[i].id);
    json_put_known(message, "thread_name", dump->threads[i].name);
    if (dump->requesting != SIZE_MAX) {
        json_put_bool(message, "is_requesting", i == dump->requesting);
    }
    if (thread->nframes > 0) {
        message_registers(work, &thread->registers);
    }
    json_put_open(message, "frames", '[');
    message_own_frames(work, &dump->threads[i]);
    for (k = 0; dump->threads[i].num_own_frames == 0 && k < thread->nframes;
         k++) {
        frame = &work->frames[thread->first + k];
        message_frame(message, frame,
                      k == 0 ? thread->is_interrupted : frame->is_interrupted);
    }
    json_write_close(message, ']');
    json_write_close(message, '}');
}

static void message_unwind_status(struct json_writer *message,
                                  const struct module_symbols *symbols)
{
    static const char *const statuses[] = {
        [CRASH_FILE_FOUND] = "found",
        [CRASH_FILE_MISSING] = "missing",
        [CRASH_FILE_MALFORMED] = "malformed",
        [CRASH_FILE_FETCHING_FAILED] = "fetching_failed",
        [CRASH_FILE_OTHER] = "other",
    };

    json_put_known(message, "unwind_status",
                   symbols->is_used && symbols->cfi_state <= CRASH_FILE_OTHER
                       ? statuses[symbols->cfi_state]
                       : "unused");
}

static void message_modules(struct minidump_work *work)
{
    const struct minidump_module *module;
    struct json_writer *message = &work->writer;
    size_t i;

    json_put_open(message, "modules", '[');
    for (i = 0; i < work->dump.num_modules; i++) {
        module = &work->dump.modules[i];
        if (!module->has_debug_id && module->code_id == NULL &&
            !work->symbols[i].is_used) {
            continue;
        }
        message_module(work, i);
        message_unwind_status(message, &work->symbols[i]);
        if (i == 0) {
            json_put_known(message, "lookup_file", work->lookup_file);
        }
        json_write_close(message, '}');
    }
    json_write_close(message, ']');
}

void minidump_message_result(struct minidump_work *work)
{
    struct json_writer *message = &work->writer;
    size_t i;

    json_write_reset(message);
    json_write_open(message, '{');
    form_write(&work->form, message);
    message_head(work);
    json_put_open(message, "stacktraces", '[');
    for (i = 0; i < work->dump.num_threads; i++) {
        message_thread(work, i);
    }
    json_write_close(message, ']');
    message_modules(work);
    json_put_known(message, "left_out",
                   work->dump.cut == NULL && work->has_more ? "frames"
                                                            : work->dump.cut);
    json_write_close(message, '}');
}
