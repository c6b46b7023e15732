/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a pass of cleaning removes, and what it leaves, while others work in
 * the same trees.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "symcached/store/age_histogram.h"
#include "symcached/store/evict_pass.h"
#include "base/uptime.h"
#include "base/workdir.h"
#include "unreadable.h"

#define ID "0123456789ABCDEF0123456789ABCDEF1"
#define HOUR 3600
#define DAY (24 * HOUR)
#define BLOCK 4096 /* of the file system: what a small file takes */

static char dir[] = "/tmp/symcache-evict.XXXXXX";
static struct evict_pass_rules rules;
static struct evict_pass_count removed[EVICT_REASONS];
static uint64_t failed;
static void (*meanwhile)(void); /* before a file loses its name */

/* The libraries' renameat(), with somebody who is quicker. */
int renameat(int from, const char *name, int to, const char *other)
{
    void (*call)(void) = meanwhile;

    meanwhile = NULL;
    if (call != NULL) {
        call();
    }
    return (int)syscall(SYS_renameat, from, name, to, other);
}

static const char *path(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static const char *path(const char *format, ...)
{
    static char text[4][1024];
    static int i;
    va_list args;
    int n;

    i = (i + 1) % 4;
    n = snprintf(text[i], sizeof(text[i]), "%s/", dir);
    va_start(args, format);
    vsnprintf(text[i] + n, sizeof(text[i]) - (size_t)n, format, args);
    va_end(args);
    return text[i];
}

/* Makes a file of some blocks that was used so many seconds ago. */
static void put(const char *file, unsigned blocks, long age)
{
    struct timespec times[2] = {{time(NULL) - age, 0}, {0, 0}};
    static char bytes[BLOCK];
    char folder[1024];
    int fd;

    times[1] = times[0];
    snprintf(folder, sizeof(folder), "%s", file);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(workdir_make_path(folder), 0);
    fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    while (blocks-- > 0) {
        assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    }
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static const char *symcache(const char *pdb, const char *version)
{
    return path("store/%s/" ID "/%s-v%s", pdb, pdb, version);
}

static const char *download(const char *pdb)
{
    return path("downloads/s/%s/" ID "/%s", pdb, pdb);
}

static bool there(const char *file)
{
    return access(file, F_OK) == 0;
}

static void evict_pass(void)
{
    struct evict_pass *s = evict_pass_new(&rules);
    const struct evict_tree *trees;
    size_t i, n;
    int r;

    assert_non_null(s);
    assert_int_equal(evict_pass_add(s, "s", path("store"), path("downloads")),
                     0);
    evict_pass_run(s, NULL, NULL);

    memset(removed, 0, sizeof(removed));
    failed = 0;
    trees = evict_trees(s, &n);
    assert_int_equal(n, 2);
    for (i = 0; i < n; i++) {
        failed += trees[i].failed;
        for (r = 0; r < EVICT_REASONS; r++) {
            removed[r].files += trees[i].removed[r].files;
            removed[r].bytes += trees[i].removed[r].bytes;
        }
    }
    evict_pass_free(s);
}

static uint64_t all_removed(void)
{
    uint64_t n = 0;
    int r;

    for (r = 0; r < EVICT_REASONS; r++) {
        n += removed[r].files;
    }
    return n;
}

/* each rule has its own life ------------------------------------------------
 */

static void by_age(void **state)
{
    put(symcache("old.pdb", "9.0.0.symcache"), 1, 7 * DAY + HOUR);
    put(symcache("new.pdb", "9.0.0.symcache"), 1, 7 * DAY - HOUR);
    put(symcache("old.pdb", "8.0.0.absent"), 1, 2 * HOUR + 60);
    put(symcache("new.pdb", "8.0.0.absent"), 1, 2 * HOUR - 60);
    put(download("old.pdb"), 1, DAY + 60);
    put(download("new.pdb"), 1, DAY - 60);

    rules.dry_run = true;
    evict_pass();
    assert_int_equal(removed[EVICT_UNUSED].files, 2);
    assert_int_equal(removed[EVICT_UNUSED].bytes, 2 * BLOCK);
    assert_int_equal(removed[EVICT_EXPIRED].files, 1);
    assert_true(there(symcache("old.pdb", "9.0.0.symcache")));
    assert_true(there(download("old.pdb")));

    rules.dry_run = false;
    evict_pass();
    assert_int_equal(removed[EVICT_UNUSED].files, 2);
    assert_int_equal(removed[EVICT_EXPIRED].files, 1);
    assert_int_equal(failed, 0);
    assert_false(there(path("store/old.pdb")));
    assert_false(there(path("downloads/s/old.pdb")));
    assert_true(there(symcache("new.pdb", "9.0.0.symcache")));
    assert_true(there(symcache("new.pdb", "8.0.0.absent")));
    assert_true(there(download("new.pdb")));
}

/* A file and its .gz are one; a .gz of another file is of no use. */
static void together(void **state)
{
    put(symcache("a.pdb", "9.0.0.symcache"), 1, HOUR);
    put(symcache("a.pdb", "9.0.0.symcache.gz"), 1, HOUR);
    put(symcache("a.pdb", "8.0.0.symcache"), 1, 8 * DAY);
    put(symcache("a.pdb", "8.0.0.symcache.gz"), 1, 8 * DAY);
    put(symcache("a.pdb", "7.0.0.symcache.gz"), 1, HOUR);
    put(symcache("a.pdb", "6.0.0.symcache"), 1, HOUR);
    put(symcache("a.pdb", "6.0.0.symcache.gz"), 1, 2 * HOUR);
    evict_pass();
    assert_int_equal(removed[EVICT_UNUSED].files, 4);
    assert_int_equal(removed[EVICT_UNUSED].bytes, 4 * BLOCK);
    assert_true(there(symcache("a.pdb", "9.0.0.symcache")));
    assert_true(there(symcache("a.pdb", "9.0.0.symcache.gz")));
    assert_true(there(symcache("a.pdb", "6.0.0.symcache")));
}

/* room ----------------------------------------------------------------------
 */

static void downloads_first(void **state)
{
    put(symcache("a.pdb", "9.0.0.symcache"), 2, 6 * DAY);
    put(download("a.pdb"), 2, HOUR);
    put(download("b.pdb"), 2, 2 * HOUR);

    rules.max_size = 4 * BLOCK;
    evict_pass();
    assert_int_equal(removed[EVICT_MAX_SIZE].files, 1);
    assert_false(there(download("b.pdb")));
    assert_true(there(download("a.pdb")));

    rules.max_size = BLOCK;
    evict_pass();
    assert_int_equal(removed[EVICT_MAX_SIZE].files, 2);
    assert_false(there(download("a.pdb")));
    assert_false(there(symcache("a.pdb", "9.0.0.symcache")));
}

/* The limit of downloads is theirs alone, and a part of the one of all. */
static void downloads_have_a_limit(void **state)
{
    put(symcache("a.pdb", "9.0.0.symcache"), 2, 6 * DAY);
    put(download("a.pdb"), 2, HOUR);
    put(download("b.pdb"), 2, 2 * HOUR);
    put(download("c.pdb"), 2, 3 * HOUR);

    rules.downloads_max_size = 4 * BLOCK;
    rules.max_size = 6 * BLOCK;
    evict_pass();
    assert_int_equal(removed[EVICT_MAX_SIZE].files, 1);
    assert_false(there(download("c.pdb")));

    rules.max_size = 4 * BLOCK;
    evict_pass();
    assert_int_equal(removed[EVICT_MAX_SIZE].files, 1);
    assert_false(there(download("b.pdb")));

    rules.max_size = 0; /* no limit */
    rules.downloads_max_size = BLOCK;
    evict_pass();
    assert_int_equal(removed[EVICT_MAX_SIZE].files, 1);
    assert_false(there(download("a.pdb")));
    assert_true(there(symcache("a.pdb", "9.0.0.symcache")));
}

static void least_recently_used(void **state)
{
    static const unsigned order[] = {5, 2, 9, 0, 7, 1, 8, 3, 6, 4};
    char pdb[16];
    unsigned i;

    for (i = 0; i < 10; i++) {
        snprintf(pdb, sizeof(pdb), "%u.pdb", order[i]);
        put(symcache(pdb, "9.0.0.symcache"), 1, (order[i] + 1) * HOUR);
    }
    rules.max_size = 4 * BLOCK;
    evict_pass();
    assert_int_equal(removed[EVICT_MAX_SIZE].files, 6);
    for (i = 0; i < 10; i++) {
        snprintf(pdb, sizeof(pdb), "%u.pdb", i);
        assert_int_equal(there(symcache(pdb, "9.0.0.symcache")), i < 4);
    }

    rules.max_size = 0; /* no limit */
    evict_pass();
    assert_int_equal(all_removed(), 0);
}

/*
 * What was used just now may be waited for by a job.  The use of a SymCache
 * is noted once an hour.
 */
static void fresh(void **state)
{
    put(symcache("a.pdb", "9.0.0.symcache"), 4, 60);
    put(symcache("b.pdb", "9.0.0.symcache"), 4, HOUR + 540);
    put(symcache("c.pdb", "9.0.0.symcache"), 4, HOUR + 660);
    put(download("a.pdb"), 4, 540);
    put(download("b.pdb"), 4, 660);
    rules.max_size = 1;
    evict_pass();
    assert_int_equal(all_removed(), 2);
    assert_false(there(symcache("c.pdb", "9.0.0.symcache")));
    assert_false(there(download("b.pdb")));
}

static void min_free(void **state)
{
    put(symcache("a.pdb", "9.0.0.symcache"), 1, 6 * DAY);
    put(download("a.pdb"), 1, HOUR);
    rules.min_free = UINT64_MAX / 2;
    rules.dry_run = true;
    evict_pass();
    assert_int_equal(removed[EVICT_MIN_FREE].files, 2);
    rules.dry_run = false;
    evict_pass();
    assert_int_equal(removed[EVICT_MIN_FREE].files, 2);
}

/* others at work ------------------------------------------------------------
 */

static void publish_again(void)
{
    put(path("store/new"), 3, 0);
    assert_int_equal(
        rename(path("store/new"), symcache("a.pdb", "9.0.0.symcache")), 0);
}

static void use(void)
{
    assert_int_equal(
        utimensat(AT_FDCWD, symcache("a.pdb", "9.0.0.symcache"), NULL, 0), 0);
}

static void take_away(void)
{
    workdir_remove(path("store"));
}

static void keeps_what_is_new(void **state)
{
    struct stat st;

    put(symcache("a.pdb", "9.0.0.symcache"), 1, 9 * DAY);
    meanwhile = publish_again;
    evict_pass();
    assert_int_equal(all_removed(), 0);
    assert_int_equal(stat(symcache("a.pdb", "9.0.0.symcache"), &st), 0);
    assert_int_equal(st.st_size, 3 * BLOCK);

    put(symcache("a.pdb", "9.0.0.symcache"), 1, 9 * DAY);
    meanwhile = use;
    evict_pass();
    assert_int_equal(all_removed(), 0);
    assert_true(there(symcache("a.pdb", "9.0.0.symcache")));
    assert_int_equal(failed, 0);
}

static void survives_the_root(void **state)
{
    put(symcache("a.pdb", "9.0.0.symcache"), 1, 9 * DAY);
    put(symcache("b.pdb", "9.0.0.symcache"), 1, 9 * DAY);
    meanwhile = take_away;
    evict_pass();
    assert_int_equal(failed, 0);
    assert_false(there(path("store")));
    evict_pass();
    assert_int_equal(failed, 0);
}

/* One that was killed between the two steps of removing a file. */
static void left_behind(void **state)
{
    const char *gone = path("store/a.pdb/" ID "/.removed-1-1");

    put(gone, 1, 9 * DAY); /* its ctime is of now */
    evict_pass();
    assert_true(there(gone));
}

/* ages ----------------------------------------------------------------------
 */

/* Against the sum over all files, each of which is older than an hour. */
static void marks_enough(void **state)
{
    struct age_histogram *age_histogram = malloc(sizeof(*age_histogram));
    uint64_t sizes[1000], all = 0, gone, wanted;
    long age[1000], oldest_kept, youngest_gone;
    unsigned i, round;

    srand(1);
    for (round = 1; round <= 20; round++) {
        age_histogram_init(age_histogram, 7 * DAY);
        for (all = i = 0; i < 1000; i++) {
            age[i] = rand() % (7 * DAY);
            sizes[i] = (uint64_t)(rand() % 1000000) + 1;
            all += sizes[i];
            age_histogram_add(age_histogram, age[i], sizes[i]);
        }

        wanted = all / 20 * round;
        assert_int_equal(age_histogram_mark(&age_histogram, 1, wanted / 2),
                         wanted / 2);
        assert_int_equal(
            age_histogram_mark(&age_histogram, 1, wanted - wanted / 2),
            wanted - wanted / 2);
        oldest_kept = 0;
        youngest_gone = 100 * DAY;
        for (gone = i = 0; i < 1000; i++) {
            if (age_histogram_marked(age_histogram, age[i], sizes[i])) {
                gone += sizes[i];
                youngest_gone =
                    age[i] < youngest_gone ? age[i] : youngest_gone;
            } else if (age[i] > oldest_kept) {
                oldest_kept = age[i];
            }
        }
        assert_true(gone >= wanted && gone < wanted + 1000000);
        /* but for one step, the older ones went */
        assert_true(oldest_kept <= youngest_gone + (long)age_histogram->width);
    }
    free(age_histogram);
}

/* Its downloads are cleaned, and nothing of it is left to write to. */
static void former_store(void **state)
{
    struct evict_pass *s;
    int status;
    pid_t pid;

    if (geteuid() != 0) {
        print_message("# skipped: only root can have a root folder\n");
        return;
    }
    pid = fork();
    if (pid == 0) {
        rules.run.id = 1;
        s = evict_pass_new(&rules);
        if (chroot(dir) != 0 || chdir("/") != 0 || s == NULL ||
            evict_pass_add(s, "former", "", "/downloads") != 0) {
            _exit(2);
        }
        evict_pass_run(s, NULL, NULL);
        _exit(access("/" UPTIME_FILE, F_OK) == 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* after a step back ---------------------------------------------------------
 */

static const char *at(const char *tree, const char *name, const char *id,
                      const char *end)
{
    return path("%s/%s/%s/%s%s", tree, name, id, name, end);
}

/* What a later release left, and what nobody but its owner can judge: the
 * forms are those of proto/path.h. */
static void unknown(void **state)
{
    static const struct {
        const char *tree, *id, *end;
        bool goes;
    } files[] = {
        {"store", ID, "-v9.0.0.symcache", false},
        {"store", ID, "-v9.0.0.symcache.gz", false},
        {"store", ID, "-v9.0.0.absent", false},
        {"store", ID, "-v1.0.0.cficache.absent", false},
        {"store", ID, "-v2.0.0.coffcache", true},
        {"store", ID, "-v2.0.0.coffcache.gz", true},
        {"store", ID, "-v2.0.0.coffcache.absent", true},
        {"store", ID, "-v9.0.0.symcache.zst", true},
        {"store", ID, "-v2.0.coffcache", false},
        {"store", ID, "-v02.0.0.coffcache", false},
        {"store", ID, "-v2.0.0.", false},
        {"store", ID, "-v2.0.0", false},
        {"store", ID, "-v2.0.0.coffcache~", false},
        {"store", ID, "-v2.0.0.coff cache", false},
        {"store", ID, "-v2.0.0.a.b.c", false},
        {"store", ID, ".txt", false},
        {"store", ID, "", false},
        /* a PpdbCache has no such id: it is served to nobody */
        {"store", "hash-0123456789abcdef0123456789abcdef", "-v1.0.0.ppdbcache",
         true},
        {"store", "hash-0123456789abcdef0123456789abcdef", "-v1.0.0.jscache",
         false},
        {"store", "sum-0123456789abcdef", "-v9.0.0.symcache", true},
        {"store", "sum-0123456789abcdef", "-v2.0.0.coffcache", true},
        {"store", "sum-0123456789abcdef", ".txt", false},
        {"store", "sum-0123456789abcde", "-v9.0.0.symcache", false},
        {"store", "sum-0123456789abcdef0", "-v9.0.0.symcache", false},
        {"store", "build-2026", "-v9.0.0.symcache", false},
        {"store", "notes-2026-11", "-v9.0.0.symcache", false},
        {"store", "SUM-0123456789abcdef", "-v9.0.0.symcache", false},
        {"downloads/s", ID, "", false},
        {"downloads/s", ID, ".sym", false},
        {"downloads/s", ID, ".coff", true},
        {"downloads/s", ID, ".coff.part", false},
        {"downloads/s", ID, ".Coff", false},
        {"downloads/s", "sum-0123456789abcdef", "", true},
        {"downloads/s", "sum-0123456789abcdef", ".sym", true},
    };
    size_t i, n = sizeof(files) / sizeof(files[0]), go = 0;
    static const char other[] = "store/a.pdb/" ID "/b.pdb-v2.0.0.coffcache";

    for (i = 0; i < n; i++) {
        put(at(files[i].tree, "a.pdb", files[i].id, files[i].end), 1,
            60 * DAY);
        go += files[i].goes;
    }
    put(path("%s", other), 1, 60 * DAY);
    put(path("store/.later"), 1, 60 * DAY);
    put(at("store", "b.pdb", "sum-0123456789abcdef", "-v2.0.0.coffcache"), 1,
        0);
    assert_int_equal(
        symlink("/etc/passwd", at("store", "a.pdb", ID, "-v2.0.0.link")), 0);

    rules.unknown = true;
    rules.max_size = 1; /* no other rule counts */
    rules.dry_run = true;
    evict_pass();
    assert_int_equal(removed[EVICT_UNKNOWN].files, go + 1);
    assert_int_equal(removed[EVICT_UNKNOWN].bytes, (go + 1) * BLOCK);
    for (i = 0; i < n; i++) {
        assert_true(
            there(at(files[i].tree, "a.pdb", files[i].id, files[i].end)));
    }

    rules.dry_run = false;
    evict_pass();
    assert_int_equal(removed[EVICT_UNKNOWN].files, go + 1);
    assert_int_equal(all_removed(), go + 1);
    assert_int_equal(failed, 0);
    for (i = 0; i < n; i++) {
        if (there(at(files[i].tree, "a.pdb", files[i].id, files[i].end)) ==
            files[i].goes) {
            fail_msg("%s %s %s", files[i].tree, files[i].id, files[i].end);
        }
    }
    assert_false(there(path("store/b.pdb"))); /* an empty folder goes */
    assert_true(there(path("%s", other)));
    assert_true(there(path("store/.later")));
    assert_true(there(at("store", "a.pdb", ID, "-v2.0.0.link")));
}

/* A pass without this rule leaves them, however old they are. */
static void unknown_stays(void **state)
{
    put(at("store", "a.pdb", ID, "-v2.0.0.coffcache"), 1, 60 * DAY);
    put(at("store", "a.pdb", "sum-0123456789abcdef", "-v9.0.0.symcache"), 1,
        60 * DAY);
    put(at("downloads/s", "a.pdb", ID, ".coff"), 1, 60 * DAY);
    evict_pass();
    assert_int_equal(all_removed(), 0);
    assert_true(there(at("store", "a.pdb", ID, "-v2.0.0.coffcache")));
}

/* Downloads of stores that are not known, as their folder cannot be read. */
static void former_unread(void **state)
{
    struct evict_pass *s = evict_pass_new(&rules);
    uint64_t n;

    (void)state;
    assert_non_null(s);
    put(path("downloads/former/a.pdb/" ID "/a.pdb"), 1, 0);
    assert_int_equal(evict_pass_add_former(s, path("nowhere")), 0);
    evict_pass_removed(s, removed, &n);
    assert_int_equal(n, 0);
    unreadable = EIO;
    assert_int_equal(evict_pass_add_former(s, path("downloads")), 0);
    unreadable = 0;
    evict_pass_removed(s, removed, &n);
    assert_int_equal(n, 1);
    evict_pass_free(s);
}

static int begin(void **state)
{
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    memset(&rules, 0, sizeof(rules));
    rules.max_unused_for = 7 * DAY;
    rules.downloads_max_unused_for = DAY;
    rules.absent_for = 2 * HOUR;
    meanwhile = NULL;
    return mkdtemp(dir) == NULL;
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
        TEST(by_age),
        TEST(together),
        TEST(downloads_first),
        TEST(downloads_have_a_limit),
        TEST(least_recently_used),
        TEST(fresh),
        TEST(min_free),
        TEST(keeps_what_is_new),
        TEST(survives_the_root),
        TEST(left_behind),
        TEST(marks_enough),
        TEST(former_store),
        TEST(former_unread),
        TEST(unknown),
        TEST(unknown_stays),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
