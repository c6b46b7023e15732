/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is mounted where: lines as proc_pid_mountinfo(5) has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mounts.h"

#define ROOT "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
#define DATA "30 22 0:40 / /data rw shared:9 master:2 - nfs4 a:/x rw,hard\n"
#define BLANK "31 22 0:41 / /a\\040b\\134c rw - fuse.sshfs b: rw\n"
#define DISK "32 30 8:2 / /data/disk rw - xfs /dev/sdb1 rw\n"
#define OVER "33 22 0:42 / /srv rw - autofs systemd-1 rw\n"                    \
             "34 33 8:3 / /srv rw - btrfs /dev/sdc1 rw\n"

static void rows(void **state)
{
    static const struct {
        const char *text, *path;
        bool local;
    } rows[] = {
        {ROOT, "/", true},
        {ROOT, "/var/symbols", true},
        {ROOT DATA, "/var/symbols", true},
        {ROOT DATA, "/data", false},
        {ROOT DATA, "/data/symbols", false},
        {ROOT DATA, "/database", true},
        /* what is beneath may be walked into */
        {ROOT DATA, "/", false},
        {ROOT DATA DISK, "/data/disk/sym", true},
        {ROOT DATA DISK, "/data", false},
        {ROOT BLANK, "/a b\\c/sym", false},
        {ROOT BLANK, "/a", true},
        {ROOT OVER, "/srv/sym", true},
        /* nothing is known */
        {ROOT DATA, "/var/../data", false},
        {ROOT DATA, "//data", false},
        {"", "/", false},
        {"garbage\n", "/", false},
        {ROOT "35 22 0:43 / /x rw\n", "/", false},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (mounts_text_is_local(rows[i].text, rows[i].path) !=
            rows[i].local) {
            fail_msg("row %zu: %s", i, rows[i].path);
        }
    }
}

static void of_this_process(void **state)
{
    (void)state;
    assert_false(mounts_is_local("/proc"));
    assert_false(mounts_is_local("/proc/self"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(of_this_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
