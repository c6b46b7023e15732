/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lifetimes of negative entries.  The clock is moved: time() is the test's.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "symcached/negcache/negcache.h"
#include "base/workdir.h"
#include "symcached/store/store.h"
#include "unreadable.h"

#define T 1800000000

static time_t now = T;

time_t time(time_t *t)
{
    if (t != NULL) {
        *t = now;
    }
    return now;
}

/* Of the clock that tells when a folder has changed. */
static time_t later;

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);

    ts->tv_sec += id == CLOCK_REALTIME ? later : 0;
    return rc;
}

static char root[] = "/tmp/symcache-absent.XXXXXX";
static struct store_config store = {.name = "s", .root = root};
static const struct cache_config cache = {.retry_misses_after = 100,
                                          .retry_malformed_after = 1000,
                                          .retry_errors_after = 60};
static const symcache_version_t v9 = {9, 0, 0}, v3 = {3, 1, 0};

static struct negcache *negcache;
static symcache_key_t key;
static struct negcache_entry entry;

static unsigned forgotten(struct negcache *of, const symcache_key_t *which,
                          bool has_id)
{
    int errnum;
    unsigned n = negcache_forget(of, &store, which, has_id, &errnum);

    assert_int_equal(errnum, 0);
    return n;
}

static bool find_as(const char *name, const symcache_version_t *version)
{
    return negcache_find(negcache, &store, &cache, &key, name, "",
                         version, &entry);
}

static bool find(const symcache_version_t *version)
{
    return find_as("a.pdb", version);
}

static void put_as(const char *name, const symcache_version_t *version,
                   enum negcache_reason reason, const char *text)
{
    char tmp[64];

    snprintf(tmp, sizeof(tmp), "%s/tmp", root);
    assert_int_equal(negcache_add(negcache, &store, &cache, &key, name, "",
                                  version, reason, text, 0,
                                  NEGCACHE_NO_UPLOADS, tmp),
                     0);
    assert_int_equal(access(tmp, F_OK), -1);
}

static void put(const symcache_version_t *version, enum negcache_reason reason,
                const char *text)
{
    put_as("a.pdb", version, reason, text);
}

static void fail_for(const symcache_version_t *version, const char *text,
                     unsigned seconds)
{
    assert_int_equal(negcache_add(negcache, &store, &cache, &key, "a.pdb", "",
                                  version, NEGCACHE_ERROR, text, seconds,
                                  NEGCACHE_NO_UPLOADS, NULL),
                     0);
}

static void misses(void **state)
{
    assert_false(find(&v9));
    put(&v9, NEGCACHE_NOTFOUND, "two\nlines");
    assert_true(find(&v9));
    assert_int_equal(entry.reason, NEGCACHE_NOTFOUND);
    assert_int_equal(entry.since, T);
    assert_int_equal(entry.valid, 100);
    assert_string_equal(entry.text, "two lines");
    assert_false(find(&v3)); /* each version has its own */

    now = T + 99;
    assert_true(find(&v9));
    assert_int_equal(entry.valid, 1);
    now = T + 100;
    assert_false(find(&v9));
    now = T - 1; /* the clock was set back */
    assert_false(find(&v9));
}

/* Other sources may have it, or a good copy of it. */
static void other_sources(void **state)
{
    put(&v9, NEGCACHE_NOTFOUND, "x");
    put(&v3, NEGCACHE_MALFORMED, "x");
    store.fingerprint = UINT64_MAX;
    assert_false(find(&v9));
    assert_false(find(&v3));

    put(&v9, NEGCACHE_NOTFOUND, "x");
    assert_true(find(&v9));
    assert_string_equal(entry.text, "x");
    store.fingerprint = 0;
    assert_false(find(&v9));
}

/* A server that tells cases apart may have it under another name. */
static void other_spellings(void **state)
{
    static const struct source_type server = {.any_case = false},
                                    directory = {.any_case = true};
    struct source_config http = {.type = &server};
    struct source_config files = {.type = &directory};
    struct source_config *sources[] = {&files, &http};

    store.sources = sources;
    store.nsources = 2;

    put_as("A.pdb", &v9, NEGCACHE_NOTFOUND, "first");
    assert_true(find_as("a.pdb", &v9)); /* looked for, too */
    assert_true(find_as("A.pdb", &v9));
    assert_true(find_as(NULL, &v9));
    assert_string_equal(entry.variants.text, "A.pdb");
    assert_false(find_as("A.PDB", &v9));
    assert_false(find_as("A.pd", &v9));

    /* one more leaves the entry its time */
    now = T + 60;
    put_as("A.PDB", &v9, NEGCACHE_NOTFOUND, "second");
    assert_true(find_as("A.PDB", &v9));
    assert_int_equal(entry.valid, 40);
    assert_string_equal(entry.text, "second");
    assert_true(find_as("A.pdb", &v9));

    /* the same one again was looked for anew: all begins at that time */
    now = T + 70;
    put_as("A.PDB", &v9, NEGCACHE_NOTFOUND, "third");
    assert_true(find_as("A.PDB", &v9));
    assert_int_equal(entry.valid, 100);
    assert_false(find_as("A.pdb", &v9));

    /* as it was */
    now = T;
    put_as("A.PDB", &v9, NEGCACHE_NOTFOUND, "x");
    now = T + 60;
    put_as("A.pdb", &v9, NEGCACHE_NOTFOUND, "x");
    assert_int_equal((find_as("A.pdb", &v9), entry.valid), 40);

    /* no more than four: then it cannot be told */
    put_as("A.pdB", &v9, NEGCACHE_NOTFOUND, "x");
    assert_false(find_as("A.Pdb", &v9));
    put_as("A.pDb", &v9, NEGCACHE_NOTFOUND, "x");
    assert_true(find_as("A.Pdb", &v9));
    assert_int_equal(entry.reason, NEGCACHE_ERROR);
    assert_int_equal(entry.valid, 40);
    assert_true(find_as("A.pDb", &v9));
    assert_int_equal(entry.reason, NEGCACHE_NOTFOUND);
    now = T + 100;
    assert_false(find_as("A.Pdb", &v9));

    /* what is broken is broken in any spelling */
    put_as("A.pdb", &v3, NEGCACHE_MALFORMED, "x");
    assert_true(find_as("A.PDB", &v3));

    /* where cases do not matter, or are known, there is one spelling */
    put_as("A.pdb", &v9, NEGCACHE_NOTFOUND, "x");
    http.casing = CASING_LOWER;
    assert_true(find_as("A.PDB", &v9));
    http.casing = CASING_DEFAULT;
    http.layout = LAYOUT_SSQP;
    assert_true(find_as("A.PDB", &v9));
    http.layout = LAYOUT_SYMSTORE;
    assert_false(find_as("A.PDB", &v9));
    store.nsources = 1;
    assert_true(find_as("A.PDB", &v9));
    store.nsources = 0;
}

static void malformed(void **state)
{
    put(&v9, NEGCACHE_MALFORMED, "exit code 3");
    now = T + 999;
    assert_true(find(&v9));
    assert_int_equal(entry.valid, 1);
    now = T + 1000;
    assert_false(find(&v9));
}

/* A restart tries malformed ones again, and remembers misses. */
static void restart(void **state)
{
    put(&v9, NEGCACHE_MALFORMED, "x");
    put(&v3, NEGCACHE_NOTFOUND, "x");
    now = T + 10;
    negcache_free(negcache);
    negcache = negcache_new(now);
    assert_false(find(&v9));
    assert_true(find(&v3));
}

static void failures(void **state)
{
    fail_for(&v9, "timeout", 60);
    assert_int_equal(negcache_errors(negcache), 1);
    assert_true(find(&v9));
    assert_int_equal(entry.reason, NEGCACHE_ERROR);
    assert_int_equal(entry.valid, 60);
    assert_string_equal(entry.text, "timeout");
    assert_false(find(&v3));

    fail_for(&v9, "500", 10);
    assert_int_equal(negcache_errors(negcache), 1);
    now = T + 9;
    assert_true(find(&v9));
    assert_string_equal(entry.text, "500");
    now = T + 10;
    assert_false(find(&v9));
    assert_int_equal(negcache_errors(negcache), 0);
}

/* Memory has a bound: the oldest goes. */
static void many_failures(void **state)
{
    symcache_key_t first = key;
    unsigned i;

    for (i = 0; i < 10001; i++) {
        key.age = i;
        fail_for(&v9, "x", 60);
    }
    assert_int_equal(negcache_errors(negcache), 10000);
    assert_true(find(&v9));
    key.age = 0;
    assert_false(find(&v9));
    key = first;
}

static void drop(void **state)
{
    put(&v9, NEGCACHE_NOTFOUND, "x");
    fail_for(&v9, "x", 60);
    negcache_drop(negcache, &store, &key, &v9);
    assert_false(find(&v9));
}

static void forget(void **state)
{
    symcache_key_t first = key;

    put(&v9, NEGCACHE_NOTFOUND, "x");
    put(&v3, NEGCACHE_MALFORMED, "x");
    fail_for(&v9, "x", 60);
    key.age = 7;
    put(&v9, NEGCACHE_NOTFOUND, "x");
    fail_for(&v3, "x", 60);

    assert_int_equal(forgotten(negcache, &key, true), 2);
    assert_false(find(&v9));
    key = first;
    assert_true(find(&v9));
    assert_int_equal(forgotten(negcache, &key, false), 3);
    assert_false(find(&v9));
    assert_int_equal(forgotten(negcache, &key, false), 0);
}

/* How docs/caching.md says it. */
static void print_row(char row[256], const struct negcache_rule *rule)
{
    static const struct {
        size_t life;
        const char *key;
    } lives[] = {
        {offsetof(struct cache_config, retry_misses_after), "misses"},
        {offsetof(struct cache_config, retry_malformed_after), "malformed"},
        {offsetof(struct cache_config, retry_errors_after), "errors"},
    };
    size_t i = 0;

    while (lives[i].life != rule->life) {
        assert_true(++i < sizeof(lives) / sizeof(lives[0]));
    }
    snprintf(row, 256, "| `%s` | %s%s%s%s | `cache.retry_%s_after` | %s |\n",
             rule->name, rule->on_disk ? "on disk" : "in memory",
             rule->by_name ? ", for the spellings that were looked for" : "",
             rule->by_run ? ", until a restart" : "",
             rule->needs_file ? ", as long as the file on disk is there" : "",
             lives[i].key,
             rule->is_final     ? "404, final"
             : rule->needs_file ? "the file on disk"
                                : "404 or 503 with `Retry-After`");
}

/* People read the same table as the code: no row more, and none less. */
static void as_documented(void **state)
{
    char line[4096], row[256];
    FILE *f = fopen("docs/caching.md", "r");
    unsigned i;

    if (f == NULL) {
        fail_msg("no docs/caching.md: run this from the top of the tree");
    }
    while (fgets(line, sizeof(line), f) != NULL &&
           strncmp(line, "| reason | kept ", 16) != 0) {
    }
    assert_non_null(fgets(line, sizeof(line), f));
    for (i = 0; i < NEGCACHE_REASONS; i++) {
        print_row(row, &negcache_rules[i]);
        assert_non_null(fgets(line, sizeof(line), f));
        assert_string_equal(line, row);
    }
    assert_non_null(fgets(line, sizeof(line), f));
    assert_string_equal(line, "\n");
    fclose(f);
}

static void print_path(char buf[PATH_MAX], const char *name)
{
    snprintf(buf, PATH_MAX, "%s/%s", root, name);
}

#define FOLDER "a.pdb/0123456789ABCDEF0123456789ABCDEF1"

static void make_folder(void)
{
    char path[PATH_MAX];

    print_path(path, "a.pdb");
    assert_int_equal(mkdir(path, 0755), 0);
    print_path(path, FOLDER);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void write_text(const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *f;

    print_path(path, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* A former release had a file for each, which a new entry takes the place of;
 * one of a file that is malformed still has. */
static void own_files(void **state)
{
    static const char name[] = FOLDER "/a.pdb-v9.0.0.absent";
    char path[PATH_MAX], text[64];

    make_folder();
    snprintf(text, sizeof(text), "notfound %d\nfrom a file\n", T - 1);
    write_text(name, text);
    print_path(path, name);
    assert_true(find(&v9));
    assert_string_equal(entry.text, "from a file");
    assert_int_equal(forgotten(negcache, &key, true), 1);
    assert_false(find(&v9));

    write_text(name, text);
    put(&v9, NEGCACHE_NOTFOUND, "from the journal");
    assert_int_equal(access(path, F_OK), -1);
    assert_true(find(&v9));
    assert_string_equal(entry.text, "from the journal");

    put(&v9, NEGCACHE_MALFORMED, "bad");
    assert_int_equal(access(path, F_OK), 0);
    assert_true(find(&v9));
    assert_int_equal(entry.reason, NEGCACHE_MALFORMED);
    put(&v9, NEGCACHE_NOTFOUND, "gone");
    assert_int_equal(access(path, F_OK), -1);
    assert_true(find(&v9));
    assert_int_equal(entry.reason, NEGCACHE_NOTFOUND);
}

/* What cannot be looked at is not forgotten, which is told. */
static void forget_unseen(void **state)
{
    struct rlimit old, none;
    int i, errnum;

    make_folder();
    put(&v9, NEGCACHE_MALFORMED, "x");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    for (i = 0; i < 2; i++) {
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_int_equal(
            negcache_forget(negcache, &store, &key, i == 0, &errnum), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(errnum, EMFILE);
        assert_true(find(&v9));
        unreadable = EIO;
        assert_int_equal(
            negcache_forget(negcache, &store, &key, i == 0, &errnum), 0);
        unreadable = 0;
        assert_int_equal(errnum, EIO);
        assert_true(find(&v9));
    }
    assert_int_equal(forgotten(negcache, &key, true), 1);
    assert_false(find(&v9));
    assert_int_equal(forgotten(negcache, &key, false), 0);
}

/* Two helpers on one store: what one writes or takes back, the other knows. */
static void two_helpers(void **state)
{
    struct negcache *first = negcache, *second = negcache_new(now);

    put(&v9, NEGCACHE_NOTFOUND, "x");
    negcache = second;
    assert_true(find(&v9));
    put(&v3, NEGCACHE_NOTFOUND, "y");
    negcache = first;
    assert_true(find(&v3));
    assert_int_equal(forgotten(first, &key, true), 2);
    negcache = second;
    assert_false(find(&v9));
    assert_false(find(&v3));
    negcache_free(second);
    negcache = first;
}

/* A name with many ids is forgotten by one walk and one new journal: a record
 * for each id, and a walk for each, stopped the daemon for seconds. */
static void forget_many(void **state)
{
    symcache_key_t other = key, each = key;
    char path[PATH_MAX];
    struct stat alone, st;

    other.name[0] = 'z';
    key = other;
    put(&v9, NEGCACHE_NOTFOUND, "x");
    print_path(path, ".absent");
    assert_int_equal(stat(path, &alone), 0);
    key = each;
    for (key.age = 0; key.age < 300; key.age++) {
        put(&v9, NEGCACHE_NOTFOUND, "x");
    }
    assert_int_equal(forgotten(negcache, &key, false), 300);
    key.age = 7;
    assert_false(find(&v9));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, alone.st_size);
    key = other;
    assert_true(find(&v9));
    key = each;
}

/* The journal was removed: so was all that it says. */
static void removed(void **state)
{
    char path[PATH_MAX];

    put(&v9, NEGCACHE_NOTFOUND, "x");
    print_path(path, ".absent");
    assert_int_equal(unlink(path), 0);
    assert_false(find(&v9));
    put(&v9, NEGCACHE_NOTFOUND, "x");
    assert_true(find(&v9));
}

/* A release that does not know the journal has dropped something since. */
static void step_back(void **state)
{
    char path[PATH_MAX];
    struct timespec times[2] = {{T, 0}, {T, 0}};

    write_text(".forgotten", "\n");
    put(&v9, NEGCACHE_NOTFOUND, "x");
    print_path(path, ".forgotten");
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    print_path(path, ".absent");
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    negcache_free(negcache);
    negcache = negcache_new(now);
    assert_true(find(&v9));

    times[0].tv_nsec = times[1].tv_nsec = 1;
    print_path(path, ".forgotten");
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    negcache_free(negcache);
    negcache = negcache_new(now);
    assert_false(find(&v9));

    /* this release tells both */
    put(&v9, NEGCACHE_NOTFOUND, "x");
    assert_int_equal(store_tell_forgotten(root), 0);
    negcache_free(negcache);
    negcache = negcache_new(now);
    assert_true(find(&v9));
}

/* Without a folder of the key, or with one that has not changed, no list of
 * it is needed. */
static void alone(void **state)
{
    struct timespec times[2] = {{1, 0}, {1, 0}};
    char path[PATH_MAX];

    assert_false(negcache_is_alone(negcache, &store, &key, &v9));
    put(&v9, NEGCACHE_NOTFOUND, "x");
    assert_true(negcache_is_alone(negcache, &store, &key, &v9));
    assert_false(negcache_is_alone(negcache, &store, &key, &v3));

    make_folder();
    assert_false(negcache_is_alone(negcache, &store, &key, &v9));
    negcache_set_alone(negcache, &store, &key, &v9);
    assert_false(negcache_is_alone(negcache, &store, &key, &v9));

    /* the folder is older than its clock's tick (utimensat() cannot set the
     * time that counts, so the test's clock goes on) */
    print_path(path, FOLDER);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    later = 10;
    negcache_set_alone(negcache, &store, &key, &v9);
    assert_true(negcache_is_alone(negcache, &store, &key, &v9));
    write_text(FOLDER "/a.pdb-v9.0.0.symcache", "x");
    assert_false(negcache_is_alone(negcache, &store, &key, &v9));
    later = 0;
}

/* In memory and on disk there is room for so many; those that were added last
 * stay, also when all is read again. */
static void flood(void **state)
{
    static const unsigned n = 90000;
    symcache_key_t first = key;
    char path[PATH_MAX];
    struct stat st;
    unsigned i;

    for (i = 0; i < n; i++) {
        key.age = i;
        put(&v9, NEGCACHE_NOTFOUND, "msdl: 404; local: no such file");
    }
    key.age = 0;
    assert_false(find(&v9));
    for (i = n - 50000; i < n; i++) {
        key.age = i;
        assert_true(find(&v9));
    }
    print_path(path, ".absent");
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 32 << 20);
    negcache_free(negcache);
    negcache = negcache_new(now);
    assert_true(find(&v9));
    assert_int_equal(entry.since, T);
    key = first;
}

/* Each reason is kept where its rule says, and for as long. */
static void as_ruled(void **state)
{
    unsigned i;

    for (i = 0; i < NEGCACHE_REASONS; i++) {
        put(&v9, (enum negcache_reason)i, "x");
        assert_true(find(&v9));
        assert_int_equal(entry.reason, i);
        assert_int_equal(entry.valid, negcache_life(i, &cache));
        negcache_free(negcache);
        negcache = negcache_new(now);
        assert_int_equal(find(&v9), negcache_rules[i].on_disk);
        negcache_drop(negcache, &store, &key, &v9);
    }
}

/* With hints: for the same hints, spelling and sources, and for nobody else. */
static void hints(void **state)
{
    static const char a[] = "checksum=A:0", b[] = "checksum=A:1";
    uint64_t fingerprint = store.fingerprint;

    assert_int_equal(negcache_add(negcache, &store, &cache, &key, "a.pdb", a,
                                  &v9, NEGCACHE_NOTFOUND, "x", 0,
                                  NEGCACHE_NO_UPLOADS, NULL),
                     0);
    assert_false(find(&v9));
    assert_false(negcache_find(negcache, &store, &cache, &key, "a.pdb", b, &v9,
                               &entry));
    assert_false(negcache_find(negcache, &store, &cache, &key, "A.pdb", a, &v9,
                               &entry));
    assert_true(negcache_find(negcache, &store, &cache, &key, "a.pdb", a, &v9,
                              &entry));
    assert_int_equal(entry.reason, NEGCACHE_NOTFOUND);
    assert_int_equal(entry.valid, 100);

    store.fingerprint++;
    assert_false(negcache_find(negcache, &store, &cache, &key, "a.pdb", a, &v9,
                               &entry));
    store.fingerprint = fingerprint;

    put(&v9, NEGCACHE_NOTFOUND, "x");
    assert_false(negcache_find(negcache, &store, &cache, &key, "a.pdb", b, &v9,
                               &entry));
    assert_int_equal(forgotten(negcache, &key, true), 2);
    assert_false(negcache_find(negcache, &store, &cache, &key, "a.pdb", a, &v9,
                               &entry));
}

static bool find_source(const symcache_key_t *source, const char *hints)
{
    return negcache_find(negcache, &store, &cache, source, "a.example", hints,
                         &v9, &entry);
}

static void add_source(const symcache_key_t *source, const char *hints,
                       const char *tmp)
{
    assert_int_equal(negcache_add(negcache, &store, &cache, source,
                                  "a.example", hints, &v9, NEGCACHE_NOTFOUND,
                                  "x", 0, NEGCACHE_NO_UPLOADS, tmp),
                     0);
}

/* A hash proves its URL: what is found out with it is said of the key, and what
 * is found out without it is not. */
static void proved(void **state)
{
    static const char id[] = "hash-0123456789abcdef0123456789abcdef";
    static const char url[] = "url=https://a.example/";
    static const char more[] = "url=https://a.example/&sources=b";
    symcache_key_t source = {0};
    char tmp[64];

    symcache_name_parse("a.example", 9, &source);
    assert_int_equal(symcache_id_parse(id, strlen(id), &source), SYMCACHE_OK);
    source.kind = SYMCACHE_KIND_SOURCE;
    snprintf(tmp, sizeof(tmp), "%s/tmp", root);

    add_source(&source, "", tmp);
    assert_true(find_source(&source, ""));
    assert_false(find_source(&source, url));
    add_source(&source, more, tmp);
    assert_true(find_source(&source, more));
    assert_false(find_source(&source, url));
    assert_int_equal(forgotten(negcache, &source, true), 2);

    add_source(&source, url, tmp);
    negcache_free(negcache);
    negcache = negcache_new(now);
    assert_true(find_source(&source, url));
    assert_false(find_source(&source, more));
    negcache_drop(negcache, &store, &source, &v9);
    assert_false(find_source(&source, url));

    /* one that cannot be written is kept under the key, too */
    assert_int_equal(negcache_add(negcache, &store, &cache, &source,
                                  "a.example", url, &v9, NEGCACHE_NOTFOUND,
                                  "x", 0, NEGCACHE_NO_UPLOADS, NULL),
                     -1);
    assert_true(find_source(&source, url));
    negcache_drop(negcache, &store, &source, &v9);
    assert_false(find_source(&source, url));
}

/* What cannot be written is a failure, and for a short time only. */
static void unwritable(void **state)
{
    static const enum negcache_reason reasons[] = {NEGCACHE_NOTFOUND,
                                                   NEGCACHE_MALFORMED};
    char full[] = "/dev/full";
    size_t i;

    store.root = full;
    for (i = 0; i < 2; i++) {
        assert_int_equal(negcache_add(negcache, &store, &cache, &key, "a.pdb",
                                      "", &v9, reasons[i], "x", 0,
                                      NEGCACHE_NO_UPLOADS, "/dev/full/tmp"),
                         -1);
        assert_int_equal(errno, ENOTDIR);
        assert_true(find(&v9));
        assert_int_equal(entry.reason, NEGCACHE_ERROR);
        assert_int_equal(entry.valid, 60);
    }
    store.root = root;
}

static int begin(void **state)
{
    static const char id[] = "0123456789ABCDEF0123456789ABCDEF1";

    memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    now = T;
    negcache = negcache_new(now);
    return mkdtemp(root) == NULL || negcache == NULL ||
           symcache_name_parse("a.pdb", 5, &key) != SYMCACHE_OK ||
           symcache_id_parse(id, strlen(id), &key) != SYMCACHE_OK;
}

static int end(void **state)
{
    negcache_free(negcache);
    workdir_remove(root);
    return access(root, F_OK) == 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(misses),        TEST(other_sources), TEST(other_spellings),
        TEST(malformed),     TEST(restart),       TEST(failures),
        TEST(many_failures), TEST(drop),          TEST(forget),
        TEST(forget_many),   TEST(as_documented), TEST(as_ruled),
        TEST(unwritable),    TEST(hints),         TEST(proved),
        TEST(own_files),     TEST(forget_unseen), TEST(two_helpers),
        TEST(removed),       TEST(step_back),     TEST(alone),
        TEST(flood),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
