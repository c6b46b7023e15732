/*
 * Copyright (C) the ngx_symcache authors
 *
 * Minidumps, as a form has them: read, and walked with the files that
 * symbolicated has of their modules.
 */
#include "work_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "derived/cficache/cficache.h"
#include "derived/symcache/symcache.h"
#include "json/json.h"
#include "reports/minidump/minidump.h"
#include "crash_form.h"
#include "work_order.h"
#include "minidump_report.h"
#include "rewrite_module.h"

/* Files that a walk needs beyond those that its stacks point to are asked for
 * together, and it is begun anew, so many times. */
#define ASKS_MAX 8

/* what is asked for -------------------------------------------------------- */

static void touch_symbols(struct minidump_report *report, uint64_t address)
{
    size_t module = stackwalk_module_at(&report->walk, address);

    if (module != STACKWALK_NO_MODULE) {
        report->symbols[module].is_wanted = true;
    }
}

/* Modules that registers, and the words of the stack from its pointer on,
 * point into.  *left is how many bytes of stacks are still looked at. */
static void touch_stack(struct minidump_report *report,
                        const struct stackwalk_registers *registers,
                        const struct stackwalk_memory *stack, uint64_t *left)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[report->dump.cpu];
    const struct stackwalk_module *ranges = report->dump.ranges;
    size_t n = report->dump.num_modules;
    uint64_t at, word, least, most, sp = registers->values[cpu->sp];
    unsigned i;

    if (n == 0) {
        return;
    }
    for (i = 0; i < cpu->num_registers; i++) {
        touch_symbols(report, registers->values[i]);
    }
    least = ranges[0].base;
    most = ranges[n - 1].base + (ranges[n - 1].size - 1);
    at = sp >= stack->start && sp - stack->start < stack->size
             ? sp - stack->start
             : 0;
    for (; stack->data != NULL && stack->size - at >= cpu->word && cpu->word &&
           *left >= cpu->word;
         at += cpu->word, *left -= cpu->word) {
        word = cpu->word == 4
                   ? byte_order_32(stack->data + at, stack->is_big_endian)
                   : byte_order_64(stack->data + at, stack->is_big_endian);
        if (word >= least && word <= most) {
            touch_symbols(report, word);
        }
    }
}

/* Stacks lie in the dump one beside the other.  Where thousands of threads
 * say that they have the same one, its modules are known after the first. */
static void touch_all(struct minidump_report *report)
{
    uint64_t left = report->form.file.size;
    struct stackwalk_registers registers;
    struct stackwalk_memory stack;
    size_t i;

    for (i = 0; i < report->dump.num_threads; i++) {
        if (minidump_thread(&report->dump, i, &registers, &stack)) {
            touch_stack(report, &registers, &stack, &left);
        }
    }
}

static void minidump_have_file(void *arg, const struct work_file *file,
                               const uint8_t *data, size_t size)
{
    struct minidump_report *report = arg;
    struct module_symbols *symbols;
    char error[200];

    if (file->index >= report->nasked) {
        return;
    }
    symbols = &report->symbols[report->asked[file->index]];
    if (file->what == CRASH_CFI && symbols->has_cfi) {
        return; /* that of the image */
    }
    if (file->what == CRASH_CFI) {
        symbols->cfi_state =
            file->state == CRASH_FILE_FOUND || file->state > symbols->cfi_state
                ? file->state
                : symbols->cfi_state;
        symbols->has_cfi =
            data != NULL &&
            cficache_reader_open(&symbols->cfi, data, size, error,
                                 sizeof(error)) == SYMC_OPENED;
    } else {
        symbols->has_names =
            data != NULL &&
            symc_reader_open(&symbols->names, data, size, error,
                             sizeof(error)) == SYMC_OPENED;
    }
}

/* Asks for the files of modules that are wanted and were not asked for.  The
 * question has these modules alone: symbolicated reads it in its loop. */
static void minidump_ask_for_modules(struct minidump_report *report,
                                     struct work_service *service)
{
    size_t i;

    minidump_report_write_question(report);
    if (report->writer.has_failed) {
        out_of_memory();
    }
    work_say(service, report->writer.data, report->writer.size);
    work_ask(service, minidump_have_file, report);
    for (i = 0; i < report->dump.num_modules; i++) {
        report->symbols[i].is_asked = report->symbols[i].is_wanted;
    }
}

/* the walk ----------------------------------------------------------------- */

static struct module_symbols *
minidump_symbols_of(struct minidump_report *report, size_t module)
{
    struct module_symbols *symbols = &report->symbols[module];

    report->is_wanting = report->is_wanting || !symbols->is_asked;
    symbols->is_wanted = true;
    return symbols;
}

static const struct cficache_reader *minidump_find_cfi(void *context,
                                                       size_t module)
{
    struct module_symbols *symbols = minidump_symbols_of(context, module);

    symbols->is_used = true;
    return symbols->has_cfi ? &symbols->cfi : NULL;
}

static bool minidump_has_function(void *context, size_t module,
                                  uint64_t offset)
{
    struct module_symbols *symbols = minidump_symbols_of(context, module);
    struct symc_frames frames;

    if (!symbols->has_names || symbols->names.num_ranges == 0) {
        return true;
    }
    symc_reader_lookup(&symbols->names, offset, &frames);
    return frames.next != SYMC_NONE;
}

static void minidump_on_frame(void *context,
                              const struct stackwalk_frame *frame)
{
    struct minidump_report *report = context;
    struct thread *thread = report->thread;

    if (frame->module != STACKWALK_NO_MODULE) {
        minidump_symbols_of(report, frame->module)->is_used = true;
    }
    if (thread->nframes == 0) {
        thread->registers = frame->registers;
    }
    if (thread->nframes == REPORT_FRAMES) {
        return;
    }
    if (report->nframes == report->max_frames) {
        report->has_more = true;
        return;
    }
    if (array_need(&report->frames, &report->room, report->nframes + 1,
                   sizeof(report->frames[0])) != 0) {
        out_of_memory();
    }
    report->frames[report->nframes++] =
        (struct frame){frame->address, frame->trust, frame->is_interrupted};
    thread->nframes++;
    thread->is_interrupted |= frame->is_interrupted;
}

static void minidump_walk_threads(struct minidump_report *report)
{
    struct stackwalk_registers registers;
    struct stackwalk_memory stack;
    size_t i;

    report->nframes = 0;
    report->has_more = false;
    report->walk.checks = 0;
    for (i = 0; i < report->dump.num_modules; i++) {
        report->symbols[i].is_used = false;
    }
    for (i = 0; i < report->dump.num_threads; i++) {
        report->thread = &report->threads[i];
        memset(report->thread, 0, sizeof(*report->thread));
        report->thread->first = report->nframes;
        if (minidump_thread(&report->dump, i, &registers, &stack)) {
            report->walk.stack = &stack;
            stackwalk_run(&report->walk, &registers, minidump_on_frame,
                          report);
        }
    }
}

static void minidump_walk_and_answer(struct minidump_report *report,
                                     struct work_service *service)
{
    unsigned asks = 0;

    if (report->form.has_no_sources) {
        minidump_walk_threads(report);
    } else {
        touch_all(report);
        do {
            minidump_ask_for_modules(report, service);
            report->is_wanting = false;
            minidump_walk_threads(report);
        } while (report->is_wanting && ++asks < ASKS_MAX);
    }
    minidump_report_write_result(report);
    if (report->writer.has_failed) {
        out_of_memory();
    }
    work_say(service, report->writer.data, report->writer.size);
    work_done(service);
}

/* The correction that CfiCaches have of the files of a dump. */
static unsigned cfi_correction_of(const struct stackwalk *walk)
{
    switch (walk->cpu) {
    case STACKWALK_ARM:
        return CRASH_ARM_CFI;
    case STACKWALK_ARM64:
        return walk->is_windows ? CRASH_ARM64_CFI : CRASH_CFI_EXPRESSIONS;
    case STACKWALK_X86:
    case STACKWALK_AMD64:
        return CRASH_CFI_EXPRESSIONS;
    default:
        return 0;
    }
}

static void correct_minidump(struct minidump_report *report,
                             unsigned corrections)
{
    struct stackwalk *walk = &report->walk;

    walk->is_corrected = (corrections & cfi_correction_of(walk)) != 0;
    walk->keeps_sp = (corrections & CRASH_CONSTANT_SP) != 0;
}

/* The name by which the first module is looked for. */
static void minidump_rewrite_names(struct minidump_report *report,
                                   const struct rewrite *rules)
{
    const struct minidump *dump = &report->dump;

    if (rules != NULL && dump->num_modules > 0 &&
        dump->modules[0].debug_file != NULL) {
        report->lookup_file = rewrite_name(rules, dump->modules[0].debug_file);
    }
}

static void read_minidump(struct minidump_report *report,
                          const struct order *order,
                          const struct rewrite *rules,
                          const struct work_body *body)
{
    const struct stackwalk_symbols symbols = {minidump_find_cfi,
                                              minidump_has_function, report};
    const struct bytes *file = &report->form.file;
    const char *error = minidump_read(&report->dump, file->data, file->size);
    size_t i;

    if (error != NULL) {
        refuse_work(body->service, CRASH_FAILED, error);
        return;
    }
    minidump_rewrite_names(report, rules);
    report->walk = minidump_walk(&report->dump, &symbols);
    report->walk.max_frames = REPORT_FRAMES;
    report->max_frames = body->limit;
    correct_minidump(report, order->corrections);
    report->threads =
        calloc(report->dump.num_threads + 1, sizeof(report->threads[0]));
    report->symbols =
        calloc(report->dump.num_modules + 1, sizeof(report->symbols[0]));
    report->asked =
        calloc(report->dump.num_modules + 1, sizeof(report->asked[0]));
    if (report->threads == NULL || report->symbols == NULL ||
        report->asked == NULL) {
        out_of_memory();
    }
    for (i = 0; i < report->dump.num_modules; i++) {
        report->symbols[i].cfi_state = CRASH_FILE_MISSING;
    }
    minidump_walk_and_answer(report, body->service);
    free(report->threads);
    free(report->symbols);
    free(report->asked);
    free(report->frames);
    free(report->writer.data);
}

static void minidump_read_form(struct minidump_report *report,
                               const struct order *order,
                               const struct work_body *body)
{
    struct form *form = &report->form;
    struct rewrite *rules = NULL;
    char error[REWRITE_ERROR];

    if (!form_read(form, order, &(struct bytes){body->data, body->size})) {
        refuse_work(body->service, form->refusal, form->error);
    } else if (form->file.data == NULL && order->boundary != NULL) {
        refuse_work(body->service, CRASH_BAD_PART, "missing minidump");
    } else if (order->boundary != NULL && form->file.size >= 2 &&
               memcmp(form->file.data, "--", 2) == 0) {
        refuse_work(body->service, CRASH_BAD_PART,
                    "minidump contains multipart form data");
    } else if (rewrite_read(&rules, &form->json[FORM_REWRITE], error) != 0) {
        refuse_work(body->service, CRASH_BAD_PART, error);
    } else {
        read_minidump(report, order, rules, body);
        minidump_free(&report->dump);
    }
    rewrite_free(rules);
}

void minidump_work(const struct work_body *body)
{
    struct minidump_report report = {
        .form = {.file_name = "upload_file_minidump",
                 .has_rewrite = true,
                 .room = {.service = body->service}}};
    struct order order;

    if (order_read(&order, body->text) != 0) {
        out_of_memory();
    }
    minidump_read_form(&report, &order, body);
    packed_free(&report.form.room);
    free(report.lookup_file);
    order_free(&order);
}
