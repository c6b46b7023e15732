/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>

#include "base/le.h"
#include "root.h"
#include "sources.h"

bool portablepdb_sniff(const uint8_t *data, size_t size)
{
    return metadata_sniff(data, size);
}

int portablepdb_identity_read(const uint8_t *data, size_t size,
                              struct portablepdb_identity *identity,
                              char *error, size_t error_size)
{
    struct metadata_root root;
    struct failure failure = {FAILURE_NONE, ""};

    if (metadata_root_open(&root, data, size, &failure) != 0) {
        snprintf(error, error_size, "%s", failure.text);
        return -1;
    }
    if (root.id == NULL) {
        snprintf(error, error_size, "is damaged: it has no \"#Pdb\" stream");
        return -1;
    }
    le_guid(identity->guid, root.id);
    identity->has_sources = portablepdb_has_sources(&root);
    identity->stamp = le32(root.id + 16);
    identity->id_at = (size_t)(root.id - data);
    return 0;
}
