/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"

#define BLANKS " \t\r\n"
#define LINE_SIZE 512
#define TOKEN_MIN 16 /* characters */
#define TOKENS_MAX 10000

/* Clients append "-" and a label to their token, so it has no such character.
 * token is filled only if the line is good. */
static const char *read_token_line(char *line, struct upload_token *token)
{
    char *rest;
    const char *text = strtok_r(line, BLANKS, &rest);
    const char *right = strtok_r(NULL, BLANKS, &rest);
    const char *user = strtok_r(NULL, BLANKS, &rest);

    if (user == NULL || strtok_r(NULL, BLANKS, &rest) != NULL) {
        return "a line is \"TOKEN upload USER\" or \"TOKEN try USER\"";
    }
    if (strlen(text) < TOKEN_MIN || strchr(text, '-') != NULL) {
        return "a token has 16 characters or more, and no \"-\"";
    }
    if (strcmp(right, "upload") != 0 && strcmp(right, "try") != 0) {
        return "the right is \"upload\" or \"try\"";
    }
    token->only_try = right[0] == 't';
    token->token = strdup(text);
    token->user = strdup(user);
    return token->token != NULL && token->user != NULL ? NULL
                                                       : "out of memory";
}

static const char *add_token_line(struct uploads_config *uploads, char *line)
{
    struct upload_token *tokens;

    line += strspn(line, BLANKS);
    if (line[0] == '\0' || line[0] == '#') {
        return NULL;
    }
    if (uploads->ntokens == TOKENS_MAX) {
        return "there are too many tokens";
    }
    tokens = realloc(uploads->tokens,
                     (uploads->ntokens + 1) * sizeof(tokens[0]));
    if (tokens == NULL) {
        return "out of memory";
    }
    uploads->tokens = tokens;
    memset(&tokens[uploads->ntokens], 0, sizeof(tokens[0]));
    return read_token_line(line, &tokens[uploads->ntokens++]);
}

const char *config_tokens_read(struct uploads_config *uploads, FILE *list,
                               unsigned *line)
{
    const char *wrong = NULL;
    char text[LINE_SIZE];

    *line = 0;
    while (wrong == NULL && fgets(text, sizeof(text), list) != NULL) {
        ++*line;
        if (strchr(text, '\n') != NULL || feof(list)) {
            wrong = add_token_line(uploads, text);
        } else {
            wrong = strlen(text) == LINE_SIZE - 1 ? "a line is too long"
                                                  : "has a NUL byte";
        }
    }
    if (wrong == NULL && ferror(list)) {
        ++*line;
        wrong = strerror(errno);
    }
    explicit_bzero(text, sizeof(text));
    return wrong;
}

void config_tokens_clear(struct uploads_config *uploads)
{
    while (uploads->ntokens > 0) {
        uploads->ntokens--;
        secret_free(uploads->tokens[uploads->ntokens].token);
        free(uploads->tokens[uploads->ntokens].user);
    }
    free(uploads->tokens);
    uploads->tokens = NULL;
}
