/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which file is asked for of a module: the key, and what the client says
 * beyond it.
 */
#pragma once

#include "native_request.h"

/*
 * The key of a module, and its name as it was given, in *name: that of the
 * debug file, or without one of the module itself, or "_" where neither is a
 * name and the format has ids by which files lie.  A debug id that was not
 * given is made of the code id where the format does so; of ELF, as if it were
 * little-endian.  Returns false when no file can be asked for: the name or the
 * id is missing or impossible.
 */
bool symbolicator_key(const struct symbolicator_request *request,
                      const struct symbolicator_module *module,
                      symcache_key_t *key, struct symc_string *name);

/* The key of the image of a Windows module, by its code id, and its name.
 * Returns false if there is none. */
bool symbolicator_image_key(const struct symbolicator_request *request,
                            const struct symbolicator_module *module,
                            symcache_key_t *key, struct symc_string *name);

/* Gets the build id of an ELF module as a key's id.  Returns false if it has
 * none, or one that does not match its debug id: a request for one module's
 * files must not return another's. */
bool symbolicator_build_id(const struct symbolicator_request *request,
                           const struct symbolicator_module *module,
                           symcache_key_t *id);

/* The client's hints for a module, see proto/hints.h; the caller frees them.
 * NULL: there are none, or no memory. key is one of the module's; sources are
 * those of the tenant that are asked, "" for all. */
char *symbolicator_hints(const struct symbolicator_request *request,
                         const struct symbolicator_module *module,
                         const symcache_key_t *key, const char *sources);
