/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads modules from a text, one in each line: "pdb,guid,age", or what xperf
 * prints of a trace (xperf -i FILE -a symcache -dbgid, with or without
 * -imageid).  Of the latter, the column CodeView Record is used:
 *
 *   "[RSDS] PdbSig: {7b2a9028-...}; Age: 753; Pdb: u:\build\client.pdb"
 *
 * The text is in UTF-8, or in UTF-16 as PowerShell writes redirected output.
 */
#pragma once

#include <stdio.h>

#include "symcachectl/files/identity.h"

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
