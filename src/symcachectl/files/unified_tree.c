/*
 * Copyright (C) the ngx_symcache authors
 */
#include "unified_tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/array.h"
#include "base/durable.h"
#include "base/hash_table.h"
#include "json/json.h"
#include "symcachectl/command.h"

#define PIECE (1u << 20)
#define BUNDLE_ID_MAX 128
#define WORKERS_MAX 8

struct unified_tree_entry {
    struct unified_path path;
    char *name;
    off_t size; /* before it was packed */
    bool is_made;
};

struct unified_tree {
    const char *root;
    const char *bundle_id;
    ZSTD_CCtx *zstd;    /* NULL: files stay as they are */
    struct table table; /* entries by id and type, as their number + 1 */
    struct unified_tree_entry *entries;
    size_t count;
    size_t room;
};

bool unified_tree_is_bundle_id(const char *text)
{
    size_t size = strlen(text);

    return size > 0 && size <= BUNDLE_ID_MAX && text[0] != '.' &&
           text[0] != '_' && text[size - 1] != '_' &&
           strstr(text, "__") == NULL &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,-_") == size;
}

struct unified_tree *unified_tree_new(const char *root, int level,
                                      const char *bundle_id)
{
    struct unified_tree *tree;
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    if (mkdir(root, 0777) != 0 && errno != EEXIST) {
        return NULL;
    }
    tree = calloc(1, sizeof(*tree));
    if (tree == NULL) {
        command_no_memory();
    }
    tree->root = root;
    tree->bundle_id = bundle_id;
    if (level > 0) {
        tree->zstd = ZSTD_createCCtx();
        if (tree->zstd == NULL) {
            command_no_memory();
        }
        ZSTD_CCtx_setParameter(tree->zstd, ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setParameter(tree->zstd, ZSTD_c_checksumFlag, 1);
        /* the bytes are the same with any number of workers but none */
        ZSTD_CCtx_setParameter(tree->zstd, ZSTD_c_nbWorkers,
                               n < 1             ? 1
                               : n > WORKERS_MAX ? WORKERS_MAX
                                                 : (int)n);
    }
    return tree;
}

/* entries ---------------------------------------------------------------- */

static uint64_t unified_hash(const struct unified_tree *tree, const char *id,
                             enum unified_type type)
{
    return table_hash((uintptr_t)tree + type, id, strlen(id));
}

static struct unified_tree_entry *find_entry(const struct unified_tree *tree,
                                             const char *id,
                                             enum unified_type type)
{
    uint64_t hash = unified_hash(tree, id, type);
    size_t at = 0;
    uintptr_t number;
    struct unified_tree_entry *entry;

    while ((number = table_next(&tree->table, hash, &at)) != 0) {
        entry = &tree->entries[number - 1];
        if (entry->path.type == type && strcmp(entry->path.id, id) == 0) {
            return entry;
        }
    }
    return NULL;
}

bool unified_tree_has(const struct unified_tree *tree, const char *id,
                      enum unified_type type)
{
    return find_entry(tree, id, type) != NULL;
}

static bool is_better(const struct unified_tree_entry *a,
                      const struct unified_tree_entry *b)
{
    if (a->is_made != b->is_made) {
        return b->is_made;
    }
    if (a->path.has_debug_info != b->path.has_debug_info) {
        return a->path.has_debug_info;
    }
    return a->size > b->size;
}

static void keep_entry(struct unified_tree *tree,
                       struct unified_tree_entry *known,
                       const struct unified_tree_entry *entry)
{
    if (known == NULL) {
        if (array_need(&tree->entries, &tree->room, tree->count + 1,
                       sizeof(tree->entries[0])) != 0 ||
            table_add(&tree->table,
                      unified_hash(tree, entry->path.id, entry->path.type),
                      tree->count + 1) != 0) {
            command_no_memory();
        }
        known = &tree->entries[tree->count++];
        known->name = NULL;
    }
    free(known->name);
    *known = *entry;
    known->name = strdup(entry->name);
    if (known->name == NULL) {
        command_no_memory();
    }
}

/* files ------------------------------------------------------------------ */

/* Prints a path below the root, and makes its folders.  Returns 0 or -1. */
static int make_path(char path[PATH_MAX], const struct unified_tree *tree,
                     const char *below)
{
    size_t root = strlen(tree->root);
    char *slash;

    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", tree->root, below) >=
        PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    slash = path + root;
    while ((slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            return -1;
        }
        *slash = '/';
    }
    return 0;
}

/* Opens a file that durable_close() will rename. */
static FILE *unified_open_file(char tmp[PATH_MAX], const char *path)
{
    if ((size_t)snprintf(tmp, PATH_MAX, "%s.tmp", path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(tmp, "wbe");
}

static int finish_file(FILE *f, bool is_good, const char *tmp,
                       const char *path)
{
    int error = errno;

    if (is_good) {
        return durable_close(f, tmp, path);
    }
    fclose(f);
    (void)unlink(tmp);
    errno = error;
    return -1;
}

static bool unified_write_plain(FILE *f, const void *data, size_t size)
{
    return fwrite(data, 1, size, f) == size;
}

/* Packs a piece; the last one ends the frame. */
static bool unified_write_packed(ZSTD_CCtx *zstd, FILE *f, const void *data,
                                 size_t size, bool is_last)
{
    static uint8_t piece[PIECE];
    ZSTD_inBuffer in = {data, size, 0};
    ZSTD_outBuffer out;
    size_t rest;

    do {
        out = (ZSTD_outBuffer){piece, sizeof(piece), 0};
        rest = ZSTD_compressStream2(zstd, &out, &in,
                                    is_last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(rest)) {
            errno = ENOMEM;
            return false;
        }
        if (!unified_write_plain(f, out.dst, out.pos)) {
            return false;
        }
    } while (is_last ? rest > 0 : in.pos < in.size);
    return true;
}

static bool copy_file(struct unified_tree *tree, int fd, off_t size, FILE *f)
{
    static uint8_t piece[PIECE];
    off_t at = 0;
    ssize_t n;
    bool is_good = true;

    if (tree->zstd != NULL) {
        ZSTD_CCtx_reset(tree->zstd, ZSTD_reset_session_only);
        ZSTD_CCtx_setPledgedSrcSize(tree->zstd, (unsigned long long)size);
    }
    while (is_good && at < size) {
        n = pread(fd, piece, sizeof(piece), at);
        if (n <= 0) {
            errno = n == 0 ? EIO : errno; /* it became shorter */
            return false;
        }
        n = n > size - at ? size - at : n;
        at += n;
        is_good = tree->zstd != NULL
                      ? unified_write_packed(tree->zstd, f, piece, (size_t)n,
                                             at == size)
                      : unified_write_plain(f, piece, (size_t)n);
    }
    return is_good;
}

static void print_below(char below[PATH_MAX], const char *id, const char *file)
{
    snprintf(below, PATH_MAX, "%.2s/%s/%s", id, id + 2, file);
}

/* Writes a small file, or an empty one. */
static int write_small(const struct unified_tree *tree, const char *below,
                       const void *data, size_t size)
{
    char path[PATH_MAX], tmp[PATH_MAX];
    FILE *f = make_path(path, tree, below) == 0 ? unified_open_file(tmp, path)
                                                : NULL;

    return f == NULL
               ? -1
               : finish_file(f, unified_write_plain(f, data, size), tmp, path);
}

enum unified_put unified_tree_put(struct unified_tree *tree, int fd,
                                  const char *name, bool is_made,
                                  const struct unified_path *path)
{
    struct unified_tree_entry *known = find_entry(tree, path->id, path->type);
    struct unified_tree_entry entry = {.path = *path, .is_made = is_made};
    char below[PATH_MAX], to[PATH_MAX], tmp[PATH_MAX];
    struct stat st;
    FILE *f;

    if (fstat(fd, &st) != 0) {
        return UNIFIED_FAILED;
    }
    entry.name = (char *)name;
    entry.size = st.st_size;
    if (known != NULL && !is_better(&entry, known)) {
        return UNIFIED_KNOWN;
    }
    print_below(below, path->id, unified_word(path->type));
    if (make_path(to, tree, below) != 0 ||
        (f = unified_open_file(tmp, to)) == NULL ||
        finish_file(f, copy_file(tree, fd, st.st_size, f), tmp, to) != 0) {
        return UNIFIED_FAILED;
    }
    keep_entry(tree, known, &entry);
    return known != NULL ? UNIFIED_REPLACED : UNIFIED_WRITTEN;
}

/* the end ---------------------------------------------------------------- */

static int unified_compare_entries(const void *a, const void *b)
{
    const struct unified_tree_entry *x = a, *y = b;
    int order = strcmp(x->path.id, y->path.id);

    return order != 0 ? order : (int)x->path.type - (int)y->path.type;
}

static int write_json(const struct unified_tree *tree, const char *below,
                      struct json_writer *w)
{
    int rc = -1;

    if (w->has_failed) {
        errno = ENOMEM;
    } else {
        rc = write_small(tree, below, w->data, w->size);
    }
    free(w->data);
    return rc;
}

static int write_meta(const struct unified_tree *tree,
                      const struct unified_tree_entry *entry)
{
    struct json_writer w = {0};
    char below[PATH_MAX], file[64];

    json_write_open(&w, '{');
    json_put_text(&w, "name", entry->name);
    json_put_text(&w, "arch", entry->path.arch);
    json_put_text(&w, "file_format", entry->path.format);
    json_write_close(&w, '}');
    snprintf(file, sizeof(file), "%s.meta", unified_word(entry->path.type));
    print_below(below, entry->path.id, file);
    return write_json(tree, below, &w);
}

static int write_ref(const struct unified_tree *tree,
                     const struct unified_tree_entry *entry)
{
    char below[PATH_MAX], file[BUNDLE_ID_MAX + 8];

    snprintf(file, sizeof(file), "refs/%s", tree->bundle_id);
    print_below(below, entry->path.id, file);
    return write_small(tree, below, "", 0);
}

static void write_timestamp(struct json_writer *w)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    time_t at = epoch != NULL ? (time_t)strtoll(epoch, NULL, 10) : 0;
    char text[40];
    struct tm tm;

    if (gmtime_r(&at, &tm) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
        snprintf(text, sizeof(text), "1970-01-01T00:00:00Z");
    }
    json_put_text(w, "timestamp", text);
}

static bool is_first(const struct unified_tree *tree, size_t i)
{
    return i == 0 ||
           strcmp(tree->entries[i].path.id, tree->entries[i - 1].path.id) != 0;
}

static int write_bundle(const struct unified_tree *tree)
{
    struct json_writer w = {0};
    char below[BUNDLE_ID_MAX + 16];
    size_t i;

    json_write_open(&w, '{');
    json_put_text(&w, "name", tree->bundle_id);
    write_timestamp(&w);
    json_put_open(&w, "debug_ids", '[');
    for (i = 0; i < tree->count; i++) {
        if (is_first(tree, i)) {
            json_write_text(&w, tree->entries[i].path.id);
        }
    }
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    snprintf(below, sizeof(below), "bundles/%s", tree->bundle_id);
    return write_json(tree, below, &w);
}

int unified_tree_close(struct unified_tree *tree)
{
    int rc = 0, error;
    size_t i;

    if (tree->count > 0) {
        qsort(tree->entries, tree->count, sizeof(tree->entries[0]),
              unified_compare_entries);
    }
    for (i = 0; i < tree->count && rc == 0; i++) {
        rc = write_meta(tree, &tree->entries[i]);
        if (rc == 0 && tree->bundle_id != NULL && is_first(tree, i)) {
            rc = write_ref(tree, &tree->entries[i]);
        }
    }
    if (rc == 0 && tree->bundle_id != NULL) {
        rc = write_bundle(tree);
    }
    error = errno;
    while (tree->count > 0) {
        free(tree->entries[--tree->count].name);
    }
    free(tree->entries);
    table_free(&tree->table);
    ZSTD_freeCCtx(tree->zstd);
    free(tree);
    errno = error;
    return rc;
}
