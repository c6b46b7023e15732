/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/percent.h"
#include "base/url_id.h"
#include "base/utf8.h"
#include "module_key.h"
#include "proto/hints.h"

/* Bytes that are not UTF-8 are not a text. */
static struct symc_string link_text_of(const struct api_module *module)
{
    struct symc_string text = {NULL, 0};
    const struct derived_bytes *bytes;

    if (module->state == API_MODULE_FOUND) {
        bytes = &module->reader->bytes;
        if (bytes->size <= SOURCE_LINKS_TEXT_MAX &&
            utf8_valid(bytes->data, bytes->size) == bytes->size) {
            text.data = bytes->data;
            text.size = bytes->size;
        }
    }
    return text;
}

/* The same of a file that was asked for, which is looked through once. */
static struct symc_string file_text(struct source_links *links, size_t i)
{
    struct source_link_file *file = &links->files[i];

    if (!file->is_read) {
        file->text = link_text_of(&links->round.modules[i]);
        file->is_read = true;
    }
    return file->text;
}

void source_links_begin(struct source_links *links)
{
    size_t i;

    for (i = 0; links != NULL && i < links->count; i++) {
        links->files[i].is_read = false;
    }
}

static struct symc_string find_link_text(struct source_links *links,
                                         const char *url, size_t size,
                                         size_t module, bool is_of_server)
{
    static const struct symc_string none = {NULL, 0};
    struct source_link_file *file;
    size_t i;

    for (i = 0; i < links->count; i++) {
        if (memcmp(links->files[i].url, url, size + 1) == 0) {
            return links->is_asked ? file_text(links, i) : none;
        }
    }
    if (links->files == NULL) {
        links->files = calloc(SOURCE_LINKS_MAX, sizeof(links->files[0]));
    }
    if (!links->is_asked && links->files != NULL &&
        links->count < SOURCE_LINKS_MAX) {
        file = &links->files[links->count++];
        memcpy(file->url, url, size + 1);
        file->module = module;
        file->is_of_server = is_of_server;
    }
    return none;
}

struct symc_string source_links_text(struct source_links *links,
                                     const char *url, size_t size,
                                     size_t module)
{
    static const struct symc_string none = {NULL, 0};

    return links == NULL || links->config == NULL || !links->config->links ||
                   size == 0
               ? none
               : find_link_text(links, url, size, module, false);
}

/* Writes the URL of a file at a server.  Returns its size, or 0 if the path is
 * none that a server could have, or is too long. */
static size_t server_url(char url[SYMCACHE_URL_MAX + 1], const char *server,
                         const symcache_key_t *build, struct symc_string path)
{
    char text[2 * SYMCACHE_URL_MAX], plain[SYMCACHE_URL_MAX + 1],
        escaped[3 * SYMCACHE_URL_MAX + 1];
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    int n;

    if (path.size == 0 || path.size > SYMCACHE_URL_MAX ||
        path.data[0] != '/' || memchr(path.data, 0, path.size) != NULL) {
        return 0;
    }
    memcpy(plain, path.data, path.size);
    plain[path.size] = '\0';
    percent_encode_path(escaped, plain);
    symcache_id_print(id, build);
    n = snprintf(text, sizeof(text), "%s/buildid/%s/source%s", server,
                 id + strlen("buildid-"), escaped);
    return n <= 0 || n > SYMCACHE_URL_MAX
               ? 0
               : symcache_url_normalise(url, text, (size_t)n);
}

struct symc_string
source_links_of_servers(struct source_links *links,
                        const struct symbolicator_request *request,
                        size_t module, struct symc_string path)
{
    struct symc_string text = {NULL, 0};
    char url[SYMCACHE_URL_MAX + 1];
    symcache_key_t build;
    size_t i, size;

    if (links == NULL || links->config == NULL ||
        links->config->ndebuginfod == 0 ||
        !symbolicator_build_id(request, &request->modules[module], &build)) {
        return text;
    }
    for (i = 0; i < links->config->ndebuginfod && text.data == NULL; i++) {
        size = server_url(url, links->config->debuginfod[i], &build, path);
        if (size > 0) {
            text = find_link_text(links, url, size, module, true);
        }
    }
    return text;
}

/* The host of a URL, without its port. */
static size_t link_host_of(const char *url, const char **host)
{
    const char *p = strstr(url, "://");

    if (p == NULL) {
        return 0;
    }
    *host = p + 3;
    return **host == '[' ? strcspn(*host, "]") + 1 : strcspn(*host, ":/?");
}

static bool set_link_key(struct api_module *module, const char *url)
{
    char hints[SYMCACHE_HINTS_MAX + 1];
    symcache_key_t *key = &module->key;

    module->name_size = link_host_of(url, &module->name);
    if (module->name_size == 0 ||
        symcache_name_parse(module->name, module->name_size, key) !=
            SYMCACHE_OK) {
        return false;
    }
    url_id(key->build, url, "", false);
    key->kind = SYMCACHE_KIND_SOURCE;
    key->id_type = SYMCACHE_ID_HASH;
    key->build_len = URL_ID_SIZE;
    hints[0] = '\0';
    (void)symcache_hint_add(hints, SYMCACHE_HINT_URL, url, strlen(url));
    module->hints = strdup(hints);
    return module->hints != NULL;
}

int source_links_want(struct source_links *links, struct api_round *before)
{
    struct api_round *round = &links->round;
    size_t i;

    if (links->is_asked || links->count == 0) {
        return 0;
    }
    links->is_asked = true;
    round->before = before;
    round->modules = calloc(links->count, sizeof(round->modules[0]));
    if (round->modules == NULL) {
        return -1;
    }
    for (i = 0; i < links->count; i++, round->nmodules++) {
        if (!set_link_key(&round->modules[i], links->files[i].url)) {
            round->modules[i].state = API_MODULE_MISSING;
        }
    }
    return 1;
}

void source_links_clear(struct source_links *links)
{
    free(links->files);
    links->files = NULL;
    links->count = 0;
}
