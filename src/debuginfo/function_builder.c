/*
 * Copyright (C) the ngx_symcache authors
 */
#include "function_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"

/* nesting of inlined ranges ----------------------------------------------- */

static bool is_before(const struct inlined_range *a,
                      const struct inlined_range *b)
{
    return a->address < b->address ||
           (a->address == b->address && a->depth < b->depth);
}

static int append_inlinee(struct inlined_ranges *to,
                          const struct inlined_range *item)
{
    if (array_need(&to->list, &to->room, to->count + 1, sizeof(*to->list)) !=
        0) {
        return -1;
    }
    to->list[to->count++] = *item;
    return 0;
}

/* Moves an item of the heap up to its place. */
static void sift_up(struct inlined_range *heap, size_t at)
{
    size_t parent;
    struct inlined_range item = heap[at];

    for (; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (!is_before(&item, &heap[parent])) {
            break;
        }
        heap[at] = heap[parent];
    }
    heap[at] = item;
}

/* Makes a heap of all items, as pushing one after another would. */
static int make_heap(struct function_builder *b)
{
    size_t i;

    if (b->has_taken) {
        if (array_need(&b->heap.list, &b->heap.room, b->num_inlinees,
                       sizeof(*b->inlinees)) != 0) {
            return -1;
        }
        memcpy(b->heap.list, b->inlinees,
               b->num_inlinees * sizeof(*b->inlinees));
        b->heap.count = b->num_inlinees;
    }
    b->is_heap = true;
    for (i = 1; i < b->heap.count; i++) {
        sift_up(b->heap.list, i);
    }
    return 0;
}

/*
 * Removes and returns the least item.  The order in which equal items come out
 * affects the output, so this works like the binary heap of Rust's standard
 * library: the last item moves down to the bottom, always to the lesser child
 * or, if both are equal, to the right one, and then up to its place.
 */
static struct inlined_range pop_inlinee(struct inlined_ranges *heap)
{
    size_t at = 0, child = 1, n = --heap->count;
    struct inlined_range *list = heap->list, least = list[0], last = list[n];

    if (n == 0) {
        return least;
    }
    for (; child + 1 < n; child = 2 * at + 1) {
        child += !is_before(&list[child], &list[child + 1]);
        list[at] = list[child];
        at = child;
    }
    if (child + 1 == n) {
        list[at] = list[child];
        at = child;
    }
    list[at] = last;
    sift_up(list, at);
    return least;
}

/* Puts the part of an item from an address on back into the heap, which will
 * return it in order.  Returns 1 if there is none. */
static int push_rest(struct function_builder *b,
                     const struct inlined_range *item, uint64_t address)
{
    struct inlined_range rest = *item;

    if (!b->is_heap) {
        return 1;
    }
    rest.address = address;
    rest.size = item->address + item->size - address;
    if (append_inlinee(&b->heap, &rest) != 0) {
        return -1;
    }
    sift_up(b->heap.list, b->heap.count - 1);
    return 0;
}

/*
 * Nests a range into the ranges that are open.  The parts that are outside of
 * every parent, or that an earlier sibling covers, are dropped.  A part beyond
 * the end of its parent is looked at again, since it may be in the next one.
 * Returns 0, 1 if that needs the heap, or -1 if memory runs out.
 */
static int nest_inlinee(struct function_builder *b, struct inlined_range *item)
{
    int rc;
    uint64_t end = item->address + item->size, parent_end;
    struct open_function *open = b->open;

    if (end < item->address || b->num_open < item->depth) {
        return 0;
    }
    if (item->depth < b->num_open) {
        if (end <= open[item->depth].end) {
            return 0;
        }
        if (item->address < open[item->depth].end) {
            return push_rest(b, item, open[item->depth].end);
        }
        b->num_open = item->depth;
    }
    if (item->depth > 0) {
        parent_end = open[item->depth - 1].end;
        if (item->address >= parent_end) {
            return 0;
        }
        if (end > parent_end) {
            rc = push_rest(b, item, parent_end);
            if (rc != 0) {
                return rc;
            }
            end = parent_end;
            item->size = end - item->address;
        }
    }
    if (append_inlinee(&b->nested, item) != 0 ||
        array_need(&b->open, &b->open_room, b->num_open + 1,
                   sizeof(*b->open)) != 0) {
        return -1;
    }
    b->open[b->num_open++].end = end;
    return 0;
}

/* Puts the numbers of the items, in the low halves of b->keys, in order.
 * Returns 1, 0 if items are equal or too far away, or -1 if memory runs out.
 */
static int sort_items(struct function_builder *b)
{
    size_t i, n = b->num_inlinees;
    uint64_t distance;
    const struct inlined_range *list = b->inlinees;

    if (array_need(&b->keys, &b->key_room, 2 * n, sizeof(*b->keys)) != 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        distance = list[i].address - b->root.address;
        if (distance > UINT32_MAX || i > UINT32_MAX) {
            return 0;
        }
        b->keys[i] = distance << 32 | i;
    }
    sort_keys(b->keys, b->keys + n, n);
    for (i = 1; i < n; i++) {
        if (!is_before(&list[(uint32_t)b->keys[i - 1]],
                       &list[(uint32_t)b->keys[i]])) {
            return 0;
        }
    }
    return 1;
}

/* Nests all items without a heap.  Returns 0, 1 if that cannot be, or -1 if
 * memory runs out. */
static int nest_sorted(struct function_builder *b)
{
    int rc;
    size_t i;
    struct inlined_range item;

    rc = sort_items(b);
    if (rc <= 0) {
        return rc < 0 ? -1 : 1;
    }
    for (i = 0, rc = 0; rc == 0 && i < b->num_inlinees; i++) {
        item = b->inlinees[(uint32_t)b->keys[i]];
        rc = nest_inlinee(b, &item);
    }
    return rc;
}

/* Takes items in order: a heap is only needed where they are equal, or come
 * back in parts. */
static int nest_all(struct function_builder *b, struct failure *failure)
{
    int rc;
    struct inlined_range item;

    if (b->num_inlinees == 0) {
        return 0;
    }
    b->num_open = 0;
    b->is_heap = false;
    rc = nest_sorted(b);
    if (rc <= 0) {
        return rc < 0 ? failure_memory(failure) : 0;
    }
    b->num_open = b->nested.count = 0;
    if (make_heap(b) != 0) {
        return failure_memory(failure);
    }
    while (b->heap.count > 0) {
        if (b->work-- == 0) {
            b->work = 0;
            return failure_work(failure);
        }
        item = pop_inlinee(&b->heap);
        if (nest_inlinee(b, &item) != 0) {
            return failure_memory(failure);
        }
    }
    return 0;
}

/* splitting lines where inlined code begins and ends ---------------------- */

static int add_piece(struct line_pieces *to, const struct symc_line *line,
                     uint32_t owner)
{
    if (to->count >= SYMC_NONE ||
        array_need(&to->list, &to->room, to->count + 1, sizeof(*to->list)) !=
            0) {
        return -1;
    }
    to->list[to->count].line = *line;
    to->list[to->count++].owner = owner;
    return 0;
}

static int compare_lines(const void *left, const void *right)
{
    const struct line_piece *a = left, *b = right;

    if (a->line.address != b->line.address) {
        return a->line.address < b->line.address ? -1 : 1;
    }
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

/* Sorts lines by address; those at the same address stay in their order, for
 * which each is a piece with its number for a while. */
static int sort_lines(struct function_builder *b)
{
    size_t i = 1, n = b->num_lines;

    while (i < n && b->lines[i].address >= b->lines[i - 1].address) {
        i++;
    }
    if (i >= n) {
        return 0;
    }
    for (i = 0; i < n; i++) {
        if (add_piece(&b->pieces, &b->lines[i], (uint32_t)i) != 0) {
            return -1;
        }
    }
    qsort(b->pieces.list, n, sizeof(*b->pieces.list), compare_lines);
    for (i = 0; i < n; i++) {
        b->lines[i] = b->pieces.list[i].line;
    }
    b->pieces.count = 0;
    return 0;
}

static uint64_t end_of(uint64_t address, uint64_t size)
{
    return size > UINT64_MAX - address ? UINT64_MAX : address + size;
}

static int open_node(struct function_builder *b, const struct symc_function *f)
{
    if (b->num_nodes >= SYMC_NONE ||
        array_need(&b->nodes, &b->node_room, b->num_nodes + 1,
                   sizeof(*b->nodes)) != 0 ||
        array_need(&b->open, &b->open_room, b->num_open + 1,
                   sizeof(*b->open)) != 0) {
        return -1;
    }
    b->nodes[b->num_nodes] = *f;
    b->open[b->num_open].end = end_of(f->address, f->size);
    b->open[b->num_open++].node = (uint32_t)b->num_nodes++;
    return 0;
}

/* Closes the innermost function and makes it a child of its parent. */
static void close_node(struct function_builder *b)
{
    uint32_t child = b->open[--b->num_open].node;
    struct symc_function *parent = &b->nodes[b->open[b->num_open - 1].node];

    if (parent->first_child == SYMC_NONE) {
        parent->first_child = child;
    } else {
        b->nodes[parent->last_child].next = child;
    }
    parent->last_child = child;
}

/* Closes functions that have ended at an address, and then those that are
 * nested deeper than depth.  The root stays open. */
static void close_nodes(struct function_builder *b, uint64_t address,
                        uint32_t depth)
{
    while (b->num_open > 1 && b->open[b->num_open - 1].end <= address) {
        close_node(b);
    }
    while (b->num_open > 1 && b->num_open - 1 > depth) {
        close_node(b);
    }
}

/* Opens an inlined function.  Its code is also a line of its caller: the one
 * of the call. */
static int open_inlinee(struct function_builder *b,
                        const struct inlined_range *item,
                        struct inlinee_name *names)
{
    struct symc_function f = {.address = item->address,
                              .size = item->size,
                              .name = names[item->name].name,
                              .memo = &names[item->name].memo,
                              .language = names[item->name].language,
                              .first_child = SYMC_NONE,
                              .last_child = SYMC_NONE,
                              .next = SYMC_NONE,
                              .is_inline = true};
    struct symc_line call = {item->address, item->line, item->source,
                             item->size};

    return add_piece(&b->pieces, &call, b->open[b->num_open - 1].node) != 0 ||
                   open_node(b, &f) != 0
               ? -1
               : 0;
}

/*
 * Adds the piece of a line that ends where the innermost open function ends or
 * the next inlined one begins.  Returns 1 if something of the line is left,
 * which *line then becomes, 0 if not, or -1 if memory runs out.
 */
static int cut_line(struct function_builder *b, struct symc_line *line,
                    const struct inlined_range *next)
{
    const struct open_function *open = &b->open[b->num_open - 1];
    struct symc_line piece = *line;
    uint64_t end, cut = open->end;

    if (line->size == SYMC_NO_SIZE) {
        return add_piece(&b->pieces, &piece, open->node);
    }
    if (next != NULL && next->address < cut) {
        cut = next->address;
    }
    end = end_of(line->address, line->size);
    if (cut < end) {
        piece.size = cut - line->address;
        line->address = cut;
        line->size = end - cut;
    }
    return add_piece(&b->pieces, &piece, open->node) != 0 ? -1 : cut < end;
}

/* Builds the tree by going through inlined ranges and lines together, in
 * address order. */
static int build_function(struct function_builder *b,
                          struct inlinee_name *names)
{
    int rc;
    size_t i = 0, l = 0;
    uint64_t end = b->root.address + b->root.size; /* may wrap, to no lines */
    const struct inlined_range *next;
    struct symc_line *line;

    b->num_open = b->num_nodes = 0;
    rc = open_node(b, &b->root);
    while (rc >= 0 && (i < b->nested.count || l < b->num_lines)) {
        next = i < b->nested.count ? &b->nested.list[i] : NULL;
        line = l < b->num_lines ? &b->lines[l] : NULL;
        if (next != NULL && (line == NULL || next->address <= line->address)) {
            close_nodes(b, next->address, next->depth);
            if (next->address >= end) {
                break;
            }
            rc = open_inlinee(b, next, names);
            i++;
        } else {
            close_nodes(b, line->address, UINT32_MAX);
            if (line->address >= end) {
                break;
            }
            rc = cut_line(b, line, next);
            l += rc == 0;
        }
    }
    close_nodes(b, 0, 0);
    return rc < 0 ? -1 : 0;
}

/* Groups the pieces by node; within a node they stay in their order. */
static int sort_pieces(struct function_builder *b)
{
    size_t i;
    uint32_t n = 0;
    struct symc_function *node;

    if (array_need(&b->sorted, &b->sorted_room, b->pieces.count,
                   sizeof(*b->sorted)) != 0) {
        return -1;
    }
    for (i = 0; i < b->pieces.count; i++) {
        b->nodes[b->pieces.list[i].owner].num_lines++;
    }
    for (i = 0; i < b->num_nodes; i++) {
        b->nodes[i].first_line = n;
        n += b->nodes[i].num_lines;
        b->nodes[i].num_lines = 0;
    }
    for (i = 0; i < b->pieces.count; i++) {
        node = &b->nodes[b->pieces.list[i].owner];
        b->sorted[node->first_line + node->num_lines++] =
            b->pieces.list[i].line;
    }
    return 0;
}

/* Does what build_function() and sort_pieces() do, for a function without
 * calls that are inlined, whose lines stay where they are. */
static int build_plain(struct function_builder *b)
{
    size_t i;
    uint64_t end = b->root.address + b->root.size; /* may wrap, to no lines */
    struct symc_line *line;

    b->num_open = b->num_nodes = 0;
    if (open_node(b, &b->root) != 0) {
        return -1;
    }
    for (i = 0; i < b->num_lines; i++) {
        line = &b->lines[i];
        if (line->address >= end) {
            break;
        }
        if (line->size > end - line->address && line->size != SYMC_NO_SIZE) {
            line->size = end - line->address;
            i++; /* the rest of it would be next, and after the end */
            break;
        }
    }
    b->nodes[0].first_line = 0;
    b->nodes[0].num_lines = (uint32_t)i;
    return 0;
}

static int build_tree(struct function_builder *b, struct inlinee_name *names)
{
    if (b->nested.count == 0) {
        return build_plain(b);
    }
    return build_function(b, names) != 0 ? -1 : sort_pieces(b);
}

/* the builder ------------------------------------------------------------- */

void function_builder_begin(struct function_builder *b, uint64_t address,
                            uint64_t size, const struct symc_name *name)
{
    memset(&b->root, 0, sizeof(b->root));
    b->root.address = address;
    b->root.size = size;
    b->root.name = *name;
    b->root.first_child = b->root.last_child = b->root.next = SYMC_NONE;
    b->has_taken = false;
    b->heap.count = b->nested.count = 0;
    b->added.count = b->pieces.count = 0;
}

int function_builder_inlined_range(struct function_builder *b,
                                   const struct inlined_range *inlinee)
{
    return inlinee->address < b->root.address
               ? 0
               : append_inlinee(&b->heap, inlinee);
}

int function_builder_line(struct function_builder *b,
                          const struct symc_line *line)
{
    if (line->address < b->root.address) {
        return 0;
    }
    if (b->added.count >= SYMC_NONE ||
        array_need(&b->added.list, &b->added.room, b->added.count + 1,
                   sizeof(*line)) != 0) {
        return -1;
    }
    b->added.list[b->added.count++] = *line;
    return 0;
}

void function_builder_take(struct function_builder *b,
                           const struct inlined_range *inlinees,
                           size_t num_inlinees, struct symc_line *lines,
                           size_t num_lines)
{
    b->has_taken = true;
    b->inlinees = inlinees;
    b->num_inlinees = num_inlinees;
    b->lines = lines;
    b->num_lines = num_lines;
}

int function_builder_end(struct function_builder *b,
                         struct symc_writer *writer,
                         struct inlinee_name *names,
                         struct symc_source *sources, struct failure *failure)
{
    struct symc_tree tree;

    if (b->root.size == 0 || b->root.address > UINT32_MAX) {
        return 0; /* the writer would leave it out */
    }
    if (!b->has_taken) {
        b->inlinees = b->heap.list;
        b->num_inlinees = b->heap.count;
        b->lines = b->added.list;
        b->num_lines = b->added.count;
    }
    if (nest_all(b, failure) != 0) {
        return -1;
    }
    if (sort_lines(b) != 0 || build_tree(b, names) != 0) {
        return failure_memory(failure);
    }
    tree.nodes = b->nodes;
    tree.lines = b->nested.count == 0 ? b->lines : b->sorted;
    tree.sources = sources;
    return failure_writer(failure, symc_writer_function(writer, &tree, 0));
}

void function_builder_free(struct function_builder *b)
{
    free(b->heap.list);
    free(b->keys);
    free(b->nested.list);
    free(b->added.list);
    free(b->pieces.list);
    free(b->open);
    free(b->nodes);
    free(b->sorted);
    memset(b, 0, sizeof(*b));
}
