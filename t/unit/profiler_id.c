/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/base/profiler_id: the test vectors of the description of Elastic's
 * FileID, of files and of kernels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/profiler_id.h"

static uint8_t bytes[100000];

static void check(const symcache_key_t *key, const char *hex)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1], wanted[64];

    symcache_id_print(id, key);
    snprintf(wanted, sizeof(wanted), "hash-%s", hex);
    assert_string_equal(id, wanted);
}

/* The same in memory and in a file. */
static void check_file(size_t size, const char *hex)
{
    size_t part = size < PROFILER_ID_PART ? size : PROFILER_ID_PART;
    char path[] = "/tmp/profiler_id.XXXXXX";
    int fd = mkstemp(path);
    symcache_key_t key;

    profiler_id_of_file(&key, bytes, bytes + size - part, size);
    check(&key, hex);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, bytes, size), size);
    memset(&key, 0, sizeof(key));
    assert_true(profiler_id_of_fd(&key, fd, size));
    check(&key, hex);
    assert_false(profiler_id_of_fd(&key, fd, size + 1));
    close(fd);
}

static void files(void **state)
{
    size_t i;

    (void)state;
    check_file(0, "af5570f5a1810b7af78caf4bc70a660f");
    memcpy(bytes, "abc", 3);
    check_file(3, "a7e79e8a85da69bad5c3fea209342ac9");
    memset(bytes, 0, 123);
    check_file(123, "f4c1e5fe2f28034fcceb0776ec00b125");
    memset(bytes, 'A', 5000);
    check_file(4096, "dbc80cf8a78af58d99e245783e9d1564");
    check_file(5000, "c5917a8b578adea64fad36a06d2e5a29");
    for (i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    check_file(8192, "18db0dcc5a0e6a57e1a1718a5fb2efdc");
    check_file(100000, "dbff5576de7a2e5f28d0e7bb7d6ec260");
}

/* Of the digits 0123456789abcdef0123456789abcdef01234567 */
static void kernels(void **state)
{
    static const uint8_t build_id[20] = {
        0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23,
        0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67};
    symcache_key_t key;

    (void)state;
    profiler_id_of_kernel(&key, build_id, sizeof(build_id), false);
    check(&key, "f6cf2d06749cb9374148c3a96ca80ac5");
    profiler_id_of_kernel(&key, build_id, sizeof(build_id), true);
    check(&key, "4148c3a96ca80ac5f6cf2d06749cb937");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),
        cmocka_unit_test(kernels),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
