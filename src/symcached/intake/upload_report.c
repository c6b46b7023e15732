/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload_report.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/control.h"
#include "base/le.h"
#include "base/profiler_id.h"
#include "debuginfo/portablepdb/portablepdb.h"

#define PARTS (UPLOAD_REPORT_FILE_FIELDS + SYMSTORE_PATH_IDS)

/* A part of a path that is in lower case already. */
static bool upload_report_is_name(const char *text)
{
    symcache_key_t key;

    return symcache_name_parse(text, strlen(text), &key) == SYMCACHE_OK &&
           strcmp(key.name, text) == 0;
}

static bool upload_report_read_number(const char *text, uint64_t *number)
{
    char *end;

    if (text[0] < '0' || text[0] > '9' || strlen(text) > 18) {
        return false;
    }
    *number = strtoull(text, &end, 10);
    return *end == '\0';
}

static bool upload_report_read_form(struct upload_report *report, char **parts,
                                    size_t n)
{
    if (n != 4 ||
        !upload_report_read_number(parts[2], &report->archive_size)) {
        return false;
    }
    report->is_try = strcmp(parts[1], "1") == 0;
    snprintf(report->archive, sizeof(report->archive), "%s", parts[3]);
    return true;
}

static void upload_report_set_no_name(symcache_key_t *key)
{
    key->name_len = sizeof(SYMCACHE_NAME_NONE) - 1;
    memcpy(key->name, SYMCACHE_NAME_NONE, sizeof(SYMCACHE_NAME_NONE));
}

/* Requests by build id can lack a name, requests by a profiler's id have none,
 * and requests for a portable PDB can have age 1. */
bool upload_report_ids(struct symstore_path *place, const char *const *ids,
                       size_t n)
{
    symcache_key_t key;
    size_t i;

    if (n > SYMSTORE_PATH_IDS) {
        return false;
    }
    for (i = 0; i < n; i++) {
        if (symcache_name_parse(place->name, strlen(place->name), &key) !=
                SYMCACHE_OK ||
            symcache_id_parse(ids[i], strlen(ids[i]), &key) != SYMCACHE_OK) {
            return false;
        }
        if (i > 0 && key.id_type == SYMCACHE_ID_HASH) {
            upload_report_set_no_name(&key);
        }
        place->ids[place->nids++] = key;
    }
    if (n > 0 && n < SYMSTORE_PATH_IDS &&
        place->ids[0].id_type == SYMCACHE_ID_BUILD) {
        key = place->ids[0];
        upload_report_set_no_name(&key);
        place->ids[place->nids++] = key;
    }
    if (n == 1 && place->ids[0].id_type == SYMCACHE_ID_DEBUG &&
        place->ids[0].age == PORTABLEPDB_AGE) {
        place->ids[place->nids] = place->ids[0];
        place->ids[place->nids++].age = 1;
    }
    return true;
}

void upload_report_print_ids(char text[UPLOAD_REPORT_IDS_SIZE],
                             const struct symstore_path *place,
                             const char *before)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    const symcache_key_t *key;

    *text = '\0';
    for (key = place->ids; key < place->ids + place->nids; key++) {
        symcache_id_print(id, key);
        /* the same without a name follows from it */
        if (strcmp(place->name, SYMCACHE_NAME_NONE) == 0 ||
            key->id_type == SYMCACHE_ID_HASH ||
            strcmp(key->name, SYMCACHE_NAME_NONE) != 0) {
            text = stpcpy(stpcpy(text, before), id);
        }
    }
}

/*
 * Adds the debug ids that are made of a build id, of files of either byte
 * order, as the folder does not tell which one it is.
 */
static void upload_report_add_debug_ids(struct symstore_path *place)
{
    symcache_key_t key = place->ids[0];
    uint8_t id[sizeof(key.guid)] = {0};

    if (key.id_type != SYMCACHE_ID_BUILD) {
        return;
    }
    memcpy(id, key.build,
           key.build_len < sizeof(id) ? key.build_len : sizeof(id));
    key.id_type = SYMCACHE_ID_DEBUG;
    key.age = 0;
    memcpy(key.guid, id, sizeof(id));
    place->ids[place->nids++] = key;
    le_guid(key.guid, id);
    place->ids[place->nids++] = key;
}

bool upload_report_place(struct symstore_path *place, const char *name,
                         const char *id)
{
    static const char *const prefixes[] = {"elf-buildid-sym-", "elf-buildid-",
                                           "mach-uuid-sym-", "mach-uuid-"};
    char text[SYMSTORE_ID_SIZE];
    const char *ids[] = {text};
    size_t i;

    memset(place, 0, sizeof(*place));
    snprintf(place->name, sizeof(place->name), "%s", name);
    snprintf(text, sizeof(text), "%s", id);
    for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(id, prefixes[i], strlen(prefixes[i])) == 0) {
            snprintf(text, sizeof(text), "buildid-%s",
                     id + strlen(prefixes[i]));
            break;
        }
    }
    if (!upload_report_ids(place, ids, 1)) {
        return false;
    }
    upload_report_add_debug_ids(place);
    return true;
}

void upload_report_profiler_id(struct symstore_path *place, int fd,
                               uint64_t size)
{
    uint8_t byte_order = 0;
    symcache_key_t key;
    size_t which;

    if (place->nids < 3 || pread(fd, &byte_order, 1, EI_DATA) != 1 ||
        !profiler_id_of_fd(&key, fd, size)) {
        return;
    }
    /* the last two are the debug ids, that of big-endian files first */
    which = place->nids - (byte_order == ELFDATA2MSB ? 2 : 1);
    place->ids[place->nids - 2] = place->ids[which];
    upload_report_set_no_name(&key);
    place->ids[place->nids - 1] = key;
}

static bool upload_report_read_features(struct symstore_path *place,
                                        const char *text)
{
    char *end;
    unsigned long format = strtoul(text, &end, 10);

    place->format = (enum original_format)format;
    if (format >= FORMATS || *end != ':') {
        return false;
    }
    place->features = (unsigned)strtoul(end + 1, &end, 16);
    return *end == '\0';
}

static bool upload_report_read_file(struct upload_report *report, char **parts,
                                    size_t n)
{
    struct upload_report_file *file = &report->files[report->nfiles];
    struct symstore_path *place = &file->place;
    uint64_t out;

    if (report->nfiles == UPLOAD_OUTS || n <= UPLOAD_REPORT_FILE_FIELDS ||
        !upload_report_read_number(parts[1], &out) || out >= UPLOAD_OUTS ||
        !upload_report_read_number(parts[2], &file->size) ||
        !upload_report_is_name(parts[3]) ||
        strlen(parts[4]) >= sizeof(place->id) || parts[4][0] == '.' ||
        strchr(parts[4], '/') != NULL || control_in(parts[4]) ||
        !upload_report_is_name(parts[5]) ||
        (*parts[7] != '\0' && !upload_report_is_name(parts[7])) ||
        !upload_report_read_features(place, parts[8])) {
        return false;
    }
    file->out = (unsigned)out;
    snprintf(place->name, sizeof(place->name), "%s", parts[3]);
    snprintf(place->id, sizeof(place->id), "%s", parts[4]);
    snprintf(place->file, sizeof(place->file), "%s", parts[5]);
    snprintf(file->member, sizeof(file->member), "%s", parts[6]);
    snprintf(place->module, sizeof(place->module), "%s", parts[7]);
    report->nfiles++;
    return upload_report_ids(
        place, (const char *const *)parts + UPLOAD_REPORT_FILE_FIELDS,
        n - UPLOAD_REPORT_FILE_FIELDS);
}

static bool upload_report_read_debug_id(struct upload_report *report,
                                        char **parts, size_t n, size_t most)
{
    size_t used;

    if (n != 2 || strlen(parts[1]) != 36 ||
        parts[1][strspn(parts[1], "0123456789abcdef-")] != '\0') {
        return false;
    }
    if (report->debug_ids == NULL) {
        report->debug_ids = calloc(1, most);
    }
    if (report->debug_ids == NULL) {
        return false;
    }
    /* all of them have fewer bytes than the report */
    used = report->debug_ids_size;
    memcpy(report->debug_ids + used, parts[1], 36);
    report->debug_ids[used + 36] = '\n';
    report->debug_ids_size = used + 37;
    return true;
}

static bool upload_report_read_doubts(struct upload_report *report,
                                      char **parts, size_t n)
{
    uint64_t files;

    if (n != 3 || !upload_report_read_number(parts[1], &files)) {
        return false;
    }
    snprintf(report->doubts, sizeof(report->doubts), "%llu %s: %s",
             (unsigned long long)files,
             files == 1 ? "file cannot be used" : "files cannot be used",
             parts[2]);
    return true;
}

static bool upload_report_read_next(struct upload_report *report, char **parts,
                                    size_t n)
{
    if (n != 2 || strlen(parts[1]) >= sizeof(report->next) ||
        parts[1][strspn(parts[1], "0123456789:")] != '\0') {
        return false;
    }
    snprintf(report->next, sizeof(report->next), "%s", parts[1]);
    return true;
}

static bool upload_report_read_refusal(struct upload_report *report,
                                       char **parts, size_t n)
{
    uint64_t status;

    if (n != 3 || !upload_report_read_number(parts[1], &status) ||
        status < 400 || status > 599) {
        return false;
    }
    report->status = (int)status;
    snprintf(report->text, sizeof(report->text), "%s", parts[2]);
    return true;
}

/* Returns false for a line that cannot be; *ended is set by the last one. */
static bool upload_report_read_line(struct upload_report *report, char *line,
                                    size_t most, bool *ended)
{
    char *parts[PARTS], *p = line;
    size_t n = 0;

    while (p != NULL && n < PARTS) {
        parts[n++] = strsep(&p, "\t");
    }
    if (p != NULL || *ended) {
        return false;
    }
    if (strcmp(parts[0], "form") == 0) {
        return upload_report_read_form(report, parts, n);
    }
    if (strcmp(parts[0], "file") == 0) {
        return upload_report_read_file(report, parts, n);
    }
    if (strcmp(parts[0], "debugid") == 0) {
        return upload_report_read_debug_id(report, parts, n, most);
    }
    if (strcmp(parts[0], "doubts") == 0) {
        return upload_report_read_doubts(report, parts, n);
    }
    *ended = true;
    if (strcmp(parts[0], "next") == 0) {
        return upload_report_read_next(report, parts, n);
    }
    if (strcmp(parts[0], "refuse") == 0) {
        return upload_report_read_refusal(report, parts, n);
    }
    return strcmp(parts[0], "end") == 0;
}

void upload_report_read(struct upload_report *report, char *text, size_t len)
{
    bool ended = false, good = len > 0 && text[len - 1] == '\n' &&
                               memchr(text, '\0', len) == NULL;
    char *line;

    memset(report, 0, sizeof(*report));
    if (good) {
        text[len - 1] = '\0';
    }
    while (good && text != NULL) {
        line = strsep(&text, "\n");
        good = upload_report_read_line(report, line, len + 1, &ended);
    }
    if (!good || !ended) {
        report->status = 500;
        snprintf(report->text, sizeof(report->text),
                 "the process that looks at uploads ended early");
    }
}
