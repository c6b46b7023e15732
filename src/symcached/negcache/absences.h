/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is known to be absent from stores: one journal a store, <root>/.absent,
 * with a record for each version of a key,
 *
 *   none.pdb/<id>/none.pdb-v9.0.0.absent<TAB>notfound<TAB>1795235000<TAB>
 *   0123456789abcdef<TAB>None.pdb/NONE.pdb<TAB>msdl: 404
 *
 * which is the path that the entry would have as a file, the reason, the time,
 * the fingerprint of the store, the spellings and the text; or with the path
 * alone, which takes an earlier record back.  All of it is in memory, and is
 * read again when somebody else has written or removed the file.
 */
#pragma once

#include <stdbool.h>
#include "entry_file.h"

struct absences;

struct absences *absences_new(void); /* NULL when out of memory */
void absences_free(struct absences *absences);

/* Fills written with the entry of a version, if there is one. */
bool absences_find(struct absences *absences, const char *root,
                   const symcache_key_t *key,
                   const symcache_version_t *version, struct written *written);

/* Adds an entry, in place of an earlier one.  The oldest ones go when there are
 * too many.  Returns 0, or -1 with errno, and then there is none. */
int absences_add(struct absences *absences, const char *root,
                 const symcache_key_t *key, const symcache_version_t *version,
                 const struct written *written);

/* Removes the entry of a version, if there is one. */
void absences_remove(struct absences *absences, const char *root,
                     const symcache_key_t *key,
                     const symcache_version_t *version);

/* Removes the entries of every kind and version of a key; without an id, of all
 * keys with the name.  Returns how many there were. */
unsigned absences_forget(struct absences *absences, const char *root,
                         const symcache_key_t *key, bool has_id);

/*
 * Is there an entry of this version, and no file of the key's kind?  That is
 * known without listing the key's folder if there is none, or if it has not
 * changed since absences_set_alone(), a minute ago at most.
 */
bool absences_is_alone(struct absences *absences, const char *root,
                       const symcache_key_t *key,
                       const symcache_version_t *version);
void absences_set_alone(struct absences *absences, const char *root,
                        const symcache_key_t *key,
                        const symcache_version_t *version);
