/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the whole of symbolicated, over its socket, with a store that
 * has a good SymCache and a bad one, and no symcached.  The first byte of the
 * input selects the protocol and headers, the rest is the body; or the rest is
 * the connection, as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "http/http.h"
#include "json/json.h"
#include "symbolicated/worker_thread.h"
#include "../t/unit/symc_example.h"

/* Of the first byte: two bits of protocol, and headers. */
enum { V5, V4, SYMBOLICATOR, BYTES, PROTOCOL = 3, DEBUG = 4, ORIGIN = 8 };

#define ID "3249D99D0C4049318610F4E4FB0B69361"
#define ANSWER_MAX (1u << 20)
#define PATIENCE_MS 20000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = {
    "symcached.json",
    "store/crash.pdb/" ID "/crash.pdb-v9.0.0.symcache",
    "store/bad.pdb/" ID "/bad.pdb-v9.0.0.symcache",
    "s.sock",
};

/* The innermost first, to be removed in this order. */
static const char *const folders[] = {
    "store/crash.pdb/" ID, "store/crash.pdb", "store/bad.pdb/" ID,
    "store/bad.pdb", "store"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char folder[] = "/tmp/fuzz-symbolicated-XXXXXX";
static int folder_fd;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static struct worker *worker;

static void die(const char *why)
{
    fprintf(stderr, "%s\n", why);
    abort();
}

static void write_file(const char *name, const void *data, size_t size)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd == -1 || write(fd, data, size) != (ssize_t)size) {
        die(name);
    }
    close(fd);
}

static void clean(void)
{
    size_t i;

    worker_stop(worker);
    worker_join(worker);
    worker_free(worker);
    for (i = 0; i < COUNT(files); i++) {
        unlinkat(folder_fd, files[i], 0);
    }
    for (i = 0; i < COUNT(folders); i++) {
        unlinkat(folder_fd, folders[i], AT_REMOVEDIR);
    }
    rmdir(folder);
}

static void make_files(void)
{
    char config[512];
    size_t i;

    if (mkdtemp(folder) == NULL ||
        (folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1) {
        die(folder);
    }
    for (i = COUNT(folders); i-- > 0;) {
        mkdirat(folder_fd, folders[i], 0700);
    }
    snprintf(config, sizeof(config),
             "{\"listen\": \"unix:%s/h.sock\", \"stores\": {\"default\": "
             "{\"root\": \"%s/store\"}}, \"symbolication\": {\"listen\": "
             "\"unix:%s/s.sock\", \"limits\": {\"answer_size\": \"256k\"}, "
             "\"symbolicator\": {\"kept_size\": \"1m\"}}}",
             folder, folder, folder);
    write_file(files[0], config, strlen(config));
    write_file(files[1], example_v9, sizeof(example_v9));
    write_file(files[2], example_v9, sizeof(example_v9) - 9);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct listener listener;
    static struct workers workers = {.list = &worker, .n = 1};
    static char path[sizeof(folder) + 20]; /* the configuration keeps it */
    static struct config *config;
    static struct settings *settings;
    char error[1024];

    make_files();
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s.sock", folder);
    snprintf(path, sizeof(path), "%s/%s", folder, files[0]);
    if (log_open("/dev/null") != 0 ||
        config_read(path, NULL, &config, error, sizeof(error)) != 0 ||
        (settings = settings_new(config, false, error, sizeof(error))) ==
            NULL ||
        listener_open(&listener, config->symbolication.listen, 0600, error,
                      sizeof(error)) != 0) {
        die(error);
    }
    workers.listener = listener.fd;
    workers.mapped = mapped_modules_new();
    mapped_modules_limit(workers.mapped, 100, 1 << 20);
    worker = worker_new(&workers, -1, settings);
    if (sigbus_start() != 0 || worker == NULL || worker_start(worker) != 0) {
        die("cannot start");
    }
    atexit(clean);
    return 0;
}

/* The other side may have answered already, and closed. */
static void send_all(int fd, const void *data, size_t size)
{
    const char *p = data;
    ssize_t n;

    for (; size > 0; p += n, size -= (size_t)n) {
        n = send(fd, p, size, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
    }
}

static size_t receive_all(int fd, char *answer)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t size = 0;
    ssize_t n;

    do {
        if (poll(&p, 1, PATIENCE_MS) == 0) {
            die("no answer");
        }
        n = recv(fd, answer + size, ANSWER_MAX - size, 0);
        size += n > 0 ? (size_t)n : 0;
    } while (n > 0 && size < ANSWER_MAX);
    return size;
}

static void send_request(int fd, uint8_t options, const uint8_t *body,
                         size_t size)
{
    static const char *const paths[] = {"/symbolicate/v5", "/symbolicate/v4",
                                        "/symbolicate?timeout=0"};
    char head[256];

    snprintf(head, sizeof(head),
             "POST %s HTTP/1.1\r\nConnection: close\r\nContent-Length: %zu\r\n"
             "Content-Type: application/json\r\n%s%s\r\n",
             paths[options & PROTOCOL], size,
             (options & DEBUG) != 0 ? "Debug: 1\r\n" : "",
             (options & ORIGIN) != 0 ? "Origin: http://x\r\n" : "");
    send_all(fd, head, strlen(head));
    send_all(fd, body, size);
}

static void check(char *answer, size_t size)
{
    static const char begin[] = "HTTP/1.1 ", json_type[] = "application/json";
    struct json json = {0};
    struct json_error error;
    char *body = memmem(answer, size, "\r\n\r\n", 4);

    if (body == NULL || memcmp(answer, begin, sizeof(begin) - 1) != 0) {
        die("no HTTP");
    }
    size -= (size_t)(body + 4 - answer);
    if (memmem(answer, (size_t)(body - answer), json_type,
               sizeof(json_type) - 1) != NULL &&
        json_read(&json, body + 4, size, SIZE_MAX, &error) != size) {
        die("no JSON");
    }
    json_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char answer[ANSWER_MAX];
    size_t n;
    int fd;

    if (size == 0) {
        return 0;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        die(strerror(errno));
    }
    if ((data[0] & PROTOCOL) == BYTES) {
        send_all(fd, data + 1, size - 1);
        shutdown(fd, SHUT_WR);
        receive_all(fd, answer);
    } else {
        send_request(fd, data[0], data + 1, size - 1);
        n = receive_all(fd, answer);
        check(answer, n);
    }
    close(fd);
    return 0;
}
