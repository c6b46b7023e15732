/*
 * Copyright (C) the ngx_symcache authors
 */
#include "list.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "call.h"
#include "bucket_page.h"

#define PAGE_MAX (16 * 1024 * 1024) /* bytes of an answer */
#define PAGE_SECONDS 300
#define PAGES_MAX 1000000
#define EMPTY_MAX 1000 /* pages without an object, one after the other */

struct listing {
    struct event_base *base;
    const char *prefix;
    tier_listed_fn fn;
    void *arg;
    char *error;
    size_t error_size;

    bool ended; /* the request */
    bool received;
    struct tier_page page;
};

static void list_on_fetched(void *arg, const struct fetch_result *result)
{
    struct listing *listing = arg;
    char code[TIER_CODE_MAX];

    listing->ended = true;
    listing->received = result->outcome == SOURCE_FOUND;
    if (!listing->received) {
        tier_s3_code(code, result->response);
        snprintf(listing->error, listing->error_size,
                 "it cannot be listed: %.200s%s%s", result->detail,
                 code[0] != '\0' ? " " : "", code);
    }
    event_base_loopbreak(listing->base);
}

static int fetch_page(struct tiers *tiers, const struct tier_config *tier,
                      struct listing *listing, int fd)
{
    static const struct limits_config limits = {.connect_time = 10,
                                                .first_byte_time = 60,
                                                .stall_time = 60,
                                                .attempts = 3,
                                                .downloads_per_host = 1};
    static const struct cache_config no_limit; /* it is a temporary file */
    static const struct header_config no_body = {BUCKET_BODY_HEADER,
                                                 BUCKET_BODY_EMPTY};
    struct fetch_request request = {
        .transport = &tier->transport,
        .credentials = true,
        .extra = &no_body,
        .nextra = tier->transport.sigv4 != NULL,
        .limits = &limits,
        .cache = &no_limit,
        .fd = fd,
        .max = PAGE_MAX,
        .seconds = PAGE_SECONDS,
    };
    char *url = tier_page_url(tier, listing->prefix, listing->page.next);

    listing->ended = listing->received = false;
    request.url = url;
    if (url == NULL || fetch_start(tiers->fetcher, &request, list_on_fetched,
                                   listing) == NULL) {
        free(url);
        snprintf(listing->error, listing->error_size, "out of memory");
        return -1;
    }
    /* what is removed meanwhile breaks the loop, too */
    while (!listing->ended && event_base_dispatch(tiers->base) == 0) {
    }
    free(url);
    return listing->received ? 0 : -1;
}

/*
 * Finds a list that runs in a circle (Brent): only the token of the page whose
 * number is the last power of two is kept.  The list comes to it again, however
 * long the circle is and wherever it begins.
 */
static int list_pages(struct tiers *tiers, const struct tier_config *tier,
                      struct listing *listing, int fd)
{
    const struct tier_page *page = &listing->page;
    char seen[TIER_PAGE_TEXT] = "";
    unsigned n, empty = 0;

    for (n = 1;; n++) {
        if (fetch_page(tiers, tier, listing, fd) != 0 ||
            tier_page_read(&listing->page, fd, listing->prefix, listing->fn,
                           listing->arg, listing->error,
                           listing->error_size) != 0) {
            return -1;
        }
        if (!page->is_truncated) {
            return 0;
        }
        empty = page->is_empty ? empty + 1 : 0;
        if (page->next[0] == '\0' || strcmp(page->next, seen) == 0) {
            snprintf(listing->error, listing->error_size,
                     "the list of objects does not go on");
            return -1;
        }
        if (n == PAGES_MAX || empty == EMPTY_MAX) {
            snprintf(listing->error, listing->error_size,
                     "the list of objects does not end: %u pages, the last "
                     "%u without an object", n, empty);
            return -1;
        }
        if ((n & (n - 1)) == 0) {
            memcpy(seen, page->next, sizeof(seen));
        }
    }
}

int tier_list_s3(struct tiers *tiers, const struct tier_config *tier,
                 tier_listed_fn fn, void *arg, char *error, size_t size)
{
    struct listing *listing = calloc(1, sizeof(*listing));
    char prefix[TIER_PAGE_TEXT];
    FILE *file;
    int rc = -1;

    if (listing == NULL) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    tier_bucket_prefix(prefix, sizeof(prefix), tier);
    error[0] = '\0';
    listing->base = tiers->base;
    listing->prefix = prefix;
    listing->fn = fn;
    listing->arg = arg;
    listing->error = error;
    listing->error_size = size;
    file = tmpfile();
    if (file == NULL) {
        snprintf(error, size, "no temporary file: %s", strerror(errno));
    } else {
        rc = list_pages(tiers, tier, listing, fileno(file));
        fclose(file);
    }
    free(listing);
    return rc;
}
