/*
 * Copyright (C) the ngx_symcache authors
 *
 * Another SymCache server of the same fleet, a peer, which is asked for what
 * it has on its disk: at a location without symcache_pass, where nginx never
 * asks its helper, so that no job is started there.
 */
#include "tier.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/hex.h"
#include "base/percent.h"
#include "proto/digest.h"
#include "call.h"

static const struct header_config want_digest = {SYMCACHE_HEADER_WANT_DIGEST,
                                                 SYMCACHE_DIGEST_WANT};

static char *peer_url(const struct tier_call *call)
{
    const symcache_key_t *key = call->key;
    char version[SYMCACHE_VERSION_TEXT_MAX + 1], guid[2 * 16 + 1], *url;
    char name[3 * SYMCACHE_NAME_MAX + 1];

    symcache_version_print(version, &call->version);
    percent_encode_path(name, key->name);
    hex_print(guid, key->guid, sizeof(key->guid), HEX_UPPER);
    return asprintf(&url, "%s/v%s/%s/%s/%" PRIu32, call->config->url, version,
                    name, guid, key->age) < 0
               ? NULL
               : url;
}

/* A file that is not the version that was asked for is of no use. */
static void peer_received(struct tier_call *call,
                          const struct fetch_response *response)
{
    symcache_version_t version;
    char detail[256];

    if (fetch_response_version(response->type, &version) != 1 ||
        symcache_version_cmp(&version, &call->version) != 0) {
        tier_call_end(call, TIER_REPLY_ABSENT, "200 with another version: %s",
                      response->type);
    } else if (!fetch_response_is_whole(response, detail, sizeof(detail))) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", detail);
    } else {
        tier_call_end(call, TIER_REPLY_DONE, "found");
    }
}

static void peer_on_fetched(void *arg, const struct fetch_result *result)
{
    const struct fetch_response *response = result->response;
    struct tier_call *call = arg;

    call->bytes = result->bytes;
    call->status = response->status;
    if (result->outcome == SOURCE_FOUND) {
        peer_received(call, response);
    } else if (result->outcome == SOURCE_UNUSABLE ||
               result->outcome == SOURCE_FAILED_HERE) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", result->detail);
    } else if (response->status == 404 && !response->again) {
        tier_call_end(call, TIER_REPLY_ABSENT, "%ld", response->status);
    } else if (response->status == 401) {
        tier_call_end(call, TIER_REPLY_DENIED, "%s", result->detail);
    } else {
        tier_call_end(call, TIER_REPLY_FAULT, "%s", result->detail);
    }
}

static void fetch_ends(void *task)
{
    fetch_cancel(task);
}

static int peer_get(struct tier_call *call)
{
    struct fetch_request fetch = {
        .transport = &call->config->transport,
        .credentials = true,
        .extra = &want_digest,
        .nextra = 1,
        .busy_file = true,
        .limits = &tier_limits,
        .cache = &call->all->cache,
        .fd = call->fd,
        .max = call->config->max_object,
        .seconds = TIER_BODY,
    };
    char *url;

    errno = ENOTSUP;
    if (call->key->kind != SYMCACHE_KIND_SYMCACHE ||
        call->key->id_type != SYMCACHE_ID_DEBUG) {
        return -1; /* the protocol has no others */
    }
    url = peer_url(call);
    fetch.url = url;
    call->task = url != NULL ? fetch_start(call->tiers->fetcher, &fetch,
                                           peer_on_fetched, call)
                             : NULL;
    call->task_cancel = fetch_ends;
    free(url);
    errno = ENOMEM;
    return call->task != NULL ? 0 : -1;
}

static bool peer_receives(const struct tier_call *call)
{
    return call->task != NULL && fetch_receives(call->task);
}

const struct tier_type tier_symcache = {false, peer_get, NULL, NULL,
                                        NULL,  NULL,     NULL, peer_receives};
