/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the formats share; for this folder only.
 */
#pragma once

#include "profile.h"

/* Read what is their format.  Return false with a sentence, or without memory,
 * as the profile says. */
bool pprof_read(struct profile *profile, char error[PROFILE_ERROR]);
bool perf_read(struct profile *profile, char error[PROFILE_ERROR]);
bool firefox_read(struct profile *profile, char error[PROFILE_ERROR]);

void pprof_write(const struct profile *profile, struct profile_output *out);
void perf_write(const struct profile *profile, struct profile_output *out);
void firefox_write(const struct profile *profile, struct profile_output *out);

bool profile_fail(char error[PROFILE_ERROR], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define PROFILE_NONE UINT32_MAX

/* Adds a module, or finds it by its id and name.  prefix stands before the id.
 * Returns its place, or PROFILE_NONE: there is no memory, or the id is none. */
uint32_t profile_add_module(struct profile *profile, const char *prefix,
                            const struct symc_string *id,
                            const struct symc_string *name,
                            const struct symc_string *code);

void profile_add_place(struct profile *profile, uint32_t module,
                       uint64_t address, uint64_t reach);

/* Is it hexadecimal digits, of min to max bytes? */
bool profile_is_hex(const struct symc_string *text, size_t min, size_t max);

struct symc_string profile_name(const struct profile *profile,
                                uint32_t number);
