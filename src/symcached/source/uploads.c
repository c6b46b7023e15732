/*
 * Copyright (C) the ngx_symcache authors
 *
 * The tier's code checks the digest of its files, and this one their identity,
 * as for any server.  Unlike a tier of converted files, this one has files
 * that are nowhere else: while it does not answer, a file counts as unknown,
 * not as absent.
 *
 * A lookup goes on in this order, until a file is found:
 *
 *   the tier, by the name --> the index of this machine --> by its names: the
 *   folder, the tier --> the index of the tier --> by its names: the tier
 *
 * An ELF file may be asked for by its debug id alone; then the index tells the
 * build id, by which it is looked for.  It may also be asked for by the id by
 * which a profiler knows it: then the index tells the debug id.
 */
#include "uploads.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/task.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/tier/tier.h"
#include "lookup_steps.h"

#define OBJECTS (LAYOUT_PLACES + UPLOAD_INDEX_NAMES)

struct uploads_walk {
    char root[PATH_MAX]; /* of the folder of uploads */
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE]; /* of the id */
    size_t nfolders;
    size_t next_folder; /* of those of the tier's index */
    struct upload_index_names names; /* that the index has */
    size_t used; /* of these, they are among the objects */
    char objects[OBJECTS][UPLOADS_PATH_MAX]; /* of the tier */
    size_t n;
    size_t next;
    bool looked; /* into the index of this machine */
};

/* Only plain files in one tier of folders are stored.  A file has no path if
 * the request does not name it. */
size_t uploads_paths(char paths[LAYOUT_PLACES][UPLOADS_PATH_MAX],
                     const struct source_config *source,
                     const symcache_key_t *key)
{
    struct layout_place places[LAYOUT_PLACES];
    size_t i, n, index, npaths = 0;

    if (layout_is_unnamed(key)) {
        return 0;
    }
    n = layout_places(places, source, key, key->name, &index);
    for (i = 0; i < (index > 0 ? index : n); i++) {
        if (places[i].form == FORM_PLAIN) {
            snprintf(paths[npaths], UPLOADS_PATH_MAX, "%s%s",
                     source->tier_path != NULL ? source->tier_path : "",
                     places[i].path);
            npaths++;
        }
    }
    return npaths;
}

/* Files that are named by a build id are found without a name. */
static bool uploads_has_index(const struct lookup *lookup)
{
    return lookup->at.id_type != SYMCACHE_ID_BUILD ||
           lookup->at.kind == SYMCACHE_KIND_EXECUTABLE;
}

/* Adds the paths of the names that have become known, by which a file of the
 * key may be there. */
static void uploads_add_objects(struct lookup *lookup)
{
    struct uploads_walk *walk = lookup->state;
    char paths[LAYOUT_PLACES][UPLOADS_PATH_MAX];
    bool wants_text = lookup->source->layout == LAYOUT_BREAKPAD;
    const struct upload_index_name *name;
    symcache_key_t key;
    size_t i, n;

    for (; walk->used < walk->names.n; walk->used++) {
        name = &walk->names.list[walk->used];
        if (name->is_asked || name->is_text != wants_text ||
            strcmp(name->text, lookup->at.name) == 0) {
            continue;
        }
        symcache_key_copy(&key, &lookup->at);
        upload_index_set_name(&key, name->text);
        n = uploads_paths(paths, lookup->source, &key);
        for (i = 0; i < n && walk->n < OBJECTS; i++) {
            memcpy(walk->objects[walk->n++], paths[i], sizeof(paths[i]));
        }
    }
}

/* What the file is made into has this name, too.  Who asks without a name, or
 * by that of a file, need not be noted.  Returns false if the objects that
 * are next are not to be used. */
static bool uploads_note_asked(struct lookup *lookup)
{
    struct uploads_walk *walk = lookup->state;
    int errnum;

    if (strcmp(lookup->key.name, SYMCACHE_NAME_NONE) == 0) {
        return true;
    }
    errnum = uploads_disk_note_asked(walk->root, &lookup->key);
    if (errnum == 0) {
        return true;
    }
    walk->next = walk->n;
    snprintf(lookup->place, sizeof(lookup->place), "%.1024s/" UPLOADS_INDEX
             "/%s", walk->root, walk->folders[0]);
    lookup_attempt_here(lookup, SOURCE_FAILED_HERE,
                        errnum == E2BIG ? "asked for by too many names"
                                        : strerror(errnum));
    return false;
}

/* A debug file has no name, so the index does not have those of what is made
 * of it, which goes when the file does. */
bool uploads_take_found(struct lookup *lookup)
{
    int errnum;

    if (!config_source_is_uploads(lookup->source) ||
        lookup->key.id_type != SYMCACHE_ID_DEBUG ||
        lookup->at.id_type != SYMCACHE_ID_BUILD ||
        lookup->at.kind != SYMCACHE_KIND_DEBUGINFO) {
        return true;
    }
    errnum = uploads_disk_note_asked(lookup->source->path, &lookup->key);
    if (errnum == 0) {
        return true;
    }
    lookup_attempt_here(lookup, SOURCE_FAILED_HERE,
                        errnum == E2BIG ? "asked for by too many names"
                                        : strerror(errnum));
    lookup_end(lookup);
    return false;
}

/* the index of this machine ------------------------------------------------ */

/* The thread's own. */
struct uploads_look {
    struct lookup *lookup;
    char root[PATH_MAX];
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE];
    size_t nfolders;
    struct upload_index_names names;
    int errnum;
    struct config *config;
    int lost; /* errno, if the root is not the one with the files */
};

static void uploads_free_look(void *arg)
{
    struct uploads_look *look = arg;

    config_unref(look->config);
    free(look);
}

static void uploads_run_look(void *arg)
{
    struct uploads_look *look = arg;
    size_t i;
    int rc;

    look->lost = root_mark_check(look->config);
    for (i = 0; i < look->nfolders; i++) {
        rc = upload_index_find(look->root, look->folders[i], &look->names);
        look->errnum = rc != 0 ? rc : look->errnum;
    }
}

/* Looks into the folder of uploads by the names that were found. */
static void uploads_look_in_folder(struct lookup *lookup)
{
    struct uploads_walk *walk = lookup->state;
    size_t skip = lookup->source->tier_path != NULL
                      ? strlen(lookup->source->tier_path)
                      : 0;
    struct lookup_dir dir = {.root = lookup->source->path};
    size_t i;

    for (i = walk->next; i < walk->n && dir.nplaces < UNPACK_PLACES; i++) {
        dir.places[dir.nplaces++] = walk->objects[i] + skip;
    }
    if (lookup->source->tier == NULL) {
        walk->next = walk->n;
    }
    lookup->by_index = true;
    lookup_dir(lookup, &dir);
}

static void uploads_index_is_silent(struct lookup *lookup)
{
    const struct uploads_walk *walk = lookup->state;

    snprintf(lookup->place, sizeof(lookup->place), "%s", walk->root);
    lookup_attempt_here(lookup, SOURCE_FAILED, "the index does not answer");
    lookup_end(lookup);
}

static void uploads_on_look(void *arg, bool late)
{
    const struct uploads_look *look = arg;
    struct lookup *lookup = look->lookup;
    struct uploads_walk *walk = lookup->state;

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    if (late) {
        uploads_index_is_silent(lookup);
        return;
    }
    if (look->lost != 0) { /* so it may have what was not found */
        snprintf(lookup->place, sizeof(lookup->place), "%.1024s/" ROOT_MARK,
                 look->config->uploads.root);
        lookup_attempt_here(lookup, SOURCE_FAILED, strerror(look->lost));
    }
    if (look->errnum != 0) { /* so what is not found may be there */
        snprintf(lookup->place, sizeof(lookup->place), "%.1024s/" UPLOADS_INDEX
                 "/%s", walk->root, walk->folders[0]);
        lookup_attempt_here(lookup, SOURCE_FAILED_HERE,
                            strerror(look->errnum));
    }
    walk->names = look->names;
    uploads_add_objects(lookup);
    if (walk->n > walk->next && uploads_note_asked(lookup)) {
        uploads_look_in_folder(lookup);
    } else {
        uploads_go_on(lookup);
    }
}

static void uploads_look_into_index(struct lookup *lookup)
{
    static const struct task_calls calls = {uploads_run_look, uploads_on_look,
                                            uploads_free_look};
    struct uploads_walk *walk = lookup->state;
    struct uploads_look *look;
    struct task *task;

    walk->looked = true;
    if (uploads_disk_hangs(lookup->config->uploads.root)) {
        uploads_index_is_silent(lookup); /* or threads would pile up */
        return;
    }
    look = calloc(1, sizeof(*look));
    if (look == NULL) {
        lookup_fail(lookup, "index");
        return;
    }
    look->lookup = lookup;
    look->config = config_ref((struct config *)lookup->config);
    memcpy(look->root, walk->root, sizeof(look->root));
    memcpy(look->folders, walk->folders, sizeof(look->folders));
    look->nfolders = walk->nfolders;
    task = task_start(lookup->sources->base,
                      lookup->config->limits.first_byte_time, &calls, look);
    if (task == NULL) {
        lookup_fail(lookup, "index");
        return;
    }
    lookup_set_step(lookup, LOOKUP_IN_INDEX, task);
}

/* the tier ----------------------------------------------------------------- */

void uploads_take_answer(struct lookup *lookup,
                         const struct tier_result *result)
{
    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    snprintf(lookup->place, sizeof(lookup->place), "%s", result->place);
    lookup->received.bytes = result->bytes;
    lookup->received.ms = result->ms;
    lookup->received.status = result->status;
}

void uploads_tier_failed(struct lookup *lookup,
                         const struct tier_result *result)
{
    char text[512];

    snprintf(text, sizeof(text), "tier %s: %s", lookup->source->tier->name,
             result->detail);
    lookup_attempt_here(lookup, SOURCE_FAILED,
                        result->is_tiers ? text : result->detail);
}

/* The index only gives hints: a missing object is not an error. */
static void uploads_on_names(void *arg, const struct tier_result *result)
{
    struct lookup *lookup = arg;
    struct uploads_walk *walk = lookup->state;
    size_t i;

    uploads_take_answer(lookup, result);
    if (result->outcome == TIER_ABSENT) {
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND, result->detail);
        uploads_go_on(lookup);
        return;
    }
    if (result->outcome != TIER_HIT) {
        uploads_tier_failed(lookup, result);
        uploads_go_on(lookup);
        return;
    }
    for (i = 0; i < result->names->n; i++) {
        upload_index_take(&walk->names, result->names->list[i]);
    }
    uploads_add_objects(lookup);
    lookup->by_index = true;
    if (walk->next < walk->n) {
        (void)uploads_note_asked(lookup);
    }
    uploads_go_on(lookup);
}

static void uploads_on_answer(void *arg, const struct tier_result *result)
{
    struct lookup *lookup = arg;

    uploads_take_answer(lookup, result);
    if (result->outcome == TIER_HIT) {
        lookup_check_part(lookup);
        return;
    }
    if (result->outcome == TIER_FAILED) {
        uploads_tier_failed(lookup, result);
    } else {
        lookup_attempt_here(lookup,
                            result->outcome == TIER_ABSENT ? SOURCE_NOT_FOUND
                                                           : SOURCE_UNUSABLE,
                            result->detail);
    }
    uploads_go_on(lookup);
}

/* Gets the next object, or the names in the next folder of the index. */
static void uploads_ask_tier(struct lookup *lookup)
{
    const struct source_config *source = lookup->source;
    struct uploads_walk *walk = lookup->state;
    char folder[UPLOADS_PATH_MAX];
    struct tier_get *get = NULL;

    if (lookup_open_part(lookup) != 0) {
        lookup_fail(lookup, "open");
        return;
    }
    if (walk->next < walk->n) {
        get = tiers_get_original(lookup->sources->tiers, lookup->config,
                                 source->tier, walk->objects[walk->next++],
                                 lookup->part_fd, uploads_on_answer, lookup);
    } else {
        snprintf(folder, sizeof(folder), "%s" UPLOADS_INDEX "/%s",
                 source->tier_path, walk->folders[walk->next_folder++]);
        get = tiers_list_originals(lookup->sources->tiers, lookup->config,
                                   source->tier, folder, lookup->part_fd,
                                   uploads_on_names, lookup);
    }
    if (get == NULL) {
        lookup_fail(lookup, "open");
        return;
    }
    lookup_set_step(lookup, LOOKUP_IN_TIER, get);
}

/* Returns false when it has ended the lookup. */
static bool begin_uploads(struct lookup *lookup)
{
    const struct source_config *source = lookup->source;
    struct uploads_walk *walk = lookup_type_state(lookup, sizeof(*walk));

    if (walk == NULL) {
        return false;
    }
    snprintf(walk->root, sizeof(walk->root), "%s", source->path);
    if (source->tier != NULL) {
        walk->n = uploads_paths(walk->objects, source, &lookup->at);
    }
    if (uploads_has_index(lookup)) {
        walk->nfolders = upload_index_folders(walk->folders, &lookup->at);
    }
    return true;
}

void uploads_go_on(struct lookup *lookup)
{
    struct uploads_walk *walk = lookup->state;

    memset(&lookup->received, 0, sizeof(lookup->received));
    if (walk == NULL && !begin_uploads(lookup)) {
        return;
    }
    walk = lookup->state;
    if (walk->next < walk->n) {
        uploads_ask_tier(lookup);
    } else if (!walk->looked) {
        uploads_look_into_index(lookup);
    } else if (lookup->source->tier != NULL &&
               walk->next_folder < walk->nfolders) {
        uploads_ask_tier(lookup);
    } else if (lookup_take_ids(
                   lookup,
                   walk->names.has_debug_id ? &walk->names.debug_id : NULL,
                   walk->names.has_code_id ? &walk->names.code_id : NULL)) {
        return;
    } else if (!walk->names.has_build_id || lookup->has_code_id ||
               !uploads_note_asked(lookup) ||
               !lookup_take_build_id(lookup, &walk->names.build_id)) {
        lookup_end(lookup);
    }
}
