/*
 * Copyright (C) the ngx_symcache authors
 *
 * swarm PORT CONNECTIONS hold|trace|share PATHS
 *
 * Many clients at once, each with a connection of its own.  PATHS is a file
 * with one request path a line.  hold: client i asks for path i modulo their
 * number, once.  trace: every client asks for every path, one after another.
 * share: each path is asked for once, by clients that each have their part.
 *
 * Writes "sent" when all connections are made and have asked, and at the end
 * a line per answer: path number, status, bytes of the body, microseconds
 * that it took, and the time its last byte came (seconds since 1970).
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 2048
#define SILENCE_SECONDS 120

struct client {
    int fd;
    size_t path; /* asked now */
    size_t left; /* paths still to ask, this one included */
    struct timespec since;
    char head[HEAD_MAX];
    size_t head_len;
    int status;     /* 0: the head is not complete */
    long long body; /* bytes announced */
    long long body_left;
};

struct answer {
    size_t path;
    int status;
    long long body;
    long long micros;
    struct timespec at;
};

static struct client *clients;
static char **paths;
static size_t npaths;
static size_t stride; /* from a client's path to its next one */
static struct answer *answers;
static size_t nanswers;

static void die(const char *what)
{
    fprintf(stderr, "swarm: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_paths(const char *file)
{
    FILE *f = fopen(file, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t n;

    if (f == NULL) {
        die(file);
    }
    while ((n = getline(&line, &size, f)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        paths = realloc(paths, (npaths + 1) * sizeof(*paths));
        if (paths == NULL || (paths[npaths] = strdup(line)) == NULL) {
            die("memory");
        }
        npaths++;
    }
    free(line);
    fclose(f);
    if (npaths == 0) {
        errno = EINVAL;
        die(file);
    }
}

static void client_ask(struct client *c)
{
    char text[1024];
    int n;

    n = snprintf(text, sizeof(text),
                 "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", paths[c->path]);
    c->head_len = 0;
    c->status = 0;
    clock_gettime(CLOCK_REALTIME, &c->since);
    if (write(c->fd, text, (size_t)n) != n) {
        die("write");
    }
}

static void client_open(struct client *c, int port, int epoll)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    int on = 1;

    to.sin_port = htons((unsigned short)port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd == -1) {
        die("socket");
    }
    if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        die("connect");
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev) != 0) {
        die("epoll");
    }
}

static void client_answered(struct client *c)
{
    struct answer *a = &answers[nanswers++];

    clock_gettime(CLOCK_REALTIME, &a->at);
    a->path = c->path;
    a->status = c->status;
    a->body = c->body;
    a->micros = (a->at.tv_sec - c->since.tv_sec) * 1000000LL +
                (a->at.tv_nsec - c->since.tv_nsec) / 1000;
    c->left--;
    if (c->left > 0) {
        c->path = (c->path + stride) % npaths;
        client_ask(c);
    }
}

/* Returns the size of the head, or 0 while it is not complete. */
static size_t client_head(struct client *c)
{
    char *end, *field;

    c->head[c->head_len] = '\0';
    end = strstr(c->head, "\r\n\r\n");
    if (end == NULL) {
        return 0;
    }
    field = strcasestr(c->head, "\r\ncontent-length:");
    c->body = field != NULL && field < end ? strtoll(field + 17, NULL, 10) : 0;
    c->body_left = c->body;
    c->status = (int)strtol(c->head + 9, NULL, 10);
    return (size_t)(end - c->head) + 4;
}

/* Reads what has come.  Returns 0, or -1 if the connection has ended. */
static int client_read(struct client *c)
{
    static char buf[1 << 18];
    size_t room, head;
    ssize_t n;

    if (c->status != 0) {
        n = read(c->fd, buf, sizeof(buf));
    } else {
        room = sizeof(c->head) - 1 - c->head_len;
        n = read(c->fd, c->head + c->head_len, room);
    }
    if (n <= 0) {
        return n == -1 && errno == EAGAIN ? 0 : -1;
    }
    if (c->status != 0) {
        c->body_left -= n;
    } else {
        c->head_len += (size_t)n;
        head = client_head(c);
        if (head == 0) {
            return c->head_len == sizeof(c->head) - 1 ? -1 : 0;
        }
        c->body_left -= (long long)(c->head_len - head);
    }
    if (c->body_left <= 0) {
        client_answered(c);
    }
    return 0;
}

/* Reads until all clients have all of their answers.  Returns how many of them
 * were cut off. */
static size_t run(int epoll, size_t n)
{
    struct epoll_event events[256];
    struct client *c;
    size_t open = n, cut = 0;
    int got, i;

    while (open > 0) {
        got = epoll_wait(epoll, events, 256, SILENCE_SECONDS * 1000);
        if (got <= 0) {
            return cut + open;
        }
        for (i = 0; i < got; i++) {
            c = events[i].data.ptr;
            if (client_read(c) == 0 && c->left > 0) {
                continue;
            }
            cut += c->left > 0;
            open--;
            close(c->fd);
        }
    }
    return cut;
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    size_t n, i, cut;
    int port, epoll, trace, share;

    if (argc != 5) {
        fprintf(stderr, "usage: swarm PORT CONNECTIONS hold|trace|share PATHS\n");
        return 2;
    }
    port = (int)strtol(argv[1], NULL, 10);
    n = strtoul(argv[2], NULL, 10);
    trace = strcmp(argv[3], "trace") == 0;
    share = strcmp(argv[3], "share") == 0;
    stride = share ? n : 1;
    read_paths(argv[4]);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    epoll = epoll_create1(EPOLL_CLOEXEC);
    clients = calloc(n, sizeof(*clients));
    answers = calloc(trace ? n * npaths : n + npaths, sizeof(*answers));
    if (epoll == -1 || clients == NULL || answers == NULL) {
        die("memory");
    }
    for (i = 0; i < n; i++) {
        clients[i].path = trace ? 0 : i % npaths;
        clients[i].left = trace   ? npaths
                          : share ? (npaths - i % npaths - 1) / n + 1
                                  : 1;
        client_open(&clients[i], port, epoll);
    }
    for (i = 0; i < n; i++) {
        client_ask(&clients[i]);
    }
    puts("sent");
    fflush(stdout);
    cut = run(epoll, n);
    for (i = 0; i < nanswers; i++) {
        printf("%zu %d %lld %lld %lld.%09ld\n", answers[i].path,
               answers[i].status, answers[i].body, answers[i].micros,
               (long long)answers[i].at.tv_sec, answers[i].at.tv_nsec);
    }
    if (cut > 0) {
        fprintf(stderr, "swarm: %zu clients had no answer\n", cut);
        return 1;
    }
    return 0;
}
