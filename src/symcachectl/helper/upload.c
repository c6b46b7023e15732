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
#include "upload_report.h"
#include "watched_files.h"
#include "symcachectl/options.h"
#include "symcachectl/terminal/printable.h"
#include "proto/digest.h"
#include "proto/upload.h"

#define ATTEMPTS 5
#define URL_MAX 4096 /* with a file behind it, it has room for 8192 */
#define RETRY_SECONDS 5
#define RETRY_MAX 60
#define FAILED_MAX 3 /* files in a row: the others will fare no better */

/* With --watch: how often to look, and how long a file has been left alone
 * before it counts as whole. */
#define WATCH_SECONDS 5

#define CHANGED "was changed while it was read"

struct upload {
    const char *url; /* below which the files are */
    const char *token;
    const char *expires;
    const char *labels[3]; /* product, branch, build; or NULL */
    char secret[SECRET_MAX + 1];
    int is_forced;
    int is_try;
    int is_warm;
    int is_watching;
    bool is_labelled;
    struct watched_files watched;
    time_t until; /* files that changed later are not taken yet */
    CURL *curl;
    struct curl_slist *headers;
    struct upload_report report;
    struct upload_program *programs; /* stripped ones, which are sent last */
    size_t num_programs, room;
    struct file_body body;
    struct short_reply reply;
    bool was_asked;     /* whether files may be sent */
    const char *refusal; /* they may not: what the server does, or NULL */
    char down[512];     /* why nothing more is sent in this pass, or "" */
    size_t unsent;      /* files, since then */
    unsigned failed;    /* in all attempts, one after the other */
    size_t num_refused; /* with all others: files that are to be sent again */
};

/* A file with stripped programs in it. */
struct upload_program {
    char *path;
    size_t count;
    uint64_t key; /* of watched_files.h; 0: another part of it has failed */
};

/* one request ------------------------------------------------------------ */

static int upload_on_progress(void *arg, curl_off_t download_all,
                              curl_off_t got, curl_off_t all, curl_off_t sent)
{
    struct upload *upload = arg;

    if (all > 0) {
        bar_draw(&upload->report.bar, (size_t)sent, (size_t)all,
                 "bytes of this file");
    }
    return 0;
}

static void upload_print_url(struct upload *upload,
                             const struct symstore_path *place, bool is_put,
                             char *url, size_t size)
{
    const char *const parts[3] = {place->name, place->id, place->file};
    char part[3 * SYMSTORE_ID_SIZE + 3 * SYMCACHE_NAME_MAX];
    size_t len, i;

    len = (size_t)snprintf(url, size, "%s", upload->url);
    for (i = 0; i < 3; i++) {
        percent_encode_path(part, parts[i]);
        len += (size_t)snprintf(url + len, size - len, "/%s", part);
    }
    snprintf(url + len, size - len, "?%s%s%s%s%s",
             upload->is_try ? "try=1&" : "",
             is_put && upload->is_forced ? "force=1&" : "",
             is_put && upload->is_warm ? "warm=1&" : "",
             is_put && upload->expires != NULL ? "expires=" : "",
             is_put && upload->expires != NULL ? upload->expires : "");
    len = strlen(url);
    if (url[len - 1] == '?' || url[len - 1] == '&') {
        url[len - 1] = '\0';
    }
}

/* Prepares a request.  With a file, it is a PUT of size bytes. */
static void upload_prepare(struct upload *upload, const char *url, FILE *file,
                           off_t size)
{
    CURL *curl = upload->curl;

    short_reply_begin(&upload->reply, curl, url, upload->headers);
    if (file == NULL) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
        return;
    }
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    file_body_begin(&upload->body, curl, file, 0, size);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS,
                     upload->report.bar.is_shown ? 0L : 1L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, upload_on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, upload);
}

/* Returns the status; with a reason 0 if there is no answer, and -1 if there
 * will never be one. */
static long perform(struct upload *upload, char *reason, size_t size)
{
    CURLcode code = curl_easy_perform(upload->curl);
    long status = 0, sent = 0;

    if (code == CURLE_ABORTED_BY_CALLBACK) {
        snprintf(reason, size, CHANGED);
        return -1;
    }
    if (code != CURLE_OK) {
        short_reply_failure(&upload->reply, code, reason, size);
        /* or that was what came for an answer */
        (void)curl_easy_getinfo(upload->curl, CURLINFO_REQUEST_SIZE, &sent);
        return sent == 0 && (code == CURLE_URL_MALFORMAT ||
                             code == CURLE_UNSUPPORTED_PROTOCOL)
                   ? -1
                   : 0;
    }
    curl_easy_getinfo(upload->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* one file --------------------------------------------------------------- */

/* Is this a program whose debug file, or whole copy, may lie elsewhere? */
static bool upload_is_stripped(const struct symstore_path *place)
{
    return (place->features & (SYMCACHE_HAS_CODE | SYMCACHE_HAS_DEBUG)) ==
           SYMCACHE_HAS_CODE;
}

/* Has the server these bytes there, and for ever?  If it does not say so, they
 * are sent: only that keeps for longer what is to be removed. */
static bool upload_is_there(struct upload *upload,
                            const struct symstore_path *place, FILE *file,
                            off_t size)
{
    struct curl_header *digest, *sunset;
    curl_off_t length = -1;
    char url[8192], reason[128];

    upload_print_url(upload, place, false, url, sizeof(url));
    upload_prepare(upload, url, NULL, 0);
    if (perform(upload, reason, sizeof(reason)) != 200) {
        return false;
    }
    curl_easy_getinfo(upload->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
                      &length);
    return length == (curl_off_t)size &&
           curl_easy_header(upload->curl, SYMCACHE_HEADER_DIGEST, 0,
                            CURLH_HEADER, -1, &digest) == CURLHE_OK &&
           curl_easy_header(upload->curl, SYMCACHE_HEADER_SUNSET, 0,
                            CURLH_HEADER, -1, &sunset) != CURLHE_OK &&
           file_body_has_digest(file, digest->value);
}

static void pause_before(struct upload *upload, const char *path,
                         const char *reason)
{
    curl_off_t seconds = 0;

    curl_easy_getinfo(upload->curl, CURLINFO_RETRY_AFTER, &seconds);
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

/* After a file that could not be sent: a server that is there answers HEAD,
 * and others may fare better. */
static void look_for_server(struct upload *upload,
                            const struct symstore_path *place,
                            const char *reason)
{
    char url[8192], why[128];
    long status;

    upload_print_url(upload, place, false, url, sizeof(url));
    upload_prepare(upload, url, NULL, 0);
    status = perform(upload, why, sizeof(why));
    upload->failed++;
    if (status == 0 || status == 502 || status == 504 ||
        upload->failed == FAILED_MAX) {
        snprintf(upload->down, sizeof(upload->down), "%s", reason);
    }
}

/* Does the answer refuse the sender or the address, and not this file?  403 can
 * also be that of a filter in between, which dislikes what is in one file. */
static bool is_refusal_of_all(const struct upload *upload, long status)
{
    return status == 401 || status == 405 ||
           (status == 403 && short_reply_is_forbidden(&upload->reply));
}

static void refuse_all(struct upload *upload, long status, const char *reason)
{
    upload->refusal = status == 405
                          ? "takes none at this address"
                          : "takes none with this token, or without one";
    upload->num_refused++;
    snprintf(upload->down, sizeof(upload->down), "%s", reason);
}

/* Before the first file: a server reads the whole body of a request that it
 * refuses, so the token is tried without one.  HEAD can be closed to those that
 * may send; a PUT without a body has the answer to both. */
static bool is_admitted(struct upload *upload,
                        const struct symstore_path *place, FILE *file,
                        char *reason, size_t size)
{
    char url[8192];
    long status;

    if (upload->was_asked) {
        return true;
    }
    upload->was_asked = true;
    upload_print_url(upload, place, false, url, sizeof(url));
    upload_prepare(upload, url, NULL, 0);
    status = perform(upload, reason, size);
    if (status == 401 || status == 403) {
        upload_print_url(upload, place, true, url, sizeof(url));
        upload_prepare(upload, url, file, 0);
        status = perform(upload, reason, size);
        if (is_refusal_of_all(upload, status)) {
            short_reply_reason(&upload->reply, status, reason, size);
            refuse_all(upload, status, reason);
            return false;
        }
    }
    reason[0] = '\0';
    return true;
}

/* What was sent is stored only if symcached says so, and not a portal, or
 * another page that answers to anything. */
static enum upload_outcome outcome_of(struct upload *upload, long status,
                                      char *reason, size_t size)
{
    if (short_reply_is_stored(&upload->reply)) {
        short_reply_untold(&upload->reply, upload->report.untold,
                           sizeof(upload->report.untold));
        return status == 201 ? UPLOAD_STORED : UPLOAD_SKIPPED;
    }
    snprintf(
        reason, size,
        "the answer is not symcached's: it is that of another page, or of "
        "a portal between here and the server (HTTP %ld)",
        status);
    return UPLOAD_FAILED;
}

/* Sends a file, again and again where that may help.  Returns the outcome, and
 * the reason of one that is not good. */
static enum upload_outcome put_upload(struct upload *upload, const char *path,
                                      const struct symstore_path *place,
                                      FILE *file, off_t size, char *reason,
                                      size_t reason_size)
{
    char url[8192];
    unsigned attempt;
    size_t len;
    long status;

    upload_print_url(upload, place, true, url, sizeof(url));

    for (attempt = 1;; attempt++) {
        upload_prepare(upload, url, file, size);
        status = perform(upload, reason, reason_size);
        bar_clear(&upload->report.bar);
        if (!may_pass(status)) {
            upload->failed = 0;
        }
        if (status == 201 || status == 200) {
            return outcome_of(upload, status, reason, reason_size);
        }
        if (status > 0) {
            short_reply_reason(&upload->reply, status, reason, reason_size);
        }
        if (status == 409 && !upload->is_forced &&
            !upload_is_stripped(place)) {
            len = strlen(reason);
            snprintf(reason + len, reason_size - len,
                     ", and stays: --force replaces it");
        }
        if (attempt == ATTEMPTS && may_pass(status)) {
            look_for_server(upload, place, reason);
            return UPLOAD_FAILED;
        }
        if (is_refusal_of_all(upload, status)) {
            refuse_all(upload, status, reason);
        }
        if (!may_pass(status)) {
            return status >= 300 && status < 500 ? UPLOAD_REFUSED
                                                 : UPLOAD_FAILED;
        }
        pause_before(upload, path, reason);
    }
}

/* The server has what was read of a file, which may be no more than a part. */
static bool upload_has_changed(FILE *file, const struct stat *before)
{
    struct stat st;

    return fstat(fileno(file), &st) != 0 || st.st_size != before->st_size ||
           memcmp(&st.st_mtim, &before->st_mtim, sizeof(st.st_mtim)) != 0;
}

static void send_file(struct upload *upload, const char *path, FILE *file,
                      const struct symstore_path *place)
{
    char text[3 * SYMCACHE_NAME_MAX], reason[512] = "";
    enum upload_outcome outcome = UPLOAD_SKIPPED;
    struct stat st;

    snprintf(text, sizeof(text), "%s/%s/%s", place->name, place->id,
             place->file);
    if (fstat(fileno(file), &st) != 0) {
        upload_report_add(&upload->report, UPLOAD_FAILED, path, text,
                          strerror(errno));
        return;
    }
    if (upload->down[0] != '\0') {
        upload->unsent++;
        upload->num_refused += upload->refusal != NULL;
        upload_report_unsent(&upload->report,
                             upload->refusal != NULL ? UPLOAD_REFUSED
                                                     : UPLOAD_FAILED,
                             path, text, upload->down);
        return;
    }
    if (!is_admitted(upload, place, file, reason, sizeof(reason))) {
        outcome = UPLOAD_REFUSED;
    } else if (upload->is_forced || upload->is_labelled ||
               !upload_is_there(upload, place, file, st.st_size)) {
        /* a build gets a file that is there only by sending it */
        outcome = put_upload(upload, path, place, file, st.st_size, reason,
                             sizeof(reason));
    }
    if (outcome <= UPLOAD_SKIPPED && upload_has_changed(file, &st)) {
        outcome = UPLOAD_FAILED;
        snprintf(reason, sizeof(reason), CHANGED);
    }
    upload_report_add(&upload->report, outcome, path, text,
                      reason[0] != '\0' && outcome > UPLOAD_SKIPPED ? reason
                                                                    : NULL);
}

static void defer_upload(struct upload *upload, const char *path, size_t count,
                         uint64_t key)
{
    char *copy = strdup(path);

    if (copy == NULL ||
        array_need(&upload->programs, &upload->room, upload->num_programs + 1,
                   sizeof(upload->programs[0])) != 0) {
        command_no_memory();
    }
    upload->programs[upload->num_programs++] =
        (struct upload_program){copy, count, key};
}

/* What is in a file. */
struct upload_found {
    bool has_symbols;
    size_t programs; /* stripped, which are sent when it is taken again */
};

/* A file, or a part of one, and what is known of it. */
struct upload_file {
    struct upload *u;
    const char *path; /* its name in messages */
    const char *name; /* its own, without a folder */
    bool is_operand;  /* in a folder there are files that are no symbols; one
                       that  was named by itself must be */
    bool is_again;    /* only its stripped programs are sent now */
    struct upload_found *found;
};

/* Tells of what examine_place() or container_read() has said, once. */
static void upload_tell_unusable(const struct upload_file *content, int rc,
                                 const char *error)
{
    if (!content->is_again) {
        upload_report_add(&content->u->report,
                          rc < 0                ? UPLOAD_FAILED
                          : content->is_operand ? UPLOAD_REFUSED
                                                : UPLOAD_NO_PLACE,
                          content->path, NULL, error);
    }
}

static void upload_take_content(const struct upload_file *content, FILE *file)
{
    char error[512], package[SYMCACHE_NAME_MAX + 1];
    const char *name =
        package_name(content->path, package) ? package : content->name;
    struct symstore_path place;
    int rc = examine_place(fileno(file), name, &place, error, sizeof(error));

    if (rc != 0) {
        upload_tell_unusable(content, rc, error);
        return;
    }
    content->found->has_symbols = true;
    content->found->programs += upload_is_stripped(&place);
    if (upload_is_stripped(&place) == content->is_again) {
        send_file(content->u, content->path, file, &place);
    }
}

static void upload_take_parts(const struct upload_file *content, FILE *file,
                              enum container_kind kind);

static void upload_take_part(void *arg, const struct container_part *part)
{
    const struct upload_file *content = arg;
    struct upload_file inner = *content;
    enum container_kind kind;
    char *path;

    if (asprintf(&path, "%s (%s)", content->path, part->name) < 0) {
        command_no_memory();
    }
    inner.path = path;
    inner.is_operand = false;
    inner.name = part->file != NULL ? part->file : content->name;
    if (part->content == NULL && content->is_again) {
        /* it was told of */
    } else if (part->content == NULL) {
        upload_report_add(&content->u->report,
                          part->has_failed   ? UPLOAD_FAILED
                          : part->is_damaged ? UPLOAD_REFUSED
                                             : UPLOAD_NO_PLACE,
                          path, NULL, part->error);
    } else {
        kind = container_sniff(fileno(part->content));
        if (kind == CONTAINER_FAT && part->file != NULL) {
            upload_take_parts(&inner, part->content, kind);
        } else {
            upload_take_content(&inner, part->content);
        }
        fclose(part->content);
    }
    free(path);
}

/* Each part of a file has a place of its own. */
static void upload_take_parts(const struct upload_file *content, FILE *file,
                              enum container_kind kind)
{
    char error[512];
    int rc = container_read(fileno(file), kind, upload_take_part,
                            (void *)content, error, sizeof(error));

    if (rc == 0 && content->is_operand && !content->found->has_symbols) {
        rc = 1;
        snprintf(error, sizeof(error), "there is no debug file in it");
    }
    if (rc != 0) {
        upload_tell_unusable(content, rc, error);
    }
}

static size_t count_undone(const struct upload *upload)
{
    return upload->report.counts[UPLOAD_FAILED] + upload->num_refused;
}

/* Programs are sent when a file is taken again, with their number. */
static void take_upload(struct upload *upload, const char *path, uint64_t key,
                        bool is_named, size_t programs)
{
    size_t undone = count_undone(upload);
    bool is_again = programs > 0;
    struct upload_found found = {false, 0};
    const char *slash = strrchr(path, '/');
    const struct upload_file content = {.u = upload,
                                        .path = path,
                                        .name =
                                            slash != NULL ? slash + 1 : path,
                                        .is_operand = is_named,
                                        .is_again = is_again,
                                        .found = &found};
    enum container_kind kind;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        upload_report_add(&upload->report, UPLOAD_FAILED, path, NULL,
                          strerror(errno));
        return;
    }
    kind = container_sniff(fileno(file));
    if (kind != CONTAINER_NONE) {
        upload_take_parts(&content, file, kind);
    } else {
        upload_take_content(&content, file);
    }
    fclose(file);
    if (found.programs > 0 && !is_again) {
        defer_upload(upload, path, found.programs,
                     count_undone(upload) == undone ? key : 0);
        return;
    }
    if (found.programs < programs) {
        upload_report_add(&upload->report, UPLOAD_FAILED, path, NULL, CHANGED);
    }
    if (upload->is_watching && key != 0 && count_undone(upload) == undone) {
        watched_files_add(&upload->watched, key);
    }
}

/* the command ------------------------------------------------------------ */

static int upload_by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void take_operand(struct upload *upload, char *operand)
{
    char *paths[] = {operand, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
                        upload_by_name);
    const FTSENT *entry;
    uint64_t key;

    if (fts == NULL) {
        upload_report_add(&upload->report, UPLOAD_FAILED, operand, NULL,
                          strerror(errno));
        return;
    }
    while ((entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_F) {
            key = watched_files_key(&upload->watched, entry->fts_statp);
            if (upload->is_watching &&
                (entry->fts_statp->st_ctime > upload->until ||
                 watched_files_meet(&upload->watched, key))) {
                continue;
            }
            take_upload(upload, entry->fts_path, key,
                        entry->fts_level == FTS_ROOTLEVEL, 0);
        } else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
                   entry->fts_info == FTS_NS) {
            upload_report_add(&upload->report, UPLOAD_FAILED, entry->fts_path,
                              NULL, strerror(entry->fts_errno));
        } else if (entry->fts_info == FTS_SLNONE) { /* an operand only */
            upload_report_add(&upload->report, UPLOAD_FAILED, operand, NULL,
                              strerror(ENOENT));
        } else if (entry->fts_info == FTS_DEFAULT &&
                   entry->fts_level == FTS_ROOTLEVEL) {
            upload_report_add(&upload->report, UPLOAD_REFUSED, operand, NULL,
                              "is no regular file");
        }
    }
    fts_close(fts);
}

/* So that nobody waits for each file, of thousands perhaps, until it fails. */
static void tell_unsent(struct upload *upload)
{
    bar_clear(&upload->report.bar);
    if (upload->unsent > 0) {
        fprintf(
            stderr,
            "symcachectl upload: stopped: %zu more file%s not sent, as the "
            "server %s: ",
            upload->unsent, upload->unsent == 1 ? " was" : "s were",
            upload->refusal != NULL ? upload->refusal
                                    : "cannot be reached or takes none");
        printable_put(stderr, upload->down);
        fputs(upload->refusal != NULL
                  ? ".\n"
                  : ". The same command goes on there later: it "
                    "skips what the server has.\n",
              stderr);
    }
    upload->down[0] = '\0';
    upload->unsent = 0;
    upload->failed = 0;
}

/* Sends stripped programs last: a SymCache that the server makes of one stays
 * when the debug file comes, and the whole program would be refused after its
 * stripped copy. */
static void take_operands(struct upload *upload, int argc, char **argv)
{
    size_t n;
    int i;

    for (i = 0; i < argc; i++) {
        take_operand(upload, argv[i]);
    }
    for (n = 0; n < upload->num_programs; n++) {
        take_upload(upload, upload->programs[n].path, upload->programs[n].key,
                    true, upload->programs[n].count);
        free(upload->programs[n].path);
    }
    upload->num_programs = 0;
    tell_unsent(upload);
}

/* Adds the header of labels.  Returns an exit code. */
static int add_labels(struct upload *upload)
{
    char line[UPLOAD_LABELS_LINE];
    const char *wrong = upload_labels_print(line, upload->labels);

    if (wrong != NULL) {
        return command_usage("upload", wrong, NULL);
    }
    if (line[0] != '\0') {
        upload->headers = curl_slist_append(upload->headers, line);
        upload->is_labelled = true;
    }
    return COMMAND_OK;
}

/* Reads the token, and makes the headers.  Returns an exit code. */
static int make_headers(struct upload *upload)
{
    char line[SECRET_MAX + 16], error[256];
    int code;

    upload->headers = curl_slist_append(NULL, "Expect:");
    code = add_labels(upload);
    if (code != COMMAND_OK) {
        return code;
    }
    upload->headers =
        curl_slist_append(upload->headers, SYMCACHE_HEADER_WANT_DIGEST
                          ": " SYMCACHE_DIGEST_WANT);
    if (upload->token == NULL) {
        return COMMAND_OK;
    }
    if (access(upload->token, F_OK) == 0) {
        return command_fail(COMMAND_USAGE, "--token",
                            "is a file: with @ in front, the token is read "
                            "from it");
    }
    if (secret_expand_option(upload->token, upload->secret,
                             sizeof(upload->secret), error,
                             sizeof(error)) != 0) {
        return command_fail(COMMAND_IO, "--token", error);
    }
    if (strpbrk(upload->secret, " \t") != NULL) {
        return command_fail(COMMAND_USAGE, "--token",
                            "has blanks: the file of a client has the token "
                            "alone in its first line");
    }
    snprintf(line, sizeof(line), "Auth-Token: %s", upload->secret);
    upload->headers = curl_slist_append(upload->headers, line);
    return COMMAND_OK;
}

/*
 * Looks repeatedly.  A file that is written changes its ctime, and is uploaded
 * once the ctime is some seconds old.  One that could not be sent is taken
 * again in the next pass.  Ends if the server refuses the token, which is read
 * once, or takes nothing at the address.
 */
static void watch_folder(struct upload *upload, int argc, char **argv)
{
    for (;;) {
        upload->until = time(NULL) - WATCH_SECONDS;
        watched_files_begin(&upload->watched);
        take_operands(upload, argc, argv);
        fflush(stdout);
        if (upload->refusal != NULL) {
            return;
        }
        sleep(WATCH_SECONDS);
    }
}

static int run_upload(struct upload *upload, int argc, char **argv)
{
    int code = make_headers(upload);

    upload->curl = curl_easy_init();
    if (upload->curl == NULL || upload->headers == NULL) {
        command_no_memory();
    }
    bar_init(&upload->report.bar);
    if (code == COMMAND_OK && upload->is_watching) {
        watch_folder(upload, argc, argv);
    } else if (code == COMMAND_OK) {
        take_operands(upload, argc, argv);
    }
    free(upload->programs);
    bar_clear(&upload->report.bar);
    curl_easy_cleanup(upload->curl);
    curl_slist_free_all(upload->headers);
    if (code != COMMAND_OK) {
        return code;
    }
    upload_report_sum(&upload->report);
    return upload->report.counts[UPLOAD_FAILED] > 0    ? COMMAND_IO
           : upload->report.counts[UPLOAD_REFUSED] > 0 ? COMMAND_NOT_FOUND
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
    struct upload *upload = calloc(1, sizeof(*upload));
    int code;

    if (upload == NULL) {
        command_no_memory();
    }
    int is_json = 0;
    const struct option_spec specs[] = {
        {"--url", NULL, &upload->url},
        {"--token", NULL, &upload->token},
        {"--expires", NULL, &upload->expires},
        {"--force", &upload->is_forced, NULL},
        {"--try", &upload->is_try, NULL},
        {"--warm", &upload->is_warm, NULL},
        {"--json", &is_json, NULL},
        {"--watch", &upload->is_watching, NULL},
        {"--product", NULL, &upload->labels[0]},
        {"--branch", NULL, &upload->labels[1]},
        {"--build", NULL, &upload->labels[2]}};

    argc = options_parse("upload", specs, COUNT(specs), argc, argv);
    upload->report.is_json = is_json != 0;
    if (argc < 0) {
        code = COMMAND_USAGE;
    } else if (upload->url == NULL || argc == 0) {
        code = command_usage(
            "upload", upload->url == NULL ? "--url is missing" : "no file",
            NULL);
    } else if (strlen(upload->url) > URL_MAX) {
        code = command_usage("upload", "--url is too long", NULL);
    } else if (upload->expires != NULL && !is_expires(upload->expires)) {
        code = command_usage("upload",
                             "--expires wants a duration such as "
                             "\"30d\"",
                             upload->expires);
    } else {
        code = run_upload(upload, argc, argv);
    }
    free(upload);
    return command_finish(code);
}
