/*
 * Copyright (C) the ngx_symcache authors
 */
#include "multi.h"

#include <event2/event.h>
#include <stdlib.h>

#include "fetch.h"

struct fetcher {
    struct event_base *base;
    struct hosts *hosts;
    CURLM *multi;
    struct event *timer;
};

/*
 * Calls the owners of finished transfers, who may add and remove transfers in
 * turn.
 */
static void fetcher_collect(struct fetcher *fetcher)
{
    struct fetcher_slot *slot;
    CURLMsg *message;
    CURLcode code;
    CURL *easy;
    int left;

    while ((message = curl_multi_info_read(fetcher->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }

        /* The message is freed when the handle is removed. */
        easy = message->easy_handle;
        code = message->data.result;
        slot = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&slot);
        curl_multi_remove_handle(fetcher->multi, easy);
        slot->done(slot->arg, code);
    }
}

static void fetcher_on_socket(evutil_socket_t fd, short what, void *arg)
{
    struct fetcher *fetcher = arg;
    int running, flags = 0;

    flags |= (what & EV_READ) != 0 ? CURL_CSELECT_IN : 0;
    flags |= (what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0;
    curl_multi_socket_action(fetcher->multi, fd, flags, &running);
    fetcher_collect(fetcher);
}

static void fetcher_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct fetcher *fetcher = arg;
    int running;

    (void)fd;
    (void)what;
    curl_multi_socket_action(fetcher->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    fetcher_collect(fetcher);
}

static int fetcher_set_timer(CURLM *multi, long ms, void *arg)
{
    struct fetcher *fetcher = arg;
    struct timeval delay = {ms / 1000, ms % 1000 * 1000};

    (void)multi;

    if (ms < 0) {
        return evtimer_del(fetcher->timer);
    }
    return evtimer_add(fetcher->timer, &delay);
}

static int fetcher_set_socket(CURL *easy, curl_socket_t fd, int what,
                              void *arg, void *socket_arg)
{
    struct fetcher *fetcher = arg;
    struct event *event = socket_arg;
    short flags = EV_PERSIST;

    (void)easy;

    if (event != NULL) {
        event_free(event);
        event = NULL;
    }

    if (what != CURL_POLL_REMOVE) {
        flags |= (what & CURL_POLL_IN) != 0 ? EV_READ : 0;
        flags |= (what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0;
        event =
            event_new(fetcher->base, fd, flags, fetcher_on_socket, fetcher);
        if (event == NULL || event_add(event, NULL) != 0) {
            return -1;
        }
    }

    curl_multi_assign(fetcher->multi, fd, event);
    return 0;
}

struct fetcher *fetcher_new(struct event_base *base, struct hosts *hosts)
{
    struct fetcher *fetcher = calloc(1, sizeof(*fetcher));

    if (fetcher == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
        free(fetcher);
        return NULL;
    }

    fetcher->base = base;
    fetcher->hosts = hosts;
    fetcher->multi = curl_multi_init();
    fetcher->timer = evtimer_new(base, fetcher_on_timer, fetcher);
    if (fetcher->multi == NULL || fetcher->timer == NULL) {
        fetcher_free(fetcher);
        return NULL;
    }

    curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION,
                      fetcher_set_socket);
    curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher);
    curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION,
                      fetcher_set_timer);
    curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher);
    return fetcher;
}

void fetcher_free(struct fetcher *fetcher)
{
    if (fetcher->multi != NULL) {
        curl_multi_cleanup(fetcher->multi);
    }
    if (fetcher->timer != NULL) {
        event_free(fetcher->timer);
    }
    free(fetcher);
    curl_global_cleanup();
}

struct event_base *fetcher_base(const struct fetcher *fetcher)
{
    return fetcher->base;
}

struct hosts *fetcher_hosts(const struct fetcher *fetcher)
{
    return fetcher->hosts;
}

int fetcher_add(struct fetcher *fetcher, CURL *easy)
{
    return curl_multi_add_handle(fetcher->multi, easy) == CURLM_OK ? 0 : -1;
}

void fetcher_remove(struct fetcher *fetcher, CURL *easy)
{
    curl_multi_remove_handle(fetcher->multi, easy);
}
