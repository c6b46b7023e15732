/*
 * Copyright (C) the ngx_symcache authors
 */
#include "comment.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/decimal.h"

#define VALUES_MAX ((size_t)1 << 20) /* of JSON, in a comment */
#define R8 "com.android.tools.r8."

#define THROWS "throws("
#define REMOVE "removeInnerFrames("

static const char *const ids[] = {
    [PROGUARD_SOURCE_FILE] = "sourceFile",
    [PROGUARD_SYNTHESIZED] = R8 "synthesized",
    [PROGUARD_OUTLINE] = R8 "outline",
    [PROGUARD_OUTLINE_CALLSITE] = R8 "outlineCallsite",
    [PROGUARD_REWRITE_FRAME] = R8 "rewriteFrame",
};

#define IDS COUNT(ids)

/*
 * Most comments are of a kind that nothing here needs.  An id can be written
 * with escapes, so a text with a backslash may have any.
 */
static bool comment_may_matter(const struct proguard_text *text)
{
    static const char *const words[] = {"sourceFile", "synthesized", "utline",
                                        "rewriteFrame"};
    size_t i;

    if (memchr(text->data, '\\', text->size) != NULL) {
        return true;
    }
    for (i = 0; i < COUNT(words); i++) {
        if (memmem(text->data, text->size, words[i], strlen(words[i])) !=
            NULL) {
            return true;
        }
    }
    return false;
}

/* Every class has a comment of this form, if R8 wrote it. */
static bool comment_usual(struct proguard_comment *comment,
                          const struct proguard_text *text)
{
    static const char before[] = "{\"id\":\"sourceFile\",\"fileName\":\"";
    const size_t skip = sizeof(before) - 1;
    size_t i, end = text->size;

    if (end < skip + 2 || memcmp(text->data, before, skip) != 0 ||
        memcmp(text->data + end - 2, "\"}", 2) != 0) {
        return false;
    }
    for (i = skip; i < end - 2; i++) {
        if (text->data[i] == '"' || text->data[i] == '\\' ||
            (unsigned char)text->data[i] < 0x20) {
            return false;
        }
    }
    comment->id = PROGUARD_SOURCE_FILE;
    comment->file.data = text->data + skip;
    comment->file.size = end - 2 - skip;
    return true;
}

static struct proguard_text comment_text(const struct json *json,
                                         uint32_t value)
{
    struct proguard_text text = {json_text(json, value),
                                 json->values[value].size};

    return text;
}

static void trim_comment(struct proguard_text *text)
{
    while (text->size > 0 && strchr(" \t\r\n\f\v", text->data[0]) != NULL &&
           text->data[0] != '\0') {
        text->data++;
        text->size--;
    }
    while (text->size > 0 &&
           strchr(" \t\r\n\f\v", text->data[text->size - 1]) != NULL &&
           text->data[text->size - 1] != '\0') {
        text->size--;
    }
}

/* Reads digits, which a sign may precede. */
static bool comment_number(const struct proguard_text *text, uint64_t *number)
{
    size_t sign = text->size > 0 && text->data[0] == '+';

    return decimal_number(text->data + sign, text->size - sign, number);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct proguardcache_pair *x = a, *y = b;

    if (x->position != y->position) {
        return x->position < y->position ? -1 : 1;
    }
    return x->number < y->number ? -1 : 1;
}

/* Of pairs with the same position, the last one stays. */
static void sort_pairs(struct proguard_comment *comment)
{
    size_t i, n = 0;

    if (comment->num_pairs > 0) {
        qsort(comment->pairs, comment->num_pairs, sizeof(*comment->pairs),
              compare_pairs);
    }
    for (i = 0; i < comment->num_pairs; i++) {
        n -= n > 0 &&
             comment->pairs[n - 1].position == comment->pairs[i].position;
        comment->pairs[n++] = comment->pairs[i];
    }
    comment->num_pairs = n;
}

static int comment_callsite(struct proguard_comment *comment)
{
    const struct json *json = &comment->json;
    uint32_t positions = json_member(json, 0, "positions"), value, i;
    struct proguardcache_pair pair;
    struct proguard_text name;
    uint64_t position, line;

    comment->num_pairs = 0;
    if (positions == 0 || json->values[positions].type != JSON_OBJECT) {
        return 0;
    }
    value = positions + 1;
    for (i = 0; i < json->values[positions].size; i++) {
        name = comment_text(json, value);
        if (json_integer(json, value + 1, &line) != JSON_INTEGER_POSITIVE) {
            return 0;
        }
        value = json->values[value + 1].end;
        if (!comment_number(&name, &position)) {
            continue;
        }
        pair.position = (uint32_t)position;
        pair.line = (uint32_t)line;
        pair.number = i;
        if (array_need(&comment->pairs, &comment->pair_room,
                       comment->num_pairs + 1, sizeof(*comment->pairs)) != 0) {
            return -1;
        }
        comment->pairs[comment->num_pairs++] = pair;
    }
    sort_pairs(comment);
    comment->id =
        comment->num_pairs > 0 ? PROGUARD_OUTLINE_CALLSITE : PROGUARD_OTHER;
    return 0;
}

/* Finds the text in the parentheses after a word. */
static bool comment_call(struct proguard_text text, const char *word,
                         struct proguard_text *inner)
{
    size_t size = strlen(word);

    *inner = text;
    if (text.size < size || memcmp(text.data, word, size) != 0) {
        return false;
    }
    inner->data += size;
    inner->size -= size;
    if (inner->size > 0 && inner->data[inner->size - 1] == ')') {
        inner->size--;
    } else {
        inner->data = NULL;
    }
    return true;
}

/* A rule for rewriting frames: the class of the exception to which it applies,
 * and how many frames to remove. */
struct proguard_rule {
    struct proguard_text descriptor;
    bool is_met; /* by something */
    uint64_t removed; /* at most UINT32_MAX */
};

/* Unknown conditions are never met. */
static bool comment_condition(struct proguard_rule *rule,
                              struct proguard_text text)
{
    struct proguard_text inner;

    trim_comment(&text);
    if (!comment_call(text, THROWS, &inner)) {
        rule->is_met = false;
        return text.size > 0;
    }
    if (inner.data == NULL || inner.size == 0) {
        return false;
    }
    if (rule->descriptor.data != NULL &&
        (rule->descriptor.size != inner.size ||
         memcmp(rule->descriptor.data, inner.data, inner.size) != 0)) {
        rule->is_met = false; /* nothing is of two classes */
    }
    rule->descriptor = inner;
    return true;
}

/* Unknown actions do nothing. */
static bool comment_action(struct proguard_rule *rule,
                           struct proguard_text text)
{
    struct proguard_text inner;
    uint64_t n;

    trim_comment(&text);
    if (!comment_call(text, REMOVE, &inner)) {
        return text.size > 0;
    }
    if (inner.data == NULL || !comment_number(&inner, &n)) {
        return false;
    }
    rule->removed = n < UINT32_MAX - rule->removed ? rule->removed + n
                                                   : UINT32_MAX;
    return true;
}

static bool comment_list(const struct json *json, const char *name,
                         struct proguard_rule *rule,
                         bool (*read)(struct proguard_rule *,
                                      struct proguard_text))
{
    uint32_t list = json_member(json, 0, name), value, i;

    if (list == 0 || json->values[list].type != JSON_ARRAY ||
        json->values[list].size == 0) {
        return false;
    }
    value = list + 1;
    for (i = 0; i < json->values[list].size; i++) {
        if (json->values[value].type != JSON_STRING ||
            !read(rule, comment_text(json, value))) {
            return false;
        }
        value = json->values[value].end;
    }
    return true;
}

/* A rule that is malformed, or never met, or does nothing is left out. */
static void comment_rule(struct proguard_comment *comment)
{
    struct proguard_rule rule = {{NULL, 0}, true, 0};

    if (comment_list(&comment->json, "conditions", &rule, comment_condition) &&
        comment_list(&comment->json, "actions", &rule, comment_action) &&
        rule.is_met && rule.removed > 0) {
        comment->id = PROGUARD_REWRITE_FRAME;
        comment->descriptor = rule.descriptor;
        comment->removed = (uint32_t)rule.removed;
    }
}

static int comment_members(struct proguard_comment *comment)
{
    uint32_t id = json_member(&comment->json, 0, "id"), file;
    size_t i;

    for (i = 1; id != 0 && i < IDS && !json_is(&comment->json, id, ids[i]);
         i++) {
    }
    if (id == 0 || i == IDS) {
        return 0;
    }
    switch ((enum proguard_comment_id)i) {
    case PROGUARD_SOURCE_FILE:
        file = json_member(&comment->json, 0, "fileName");
        if (file != 0 && comment->json.values[file].type == JSON_STRING) {
            comment->id = PROGUARD_SOURCE_FILE;
            comment->file = comment_text(&comment->json, file);
        }
        return 0;
    case PROGUARD_OUTLINE_CALLSITE:
        return comment_callsite(comment);
    case PROGUARD_REWRITE_FRAME:
        comment_rule(comment);
        return 0;
    default:
        comment->id = (enum proguard_comment_id)i;
        return 0;
    }
}

int proguard_comment_read(struct proguard_comment *comment,
                          const struct proguard_text *text)
{
    struct json_error error = {0};

    comment->id = PROGUARD_OTHER;
    if (!comment_may_matter(text) || comment_usual(comment, text)) {
        return 0;
    }
    if (array_need(&comment->text, &comment->text_room, text->size, 1) != 0) {
        return -1;
    }
    memcpy(comment->text, text->data, text->size);
    if (text->size > UINT32_MAX ||
        json_read(&comment->json, comment->text, text->size, VALUES_MAX,
                  &error) != text->size) {
        return error.out_of_memory ? -1 : 0;
    }
    return comment_members(comment);
}

void proguard_comment_free(struct proguard_comment *comment)
{
    free(comment->pairs);
    free(comment->text);
    json_free(&comment->json);
}
