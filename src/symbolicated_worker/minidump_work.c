/*
 * Copyright (C) the ngx_symcache authors
 *
 * Minidumps, as a form has them: read, and walked with the files that
 * symbolicated has of their modules.
 */
#include "minidump_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "work_kinds.h"
#include "work_order.h"
#include "rewrite_module.h"

/* Files that a walk needs beyond those that its stacks point to are asked for
 * together, and it is begun anew, so many times. */
#define ASKS_MAX 8

/* what is asked for -------------------------------------------------------- */

static void touch_symbols(struct minidump_work *work, uint64_t address)
{
    size_t module = stackwalk_module_at(&work->walk, address);

    if (module != STACKWALK_NO_MODULE) {
        work->symbols[module].is_wanted = true;
    }
}

/* Modules that registers, and the words of the stack from its pointer on,
 * point into.  *left is how many bytes of stacks are still looked at. */
static void touch_stack(struct minidump_work *work,
                        const struct stackwalk_registers *registers,
                        const struct stackwalk_memory *stack, uint64_t *left)
{
    const struct stackwalk_cpu_type *cpu = &stackwalk_cpus[work->dump.cpu];
    const struct stackwalk_module *ranges = work->dump.ranges;
    size_t n = work->dump.num_modules;
    uint64_t at, word, least, most, sp = registers->values[cpu->sp];
    unsigned i;

    if (n == 0) {
        return;
    }
    for (i = 0; i < cpu->num_registers; i++) {
        touch_symbols(work, registers->values[i]);
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
            touch_symbols(work, word);
        }
    }
}

/* Stacks lie in the dump one beside the other.  Where thousands of threads
 * say that they have the same one, its modules are known after the first. */
static void touch_all(struct minidump_work *work)
{
    uint64_t left = work->form.file.size;
    struct stackwalk_registers registers;
    struct stackwalk_memory stack;
    size_t i;

    for (i = 0; i < work->dump.num_threads; i++) {
        if (minidump_thread(&work->dump, i, &registers, &stack)) {
            touch_stack(work, &registers, &stack, &left);
        }
    }
}

static void minidump_have_file(void *arg, const struct work_file *file,
                               const uint8_t *data, size_t size)
{
    struct minidump_work *work = arg;
    struct module_symbols *symbols;
    char error[200];

    if (file->index >= work->nasked) {
        return;
    }
    symbols = &work->symbols[work->asked[file->index]];
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
static void minidump_ask_for_modules(struct minidump_work *work,
                                     struct work_service *service)
{
    size_t i;

    minidump_message_question(work);
    if (work->writer.has_failed) {
        out_of_memory();
    }
    work_say(service, work->writer.data, work->writer.size);
    work_ask(service, minidump_have_file, work);
    for (i = 0; i < work->dump.num_modules; i++) {
        work->symbols[i].is_asked = work->symbols[i].is_wanted;
    }
}

/* the walk ----------------------------------------------------------------- */

static struct module_symbols *minidump_symbols_of(struct minidump_work *work,
                                                  size_t module)
{
    struct module_symbols *symbols = &work->symbols[module];

    work->is_wanting = work->is_wanting || !symbols->is_asked;
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
    struct minidump_work *work = context;
    struct thread *thread = work->thread;

    if (frame->module != STACKWALK_NO_MODULE) {
        minidump_symbols_of(work, frame->module)->is_used = true;
    }
    if (thread->nframes == 0) {
        thread->registers = frame->registers;
    }
    if (thread->nframes == REPORT_FRAMES) {
        return;
    }
    if (work->nframes == work->max_frames) {
        work->has_more = true;
        return;
    }
    if (array_need(&work->frames, &work->room, work->nframes + 1,
                   sizeof(work->frames[0])) != 0) {
        out_of_memory();
    }
    work->frames[work->nframes++] =
        (struct frame){frame->address, frame->trust, frame->is_interrupted};
    thread->nframes++;
    thread->is_interrupted |= frame->is_interrupted;
}

static void minidump_walk_threads(struct minidump_work *work)
{
    struct stackwalk_registers registers;
    struct stackwalk_memory stack;
    size_t i;

    work->nframes = 0;
    work->has_more = false;
    work->walk.checks = 0;
    for (i = 0; i < work->dump.num_modules; i++) {
        work->symbols[i].is_used = false;
    }
    for (i = 0; i < work->dump.num_threads; i++) {
        work->thread = &work->threads[i];
        memset(work->thread, 0, sizeof(*work->thread));
        work->thread->first = work->nframes;
        if (minidump_thread(&work->dump, i, &registers, &stack)) {
            work->walk.stack = &stack;
            stackwalk_run(&work->walk, &registers, minidump_on_frame, work);
        }
    }
}

static void minidump_walk_and_answer(struct minidump_work *work,
                                     struct work_service *service)
{
    unsigned asks = 0;

    if (work->form.has_no_sources) {
        minidump_walk_threads(work);
    } else {
        touch_all(work);
        do {
            minidump_ask_for_modules(work, service);
            work->is_wanting = false;
            minidump_walk_threads(work);
        } while (work->is_wanting && ++asks < ASKS_MAX);
    }
    minidump_message_result(work);
    if (work->writer.has_failed) {
        out_of_memory();
    }
    work_say(service, work->writer.data, work->writer.size);
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

static void correct_minidump(struct minidump_work *work, unsigned corrections)
{
    struct stackwalk *walk = &work->walk;

    walk->is_corrected = (corrections & cfi_correction_of(walk)) != 0;
    walk->keeps_sp = (corrections & CRASH_CONSTANT_SP) != 0;
}

/* The name by which the first module is looked for. */
static void minidump_rewrite_names(struct minidump_work *work,
                                   const struct rewrite *rules)
{
    const struct minidump *dump = &work->dump;

    if (rules != NULL && dump->num_modules > 0 &&
        dump->modules[0].debug_file != NULL) {
        work->lookup_file = rewrite_name(rules, dump->modules[0].debug_file);
    }
}

static void read_minidump(struct minidump_work *work,
                          const struct order *order,
                          const struct rewrite *rules,
                          const struct work_body *body)
{
    const struct stackwalk_symbols symbols = {minidump_find_cfi,
                                              minidump_has_function, work};
    const struct bytes *file = &work->form.file;
    const char *error = minidump_read(&work->dump, file->data, file->size);
    size_t i;

    if (error != NULL) {
        refuse_work(body->service, CRASH_FAILED, error);
        return;
    }
    minidump_rewrite_names(work, rules);
    work->walk = minidump_walk(&work->dump, &symbols);
    work->walk.max_frames = REPORT_FRAMES;
    work->max_frames = body->limit;
    correct_minidump(work, order->corrections);
    work->threads =
        calloc(work->dump.num_threads + 1, sizeof(work->threads[0]));
    work->symbols =
        calloc(work->dump.num_modules + 1, sizeof(work->symbols[0]));
    work->asked = calloc(work->dump.num_modules + 1, sizeof(work->asked[0]));
    if (work->threads == NULL || work->symbols == NULL ||
        work->asked == NULL) {
        out_of_memory();
    }
    for (i = 0; i < work->dump.num_modules; i++) {
        work->symbols[i].cfi_state = CRASH_FILE_MISSING;
    }
    minidump_walk_and_answer(work, body->service);
    free(work->threads);
    free(work->symbols);
    free(work->asked);
    free(work->frames);
    free(work->writer.data);
}

static void minidump_read_form(struct minidump_work *work,
                               const struct order *order,
                               const struct work_body *body)
{
    struct form *form = &work->form;
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
        read_minidump(work, order, rules, body);
        minidump_free(&work->dump);
    }
    rewrite_free(rules);
}

void minidump_work(const struct work_body *body)
{
    struct minidump_work work = {.form = {.file_name = "upload_file_minidump",
                                          .has_rewrite = true,
                                          .room = {.service = body->service}}};
    struct order order;

    if (order_read(&order, body->text) != 0) {
        out_of_memory();
    }
    minidump_read_form(&work, &order, body);
    packed_free(&work.form.room);
    free(work.lookup_file);
    order_free(&order);
}
