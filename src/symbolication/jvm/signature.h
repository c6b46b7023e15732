/*
 * Copyright (C) the ngx_symcache authors
 *
 * Signatures of methods in the form of the JVM, such as "(La/b;I)V", for
 * people and for a lookup by parameters.
 */
#pragma once

#include "derived/proguardcache/proguardcache.h"

/* Must be all zero at the beginning; can be used again. */
struct jvm_signature {
    char *text; /* "(a.B, int): long" */
    size_t size;
    size_t room;
    char *parameters; /* "a.B,int" */
    size_t parameters_size;
    size_t parameters_room;
};

enum jvm_signature_status {
    JVM_SIGNATURE_READ,
    JVM_SIGNATURE_INVALID,
    JVM_SIGNATURE_NO_MEMORY
};

/* Reads a signature; its classes get their original names. */
enum jvm_signature_status
jvm_signature_read(struct jvm_signature *signature,
                   const struct proguardcache_reader *reader,
                   struct symc_string text);
void jvm_signature_free(struct jvm_signature *signature);
