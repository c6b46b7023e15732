/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate of profiles.
 */
#include "symbolicate.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/profile/profile.h"
#include "symbolicated/api/body_input.h"
#include "symbolicated/api/build_id.h"
#include "symcachectl/command.h"
#include "symcachectl/helper/client.h"
#include "symcachectl/store/store_reader.h"

#define LOOKED_AT 512
#define UNKNOWN " [unknown] (" /* a frame of perf script */
#define UNPACKED_MAX (1u << 30)
#define PARSED_MAX (55u << 20) /* nothing else is JSON that is larger */

static bool profile_is_text(const char *text, size_t size)
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

/* Is this a frame that perf script has named?  "\t  2024 name+0x4 (/app)" */
static bool profile_is_named_frame(const char *line)
{
    const char *end = line + strcspn(line, "\r\n"), *p = line;

    if (*p != '\t') {
        return false;
    }
    p += strspn(p, " \t");
    p += strspn(p, "0123456789abcdef");
    return *p == ' ' && end[-1] == ')' &&
           memmem(p, (size_t)(end - p), "+0x", 3) != NULL;
}

static bool profile_has_named_frame(const char *text)
{
    const char *line = text;

    while (line != NULL && !profile_is_named_frame(line)) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return line != NULL;
}

/* Is this packed, or a message, which begins with the tag of a number or of
 * bytes?  Most debug files do not. */
static bool profile_is_message(const char *text)
{
    unsigned char tag = (unsigned char)text[0];

    return memcmp(text, "\x1f\x8b", 2) == 0 ||
           (tag >= 8 && tag < 128 && ((tag & 7) == 0 || (tag & 7) == 2));
}

bool profile_is_one(const char *text, size_t size)
{
    cJSON *object;
    bool is_one;

    if (size < 4 || !profile_is_text(text, size)) {
        return size >= 4 && profile_is_message(text);
    }
    if (text[0] != '{') {
        return strstr(text, UNKNOWN) != NULL ||
               strstr(text, ": PERF_RECORD_MMAP") != NULL ||
               profile_has_named_frame(text);
    }
    if (size > PARSED_MAX) {
        return strstr(text, "\"threads\"") != NULL;
    }
    object = cJSON_Parse(text);
    is_one = cJSON_GetObjectItemCaseSensitive(object, "threads") != NULL &&
             (cJSON_GetObjectItemCaseSensitive(object, "libs") != NULL ||
              cJSON_GetObjectItemCaseSensitive(object, "meta") != NULL);
    cJSON_Delete(object);
    return is_one;
}

static int print_profile(const void *data, size_t size, const void *before,
                         size_t size_before)
{
    if (size == size_before && memcmp(data, before, size) == 0 &&
        memmem(data, size, UNKNOWN, strlen(UNKNOWN)) != NULL) {
        fputs("symcachectl: nothing got a name: modules without a build id "
              "or a debug file get none\n",
              stderr);
    }
    fwrite(data, 1, size, stdout);
    return command_finish(COMMAND_OK);
}

/* Unpacks what is packed.  Returns false with input->error. */
static bool unpack_profile(struct input *input, char *data, size_t size)
{
    enum input_coding coding = INPUT_PLAIN;

    if (size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0) {
        coding = INPUT_GZIP;
    } else if (size >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0) {
        coding = INPUT_ZSTD;
    }
    if (input_begin(input, coding, data, size, UNPACKED_MAX) != 0) {
        command_no_memory();
    }
    while (input_more(input)) {
    }
    return input->error == NULL;
}

/* Why unpack_profile() has failed, as symbolicated says it. */
static const char *profile_refusal(const struct input *input)
{
    return input->left == 0 ? "the unpacked profile is larger than 1 GiB"
                            : "the packed profile is damaged";
}

/* Without a daemon a profile stays as it is; a damaged one is none. */
static int profile_pass_on(const char *address, const char *reason,
                           const char *file, char *data, size_t size)
{
    struct profile profile = {0};
    char error[PROFILE_ERROR], why[320];
    struct input input;
    int code;

    (void)store_reader_enter(NULL, &code);
    if (!unpack_profile(&input, data, size)) {
        code = command_fail(COMMAND_FOREIGN, file, profile_refusal(&input));
    } else if (!profile_read(&profile, input.data, input.size, error)) {
        code = command_fail(COMMAND_FOREIGN, file, error);
    } else {
        snprintf(why, sizeof(why), "%s: the profile gets no names", reason);
        (void)command_fail(COMMAND_OK, address, why);
        fwrite(data, 1, size, stdout);
        code = command_finish(COMMAND_OK);
    }
    profile_free(&profile);
    input_end(&input);
    return code;
}

static int ask_profile(const struct settings *settings, const char *file,
                       char *data, size_t size)
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
    headers =
        curl_slist_append(NULL, "Content-Type: application/octet-stream");
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
        if (strcmp(answer.reason, "incomplete") == 0) {
            fputs("symcachectl: some files could not be fetched, and give no "
                  "names: try again later\n",
                  stderr);
        }
        code = print_profile(answer.body, answer.size, data, size);
    } else if (answer.status == 0 && settings->socket == NULL) {
        client_error(&answer, error, sizeof(error));
        code =
            profile_pass_on(client_address(client), error, file, data, size);
    } else {
        client_error(&answer, error, sizeof(error));
        code = answer.status == 400
                   ? command_fail(COMMAND_FOREIGN, file, error)
                   : command_fail(COMMAND_IO, client_address(client), error);
    }
    client_clear(&answer);
    client_free(client);
    return code;
}

struct profile_names {
    const struct profile *profile;
    int root;
};

static const struct symc_reader *profile_reader_of(void *arg, uint32_t i)
{
    const struct profile_names *names = arg;
    const struct profile_module *from = &names->profile->modules[i];
    const char *name = from->name != NULL ? from->name : SYMCACHE_NAME_NONE;
    const union derived_reader *reader = NULL;
    struct api_module module = {0};
    symcache_key_t key;

    if (symcache_name_parse(name, strlen(name), &key) == SYMCACHE_OK &&
        symcache_id_parse(from->id, strlen(from->id), &key) == SYMCACHE_OK) {
        if (build_id_module(&module, &key) != 0) {
            command_no_memory();
        }
        reader = store_reader_file(names->root, &module.key);
        free(module.hints);
    }
    return reader != NULL ? &reader->symcache : NULL;
}

static int show_profile(const char *root, const char *file, const void *data,
                        size_t size)
{
    struct profile profile = {0};
    struct profile_names names = {.profile = &profile, .root = -1};
    struct profile_output out = {0};
    char error[PROFILE_ERROR];
    int code;

    names.root = store_reader_enter(root, &code);
    if (code != COMMAND_OK) {
        return code;
    }
    if (!profile_read(&profile, data, size, error)) {
        code = command_fail(COMMAND_FOREIGN, file, error);
    } else if (profile_find_names(&profile, profile_reader_of, &names) != 0) {
        command_no_memory();
    } else {
        profile_write(&profile, &out);
        if (out.has_failed) {
            command_no_memory();
        }
        code = print_profile(out.data, out.size, data, size);
    }
    free(out.data);
    profile_free(&profile);
    return code;
}

/* With names of the SymCaches below root.  The profile is read in a sandbox,
 * in which nothing but the store can be opened afterwards. */
static int show_from_store(const char *root, const char *file, char *data,
                           size_t size)
{
    struct input input;
    int code;

    if (unpack_profile(&input, data, size)) {
        code = show_profile(root, file, input.data, input.size);
    } else {
        code = command_fail(COMMAND_FOREIGN, file, profile_refusal(&input));
    }
    input_end(&input);
    return code;
}

int profile_show(const struct settings *settings, const char *file, char *data,
                 size_t size)
{
    if (profile_is_of_perf_record(data, size)) {
        return command_fail(COMMAND_FOREIGN, file, PROFILE_OF_PERF_RECORD);
    }
    return settings->root != NULL
               ? show_from_store(settings->root, file, data, size)
               : ask_profile(settings, file, data, size);
}
