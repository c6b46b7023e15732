/*
 * Copyright (C) the ngx_symcache authors
 */
#include "unpack_places.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static char unpack_pointer(int fd, char *detail, size_t size)
{
    char text[UNPACK_POINTER_MAX];
    ssize_t n = pread(fd, text, sizeof(text), 0);

    if (n < 0 || write(UNPACK_OUT_FD, text, (size_t)n) != n) {
        snprintf(detail, size, "file.ptr: %s", strerror(errno));
        return n < 0 ? 'E' : 'M';
    }

    snprintf(detail, size, "file.ptr");
    return 'P';
}

/* Copies a file of the directory to the output, which may contain another. */
static char unpack_flat_file(struct unpack_job *job, size_t i, char *detail,
                             size_t size)
{
    if (unpack_empty_out(detail, size) != 0) {
        return 'M';
    }
    if (lseek(job->directory->files[i].fd, 0, SEEK_SET) != 0) {
        snprintf(detail, size, "read: %s", strerror(errno));
        return 'E';
    }
    job->growing = job->directory->files[i].fd;
    return unpack_body(job, job->growing, detail, size);
}

/* All symbols are better than public ones.  A file that may become readable
 * is better than one that will not. */
static bool better_letter(char letter, char than)
{
    static const char order[] = "NWXBUEMfF";

    return strchr(order, letter) > strchr(order, than);
}

/*
 * Copies the best of the files, and the first among equal ones.  Returns N or
 * the result, and the file's index.
 */
static char flat_best(struct unpack_job *job, size_t *best, char *detail,
                      size_t size)
{
    struct pdb_directory *directory = job->directory;
    char letter = 'N', other;
    size_t i, last = 0;

    for (i = 0; i < directory->nfiles && letter != 'F'; i++) {
        if (!pdb_directory_look(directory, &directory->files[i], &job->key)) {
            continue;
        }
        last = i;
        other = unpack_flat_file(job, i, detail, size);
        if (better_letter(other, letter)) {
            letter = other;
            *best = i;
        }
    }
    if (letter != 'N' && *best != last) {
        letter = unpack_flat_file(job, *best, detail, size);
    }
    return letter;
}

/* The first place stands for all PDBs of the directory.  Returns true if no
 * other place is to be looked at. */
static bool unpack_flat(struct unpack_job *job)
{
    struct pdb_directory *directory = job->directory;
    char detail[UNPACK_TEXT], letter;
    size_t best = 0;

    letter = flat_best(job, &best, detail, sizeof(detail));
    pdb_directory_save(directory, UNPACK_NEW_INDEX_FD);

    if (letter != 'N') {
        unpack_say(0, letter, "%s: %s", directory->files[best].name, detail);
    } else if (directory->more) {
        unpack_say(0, 'A', "%zu are known", directory->nrecords);
    } else if (directory->error[0] != '\0') {
        unpack_say(0, 'E', "%s", directory->error);
    } else if (directory->damaged[0] != '\0') {
        unpack_say(0, 'U', "%s", directory->damaged);
    } else {
        unpack_say(0, 'N', "none of %zu PDBs", directory->total);
    }
    return unpack_is_found(letter) || (letter == 'N' && directory->more);
}

void unpack_places(struct unpack_job *job)
{
    char detail[UNPACK_TEXT], letter;
    const struct dir_places *places = &job->places;
    const char *why;
    size_t i = places->first;

    if (job->directory != NULL) {
        if (unpack_flat(job)) {
            return;
        }
        i++;
    }

    for (; i < places->n; i++) {
        if (places->fds[i] < 0) {
            letter = dir_places_unopened(places->errors[i], &why);
            unpack_say(i, letter, "%s", why);
            continue;
        }
        if (unpack_empty_out(detail, sizeof(detail)) != 0) {
            unpack_say(i, 'M', "%s", detail);
            return;
        }

        job->growing = job->received ? -1 : places->fds[i];
        job->beside = &job->parts[i];
        letter =
            unpack_here(job, &places->in_place[i], detail, sizeof(detail));
        if (letter == 0) {
            letter =
                places->pointer[i]
                    ? unpack_pointer(places->fds[i], detail, sizeof(detail))
                    : unpack_body(job, places->fds[i], detail, sizeof(detail));
        }
        unpack_say(i, letter, "%s", detail);

        if (strchr("FfKkHhP", letter) != NULL) {
            return;
        }
    }
}
