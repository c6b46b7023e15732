/*
 * Copyright (C) the ngx_symcache authors
 */
#include "minidump_report.h"

#include <stdio.h>
#include <string.h>

#define CODE_FILE_MAX 4096 /* bytes */

static const char *report_type(const struct minidump *dump)
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
static void report_write_code_file(struct json_writer *w, const char *file)
{
    size_t size = strlen(file);

    if (size > CODE_FILE_MAX) {
        size = CODE_FILE_MAX;
        while (size > 0 && ((unsigned char)file[size] & 0xc0) == 0x80) {
            size--;
        }
    }
    json_put_string(w, "code_file", file, size);
}

static void write_module(struct minidump_report *report, size_t i)
{
    const struct minidump_module *module = &report->dump.modules[i];
    struct json_writer *w = &report->writer;

    json_write_open(w, '{');
    json_put_known(w, "type", report_type(&report->dump));
    json_put_known(w, "code_id", module->code_id);
    if (module->code_file[0] != '\0') {
        report_write_code_file(w, module->code_file);
    }
    if (module->has_debug_id) {
        json_put_known(w, "debug_id", module->debug_id);
    }
    if (module->debug_file != NULL && module->debug_file[0] != '\0') {
        json_put_known(w, "debug_file", module->debug_file);
    }
    json_put_hex(w, "image_addr", module->base);
    json_put_number(w, "image_size", module->size);
}

void minidump_report_write_question(struct minidump_report *report)
{
    struct json_writer *w = &report->writer;
    size_t i;

    json_write_reset(w);
    json_write_open(w, '{');
    form_write(&report->form, w);
    json_put_open(w, "modules", '[');
    report->nasked = 0;
    for (i = 0; i < report->dump.num_modules; i++) {
        if (!report->symbols[i].is_wanted || report->symbols[i].is_asked) {
            continue;
        }
        report->asked[report->nasked++] = (uint32_t)i;
        write_module(report, i);
        if (has_id_of_first(&report->dump, i)) {
            json_put_known(w, "lookup_file", report->lookup_file);
        }
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
    json_put_open(w, "stacktraces", '[');
    json_write_open(w, '{');
    json_put_open(w, "frames", '[');
    for (i = 0; i < report->nasked; i++) {
        json_write_open(w, '{');
        json_put_hex(w, "instruction_addr",
                     report->dump.modules[report->asked[i]].base);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
    json_write_close(w, ']');
    json_write_close(w, '}');
}

/* the result --------------------------------------------------------------- */

static void report_write_system(struct minidump_report *report)
{
    const struct minidump *dump = &report->dump;
    struct json_writer *w = &report->writer;

    json_put_open(w, "system_info", '{');
    json_put_known(w, "os_name", minidump_os_name(dump->os));
    json_put_known(w, "os_version", dump->os_version);
    json_put_known(w, "os_build", dump->os_build);
    json_put_known(w, "cpu_arch",
                   dump->cpu_name != NULL ? dump->cpu_name : "unknown");
    json_put_known(w, "device_model", "");
    json_write_close(w, '}');
}

static void write_head(struct minidump_report *report)
{
    const struct minidump *dump = &report->dump;
    struct json_writer *w = &report->writer;
    char reason[MINIDUMP_REASON + 32] = "";

    if (dump->has_exception) {
        snprintf(reason, sizeof(reason), "%s / 0x%llx", dump->reason,
                 (unsigned long long)dump->crash_address);
    }
    json_put_open(w, "report", '{');
    json_put_number(w, "timestamp", dump->time);
    report_write_system(report);
    json_put_bool(w, "crashed", dump->has_exception);
    json_put_known(w, "crash_reason", reason);
    json_put_known(w, "assertion", "");
    json_write_close(w, '}');
}

static void report_write_registers(struct minidump_report *report,
                                   const struct stackwalk_registers *registers)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[report->dump.cpu];
    struct json_writer *w = &report->writer;
    unsigned i;

    json_put_open(w, "registers", '{');
    for (i = 0; i < cpu->num_registers; i++) {
        if ((registers->known >> i & 1) != 0) {
            json_put_hex(w, cpu->names[i], registers->values[i]);
        }
    }
    json_write_close(w, '}');
}

/* Those who look names up take the address of each frame but the first for a
 * return address; where a frame says of itself that it is none, the first one
 * has to do so, too. */
static void report_write_frame(struct json_writer *w,
                               const struct frame *frame, bool is_exact)
{
    static const char *const trusts[] = {[STACKWALK_CONTEXT] = "context",
                                         [STACKWALK_CFI] = "cfi",
                                         [STACKWALK_FP] = "fp",
                                         [STACKWALK_SCAN] = "scan"};

    json_write_open(w, '{');
    json_put_hex(w, "instruction_addr", frame->address);
    json_put_known(w, "trust", trusts[frame->trust]);
    if (is_exact) {
        json_put_bool(w, "adjust_instruction_addr", false);
    }
    json_write_close(w, '}');
}

static void write_own_frames(struct minidump_report *report,
                             const struct minidump_thread *thread)
{
    struct json_writer *w = &report->writer;
    struct minidump_own_frame frame;
    uint32_t i;

    report->has_more |=
        thread->num_own_frames > report->max_frames - report->nframes;
    for (i = 0; i < thread->num_own_frames &&
                report->nframes < report->max_frames;
         i++, report->nframes++) {
        frame = minidump_own_frame(&report->dump, thread, i);
        json_write_open(w, '{');
        json_put_hex(w, "instruction_addr", frame.address);
        json_put_known(w, "trust", "prewalked");
        json_put_string(w, "function", (const char *)frame.function.data,
                        frame.function.size);
        json_write_close(w, '}');
    }
}

static void write_thread(struct minidump_report *report, size_t i)
{
    const struct minidump *dump = &report->dump;
    const struct thread *thread = &report->threads[i];
    struct json_writer *w = &report->writer;
    const struct frame *frame;
    size_t k;

    json_write_open(w, '{');
    json_put_number(w, "thread_id", dump->threads[i].id);
    json_put_known(w, "thread_name", dump->threads[i].name);
    if (dump->requesting != SIZE_MAX) {
        json_put_bool(w, "is_requesting", i == dump->requesting);
    }
    if (thread->nframes > 0) {
        report_write_registers(report, &thread->registers);
    }
    json_put_open(w, "frames", '[');
    write_own_frames(report, &dump->threads[i]);
    for (k = 0; dump->threads[i].num_own_frames == 0 && k < thread->nframes;
         k++) {
        frame = &report->frames[thread->first + k];
        report_write_frame(
            w, frame, k == 0 ? thread->is_interrupted : frame->is_interrupted);
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
}

static void report_write_unwind_status(struct json_writer *w,
                                       const struct module_symbols *symbols)
{
    static const char *const statuses[] = {
        [CRASH_FILE_FOUND] = "found",
        [CRASH_FILE_MISSING] = "missing",
        [CRASH_FILE_MALFORMED] = "malformed",
        [CRASH_FILE_FETCHING_FAILED] = "fetching_failed",
        [CRASH_FILE_OTHER] = "other",
    };

    json_put_known(w, "unwind_status",
                   symbols->is_used && symbols->cfi_state <= CRASH_FILE_OTHER
                       ? statuses[symbols->cfi_state]
                       : "unused");
}

static void write_modules(struct minidump_report *report)
{
    const struct minidump_module *module;
    struct json_writer *w = &report->writer;
    size_t i;

    json_put_open(w, "modules", '[');
    for (i = 0; i < report->dump.num_modules; i++) {
        module = &report->dump.modules[i];
        if (!module->has_debug_id && module->code_id == NULL &&
            !report->symbols[i].is_used) {
            continue;
        }
        write_module(report, i);
        report_write_unwind_status(w, &report->symbols[i]);
        if (i == 0) {
            json_put_known(w, "lookup_file", report->lookup_file);
        }
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

void minidump_report_write_result(struct minidump_report *report)
{
    struct json_writer *w = &report->writer;
    size_t i;

    json_write_reset(w);
    json_write_open(w, '{');
    form_write(&report->form, w);
    write_head(report);
    json_put_open(w, "stacktraces", '[');
    for (i = 0; i < report->dump.num_threads; i++) {
        write_thread(report, i);
    }
    json_write_close(w, ']');
    write_modules(report);
    json_put_known(w, "left_out",
                   report->dump.cut == NULL && report->has_more
                       ? "frames"
                       : report->dump.cut);
    json_write_close(w, '}');
}
