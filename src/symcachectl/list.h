/*
 * Copyright (C) the ngx_symcache authors
 *
 * Modules from a text, one a line: "pdb,guid,age", or what xperf prints of a
 * trace (xperf -i FILE -a symcache -dbgid, with -imageid or without), of which
 * the column CodeView Record counts:
 *
 *   "[RSDS] PdbSig: {7b2a9028-...}; Age: 753; Pdb: u:\build\client.pdb"
 *
 * UTF-8, or UTF-16 as PowerShell redirects it.
 */
#ifndef SYMCACHECTL_LIST_H
#define SYMCACHECTL_LIST_H

#include <stdio.h>

#include "identity.h"

#define LIST_LINE_MAX 4096

struct list {
    FILE *stream;
    int is_wide; /* UTF-16LE */
    unsigned line;
    size_t size; /* of the last line; without its end */
    char text[LIST_LINE_MAX];
};

enum list_found {
    LIST_END,
    LIST_MODULE,
    LIST_NOTHING, /* blank, a comment ("#"), xperf's heading, or an image that
                   * has no PDB */
    LIST_BAD
};

/* One line without its end; wrong says why it is LIST_BAD. */
enum list_found list_line(const char *text, size_t size,
                          struct identity *identity, const char **wrong);

void list_init(struct list *list, FILE *stream);

/* The next line. */
enum list_found list_next(struct list *list, struct identity *identity,
                          const char **wrong);

#endif
