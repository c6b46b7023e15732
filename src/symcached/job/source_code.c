/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_code.h"

#include "job_state.h"
#include "symcached/store/store.h"

/* Does the file made from the PDB say that the PDB leads to source files? */
static bool has_links(const struct job *job)
{
    symcache_version_t versions[STORE_VERSIONS_MAX];
    struct provenance provenance;
    symcache_key_t key;
    char path[PATH_MAX];
    int i, n;

    symcache_key_copy(&key, &job->key);
    key.kind = SYMCACHE_KIND_SYMCACHE;
    n = store_versions(job->store->root, &key, versions);
    for (i = 0; i < n; i++) {
        store_path(path, job->store->root, &key, &versions[i],
                   SYMCACHE_FILE_PLAIN);
        if (provenance_read(path, &provenance) &&
            (provenance.features & SYMCACHE_HAS_LINKS)) {
            return true;
        }
    }
    return false;
}

/* A portable PDB is known by the age of its key. */
void source_code_begin(struct job *job)
{
    if (job->key.kind != SYMCACHE_KIND_SOURCECACHE) {
        return;
    }
    job->reach = JOB_ASKS_OWN;
    if (job->key.age != UINT32_MAX) {
        job->order.formats &= ~(1u << FORMAT_PORTABLEPDB);
    }
    if (job->key.id_type != SYMCACHE_ID_DEBUG || !has_links(job)) {
        job->order.formats &= ~(1u << FORMAT_PDB);
    }
}

bool source_code_wants_bundle(const struct job *job)
{
    return job->key.kind == SYMCACHE_KIND_SOURCECACHE &&
           (job->reach == JOB_ASKS_OWN || job->reach == JOB_ASKED_OWN);
}
