/*
 * Copyright (C) the ngx_symcache authors
 *
 * The helper's side of unpacking.
 */
#include "intake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "base/fd_close.h"

#include "child/child.h"
#include "dir_places.h"
#include "proto/hints.h"
#include "symcached/space/space.h"

struct unpack {
    struct child *child;
    unpack_done_fn done;
    void *arg;
    size_t nplaces;
    uint64_t max;
    const struct cache_config *cache;
    uint64_t lent;     /* by total_lend() */
    unsigned first;    /* seconds */
    unsigned pointers; /* a bit for each place that is a file.ptr */
    bool received;     /* not from a directory */
    int socket;        /* has the files that are left where they are; or -1 */
    char how[64];
};

const char *source_outcome_name(enum source_outcome outcome)
{
    static const char *const names[] = {
        [SOURCE_FOUND] = "found",       [SOURCE_NOT_FOUND] = "not found",
        [SOURCE_UNUSABLE] = "unusable", [SOURCE_WRONG_FORMAT] = "wrong format",
        [SOURCE_FAILED] = "failed",     [SOURCE_FAILED_HERE] = "failed here",
        [SOURCE_PENDING] = "pending",   [SOURCE_MALFORMED] = "unusable",
    };

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
    case 'B':
        *outcome = SOURCE_MALFORMED;
        break;
    case 'U':
    case 'W':
        *outcome = SOURCE_UNUSABLE;
        break;
    case 'M':
        *outcome = SOURCE_FAILED_HERE;
        break;
    default:
        *outcome = SOURCE_FAILED;
        break;
    }

    return UNPACK_NONE;
}

/*
 * Parses the child's report.  The child has read an untrusted file and may be
 * compromised, so only results that are possible at this place are accepted.
 */
static enum unpack_found believe_process(const struct unpack *unpack,
                                         size_t place, char letter,
                                         struct unpack_result *result,
                                         struct unpack_attempt *attempt)
{
    enum unpack_found found = unpack_letter(letter, &attempt->outcome);
    bool may_be = true;

    if (found == UNPACK_IN) {
        may_be = unpack->received;
    } else if (found == UNPACK_POINTER) {
        may_be = (unpack->pointers & 1u << place) != 0;
    } else if (found == UNPACK_HERE) {
        result->here = in_place_receive(unpack->socket, place);
        may_be = result->here >= 0;
    }
    if (!may_be) {
        attempt->outcome = SOURCE_FAILED;
        attempt->detail = "unpacking found what is not there";
        return UNPACK_NONE;
    }
    return found;
}

/* Reads the lines of the child process; CHILD_TAIL limits their length. */
static void read_lines(const struct unpack *unpack,
                       struct unpack_result *result, char *text)
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
            (size_t)(line[1] - '0') >= unpack->nplaces || line[2] != ' ' ||
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
            if (result->wanted > unpack->max) {
                result->wanted = unpack->max; /* a larger file is refused */
            }
            continue;
        }
        if (line[3] == 'S') {
            result->features = (unsigned)strtoul(line + 5, NULL, 16);
            continue;
        }
        if (line[3] == 'O') {
            continue;
        }

        attempt = &result->attempts[result->nattempts++];
        attempt->other = line[3] == 'W';
        attempt->place = (size_t)(line[1] - '0');
        attempt->detail = line + 5;
        result->found =
            believe_process(unpack, attempt->place, line[3], result, attempt);
        result->publics_only = strchr("fkh", line[3]) != NULL;
    }
}

/* The child process died.  Some damage is only noticed by a crash. */
static void process_died(struct unpack *unpack, struct unpack_result *result,
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
        attempt->outcome =
            unpack->received ? SOURCE_FAILED_HERE : SOURCE_FAILED;
        snprintf(unpack->how, sizeof(unpack->how),
                 "reading took longer than download_time");
    } else if (WIFSIGNALED(child->status)) {
        attempt->outcome = WTERMSIG(child->status) == SIGTERM ||
                                   WTERMSIG(child->status) == SIGKILL
                               ? SOURCE_FAILED_HERE
                               : SOURCE_UNUSABLE;
        snprintf(unpack->how, sizeof(unpack->how),
                 "unpacking ended by signal %d", WTERMSIG(child->status));
    } else {
        attempt->outcome = SOURCE_FAILED_HERE;
        snprintf(unpack->how, sizeof(unpack->how),
                 "unpacking ended with exit code %d",
                 WEXITSTATUS(child->status));
    }
}

static void release_unpack(struct unpack *unpack)
{
    fd_close(unpack->socket);
    total_give_back(unpack->cache, unpack->lent);
    free(unpack);
}

static void unpack_on_exit(void *arg, struct child_result *child)
{
    struct unpack *unpack = arg;
    struct unpack_result result = {.here = -1};

    result.ms = child->ms;
    read_lines(unpack, &result, child->tail);

    if (child->timed_out || !WIFEXITED(child->status) ||
        WEXITSTATUS(child->status) != 0 ||
        (result.nattempts == 0 && !result.again)) {
        process_died(unpack, &result, child);
    }

    unpack->done(unpack->arg, &result);
    fd_close(result.here);
    release_unpack(unpack);
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

/* The environment of the child process: the checksum, if there is one, and
 * whether the body is coded. */
struct environment {
    char checksum[sizeof(UNPACK_CHECKSUM "=") + SYMCACHE_HINT_MAX];
    char *env[3];
};

static char **unpack_set_environment(struct environment *e,
                                     const struct unpack_request *request)
{
    static char coded[] = UNPACK_CODED "=1";
    size_t n = 0;

    if (request->checksum != NULL) {
        snprintf(e->checksum, sizeof(e->checksum), UNPACK_CHECKSUM "=%s",
                 request->checksum);
        e->env[n++] = e->checksum;
    }
    if (request->coded) {
        e->env[n++] = coded;
    }
    e->env[n] = NULL;
    return e->env;
}

/* Adds the arguments for a search in a directory. */
static void add_places(const char **argv, const struct unpack_request *request,
                       const char *unchanged, const char *index2)
{
    size_t i;

    *argv++ = request->flat ? "flat" : request->beneath ? "beneath" : "tree";
    *argv++ = unchanged;
    *argv++ = index2;
    *argv++ = request->root;
    for (i = 0; i < request->nplaces; i++) {
        *argv++ = request->places[i];
    }
}

/* Returns NULL with errno. */
static struct unpack *prepare_unpack(const struct unpack_request *request,
                                     unpack_done_fn done, void *arg)
{
    struct unpack *unpack = calloc(1, sizeof(*unpack));
    size_t i;

    if (unpack == NULL) {
        return NULL;
    }
    unpack->done = done;
    unpack->arg = arg;
    unpack->received = request->in >= 0;
    unpack->nplaces = unpack->received ? 1 : request->nplaces;
    unpack->max = request->max;
    unpack->cache = request->cache;
    unpack->lent = total_lend(request->cache);
    unpack->first = request->first;
    unpack->socket = -1;
    for (i = 0; i < request->nplaces; i++) {
        unpack->pointers |= (unsigned)dir_places_is_pointer(request->places[i])
                            << i;
    }
    return unpack;
}

/*
 * The descriptors of the child for a directory.  The last one is its end of a
 * socket for files that are left where they are, which is returned, and is to
 * be closed after the start; or -1: all are copied.
 */
static int add_fds(struct unpack *unpack, const struct unpack_request *request,
                   struct child_options *options, int *fds)
{
    int ends[2] = {-1, -1};

    if (request->flat) {
        fds[options->nfds++] = request->index;
        fds[options->nfds++] = request->new_index;
    }
    if (request->unchanged != 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
        unpack->socket = ends[0];
        fds[options->nfds++] = ends[1];
    }
    return ends[1];
}

struct unpack *unpack_start(struct event_base *base,
                            const struct unpack_request *request,
                            unpack_done_fn done, void *arg)
{
    char id[KEY_TEXT], max[72], index2[24], unchanged[48];
    char formats[CONFIG_FORMATS_TEXT];
    const char *argv[10 + UNPACK_PLACES + 1] = {
        SANDBOX_PROGRAM, "--unpack", id, max, formats, request->key->name};
    struct environment env;
    int fds[4] = {request->out, request->in}, socket = -1;
    struct child_options options = {0};
    struct unpack *unpack = prepare_unpack(request, done, arg);

    if (unpack == NULL) {
        return NULL;
    }

    print_key(id, request->key);
    snprintf(max, sizeof(max), "%" PRIu64 ":%" PRIu64 ":%" PRIu64,
             request->max, request->keep, unpack->lent);
    snprintf(index2, sizeof(index2), "%zu", request->index2);
    config_formats_print(formats, request->formats, ",");

    options.nfds = 2;
    if (request->in < 0) {
        options.nfds = 1;
        socket = add_fds(unpack, request, &options, fds);
        snprintf(unchanged, sizeof(unchanged), "%lld:%lld",
                 socket >= 0 ? (long long)request->unchanged : 0LL,
                 (long long)request->settled);
        add_places(argv + 6, request, unchanged, index2);
    }

    options.argv = (char *const *)argv;
    options.env = unpack_set_environment(&env, request);
    options.fds = fds;
    options.seconds = request->seconds;
    options.first = request->first;
    options.gone = request->gone;
    options.gone_arg = request->gone_arg;

    unpack->child = child_start(base, &options, unpack_on_exit, unpack);
    fd_close(socket);
    if (unpack->child == NULL) {
        release_unpack(unpack);
        return NULL;
    }
    return unpack;
}

void unpack_cancel(struct unpack *unpack)
{
    child_cancel(unpack->child);
    release_unpack(unpack);
}
