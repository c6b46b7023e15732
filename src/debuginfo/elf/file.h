/*
 * Copyright (C) the ngx_symcache authors
 *
 * The outer structure of an ELF file: headers, sections, string and symbol
 * tables, and notes.  Layouts are those of the System V ABI (gABI, chapters 4
 * and 5), in 32 and 64 bits and both byte orders.
 *
 * Damage is treated as in the "symbolic" library: without readable headers
 * there is no file; after them, the parts are read in a fixed order, and the
 * first that is damaged ends it.  What was read until then counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debuginfo/dwarf/dwarf.h"

enum {
    ELF_REL = 1,
    ELF_EXEC = 2,
    ELF_DYN = 3,
    ELF_CORE = 4
};

enum {
    ELF_EM_ARM = 40
};

enum {
    ELF_SHT_SYMTAB = 2,
    ELF_SHT_RELA = 4,
    ELF_SHT_NOTE = 7,
    ELF_SHT_NOBITS = 8,
    ELF_SHT_REL = 9,
    ELF_SHT_DYNSYM = 11
};

enum {
    ELF_SHF_ALLOC = 0x2,
    ELF_SHF_EXECINSTR = 0x4,
    ELF_SHF_COMPRESSED = 0x800
};

/* A table of strings that end with a NUL.  All its bytes are UTF-8, unless it
 * is said that they may not be. */
struct elf_strings {
    const char *data;
    size_t size;
};

struct elf_symbols {
    uint64_t offset; /* in the file */
    uint64_t count;  /* all of them are inside of the file */
    struct elf_strings names;
};

struct elf_file {
    const uint8_t *data;
    size_t size;
    bool is_64;
    bool is_big; /* big-endian */
    bool is_malformed;
    bool has_interpreter;
    uint16_t type;
    uint16_t machine;
    uint32_t flags;
    uint64_t segments; /* offset of the program headers */
    uint32_t num_segments;
    uint64_t sections; /* offset of the section headers */
    uint64_t num_sections;
    struct elf_strings section_names;
    struct elf_strings all_names; /* the same, and may not be UTF-8 */
    struct elf_symbols symtab;
    struct elf_symbols dynsym;
};

struct elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
    uint64_t align;
};

struct elf_section {
    uint32_t name; /* offset in section_names */
    uint32_t type;
    uint64_t flags;
    uint64_t address;
    uint64_t offset;
    uint64_t size;
    uint32_t link;
    uint64_t align;
    uint64_t entry_size;
};

struct elf_symbol {
    uint32_t name; /* offset in the names of its table */
    uint8_t type;
    uint16_t section;
    uint64_t address;
    uint64_t size;
};

/* A part of the file. */
struct elf_bytes {
    const uint8_t *data; /* NULL: there is none */
    size_t size;
};

/*
 * Reads a file.  Returns NULL, or what is wrong with it, as the rest of a
 * sentence.
 */
const char *elf_file_open(struct elf_file *file, const uint8_t *data,
                          size_t size);

/* Return a header or a symbol, whose number must be below the count. */
struct elf_segment elf_file_segment(const struct elf_file *file, uint32_t i);
struct elf_section elf_file_section_header(const struct elf_file *file,
                                           uint64_t i);
struct elf_symbol elf_file_symbol(const struct elf_file *file,
                                  const struct elf_symbols *table, uint64_t i);

/* Finds the string at an offset.  Returns false if there is none: outside of
 * the table, or in the middle of a character. */
bool elf_strings_get(const struct elf_strings *strings, uint64_t offset,
                     const char **text, size_t *size);

/*
 * Finds a section with data by its name without the "." or ".z" at its
 * beginning.  Its data is NULL if there is no such section, or it does not lie
 * within the file.
 */
struct dwarf_found elf_file_find(const struct elf_file *file, const char *name);

/* Finds the next section of that name: the first one from *number on, which is
 * set to that of the section behind it. */
struct dwarf_found elf_file_find_next(const struct elf_file *file,
                                      const char *name, uint64_t *number);

/* Finds the first section of that whole name.  Returns false if there is none.
 */
bool elf_file_find_named(const struct elf_file *file, const char *name,
                         struct elf_section *section);

/* Returns the address at which the file wants to be loaded. */
uint64_t elf_file_load_address(const struct elf_file *file);

/* Do all addresses of what is loaded have 32 bits? */
bool elf_file_is_low(const struct elf_file *file);

/*
 * Are there sections whose data lies after the end of the file?  Section
 * headers are at the end as a rule and are lost with it: then there are none,
 * although the program has code.  A name that is not UTF-8 does not mean that
 * the file was cut.
 */
bool elf_file_is_cut(const struct elf_file *file);

/* Returns the build id, or one with data NULL.  It may be empty. */
struct elf_bytes elf_file_build_id(const struct elf_file *file);

/*
 * Finds where the first section of that name lies, as debuginfod serves it:
 * compressed or not.  Returns NULL, or why the file cannot give it: of a debug
 * file, the sections of the program have a name and no bytes.
 */
const char *elf_section_find(const uint8_t *data, size_t size,
                             const char *name, uint64_t *offset,
                             uint64_t *length);
