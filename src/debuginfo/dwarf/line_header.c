/*
 * Copyright (C) the ngx_symcache authors
 */
#include "line_header.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit.h"

enum {
    DW_LNCT_path = 1,
    DW_LNCT_directory_index = 2
};

/* The parts of an entry in the lists of directories and files. */
struct entry_format {
    unsigned count;
    uint64_t content[UINT8_MAX];
    uint16_t form[UINT8_MAX];
};

void dwarf_lines_free(struct dwarf_lines *lines)
{
    free(lines->directories);
    free(lines->files);
    free(lines->rows);
    free(lines->sequences);
    table_free(&lines->checked);
    memset(lines, 0, sizeof(*lines));
}

/* headers ----------------------------------------------------------------- */

static int add_directory(struct dwarf_lines *lines,
                         const struct dwarf_value *name)
{
    if (array_need(&lines->directories, &lines->directory_room,
                   lines->num_directories + 1,
                   sizeof(*lines->directories)) != 0) {
        return -1;
    }
    lines->directories[lines->num_directories++] = *name;
    return 0;
}

int dwarf_lines_add_file(struct dwarf_lines *lines,
                         const struct dwarf_value *name, uint64_t directory)
{
    if (array_need(&lines->files, &lines->file_room, lines->num_files + 1,
                   sizeof(*lines->files)) != 0) {
        return -1;
    }
    lines->files[lines->num_files].name = *name;
    lines->files[lines->num_files++].directory = directory;
    return 0;
}

/* Reads a string in place.  Returns false at the empty one that ends a list.
 */
static bool read_line_header_text(struct cursor *c, struct dwarf_value *v)
{
    size_t size;

    v->kind = DWARF_TEXT;
    v->text = cursor_string(c, &size);
    v->number = size;
    return size > 0;
}

/* Reads a file of versions 2 to 4.  Returns false at the end of the list, or
 * if the cursor failed. */
static bool read_file_entry(struct cursor *c, struct dwarf_value *name,
                            uint64_t *directory)
{
    if (!read_line_header_text(c, name)) {
        return false;
    }
    *directory = cursor_uleb(c);
    (void)cursor_uleb(c); /* time */
    (void)cursor_uleb(c); /* size */
    return !c->failed;
}

/* Reads the lists of versions 2 to 4.  Returns 0, or -1 if memory runs out. */
static int read_lists(struct dwarf_lines *lines, struct cursor *c)
{
    uint64_t directory;
    struct dwarf_value name;

    while (read_line_header_text(c, &name)) {
        if (add_directory(lines, &name) != 0) {
            return -1;
        }
    }
    while (read_file_entry(c, &name, &directory)) {
        if (dwarf_lines_add_file(lines, &name, directory) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Tells whether a form is one of those that line headers may have. */
static bool is_header_form(unsigned form)
{
    switch (form) {
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_data16:
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_flag:
    case DW_FORM_sec_offset:
    case DW_FORM_string:
    case DW_FORM_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_line_strp:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
    case DW_FORM_GNU_strp_alt:
        return true;
    default:
        return false;
    }
}

static void read_format(struct cursor *c, struct entry_format *f)
{
    unsigned i, paths = 0;

    f->count = cursor_8(c);
    for (i = 0; i < f->count; i++) {
        f->content[i] = cursor_uleb(c);
        f->form[i] = dwarf_code_read(c);
        paths += f->content[i] == DW_LNCT_path;
    }
    if (paths != 1) {
        cursor_fail(c);
    }
}

/* Reads a list of version 5.  Returns 0, or -1 if memory runs out. */
static int read_list(struct dwarf_lines *lines, struct cursor *c,
                     bool is_files)
{
    int rc = 0;
    unsigned i;
    uint64_t n, directory;
    struct dwarf_value v, path = {DWARF_OTHER, 0, NULL};
    struct entry_format f;

    read_format(c, &f);
    for (n = cursor_uleb(c); n > 0 && !c->failed && rc == 0; n--) {
        directory = 0;
        for (i = 0; i < f.count; i++) {
            if (!is_header_form(f.form[i])) {
                cursor_fail(c);
                return 0;
            }
            v = dwarf_value_read(c, &lines->encoding, 0, f.form[i], 0);
            if (f.content[i] == DW_LNCT_path) {
                path = v;
            } else if (f.content[i] == DW_LNCT_directory_index &&
                       v.kind == DWARF_UNSIGNED) {
                directory = v.number;
            }
        }
        rc = is_files ? dwarf_lines_add_file(lines, &path, directory)
                      : add_directory(lines, &path);
    }
    return rc;
}

/* Reads what comes before the lists.  Returns false if it is invalid. */
static bool read_numbers(struct dwarf_lines *lines, struct cursor *c)
{
    unsigned version = cursor_16(c);
    uint64_t length;

    if (version < 2 || version > 5) {
        return false;
    }
    lines->encoding.version = (uint8_t)version;
    if (version == 5) {
        lines->encoding.address_size = cursor_8(c);
        if (cursor_8(c) != 0 || /* size of segment selectors */
            (lines->encoding.address_size != 1 &&
             lines->encoding.address_size != 2 &&
             lines->encoding.address_size != 4 &&
             lines->encoding.address_size != 8)) {
            return false;
        }
    }
    length = cursor_number(c, lines->encoding.offset_size);
    lines->program = *c;
    cursor_skip(&lines->program, length);
    if (c->failed || lines->program.failed) {
        return false;
    }
    c->end = lines->program.at;
    lines->min_length = cursor_8(c);
    lines->max_operations = version >= 4 ? cursor_8(c) : 1;
    (void)cursor_8(c); /* whether rows begin statements */
    lines->line_base = (int8_t)cursor_8(c);
    lines->line_range = cursor_8(c);
    lines->opcode_base = cursor_8(c);
    if (lines->min_length == 0 || lines->max_operations == 0 ||
        lines->line_range == 0 || lines->opcode_base == 0) {
        return false;
    }
    lines->opcode_lengths = c->at;
    cursor_skip(c, lines->opcode_base - 1u);
    return !c->failed;
}

/* Reads the header at the cursor.  Returns 1, 0 if it is damaged, or -1 if
 * memory runs out. */
static int read_line_header(struct dwarf_lines *lines, struct cursor *c)
{
    int rc;
    uint64_t length = cursor_32(c);

    lines->encoding.offset_size = 4;
    if (length == 0xffffffff) {
        length = cursor_64(c);
        lines->encoding.offset_size = 8;
    } else if (length >= 0xfffffff0) {
        return 0;
    }
    if (!cursor_has(c, length)) {
        return 0;
    }
    c->end = c->at + length;
    if (!read_numbers(lines, c)) {
        return 0;
    }
    lines->num_directories = lines->num_files = 0;
    if (lines->encoding.version < 5) {
        rc = read_lists(lines, c);
    } else {
        rc = read_list(lines, c, false) != 0 ? -1 : read_list(lines, c, true);
    }
    return rc < 0 ? -1 : !c->failed;
}

int dwarf_lines_open(struct dwarf_reader *d, const struct dwarf_unit *u,
                     uint64_t offset, bool is_unused,
                     struct dwarf_lines *lines)
{
    int rc;
    size_t at = 0;
    uint64_t begin, hash = table_hash_number(&lines->checked, offset);
    struct cursor c;
    bool is_checked = table_next(&lines->checked, hash, &at) != 0;

    if ((is_unused && is_checked) ||
        (lines->has_header && lines->offset == offset)) {
        return 0;
    }
    lines->has_header = lines->has_rows = false;
    lines->offset = offset;
    lines->encoding.address_size = u->encoding.address_size;
    c = dwarf_cursor(d, DWARF_LINE, offset);
    begin = dwarf_offset(d, DWARF_LINE, &c);
    rc = c.failed ? 0 : read_line_header(lines, &c);
    if (rc < 0 ||
        (rc > 0 && !is_checked && table_add(&lines->checked, hash, 1))) {
        return failure_memory(d->failure);
    }
    if (rc == 0) {
        return dwarf_damaged(d, DWARF_LINE, offset,
                             "the header of a line number program is invalid");
    }
    lines->has_header = true;
    return dwarf_charge(d, dwarf_offset(d, DWARF_LINE, &c) - begin);
}

bool dwarf_lines_file(const struct dwarf_lines *lines,
                      const struct dwarf_value *unit_name,
                      const struct dwarf_value *comp_dir, uint64_t number,
                      struct dwarf_value *directory, struct dwarf_value *name)
{
    uint64_t index;
    bool is_old = lines->encoding.version < 5; /* counts from 1 */

    directory->kind = DWARF_NO_VALUE;
    if (!lines->has_header) {
        return false;
    }
    if (is_old && number == 0) {
        *name = *unit_name;
        *directory = *comp_dir;
        return name->kind != DWARF_NO_VALUE;
    }
    index = number - is_old;
    if (index >= lines->num_files) {
        return false;
    }
    *name = lines->files[index].name;
    index = lines->files[index].directory;
    if (is_old && index == 0) {
        *directory = *comp_dir;
    } else if (index - is_old < lines->num_directories) {
        *directory = lines->directories[index - is_old];
    }
    return true;
}
