/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a killed process has left cannot be read: it is not lost.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "symcached/upload/write_ahead_log.h"
#include "unreadable.h"

#define ID "0123456789ABCDEF0123456789ABCDEF1"
#define LINE "a.pdb\t" ID "\ta.pdb\t" ID "\n"

static char root[] = "/tmp/symcache-changing.XXXXXX";
static bool has_bad_blocks;

/* In the place of the C library's. */
char *fgets(char *line, int size, FILE *file)
{
    static char *(*real)(char *, int, FILE *);

    if (has_bad_blocks) { /* what is read is a folder now */
        int folder = open(root, O_RDONLY | O_DIRECTORY);

        assert_true(dup2(folder, fileno(file)) >= 0);
        close(folder);
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "fgets");
    }
    return real(line, size, file);
}

static void leave(const char *name, const char *text)
{
    char path[200];
    int fd;

    snprintf(path, sizeof(path), "%s/.changing", root);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/.changing/%s", root, name);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* Returns how many files one that is taken has, and leaves it. */
static size_t take(void)
{
    struct publication *files = publication_new(root);
    struct intent *intent = write_ahead_log_take(root, files);
    size_t n = intent != NULL ? files->nfiles : 0;

    write_ahead_log_leave(intent);
    publication_free(files);
    return n;
}

/* Has the log this reason?  It is empty then. */
static bool is_told(const char *reason)
{
    char path[200], text[1000] = "";
    FILE *file;

    snprintf(path, sizeof(path), "%s/log", root);
    file = fopen(path, "r");
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(truncate(path, 0), 0);
    return strstr(text, "/.changing cannot be read") != NULL &&
           strstr(text, reason) != NULL;
}

static void test_folder(void **state)
{
    (void)state;
    leave("a", LINE);
    unreadable = EIO;
    assert_int_equal(take(), 0);
    unreadable = 0;
    assert_true(is_told("Input/output error"));
    assert_int_equal(take(), 1);
    assert_false(is_told("Input/output error"));
}

static void test_file(void **state)
{
    (void)state;
    has_bad_blocks = true;
    assert_int_equal(take(), 0);
    has_bad_blocks = false;
    assert_true(is_told("Is a directory"));
    assert_int_equal(take(), 1);
}

/* In whatever order the folder is read. */
static void test_others(void **state)
{
    char path[200];
    int i;

    (void)state;
    leave("a", LINE);
    for (i = 0; i < 20; i++) {
        snprintf(path, sizeof(path), "%s/.changing/%d", root, i);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(take(), 1);
    snprintf(path, sizeof(path), "%s/.changing/a", root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(take(), 0);
    assert_true(is_told("Is a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_folder),
                                       cmocka_unit_test(test_file),
                                       cmocka_unit_test(test_others)};
    char path[200];
    int rc;

    if (mkdtemp(root) == NULL) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/log", root);
    log_open(path);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(path, sizeof(path), "rm -r %s", root);
    return system(path) == 0 ? rc : 1;
}
