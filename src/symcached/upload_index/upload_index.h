/*
 * Copyright (C) the ngx_symcache authors
 *
 * The index of uploads: the names of the files that have an id.  It is a
 * folder of empty files next to them, which need not be read into memory,
 * repaired or shortened, and which several machines can write at once:
 *
 *   <root>/.index/<id>/<name>              a file <name>/<id>/<file> is there;
 *   <root>/.index/<id>/<name>.sym          it is Breakpad's text; or a file
 *                                          that has the name <name>.sym
 *   <root>/.index/<debug id>/buildid-<id>  an ELF or Mach-O file is there,
 *                                          whose build id this debug id is
 *                                          made of
 *   <root>/.index/<profiler's id>/debugid-<debug id>
 *                                          an ELF file or a PE image is there
 *                                          that a profiler knows by this id
 *   <root>/.index/<profiler's id>/codeid-<id>
 *                                          of a PE image also its own id
 *   <root>/.index/<debug id>/<profiler's id>
 *                                          the same in the other direction: a
 *                                          debug file also has names for the
 *                                          program with this id
 *   <root>/.index/<id>/.<name>             it was asked for by this name
 *
 * An <id> is spelled as in the path of the file.  The tier of uploads has the
 * first six of these, see tier_copy.h.  All of them are hints: a reader that
 * finds a name here checks the file.  If entries are lost, upload_index_keep()
 * makes them again of the files themselves.
 *
 * The time of the folder of an id is when that was last uploaded or removed:
 * what was known of the id before, by any name, does not count any more.
 *
 * A file that has names or lines of a module under another id has an entry
 * <root>/.index/users-<id>/.debugid-<debug id of the module> once it was asked
 * for: in another folder, as that is no upload.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "artifacts.h"
#include "debuginfo/identity/identity.h"
#include "proto/key.h"
#include "root_mark.h"
#include "uploads_disk.h"

/* Names of files of one id that are looked at, and of texts. */
#define UPLOAD_INDEX_NAMES 16

/* Names by which one id is asked for: there are no more, so that a client that
 * invents names cannot fill the store. */
#define UPLOAD_INDEX_ASKED 64

/* Ids of profilers that lead to one debug id: of a program and its debug file,
 * each of which may be a kernel's; and of other copies of these. */
#define UPLOAD_INDEX_HASHES 8

/* Modules whose names or lines one file has: as the common file of dwz, whose
 * modules are as many as a package has programs. */
#define UPLOAD_INDEX_USERS 256

/* Folders of one id. */
#define UPLOAD_INDEX_FOLDERS 2

/* Entries of one file. */
#define UPLOAD_INDEX_ENTRIES SYMSTORE_PATH_IDS
#define UPLOAD_INDEX_ENTRY_SIZE (SYMSTORE_ID_SIZE + 1 + SYMCACHE_NAME_MAX + 1)

struct upload_index_name {
    char text[SYMCACHE_NAME_MAX + 1]; /* of the module */
    bool is_text;                     /* of Breakpad's text */
    bool is_asked; /* nothing is there: it was asked for by it */
};

struct upload_index_names {
    struct upload_index_name list[2 * UPLOAD_INDEX_NAMES + UPLOAD_INDEX_ASKED];
    size_t n;
    bool has_build_id;
    symcache_key_t build_id; /* of which only the id counts */
    bool has_debug_id;
    symcache_key_t debug_id; /* likewise */
    bool has_code_id;
    symcache_key_t code_id;              /* of a PE image; likewise */
    symcache_key_t hashes[UPLOAD_INDEX_HASHES]; /* ids of profilers, with the
                                            name of files that have none */
    size_t nhashes;
    struct {
        uint8_t guid[16];
        uint32_t age;
    } users[UPLOAD_INDEX_USERS]; /* debug ids of modules whose names or lines
                                    the file has */
    size_t nusers;
};

/* Writes the folders of the id that a key has, below ".index".  Returns how
 * many there are: two of a build id that may be a UUID, none of a hash
 * that is not as long as a profiler's id. */
size_t
upload_index_folders(char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE],
                     const symcache_key_t *key);

/* Has the file a name there?  A debug file of ELF or Mach-O is found by its
 * build id alone. */
bool upload_index_has_name(const struct symstore_path *place);

/* Writes the entries of a file, below ".index", by its place and the ids that
 * it has there; that of its name comes first.  Returns how many there are. */
size_t upload_index_entries(
    char entries[UPLOAD_INDEX_ENTRIES][UPLOAD_INDEX_ENTRY_SIZE],
    const struct symstore_path *place);

/* Is another file there that has the entry of this one's name?  A PDB and its
 * source bundle have one. */
bool upload_index_is_shared(const char *root,
                            const struct symstore_path *place);

/* Takes a name of a folder among the others, if there is room and it is none
 * of them. */
void upload_index_take(struct upload_index_names *names, const char *entry);

/* Adds the names in the folder of an id.  Returns 0, or an errno if there can
 * be others. */
int upload_index_find(const char *root, const char *folder,
                      struct upload_index_names *names);

/* Gives a key such a name. */
void upload_index_set_name(symcache_key_t *key, const char *name);

/* A file was stored or removed: marks all findings about its ids as old, by
 * all their names.  With is_there it has entries.  Returns 0, or an errno. */
int upload_index_change(const char *root, const struct symstore_path *place,
                        bool is_there);

/* The same where another machine has stored or removed it: the entries are
 * those of the files of this folder, also if both have the folder. */
int upload_index_touch(const char *root, const struct symstore_path *place);

/* Has it been compared with all files since it was lost, or since an older
 * release wrote it?  That begins; and now it has been, unless it was lost
 * meanwhile. */
bool upload_index_is_whole(const char *root);
void upload_index_begin(const char *root);
void upload_index_set_whole(const char *root);

/* Makes the entries of a file that is there, if they are missing.  Returns 0,
 * or an errno; then the index is not whole any more. */
int upload_index_keep(const char *root, const struct symstore_path *place);

/*
 * Drops folders of ids that lead to no file on this machine, and were not
 * changed for long: of files that others have, or that are gone.  They only
 * save a look into the index of the tier.
 */
void upload_index_clean(const char *root, time_t now);

/* When the key's id was last changed: nanoseconds, by the clock of the file
 * system, which may be another machine's; 0 = it never was. */
int64_t upload_index_changed(const char *root, const symcache_key_t *key);

/* Does the kernel know that that is 0 without asking the disk, which can hang?
 * Files of another machine count as late as they do for stat(2). */
bool upload_index_is_known_absent(const char *root, const symcache_key_t *key);

/*
 * Notes that a client asked for the upload by the key's name, so that files
 * made from it can be dropped.  Returns 0, E2BIG if there are too many such
 * names, or another errno.
 */
int upload_index_note_asked(const char *root, const symcache_key_t *key);

/* Notes that a file that is made for user depends on the upload of key, so
 * that it is dropped when that changes.  Of UPLOAD_INDEX_USERS that is
 * noted. */
void upload_index_note_user(const char *root, const symcache_key_t *key,
                            const symcache_key_t *user);
