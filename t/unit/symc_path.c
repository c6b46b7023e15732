/*
 * Copyright (C) the ngx_symcache authors
 *
 * Paths from their three parts.  What is expected is what the "symbolic"
 * library gave for a SymCache with these parts, its oddities included: ".."
 * can take the root away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "derived/symcache/path.h"

static const struct {
    const char *parts[3]; /* compilation directory, directory, name */
    const char *path;
} rows[] = {
    {{"", "", ""}, ""},
    {{"", "", "m.c"}, "m.c"},
    {{NULL, NULL, "m.c"}, "m.c"},
    {{"", "C:\\a", "m.c"}, "C:\\a\\m.c"},
    {{"C:\\a", "b\\c", "d.c"}, "C:\\a\\b\\c\\d.c"},
    {{"C:\\a", "b/c", "d.c"}, "C:\\a\\b\\c\\d.c"},
    {{"", "", "C:/a/b.c"}, "C:\\a\\b.c"},
    {{"", "", "a\\b/c"}, "a\\b\\c"},
    {{"/a", "b", "c.c"}, "/a/b/c.c"},
    {{"/a/", "b/", "c.c"}, "/a/b/c.c"},
    {{"/a", "/b", "c.c"}, "/b/c.c"},
    {{"a", "b", ""}, "a/b"},
    {{"a", "", ""}, "a"},
    {{"/a", "C:\\b", "c"}, "C:\\b\\c"},
    {{"/a", "C:/b", "c"}, "C:\\b\\c"},
    {{"a", "C:", "b"}, "C:\\b"},
    {{"C:", "a", "b"}, "C:\\a\\b"},
    {{"C:a", "b", "c"}, "C:a/b/c"},
    {{"C:\\a", "\\b", "c"}, "C:\\b\\c"},
    {{"C:\\a", "/b", "c"}, "/b/c"},
    {{"\\\\a", "\\b", "c"}, "\\\\\\b\\c"},
    {{"a", "\\b", "c"}, "\\b\\c"},
    {{"\\a", "b", "c"}, "\\a\\b\\c"},
    {{"\\\\srv\\sh", "d", "f.c"}, "\\\\srv\\sh\\d\\f.c"},
    {{"//srv/sh", "d", "f.c"}, "\\\\srv\\sh\\d\\f.c"},
    {{"a", "//srv", "c"}, "\\\\srv\\c"},
    {{"/a", "", "<stdin>"}, "<stdin>"},
    {{"/a", "<b>", "c"}, "<b>/c"},
    {{"/a", "<b", "c>"}, "/a/<b/c>"},
    {{"", "", "a/./b/."}, "a/b"},
    {{"", "", "."}, ""},
    {{"", "", "a/.b/c.d"}, "a/.b/c.d"},
    {{"", "", ".a\\b"}, ".a\\b"},
    {{"", "", "a/b\\c/d"}, "a\\b\\c\\d"},
    {{"", "", "./a"}, "a"},
    {{"", "", "/a//b"}, "/a//b"},
    {{"", "", "a/b/"}, "a/b"},
    {{"", "", "a/../b"}, "b"},
    {{"", "", "../../a"}, "../../a"},
    {{"", "", "a/../../b"}, "../b"},
    {{"", "", "a/b/../../../../c"}, "../../c"},
    {{"", "", ".."}, ".."},
    {{"", "", ""}, ""},
    {{"", "", "/a/../b"}, "b"},
    {{"", "", "/../b"}, "../b"},
    {{"", "", "C:\\..\\b"}, "b"},
    {{"", "", "C:\\a\\..\\b"}, "C:\\b"},
    {{"", "", "\\\\s\\..\\..\\..\\b"}, "..\\b"},
    {{"", "", "/"}, ""},
    {{"", "", "\\"}, ""},
    {{"", "", "../a/../b"}, "../a/../b"},
    {{"", "", "a/.."}, ""},
    {{"é", "ü", "ж.c"}, "é/ü/ж.c"},
};

static void paths(void **state)
{
    size_t i, k, room, size;
    char *out;
    struct symc_string p[3];

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (k = 0; k < 3; k++) {
            p[k].data = rows[i].parts[k];
            p[k].size = p[k].data == NULL ? 0 : strlen(p[k].data);
        }
        room = symc_path_room(&p[0], &p[1], &p[2]);
        out = malloc(room);
        assert_non_null(out);
        size = symc_path_join(&p[0], &p[1], &p[2], out);
        assert_true(size < room);
        out[size] = '\0';
        if (strcmp(out, rows[i].path) != 0) {
            print_message("# row %zu: %s, not %s\n", i, out, rows[i].path);
        }
        assert_string_equal(out, rows[i].path);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
