/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the unpacking process does with one file: looks what it is, unpacks it
 * to the output, and checks that it is the original of the key.  A result is a
 * letter that unpack_process.c reads, with its detail.
 */
#ifndef SYMCACHED_INTAKE_UNPACK_FILE_H
#define SYMCACHED_INTAKE_UNPACK_FILE_H

#include "cabinet.h"
#include "child/child.h"
#include "dir_places.h"
#include "intake.h"

#define UNPACK_OUT_FD CHILD_FD
#define UNPACK_IN_FD (CHILD_FD + 1)
#define UNPACK_INDEX_FD (CHILD_FD + 1)
#define UNPACK_NEW_INDEX_FD (CHILD_FD + 2)
#define UNPACK_SOCKET_FD (CHILD_FD + 1) /* flat: behind the two above */
#define UNPACK_FLAT_SOCKET_FD (CHILD_FD + 3)
#define UNPACK_TEXT 512

struct unpack_job {
    symcache_key_t key;
    unsigned formats;       /* that are wanted */
    bool is_packed;         /* wanted as it lies, */
    enum body_kind packing; /* packed so */
    const char *checksum;   /* see portable_pdb_checksum.h; or NULL */
    uint64_t max;
    struct limited_writer writer; /* to the output, as it begins */
    const uint8_t *in;  /* a received body, mapped; it may be the PDB */
    const uint8_t *out; /* the output, mapped, if a body is packed */
    bool received;      /* a body was received, and may stay where it is */
    bool coded;         /* with a Content-Encoding */
    int growing; /* a file of a directory, which may be written yet; or -1 */
    struct pdb_directory *directory; /* replaces the first place; or NULL */
    struct dir_places places;
    struct cabinet_parts parts[UNPACK_PLACES]; /* beside the places */
    const struct cabinet_parts
        *beside; /* the file that is unpacked; or NULL */
};

/* Prints a line about a place to the parent, on stderr. */
void unpack_say(size_t place, char letter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Is it a letter of a file that was found? */
bool unpack_is_found(char letter);

/* Empties the output.  Returns 0, or -1 with detail. */
int unpack_empty_out(char *detail, size_t size);

/* A portable PDB inside an image is only used for a PpdbCache: clients do not
 * ask for it as an original. */
bool unpack_takes_images(const struct unpack_job *job);

/* Unpacks the file in fd, the received body or one of a directory, to the
 * output, which is empty, and checks it. */
char unpack_file(struct unpack_job *job, int fd, char *detail, size_t size);

/* Checks a plain original where it is.  Returns 0 if it has to be unpacked or
 * copied first, as a module without debug information has to be: it is put
 * aside while other sources are asked; and one of several images. */
char unpack_here(const struct unpack_job *job, const struct in_place *file,
                 char *detail, size_t size);

#endif
