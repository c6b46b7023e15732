/*
 * Copyright (C) the ngx_symcache authors
 */
#include "module_answer.h"

#include <stdio.h>

#include "candidates.h"

static uint32_t module_arch_of(const struct symc_reader *reader)
{
    return reader == NULL ? SYMC_ARCH_UNKNOWN
                          : le32(reader->data + SYMC_AT_ARCH);
}

/* The likely properties of an original for which none were noted. */
static unsigned guess_module_features(const struct symbolicator_result *result)
{
    const struct symc_reader *reader = result->reader;
    bool is_x86 = symc_arch_number(module_arch_of(reader)) == SYMC_ARCH_X86;

    if (reader == NULL) {
        return SYMCACHE_HAS_DEBUG;
    }
    return SYMCACHE_HAS_SYMBOLS |
           (!result->is_image || reader->num_files > 0 ? SYMCACHE_HAS_DEBUG
                                                       : 0) |
           (result->is_image != is_x86 ? SYMCACHE_HAS_UNWIND : 0);
}

/* The properties of the files by which stacks were walked. */
static unsigned module_cfi_features(const struct symbolicator_result *result)
{
    unsigned features = SYMCACHE_HAS_UNWIND;
    size_t i;

    for (i = 0; i < sizeof(result->cfi) / sizeof(result->cfi[0]); i++) {
        if (result->cfi[i] != NULL &&
            result->cfi[i]->state == API_MODULE_FOUND) {
            features |= result->cfi[i]->features;
        }
    }
    return features;
}

void symbolicator_module_features_write(
    struct json_writer *answer, const struct symbolicator_result *result,
    bool has_cfi, bool has_sources)
{
    const struct symc_reader *reader = result->reader;
    unsigned features = 0;

    if (result->status == SYMBOLICATOR_FOUND) {
        features = result->features & ~SYMCACHE_HAS_LINKS;
        features = features != 0 ? features : guess_module_features(result);
    }
    if (has_cfi) {
        features |= module_cfi_features(result);
    }
    json_put_open(answer, "features", '{');
    json_put_bool(answer, "has_debug_info",
                  (features & SYMCACHE_HAS_DEBUG) != 0);
    json_put_bool(answer, "has_unwind_info",
                  (features & SYMCACHE_HAS_UNWIND) != 0);
    json_put_bool(answer, "has_symbols",
                  (features & SYMCACHE_HAS_SYMBOLS) != 0);
    json_put_bool(answer, "has_sources",
                  has_sources || (features & SYMCACHE_HAS_SOURCES) != 0);
    if (reader != NULL && reader->has_srcsrv) {
        json_put_text(answer, "srcsrv_vcs", "perforce");
    }
    json_write_close(answer, '}');
}

/* "8-4-4-4-12", and "-" and the age in hex unless it is 0. */
static void write_module_debug_id(struct json_writer *answer,
                                  const struct symbolicator_module *module)
{
    static const char digits[] = "0123456789abcdef";
    char text[64];
    size_t i, n = 0;
    int shift;

    for (i = 0; i < sizeof(module->guid); i++) {
        if (i >= 4 && i <= 10 && i % 2 == 0) {
            text[n++] = '-';
        }
        text[n++] = digits[module->guid[i] >> 4];
        text[n++] = digits[module->guid[i] & 15];
    }
    if (module->age != 0) {
        text[n++] = '-';
        for (shift = 28; module->age >> shift == 0; shift -= 4) {
        }
        for (; shift >= 0; shift -= 4) {
            text[n++] = digits[module->age >> shift & 15];
        }
    }
    json_put_string(answer, "debug_id", text, n);
}

static void write_module_pdb20_id(struct json_writer *answer,
                                  const struct symbolicator_module *module)
{
    char text[20];

    snprintf(text, sizeof(text), module->age != 0 ? "%08X-%x" : "%08X",
             module->signature, module->age);
    json_put_text(answer, "debug_id", text);
}

static void write_module_type(struct json_writer *answer,
                              const struct json *json, uint32_t type)
{
    size_t i;
    static const char *const types[] = {"pe", "elf", "macho", "wasm",
                                        "pe_dotnet"};

    json_write_key(answer, "type");
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (json_is(json, type, types[i])) {
            json_write_text(answer, types[i]);
            return;
        }
    }
    json_write_text(answer, "unknown");
}

void symbolicator_module_write(struct json_writer *answer,
                               const struct symbolication_config *config,
                               const struct symbolicator_request *request,
                               size_t index,
                               const struct symbolicator_result *result,
                               const struct source_links *links)
{
    const struct json *json = &request->json;
    const struct symbolicator_module *module = &request->modules[index];
    static const char *const statuses[] = {
        [SYMBOLICATOR_UNUSED] = "unused",
        [SYMBOLICATOR_FOUND] = "found",
        [SYMBOLICATOR_MISSING] = "missing",
        [SYMBOLICATOR_UNSUPPORTED] = "unsupported",
        [SYMBOLICATOR_MALFORMED] = "malformed",
        [SYMBOLICATOR_FETCHING_FAILED] = "fetching_failed",
        [SYMBOLICATOR_TIMEOUT] = "timeout",
        [SYMBOLICATOR_OTHER] = "other",
    };
    bool is_walked;

    is_walked = module->unwind_status != 0 &&
                !json_is(json, module->unwind_status, "unused");
    json_write_open(answer, '{');
    json_put_text(answer, "debug_status", statuses[result->status]);
    json_put_value(answer, "unwind_status", json, module->unwind_status);
    symbolicator_module_features_write(
        answer, result,
        module->unwind_status != 0 &&
            json_is(json, module->unwind_status, "found"),
        result->sources != NULL);
    json_put_text(answer, "arch",
                  symc_arch_name(module_arch_of(result->reader)));
    write_module_type(answer, json, module->type);
    json_put_value(answer, "code_id", json, module->code_id);
    json_put_value(answer, "code_file", json, module->code_file);
    if (module->has_debug_id) {
        write_module_debug_id(answer, module);
    } else if (module->has_pdb20_id) {
        write_module_pdb20_id(answer, module);
    }
    json_put_value(answer, "debug_file", json, module->debug_file);
    json_put_value(answer, "debug_checksum", json, module->debug_checksum);
    json_put_hex(answer, "image_addr", module->image_addr);
    if (module->has_size) {
        json_put_number(answer, "image_size", module->image_size);
    }
    if (request->has_candidates && config->symbolicator.candidates &&
        (result->status != SYMBOLICATOR_UNUSED || is_walked) &&
        !answer->has_failed && answer->size <= config->limits.answer_size) {
        symbolicator_candidates_write(answer, config, request, index, result,
                                      is_walked, links);
    }
    json_write_close(answer, '}');
}
