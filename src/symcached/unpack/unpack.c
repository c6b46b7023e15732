/*
 * Copyright (C) the ngx_symcache authors
 *
 * The helper's side of unpacking.
 */
#include "unpack.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "checksum.h"
#include "child/child.h"
#include "proto/hints.h"

struct unpack {
    struct child *child;
    unpack_done_fn done;
    void *arg;
    size_t nplaces;
    unsigned first; /* seconds */
    char how[64];
};

const char *source_outcome_name(enum source_outcome outcome)
{
    static const char *const names[] = {"found",        "not found", "unusable",
                                        "wrong format", "failed",    "pending"};

    return names[outcome];
}

static enum unpack_found unpack_letter(char letter,
                                       enum source_outcome *outcome)
{
    *outcome = SOURCE_FOUND;

    switch (letter) {
    case 'F':
    case 'f':
        return UNPACK_OUT;
    case 'K':
    case 'k':
        return UNPACK_IN;
    case 'H':
    case 'h':
        return UNPACK_HERE;
    case 'P':
        return UNPACK_POINTER;
    case 'N':
        *outcome = SOURCE_NOT_FOUND;
        break;
    case 'X':
        *outcome = SOURCE_WRONG_FORMAT;
        break;
    case 'U':
    case 'W':
        *outcome = SOURCE_UNUSABLE;
        break;
    default:
        *outcome = SOURCE_FAILED;
        break;
    }

    return UNPACK_NONE;
}

/* Reads the lines of the child process; CHILD_TAIL limits their length. */
static void read_lines(struct unpack_result *result, char *text,
                       size_t nplaces)
{
    struct unpack_attempt *attempt;
    char *line, *next;

    for (line = text; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next == NULL) {
            break; /* incomplete: the child process died */
        }
        *next++ = '\0';

        if (line[0] != '@' || line[1] < '0' ||
            (size_t)(line[1] - '0') >= nplaces || line[2] != ' ' ||
            line[3] == '\0' || line[4] != ' ' ||
            result->nattempts == UNPACK_PLACES ||
            result->found != UNPACK_NONE) {
            continue;
        }

        if (line[3] == 'A') {
            result->again = true;
            continue;
        }
        if (line[3] == 'R') {
            result->wanted = strtoull(line + 5, NULL, 10);
            continue;
        }
        if (line[3] == 'O') {
            continue;
        }

        attempt = &result->attempts[result->nattempts++];
        attempt->other = line[3] == 'W';
        attempt->place = (size_t)(line[1] - '0');
        attempt->detail = line + 5;
        result->found = unpack_letter(line[3], &attempt->outcome);
        result->publics_only = strchr("fkh", line[3]) != NULL;
    }
}

/* The child process died.  Some damage is only noticed by a crash. */
static void died(struct unpack *unpack, struct unpack_result *result,
                 const struct child_result *child)
{
    struct unpack_attempt *attempt;

    result->found = UNPACK_NONE;
    result->again = false;
    if (result->nattempts == UNPACK_PLACES) {
        result->nattempts--;
    }
    attempt = &result->attempts[result->nattempts];
    attempt->place =
        result->nattempts < unpack->nplaces ? result->nattempts : 0;
    attempt->detail = unpack->how;
    result->nattempts++;

    result->died = true;
    result->silent = child->silent;
    if (child->silent) {
        attempt->outcome = SOURCE_FAILED;
        snprintf(unpack->how, sizeof(unpack->how), "no answer within %u s",
                 unpack->first);
    } else if (child->timed_out) {
        attempt->outcome = SOURCE_FAILED;
        snprintf(unpack->how, sizeof(unpack->how),
                 "reading took longer than download_time");
    } else if (WIFSIGNALED(child->status)) {
        attempt->outcome = WTERMSIG(child->status) == SIGTERM ||
                                   WTERMSIG(child->status) == SIGKILL
                               ? SOURCE_FAILED
                               : SOURCE_UNUSABLE;
        snprintf(unpack->how, sizeof(unpack->how),
                 "unpacking ended by signal %d", WTERMSIG(child->status));
    } else {
        attempt->outcome = SOURCE_FAILED;
        snprintf(unpack->how, sizeof(unpack->how),
                 "unpacking ended with exit code %d",
                 WEXITSTATUS(child->status));
    }
}

static void unpack_on_exit(void *arg, struct child_result *child)
{
    struct unpack *unpack = arg;
    struct unpack_result result = {0};

    result.ms = child->ms;
    read_lines(&result, child->tail, unpack->nplaces);

    if (child->timed_out || !WIFEXITED(child->status) ||
        WEXITSTATUS(child->status) != 0 ||
        (result.nattempts == 0 && !result.again)) {
        died(unpack, &result, child);
    }

    unpack->done(unpack->arg, &result);
    free(unpack);
}

/* "<kind>/<id>" and a NUL */
#define KEY_TEXT (SYMCACHE_KIND_TEXT_MAX + 1 + SYMCACHE_ID_TEXT_MAX + 1)

static void print_key(char text[KEY_TEXT], const symcache_key_t *key)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];

    symcache_id_print(id, key);
    snprintf(text, KEY_TEXT, "%s/%s",
             symcache_kind_text((symcache_kind_e)key->kind), id);
}

/* The environment of the child process: the checksum, if there is one. */
struct environment {
    char checksum[sizeof(UNPACK_CHECKSUM "=") + SYMCACHE_HINT_MAX];
    char *env[2];
};

static char **environment(struct environment *e, const char *checksum)
{
    e->env[0] = e->env[1] = NULL;
    if (checksum != NULL) {
        snprintf(e->checksum, sizeof(e->checksum), UNPACK_CHECKSUM "=%s",
                 checksum);
        e->env[0] = e->checksum;
    }
    return e->env;
}

/* Adds the arguments for a search in a directory. */
static void add_places(const char **argv, const struct unpack_request *request,
                       const char *unchanged, const char *index2)
{
    size_t i;

    *argv++ = request->flat      ? "flat"
              : request->beneath ? "beneath"
                                 : "tree";
    *argv++ = unchanged;
    *argv++ = index2;
    *argv++ = request->root;
    for (i = 0; i < request->nplaces; i++) {
        *argv++ = request->places[i];
    }
}

struct unpack *unpack_start(struct event_base *base,
                            const struct unpack_request *request,
                            unpack_done_fn done, void *arg)
{
    char id[KEY_TEXT], max[48], index2[24], unchanged[24];
    char formats[CONFIG_FORMATS_TEXT];
    const char *argv[10 + UNPACK_PLACES + 1] = {
        CHILD_SANDBOXED, "--unpack",
        id,          max,
        formats,     request->key->name};
    struct environment env;
    int fds[3] = {request->out, request->in};
    struct child_options options = {0};
    struct unpack *unpack;

    print_key(id, request->key);
    snprintf(max, sizeof(max), "%" PRIu64 ":%" PRIu64, request->max,
             request->keep);
    snprintf(index2, sizeof(index2), "%zu", request->index2);
    snprintf(unchanged, sizeof(unchanged), "%lld",
             (long long)request->unchanged);
    config_formats_print(formats, request->formats, ",");

    options.nfds = 2;
    if (request->in < 0) {
        options.nfds = 1;
        if (request->flat) {
            options.nfds = 3;
            fds[1] = request->index;
            fds[2] = request->new_index;
        }
        add_places(argv + 6, request, unchanged, index2);
    }

    unpack = calloc(1, sizeof(*unpack));
    if (unpack == NULL) {
        return NULL;
    }
    unpack->done = done;
    unpack->arg = arg;
    unpack->nplaces = request->in < 0 ? request->nplaces : 1;
    unpack->first = request->first;

    options.argv = (char *const *)argv;
    options.env = environment(&env, request->checksum);
    options.fds = fds;
    options.seconds = request->seconds;
    options.first = request->first;
    options.gone = request->gone;
    options.gone_arg = request->gone_arg;

    unpack->child = child_start(base, &options, unpack_on_exit, unpack);
    if (unpack->child == NULL) {
        free(unpack);
        return NULL;
    }
    return unpack;
}

void unpack_cancel(struct unpack *unpack)
{
    child_cancel(unpack->child);
    free(unpack);
}
