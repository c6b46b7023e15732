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

static void unpacking_close_fd(int *fd)
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
        unpacking_close_fd(&unpacking->outs[i]);
    }
    unpacking_close_fd(&unpacking->report);
    unpacking_close_fd(&unpacking->scratch);
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

static void unpacking_print_out(const struct upload *upload, unsigned out,
                                char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%u.%u", upload->work, upload->unpacking.batch,
             out);
}

static int unpacking_make_file(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

/* Makes the files that the next process writes.  Returns 0, or -1. */
static int unpacking_make_outputs(struct upload *upload, int n)
{
    char path[PATH_MAX];
    int i;

    upload->unpacking.batch++;
    upload->unpacking.report = memfd_create("report", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "%s/%u.scratch", upload->work,
             upload->unpacking.batch);
    upload->unpacking.scratch = unpacking_make_file(path);
    if (upload->unpacking.report < 0 || upload->unpacking.scratch < 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        unpacking_print_out(upload, (unsigned)i, path);
        upload->unpacking.outs[i] = unpacking_make_file(path);
        if (upload->unpacking.outs[i] < 0) {
            return -1;
        }
    }
    return 0;
}

static void unpacking_read_report(struct upload *upload,
                                  struct upload_report *report)
{
    char *text = malloc(REPORT_MAX + 1);
    ssize_t n = text != NULL
                    ? pread(upload->unpacking.report, text, REPORT_MAX + 1, 0)
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
static int unpacking_add_files(struct upload *upload,
                               const struct upload_report *report)
{
    uint64_t *left = &upload->unpacking.left;
    struct upload_file *file;
    char path[PATH_MAX];
    struct stat st;
    size_t i;

    for (i = 0; i < report->nfiles; i++) {
        unpacking_print_out(upload, report->files[i].out, path);
        if (stat(path, &st) != 0 ||
            upload->publication->nfiles == UPLOAD_FILES_MAX) {
            errno = EINVAL;
            return -1;
        }
        file = publication_add(upload->publication, &report->files[i].place,
                               path, report->files[i].member);
        if (file == NULL) {
            return -1;
        }
        file->size = (uint64_t)st.st_size;
        *left -= file->size < *left ? file->size : *left;
    }
    return 0;
}

/* Where a file goes is known when the first process has read the form. */
static int unpacking_place_files(struct upload *upload, bool is_try)
{
    char root[PATH_MAX];

    upload->result.is_try = is_try;
    snprintf(root, sizeof(root), "%s%s", upload->config->uploads.root,
             is_try ? "/" UPLOADS_TRY : "");
    upload->publication = publication_new(root);
    if (upload->publication == NULL) {
        return -1;
    }
    upload->publication->disk = fcntl(upload->disk, F_DUPFD_CLOEXEC, 0);
    return upload->publication->disk >= 0 ? 0 : -1;
}

static void unpacking_on_child(void *arg, struct child_result *child)
{
    char end[CHILD_END_SIZE], path[PATH_MAX];
    struct upload *upload = arg;
    struct upload_report report;

    upload->unpacking.child = NULL;
    unpacking_read_report(upload, &report);
    free(upload->debug_ids);
    free(upload->doubts);
    upload->doubts = NULL;
    upload->debug_ids = report.debug_ids;
    upload->result.debug_ids = upload->debug_ids;
    if (report.doubts[0] != '\0') {
        upload->doubts = strdup(report.doubts);
    }
    upload->result.doubts = upload->doubts;
    if (child->timed_out || child->error != 0 || !WIFEXITED(child->status) ||
        WEXITSTATUS(child->status) != 0) {
        child_end_print(end, child);
        upload_path_print(path, sizeof(path), upload);
        log_error(child->error,
                  "upload%s: the process that looks at it ended with %s: the "
                  "client is told 500, and may send it again",
                  path, end);
        upload_refuse(upload, 500,
                      "the process that looks at uploads ended early");
        return;
    }
    upload->result.archive_size = report.archive_size;
    snprintf(upload->archive, sizeof(upload->archive), "%s", report.archive);
    if (report.status == 507) {
        refusal_log_space(upload);
    }
    if (report.status == 413) {
        upload_refuse_size(upload, report.text);
        return;
    }
    if (report.status != 0) {
        upload_refuse(upload, report.status, "%s", report.text);
        return;
    }
    if (upload->request.name != NULL && report.nfiles == 0) {
        upload_refuse(upload, 500, "the process that looks at uploads lied");
        return;
    }
    if ((upload->publication == NULL &&
         unpacking_place_files(upload, upload->request.only_try ||
                                           report.is_try) != 0) ||
        unpacking_add_files(upload, &report) != 0) {
        upload_refuse_errno(upload, errno, "files cannot be listed");
        return;
    }
    close_outputs(&upload->unpacking);
    snprintf(upload->unpacking.next, sizeof(upload->unpacking.next), "%s",
             report.next);
    if (report.next[0] != '\0') {
        unpacking_start(upload);
    } else {
        upload_publish(upload);
    }
}

static const char *unpacking_mode_of(const struct upload *upload)
{
    if (upload->request.is_symbfile) {
        return upload->part[0] == '\0'     ? "symbfile"
               : upload->request.part == 0 ? "first"
                                           : "part";
    }
    return upload->request.is_artifacts   ? "artifacts"
           : upload->request.is_object    ? "object"
           : upload->request.is_chunks    ? "chunks"
           : upload->request.name != NULL ? "file"
           : upload->request.is_package   ? "package"
           : upload->request.is_mappings  ? "mappings"
                                          : "zip";
}

void unpacking_start(struct upload *upload)
{
    char max[48];
    const char *argv[8] = {SANDBOX_PROGRAM, "--upload",
                           unpacking_mode_of(upload), max};
    char *env[] = {NULL};
    int fds[3 + UPLOAD_OUTS];
    struct child_options options = {.argv = (char *const *)argv,
                                    .env = env,
                                    .fds = fds,
                                    .seconds = CHILD_SECONDS};
    int n = upload->request.name != NULL ? 1 : UPLOAD_OUTS;

    if (unpacking_make_outputs(upload, n) != 0) {
        upload_refuse_errno(upload, errno, "no file to unpack into");
        return;
    }
    snprintf(
        max, sizeof(max), "%" PRIu64 ":%" PRIu64, upload->unpacking.left,
        disk_space_kept(upload->unpacking.outs[0], &upload->config->cache));
    argv[4] = upload->request.name != NULL ? upload->request.name
                                           : upload->unpacking.next;
    argv[5] = upload->request.is_object      ? NULL
              : upload->request.name != NULL ? upload->request.id
                                             : upload->request.boundary;
    argv[6] = upload->part[0] != '\0' ? upload->part : upload->request.file;
    fds[0] = upload->in;
    fds[1] = upload->unpacking.report;
    fds[2] = upload->unpacking.scratch;
    memcpy(fds + 3, upload->unpacking.outs, sizeof(upload->unpacking.outs));
    options.nfds = 3 + (size_t)n;
    upload->unpacking.child = child_start(upload->uploads->base, &options,
                                          unpacking_on_child, upload);
    if (upload->unpacking.child == NULL) {
        upload_refuse_errno(upload, errno, "no process to look at the upload");
    }
}
