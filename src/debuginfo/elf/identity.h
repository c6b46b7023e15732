/*
 * Copyright (C) the ngx_symcache authors
 *
 * What an ELF file says about itself: whose it is, and what it has.
 *
 * A build id names one build of a module.  It is in a note, in the module and
 * in its debug companion alike, and names the files of debuginfod.  The debug
 * id, by which SymCaches and Breakpad's files are named, is made of its first
 * 16 bytes; its age is always 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of files, as the "symbolic" library tells them apart. */
enum elf_kind {
    ELF_KIND_OTHER,
    ELF_KIND_RELOCATABLE, /* .o, .ko */
    ELF_KIND_EXECUTABLE,
    ELF_KIND_LIBRARY, /* and a program that can be loaded anywhere */
    ELF_KIND_DUMP,
    ELF_KIND_DEBUG /* the companion that stripping leaves behind; a static
                      program counts as one, too */
};

struct elf_identity {
    uint8_t guid[16]; /* debug id, in text order; all zero: there is none */
    uint32_t arch;    /* as SymCaches number them */
    const uint8_t *build_id; /* the code id; in data */
    size_t build_id_size;    /* 0: there is none */
    uint64_t load_address; /* to which the addresses of SymCaches are relative
                            */
    enum elf_kind kind;
    bool has_code; /* there are sections with instructions in the file, which
                      is so in what debuginfod calls an executable */
    bool has_debug_info;  /* .debug_info, also if compressed */
    bool has_symbols;     /* .symtab or dynamic symbols */
    bool has_unwind_info; /* .eh_frame, .debug_frame or .ARM.exidx */
    bool is_kernel; /* a Linux kernel, or one of its modules */
    bool is_cut;          /* the file ends in front of what it needs */
};

/* Do the first bytes say that a file is ELF? */
bool elf_sniff(const uint8_t *data, size_t size);

/*
 * Reads the identity of a whole file.  The debug id is that of the build id,
 * or else made of the code, as the "symbolic" library does it.  Returns 0, or
 * -1 with a sentence in error that says what is wrong.
 */
int elf_identity_read(const uint8_t *data, size_t size,
                      struct elf_identity *identity, char *error,
                      size_t error_size);
