/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl uploads: lists the uploaded files of this machine, pins some, and
 * has the helper remove others, with what was made of them.
 */
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "json_request.h"
#include "upload_builds.h"
#include "upload_bundles.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"
#include "proto/upload.h"

#define LEVEL 3 /* <name>/<id>/<file> */
#define TRY ".try"

/* The details printed for a file. */
struct uploads_file {
    const char *path; /* below the root */
    const struct stat *st;
    double expires; /* Unix time, or 0 */
    bool is_pinned;
    char user[256]; /* who has sent it, or "" */
};

/* What is listed, and how. */
struct uploads_list {
    const char *root;
    const char *release; /* a pattern: only bundles that have one; or NULL */
    bool is_json;
    bool is_found;
    size_t chunks; /* of files, which are printed as one line */
    uint64_t chunks_size;
    struct bundle_entries bundles;
};

static void uploads_print_json(const struct uploads_list *list,
                               const struct uploads_file *file)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "file", file->path);
    cJSON_AddNumberToObject(object, "size", (double)file->st->st_size);
    cJSON_AddNumberToObject(object, "uploaded", (double)file->st->st_mtime);
    cJSON_AddNumberToObject(object, "used", (double)file->st->st_atime);
    if (file->expires > 0) {
        cJSON_AddNumberToObject(object, "expires", file->expires);
    }
    cJSON_AddBoolToObject(object, "pinned", file->is_pinned);
    if (file->user[0] != '\0') {
        cJSON_AddStringToObject(object, "user", file->user);
    }
    bundle_add(object, &list->bundles, file->path);
    printable_json(stdout, object);
    cJSON_Delete(object);
}

static void uploads_print_text(const struct uploads_list *list,
                               const struct uploads_file *file)
{
    char size[PRINTABLE_SIZE_MAX], time[PRINTABLE_TIME_MAX];
    char expires[PRINTABLE_TIME_MAX];

    printable_size(size, (uint64_t)file->st->st_size);
    printable_time(time, (double)file->st->st_mtime);
    printable_time(expires, file->expires);
    printf("%10s  %s  %-19s  ", size, time,
           file->is_pinned ? "pinned" : expires);
    printable_put(stdout, file->path);
    if (file->user[0] != '\0') {
        fputs("  by ", stdout);
        printable_put(stdout, file->user);
    }
    bundle_print(&list->bundles, file->path);
    putchar('\n');
}

static bool uploads_is_chunk(const char *path)
{
    static const char end[] = "/_.chunk";
    size_t len = strlen(path);

    return len >= sizeof(end) &&
           strcmp(path + len - (sizeof(end) - 1), end) == 0;
}

/* Prints the file of a path that begins with the root. */
static void uploads_list_file(void *arg, const char *path)
{
    struct uploads_list *list = arg;
    char text[24] = "";
    struct stat st;
    struct uploads_file file = {.path = path + strlen(list->root) + 1,
                                .st = &st};

    if (lstat(path, &st) != 0 ||
        (list->release != NULL &&
         !bundle_has_release(&list->bundles, file.path, list->release))) {
        return; /* it has just been removed, or is another's */
    }
    list->is_found = true;
    (void)getxattr(path, SYMCACHE_UPLOAD_USER, file.user,
                   sizeof(file.user) - 1);
    if (getxattr(path, SYMCACHE_UPLOAD_EXPIRES, text, sizeof(text) - 1) > 0) {
        file.expires = strtod(text, NULL);
    }
    file.is_pinned = getxattr(path, SYMCACHE_UPLOAD_PINNED, NULL, 0) >= 0;
    if (list->is_json) {
        uploads_print_json(list, &file);
    } else if (uploads_is_chunk(path)) {
        list->chunks++;
        list->chunks_size += (uint64_t)st.st_size;
    } else {
        uploads_print_text(list, &file);
    }
}

static void uploads_print_chunks(const struct uploads_list *list)
{
    char size[PRINTABLE_SIZE_MAX];

    if (list->chunks > 0) {
        printable_size(size, list->chunks_size);
        printf("%10s  %zu chunk%s of files, until uploads.parts_kept is "
               "over\n",
               size, list->chunks, list->chunks > 1 ? "s" : "");
    }
}

static bool uploads_has_labels(const struct build_pattern *pattern)
{
    return pattern->product != NULL || pattern->branch != NULL ||
           pattern->build != NULL;
}

static int uploads_by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int uploads_list_all(struct uploads_list *list)
{
    const char *root = list->root;
    char *copy = strdup(root), *paths[] = {copy, NULL};
    size_t len = strlen(root);
    int code = COMMAND_OK;
    bool is_try;
    FTSENT *entry;
    FTS *fts;

    if (copy == NULL) {
        command_no_memory();
    }
    while (len > 1 && copy[len - 1] == '/') {
        copy[--len] = '\0'; /* names begin behind one slash */
    }
    list->root = copy;
    fts = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
                   uploads_by_name);
    while (fts != NULL && (entry = fts_read(fts)) != NULL) {
        is_try = strncmp(entry->fts_path + len, "/" TRY "/",
                         sizeof(TRY) + 1) == 0;
        if (entry->fts_info == FTS_D &&
            entry->fts_level >= 1 && entry->fts_level <= 1 + is_try &&
            entry->fts_name[0] == '.' &&
            (entry->fts_level > 1 || strcmp(entry->fts_name, TRY) != 0)) {
            fts_set(fts, entry, FTS_SKIP);
        } else if (entry->fts_info == FTS_F &&
                   entry->fts_level == LEVEL + is_try) {
            uploads_list_file(list, entry->fts_path);
        } else if (entry->fts_info == FTS_DNR) {
            code = command_fail(COMMAND_IO, entry->fts_path,
                                strerror(entry->fts_errno));
        }
    }
    if (fts == NULL) {
        code = command_fail(COMMAND_IO, root, strerror(errno));
    } else {
        fts_close(fts);
    }
    list->root = root;
    free(copy);
    return code == COMMAND_OK && !list->is_found ? COMMAND_NOT_FOUND : code;
}

static int list_uploads(const char *root, const struct build_pattern *pattern,
                        const char *release, bool is_json)
{
    struct uploads_list list = {
        .root = root, .release = release, .is_json = is_json};
    int code = bundle_entries_read(root, &list.bundles);

    if (code == COMMAND_OK) {
        code =
            uploads_has_labels(pattern)
                ? upload_builds_files(root, pattern, uploads_list_file, &list)
                : uploads_list_all(&list);
        uploads_print_chunks(&list);
    }
    bundle_entries_clear(&list.bundles);
    return code;
}

/* Splits "[.try/]<name>/<id>/<file>".  Returns false if it is something
 * else; then the text is as it was. */
static bool uploads_split_name(char *text, char *parts[3], bool *is_try)
{
    int n = 0;

    *is_try = strncmp(text, TRY "/", sizeof(TRY)) == 0;
    text += *is_try ? sizeof(TRY) : 0;
    for (;;) {
        parts[n++] = text;
        text = strchr(text, '/');
        if (text == NULL || n == 3 || parts[n - 1] == text) {
            break;
        }
        *text++ = '\0';
    }
    if (n == 3 && text == NULL && parts[2][0] != '\0') {
        return true;
    }
    while (n > 1) {
        parts[--n][-1] = '/';
    }
    return false;
}

static int uploads_set_pin(const char *root, const char *file, bool is_pinned)
{
    char path[4096];
    int rc;

    snprintf(path, sizeof(path), "%s/%s", root, file);
    rc = is_pinned ? setxattr(path, SYMCACHE_UPLOAD_PINNED, "1", 1, 0)
                   : removexattr(path, SYMCACHE_UPLOAD_PINNED);
    if (rc == 0 || (!is_pinned && errno == ENODATA)) {
        return COMMAND_OK;
    }
    return command_fail(errno == ENOENT ? COMMAND_NOT_FOUND : COMMAND_IO,
                        path, strerror(errno));
}

static void uploads_print_untold(const cJSON *answer)
{
    const char *untold = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(answer, "untold"));

    if (untold != NULL) {
        fputs("not known yet to ", stdout);
        printable_put(stdout, untold);
        putchar('\n');
    }
}

/* Has a file removed, or, with is_own, what belongs to this machine of it.
 * Returns an exit code; *answer is NULL if it is not. */
static int uploads_ask_removal(const struct settings *settings, char *text,
                               bool is_own, cJSON **answer)
{
    char path[CLIENT_PATH_MAX], *parts[3];
    bool is_try;

    *answer = NULL;
    if (!uploads_split_name(text, parts, &is_try)) {
        return command_usage("uploads", "not <name>/<id>/<file>", text);
    }
    client_path(path, "discard", parts[0], parts[1], parts[2]);
    if (is_try) {
        client_query(path, "try", "1");
    }
    if (is_own) {
        client_query(path, "own", "1");
    }
    return json_request_object(settings, "POST", path, answer);
}

static int uploads_remove(const struct settings *settings,
                          const struct bundle_entries *bundles,
                          const char *file, bool is_own)
{
    char text[4096];
    cJSON *answer;
    int code;

    snprintf(text, sizeof(text), "%s", file);
    code = uploads_ask_removal(settings, text, is_own, &answer);
    if (answer != NULL) {
        bundle_tell(settings, bundles, file, answer, "removed");
    }
    if (answer != NULL && !settings->is_json) {
        uploads_print_untold(answer);
    }
    cJSON_Delete(answer);
    return code;
}

/* Says which it was, and of a bundle whose. */
static int uploads_remove_bundle(const struct settings *settings,
                                 const struct bundle_entries *bundles,
                                 const char *file)
{
    return uploads_remove(settings, bundles, file, false);
}

static int uploads_remove_file(const struct settings *settings, char *file)
{
    return uploads_remove(settings, &(struct bundle_entries){0}, file, false);
}

/* Another machine may have it for a build of its own. */
static int uploads_forget_file(const struct settings *settings, char *file)
{
    return uploads_remove(settings, &(struct bundle_entries){0}, file, true);
}

static int each_upload(const struct settings *settings, const char *what,
                       const char *root, int argc, char **argv)
{
    int code = COMMAND_OK, one, i;

    for (i = 0; i < argc; i++) {
        one = strcmp(what, "rm") == 0
                  ? uploads_remove_file(settings, argv[i])
                  : uploads_set_pin(root, argv[i], strcmp(what, "pin") == 0);
        code = one > code ? one : code;
    }
    return code;
}

enum verb { LS, RM, PIN, UNPIN, BUILDS, FORGET, VERBS };

static const char *const verbs[] = {"ls",    "rm",     "pin",
                                    "unpin", "builds", "forget"};

static enum verb uploads_find_verb(const char *what)
{
    enum verb verb = LS;

    while (verb < VERBS && strcmp(what, verbs[verb]) != 0) {
        verb++;
    }
    return verb;
}

/* Returns COMMAND_USAGE after printing what is wrong, or COMMAND_OK. */
static int uploads_check_usage(enum verb verb,
                               const struct build_pattern *pattern,
                               const char *release, int nfiles)
{
    bool takes_files = verb == RM || verb == PIN || verb == UNPIN;

    if (verb == VERBS) {
        return command_usage("uploads",
                             "ls, rm, pin, unpin, builds or forget", NULL);
    }
    if (takes_files ? nfiles == 0 : nfiles > 0) {
        return command_usage("uploads", verbs[verb],
                             nfiles > 0 ? "takes no file" : "needs a file");
    }
    if (takes_files && uploads_has_labels(pattern)) {
        return command_usage("uploads", verbs[verb], "takes no labels");
    }
    if (release != NULL &&
        ((verb != LS && verb != FORGET) || uploads_has_labels(pattern))) {
        return command_usage("uploads", "--release",
                             "is for ls and forget, without labels");
    }
    if (verb == FORGET && release == NULL && !uploads_has_labels(pattern)) {
        return command_usage("uploads", verbs[verb],
                             "needs --product, --branch, --build or "
                             "--release");
    }
    return COMMAND_OK;
}

/* A folder that is lost is not one without uploads. */
static int uploads_check_root(const char *root)
{
    struct stat st;
    int errnum = stat(root, &st) != 0  ? errno
                 : S_ISDIR(st.st_mode) ? 0
                                       : ENOTDIR;

    return errnum == 0 ? COMMAND_OK
                       : command_fail(COMMAND_IO, root, strerror(errnum));
}

int uploads_command(int argc, char **argv)
{
    struct settings settings = {0};
    const char *product = NULL, *branch = NULL, *build = NULL, *root = NULL;
    const char *release = NULL;
    const struct option_spec specs[] = {CLIENT_OPTIONS(settings),
                                        {"--root", NULL, &settings.root},
                                        {"--product", NULL, &product},
                                        {"--branch", NULL, &branch},
                                        {"--build", NULL, &build},
                                        {"--release", NULL, &release}};
    struct build_pattern pattern;
    int code = COMMAND_OK;
    enum verb verb;

    argc = options_parse("uploads", specs, COUNT(specs), argc, argv);
    if (argc < 0) {
        return COMMAND_USAGE;
    }
    pattern = (struct build_pattern){(char *)product, (char *)branch,
                                     (char *)build};
    verb = uploads_find_verb(argc > 0 ? argv[0] : "");
    if (uploads_check_usage(verb, &pattern, release, argc - 1) != COMMAND_OK) {
        return COMMAND_USAGE;
    }
    if (verb != RM) {
        root = settings_uploads(&settings, &code);
        code = root != NULL ? uploads_check_root(root) : code;
        if (code != COMMAND_OK) {
            return code;
        }
    }
    if (verb == BUILDS) {
        code = upload_builds_show(root, &pattern, settings.is_json);
    } else if (verb == FORGET && release != NULL) {
        code = bundles_forget(&settings, root, release, uploads_remove_bundle);
    } else if (verb == FORGET) {
        code = upload_builds_forget(&settings, root, &pattern,
                                    uploads_forget_file);
    } else if (verb == LS) {
        code = list_uploads(root, &pattern, release, settings.is_json);
    } else {
        code = each_upload(&settings, verbs[verb], root, argc - 1, argv + 1);
    }
    return command_finish(code);
}
