/*
 * Copyright (C) the ngx_symcache authors
 */
#include "module_key.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/le.h"
#include "proto/hints.h"

/* A portable PDB has a stamp instead of an age; keys have this. */
#define DOTNET_AGE UINT32_MAX

/* The name that symbol servers use for a file of which only the id is
 * known. */
#define NO_NAME "_"

enum module_type { TYPE_OTHER, TYPE_PE, TYPE_ELF, TYPE_UUID };

/* The files of ELF, Mach-O and WebAssembly lie by their ids alone, too. */
static bool has_build_id(enum module_type type)
{
    return type == TYPE_ELF || type == TYPE_UUID;
}

/* Reads a build id, as which the code id of a module may be taken. */
static bool read_build_id(const struct symbolicator_request *request,
                          const struct symbolicator_module *module,
                          symcache_key_t *id)
{
    const struct json_value *v = &request->json.values[module->code_id];

    return module->code_id != 0 &&
           symcache_build_id_parse(json_text(&request->json, module->code_id),
                                   v->size, id) == SYMCACHE_OK;
}

static void fold_image(uint8_t guid[16], const symcache_key_t *id)
{
    memset(guid, 0, 16);
    memcpy(guid, id->build, id->build_len < 16 ? id->build_len : 16);
}

/* The type of a module that the client does not name, by its code id.  Such a
 * type is as good as any to Symbolicator, which asks for all files then. */
static enum module_type guess_type(const struct symbolicator_request *request,
                                   const struct symbolicator_module *module)
{
    symcache_key_t id;
    uint8_t bytes[16];

    if (module->is_dotnet || module->code_id == 0) {
        return TYPE_OTHER;
    }
    if (request->json.values[module->code_id].size <= 16) {
        return TYPE_PE;
    }
    if (!read_build_id(request, module, &id)) {
        return TYPE_OTHER;
    }
    fold_image(bytes, &id);
    return module->has_debug_id &&
                   memcmp(bytes, module->guid, sizeof(bytes)) == 0
               ? TYPE_UUID
               : TYPE_ELF;
}

static enum module_type type_of(const struct symbolicator_request *request,
                                const struct symbolicator_module *module)
{
    const struct json *json = &request->json;

    if (json_is(json, module->type, "pe")) {
        return TYPE_PE;
    }
    if (json_is(json, module->type, "elf")) {
        return TYPE_ELF;
    }
    return json_is(json, module->type, "macho") ||
                   json_is(json, module->type, "wasm")
               ? TYPE_UUID
               : guess_type(request, module);
}

bool symbolicator_build_id(const struct symbolicator_request *request,
                           const struct symbolicator_module *module,
                           symcache_key_t *id)
{
    uint8_t guid[16], bytes[16];

    if (type_of(request, module) != TYPE_ELF ||
        !read_build_id(request, module, id)) {
        return false;
    }
    fold_image(bytes, id);
    le_guid(guid, bytes);
    return !module->has_debug_id ||
           memcmp(guid, module->guid, sizeof(guid)) == 0;
}

/* Makes the debug id of a code id.  Returns false if there is none. */
static bool derive_debug_id(const struct symbolicator_request *request,
                            const struct symbolicator_module *module,
                            uint8_t guid[16])
{
    enum module_type type = type_of(request, module);
    symcache_key_t id;
    uint8_t bytes[16];

    if (!has_build_id(type) || !read_build_id(request, module, &id)) {
        return false;
    }
    fold_image(bytes, &id);
    if (type == TYPE_ELF) {
        le_guid(guid, bytes);
    } else {
        memcpy(guid, bytes, sizeof(bytes));
    }
    return true;
}

/* The path of the debug file, or of the module itself if it has none; 0: there
 * is neither. */
static uint32_t path_of(const struct symbolicator_module *module)
{
    if (module->lookup_file != 0) {
        return module->lookup_file;
    }
    return module->debug_file == 0 && !module->is_dotnet ? module->code_file
                                                         : module->debug_file;
}

bool symbolicator_key(const struct symbolicator_request *request,
                      const struct symbolicator_module *module,
                      symcache_key_t *key, struct symc_string *name)
{
    uint32_t value = path_of(module);
    struct symc_string path;
    bool is_named = false;

    if (value != 0) {
        path.data = json_text(&request->json, value);
        path.size = request->json.values[value].size;
        *name = source_path_name(&path);
        is_named =
            symcache_name_parse(name->data, name->size, key) == SYMCACHE_OK;
    }
    /* sources of clients may have places without a name */
    if (!is_named && !has_build_id(type_of(request, module)) &&
        !(module->is_dotnet && module->has_debug_id && request->own != NULL)) {
        return false;
    }
    if (!is_named) {
        name->data = NO_NAME;
        name->size = sizeof(NO_NAME) - 1;
        (void)symcache_name_parse(name->data, name->size, key);
    }
    key->id_type = SYMCACHE_ID_DEBUG;
    memcpy(key->guid, module->guid, sizeof(key->guid));
    key->age = module->age;
    if (!module->has_debug_id) {
        key->age = 0;
        if (!derive_debug_id(request, module, key->guid)) {
            return false;
        }
    }
    if (module->is_dotnet) {
        key->kind = SYMCACHE_KIND_PPDBCACHE;
        key->age = DOTNET_AGE;
    }
    return true;
}

bool symbolicator_image_key(const struct symbolicator_request *request,
                            const struct symbolicator_module *module,
                            symcache_key_t *key, struct symc_string *name)
{
    const struct json *json = &request->json;
    const struct json_value *id = &json->values[module->code_id];
    struct symc_string path;

    if (type_of(request, module) != TYPE_PE || module->code_id == 0 ||
        module->code_file == 0 || id->size > 16) {
        return false;
    }
    path.data = json_text(json, module->code_file);
    path.size = json->values[module->code_file].size;
    *name = source_path_name(&path);
    memset(key, 0, sizeof(*key)); /* keys are hashed, and this id is short */
    return symcache_name_parse(name->data, name->size, key) == SYMCACHE_OK &&
           symcache_id_parse(json_text(json, module->code_id), id->size,
                             key) == SYMCACHE_OK;
}

static bool is_pdb(const symcache_key_t *key)
{
    return key->name_len > 4 &&
           strcasecmp(key->name + key->name_len - 4, ".pdb") == 0;
}

/*
 * Writes the code id where it leads further than the key does: that of Mach-O
 * is the debug id already, and that of an image not to its PDB.  Returns its
 * length, or 0.
 */
static size_t print_code_id(char text[SYMCACHE_ID_TEXT_MAX + 1],
                            const struct symbolicator_request *request,
                            const struct symbolicator_module *module,
                            const symcache_key_t *key)
{
    enum module_type type = type_of(request, module);
    const struct json_value *v = &request->json.values[module->code_id];
    symcache_key_t id;

    if (type == TYPE_PE && module->code_id != 0 && !is_pdb(key) &&
        v->size <= 16 &&
        symcache_id_parse(json_text(&request->json, module->code_id), v->size,
                          &id) == SYMCACHE_OK) {
        return symcache_id_print(text, &id);
    }
    if (has_build_id(type) && read_build_id(request, module, &id) &&
        (id.build_len != sizeof(key->guid) ||
         memcmp(id.build, key->guid, sizeof(key->guid)) != 0)) {
        return symcache_id_print(text, &id);
    }
    return 0;
}

/* Adds the name of the program, if it is not that of the key: a layout of
 * sources has debug files under it. */
static void add_code_file(char hints[SYMCACHE_HINTS_MAX + 1],
                          const struct symbolicator_request *request,
                          const struct symbolicator_module *module,
                          const symcache_key_t *key)
{
    const struct json *json = &request->json;
    struct symc_string path, name;

    if (module->code_file == 0 || !has_build_id(type_of(request, module))) {
        return;
    }
    path.data = json_text(json, module->code_file);
    path.size = json->values[module->code_file].size;
    name = source_path_name(&path);
    if (name.size != key->name_len ||
        strncasecmp(name.data, key->name, name.size) != 0) {
        (void)symcache_hint_add(hints, SYMCACHE_HINT_CODE_FILE, name.data,
                                name.size);
    }
}

/* The hints of the file with the debug information, of which images have
 * none. */
static void add_hints(char hints[SYMCACHE_HINTS_MAX + 1],
                      const struct symbolicator_request *request,
                      const struct symbolicator_module *module,
                      const symcache_key_t *key)
{
    const struct json *json = &request->json;
    uint32_t sum = module->debug_checksum;
    char id[SYMCACHE_ID_TEXT_MAX + 1], stamp[9];
    size_t n = print_code_id(id, request, module, key);

    if (sum != 0) {
        (void)symcache_hint_add(hints, SYMCACHE_HINT_CHECKSUM,
                                json_text(json, sum), json->values[sum].size);
    }
    if (n > 0) {
        (void)symcache_hint_add(hints, SYMCACHE_HINT_CODE_ID, id, n);
    }
    add_code_file(hints, request, module, key);
    if (module->is_dotnet && module->has_debug_id && module->age != 1 &&
        module->age != DOTNET_AGE) {
        snprintf(stamp, sizeof(stamp), "%x", module->age);
        (void)symcache_hint_add(hints, SYMCACHE_HINT_STAMP, stamp,
                                strlen(stamp));
    }
}

char *symbolicator_hints(const struct symbolicator_request *request,
                         const struct symbolicator_module *module,
                         const symcache_key_t *key, const char *sources)
{
    char hints[SYMCACHE_HINTS_MAX + 1];

    hints[0] = '\0';
    if (key->id_type != SYMCACHE_ID_PE) {
        add_hints(hints, request, module, key);
    }
    if (sources[0] != '\0') {
        (void)symcache_hint_add(hints, SYMCACHE_HINT_SOURCES, sources,
                                strlen(sources));
    }
    return hints[0] != '\0' ? strdup(hints) : NULL;
}
