/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that hold others: zip archives, as of dSYM bundles, and fat Mach-O
 * files, of which each architecture has an id of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum container_kind { CONTAINER_NONE, CONTAINER_ZIP, CONTAINER_FAT };

/* By the first bytes only. */
enum container_kind container_sniff(int fd);

struct container_part {
    char name[1024]; /* of a member, or an architecture */
    const char *file; /* the last component of a member's name; or NULL */
    FILE *content;   /* rewound, and closed by the caller of take; NULL: there
                        is none that can be used, and error says why */
    bool is_damaged; /* there should be one */
    bool is_cut;     /* the file ends before it does */
    bool has_failed; /* there is one, and it could not be read */
    char error[200];
};

/*
 * Calls take for each part of an open file.  A child process without rights
 * reads the file; parts become temporary files.  Returns 0; or with a sentence
 * in error, after some parts perhaps, 1 if the file is damaged, and -1 if it
 * could not be read.
 */
int container_read(int fd, enum container_kind kind,
                   void (*take)(void *arg, const struct container_part *part),
                   void *arg, char *error, size_t size);
