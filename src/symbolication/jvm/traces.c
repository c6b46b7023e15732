/*
 * Copyright (C) the ngx_symcache authors
 */
#include "traces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

bool jvm_traces_may_look(struct jvm_traces *traces)
{
    if (JVM_WORK_MAX - traces->work < JVM_LOOKUP) {
        traces->left_out++;
        return false;
    }
    traces->work += JVM_LOOKUP;
    return true;
}

bool jvm_traces_class(struct jvm_traces *traces, struct symc_string renamed,
                      struct symc_string *original)
{
    size_t i;

    for (i = 0; i < traces->num_mappings && jvm_traces_may_look(traces); i++) {
        if (jvm_remap_class(traces->mappings[i].reader, renamed, original)) {
            return true;
        }
    }
    return false;
}

/* Joins module and type, with a mark in front and one after; data is NULL when
 * out of memory. */
static struct symc_string join_exception(struct jvm_traces *traces,
                                         const char *before,
                                         struct symc_string module,
                                         struct symc_string type,
                                         const char *behind)
{
    size_t size = strlen(before) + module.size + (module.size > 0) +
                  type.size + strlen(behind);
    char *p = arena_take(&traces->texts, size + 1);
    struct symc_string joined = {p, size};

    if (p == NULL) {
        return joined;
    }
    p = stpcpy(p, before);
    if (module.size > 0) {
        p = mempcpy(p, module.data, module.size);
        *p++ = '.';
    }
    if (type.size > 0) {
        p = mempcpy(p, type.data, type.size);
    }
    memcpy(p, behind, strlen(behind) + 1);
    return joined;
}

int jvm_traces_exception(struct jvm_traces *traces, struct symc_string *type,
                         struct symc_string *module)
{
    struct symc_string key = join_exception(traces, "", *module, *type, ""),
                       original;
    const char *dot;

    if (key.data == NULL) {
        return -1;
    }
    if (!jvm_traces_class(traces, key, &original)) {
        return 0;
    }
    dot = memrchr(original.data, '.', original.size);
    *module = (struct symc_string){"", 0};
    *type = original;
    if (dot != NULL) {
        module->data = original.data;
        module->size = (size_t)(dot - original.data);
        type->data = dot + 1;
        type->size = original.size - module->size - 1;
    }
    return 0;
}

/* Makes the descriptor of an exception, such as "Ljava/lang/Error;". */
static struct symc_string describe_exception(struct jvm_traces *traces,
                                             struct symc_string type,
                                             struct symc_string module)
{
    struct symc_string text = join_exception(traces, "L", module, type, ";");
    size_t i;
    char *p = (char *)text.data; /* it is ours */

    for (i = 0; p != NULL && i < text.size; i++) {
        p[i] = p[i] == '.' ? '/' : p[i];
    }
    return text;
}

/* Reads the signature by the first mapping: what is none is so by all. */
static enum jvm_signature_status
read_signature(struct jvm_traces *traces, const struct jvm_traces_input *input)
{
    return traces->num_mappings > 0 && input->signature.data != NULL
               ? jvm_signature_read(&traces->signature,
                                    traces->mappings[0].reader,
                                    input->signature)
               : JVM_SIGNATURE_INVALID;
}

/* Asks one mapping after the other, until one knows the frame. */
static enum jvm_outcome remap_frame(struct jvm_traces *traces,
                                    const struct jvm_frame *frame,
                                    const struct symc_string *descriptor)
{
    enum jvm_outcome outcome = JVM_UNKNOWN;
    uint64_t work;
    size_t i;

    for (i = 0; i < traces->num_mappings && outcome == JVM_UNKNOWN &&
                jvm_traces_may_look(traces);
         i++) {
        work = JVM_WORK_MAX - traces->work;
        outcome = jvm_remap_frame(&traces->mappings[i], frame, descriptor,
                                  &work, traces->mapped);
        traces->work = JVM_WORK_MAX - work;
    }
    return outcome;
}

/* Adds a frame.  Returns 0, or -1 when out of memory. */
static int add_stacktrace(struct jvm_traces *traces,
                          const struct jvm_traces_output *output)
{
    if (traces->count == JVM_OUTPUTS_MAX) {
        traces->left_out++;
        return 0;
    }
    if (array_need(&traces->outputs, &traces->room, traces->count + 1,
                   sizeof(*traces->outputs)) != 0) {
        return -1;
    }
    traces->outputs[traces->count++] = *output;
    return 0;
}

/* Adds the frames that one came to. */
static int add_mapped(struct jvm_traces *traces,
                      struct jvm_traces_output *output)
{
    size_t i;

    traces->left_out += traces->mapped->left_out;
    output->is_mapped = true;
    for (i = 0; i < traces->mapped->count; i++) {
        output->frame = traces->mapped->list[i];
        if (add_stacktrace(traces, output) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_frame(struct jvm_traces *traces,
                     const struct jvm_traces_input *input, uint32_t index,
                     const struct symc_string **descriptor)
{
    struct jvm_traces_output output = {.input = index};
    struct jvm_frame frame = {.class = input->module,
                              .method = input->function,
                              .line = input->has_line ? input->line : 0,
                              /* what the compiler made only counts where the
                               * line is not known */
                              .without_synthesized = input->has_line};
    enum jvm_outcome outcome;
    char *p;

    switch (read_signature(traces, input)) {
    case JVM_SIGNATURE_NO_MEMORY:
        return -1;
    case JVM_SIGNATURE_READ:
        p = arena_take(&traces->texts, traces->signature.size + 1);
        if (p == NULL) {
            return -1;
        }
        memcpy(p, traces->signature.text, traces->signature.size);
        output.signature = (struct symc_string){p, traces->signature.size};
        if (!input->has_line) {
            frame.parameters =
                (struct symc_string){traces->signature.parameters,
                                     traces->signature.parameters_size};
        }
        break;
    default:
        break;
    }
    outcome = remap_frame(traces, &frame, *descriptor);
    if (outcome == JVM_OUTLINE) {
        return 0;
    }
    *descriptor = NULL;
    switch (outcome) {
    case JVM_CLEARED:
        return 0;
    case JVM_MAPPED:
        return add_mapped(traces, &output);
    default:
        return add_stacktrace(traces, &output);
    }
}

int jvm_traces_add(struct jvm_traces *traces,
                   const struct jvm_traces_input *inputs, size_t n,
                   struct symc_string type, struct symc_string module)
{
    struct symc_string descriptor;
    const struct symc_string *thrown = NULL;
    size_t i;

    if (traces->mapped == NULL) {
        traces->mapped = malloc(sizeof(*traces->mapped));
    }
    if (traces->mapped == NULL) {
        return -1;
    }
    if (type.data != NULL) {
        descriptor = describe_exception(traces, type, module);
        thrown = &descriptor;
        if (descriptor.data == NULL) {
            return -1;
        }
    }
    for (i = 0; i < traces->num_mappings; i++) {
        traces->mappings[i].has_outline = false;
    }
    for (i = 0; i < n; i++) {
        if (add_frame(traces, &inputs[i], (uint32_t)i, &thrown) != 0) {
            return -1;
        }
    }
    return 0;
}

void jvm_traces_free(struct jvm_traces *traces)
{
    free(traces->outputs);
    free(traces->mapped);
    jvm_signature_free(&traces->signature);
    arena_free(&traces->texts);
}
