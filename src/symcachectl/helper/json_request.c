/*
 * Copyright (C) the ngx_symcache authors
 */
#include "json_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

/* Prints why there is no usable answer.  Returns an exit code. */
static int complain_of_helper(const struct client *client,
                              const struct client_answer *answer)
{
    char error[1024];

    client_error(answer, error, sizeof(error));
    fputs("symcachectl: ", stderr);
    printable_put_address(stderr, client_address(client));
    fputs(": ", stderr);
    printable_put(stderr, error);
    if (answer->is_denied) {
        fputs("\nonly root may, and users with write access to this socket "
              "and its folder\n",
              stderr);
        return COMMAND_IO;
    }
    if (answer->status == 0) {
        fprintf(stderr, "\nis %s running there?%s\n", client_daemon(client),
                strstr(client_address(client), "://") != NULL
                    ? ""
                    : " --socket or -c name another place");
        return COMMAND_IO;
    }
    if (strncmp(error, "unknown-store", 13) == 0) {
        fputs("\nsymcached has no store of this name: --store names another\n",
              stderr);
        return COMMAND_USAGE;
    }
    fputs("\n", stderr);
    return answer->status == 400 || answer->status == 422 ? COMMAND_USAGE
                                                          : COMMAND_IO;
}

static cJSON *parse_answer(const struct client_answer *answer)
{
    cJSON *object;

    object = cJSON_Parse(answer->body != NULL ? answer->body : "");
    if (!cJSON_IsObject(object)) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

/*
 * Performs a request and frees it.  Returns an exit code; unless *object is
 * NULL, that is the answer, else what is wrong was printed.
 */
static int ask_helper(const struct client *client, CURL *request,
                      struct client_answer *answer, cJSON **object)
{
    char reason[80];
    int code = COMMAND_OK;

    client_perform(client, request);
    *object = answer->status == 200 ? parse_answer(answer) : NULL;
    if (answer->status != 200) {
        code = complain_of_helper(client, answer);
    } else if (*object == NULL) {
        snprintf(
            reason, sizeof(reason),
            "the answer is not a JSON object: is it %s that listens there?",
            client_daemon(client));
        code = command_fail(COMMAND_IO, client_address(client), reason);
    }
    client_clear(answer);
    return code;
}

static void put(const struct settings *settings, const cJSON *object,
                void (*print)(const cJSON *answer))
{
    if (settings->is_json) {
        printable_json(stdout, object);
    } else {
        print(object);
    }
}

/* Performs a request and frees it, and shows its answer. */
static int show(const struct settings *settings, struct client *client,
                CURL *request, struct client_answer *answer,
                void (*print)(const cJSON *answer),
                int (*judge)(const cJSON *answer))
{
    cJSON *object;
    int code = ask_helper(client, request, answer, &object);

    if (object != NULL) {
        put(settings, object, print);
        code = judge != NULL ? judge(object) : COMMAND_OK;
    }
    cJSON_Delete(object);
    client_free(client);
    return command_finish(code);
}

/*
 * Asks each of the peers in turn.  People get one answer below the other, each
 * under its address, programs an object with an answer for each address that
 * gave one.  Returns the worst exit code.
 */
static int show_peers(const struct settings *settings, const char *method,
                      const char *path, long seconds,
                      void (*print)(const cJSON *answer),
                      int (*judge)(const cJSON *answer))
{
    cJSON *all = cJSON_CreateObject();
    char *peers = strdup(settings->peers), *rest = peers;
    struct settings peer = *settings;
    int worst = COMMAND_OK;

    if (all == NULL || peers == NULL) {
        command_no_memory();
    }
    while ((peer.socket = strsep(&rest, ",")) != NULL) {
        struct client_answer answer;
        struct client *client = client_new(&peer);
        cJSON *object;
        int code;

        if (client == NULL) {
            worst = COMMAND_IO;
            break;
        }
        code = ask_helper(
            client, client_request(client, method, path, seconds, &answer),
            &answer, &object);
        client_free(client);
        if (object != NULL) {
            if (!settings->is_json) {
                printable_put(stdout, peer.socket);
                puts(":");
                print(object);
            }
            code = judge != NULL ? judge(object) : COMMAND_OK;
            cJSON_AddItemToObject(all, peer.socket, object);
        }
        worst = code > worst ? code : worst;
    }
    if (settings->is_json) {
        printable_json(stdout, all);
    }
    cJSON_Delete(all);
    free(peers);
    return command_finish(worst);
}

int json_request_show(const struct settings *settings, const char *method,
                      const char *path, long seconds,
                      void (*print)(const cJSON *answer),
                      int (*judge)(const cJSON *answer))
{
    struct client_answer answer;
    struct client *client;

    if (settings->peers != NULL) {
        return show_peers(settings, method, path, seconds, print, judge);
    }
    client = client_new(settings);
    return client == NULL
               ? COMMAND_IO
               : show(settings, client,
                      client_request(client, method, path, seconds, &answer),
                      &answer, print, judge);
}

int json_request_object(const struct settings *settings, const char *method,
                        const char *path, cJSON **object)
{
    struct client_answer answer;
    struct client *client = client_new(settings);
    int code;

    *object = NULL;
    if (client == NULL) {
        return COMMAND_IO;
    }
    code = ask_helper(
        client, client_request(client, method, path, CLIENT_SECONDS, &answer),
        &answer, object);
    client_free(client);
    return code;
}

int json_request_post(const struct settings *settings, const char *path,
                      const char *body, void (*print)(const cJSON *answer),
                      int (*judge)(const cJSON *answer))
{
    struct client_answer answer;
    struct client *client = client_new(settings);
    struct curl_slist *headers;
    CURL *request;
    int code;

    if (client == NULL) {
        return COMMAND_IO;
    }
    headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (headers == NULL) {
        command_no_memory();
    }
    request =
        client_request(client, "POST", path, CLIENT_ANSWER_SECONDS, &answer);
    curl_easy_setopt(request, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(request, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(request, CURLOPT_POSTFIELDSIZE_LARGE,
                     (curl_off_t)strlen(body));
    code = show(settings, client, request, &answer, print, judge);
    curl_slist_free_all(headers);
    return code;
}
