/*
 * Copyright (C) the ngx_symcache authors
 */
#include "report_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/byte_compare.h"

const char apple_no_memory[] = "out of memory";

/* Room for one more item of an array.  Returns false if there is none: more
 * than most items are left out, else *has_memory becomes false. */
static bool has_room(struct apple_report *report, void *array, size_t *room,
                     size_t count, size_t item, size_t most, const char *what,
                     bool *has_memory)
{
    *has_memory = true;
    if (count >= most) {
        report->cut = what;
        return false;
    }
    *has_memory = array_need(array, room, count + 1, item) == 0;
    return *has_memory;
}

bool apple_add_thread(struct apple_report *report,
                      const struct apple_thread *thread)
{
    bool has_memory;

    if (has_room(report, &report->threads, &report->threads_room,
                 report->num_threads, sizeof(*thread), APPLE_THREADS,
                 "threads", &has_memory)) {
        report->threads[report->num_threads] = *thread;
        report->threads[report->num_threads++].first = report->num_frames;
    }
    return has_memory;
}

bool apple_add_frame(struct apple_report *report,
                     const struct apple_frame *frame)
{
    bool has_memory;

    if (has_room(report, &report->frames, &report->frames_room,
                 report->num_frames, sizeof(*frame), report->max_frames,
                 "frames", &has_memory)) {
        report->frames[report->num_frames++] = *frame;
        report->threads[report->num_threads - 1].num_frames++;
    }
    return has_memory;
}

bool apple_add_image(struct apple_report *report,
                     const struct apple_image *image)
{
    bool has_memory;

    if (has_room(report, &report->images, &report->images_room,
                 report->num_images, sizeof(*image), APPLE_IMAGES, "images",
                 &has_memory)) {
        report->images[report->num_images++] = *image;
    }
    return has_memory;
}

static int compare_names(const struct apple_text *a,
                         const struct apple_text *b)
{
    return byte_compare(a->data, a->size, b->data, b->size);
}

void apple_add_register(struct apple_report *report,
                        const struct apple_register *found)
{
    size_t i;

    for (i = 0; i < report->num_registers; i++) {
        if (compare_names(&report->registers[i].name, &found->name) == 0) {
            break;
        }
    }
    if (i == APPLE_REGISTERS) {
        report->cut = "registers";
        return;
    }
    report->registers[i] = *found;
    report->num_registers += i == report->num_registers;
}

bool apple_add_information(struct apple_report *report, struct apple_text line)
{
    size_t size = report->information_size;

    if (report->information == NULL) {
        report->information = malloc(APPLE_INFORMATION + 1);
        if (report->information == NULL) {
            return false;
        }
    }
    if (line.size + 1 > APPLE_INFORMATION - size) {
        report->cut = "information";
        return true;
    }
    if (size > 0) {
        report->information[size++] = '\n';
    }
    memcpy(report->information + size, line.data, line.size);
    report->information_size = size + line.size;
    return true;
}

static int compare_registers(const void *one, const void *other)
{
    return compare_names(&((const struct apple_register *)one)->name,
                         &((const struct apple_register *)other)->name);
}

void apple_sort_registers(struct apple_report *report)
{
    qsort(report->registers, report->num_registers,
          sizeof(report->registers[0]), compare_registers);
}
