/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl import: copies a SymCache folder, as WPA has one on Windows,
 * into a store.  Microsoft's own files are opaque and are copied as they are.
 * Files in the open format must be intact, and belong to the build whose
 * folder they are in.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symcachectl/terminal/bar.h"
#include "symcachectl/command.h"
#include "symcachectl/files/examine.h"
#include "store_writer.h"
#include "symcachectl/terminal/printable.h"
#include "symcachectl/settings.h"

#define LEVEL 3 /* <pdb>/<GUIDAGE>/<file> */
#define HEAD 4096

enum import_outcome {
    IMPORT_NEW,
    IMPORT_REPLACED, /* the store had a bad file */
    IMPORT_KEPT,     /* the store has a good file */
    IMPORT_SKIPPED,  /* not the path of a SymCache */
    IMPORT_REFUSED,  /* the path of a SymCache, but not its content */
    IMPORT_FAILED,   /* could not be read */
    IMPORT_OUTCOMES
};

static const char *const outcomes[] = {"imported", "replaced", "kept",
                                       "skipped",  "refused",  "failed"};

struct import {
    struct settings settings;
    int is_dry;
    struct store_writer writer; /* not with --dry-run */
    int root;
    struct bar bar;
    size_t counts[IMPORT_OUTCOMES];
    int code; /* the import stops when this is not COMMAND_OK */
};

/* The module that a path in the SymCache folder stands for. */
struct import_target {
    symcache_key_t key;
    symcache_version_t version;
    char path[SYMCACHE_PATH_MAX + 1]; /* relative to the store */
};

static volatile sig_atomic_t is_interrupted;

static void import_on_signal(int signo)
{
    (void)signo;
    is_interrupted = 1;
}

static void tell_imported(struct import *import, enum import_outcome outcome,
                          const char *path, const struct import_target *target,
                          const char *reason)
{
    cJSON *object;

    import->counts[outcome]++;
    if (import->settings.is_json) {
        object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "file", path);
        cJSON_AddStringToObject(object, "outcome", outcomes[outcome]);
        if (target != NULL) {
            cJSON_AddStringToObject(object, "path", target->path);
        }
        if (reason != NULL) {
            cJSON_AddStringToObject(object, "reason", reason);
        }
        bar_clear(&import->bar);
        printable_json(stdout, object);
        cJSON_Delete(object);
    } else if (reason != NULL && outcome != IMPORT_KEPT) {
        bar_clear(&import->bar);
        printf("%s: ", outcomes[outcome]);
        printable_put(stdout, path);
        fputs(": ", stdout);
        printable_put(stdout, reason);
        putchar('\n');
    }
}

/* Returns NULL, or why the path does not belong to a SymCache folder. */
static const char *read_path(const FTSENT *entry, struct import_target *target)
{
    const FTSENT *id = entry->fts_parent, *pdb = id->fts_parent;
    char lower[NAME_MAX + 1];
    symcache_file_e kind;
    size_t i;

    if (entry->fts_level != LEVEL) {
        return "not in a folder <pdb>/<GUIDAGE>";
    }
    if (symcache_name_parse(pdb->fts_name, pdb->fts_namelen, &target->key) !=
        SYMCACHE_OK) {
        return "not in the folder of a PDB";
    }
    if (symcache_debug_id_parse(id->fts_name, id->fts_namelen, &target->key) !=
        SYMCACHE_OK) {
        return "not in a folder of GUID and age";
    }
    for (i = 0; i < entry->fts_namelen && i < NAME_MAX; i++) {
        lower[i] = entry->fts_name[i];
        if (lower[i] >= 'A' && lower[i] <= 'Z') {
            lower[i] = (char)(lower[i] | 0x20);
        }
    }
    if (!symcache_path_name_parse(lower, i, &target->key, &target->version,
                                  &kind)) {
        return "not called <pdb>-v<M.m.p>.symcache";
    }
    if (kind != SYMCACHE_FILE_PLAIN) {
        return "made by symcached for its own store";
    }
    if (!symcache_path_storable(&target->key)) {
        return "its name is too long for a store";
    }
    symcache_path_file(target->path, &target->key, &target->version,
                       SYMCACHE_FILE_PLAIN);
    return NULL;
}

/* Checks a file whose format is not public. */
static const char *import_judge_opaque(int fd)
{
    static char head[HEAD];
    ssize_t i, n;

    n = pread(fd, head, sizeof(head), 0);
    if (n > 0 && head[0] == '<') {
        return "is HTML or XML";
    }
    for (i = 0; i < n; i++) {
        if (head[i] != 0) {
            return NULL;
        }
    }
    return n > 0 ? "has only zeroes: it was not written whole" : "is empty";
}

/* Returns NULL if the open file may be served for the target, or what is
 * wrong with it, in a text that is valid until the next call. */
static const char *judge_import(int fd, const struct import_target *target)
{
    static struct examine_result result;

    if (examine_file(fd, &result) != 0) {
        return result.error;
    }
    switch (result.kind) {
    case EXAMINE_IMAGE:
        return "is an image, no SymCache";
    case EXAMINE_PDB:
        return "is a PDB, no SymCache";
    case EXAMINE_OTHER:
        return import_judge_opaque(fd);
    case EXAMINE_SYMCACHE:
        break;
    }
    if (memcmp(result.guid, target->key.guid, sizeof(result.guid)) != 0 ||
        result.age != target->key.age) {
        return "is of another build than its folder says";
    }
    return NULL;
}

enum there { THERE_NOTHING, THERE_GOOD, THERE_BAD };

static enum there look_at_target(const struct import *import,
                                 const struct import_target *target)
{
    enum there there;
    int fd;

    if (import->root < 0) {
        return THERE_NOTHING;
    }
    fd = openat(import->root, target->path,
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? THERE_NOTHING : THERE_BAD;
    }
    there = judge_import(fd, target) == NULL ? THERE_GOOD : THERE_BAD;
    close(fd);
    return there;
}

/* The store itself has failed, so the import ends. */
static void import_give_up(struct import *import,
                           const struct import_target *target)
{
    int num = errno;

    bar_clear(&import->bar);
    import->code = command_fail(COMMAND_IO, target->path, strerror(num));
    fprintf(stderr, "nothing half written was left there; what was imported "
                    "stays\n");
}

/* Judges the copy and not the original, which may change in the meantime. */
static void take_import(struct import *import, const char *path, int fd,
                        const struct import_target *target,
                        enum import_outcome outcome)
{
    const char *wrong;
    int copy;

    if (import->is_dry) {
        wrong = judge_import(fd, target);
        tell_imported(import, wrong != NULL ? IMPORT_REFUSED : outcome, path,
                      target, wrong);
        return;
    }
    if (store_writer_copy(&import->writer, fd, &copy) != 0) {
        import_give_up(import, target);
        return;
    }
    wrong = judge_import(copy, target);
    if (wrong != NULL) {
        tell_imported(import, IMPORT_REFUSED, path, target, wrong);
    } else if (store_writer_publish(&import->writer, copy, &target->key,
                                    &target->version) != 0) {
        import_give_up(import, target);
    } else {
        tell_imported(import, outcome, path, target, NULL);
    }
    close(copy);
}

static void import_file(struct import *import, const FTSENT *entry)
{
    struct import_target target;
    const char *wrong;
    enum there there;
    int fd;

    wrong = read_path(entry, &target);
    if (wrong != NULL) {
        tell_imported(import, IMPORT_SKIPPED, entry->fts_path, NULL, wrong);
        return;
    }
    there = look_at_target(import, &target);
    if (there == THERE_GOOD) {
        tell_imported(import, IMPORT_KEPT, entry->fts_path, &target,
                      "what is there is good");
        return;
    }
    fd = open(entry->fts_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        tell_imported(import, IMPORT_FAILED, entry->fts_path, &target,
                      strerror(errno));
        return;
    }
    take_import(import, entry->fts_path, fd, &target,
                there == THERE_BAD ? IMPORT_REPLACED : IMPORT_NEW);
    close(fd);
}

static void on_entry(struct import *import, const FTSENT *entry)
{
    char text[160];

    switch (entry->fts_info) {
    case FTS_D:
    case FTS_DP:
        break;
    case FTS_F:
        import_file(import, entry);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        tell_imported(import, IMPORT_FAILED, entry->fts_path, NULL,
                      strerror(entry->fts_errno));
        break;
    default:
        tell_imported(import, IMPORT_SKIPPED, entry->fts_path, NULL,
                      "no regular file");
    }
    snprintf(text, sizeof(text),
             "%zu imported, %zu there before, %zu skipped, %zu refused",
             import->counts[IMPORT_NEW] + import->counts[IMPORT_REPLACED],
             import->counts[IMPORT_KEPT], import->counts[IMPORT_SKIPPED],
             import->counts[IMPORT_REFUSED]);
    bar_draw(&import->bar, 0, 0, text);
}

static void import_print_sums(const struct import *import)
{
    cJSON *object;
    int i;

    if (!import->settings.is_json) {
        printf("%s%zu imported, %zu replaced, %zu kept, %zu skipped, %zu "
               "refused, %zu failed\n",
               import->is_dry ? "would be: " : "", import->counts[IMPORT_NEW],
               import->counts[IMPORT_REPLACED], import->counts[IMPORT_KEPT],
               import->counts[IMPORT_SKIPPED], import->counts[IMPORT_REFUSED],
               import->counts[IMPORT_FAILED]);
        return;
    }
    object = cJSON_CreateObject();
    cJSON_AddBoolToObject(object, "dry_run", import->is_dry);
    for (i = 0; i < IMPORT_OUTCOMES; i++) {
        cJSON_AddNumberToObject(object, outcomes[i],
                                (double)import->counts[i]);
    }
    printable_json(stdout, object);
    cJSON_Delete(object);
}

static int walk_import(struct import *import, char *folder)
{
    char *paths[2] = {folder, NULL};
    struct sigaction action = {.sa_handler = import_on_signal,
                               .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    FTSENT *entry;
    FTS *fts;

    fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (fts == NULL) {
        return command_fail(COMMAND_IO, folder, strerror(errno));
    }
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    bar_init(&import->bar);
    while (import->code == COMMAND_OK && (entry = fts_read(fts)) != NULL) {
        on_entry(import, entry);
        if (is_interrupted) {
            import->code = COMMAND_INTERRUPTED;
        }
    }
    fts_close(fts);
    bar_clear(&import->bar);
    import_print_sums(import);
    if (import->code == COMMAND_OK && import->counts[IMPORT_FAILED] > 0) {
        import->code = COMMAND_IO;
    }
    if (import->code == COMMAND_OK && import->counts[IMPORT_REFUSED] > 0) {
        import->code = COMMAND_NOT_FOUND;
    }
    return import->code;
}

int import_command(int argc, char **argv)
{
    static struct import import;
    const struct option_spec specs[] = {
        SETTINGS_OPTIONS(import.settings),
        {"--root", NULL, &import.settings.root},
        {"--dry-run", &import.is_dry, NULL}};
    const char *root;
    struct stat st;
    int code;

    argc = options_parse("import", specs, COUNT(specs), argc, argv);
    if (argc != 1) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("import", "one FOLDER", NULL);
    }
    root = settings_root(&import.settings, &code);
    if (root == NULL) {
        return code;
    }
    if (stat(argv[0], &st) != 0) {
        return command_fail(COMMAND_IO, argv[0], strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) {
        return command_usage("import", "no folder", argv[0]);
    }
    import.root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!import.is_dry && store_writer_open(&import.writer, root) != 0) {
        return command_fail(COMMAND_IO, root, strerror(errno));
    }
    code = walk_import(&import, argv[0]);
    if (!import.is_dry) {
        store_writer_close(&import.writer);
    }
    return command_finish(code);
}
