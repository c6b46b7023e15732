/*
 * Copyright (C) the ngx_symcache authors
 */
#include "linkage_name.h"

#include <ctype.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/* its header declares basename() in another way than the C library */
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include "symbolication/swift/swift.h"

#define LANGUAGE_UNKNOWN 0
#define LANGUAGE_CPP 2
#define LANGUAGE_D 3
#define LANGUAGE_OBJCPP 6
#define LANGUAGE_RUST 7
#define LANGUAGE_SWIFT 8
#define HASH_DIGITS 32 /* after a "$", in names that LLVM made unique */
#define RUST_HASH 16   /* digits, after "17h" */
#define BLOCK_INVOKE "_block_invoke" /* and a number, after a "_" or not */
#define OF_A_BLOCK "invocation function for block in "
#define CONSTRAINTS 32 /* places where one may begin, that are tried */

#define TIME_US 50000 /* of processor time, that a name may take */

static linkage_function by; /* or NULL */
static _Thread_local unsigned failed;

void linkage_by(linkage_function function)
{
    by = function;
}

void linkage_begin(void)
{
    failed = 0;
}

void linkage_failed(void)
{
    failed++;
}

bool linkage_ask(const struct symc_string *name, uint32_t language, char *room,
                 size_t *size)
{
    return by != NULL && failed < LINKAGE_FAILED_MAX &&
           by(name, language, room, size);
}

static bool may_be_cpp(uint32_t language)
{
    return language == SYMC_NONE || language == LANGUAGE_UNKNOWN ||
           language == LANGUAGE_CPP || language == LANGUAGE_OBJCPP;
}

static bool may_be_d(uint32_t language)
{
    return language == SYMC_NONE || language == LANGUAGE_UNKNOWN ||
           language == LANGUAGE_D;
}

static bool may_be_rust(uint32_t language)
{
    return language == SYMC_NONE || language == LANGUAGE_UNKNOWN ||
           language == LANGUAGE_RUST;
}

static bool may_be_swift(uint32_t language)
{
    return language == SYMC_NONE || language == LANGUAGE_UNKNOWN ||
           language == LANGUAGE_SWIFT;
}

/* Returns how many underscores a name begins with. */
static size_t count_underscores(const struct symc_string *name)
{
    size_t n = 0;

    while (n < name->size && name->data[n] == '_') {
        n++;
    }
    return n;
}

/* Two underscores more than usual are those of Clang's blocks. */
static bool is_cpp(const struct symc_string *name)
{
    size_t n = count_underscores(name);

    return n >= 1 && n <= 4 && n < name->size && name->data[n] == 'Z';
}

/* Windows and macOS have names with one underscore less or more. */
static bool is_rust(const struct symc_string *name)
{
    size_t n = count_underscores(name);
    const char *p = name->data + n;

    if (n > 2 || name->size < n + 2) {
        return false;
    }
    return (p[0] == 'Z' && p[1] == 'N') ||
           (p[0] == 'R' && isupper((unsigned char)p[1]));
}

/* The same; those of D begin with an underscore in any case. */
static bool is_d(const struct symc_string *name)
{
    size_t n = count_underscores(name);

    return n >= 1 && n <= 2 && name->size > n + 1 && name->data[n] == 'D' &&
           isdigit((unsigned char)name->data[n + 1]);
}

/* What names of all four begin with; hardly another name does. */
static bool may_be_one(const struct symc_string *name)
{
    char first = name->size > 0 ? name->data[0] : '\0';

    return first == '_' || first == '$' || first == 'Z' || first == 'R';
}

bool linkage_sniff(const struct symc_string *name, uint32_t language)
{
    return may_be_one(name) && name->size <= LINKAGE_NAME_MAX &&
           ((may_be_swift(language) && swift_sniff(name->data, name->size)) ||
            (may_be_cpp(language) && is_cpp(name)) ||
            (may_be_rust(language) && is_rust(name)) ||
            (may_be_d(language) && is_d(name)));
}

/*
 * What libiberty writes.  Substitutions make a form of 2^40 bytes of a name of
 * 400, and libiberty cannot be told that this is enough: so it is left where
 * it writes too much.  All it has then is on its stack, but for an identifier
 * of Rust in Punycode, which it frees after it was written.  Only these are not
 * ASCII, and one does not follow the other.
 */
struct linkage_output {
    char *room;
    size_t size;
    bool is_rust;
    bool is_full;
    jmp_buf too_long;
};

static bool is_ascii(const char *text, size_t size)
{
    while (size > 0 && (unsigned char)text[size - 1] < 0x80) {
        size--;
    }
    return size == 0;
}

static void write_piece(const char *text, size_t size, void *opaque)
{
    struct linkage_output *out = opaque;

    out->is_full = out->is_full || size > LINKAGE_READABLE_MAX - out->size;
    if (!out->is_full) {
        /* libiberty has NULL for a text of 0 bytes */
        memcpy(out->room + out->size, size > 0 ? text : "", size);
        out->size += size;
    } else if (!out->is_rust || is_ascii(text, size)) {
        longjmp(out->too_long, 1);
    }
}

/* Copies a name from its last underscore in front on. */
static void copy_name(char to[LINKAGE_NAME_MAX + 2],
                      const struct symc_string *name)
{
    size_t n = count_underscores(name);

    to[0] = '_';
    memcpy(to + 1, name->data + n, name->size - n);
    to[1 + name->size - n] = '\0';
}

/* Cuts off the hash of a name that LLVM made unique. */
static void cut_hash(char *name)
{
    size_t i, size = strlen(name);

    if (size <= HASH_DIGITS || name[size - HASH_DIGITS - 1] != '$') {
        return;
    }
    for (i = size - HASH_DIGITS; i < size; i++) {
        if (!isxdigit((unsigned char)name[i])) {
            return;
        }
    }
    name[size - HASH_DIGITS - 1] = '\0';
}

/* The suffix of a Rust name, such as ".1234", which the reference keeps and
 * libiberty does not. */
static const char *rust_suffix(const char *name)
{
    const char *p, *suffix = NULL;

    if (name[1] == 'R') {
        suffix = strchr(name, '.');
    } else {
        for (p = strstr(name, "17h"); p != NULL; p = strstr(p + 1, "17h")) {
            if (strspn(p + 3, "0123456789abcdef") == RUST_HASH &&
                p[3 + RUST_HASH] == 'E') {
                suffix = p + 3 + RUST_HASH + 1;
            }
        }
    }
    return suffix != NULL && strncmp(suffix, ".llvm.", 6) != 0 ? suffix : "";
}

static bool demangle_rust(const char *name, struct linkage_output *out)
{
    const char *suffix;

    *out = (struct linkage_output){.room = out->room, .is_rust = true};
    if (setjmp(out->too_long) != 0 ||
        !rust_demangle_callback(name, 0, write_piece, out)) {
        return false;
    }
    suffix = rust_suffix(name);
    write_piece(suffix, strlen(suffix), out);
    return !out->is_full;
}

/* Cuts off what the function of a block has after the name of the function
 * that it is in.  Returns false if it does not end so. */
static bool cut_block(char *name)
{
    char *p, *end = NULL;

    for (p = name; (p = strstr(p, BLOCK_INVOKE)) != NULL; p++) {
        end = p;
    }
    if (end == NULL) {
        return false;
    }
    p = end + strlen(BLOCK_INVOKE);
    p += *p == '_' && isdigit((unsigned char)p[1]);
    p += strspn(p, "0123456789");
    *end = '\0';
    return *p == '\0' || *p == '.';
}

static bool write_cpp(const char *name, struct linkage_output *out)
{
    size_t size = out->size;

    if (cplus_demangle_v3_callback(
            name, DMGL_PARAMS | DMGL_RET_DROP | DMGL_NO_RECURSE_LIMIT,
            write_piece, out) != 0) {
        return true;
    }
    out->size = size;
    return false;
}

/* The same without the requires-clause at the end, "Q..." after the types of
 * the parameters, which libiberty does not know before GCC 14. */
static bool write_unconstrained(char *name, struct linkage_output *out)
{
    char *p = name;
    unsigned i;
    bool is_done = false;

    for (i = 0; i < CONSTRAINTS && !is_done &&
                (p = strchr(p + 1, 'Q')) != NULL;) {
        if (!isdigit((unsigned char)p[-1])) { /* else an identifier begins */
            *p = '\0';
            is_done = write_cpp(name, out);
            *p = 'Q';
            i++;
        }
    }
    return is_done;
}

static bool demangle_cpp(char *name, bool is_block, struct linkage_output *out)
{
    cut_hash(name);
    *out = (struct linkage_output){.room = out->room};
    if (setjmp(out->too_long) != 0) {
        return false;
    }
    if (is_block) {
        if (!cut_block(name)) {
            return false;
        }
        write_piece(OF_A_BLOCK, strlen(OF_A_BLOCK), out);
    }
    return write_cpp(name, out) || write_unconstrained(name, out);
}

/* Of linkage_demangle_here(). */
static struct {
    sigjmp_buf too_late;
    bool is_ready; /* the signal is handled */
    bool is_timed;
    char *erased; /* a name that ends early without its text, or NULL */
} here;

static void leave_name(int signal)
{
    (void)signal;
    if (here.erased == NULL) {
        siglongjmp(here.too_late, 1);
    }
    memset(here.erased, '\0', strlen(here.erased));
}

static void set_time(suseconds_t us)
{
    static const struct sigaction action = {.sa_handler = leave_name,
                                            .sa_flags = SA_NODEFER};
    const struct itimerval limit = {.it_value = {.tv_usec = us}};

    if (!here.is_ready) {
        here.is_ready = sigaction(SIGVTALRM, &action, NULL) == 0;
    }
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

/* libiberty has nothing of a name of C++ but on its stack, so that it can be
 * left anywhere. */
static bool demangle_cpp_in_time(char *name, bool is_block,
                                 struct linkage_output *out)
{
    bool is_done;

    if (!here.is_timed) {
        return demangle_cpp(name, is_block, out);
    }
    if (sigsetjmp(here.too_late, 0) != 0) {
        linkage_failed();
        return false;
    }
    set_time(TIME_US);
    is_done = demangle_cpp(name, is_block, out);
    set_time(0);
    return is_done;
}

/*
 * Of a name of D it has memory, and cannot be told to stop: references have
 * 2^40 bytes in a name of 400, and what does not end as a function's
 * parameters is read again as something else, within each other.  But it reads
 * on in the name all the time, and finds nothing more once that is erased.
 */
static bool demangle_d(char *name, char *room, size_t *size)
{
    char *text;
    bool is_late;

    if (here.is_timed) {
        here.erased = name;
        set_time(TIME_US);
    }
    text = dlang_demangle(name, 0);
    if (here.is_timed) {
        set_time(0);
        here.erased = NULL;
    }
    is_late = name[0] == '\0';
    if (is_late) {
        linkage_failed();
    }
    *size = 0;
    if (text != NULL && !is_late && strlen(text) <= LINKAGE_READABLE_MAX) {
        *size = strlen(text);
        memcpy(room, text, *size);
    }
    free(text);
    return *size > 0;
}

bool linkage_demangle(const struct symc_string *name, uint32_t language,
                      char *room, size_t *size)
{
    bool is_done;
    char text[LINKAGE_NAME_MAX + 2];
    struct linkage_output out = {.room = room};

    if (!linkage_sniff(name, language) ||
        memchr(name->data, '\0', name->size) != NULL) {
        return false;
    }
    if (may_be_swift(language) && swift_sniff(name->data, name->size)) {
        *size = swift_demangle(name->data, name->size, false, room,
                               LINKAGE_READABLE_MAX);
        return *size > 0;
    }
    copy_name(text, name);
    if (may_be_d(language) && is_d(name)) {
        return demangle_d(text, room, size);
    }
    is_done = (may_be_rust(language) && is_rust(name) &&
               demangle_rust(text, &out)) ||
              (may_be_cpp(language) && is_cpp(name) &&
               demangle_cpp_in_time(text, count_underscores(name) > 2, &out));
    *size = out.size;
    return is_done;
}

bool linkage_demangle_here(const struct symc_string *name, uint32_t language,
                           char *room, size_t *size)
{
    bool is_done;

    here.is_timed = true;
    is_done = linkage_demangle(name, language, room, size);
    here.is_timed = false;
    return is_done;
}
