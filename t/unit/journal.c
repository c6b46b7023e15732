/*
 * Copyright (C) the ngx_symcache authors
 *
 * A journal: records that were cut off or damaged are not told, all others are,
 * each once.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/journal.h"
#include "base/workdir.h"

static char dir[] = "/tmp/symcache-journal.XXXXXX";
static char path[64], told[100000];
static struct journal journal;

static void tell(void *arg, const char *record)
{
    assert_ptr_equal(arg, told);
    strncat(told, record != NULL ? record : "NONE", 100);
    strncat(told, ";", 2);
}

static const char *news(void)
{
    told[0] = '\0';
    assert_int_equal(journal_read(&journal, path, tell, told), 0);
    return told;
}

static void append(const char *record)
{
    assert_int_equal(journal_append(&journal, path, record, NULL, NULL), 0);
}

static void add_bytes(const char *bytes, size_t len)
{
    FILE *f = fopen(path, "a");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void in_order(void **state)
{
    assert_string_equal(news(), "");
    append("one");
    append("two\twith a tab");
    assert_string_equal(news(), "one;two\twith a tab;");
    assert_string_equal(news(), "");
    append("three");
    assert_string_equal(news(), "three;");
}

static int append_told(const char *record)
{
    told[0] = '\0';
    return journal_append(&journal, path, record, tell, told);
}

/* A record of our own is told at once, if it is the next one. */
static void at_once(void **state)
{
    struct journal other = {0};

    assert_int_equal(append_told("one"), 0); /* nothing was read yet */
    assert_string_equal(told, "");
    assert_string_equal(news(), "one;");
    assert_int_equal(append_told("two"), 1);
    assert_string_equal(told, "two;");
    assert_string_equal(news(), "");

    assert_int_equal(journal_append(&other, path, "theirs", NULL, NULL), 0);
    assert_int_equal(append_told("three"), 0);
    assert_string_equal(told, "");
    assert_string_equal(news(), "theirs;three;");

    add_bytes("cut off", 7);
    assert_int_equal(append_told("four"), 0);
    assert_string_equal(told, "");
    assert_string_equal(news(), "four;");
    assert_int_equal(append_told("five"), 1);
    assert_string_equal(told, "five;");

    assert_int_equal(unlink(path), 0);
    assert_int_equal(append_told("six"), 0);
    assert_string_equal(told, "");
    assert_string_equal(news(), "NONE;six;");
}

/* Another process appends, replaces the file, or removes it. */
static void others(void **state)
{
    struct journal other = {0};
    FILE *f;

    append("one");
    assert_string_equal(news(), "one;");
    assert_int_equal(journal_append(&other, path, "two", NULL, NULL), 0);
    assert_string_equal(news(), "two;");

    f = journal_rewrite_begin(path);
    assert_non_null(f);
    journal_rewrite_put(f, "a");
    journal_rewrite_put(f, "b");
    assert_string_equal(news(), "");
    assert_int_equal(journal_rewrite_end(&journal, f, path), 0);
    assert_string_equal(news(), "NONE;a;b;");
    append("c");
    assert_string_equal(news(), "c;");

    assert_int_equal(truncate(path, 0), 0);
    assert_string_equal(news(), "NONE;");
    append("d");
    assert_string_equal(news(), "d;");
    assert_int_equal(unlink(path), 0);
    assert_string_equal(news(), "NONE;");
    assert_string_equal(news(), "");
}

/* Writes the records into the same inode, until its times say so: they are
 * rounded to a tick on some kernels. */
static void overwrite(const char *const records[], size_t n)
{
    struct stat before, after;
    size_t i;
    FILE *f;

    assert_int_equal(stat(path, &before), 0);
    do {
        f = fopen(path, "r+");
        assert_non_null(f);
        for (i = 0; i < n; i++) {
            journal_rewrite_put(f, records[i]);
        }
        assert_int_equal(fclose(f), 0);
        assert_int_equal(stat(path, &after), 0);
    } while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
             after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

/* A file that is written anew has the inode of the last but one on some file
 * systems. */
static void same_inode(void **state)
{
    const char *const records[] = {"b", "c", "d", "e"};

    append("a");
    append("b");
    assert_string_equal(news(), "a;b;");
    overwrite(records, 3);
    assert_string_equal(news(), "NONE;b;c;d;");
    assert_int_equal(append_told("f"), 1);
    overwrite(records, 4); /* of the same size */
    assert_string_equal(news(), "NONE;b;c;d;e;");

    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
    assert_string_equal(news(), "");
    assert_int_equal(append_told("g"), 1);
    assert_string_equal(told, "g;");
}

/* What a crash leaves: a line that ends early, zeros, bytes that changed. */
static void damaged(void **state)
{
    static const char zeros[100];

    append("one");
    add_bytes("0123456789abcd", 14);
    assert_string_equal(news(), "one;");
    assert_string_equal(news(), "");
    append("two");
    assert_string_equal(news(), "two;");
    add_bytes(zeros, sizeof(zeros));
    append("three");
    assert_string_equal(news(), "three;");
    add_bytes("0123456789abcdef\tforged\n\n\t\n0123456789abcdef\n", 45);
    assert_string_equal(news(), "");
    append("four");
    memset(&journal, 0, sizeof(journal));
    assert_string_equal(news(), "one;two;three;four;");
}

/* Wherever the file ends, the records before are told, and no other; one that
 * has lost its line end alone is told when the next one gives it that. */
static void cut(void **state)
{
    char whole[1000], want[100];
    size_t len, end, records;
    FILE *f;

    append("one");
    news();
    append("two");
    news();
    append("three");
    f = fopen(path, "r");
    assert_non_null(f);
    len = fread(whole, 1, sizeof(whole), f);
    fclose(f);
    for (end = 0; end <= len; end++) {
        assert_int_equal(unlink(path), 0);
        add_bytes(whole, end);
        records = 0;
        for (size_t i = 0; i < end; i++) {
            records += whole[i] == '\n';
        }
        snprintf(want, sizeof(want), "%s%s%s", records > 0 ? "one;" : "",
                 records > 1 ? "two;" : "", records > 2 ? "three;" : "");
        memset(&journal, 0, sizeof(journal));
        assert_string_equal(news(), want);
        append("last");
        if (end < len && whole[end] == '\n') {
            assert_non_null(strstr(news(), "last;"));
        } else {
            assert_string_equal(news(), "last;");
        }
    }
}

/* Each bit of the file matters. */
static void flipped(void **state)
{
    char whole[100], one[100];
    size_t len, i;
    FILE *f;

    append("record");
    f = fopen(path, "r");
    assert_non_null(f);
    len = fread(whole, 1, sizeof(whole), f);
    fclose(f);
    for (i = 0; i < 8 * len; i++) {
        memcpy(one, whole, len);
        one[i / 8] ^= (char)(1 << i % 8);
        assert_int_equal(unlink(path), 0);
        add_bytes(one, len);
        memset(&journal, 0, sizeof(journal));
        assert_string_equal(news(), "");
    }
}

static void refused(void **state)
{
    static char text[JOURNAL_RECORD_MAX + 2];

    memset(text, 'x', JOURNAL_RECORD_MAX + 1);
    assert_int_equal(journal_append(&journal, path, text, NULL, NULL), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(
        journal_append(&journal, "/dev/full/none", "x", NULL, NULL), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(journal_append(&journal, "/dev/full", "x", NULL, NULL),
                     -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(symlink("other", path), 0);
    assert_int_equal(journal_append(&journal, path, "x", NULL, NULL), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(journal_read(&journal, path, tell, told), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(rmdir(path), 0);
}

/* What another process appends while the file is written anew is not lost. */
static void late(void **state)
{
    struct journal other = {0};
    FILE *f;

    append("first");
    assert_string_equal(news(), "first;");
    f = journal_rewrite_begin(path);
    assert_non_null(f);
    journal_rewrite_put(f, "first");
    assert_int_equal(journal_append(&other, path, "late", NULL, NULL), 0);
    assert_int_equal(journal_rewrite_end(&journal, f, path), -1);
    assert_int_equal(errno, EAGAIN);
    assert_string_equal(news(), "late;");

    f = journal_rewrite_begin(path);
    assert_non_null(f);
    journal_rewrite_put(f, "late");
    assert_int_equal(journal_rewrite_end(NULL, f, path), 0);
}

/* Two processes that write the file anew, of which one has begun. */
static void at_a_time(void **state)
{
    FILE *f;

    append("first");
    assert_string_equal(news(), "first;");
    f = journal_rewrite_begin(path);
    assert_non_null(f);
    journal_rewrite_put(f, "first");
    assert_null(journal_rewrite_begin(path));
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(journal_rewrite_end(&journal, f, path), 0);
    assert_string_equal(news(), "NONE;first;");

    f = journal_rewrite_begin(path);
    assert_non_null(f);
    assert_int_equal(journal_rewrite_end(&journal, f, path), 0);
    assert_string_equal(news(), "NONE;");
}

/* What is no file, where the new one is written. */
static void in_the_way(void **state)
{
    char tmp[80];
    FILE *f;

    append("first");
    assert_string_equal(news(), "first;");
    snprintf(tmp, sizeof(tmp), "%s.new", path);
    assert_int_equal(mkfifo(tmp, 0644), 0);
    f = journal_rewrite_begin(path);
    assert_non_null(f);
    journal_rewrite_put(f, "first");
    assert_int_equal(journal_rewrite_end(&journal, f, path), 0);
    assert_string_equal(news(), "NONE;first;");
}

static int begin(void **state)
{
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    memset(&journal, 0, sizeof(journal));
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/j", dir);
    return 0;
}

static int end(void **state)
{
    workdir_remove(dir);
    return access(dir, F_OK) == 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_order),   TEST(at_once), TEST(others),
        TEST(same_inode), TEST(damaged), TEST(cut),
        TEST(flipped),    TEST(refused), TEST(late),
        TEST(at_a_time),  TEST(in_the_way),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
