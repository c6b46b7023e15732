/*
 * Copyright (C) the ngx_symcache authors
 *
 * A part of bench/convert and bench/ppdb.  Converts by calling a function in a
 * process that runs already, because that is how the reference is called.
 *
 *   convert_call PDB OUT [COUNT]     prints the seconds and CPU seconds of each
 *                                    of COUNT (1) calls, from opening PDB until
 *                                    OUT is written and all memory is freed
 *   convert_call PDB - [COUNT]       the same from memory to memory
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "converter/input_format.h"
#include "debuginfo/second_thread.h"
#include "debuginfo/supplement.h"
#include "derived/symcache/writer.h"

static double wall_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int write_all(void *context, const void *data, size_t size)
{
    ssize_t n;
    const char *p;

    for (p = data; size > 0; p += n, size -= (size_t)n) {
        n = write(*(const int *)context, p, size);
        if (n < 0) {
            return -1;
        }
    }
    return 0;
}

/* An output in memory. */
struct memory {
    char *data;
    size_t size;
};

static int keep(void *context, const void *data, size_t size)
{
    struct memory *memory = context;
    char *grown = realloc(memory->data, memory->size + size);

    if (grown == NULL) {
        return -1;
    }
    memcpy(grown + memory->size, data, size);
    memory->data = grown;
    memory->size += size;
    return 0;
}

static int convert_to(const char *pdb, const void *data, size_t size,
                      const struct symc_sink *sink)
{
    int rc;
    struct debuginfo_result result = {0};
    struct failure failure = {FAILURE_NONE, ""};
    const struct debuginfo_maker *maker = input_maker(data, size, NULL);
    static const struct supplement supplement = {
        .is_like_symbolic = true, .is_strict = true /* as the reference is */};

    supplement_set(&supplement);
    rc = maker->convert(data, size, sink, &result, &failure);
    if (rc != 0) {
        fprintf(stderr, "%s: %s\n", pdb, failure.text);
    }
    return rc != 0;
}

static int convert_memory(const char *pdb, const void *data, size_t size)
{
    struct memory memory = {NULL, 0};
    struct symc_sink sink = {keep, &memory};
    int rc = convert_to(pdb, data, size, &sink);

    free(memory.data);
    return rc;
}

/* Maps a file; NULL with a message on failure. */
static void *map(const char *pdb, int fd, size_t *size)
{
    struct stat st;
    void *data;

    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(pdb);
        return NULL;
    }
    *size = (size_t)st.st_size;
    data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        perror(pdb);
        return NULL;
    }
    return data;
}

static bool wants_thread(const char *pdb)
{
    int fd = open(pdb, O_RDONLY);
    size_t size;
    void *data = map(pdb, fd, &size);
    bool wants = data != NULL && input_wants_thread(data, size);

    if (data != NULL) {
        munmap(data, size);
    }
    close(fd);
    return wants;
}

static int convert(const char *pdb, const char *out)
{
    int rc, in_fd, out_fd;
    size_t size;
    void *data;
    struct symc_sink sink;

    in_fd = open(pdb, O_RDONLY);
    out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    data = map(pdb, in_fd, &size);
    if (data == NULL || out_fd < 0) {
        perror("convert_call");
        return 1;
    }
    sink.write = write_all;
    sink.context = &out_fd;
    rc = convert_to(pdb, data, size, &sink);
    munmap(data, size);
    close(out_fd);
    close(in_fd);
    return rc;
}

int main(int argc, char **argv)
{
    int i, rc, count;
    double wall, cpu;
    void *data = NULL;
    size_t size = 0;

    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: convert_call PDB OUT [COUNT]\n");
        return 2;
    }
    if (strcmp(argv[2], "-") == 0) {
        data = map(argv[1], open(argv[1], O_RDONLY), &size);
        if (data == NULL) {
            return 1;
        }
    }
    if (wants_thread(argv[1])) {
        second_thread_start(); /* as pdb2symcache does, before it parses */
    }
    count = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1;
    for (i = 0; i < count; i++) {
        cpu = cpu_seconds();
        wall = wall_seconds();
        rc = data != NULL ? convert_memory(argv[1], data, size)
                          : convert(argv[1], argv[2]);
        if (rc != 0) {
            return 1;
        }
        wall = wall_seconds() - wall;
        cpu = cpu_seconds() - cpu;
        printf("%.9f %.9f\n", wall, cpu);
    }
    return 0;
}
