/*
 * Copyright (C) the ngx_symcache authors
 */
#include "second_original.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "debuginfo/supplement.h"
#include "proto/hints.h"
#include "symcached/upload_index/upload_index.h"

/* Reads hex digits after a note of the converter.  Returns how many there are,
 * 0 if the note is not there or the digits are none of an id. */
static size_t second_read_id(char id[SYMCACHE_ID_TEXT_MAX + 1],
                             const char *output, const char *note)
{
    const char *p = strstr(output, note);
    size_t n = 0;

    if (p != NULL) {
        p += strlen(note);
        n = strspn(p, "0123456789abcdef");
    }
    n = n > 2 * SYMCACHE_BUILD_ID_MAX ? 0 : n;
    snprintf(id, SYMCACHE_ID_TEXT_MAX + 1, "%.*s", (int)n, p != NULL ? p : "");
    return n;
}

/* Reads the key from the converter's output. Its input may have taken the
 * converter over, but then it can only name a file of debug information, as
 * any client can. */
static bool second_read_altlink(symcache_key_t *key, const char *output)
{
    char digits[SYMCACHE_ID_TEXT_MAX + 1];

    if (symcache_name_parse(SYMCACHE_NAME_NONE, strlen(SYMCACHE_NAME_NONE),
                            key) != SYMCACHE_OK ||
        symcache_build_id_parse(digits,
                                second_read_id(digits, output, ALTLINK_NOTE),
                                key) != SYMCACHE_OK) {
        return false;
    }
    key->kind = SYMCACHE_KIND_DEBUGINFO;
    return true;
}

/* Reads the key of the image from the client's hints about the module. */
static bool second_read_image(symcache_key_t *key, const char *hints,
                              const char *output)
{
    char name[SYMCACHE_HINT_MAX + 1], id[SYMCACHE_HINT_MAX + 1];

    symcache_hint_get(hints, SYMCACHE_HINT_CODE_ID, id);
    symcache_hint_get(hints, SYMCACHE_HINT_CODE_FILE, name);
    if (strstr(output, IMAGE_NOTE) == NULL || id[0] == '\0' ||
        name[0] == '\0' ||
        symcache_name_parse(name, strlen(name), key) != SYMCACHE_OK ||
        symcache_id_parse(id, strlen(id), key) != SYMCACHE_OK ||
        key->id_type != SYMCACHE_ID_PE) {
        return false;
    }
    key->kind = SYMCACHE_KIND_EXECUTABLE;
    return true;
}

static bool second_read_file(const struct job *job, symcache_key_t *key,
                             const char *output)
{
    switch (job->original.format) {
    case FORMAT_ELF:
        return second_read_altlink(key, output);
    case FORMAT_PDB:
        return second_read_image(key, job_hints(job), output);
    default:
        return false;
    }
}

/* Sets a key with the id of the module. */
static bool second_set_key(const struct job *job, symcache_key_t *key,
                           symcache_kind_e kind)
{
    const char *name = symcache_kind_text(kind);

    symcache_key_copy(key, &job->key);
    key->kind = (uint8_t)kind;
    upload_index_set_name(key, name);
    return key->id_type == SYMCACHE_ID_DEBUG;
}

static bool second_read_uuid_map(const struct job *job, symcache_key_t *key,
                                 const char *output)
{
    return job->original.format == FORMAT_MACHO &&
           strstr(output, HIDDEN_NOTE) != NULL &&
           second_set_key(job, key, SYMCACHE_KIND_UUIDMAP);
}

static bool second_read_symbol_map(const struct job *job, symcache_key_t *key,
                                   const char *output)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];

    if (second_read_id(id, output, SYMBOL_MAP_NOTE) != 32 ||
        !second_set_key(job, key, SYMCACHE_KIND_BCSYMBOLMAP)) {
        return false;
    }
    return symcache_debug_id_read(id, strlen(id), key->guid, &key->age);
}

static bool second_read_line_mapping(const struct job *job,
                                     symcache_key_t *key, const char *output)
{
    return strstr(output, IL2CPP_NOTE) != NULL &&
           second_set_key(job, key, SYMCACHE_KIND_IL2CPP);
}

static bool second_read_dwp(const struct job *job, symcache_key_t *key,
                            const char *output)
{
    return job->original.format == FORMAT_ELF &&
           strstr(output, SPLIT_NOTE) != NULL &&
           second_set_key(job, key, SYMCACHE_KIND_DWP);
}

/* Uploads have the debug id, other places of ELF files the build id, which the
 * converter knows from the file; the client may know none. */
static bool second_set_build_id(const struct job *job, symcache_key_t *key,
                                const char *output)
{
    char digits[SYMCACHE_ID_TEXT_MAX + 1], id[SYMCACHE_HINT_MAX + 1];

    if (second_read_id(digits, output, SPLIT_OF_NOTE) > 0) {
        snprintf(id, sizeof(id), "buildid-%s", digits);
    } else {
        symcache_hint_get(job_hints(job), SYMCACHE_HINT_CODE_ID, id);
    }
    return symcache_id_parse(id, strlen(id), key) == SYMCACHE_OK &&
           key->id_type == SYMCACHE_ID_BUILD;
}

static bool second_read_mapping_of_elf(const struct job *job,
                                       symcache_key_t *key, const char *output)
{
    return job->original.format == FORMAT_ELF &&
           second_read_line_mapping(job, key, output) &&
           second_set_build_id(job, key, output);
}

static bool second_read_dwp_of_build_id(const struct job *job,
                                        symcache_key_t *key,
                                        const char *output)
{
    return second_read_dwp(job, key, output) &&
           second_set_build_id(job, key, output);
}

static const struct {
    enum second second;
    bool (*read)(const struct job *job, symcache_key_t *key,
                 const char *output);
    const char *what;
} rows[] = {
    {SECOND_FILE, second_read_file, NULL},
    {SECOND_UUID_MAP, second_read_uuid_map, "the UUID map of the dSYM"},
    {SECOND_SYMBOL_MAP, second_read_symbol_map, "the BCSymbolMap of the dSYM"},
    {SECOND_LINE_MAPPING, second_read_line_mapping,
     "the line mapping of il2cpp"},
    {SECOND_LINE_MAPPING, second_read_mapping_of_elf,
     "the line mapping of il2cpp, by the build id,"},
    {SECOND_DWP, second_read_dwp, "the package of split DWARF"},
    {SECOND_DWP, second_read_dwp_of_build_id,
     "the package of split DWARF, by the build id,"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Files of which the converter says something, and how that begins. */
static const struct {
    enum second second;
    const char *says;
} said_of[] = {
    {SECOND_UUID_MAP, UUID_MAP_SAYS},
    {SECOND_SYMBOL_MAP, SYMBOL_MAP_SAYS},
    {SECOND_LINE_MAPPING, LINE_MAPPING_SAYS},
};

/* The names or lines for which somebody has put such a file into a source are
 * not there, and nothing else tells why. */
static void tell_of_seconds(struct job *job, const char *output)
{
    struct provenance from;
    const char *path, *said;
    size_t i;

    for (i = 0; i < sizeof(said_of) / sizeof(said_of[0]); i++) {
        path = job->original.seconds[said_of[i].second];
        said = path != NULL ? strstr(output, said_of[i].says) : NULL;
        if (said != NULL &&
            !(job->original.told_seconds & 1u << said_of[i].second)) {
            job->original.told_seconds |= 1u << said_of[i].second;
            log_warn(0, "job %s: %.*s (\"%s\" has it)", job_id(job),
                     (int)strcspn(said, ";\n"), said,
                     provenance_read(path, &from) ? from.source : path);
        }
    }
}

/* Notes that what is made for the job's key depends on an upload, which drops
 * it when it comes. */
static void second_note_user(const struct job *job, const symcache_key_t *key)
{
    char root[PATH_MAX];
    int is_try;

    for (is_try = 0; is_try < 2; is_try++) {
        if (job->key.id_type == SYMCACHE_ID_DEBUG &&
            job->config->uploads.root != NULL &&
            config_store_has_uploads(job->store, is_try)) {
            snprintf(root, sizeof(root), "%.1024s%s",
                     job->config->uploads.root, is_try ? "/" UPLOADS_TRY : "");
            uploads_disk_note_user(root, key, &job->key);
        }
    }
}

/* May a source have the file later without a word?  Of an upload this helper
 * is told. */
static bool second_may_come(const struct job *job, const symcache_key_t *key)
{
    const struct source_config *source;
    size_t i;

    for (i = 0; i < job->store->nsources; i++) {
        source = job->store->sources[i];
        if (!config_source_is_uploads(source) &&
            (config_source_formats(source) &
             config_format_originals((symcache_kind_e)key->kind)) != 0 &&
            config_source_has_key(source, key)) {
            return true;
        }
    }
    return false;
}

static void take_second(struct job *job, const struct scheduler_answer *answer)
{
    unsigned row = job->run.seeks;
    bool is_auxiliary = rows[row].second != SECOND_FILE;
    char path[PATH_MAX];

    if (answer->kind == SCHEDULER_HIT) {
        store_download_path(path, job->config->downloads, job->store->name,
                            answer->key);
        job->original.seconds[rows[row].second] = strdup(path);
        job->original.lacks_seconds &= ~(1u << rows[row].second);
        job->original.missing_seconds &= ~(1u << rows[row].second);
        job->run.has_second = 1;
        return;
    }
    job->original.missing_seconds |= 1u << rows[row].second;
    if (job->run.may_come || answer->kind != SCHEDULER_ABSENT) {
        job->original.lacks_seconds |= 1u << rows[row].second;
    }
    log_info(0, "job %s: %s is not to be had: %s", job_id(job),
             is_auxiliary                         ? rows[row].what
             : job->original.format == FORMAT_ELF ? "the file of dwz"
                                                  : "the image of the PDB",
             answer->text != NULL                ? answer->text
             : answer->kind == SCHEDULER_PENDING ? "the search goes on"
                                                 : "no reason is known");
}

/* All were asked for: converts again with what was found. */
static void finish_second(struct job *job)
{
    struct made made = job->run.made;

    memset(&job->run.made, 0, sizeof(job->run.made));
    if (job->run.has_second) {
        job->run.has_second = 0;
        job_remove_work(job);
        job_set_state(job, JOB_WAITS_TRANSCODER);
    } else {
        job_set_state(job, JOB_PUBLISHES);
        job_publish(job, &made.version, made.file);
    }
    free(made.file);
    free(made.output);
}

static void seek_second(struct job *job);

/* The search for one of them has ended. */
static void on_second(void *arg, const struct scheduler_answer *answer)
{
    struct job *job = arg;

    job->run.second = NULL;
    take_second(job, answer);
    if (job->run.is_seeking) {
        job->run.is_seeking = 0; /* seek_second() goes on */
    } else {
        seek_second(job);
    }
}

/* Sets the key of the next one that is missing.  Returns false if none is. */
static bool second_find_next(struct job *job, const char *output,
                             symcache_key_t *key)
{
    unsigned row;

    for (row = 0; row < ROWS; row++) {
        if (!(job->original.asked_seconds & 1u << row) &&
            job->original.seconds[rows[row].second] == NULL &&
            rows[row].read(job, key, output)) {
            if (rows[row].second == SECOND_FILE ||
                source_order_has_way(job->store, key,
                                     &order_original.version)) {
                job->run.seeks = (uint8_t)row;
                return true;
            }
            job->original.asked_seconds |= 1u << row;
        }
    }
    return false;
}

/* The hint that names the sources that the job may ask, and nothing else. */
static const char *second_sources_of(const struct job *job)
{
    static char hints[SYMCACHE_HINTS_MAX + 1];
    char names[SYMCACHE_HINT_MAX + 1];

    hints[0] = '\0';
    symcache_hint_get(job_hints(job), SYMCACHE_HINT_SOURCES, names);
    if (names[0] != '\0') {
        (void)symcache_hint_add(hints, SYMCACHE_HINT_SOURCES, names,
                                strlen(names));
    }
    return hints;
}

static void seek_second(struct job *job)
{
    symcache_key_t key;
    symcache_ask_t ask = {.version = order_original.version,
                          .min = order_original.version};
    struct scheduler_lookup lookup = {.store = job->store,
                                      .key = &key,
                                      .name = key.name,
                                      .ask = &ask,
                                      .via = job_via(job),
                                      .hints = second_sources_of(job),
                                      .wait =
                                          job->config->limits.download_time};
    struct waiter *waiter;

    while (second_find_next(job, job->run.made.output, &key)) {
        job->original.asked_seconds |= 1u << job->run.seeks;
        second_note_user(job, &key);
        /* few sources have images */
        job->run.may_come = (rows[job->run.seeks].second != SECOND_FILE ||
                             job->original.format != FORMAT_PDB) &&
                            second_may_come(job, &key);
        job->run.is_seeking = 1;
        waiter = scheduler_ask(job->scheduler, &lookup, on_second, job);
        if (job->run.is_seeking) {
            job->run.is_seeking = 0;
            job->run.second = waiter;
            return;
        }
    }
    finish_second(job);
}

bool job_wants_second(struct job *job, const struct transcode_result *result)
{
    symcache_key_t key;

    if (job_is_unverified(job) || !transcode_is_ours(job_transcoder(job))) {
        return false;
    }
    tell_of_seconds(job, result->tail);
    if (!second_find_next(job, result->tail, &key)) {
        return false;
    }
    job->run.made.version = result->version;
    job->run.made.file = strdup(result->file);
    job->run.made.output = strdup(result->tail);
    if (job->run.made.file == NULL || job->run.made.output == NULL) {
        job_leave_second(job);
        return false;
    }
    job_leaves_run(job); /* others may run, and this one again */
    job_set_state(job, JOB_WAITS_UPSTREAM);
    seek_second(job);
    return true;
}

void job_leave_second(struct job *job)
{
    if (job->run.second != NULL) {
        scheduler_leave(job->run.second);
        job->run.second = NULL;
    }
    free(job->run.made.file);
    free(job->run.made.output);
    memset(&job->run.made, 0, sizeof(job->run.made));
}
