/*
 * Copyright (C) the ngx_symcache authors
 *
 * What our converter says that it has checked: see converter/output_check.h.
 *
 * What it made is read by the process that started the one which parsed, and
 * has not seen the original.  That takes less than to start another process.
 * What it took was told by the one which parsed, which is a process without
 * rights, as that of intake.h is.
 *
 * The kernel tells who has said something, and only the process that was
 * started is believed: an older converter, or one behind a wrapper, leaves
 * what it was given open to the process that parses.
 */
#pragma once

#include <sys/types.h>
#include "proto/key.h"

/* "<descriptor>:<id>" and a NUL */
#define PROOF_TEXT (sizeof("10:") + SYMCACHE_ID_TEXT_MAX)

enum converter_check {
    PROOF_NONE,       /* nothing was said, as by an older converter */
    PROOF_SOUND,      /* what it made is sound */
    PROOF_FULL,       /* and made of a PDB with the id of the key */
    PROOF_PUBLICS,    /* the same, with public symbols only */
    PROOF_FULL_LINKS, /* both, of a PDB that says where source files are */
    PROOF_PUBLICS_LINKS
};

/* Sockets; each is -1 when it is closed. */
struct converter_check_channel {
    int ours;
    int theirs; /* the converter's CHILD_FD; here it is closed once it runs */
};

/* Opens a channel, and writes to text what the converter is told in its
 * environment.  Returns 0, or -1. */
int converter_check_ask(struct converter_check_channel *channel,
                        const symcache_key_t *key, char text[PROOF_TEXT]);

void converter_check_close_theirs(struct converter_check_channel *channel);
void converter_check_close(struct converter_check_channel *channel);

/* What the process has written that was started with the channel. */
enum converter_check
converter_check_read(const struct converter_check_channel *channel, pid_t pid);
