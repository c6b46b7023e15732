/*
 * Copyright (C) the ngx_symcache authors
 *
 * The JSON of minidump-stackwalk 0.26, which Socorro reads.
 */
#ifndef SYMCACHECTL_FILES_SOCORRO_H
#define SYMCACHECTL_FILES_SOCORRO_H

#include <cjson/cJSON.h>

/* Makes it of a walk (minidump_json.h) and Symbolicator's answer with the
 * names.  The caller frees it. */
cJSON *socorro_report(const cJSON *walked, const cJSON *answer);

#endif
