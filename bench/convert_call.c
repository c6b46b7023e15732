/*
 * Copyright (C) the ngx_symcache authors
 *
 * A part of bench/convert.  Converts by calling a function in a process that
 * runs already, because that is how the reference is called.
 *
 *   convert_call PDB OUT [COUNT]     prints the seconds and CPU seconds of each
 *                                    of COUNT (1) calls, from opening PDB until
 *                                    OUT is written and all memory is freed
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "converter/input.h"
#include "symcache/writer.h"

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

static int convert(const char *pdb, const char *out)
{
    int rc, in_fd, out_fd;
    struct stat st;
    void *data;
    struct debuginfo_result result;
    struct failure failure = {FAILURE_NONE, ""};
    struct symfile_sink sink;
    const struct debuginfo_format *format;

    in_fd = open(pdb, O_RDONLY);
    out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (in_fd < 0 || out_fd < 0 || fstat(in_fd, &st) != 0) {
        perror("convert_call");
        return 1;
    }
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, in_fd, 0);
    if (data == MAP_FAILED) {
        perror(pdb);
        return 1;
    }
    sink.write = write_all;
    sink.context = &out_fd;
    format = input_format(data, (size_t)st.st_size);
    rc = (format->convert_strictly != NULL /* as the reference does */
              ? format->convert_strictly
              : format->convert)(data, (size_t)st.st_size, &sink, &result,
                                 &failure);
    if (rc != 0) {
        fprintf(stderr, "%s: %s\n", pdb, failure.text);
    }
    munmap(data, (size_t)st.st_size);
    close(out_fd);
    close(in_fd);
    return rc != 0;
}

int main(int argc, char **argv)
{
    int i, count;
    double wall, cpu;

    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: convert_call PDB OUT [COUNT]\n");
        return 2;
    }
    count = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1;
    for (i = 0; i < count; i++) {
        cpu = cpu_seconds();
        wall = wall_seconds();
        if (convert(argv[1], argv[2]) != 0) {
            return 1;
        }
        wall = wall_seconds() - wall;
        cpu = cpu_seconds() - cpu;
        printf("%.9f %.9f\n", wall, cpu);
    }
    return 0;
}
