/*
 * Copyright (C) the ngx_symcache authors
 */
#include "traces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

bool jvm_traces_class(const struct jvm_traces *t, struct symc_string renamed,
                      struct symc_string *original)
{
    size_t i;

    for (i = 0; i < t->num_mappings; i++) {
        if (jvm_remap_class(t->mappings[i].reader, renamed, original)) {
            return true;
        }
    }
    return false;
}

/* Joins module and type, with a mark in front and one after; data is NULL when
 * out of memory. */
static struct symc_string join_exception(struct jvm_traces *t,
                                         const char *before,
                                         struct symc_string module,
                                         struct symc_string type,
                                         const char *behind)
{
    size_t size = strlen(before) + module.size + (module.size > 0) +
                  type.size + strlen(behind);
    char *p = arena_take(&t->texts, size + 1);
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

int jvm_traces_exception(struct jvm_traces *t, struct symc_string *type,
                         struct symc_string *module)
{
    struct symc_string key = join_exception(t, "", *module, *type, ""),
                       original;
    const char *dot;

    if (key.data == NULL) {
        return -1;
    }
    if (!jvm_traces_class(t, key, &original)) {
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
static struct symc_string describe_exception(struct jvm_traces *t,
                                             struct symc_string type,
                                             struct symc_string module)
{
    struct symc_string text = join_exception(t, "L", module, type, ";");
    size_t i;
    char *p = (char *)text.data; /* it is ours */

    for (i = 0; p != NULL && i < text.size; i++) {
        p[i] = p[i] == '.' ? '/' : p[i];
    }
    return text;
}

/* Reads the signature by the first mapping that can. */
static enum jvm_signature_status
read_signature(struct jvm_traces *t, const struct jvm_traces_input *input)
{
    enum jvm_signature_status status = JVM_SIGNATURE_INVALID;
    size_t i;

    for (i = 0; i < t->num_mappings && status == JVM_SIGNATURE_INVALID &&
                input->signature.data != NULL;
         i++) {
        status = jvm_signature_read(&t->signature, t->mappings[i].reader,
                                    input->signature);
    }
    return status;
}

/* Asks one mapping after the other, until one knows the frame. */
static enum jvm_outcome remap_frame(struct jvm_traces *t,
                                    const struct jvm_frame *frame,
                                    const struct symc_string *descriptor)
{
    enum jvm_outcome outcome = JVM_UNKNOWN;
    uint64_t work = JVM_WORK_MAX - t->work;
    size_t i;

    for (i = 0; i < t->num_mappings && outcome == JVM_UNKNOWN; i++) {
        outcome = jvm_remap_frame(&t->mappings[i], frame, descriptor, &work,
                                  t->mapped);
    }
    t->work = JVM_WORK_MAX - work;
    return outcome;
}

/* Adds a frame.  Returns 0, or -1 when out of memory. */
static int add_stacktrace(struct jvm_traces *t,
                          const struct jvm_traces_output *output)
{
    if (t->count == JVM_OUTPUTS_MAX) {
        t->left_out++;
        return 0;
    }
    if (array_need(&t->outputs, &t->room, t->count + 1, sizeof(*t->outputs)) !=
        0) {
        return -1;
    }
    t->outputs[t->count++] = *output;
    return 0;
}

/* Adds the frames that one came to. */
static int add_mapped(struct jvm_traces *t, struct jvm_traces_output *output)
{
    size_t i;

    t->left_out += t->mapped->left_out;
    output->is_mapped = true;
    for (i = 0; i < t->mapped->count; i++) {
        output->frame = t->mapped->list[i];
        if (add_stacktrace(t, output) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_frame(struct jvm_traces *t,
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

    switch (read_signature(t, input)) {
    case JVM_SIGNATURE_NO_MEMORY:
        return -1;
    case JVM_SIGNATURE_READ:
        p = arena_take(&t->texts, t->signature.size + 1);
        if (p == NULL) {
            return -1;
        }
        memcpy(p, t->signature.text, t->signature.size);
        output.signature = (struct symc_string){p, t->signature.size};
        if (!input->has_line) {
            frame.parameters = (struct symc_string){
                t->signature.parameters, t->signature.parameters_size};
        }
        break;
    default:
        break;
    }
    outcome = remap_frame(t, &frame, *descriptor);
    if (outcome == JVM_OUTLINE) {
        return 0;
    }
    *descriptor = NULL;
    switch (outcome) {
    case JVM_CLEARED:
        return 0;
    case JVM_MAPPED:
        return add_mapped(t, &output);
    default:
        return add_stacktrace(t, &output);
    }
}

int jvm_traces_add(struct jvm_traces *t, const struct jvm_traces_input *inputs,
                   size_t n, struct symc_string type,
                   struct symc_string module)
{
    struct symc_string descriptor;
    const struct symc_string *thrown = NULL;
    size_t i;

    if (t->mapped == NULL) {
        t->mapped = malloc(sizeof(*t->mapped));
    }
    if (t->mapped == NULL) {
        return -1;
    }
    if (type.data != NULL) {
        descriptor = describe_exception(t, type, module);
        thrown = &descriptor;
        if (descriptor.data == NULL) {
            return -1;
        }
    }
    for (i = 0; i < t->num_mappings; i++) {
        t->mappings[i].has_outline = false;
    }
    for (i = 0; i < n; i++) {
        if (add_frame(t, &inputs[i], (uint32_t)i, &thrown) != 0) {
            return -1;
        }
    }
    return 0;
}

void jvm_traces_free(struct jvm_traces *t)
{
    free(t->outputs);
    free(t->mapped);
    jvm_signature_free(&t->signature);
    arena_free(&t->texts);
}
