/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl upload: sends debug files and images to a server, under the
 * paths that their content says.  What the server has already is skipped, so
 * that a repetition goes on where the last run ended.  A build can trust the
 * exit code: 0 means that the server has all of them.
 */
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "symcachectl/terminal/bar.h"
#include "base/array.h"
#include "base/duration.h"
#include "base/percent.h"
#include "base/secret.h"
#include "file_body.h"
#include "short_reply.h"
#include "symcachectl/command.h"
#include "symcachectl/files/container.h"
#include "symcachectl/files/examine.h"
#include "package_name.h"
#include "upload_labels.h"
#include "watched_files.h"
#include "symcachectl/options.h"
#include "symcachectl/terminal/printable.h"
#include "proto/digest.h"
#include "proto/upload.h"

#define ATTEMPTS 5
#define NAMED_MAX 5 /* files left out that are named */
#define URL_MAX 4096 /* with a file behind it, it has room for 8192 */
#define RETRY_SECONDS 5
#define RETRY_MAX 60

/* With --watch: how often to look, and how long a file has been left alone
 * before it counts as whole. */
#define WATCH_SECONDS 5

#define CHANGED "was changed while it was read"

enum outcome { STORED, SKIPPED, REFUSED, FAILED, NO_PLACE, OUTCOMES };

static const char *const outcomes[] = {"stored", "skipped", "refused",
                                       "failed", "left out"};

struct upload {
    const char *url; /* below which the files are */
    const char *token;
    const char *expires;
    const char *labels[3]; /* product, branch, build; or NULL */
    char secret[SECRET_MAX + 1];
    int is_forced;
    int is_try;
    int is_warm;
    int is_json;
    int is_watching;
    bool is_labelled;
    struct watched_files watched;
    time_t until; /* files that changed later are not taken yet */
    CURL *curl;
    struct curl_slist *headers;
    struct bar bar;
    const char *file; /* that is sent now */
    struct upload_program *programs; /* that are sent after all debug files */
    size_t num_programs, room;
    size_t counts[OUTCOMES];
    unsigned named; /* files left out */
    struct file_body body;
    struct short_reply reply;
};

/* A file with programs in it. */
struct upload_program {
    char *path;
    size_t count;
    uint64_t key; /* of watched_files.h; 0: another part of it has failed */
};

/* In a folder, what is left out is named only if another form, or the whole
 * file, can be sent. */
static bool is_named(struct upload *u, enum outcome outcome,
                     const char *reason)
{
    static const char *const forms[] = {"is packed", "is a mapping",
                                        "has a name", "is truncated",
                                        "is damaged"};
    size_t i = 0;

    if (outcome != NO_PLACE) {
        return outcome == REFUSED || outcome == FAILED;
    }
    while (i < COUNT(forms) &&
           strncmp(reason, forms[i], strlen(forms[i])) != 0) {
        i++;
    }
    return i < COUNT(forms) && u->named++ < NAMED_MAX;
}

static void tell(struct upload *u, enum outcome outcome, const char *path,
                 const char *place, const char *reason)
{
    cJSON *object;

    u->counts[outcome]++;
    if (u->is_json) {
        object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "file", path);
        cJSON_AddStringToObject(object, "outcome", outcomes[outcome]);
        if (place != NULL) {
            cJSON_AddStringToObject(object, "path", place);
        }
        if (reason != NULL) {
            cJSON_AddStringToObject(object, "reason", reason);
        }
        bar_clear(&u->bar);
        printable_json(stdout, object);
        cJSON_Delete(object);
    } else if (is_named(u, outcome, reason)) {
        bar_clear(&u->bar);
        fputs("symcachectl upload: ", stderr);
        printable_put(stderr, path);
        fprintf(stderr, ": %s: ", outcomes[outcome]);
        printable_put(stderr, reason);
        fputc('\n', stderr);
    }
}

/* one request ------------------------------------------------------------ */

static int on_progress(void *arg, curl_off_t download_all, curl_off_t got,
                       curl_off_t all, curl_off_t sent)
{
    struct upload *u = arg;

    if (all > 0) {
        bar_draw(&u->bar, (size_t)sent, (size_t)all, "bytes of this file");
    }
    return 0;
}

static void print_url(struct upload *u, const struct symstore_path *place,
                      bool is_put, char *url, size_t size)
{
    const char *const parts[3] = {place->name, place->id, place->file};
    char part[3 * SYMSTORE_ID_SIZE + 3 * SYMCACHE_NAME_MAX];
    size_t len, i;

    len = (size_t)snprintf(url, size, "%s", u->url);
    for (i = 0; i < 3; i++) {
        percent_encode_path(part, parts[i]);
        len += (size_t)snprintf(url + len, size - len, "/%s", part);
    }
    snprintf(url + len, size - len, "?%s%s%s%s%s", u->is_try ? "try=1&" : "",
             is_put && u->is_forced ? "force=1&" : "",
             is_put && u->is_warm ? "warm=1&" : "",
             is_put && u->expires != NULL ? "expires=" : "",
             is_put && u->expires != NULL ? u->expires : "");
    len = strlen(url);
    if (url[len - 1] == '?' || url[len - 1] == '&') {
        url[len - 1] = '\0';
    }
}

/* Prepares a request.  With a file, it is a PUT of size bytes. */
static void prepare(struct upload *u, const char *url, FILE *file, off_t size)
{
    CURL *curl = u->curl;

    short_reply_begin(&u->reply, curl, url, u->headers);
    if (file == NULL) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
        return;
    }
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    file_body_begin(&u->body, curl, file, 0, size);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, u->bar.is_shown ? 0L : 1L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, u);
}

/* Returns the status; with a reason 0 if there is no answer, and -1 if there
 * will never be one. */
static long perform(struct upload *u, char *reason, size_t size)
{
    CURLcode code = curl_easy_perform(u->curl);
    long status = 0, sent = 0;

    if (code == CURLE_ABORTED_BY_CALLBACK) {
        snprintf(reason, size, CHANGED);
        return -1;
    }
    if (code != CURLE_OK) {
        snprintf(reason, size, "%s", curl_easy_strerror(code));
        /* or that was what came for an answer */
        (void)curl_easy_getinfo(u->curl, CURLINFO_REQUEST_SIZE, &sent);
        return sent == 0 && (code == CURLE_URL_MALFORMAT ||
                             code == CURLE_UNSUPPORTED_PROTOCOL)
                   ? -1
                   : 0;
    }
    curl_easy_getinfo(u->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* one file --------------------------------------------------------------- */

/* Has the server these bytes there, and for ever?  If it does not say so, they
 * are sent: only that keeps for longer what is to be removed. */
static bool is_there(struct upload *u, const struct symstore_path *place,
                     FILE *file, off_t size)
{
    struct curl_header *digest, *sunset;
    curl_off_t length = -1;
    char url[8192], reason[128];

    print_url(u, place, false, url, sizeof(url));
    prepare(u, url, NULL, 0);
    if (perform(u, reason, sizeof(reason)) != 200) {
        return false;
    }
    curl_easy_getinfo(u->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length == (curl_off_t)size &&
           curl_easy_header(u->curl, SYMCACHE_HEADER_DIGEST, 0, CURLH_HEADER,
                            -1, &digest) == CURLHE_OK &&
           curl_easy_header(u->curl, SYMCACHE_HEADER_SUNSET, 0, CURLH_HEADER,
                            -1, &sunset) != CURLHE_OK &&
           file_body_has_digest(file, digest->value);
}

static void pause_before(struct upload *u, const char *path,
                         const char *reason)
{
    curl_off_t seconds = 0;

    curl_easy_getinfo(u->curl, CURLINFO_RETRY_AFTER, &seconds);
    seconds = seconds <= 0 ? RETRY_SECONDS : seconds;
    bar_line("", path, "");
    fprintf(stderr, "  %s; again in a while\n", reason);
    sleep(seconds > RETRY_MAX ? RETRY_MAX : (unsigned)seconds);
}

/* Can the same request succeed later?  500 is a fault that the operator must
 * fix. */
static bool may_pass(long status)
{
    return status == 0 || status == 408 || status == 429 || status > 500;
}

/* Sends a file, again and again where that may help.  Returns the outcome, and
 * the reason of one that is not good. */
static enum outcome put_upload(struct upload *u, const char *path,
                               const char *url, FILE *file, off_t size,
                               char *reason, size_t reason_size)
{
    unsigned attempt;
    long status;

    for (attempt = 1;; attempt++) {
        prepare(u, url, file, size);
        status = perform(u, reason, reason_size);
        bar_clear(&u->bar);
        if (status == 201 || status == 200) {
            return status == 201 ? STORED : SKIPPED;
        }
        if (status > 0) {
            short_reply_reason(&u->reply, status, reason, reason_size);
        }
        if (attempt == ATTEMPTS || !may_pass(status)) {
            return status >= 300 && status < 500 && !may_pass(status)
                       ? REFUSED
                       : FAILED;
        }
        pause_before(u, path, reason);
    }
}

/* The server has what was read of a file, which may be no more than a part. */
static bool has_changed(FILE *file, const struct stat *before)
{
    struct stat st;

    return fstat(fileno(file), &st) != 0 || st.st_size != before->st_size ||
           memcmp(&st.st_mtim, &before->st_mtim, sizeof(st.st_mtim)) != 0;
}

static void send_file(struct upload *u, const char *path, FILE *file,
                      const struct symstore_path *place)
{
    char url[8192], text[3 * SYMCACHE_NAME_MAX], reason[512] = "";
    enum outcome outcome = SKIPPED;
    struct stat st;

    snprintf(text, sizeof(text), "%s/%s/%s", place->name, place->id,
             place->file);
    if (fstat(fileno(file), &st) != 0) {
        tell(u, FAILED, path, text, strerror(errno));
        return;
    }
    /* a build gets a file that is there only by sending it */
    if (u->is_forced || u->is_labelled ||
        !is_there(u, place, file, st.st_size)) {
        print_url(u, place, true, url, sizeof(url));
        outcome =
            put_upload(u, path, url, file, st.st_size, reason, sizeof(reason));
    }
    if (outcome <= SKIPPED && has_changed(file, &st)) {
        outcome = FAILED;
        snprintf(reason, sizeof(reason), CHANGED);
    }
    tell(u, outcome, path, text,
         reason[0] != '\0' && outcome > SKIPPED ? reason : NULL);
}

static void defer_upload(struct upload *u, const char *path, size_t count,
                         uint64_t key)
{
    char *copy = strdup(path);

    if (copy == NULL || array_need(&u->programs, &u->room, u->num_programs + 1,
                                   sizeof(u->programs[0])) != 0) {
        command_no_memory();
    }
    u->programs[u->num_programs++] =
        (struct upload_program){copy, count, key};
}

/* What is in a file. */
struct upload_found {
    bool has_symbols;
    size_t programs; /* which are sent when it is taken again */
};

/* A file, or a part of one, and what is known of it. */
struct upload_file {
    struct upload *u;
    const char *path; /* its name in messages */
    const char *name; /* its own, without a folder */
    bool is_operand;  /* in a folder there are files that are no symbols; one
                       that  was named by itself must be */
    bool is_again;    /* only its programs are sent now */
    struct upload_found *found;
};

/* Tells of what examine_place() or container_read() has said, once. */
static void tell_unusable(const struct upload_file *c, int rc,
                          const char *error)
{
    if (!c->is_again) {
        tell(c->u, rc < 0 ? FAILED : c->is_operand ? REFUSED : NO_PLACE,
             c->path, NULL, error);
    }
}

static void take_content(const struct upload_file *c, FILE *file)
{
    char error[512], package[SYMCACHE_NAME_MAX + 1];
    const char *name = package_name(c->path, package) ? package : c->name;
    struct symstore_path place;
    int rc = examine_place(fileno(file), name, &place, error, sizeof(error));
    bool is_program;

    if (rc != 0) {
        tell_unusable(c, rc, error);
        return;
    }
    is_program = (place.features & SYMCACHE_HAS_CODE) != 0;
    c->found->has_symbols = true;
    c->found->programs += is_program;
    if (is_program == c->is_again) {
        send_file(c->u, c->path, file, &place);
    }
}

static void take_parts(const struct upload_file *c, FILE *file,
                       enum container_kind kind);

static void take_part(void *arg, const struct container_part *part)
{
    const struct upload_file *c = arg;
    struct upload_file inner = *c;
    enum container_kind kind;
    char *path;

    if (asprintf(&path, "%s (%s)", c->path, part->name) < 0) {
        command_no_memory();
    }
    inner.path = path;
    inner.is_operand = false;
    inner.name = part->file != NULL ? part->file : c->name;
    if (part->content == NULL && c->is_again) {
        /* it was told of */
    } else if (part->content == NULL) {
        tell(c->u,
             part->has_failed   ? FAILED
             : part->is_damaged ? REFUSED
                                : NO_PLACE,
             path, NULL, part->error);
    } else {
        kind = container_sniff(fileno(part->content));
        if (kind == CONTAINER_FAT && part->file != NULL) {
            take_parts(&inner, part->content, kind);
        } else {
            take_content(&inner, part->content);
        }
        fclose(part->content);
    }
    free(path);
}

/* Each part of a file has a place of its own. */
static void take_parts(const struct upload_file *c, FILE *file,
                       enum container_kind kind)
{
    char error[512];
    int rc = container_read(fileno(file), kind, take_part, (void *)c, error,
                            sizeof(error));

    if (rc == 0 && c->is_operand && !c->found->has_symbols) {
        rc = 1;
        snprintf(error, sizeof(error), "there is no debug file in it");
    }
    if (rc != 0) {
        tell_unusable(c, rc, error);
    }
}

/* Programs are sent when a file is taken again, with their number. */
static void take_upload(struct upload *u, const char *path, uint64_t key,
                        bool is_named, size_t programs)
{
    size_t failed = u->counts[FAILED];
    bool is_again = programs > 0;
    struct upload_found found = {false, 0};
    const char *slash = strrchr(path, '/');
    const struct upload_file content = {.u = u,
                                        .path = path,
                                        .name =
                                            slash != NULL ? slash + 1 : path,
                                        .is_operand = is_named,
                                        .is_again = is_again,
                                        .found = &found};
    enum container_kind kind;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        tell(u, FAILED, path, NULL, strerror(errno));
        return;
    }
    kind = container_sniff(fileno(file));
    if (kind != CONTAINER_NONE) {
        take_parts(&content, file, kind);
    } else {
        take_content(&content, file);
    }
    fclose(file);
    if (found.programs > 0 && !is_again) {
        defer_upload(u, path, found.programs,
                     u->counts[FAILED] == failed ? key : 0);
        return;
    }
    if (found.programs < programs) {
        tell(u, FAILED, path, NULL, CHANGED);
    }
    if (u->is_watching && key != 0 && u->counts[FAILED] == failed) {
        watched_files_add(&u->watched, key);
    }
}

/* the command ------------------------------------------------------------ */

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void take_operand(struct upload *u, char *operand)
{
    char *paths[] = {operand, NULL};
    FTS *fts =
        fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    const FTSENT *entry;
    uint64_t key;

    if (fts == NULL) {
        tell(u, FAILED, operand, NULL, strerror(errno));
        return;
    }
    while ((entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_F) {
            key = watched_files_key(&u->watched, entry->fts_statp);
            if (u->is_watching && (entry->fts_statp->st_ctime > u->until ||
                                   watched_files_meet(&u->watched, key))) {
                continue;
            }
            take_upload(u, entry->fts_path, key,
                        entry->fts_level == FTS_ROOTLEVEL, 0);
        } else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
                   entry->fts_info == FTS_NS) {
            tell(u, FAILED, entry->fts_path, NULL, strerror(entry->fts_errno));
        } else if (entry->fts_info == FTS_SLNONE) { /* an operand only */
            tell(u, FAILED, operand, NULL, strerror(ENOENT));
        } else if (entry->fts_info == FTS_DEFAULT &&
                   entry->fts_level == FTS_ROOTLEVEL) {
            tell(u, REFUSED, operand, NULL, "is no regular file");
        }
    }
    fts_close(fts);
}

/* Sends the debug files first: a SymCache that the server makes of a stripped
 * program stays when the debug file comes. */
static void take_operands(struct upload *u, int argc, char **argv)
{
    size_t n;
    int i;

    for (i = 0; i < argc; i++) {
        take_operand(u, argv[i]);
    }
    for (n = 0; n < u->num_programs; n++) {
        take_upload(u, u->programs[n].path, u->programs[n].key, true,
                    u->programs[n].count);
        free(u->programs[n].path);
    }
    u->num_programs = 0;
}

static void print_counts(const struct upload *u)
{
    cJSON *object = cJSON_CreateObject();
    enum outcome i;

    for (i = 0; i < OUTCOMES; i++) {
        if (u->is_json) {
            cJSON_AddNumberToObject(object, outcomes[i], (double)u->counts[i]);
        } else {
            printf("%s%zu %s", i > 0 ? ", " : "", u->counts[i], outcomes[i]);
        }
    }
    if (u->is_json) {
        printable_json(stdout, object);
    } else {
        putchar('\n');
    }
    cJSON_Delete(object);
}

/* Adds the header of labels.  Returns an exit code. */
static int add_labels(struct upload *u)
{
    char line[UPLOAD_LABELS_LINE];
    const char *wrong = upload_labels_print(line, u->labels);

    if (wrong != NULL) {
        return command_usage("upload", wrong, NULL);
    }
    if (line[0] != '\0') {
        u->headers = curl_slist_append(u->headers, line);
        u->is_labelled = true;
    }
    return COMMAND_OK;
}

/* Reads the token, and makes the headers.  Returns an exit code. */
static int make_headers(struct upload *u)
{
    char line[SECRET_MAX + 16], error[256];
    int code;

    u->headers = curl_slist_append(NULL, "Expect:");
    code = add_labels(u);
    if (code != COMMAND_OK) {
        return code;
    }
    u->headers = curl_slist_append(u->headers, SYMCACHE_HEADER_WANT_DIGEST
                                   ": " SYMCACHE_DIGEST_WANT);
    if (u->token == NULL) {
        return COMMAND_OK;
    }
    if (secret_expand_option(u->token, u->secret, sizeof(u->secret), error,
                             sizeof(error)) != 0) {
        return command_fail(COMMAND_USAGE, "--token", error);
    }
    snprintf(line, sizeof(line), "Auth-Token: %s", u->secret);
    u->headers = curl_slist_append(u->headers, line);
    return COMMAND_OK;
}

/*
 * Looks repeatedly.  A file that is written changes its ctime, and is uploaded
 * once the ctime is some seconds old.  One that could not be sent is taken
 * again in the next pass.
 */
static void watch_folder(struct upload *u, int argc, char **argv)
{
    for (;;) {
        u->until = time(NULL) - WATCH_SECONDS;
        watched_files_begin(&u->watched);
        take_operands(u, argc, argv);
        fflush(stdout);
        sleep(WATCH_SECONDS);
    }
}

static int run_upload(struct upload *u, int argc, char **argv)
{
    int code = make_headers(u);

    u->curl = curl_easy_init();
    if (u->curl == NULL || u->headers == NULL) {
        command_no_memory();
    }
    bar_init(&u->bar);
    if (code == COMMAND_OK && u->is_watching) {
        watch_folder(u, argc, argv);
    }
    if (code == COMMAND_OK) {
        take_operands(u, argc, argv);
    }
    free(u->programs);
    bar_clear(&u->bar);
    curl_easy_cleanup(u->curl);
    curl_slist_free_all(u->headers);
    if (code != COMMAND_OK) {
        return code;
    }
    print_counts(u);
    return u->counts[FAILED] > 0    ? COMMAND_IO
           : u->counts[REFUSED] > 0 ? COMMAND_NOT_FOUND
                                    : COMMAND_OK;
}

/* A server would refuse each file. */
static bool is_expires(const char *text)
{
    uint64_t seconds;

    return duration_parse(text, &seconds) && seconds > 0 &&
           seconds <= SYMCACHE_UPLOAD_EXPIRES_MAX;
}

int upload_command(int argc, char **argv)
{
    struct upload *u = calloc(1, sizeof(*u));
    int code;

    if (u == NULL) {
        command_no_memory();
    }
    const struct option_spec specs[] = {
        {"--url", NULL, &u->url},           {"--token", NULL, &u->token},
        {"--expires", NULL, &u->expires},   {"--force", &u->is_forced, NULL},
        {"--try", &u->is_try, NULL},        {"--warm", &u->is_warm, NULL},
        {"--json", &u->is_json, NULL},      {"--watch", &u->is_watching, NULL},
        {"--product", NULL, &u->labels[0]}, {"--branch", NULL, &u->labels[1]},
        {"--build", NULL, &u->labels[2]}};

    argc = options_parse("upload", specs, sizeof(specs) / sizeof(specs[0]),
                         argc, argv);
    if (argc < 0) {
        code = COMMAND_USAGE;
    } else if (u->url == NULL || argc == 0) {
        code = command_usage(
            "upload", u->url == NULL ? "--url is missing" : "no file", NULL);
    } else if (strlen(u->url) > URL_MAX) {
        code = command_usage("upload", "--url is too long", NULL);
    } else if (u->expires != NULL && !is_expires(u->expires)) {
        code = command_usage("upload",
                             "--expires wants a duration such as "
                             "\"30d\"",
                             u->expires);
    } else {
        code = run_upload(u, argc, argv);
    }
    free(u);
    return command_finish(code);
}
