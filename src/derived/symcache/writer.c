/*
 * Copyright (C) the ngx_symcache authors
 */

#include "writer.h"

#include <string.h>

#include "base/array.h"
#include "base/sort.h"
#include "unstable_sort.h"
#include "undecorate.h"

/* Limits the depth of the recursion.  Compilers inline some tens deep. */
#define MAX_DEPTH 2000

/* The call locations that a function passes on to the functions inlined into
 * it: callees[first..last), ascending by address.  The root gets none. */
struct calls {
    size_t first;
    size_t last;
};

void symc_writer_init(struct symc_writer *w)
{
    memset(w, 0, sizeof(*w));
    w->files.width = 6;
    w->functions.width = 4;
    w->functions.hint = 2; /* the entry; hint_or is 0, the name */
    w->functions.shift = 4;
    w->lineless.width = 2;
    w->calls.width = 4;
    w->calls.hint = 3; /* the caller, or else the function */
    w->calls.hint_or = 2;
    w->calls.spread = 3;
}

void symc_writer_free(struct symc_writer *w)
{
    symc_strings_free(&w->strings);
    symc_set_free(&w->files);
    symc_set_free(&w->functions);
    symc_set_free(&w->calls);
    symc_set_free(&w->lineless);
    symc_ranges_free(&w->ranges);
    free(w->symbols);
    free(w->order);
    free(w->inlined);
    free(w->callees);
    symc_writer_init(w);
}

static int insert_text(struct symc_writer *w, const struct symc_text *text,
                       uint32_t *offset)
{
    struct symc_text t = *text;

    if (t.data == NULL) {
        *offset = SYMC_NONE;
        return 0;
    }
    if (w->transform != NULL && w->transform->text != NULL) {
        w->transform->text(w->transform->arg, &t.data, &t.size);
    }
    if (w->transform != NULL && w->transform->see != NULL) {
        w->transform->see(w->transform->arg, t.data, t.size);
    }
    return symc_strings_insert(&w->strings, t.data, t.size, offset);
}

static int insert_name(struct symc_writer *w, struct symc_name *name,
                       uint32_t *offset)
{
    if (name->hash == 0) {
        symc_writer_expect(w, name);
    }
    return symc_strings_insert_name(&w->strings, name, offset);
}

/* All inlined instances of one function share a record.  The memo keeps its
 * index, so that it is looked up only once. */
static int insert_function(struct symc_writer *w, struct symc_function *f,
                           uint32_t *index)
{
    uint32_t record[4];

    if (f->memo != NULL && *f->memo != 0) {
        *index = *f->memo - 1;
        return 0;
    }
    if (insert_name(w, &f->name, &record[0]) != 0) {
        return -1;
    }
    record[1] = SYMC_NONE;
    record[2] = f->is_inline ? SYMC_NONE : (uint32_t)f->address;
    record[3] = f->language;
    if (symc_set_insert(&w->functions, record, index) != 0) {
        return -1;
    }
    if (f->memo != NULL) {
        *f->memo = *index + 1;
    }
    return 0;
}

/* Called only once for each file, so it is kept out of the hot code that adds
 * lines. */
static __attribute__((noinline)) int insert_file(struct symc_writer *w,
                                                 struct symc_source *s)
{
    uint32_t name, directory, comp, sname, sdirectory, revision;

    /* the order of insertion is the order of the strings in the file */
    if (insert_text(w, &s->name, &name) != 0 ||
        insert_text(w, &s->directory, &directory) != 0 ||
        insert_text(w, &s->comp_dir, &comp) != 0 ||
        insert_text(w, &s->srcsrv_name, &sname) != 0 ||
        insert_text(w, &s->srcsrv_directory, &sdirectory) != 0 ||
        insert_text(w, &s->srcsrv_revision, &revision) != 0) {
        return -1;
    }
    return symc_set_insert(
        &w->files,
        (uint32_t[]){comp, directory, name, sname, sdirectory, revision},
        &s->file);
}

static void line_bounds(const struct symc_line *line, uint32_t *start,
                        uint32_t *end)
{
    uint64_t size;

    size = line->size == SYMC_NO_SIZE ? 1 : line->size;
    *start = line->address > UINT32_MAX ? UINT32_MAX : (uint32_t)line->address;
    *end = size > UINT32_MAX - *start ? UINT32_MAX : *start + (uint32_t)size;
}

/* Sorts the ranges on the stack, from index first on, by their start. */
static int sort_inlined(struct symc_writer *w, size_t first)
{
    size_t i, n;
    struct symc_sort_item *ties;
    struct symc_range *ranges;

    n = w->num_inlined - first;
    if (n < 2) {
        return 0;
    }
    ranges = w->inlined + first;
    for (i = 1; i < n && ranges[i - 1].start <= ranges[i].start; i++) {
    }
    if (i >= n) {
        return 0;
    }
    ties = malloc(n * sizeof(*ties));
    if (ties == NULL) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        ties[i].key = ranges[i].start;
        ties[i].value = ranges[i].end;
    }
    symc_sort_unstable(ties, n);
    for (i = 0; i < n; i++) {
        ranges[i].start = (uint32_t)ties[i].key;
        ranges[i].end = (uint32_t)ties[i].value;
    }
    free(ties);
    return 0;
}

/* Pushes the ranges of all lines of the functions that are inlined directly
 * into f onto the stack. */
static int push_inlined(struct symc_writer *w, const struct symc_tree *tree,
                        const struct symc_function *f)
{
    size_t i, first;
    uint32_t child;
    struct symc_range *range;
    const struct symc_function *c;

    first = w->num_inlined;
    for (child = f->first_child; child != SYMC_NONE; child = c->next) {
        c = &tree->nodes[child];
        if (array_need(&w->inlined, &w->inlined_room,
                       w->num_inlined + c->num_lines,
                       sizeof(*w->inlined)) != 0) {
            return -1;
        }
        for (i = 0; i < c->num_lines; i++) {
            range = &w->inlined[w->num_inlined++];
            line_bounds(&tree->lines[c->first_line + i], &range->start,
                        &range->end);
        }
    }
    return sort_inlined(w, first);
}

/* Returns the last call at or before an address, or the first call if all are
 * after it. */
static size_t find_call(const struct symc_writer *w, const struct calls *calls,
                        uint32_t address)
{
    size_t low, high, mid;

    low = calls->first;
    high = calls->last;
    while (high - low > 1) {
        mid = low + (high - low) / 2;
        if (w->callees[mid].address <= address) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

static int push_callee(struct symc_writer *w, uint32_t address,
                       struct symc_location location)
{
    uint32_t index;

    if (symc_set_insert(&w->calls,
                        (uint32_t[]){location.file, location.line,
                                     location.function,
                                     location.inlined_into},
                        &index) != 0 ||
        array_need(&w->callees, &w->callee_room, w->num_callees + 1,
                   sizeof(*w->callees)) != 0) {
        return -1;
    }
    w->callees[w->num_callees].address = address;
    w->callees[w->num_callees].location = index;
    w->num_callees++;
    return 0;
}

/*
 * Adds one line.  The parts of it that are the function's own code go to the
 * ranges; for each part that is inlined code, the line is a call location.
 * *inl is the index of the next inlined range; *cur becomes the address up to
 * which code is done.
 */
static inline __attribute__((always_inline)) int
add_line(struct symc_writer *w, uint32_t start, uint32_t end,
         struct symc_location location, size_t *inl, size_t last_inl,
         uint32_t *cur)
{
    const struct symc_range *next;

    *cur = start;
    while (*cur < end) {
        next = *inl < last_inl ? &w->inlined[*inl] : NULL;
        if (next == NULL || next->start > *cur) {
            if (symc_ranges_put(&w->ranges, *cur, location) != 0) {
                return -1;
            }
        }
        if (next != NULL && next->start < end) {
            if (push_callee(w, next->start, location) != 0) {
                return -1;
            }
            *cur = next->end;
            (*inl)++;
        } else {
            *cur = end;
        }
    }
    return 0;
}

static struct symc_source *other_source(const struct symc_writer *w,
                                        struct symc_source *source,
                                        uint32_t *line)
{
    struct symc_source *other =
        w->transform->line(w->transform->arg, source, line);

    return other != NULL ? other : source;
}

/* A function without lines, of which only inlined calls have some: they are
 * called from no known place in it.  Of functions that the linker has folded
 * into one the first gives the name, and so it gives the calls. */
static int add_calls_only(struct symc_writer *w, const struct symc_function *f,
                          uint32_t function, size_t inl)
{
    struct symc_location location = {.file = SYMC_NONE,
                                     .function = function,
                                     .inlined_into = SYMC_NONE};
    uint64_t end = f->address + f->size;
    size_t known = w->lineless.count;
    uint32_t cur;

    if (!w->has_calls_without_lines || f->is_inline) {
        return 0;
    }
    if (symc_set_insert(&w->lineless, (uint32_t[]){(uint32_t)f->address, 0},
                        &cur) != 0) {
        return -1;
    }
    if (w->lineless.count == known || inl == w->num_inlined) {
        return 0;
    }
    return add_line(w, (uint32_t)f->address,
                    end < f->address || end > UINT32_MAX ? UINT32_MAX
                                                         : (uint32_t)end,
                    location, &inl, w->num_inlined, &cur);
}

static int add_lines(struct symc_writer *w, const struct symc_tree *tree,
                     const struct symc_function *f, uint32_t function,
                     const struct calls *calls, size_t inl)
{
    size_t last_inl, call;
    uint32_t i, start, end, cur, line, into;
    struct symc_source *source;
    struct symc_location location;
    const struct symc_line *lines;

    last_inl = w->num_inlined;
    if (f->num_lines == 0) {
        return add_calls_only(w, f, function, inl);
    }
    lines = tree->lines + f->first_line;
    line_bounds(&lines[0], &start, &end);
    call = find_call(w, calls, start);
    into = SYMC_NONE;
    for (i = 0; i < f->num_lines;) {
        line_bounds(&lines[i], &start, &end);
        if (calls->last > calls->first) {
            while (call + 1 < calls->last &&
                   w->callees[call + 1].address <= start) {
                call++;
            }
            into = w->callees[call].location;
        }
        source = &tree->sources[lines[i].source];
        line = lines[i].line;
        if (w->transform != NULL && w->transform->line != NULL) {
            source = other_source(w, source, &line);
        }
        if (source->file == SYMC_NONE && insert_file(w, source) != 0) {
            return -1;
        }
        /* made in one step: a copy of what was just written in parts would
         * wait for these */
        location = (struct symc_location){source->file, line, function, into};
        if (add_line(w, start, end, location, &inl, last_inl, &cur) != 0) {
            return -1;
        }
        i++;
        while (i < f->num_lines && (uint32_t)lines[i].address < cur) {
            i++;
        }
    }
    return 0;
}

static int put_function_only(struct symc_writer *w, uint32_t address,
                             uint32_t function)
{
    return symc_ranges_put(
        &w->ranges, address,
        (struct symc_location){SYMC_NONE, 0, function, SYMC_NONE});
}

static int end_function(struct symc_writer *w, const struct symc_function *f)
{
    uint32_t end;

    end = f->size > UINT64_MAX - f->address ? UINT32_MAX
                                            : (uint32_t)(f->address + f->size);
    if (!w->has_end || end > w->last_end) {
        w->has_end = 1;
        w->last_end = end;
    }
    return symc_ranges_gap(&w->ranges, end);
}

static int add_function(struct symc_writer *w, const struct symc_tree *tree,
                        struct symc_function *f, const struct calls *calls,
                        unsigned depth)
{
    int rc;
    size_t inlined;
    uint32_t index, child;
    struct calls callees;

    if (f->size == 0 || f->address > UINT32_MAX) {
        return SYMC_OK;
    }
    if (depth > MAX_DEPTH) {
        return SYMC_TOO_DEEP;
    }
    inlined = w->num_inlined;
    callees.first = w->num_callees;
    if (insert_function(w, f, &index) != 0 || push_inlined(w, tree, f) != 0 ||
        add_lines(w, tree, f, index, calls, inlined) != 0) {
        return SYMC_NO_MEMORY;
    }
    w->num_inlined = inlined;
    callees.last = w->num_callees;
    if (!f->is_inline &&
        put_function_only(w, (uint32_t)f->address, index) != 0) {
        return SYMC_NO_MEMORY;
    }
    if (callees.last > callees.first) {
        for (child = f->first_child; child != SYMC_NONE;
             child = tree->nodes[child].next) {
            rc = add_function(w, tree, &tree->nodes[child], &callees,
                              depth + 1);
            if (rc != SYMC_OK) {
                return rc;
            }
        }
    }
    w->num_callees = callees.first;
    return end_function(w, f) != 0 ? SYMC_NO_MEMORY : SYMC_OK;
}

/* Sorts the linked list of a node's children by address, stably. */
static int sort_children(const struct symc_tree *tree, uint32_t root)
{
    size_t i, n;
    uint32_t child, *link;
    uint64_t *keys;
    uint64_t before;
    int sorted;

    n = 0;
    sorted = 1;
    before = 0;
    for (child = tree->nodes[root].first_child; child != SYMC_NONE;
         child = tree->nodes[child].next) {
        sorted &= tree->nodes[child].address >= before;
        before = tree->nodes[child].address;
        n++;
    }
    if (sorted) {
        return 0;
    }
    /* children are numbered in the order in which they were linked */
    keys = malloc(2 * n * sizeof(*keys));
    if (keys == NULL) {
        return -1;
    }
    i = 0;
    for (child = tree->nodes[root].first_child; child != SYMC_NONE;
         child = tree->nodes[child].next) {
        keys[i++] = tree->nodes[child].address << 32 | child;
    }
    sort_keys(keys, keys + n, n);
    link = &tree->nodes[root].first_child;
    for (i = 0; i < n; i++) {
        *link = (uint32_t)keys[i];
        link = &tree->nodes[*link].next;
    }
    *link = SYMC_NONE;
    tree->nodes[root].last_child = (uint32_t)keys[n - 1];
    free(keys);
    return 0;
}

enum symc_status symc_writer_function(struct symc_writer *w,
                                      const struct symc_tree *tree,
                                      uint32_t root)
{
    int rc;
    static const struct calls none = {0, 0};

    if (sort_children(tree, root) != 0) {
        return SYMC_NO_MEMORY;
    }
    w->num_inlined = w->num_callees = 0;
    rc = add_function(w, tree, &tree->nodes[root], &none, 0);
    if (rc == SYMC_OK && symc_ranges_close(&w->ranges) != 0) {
        rc = SYMC_NO_MEMORY;
    }
    return (enum symc_status)rc;
}

void symc_writer_undecorate(const struct symc_writer *w, const char **name,
                            uint32_t *size)
{
    size_t n = *size;

    if (w->undecorates &&
        (w->kept == NULL || n < strlen(w->kept) ||
         memcmp(*name, w->kept, strlen(w->kept)) != 0)) {
        symc_undecorate(name, &n);
        *size = (uint32_t)n;
    }
}

void symc_writer_expect(const struct symc_writer *w, struct symc_name *name)
{
    if (w->transform != NULL && w->transform->text != NULL) {
        w->transform->text(w->transform->arg, &name->data, &name->size);
    }
    symc_writer_undecorate(w, &name->data, &name->size);
    symc_strings_expect(&w->strings, name);
}

enum symc_status symc_writer_string(struct symc_writer *w, const char *text,
                                    size_t size)
{
    uint32_t offset;

    return symc_strings_insert(&w->strings, text, size, &offset) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

enum symc_status symc_writer_symbol(struct symc_writer *w, uint64_t address,
                                    uint64_t size, struct symc_name *name)
{
    struct symc_symbol *symbol;

    if (w->num_symbols >= SYMC_NONE ||
        array_need(&w->symbols, &w->symbol_room, w->num_symbols + 1,
                   sizeof(*w->symbols)) != 0) {
        return SYMC_NO_MEMORY;
    }
    symbol = &w->symbols[w->num_symbols];
    if (insert_name(w, name, &symbol->name) != 0) {
        return SYMC_NO_MEMORY;
    }
    symbol->address = (uint32_t)address;
    w->num_symbols++;
    if (size != 0 &&
        symc_ranges_gap(&w->ranges, (uint32_t)(address + size)) != 0) {
        return SYMC_NO_MEMORY;
    }
    /* after the last function, nothing says where a symbol ends */
    if (!w->has_end || symbol->address >= w->last_end) {
        w->is_open = 1;
    }
    return SYMC_OK;
}

void symc_writer_take_room(struct symc_writer *w, void *array, size_t size)
{
    free(w->symbols);
    w->symbols = array;
    w->symbol_room = size / sizeof(*w->symbols);
    w->has_used_room = true;
}

void symc_writer_order(struct symc_writer *w, uint64_t *order, size_t n)
{
    free(w->order);
    w->order = order;
    w->num_order = n;
}
