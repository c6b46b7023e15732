/*
 * Copyright (C) the ngx_symcache authors
 *
 * What looking in one place came to.  The job rules live on the difference
 * between "there is none" and "could not tell".
 */
#ifndef SYMCACHED_FETCH_OUTCOME_H
#define SYMCACHED_FETCH_OUTCOME_H

enum source_outcome {
    SOURCE_FOUND,
    SOURCE_NOT_FOUND, /* the source knows that it has no such file */
    SOURCE_UNUSABLE,  /* a body came that is not this PDB: wrong identity,
                         HTML, damaged, too large; says nothing about what
                         the source will have later */
    SOURCE_FAILED,    /* the source could not tell: timeout, 5xx, 401, ... */
    SOURCE_PENDING    /* the source works on it: to be asked again */
};

const char *source_outcome_name(enum source_outcome outcome);

#endif
