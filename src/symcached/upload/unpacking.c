/*
 * Copyright (C) the ngx_symcache authors
 */
#include "unpacking.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "child/child.h"
#include "config/config.h"
#include "publication.h"
#include "symcached/space/space.h"
#include "upload_state.h"

/* One process may work so long on its part of an archive. */
#define CHILD_SECONDS 1800

#define REPORT_MAX (256 * 1024)

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void close_outputs(struct unpacking *unpacking)
{
    int i;

    for (i = 0; i < UPLOAD_OUTS; i++) {
        close_fd(&unpacking->outs[i]);
    }
    close_fd(&unpacking->report);
    close_fd(&unpacking->scratch);
}

void unpacking_init(struct unpacking *unpacking, uint64_t max)
{
    int i;

    *unpacking = (struct unpacking){.left = max, .report = -1, .scratch = -1};
    for (i = 0; i < UPLOAD_OUTS; i++) {
        unpacking->outs[i] = -1;
    }
    snprintf(unpacking->next, sizeof(unpacking->next), "-");
}

void unpacking_cancel(struct unpacking *unpacking)
{
    child_cancel(unpacking->child);
    close_outputs(unpacking);
}

static void unpacking_print_out(const struct upload *u, unsigned out,
                                char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%u.%u", u->work, u->unpacking.batch, out);
}

static int unpacking_make_file(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

/* Makes the files that the next process writes.  Returns 0, or -1. */
static int unpacking_make_outputs(struct upload *u, int n)
{
    char path[PATH_MAX];
    int i;

    u->unpacking.batch++;
    u->unpacking.report = memfd_create("report", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "%s/%u.scratch", u->work, u->unpacking.batch);
    u->unpacking.scratch = unpacking_make_file(path);
    if (u->unpacking.report < 0 || u->unpacking.scratch < 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        unpacking_print_out(u, (unsigned)i, path);
        u->unpacking.outs[i] = unpacking_make_file(path);
        if (u->unpacking.outs[i] < 0) {
            return -1;
        }
    }
    return 0;
}

static void unpacking_read_report(struct upload *u,
                                  struct upload_report *report)
{
    char *text = malloc(REPORT_MAX + 1);
    ssize_t n = text != NULL
                    ? pread(u->unpacking.report, text, REPORT_MAX + 1, 0)
                    : -1;

    if (n < 0 || n > REPORT_MAX) {
        n = 0;
    }
    if (text != NULL) {
        text[n] = '\0';
    }
    upload_report_read(report, text, (size_t)n);
    free(text);
}

/* Adds the files of a process to those of the upload.  Returns 0, or -1. */
static int unpacking_add_files(struct upload *u,
                               const struct upload_report *report)
{
    uint64_t *left = &u->unpacking.left;
    struct upload_file *file;
    char path[PATH_MAX];
    struct stat st;
    size_t i;

    for (i = 0; i < report->nfiles; i++) {
        unpacking_print_out(u, report->files[i].out, path);
        if (stat(path, &st) != 0 || u->publication->nfiles ==
                                        UPLOAD_FILES_MAX) {
            errno = EINVAL;
            return -1;
        }
        file = publication_add(u->publication, &report->files[i].place, path,
                               report->files[i].member);
        if (file == NULL) {
            return -1;
        }
        file->size = (uint64_t)st.st_size;
        *left -= file->size < *left ? file->size : *left;
    }
    return 0;
}

/* Where a file goes is known when the first process has read the form. */
static int unpacking_place_files(struct upload *u, bool is_try)
{
    char root[PATH_MAX];

    u->result.is_try = is_try;
    snprintf(root, sizeof(root), "%s%s", u->config->uploads.root,
             is_try ? "/" UPLOADS_TRY : "");
    u->publication = publication_new(root);
    if (u->publication == NULL) {
        return -1;
    }
    u->publication->disk = fcntl(u->disk, F_DUPFD_CLOEXEC, 0);
    return u->publication->disk >= 0 ? 0 : -1;
}

static void unpacking_on_child(void *arg, struct child_result *child)
{
    char end[CHILD_END_SIZE], path[PATH_MAX];
    struct upload *u = arg;
    struct upload_report report;

    u->unpacking.child = NULL;
    unpacking_read_report(u, &report);
    free(u->debug_ids);
    free(u->doubts);
    u->doubts = NULL;
    u->debug_ids = report.debug_ids;
    u->result.debug_ids = u->debug_ids;
    if (report.doubts[0] != '\0') {
        u->doubts = strdup(report.doubts);
    }
    u->result.doubts = u->doubts;
    if (child->timed_out || child->error != 0 || !WIFEXITED(child->status) ||
        WEXITSTATUS(child->status) != 0) {
        child_end_print(end, child);
        upload_path_print(path, sizeof(path), u);
        log_error(child->error,
                  "upload%s: the process that looks at it ended with %s: the "
                  "client is told 500, and may send it again",
                  path, end);
        upload_refuse(u, 500, "the process that looks at uploads ended early");
        return;
    }
    u->result.archive_size = report.archive_size;
    snprintf(u->archive, sizeof(u->archive), "%s", report.archive);
    if (report.status == 507) {
        refusal_log_space(u);
    }
    if (report.status == 413) {
        upload_refuse_size(u, report.text);
        return;
    }
    if (report.status != 0) {
        upload_refuse(u, report.status, "%s", report.text);
        return;
    }
    if (u->request.name != NULL && report.nfiles == 0) {
        upload_refuse(u, 500, "the process that looks at uploads lied");
        return;
    }
    if ((u->publication == NULL &&
         unpacking_place_files(u, u->request.only_try || report.is_try) !=
             0) ||
        unpacking_add_files(u, &report) != 0) {
        upload_refuse_errno(u, errno, "files cannot be listed");
        return;
    }
    close_outputs(&u->unpacking);
    snprintf(u->unpacking.next, sizeof(u->unpacking.next), "%s", report.next);
    if (report.next[0] != '\0') {
        unpacking_start(u);
    } else {
        upload_publish(u);
    }
}

static const char *unpacking_mode_of(const struct upload *u)
{
    if (u->request.is_symbfile) {
        return u->part[0] == '\0'    ? "symbfile"
               : u->request.part == 0 ? "first"
                                      : "part";
    }
    return u->request.is_artifacts   ? "artifacts"
           : u->request.is_object    ? "object"
           : u->request.is_chunks    ? "chunks"
           : u->request.name != NULL ? "file"
           : u->request.is_package   ? "package"
           : u->request.is_mappings  ? "mappings"
                                     : "zip";
}

void unpacking_start(struct upload *u)
{
    char max[48];
    const char *argv[8] = {SANDBOX_PROGRAM, "--upload", unpacking_mode_of(u),
                           max};
    char *env[] = {NULL};
    int fds[3 + UPLOAD_OUTS];
    struct child_options options = {.argv = (char *const *)argv,
                                    .env = env,
                                    .fds = fds,
                                    .seconds = CHILD_SECONDS};
    int n = u->request.name != NULL ? 1 : UPLOAD_OUTS;

    if (unpacking_make_outputs(u, n) != 0) {
        upload_refuse_errno(u, errno, "no file to unpack into");
        return;
    }
    snprintf(max, sizeof(max), "%" PRIu64 ":%" PRIu64, u->unpacking.left,
             disk_space_kept(u->unpacking.outs[0], &u->config->cache));
    argv[4] = u->request.name != NULL ? u->request.name : u->unpacking.next;
    argv[5] = u->request.is_object      ? NULL
              : u->request.name != NULL ? u->request.id
                                        : u->request.boundary;
    argv[6] = u->part[0] != '\0' ? u->part : u->request.file;
    fds[0] = u->in;
    fds[1] = u->unpacking.report;
    fds[2] = u->unpacking.scratch;
    memcpy(fds + 3, u->unpacking.outs, sizeof(u->unpacking.outs));
    options.nfds = 3 + (size_t)n;
    u->unpacking.child =
        child_start(u->uploads->base, &options, unpacking_on_child, u);
    if (u->unpacking.child == NULL) {
        upload_refuse_errno(u, errno, "no process to look at the upload");
    }
}
