/*
 * Copyright (C) the ngx_symcache authors
 */
#include "profile.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "symcachectl/command.h"
#include "symcachectl/helper/client.h"
#include "symcachectl/store/store_profile.h"

#define LOOKED_AT 512

static bool is_text(const char *text, size_t size)
{
    size_t i;

    for (i = 0; i < size && i < LOOKED_AT; i++) {
        if ((unsigned char)text[i] < ' ' &&
            memchr("\n\r\t", text[i], 3) == NULL) {
            return false;
        }
    }
    return memcmp(text, "\x1f\x8b", 2) != 0;
}

bool profile_is_one(const char *text, size_t size)
{
    cJSON *object;
    bool is_one;

    if (size < 4 || !is_text(text, size)) {
        return size >= 4;
    }
    if (text[0] != '{') {
        return strstr(text, " [unknown] (") != NULL ||
               strstr(text, ": PERF_RECORD_MMAP") != NULL;
    }
    object = cJSON_Parse(text);
    is_one = cJSON_GetObjectItemCaseSensitive(object, "libs") != NULL &&
             cJSON_GetObjectItemCaseSensitive(object, "threads") != NULL;
    cJSON_Delete(object);
    return is_one;
}

static int print_profile(const void *data, size_t size)
{
    fwrite(data, 1, size, stdout);
    return command_finish(COMMAND_OK);
}

static int ask_profile(const struct settings *settings, const char *file,
                       const char *data, size_t size)
{
    struct client *client = client_new(settings);
    struct client_answer answer;
    struct curl_slist *headers;
    char error[256];
    CURL *request;
    int code;

    if (client == NULL) {
        return COMMAND_IO;
    }
    headers = curl_slist_append(NULL, "Content-Type: application/octet-stream");
    if (headers == NULL) {
        command_no_memory();
    }
    request = client_request(client, "POST", "/profile", CLIENT_ANSWER_SECONDS,
                             &answer);
    curl_easy_setopt(request, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(request, CURLOPT_POSTFIELDS, data);
    curl_easy_setopt(request, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    client_finish(request, curl_easy_perform(request));
    curl_slist_free_all(headers);
    if (answer.status == 200) {
        code = print_profile(answer.body, answer.size);
    } else if (answer.status == 0 && settings->socket == NULL) {
        fputs("symcachectl: symbolicated is not running: no names\n", stderr);
        code = print_profile(data, size);
    } else {
        client_error(&answer, error, sizeof(error));
        code = command_fail(answer.status == 400 ? COMMAND_FOREIGN
                                                 : COMMAND_IO,
                            file, error);
    }
    client_clear(&answer);
    client_free(client);
    return code;
}

int profile_show(const struct settings *settings, const char *file, char *data,
                 size_t size)
{
    static const char perf[] = "PERFILE2"; /* of perf record, with samples
                                              that only perf can read */

    if (size >= sizeof(perf) - 1 &&
        memcmp(data, perf, sizeof(perf) - 1) == 0) {
        return command_fail(COMMAND_FOREIGN, file,
                            "is a file of perf record: give the text of "
                            "\"(perf buildid-list; perf script "
                            "--show-mmap-events)\"");
    }
    return settings->root != NULL
               ? store_profile_show(settings->root, file, data, size)
               : ask_profile(settings, file, data, size);
}
