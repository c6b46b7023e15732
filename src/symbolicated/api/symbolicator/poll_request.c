/*
 * Copyright (C) the ngx_symcache authors
 *
 * GET /requests/{id}: the answer of a request that was pending.
 */
#include "calls.h"

#include <stdlib.h>

#include "short_answer.h"

struct poll_call {
    struct api_call api; /* first */
    struct api_poll poll;
};

static void answer_kept(struct api_reply *reply,
                        const struct api_answer *answer)
{
    if (answer == NULL) {
        answer_later(reply,
                     "the answer was not kept, as there was no room for it");
        return;
    }
    reply->status = answer->status;
    reply->type = answer->type;
    json_write_raw(reply->body, answer->data, answer->size);
    if (answer->status == 503) {
        api_reply_header(reply, "Retry-After", "1");
    }
}

static enum api_next poll_step(struct api_call *api, struct api_reply *reply)
{
    const struct api_poll *poll = api->poll;

    if (poll->news == API_POLL_NONE) {
        return API_POLLS;
    }
    api_reply_header(reply, "Cache-Control", "no-store");
    if (poll->news == API_POLL_UNKNOWN) {
        reply->status = 404;
    } else if (poll->news == API_POLL_ENDED) {
        answer_kept(reply, poll->answer);
    } else if (api->is_stopped) {
        answer_later(reply, "the server is stopping");
    } else {
        answer_status(reply, "pending", poll->id);
    }
    return API_FINISHED;
}

static void poll_release(struct api_call *api)
{
    free(api);
}

struct api_call *poll_begin(const char *id, uint64_t wait,
                            struct api_reply *reply)
{
    struct poll_call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        answer_text(reply, 503, "out of memory");
        return NULL;
    }
    call->poll.id = id;
    call->api.poll = &call->poll;
    call->api.wait = wait;
    call->api.round = &call->api.first;
    call->api.step = poll_step;
    call->api.free = poll_release;
    return &call->api;
}
