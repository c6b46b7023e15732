/*
 * Copyright (C) the ngx_symcache authors
 *
 * The index of uploads: which entries a file has, by the paths that symbol
 * servers have (docs/uploads.md, SSQP), what is found by them, and when it is
 * dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "symcached/upload_index/upload_index.h"
#include "unreadable.h"

#define BUILD "0123456789abcdef0123456789abcdef01234567"
#define COMMON "abababababababababababababababababababab"
#define DEBUG "67452301AB89EFCD0123456789ABCDEF0"
#define PDB "3249D99D0C4049318610F4E4FB0B69361"
#define IMAGE "542D574213000"
#define UUID "00112233445566778899aabbccddeeff"
#define DAY 86400

static char root[] = "/tmp/index.XXXXXX";

static int make_root(void **state)
{
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_root(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static symcache_key_t key_of(const char *name, const char *id)
{
    symcache_key_t key = {.kind = SYMCACHE_KIND_SYMCACHE};

    assert_int_equal(symcache_name_parse(name, strlen(name), &key),
                     SYMCACHE_OK);
    assert_int_equal(symcache_id_parse(id, strlen(id), &key), SYMCACHE_OK);
    return key;
}

/* A file of a path, with the ids that it is known by; NULL ends them. */
static struct symstore_path place_of(const char *name, const char *id,
                                     const char *file, const char *one,
                                     const char *other)
{
    struct symstore_path place = {.nids = 0};

    snprintf(place.name, sizeof(place.name), "%s", name);
    snprintf(place.id, sizeof(place.id), "%s", id);
    snprintf(place.file, sizeof(place.file), "%s", file);
    place.ids[place.nids++] = key_of(name, one);
    if (other != NULL) {
        place.ids[place.nids++] = key_of(name, other);
    }
    return place;
}

static bool has(const char *entry)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/.index/%s", root, entry);
    return access(path, F_OK) == 0;
}

static void test_entries(void **state)
{
    static const struct {
        const char *name, *id, *file, *ids[2];
        const char *entries[UPLOAD_INDEX_ENTRIES];
    } rows[] = {
        {"crash.pdb", DEBUG, "crash.pdb", {DEBUG}, {DEBUG "/crash.pdb"}},
        {"crash.pdb", DEBUG, "crash.sym", {DEBUG}, {DEBUG "/crash.pdb.sym"}},
        {"libc.so.6",
         DEBUG,
         "libc.so.6.sym",
         {DEBUG},
         {DEBUG "/libc.so.6.sym"}},
        {"x.dll",
         "600000015000",
         "x.dll",
         {"600000015000"},
         {"600000015000/x.dll"}},
        {"libx.so",
         "elf-buildid-" BUILD,
         "libx.so",
         {"buildid-" BUILD, DEBUG},
         {"elf-buildid-" BUILD "/libx.so", DEBUG "/buildid-" BUILD}},
        {"_.debug",
         "elf-buildid-sym-" BUILD,
         "_.debug",
         {"buildid-" BUILD, DEBUG},
         {DEBUG "/buildid-" BUILD}},
        {"_", "hash-" UUID, "_.symbfile", {"hash-" UUID}, {NULL}},
    };
    char entries[UPLOAD_INDEX_ENTRIES][UPLOAD_INDEX_ENTRY_SIZE];
    struct symstore_path place;
    size_t i, j, n;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        place = place_of(rows[i].name, rows[i].id, rows[i].file,
                         rows[i].ids[0], rows[i].ids[1]);
        n = upload_index_entries(entries, &place);
        for (j = 0; j < n && rows[i].entries[j] != NULL; j++) {
            assert_string_equal(entries[j], rows[i].entries[j]);
        }
        assert_int_equal(j, n);
        assert_true(n == UPLOAD_INDEX_ENTRIES || rows[i].entries[n] == NULL);
    }
}

/* The id by which a profiler knows a file leads to its debug id, and back. */
static void test_profiler_ids(void **state)
{
    static const char *const wanted[] = {
        "elf-buildid-" BUILD "/libx.so", DEBUG "/buildid-" BUILD,
        "hash-" UUID "/debugid-" DEBUG, DEBUG "/hash-" UUID};
    struct symstore_path place = place_of("libx.so", "elf-buildid-" BUILD,
                                          "libx.so", "buildid-" BUILD, DEBUG);
    char entries[UPLOAD_INDEX_ENTRIES][UPLOAD_INDEX_ENTRY_SIZE];
    struct upload_index_names names = {.n = 0};
    symcache_key_t hash = key_of("_", "hash-" UUID);
    symcache_key_t debug_id = key_of("_", DEBUG);
    size_t i;

    place.ids[place.nids++] = hash;
    assert_int_equal(upload_index_entries(entries, &place), 4);
    for (i = 0; i < 4; i++) {
        assert_string_equal(entries[i], wanted[i]);
        upload_index_take(&names, strchr(entries[i], '/') + 1);
    }
    assert_true(names.has_debug_id);
    assert_true(symcache_key_same_id(&names.debug_id, &debug_id));
    assert_int_equal(names.nhashes, 1);
    assert_true(symcache_key_equal(&names.hashes[0], &hash));
    assert_int_equal(names.n, 1);
}

/* That of a PE image also leads to its time stamp and size, by which it is
 * found where there is no PDB. */
static void test_profiler_ids_of_images(void **state)
{
    static const char *const wanted[] = {
        IMAGE "/crash.exe", "hash-" UUID "/debugid-" PDB, PDB "/hash-" UUID,
        "hash-" UUID "/codeid-" IMAGE};
    struct symstore_path place =
        place_of("crash.exe", IMAGE, "crash.exe", IMAGE, PDB);
    char entries[UPLOAD_INDEX_ENTRIES][UPLOAD_INDEX_ENTRY_SIZE];
    struct upload_index_names names = {.n = 0};
    symcache_key_t image = key_of("_", IMAGE);
    size_t i;

    place.ids[place.nids++] = key_of("_", "hash-" UUID);
    assert_int_equal(upload_index_entries(entries, &place), 4);
    for (i = 0; i < 4; i++) {
        assert_string_equal(entries[i], wanted[i]);
        upload_index_take(&names, strchr(entries[i], '/') + 1);
    }
    assert_true(names.has_debug_id);
    assert_true(names.has_code_id);
    assert_true(symcache_key_same_id(&names.code_id, &image));
    assert_int_equal(names.n, 1);

    /* an image without a PDB */
    place.ids[1] = place.ids[--place.nids];
    assert_int_equal(upload_index_entries(entries, &place), 2);
    assert_string_equal(entries[1], wanted[3]);
}

/* Short build ids are filled up with zeros, and 16 bytes may be a UUID. */
static void test_folders(void **state)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE];
    symcache_key_t key = key_of("_", "buildid-abcd");

    assert_int_equal(upload_index_folders(folders, &key), 1);
    assert_string_equal(folders[0], "elf-buildid-abcd00000000000000000000"
                                    "0000000000000000");
    key = key_of("_", "buildid-" UUID);
    assert_int_equal(upload_index_folders(folders, &key), 2);
    assert_string_equal(folders[0], "elf-buildid-" UUID "00000000");
    assert_string_equal(folders[1], "mach-uuid-" UUID);
    key = key_of("_", "hash-" UUID);
    assert_int_equal(upload_index_folders(folders, &key), 1);
    assert_string_equal(folders[0], "hash-" UUID);
    key = key_of("_", "hash-" BUILD);
    assert_int_equal(upload_index_folders(folders, &key), 0);
}

static void test_names(void **state)
{
    struct symstore_path place =
        place_of("crash.pdb", PDB, "crash.pdb", PDB, NULL);
    symcache_key_t key = key_of("other.pdb", PDB);
    struct upload_index_names names = {.n = 0};
    char name[32];
    size_t i;

    assert_int_equal(upload_index_changed(root, &key), 0);
    assert_int_equal(upload_index_change(root, &place, true), 0);
    assert_in_range(upload_index_changed(root, &key),
                    (time(NULL) - DAY) * INT64_C(1000000000),
                    (time(NULL) + DAY) * INT64_C(1000000000));
    assert_int_equal(upload_index_note_asked(root, &key), 0);
    upload_index_find(root, PDB, &names);
    assert_int_equal(names.n, 2);
    i = names.list[0].is_asked;
    assert_string_equal(names.list[i].text, "crash.pdb");
    assert_string_equal(names.list[1 - i].text, "other.pdb");

    /* a name that is there needs no note, and of others there are not many */
    key = key_of("crash.pdb", PDB);
    assert_int_equal(upload_index_note_asked(root, &key), 0);
    assert_false(has(PDB "/.crash.pdb"));
    for (i = 1; i < UPLOAD_INDEX_ASKED; i++) {
        snprintf(name, sizeof(name), "n%zu.pdb", i);
        key = key_of(name, PDB);
        assert_int_equal(upload_index_note_asked(root, &key), 0);
    }
    key = key_of("more.pdb", PDB);
    assert_int_equal(upload_index_note_asked(root, &key), E2BIG);
    assert_false(has(PDB "/.more.pdb"));

    assert_int_equal(upload_index_change(root, &place, false), 0);
    assert_false(has(PDB "/crash.pdb"));
    assert_true(has(PDB "/.other.pdb"));
}

/* An entry ending in ".sym" is a text, or a program with such a name. */
static void test_texts(void **state)
{
    struct upload_index_names names = {.n = 0};
    char name[32];
    size_t i;

    upload_index_take(&names, "x.sym");
    upload_index_take(&names, "x.sym");
    assert_int_equal(names.n, 2);
    assert_string_equal(names.list[0].text, "x.sym");
    assert_false(names.list[0].is_text);
    assert_string_equal(names.list[1].text, "x");
    assert_true(names.list[1].is_text);
    for (i = 0; i < 2 * UPLOAD_INDEX_NAMES; i++) {
        snprintf(name, sizeof(name), "x%zu.sym", i);
        upload_index_take(&names, name);
    }
    assert_int_equal(names.n, 2 * UPLOAD_INDEX_NAMES);
}

/* What others may have written there. */
static void test_strange_names(void **state)
{
    struct upload_index_names names = {.n = 0};

    upload_index_take(&names, "buildid-" BUILD);
    assert_true(names.has_build_id);
    upload_index_take(&names, "buildid-x");
    upload_index_take(&names, "UPPER");
    upload_index_take(&names, ".sym");
    upload_index_take(&names, "");
    upload_index_take(&names, ".");
    upload_index_take(&names, "a/b");
    assert_int_equal(names.n, 2);
    assert_string_equal(names.list[0].text, "buildid-x");
    assert_string_equal(names.list[1].text, "sym");
    assert_true(names.list[1].is_asked);
}

static void grow_old(const char *folder, time_t age)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - age},
                                {.tv_sec = time(NULL) - age}};
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/.index/%s", root, folder);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void make_folders(const char *name, const char *id)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/%s/%s", root, name, id);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void test_clean(void **state)
{
    struct symstore_path here =
        place_of("here.dll", "600000015000", "here.dll", "600000015000", NULL);
    struct symstore_path gone =
        place_of("gone.dll", "600000025000", "gone.dll", "600000025000", NULL);
    struct symstore_path debug = place_of("_.debug", "elf-buildid-sym-" BUILD,
                                          "_.debug", "buildid-" BUILD, DEBUG);
    symcache_key_t asked = key_of("asked.dll", "600000025000");

    make_folders("here.dll", "600000015000");
    make_folders("_.debug", "elf-buildid-sym-" BUILD);
    assert_int_equal(upload_index_change(root, &here, true), 0);
    assert_int_equal(upload_index_change(root, &gone, true), 0);
    assert_int_equal(upload_index_change(root, &debug, true), 0);
    upload_index_clean(root, time(NULL));
    assert_true(has("600000025000/gone.dll"));

    grow_old("600000015000", 400 * DAY);
    grow_old("600000025000", 6 * DAY);
    grow_old(DEBUG, 400 * DAY);
    upload_index_clean(root, time(NULL));
    assert_true(has("600000015000/here.dll"));
    assert_true(has("600000025000/gone.dll"));
    assert_true(has(DEBUG "/buildid-" BUILD));

    assert_int_equal(upload_index_note_asked(root, &asked), 0);
    grow_old("600000025000", 300 * DAY);
    upload_index_clean(root, time(NULL));
    assert_true(has("600000025000/.asked.dll"));
    grow_old("600000025000", 400 * DAY);
    upload_index_clean(root, time(NULL));
    assert_false(has("600000025000"));

    assert_int_equal(upload_index_change(root, &gone, true), 0);
    grow_old("600000025000", 8 * DAY);
    upload_index_clean(root, time(NULL));
    assert_false(has("600000025000"));
}

/* An index that is lost while it is compared with the files is not whole. */
static void test_whole(void **state)
{
    char index[64], lost[64];

    (void)state;
    snprintf(index, sizeof(index), "%s/.index", root);
    snprintf(lost, sizeof(lost), "%s/lost", root);
    upload_index_begin(root);
    assert_false(upload_index_is_whole(root));
    assert_int_equal(rename(index, lost), 0);
    upload_index_keep(root, &(struct symstore_path){.nids = 0});
    upload_index_set_whole(root);
    assert_false(upload_index_is_whole(root));
    upload_index_begin(root);
    upload_index_set_whole(root);
    assert_true(upload_index_is_whole(root));
}

/* Entries of a list in a tier: the newest first by their names, each bundle
 * once, and no more than a list has. */
static void test_shared(void **state)
{
    struct artifacts_found found = {.n = 0};
    struct timespec time = {.tv_sec = 1800000000, .tv_nsec = 5000};
    char sum[ARTIFACTS_SUM + 1], name[64];
    size_t i;

    memset(sum, 'a', ARTIFACTS_SUM);
    sum[ARTIFACTS_SUM] = '\0';
    artifacts_print_shared(name, sizeof(name), &time, sum);
    assert_string_equal(
        name, "8199999999999994-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_true(artifacts_take_shared(&found, name));
    time.tv_nsec += 1000;
    artifacts_print_shared(name, sizeof(name), &time, sum);
    assert_true(artifacts_take_shared(&found, name));
    assert_int_equal(found.n, 1);
    assert_int_equal(found.noted[0].tv_nsec, 6000);
    for (i = 0; i < ARTIFACTS_FOUND + 5; i++) {
        snprintf(sum + ARTIFACTS_SUM - 2, 3, "%02zx", i);
        time.tv_sec = 1800000000 + (time_t)(i * 7 % 25) - 10;
        artifacts_print_shared(name, sizeof(name), &time, sum);
        assert_true(artifacts_take_shared(&found, name));
    }
    assert_int_equal(found.n, ARTIFACTS_FOUND);
    for (i = 1; i < found.n; i++) {
        assert_true(found.noted[i].tv_sec <= found.noted[i - 1].tv_sec);
    }
    assert_int_equal(found.noted[0].tv_sec, 1800000014);
    assert_int_equal(found.noted[found.n - 1].tv_sec, 1799999996);
    assert_false(artifacts_take_shared(&found, sum));
    assert_false(artifacts_take_shared(&found, "8199999999999994-a"));
    name[16] = '_';
    assert_false(artifacts_take_shared(&found, name));
}

/* An entry of a folder that cannot be read to its end may be there. */
static void test_unreadable(void **state)
{
    struct symstore_path place =
        place_of("app.pdb", PDB, "app.pdb", PDB, NULL);
    struct artifacts_found found;
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "mkdir -p %s/app.pdb/" PDB " %s/"
             ARTIFACTS_FOLDER "/list", root, root);
    assert_int_equal(system(path), 0);
    assert_false(upload_index_is_shared(root, &place));
    assert_int_equal(artifacts_find(root, "list", &found), 0);
    unreadable = EIO;
    assert_true(upload_index_is_shared(root, &place));
    assert_int_equal(artifacts_find(root, "list", &found), EIO);
    unreadable = 0;
}

static void make_file(const char *before, unsigned sum, const char *after,
                      time_t changed)
{
    struct timespec times[2] = {{.tv_sec = changed}, {.tv_sec = changed}};
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/%s%0*x%s", root, before, ARTIFACTS_SUM,
             sum, after);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

/* In whatever order a large folder is read, its newest bundles are found. */
static void test_many_bundles(void **state)
{
    static const unsigned newest[] = {7, 9000, 23456};
    struct artifacts_found found;
    char text[PATH_MAX];
    unsigned i;

    (void)state;
    snprintf(text, sizeof(text), "mkdir -p %s/" ARTIFACTS_FOLDER "/many", root);
    assert_int_equal(system(text), 0);
    for (i = 0; i < 25000; i++) {
        make_file(ARTIFACTS_FOLDER "/many/", i, "", 1700000000);
    }
    for (i = 0; i < 3; i++) {
        make_file(ARTIFACTS_FOLDER "/many/", newest[i], "",
                  1800000000 + (time_t)i);
        snprintf(text, sizeof(text), "mkdir -p %s/_/hash-%0*x", root,
                 ARTIFACTS_SUM, newest[i]);
        assert_int_equal(system(text), 0);
        make_file("_/hash-", newest[i], "/" ARTIFACTS_FILE, 1800000000);
    }
    assert_int_equal(artifacts_find(root, "many", &found), 0);
    assert_int_equal(found.n, 3);
    for (i = 0; i < 3; i++) {
        assert_int_equal(strtoul(found.sums[i], NULL, 16), newest[2 - i]);
    }
}

/* Modules of which it has names are no uploads of it: what is known to be
 * absent stays so. */
static void test_users(void **state)
{
    symcache_key_t key = key_of("_", "buildid-" COMMON);
    symcache_key_t user = key_of("a", DEBUG);
    struct symstore_path place = place_of(
        "_.debug", "elf-buildid-sym-" COMMON, "_.debug", "buildid-" COMMON,
        NULL);
    struct upload_index_names names = {.n = 0};
    int64_t changed;

    upload_index_note_user(root, &key, &user);
    assert_int_equal(upload_index_changed(root, &key), 0);
    assert_int_equal(upload_index_touch(root, &place), 0);
    assert_false(upload_index_is_known_absent(root, &key));
    changed = upload_index_changed(root, &key);
    assert_int_not_equal(changed, 0);
    user.age = 7;
    upload_index_note_user(root, &key, &user);
    assert_int_equal(upload_index_changed(root, &key), changed);
    assert_int_equal(upload_index_find(root, "elf-buildid-" COMMON, &names),
                     0);
    assert_int_equal(names.nusers, 2);
    assert_memory_equal(names.users[0].guid, user.guid, sizeof(user.guid));
    assert_int_equal(names.users[0].age + names.users[1].age, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_profiler_ids),
        cmocka_unit_test(test_profiler_ids_of_images),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_strange_names),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_many_bundles),
        cmocka_unit_test(test_users),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
