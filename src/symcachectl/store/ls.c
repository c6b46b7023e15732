/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl ls: what a store on this machine contains.  Only one build is
 * kept in memory at a time, so a million of them need no more than one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"
#include "base/array.h"
#include "base/byte_compare.h"
#include "base/fd_close.h"
#include "base/journal.h"
#include "proto/path.h"
#include "symcachectl/settings.h"

#define VERSIONS_MAX 64 /* of a build; more are not shown */
#define ABSENT_MAX 5000 /* of a negative entry, two lines of it */

/* One version of a kind of a build: a file, a negative entry, or both. */
struct ls_version {
    symcache_kind_e kind;
    symcache_version_t version;
    uint64_t size; /* 0: no file */
    uint64_t gzip;
    time_t used;
    int is_absent;
};

/* Of the journal of absent keys, the at-th one. */
struct ls_record {
    char *text;
    size_t path_len;
    size_t at;
};

struct ls {
    struct settings settings;
    char **patterns;
    int npatterns;
    int only_present;
    int only_absent;
    time_t used_before; /* 0: all files */
    uint64_t files;
    uint64_t bytes;
    uint64_t absent;
    int failed;
    struct ls_version versions[VERSIONS_MAX];
    int nversions;
    struct ls_record *records; /* of the journal of absent keys */
    size_t nrecords;
    size_t room;
};

/* Returns NULL if the folder has vanished or is not a folder; reports other
 * errors. */
static DIR *ls_open_folder(struct ls *ls, int at, const char *name,
                           const char *told)
{
    int fd;

    fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
            ls->failed = 1;
            command_fail(COMMAND_IO, told, strerror(errno));
        }
        return NULL;
    }
    return fdopendir(fd);
}

static struct ls_version *version_of(struct ls *ls, symcache_kind_e kind,
                                     const symcache_version_t *version)
{
    struct ls_version *v;
    int i;

    for (i = 0; i < ls->nversions; i++) {
        if (ls->versions[i].kind == kind &&
            symcache_version_cmp(&ls->versions[i].version, version) == 0) {
            return &ls->versions[i];
        }
    }
    if (ls->nversions == VERSIONS_MAX) {
        return NULL;
    }
    v = &ls->versions[ls->nversions++];
    memset(v, 0, sizeof(*v));
    v->kind = kind;
    v->version = *version;
    return v;
}

/* Sets the kind of the key to that of the file. */
static void ls_add_file(struct ls *ls, int at, const char *name,
                        symcache_key_t *key)
{
    symcache_version_t version;
    symcache_file_e file;
    struct ls_version *v;
    struct stat st;

    if (!symcache_path_entry_parse(name, strlen(name), key, &version, &file) ||
        !symcache_key_supported(key) ||
        fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode)) {
        return;
    }
    v = version_of(ls, (symcache_kind_e)key->kind, &version);
    if (v == NULL) {
        return;
    }
    if (file == SYMCACHE_FILE_ABSENT) {
        v->is_absent = 1;
    } else if (file == SYMCACHE_FILE_GZIP) {
        v->gzip = (uint64_t)st.st_size;
    } else {
        v->size = (uint64_t)st.st_size;
        v->used = st.st_mtime;
    }
}

static int ls_compare_entries(const void *a, const void *b)
{
    const struct ls_version *left = a, *right = b;

    return left->kind != right->kind
               ? (int)left->kind - (int)right->kind
               : symcache_version_cmp(&left->version, &right->version);
}

/* Reads "<reason> <since>...\n<text>\n".  Returns the text. */
static const char *ls_read_absent(int at, const char *name, char *buf,
                                  size_t size, double *since)
{
    char *space, *text;
    ssize_t n;
    int fd;

    fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    n = fd >= 0 ? read(fd, buf, size - 1) : 0;
    fd_close(fd);
    buf[n > 0 ? n : 0] = '\0';
    text = strchr(buf, '\n');
    if (text == NULL) {
        *since = 0;
        return "";
    }
    *text++ = '\0';
    text[strcspn(text, "\n")] = '\0';
    space = strchr(buf, ' ');
    *since = space != NULL ? strtod(space, NULL) : 0;
    buf[strcspn(buf, " ")] = '\0';
    return text;
}

static void ls_print_row(const symcache_key_t *key, const char *id,
                         const char *version, const char *size, double when)
{
    char time[PRINTABLE_TIME_MAX], *name;

    name = printable(key->name, key->name_len);
    printable_time(time, when);
    if (key->kind != SYMCACHE_KIND_SYMCACHE) {
        printf("%s:", symcache_kind_text((symcache_kind_e)key->kind));
    }
    printf("%-28s %-33s %-8s %10s  %-19s", name, id, version, size, time);
    free(name);
}

static void print_file(const struct ls *ls, const symcache_key_t *key,
                       const char *id, const struct ls_version *v)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1], size[PRINTABLE_SIZE_MAX];
    cJSON *object;

    symcache_version_print(version, &v->version);
    if (!ls->settings.is_json) {
        printable_size(size, v->size);
        ls_print_row(key, id, version, size, (double)v->used);
        puts(v->gzip > 0 ? "  gz" : "");
        return;
    }
    object = cJSON_CreateObject();
    if (v->kind != SYMCACHE_KIND_SYMCACHE) {
        cJSON_AddStringToObject(object, "kind", symcache_kind_text(v->kind));
    }
    cJSON_AddStringToObject(object, "pdb", key->name);
    cJSON_AddStringToObject(object, "id", id);
    cJSON_AddStringToObject(object, "version", version);
    cJSON_AddNumberToObject(object, "size", (double)v->size);
    cJSON_AddNumberToObject(object, "gzip", (double)v->gzip);
    cJSON_AddNumberToObject(object, "used", (double)v->used);
    printable_json(stdout, object);
    cJSON_Delete(object);
}

static void print_absent(const struct ls *ls, const symcache_key_t *key,
                         const char *id, const symcache_version_t *of,
                         const char *reason, const char *text, double since)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    cJSON *object;

    symcache_version_print(version, of);
    if (!ls->settings.is_json) {
        ls_print_row(key, id, version, "absent", since);
        fputs("  ", stdout);
        printable_put(stdout, reason);
        fputs(": ", stdout);
        printable_put(stdout, text);
        putchar('\n');
        return;
    }
    object = cJSON_CreateObject();
    if (key->kind != SYMCACHE_KIND_SYMCACHE) {
        cJSON_AddStringToObject(
            object, "kind", symcache_kind_text((symcache_kind_e)key->kind));
    }
    cJSON_AddStringToObject(object, "pdb", key->name);
    cJSON_AddStringToObject(object, "id", id);
    cJSON_AddStringToObject(object, "version", version);
    cJSON_AddStringToObject(object, "absent", reason);
    cJSON_AddStringToObject(object, "reason", text);
    cJSON_AddNumberToObject(object, "since", since);
    printable_json(stdout, object);
    cJSON_Delete(object);
}

static void print_absent_file(const struct ls *ls, int at,
                              const symcache_key_t *key, const char *id,
                              const struct ls_version *version)
{
    char name[SYMCACHE_PATH_MAX + 1], entry[ABSENT_MAX];
    const char *text;
    double since;

    symcache_path_name(name, key, &version->version, SYMCACHE_FILE_ABSENT);
    text = ls_read_absent(at, name, entry, sizeof(entry), &since);
    print_absent(ls, key, id, &version->version, entry, text, since);
}

static void list_build(struct ls *ls, int at, symcache_key_t *key,
                       const char *id, const char *told)
{
    const struct ls_version *version;
    struct dirent *entry;
    DIR *dir;

    dir = ls_open_folder(ls, at, id, told);
    if (dir == NULL) {
        return;
    }
    ls->nversions = 0;
    while ((entry = readdir(dir)) != NULL) {
        ls_add_file(ls, dirfd(dir), entry->d_name, key);
    }
    qsort(ls->versions, (size_t)ls->nversions, sizeof(ls->versions[0]),
          ls_compare_entries);
    for (version = ls->versions; version < ls->versions + ls->nversions;
         version++) {
        key->kind = (uint8_t)version->kind;
        if (version->size > 0 && !ls->only_absent &&
            (ls->used_before == 0 || version->used < ls->used_before)) {
            print_file(ls, key, id, version);
            ls->files++;
            ls->bytes += version->size + version->gzip;
        }
        if (version->is_absent && !ls->only_present && ls->used_before == 0) {
            print_absent_file(ls, dirfd(dir), key, id, version);
            ls->absent++;
        }
    }
    closedir(dir);
}

static bool ls_is_wanted(const struct ls *ls, const char *name)
{
    int i;

    for (i = 0; i < ls->npatterns; i++) {
        if (fnmatch(ls->patterns[i], name, FNM_CASEFOLD) == 0) {
            return true;
        }
    }
    return ls->npatterns == 0;
}

static void list_pdb(struct ls *ls, int at, const char *name)
{
    struct dirent *entry;
    symcache_key_t key;
    DIR *dir;

    if (symcache_name_parse(name, strlen(name), &key) != SYMCACHE_OK ||
        strcmp(key.name, name) != 0 || !ls_is_wanted(ls, name)) {
        return;
    }
    dir = ls_open_folder(ls, at, name, name);
    if (dir == NULL) {
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (symcache_path_id_parse(entry->d_name, strlen(entry->d_name),
                                   &key)) {
            list_build(ls, dirfd(dir), &key, entry->d_name, name);
        }
    }
    closedir(dir);
}

/* A journal_fn: keeps each record. */
static void keep_record(void *arg, const char *text)
{
    struct ls *ls = arg;
    char *copy = text != NULL ? strdup(text) : NULL;

    if (copy == NULL ||
        array_need((void **)&ls->records, &ls->room, ls->nrecords + 1,
                   sizeof(ls->records[0])) != 0) {
        ls->failed = 1;
        free(copy);
        return;
    }
    ls->records[ls->nrecords] = (struct ls_record){
        .text = copy,
        .path_len = strcspn(copy, "\t"),
        .at = ls->nrecords,
    };
    ls->nrecords++;
}

static int ls_compare_paths(const struct ls_record *a,
                            const struct ls_record *b)
{
    return byte_compare(a->text, a->path_len, b->text, b->path_len);
}

/* By path; the records of one path in the order of the file. */
static int ls_compare_records(const void *a, const void *b)
{
    const struct ls_record *left = a, *right = b;
    int order = ls_compare_paths(left, right);

    return order != 0 ? order : (left->at > right->at) - (left->at < right->at);
}

/* Shows "<path>\t<reason>\t<since>\t<fingerprint>\t<spellings>\t<text>". */
static void list_record(struct ls *ls, char *record)
{
    char *fields[6] = {record, NULL};
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    symcache_version_t version;
    symcache_file_e file;
    symcache_key_t key;
    size_t i;

    for (i = 1; i < 6 && (record = strchr(record, '\t')) != NULL; i++) {
        *record++ = '\0';
        fields[i] = record;
    }
    if (i < 6 ||
        !symcache_path_file_parse(fields[0], strlen(fields[0]), &key, &version,
                                  &file) ||
        !symcache_key_supported(&key) || !ls_is_wanted(ls, key.name)) {
        return;
    }
    symcache_id_print(id, &key);
    print_absent(ls, &key, id, &version, fields[1], fields[5],
                 strtod(fields[2], NULL));
    ls->absent++;
}

/* What the store's journal says to be absent. */
static void list_absent(struct ls *ls, const char *root)
{
    struct journal journal = {0};
    char path[PATH_MAX];
    size_t i;

    if (ls->only_present || ls->used_before != 0) {
        return;
    }
    snprintf(path, sizeof(path), "%.1024s/" SYMCACHE_ABSENT_FILE, root);
    if (journal_read(&journal, path, keep_record, ls) != 0) {
        ls->failed = 1;
        command_fail(COMMAND_IO, path, strerror(errno));
    }
    if (ls->nrecords == 0) {
        return;
    }
    qsort(ls->records, ls->nrecords, sizeof(ls->records[0]),
          ls_compare_records);
    for (i = 0; i < ls->nrecords; i++) {
        /* the last one of a path counts */
        if (i + 1 == ls->nrecords ||
            ls_compare_paths(&ls->records[i], &ls->records[i + 1]) != 0) {
            list_record(ls, ls->records[i].text);
        }
    }
}

static void ls_print_sums(const struct ls *ls)
{
    char size[PRINTABLE_SIZE_MAX];
    cJSON *object;

    if (!ls->settings.is_json) {
        printable_size(size, ls->bytes);
        printf("%" PRIu64 " file%s, %s; %" PRIu64 " absent\n", ls->files,
               ls->files == 1 ? "" : "s", size, ls->absent);
        return;
    }
    object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "files", (double)ls->files);
    cJSON_AddNumberToObject(object, "bytes", (double)ls->bytes);
    cJSON_AddNumberToObject(object, "absent", (double)ls->absent);
    printable_json(stdout, object);
    cJSON_Delete(object);
}

static int list_store(struct ls *ls, const char *root)
{
    struct dirent *entry;
    DIR *dir = opendir(root);

    if (dir == NULL) {
        return command_fail(COMMAND_IO, root, strerror(errno));
    }
    while ((entry = readdir(dir)) != NULL && !ferror(stdout)) {
        list_pdb(ls, dirfd(dir), entry->d_name);
    }
    closedir(dir);
    list_absent(ls, root);
    ls_print_sums(ls);
    if (ls->failed) {
        return COMMAND_IO;
    }
    return ls->files + ls->absent > 0 ? COMMAND_OK : COMMAND_NOT_FOUND;
}

/* Reads "90s", "30m", "12h" or "7d".  Returns 0 or -1. */
static int read_duration(const char *text, time_t *seconds)
{
    static const struct {
        char unit;
        time_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    unsigned long n;
    char *end;
    size_t i;

    if (text[0] < '0' || text[0] > '9') {
        return -1;
    }
    n = strtoul(text, &end, 10);
    for (i = 0; i < COUNT(units); i++) {
        if (end[0] == units[i].unit && end[1] == '\0' && n <= 1000000) {
            *seconds = (time_t)n * units[i].seconds;
            return 0;
        }
    }
    return -1;
}

int ls_command(int argc, char **argv)
{
    static struct ls ls;
    const char *unused_for = NULL, *root;
    time_t seconds = 0;
    int code;
    const struct option_spec specs[] = {SETTINGS_OPTIONS(ls.settings),
                                        {"--root", NULL, &ls.settings.root},
                                        {"--present", &ls.only_present, NULL},
                                        {"--absent", &ls.only_absent, NULL},
                                        {"--unused-for", NULL, &unused_for}};

    ls.npatterns = options_parse("ls", specs, COUNT(specs), argc, argv);
    if (ls.npatterns < 0) {
        return COMMAND_USAGE;
    }
    ls.patterns = argv;
    if (unused_for != NULL && read_duration(unused_for, &seconds) != 0) {
        return command_usage("ls", "--unused-for is a time as 12h or 7d",
                             unused_for);
    }
    if (unused_for != NULL) {
        ls.used_before = time(NULL) - seconds;
    }
    root = settings_root(&ls.settings, &code);
    if (root == NULL) {
        return code;
    }
    return command_finish(list_store(&ls, root));
}
