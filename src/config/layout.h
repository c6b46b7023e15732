/*
 * Copyright (C) the ngx_symcache authors
 *
 * The keys "layout", "casing" and "forms" of a source.
 */
#pragma once

#include <stdbool.h>

#include "proto/key.h"

#include "field.h"

struct source_config;

enum source_layout {
    LAYOUT_SYMSTORE, /* or two-tier, if index2.txt is found */
    LAYOUT_TWO_TIER,
    LAYOUT_SSQP,
    LAYOUT_UNIFIED,
    LAYOUT_FLAT,
    LAYOUT_BREAKPAD,
    LAYOUT_DEBUGINFOD,
    LAYOUT_BUILD_ID,     /* /usr/lib/debug/.build-id, as gdb knows it */
    LAYOUT_SYMBFILE,     /* of Elastic's symbol store */
    LAYOUT_SLASHSYMBOLS, /* "<name>/<code id>/symbols", as tools of the PS5 */
    LAYOUT_NATIVE        /* each where the debuggers of its system look */
};

/* what may be at a place of a layout */
enum layout_form {
    FORM_PLAIN,   /* foo.pdb or foo.sym; its content may be compressed */
    FORM_PACKED,  /* foo.pd_ or foo.sym.gz */
    FORM_POINTER, /* file.ptr */
    FORM_INDEX    /* index2.txt, whose presence means two tiers */
};
#define LAYOUT_FORMS 3 /* all forms of an original, thus not FORM_INDEX */

enum source_casing { CASING_DEFAULT, CASING_LOWER, CASING_UPPER };

/* Each is a config_read_fn that fills a struct source_config at `at`. */
config_read_fn config_layout;
config_read_fn config_casing;
config_read_fn config_forms;

/* Checks that the layout has the forms, when the whole source has been read. */
int config_layout_check(struct config_reader *r, const cJSON *item,
                        const struct source_config *source);

const char *config_form_name(enum layout_form form);

/* Returns whether a layout has places of that form. */
bool config_layout_has_form(enum source_layout layout, enum layout_form form);

/* The formats that a source may have. */
unsigned config_source_formats(const struct source_config *source);

/* Returns whether a source has places for the original of a key, by its
 * layout; a directory can be searched for a program without a name. */
bool config_source_has_key(const struct source_config *source,
                           const symcache_key_t *key);

/* The formats that a source has for the kind of a key.  The debug files next
 * to Breakpad's text are there to be converted: clients do not ask for them by
 * their own ids.  The ids of profilers are known where symbfiles are. */
unsigned config_source_key_formats(const struct source_config *source,
                                   const symcache_key_t *key);
