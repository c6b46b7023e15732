/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload_token.h"

#include <stdio.h>
#include <string.h>
#include <event2/http.h>
#include "base/log.h"
#include "base/log_pause.h"
#include "base/secret.h"
#include "config/config.h"
#include "symcached/upload/upload.h"

/* A build machine repeats its uploads, so only now and then does a line of the
 * log tell of them.  It never has a part of what was sent as a token. */
static void log_token(struct evhttp_request *req, const char *value)
{
    static struct log_pause pause;
    unsigned refused = log_pause_end(&pause);

    if (refused == 0) {
        return;
    }
    log_warn(0,
             "upload: \"%s\" is refused, %s of \"uploads.tokens\"; nginx's "
             "access log has the client (%u such requests since this was last "
             "said)",
             evhttp_uri_get_path(evhttp_request_get_evhttp_uri(req)),
             value == NULL ? "it has none" : "its token is none", refused);
}

bool upload_token_check(const struct config *config,
                        struct evhttp_request *req, const char *value,
                        char user[UPLOAD_USER_SIZE], bool *only_try)
{
    const struct uploads_config *uploads = &config->uploads;
    const struct upload_token *found = NULL;
    const char *sent = value != NULL ? value : "";
    char text[256];
    size_t i;

    snprintf(user, UPLOAD_USER_SIZE, "-");
    *only_try = false;
    if (!uploads->needs_token) {
        return true; /* nginx has asked already */
    }
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(sent, "-"), sent);
    for (i = 0; i < uploads->ntokens; i++) {
        if (secret_is_equal(text, uploads->tokens[i].token)) {
            found = &uploads->tokens[i];
        }
    }
    if (found == NULL) {
        refusal_count(403);
        log_token(req, value);
        return false;
    }
    snprintf(user, UPLOAD_USER_SIZE, "%s", found->user);
    *only_try = found->only_try;
    return true;
}

bool upload_user_check(const struct config *config, const char *user,
                       bool only_try)
{
    const struct uploads_config *uploads = &config->uploads;
    bool is_known = !uploads->needs_token;
    size_t i;

    for (i = 0; i < uploads->ntokens && !is_known; i++) {
        is_known = strcmp(uploads->tokens[i].user, user) == 0 &&
                   (only_try || !uploads->tokens[i].only_try);
    }
    if (!is_known) {
        refusal_count(403);
    }
    return is_known;
}
