/*
 * Copyright (C) the ngx_symcache authors
 *
 * Calls that go on without their connection, and polls of other threads, with
 * a clock of ours.
 */
#include <event2/event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "symbolicated/calls/pending_calls.h"

#define MUCH 100000
#define THREADS 4
#define CALLS 500

static uint64_t now = 1000;

uint64_t clock_usec(void) { return now * 1000; }
uint64_t clock_ms(void) { return now; }
unsigned clock_since(uint64_t start) { return (unsigned)(now - start); }

static bool end_with(struct pending_call *pending, const char *text,
                     size_t most)
{
    struct json_writer body = {.data = (char *)text, .size = strlen(text)};
    struct api_reply reply = {.status = 200, .type = "a/b", .body = &body};

    return pending_call_end(pending, &reply, most);
}

static struct pending_call *begin(char id[PENDING_CALL_ID_SIZE])
{
    struct pending_call *pending = pending_call_new(0xbeef, MUCH);

    assert_non_null(pending);
    memcpy(id, pending_call_id(pending), PENDING_CALL_ID_SIZE);
    return pending;
}

static void count(void *arg)
{
    ++*(int *)arg;
}

static void no_call(void *arg)
{
    fail_msg("a poll was told that had found its answer");
}

static bool has_text(const struct pending_poll *poll, const char *text)
{
    const struct api_answer *answer = pending_poll_answer(poll);

    return answer != NULL && answer->status == 200 &&
           strcmp(answer->type, "a/b") == 0 && answer->size == strlen(text) &&
           memcmp(answer->data, text, answer->size) == 0;
}

static void times(void **state)
{
    struct event_base *base = event_base_new();
    struct pending_inbox *inbox = pending_inbox_new(base);
    struct pending_poll poll = {0};
    char id[PENDING_CALL_ID_SIZE], other[PENDING_CALL_ID_SIZE];
    struct pending_call *pending = begin(id);

    assert_memory_equal(id, "beef", 4);
    memcpy(other, id, sizeof(id));
    other[35] ^= 1;
    assert_int_equal(pending_poll_start(&poll, inbox, other, no_call, NULL),
                     API_POLL_UNKNOWN);

    now += 10 * PENDING_CALL_ANSWERED_MS; /* it runs for as long as it takes */
    assert_true(end_with(pending, "hello", MUCH));
    now += PENDING_CALL_ANSWERED_MS;
    assert_int_equal(pending_poll_start(&poll, inbox, id, no_call, NULL),
                     API_POLL_ENDED);
    now++;
    pending_calls_evict();
    assert_int_equal(pending_calls_bytes(), 0);
    assert_true(has_text(&poll, "hello")); /* while it is read */
    pending_poll_end(&poll);
    assert_int_equal(pending_poll_start(&poll, inbox, id, no_call, NULL),
                     API_POLL_UNKNOWN);
    pending_inbox_free(inbox);
    event_base_free(base);
}

static void room(void **state)
{
    struct event_base *base = event_base_new();
    struct pending_inbox *inbox = pending_inbox_new(base);
    struct pending_poll poll = {0}, late = {0};
    char id[PENDING_CALL_ID_SIZE];
    struct pending_call *pending = begin(id);
    size_t size = pending_calls_bytes();
    int told = 0;

    assert_null(pending_call_new(0, size)); /* of which that one has all */
    assert_int_equal(pending_poll_start(&poll, inbox, id, count, &told),
                     API_POLL_RUNS);
    assert_false(end_with(pending, "hello", size + 4));
    assert_int_equal(pending_calls_bytes(), size);
    assert_int_equal(pending_poll_start(&late, inbox, id, no_call, NULL),
                     API_POLL_ENDED);
    assert_null(pending_poll_answer(&late));
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(told, 1); /* it had waited */
    assert_true(has_text(&poll, "hello"));
    pending_poll_end(&poll);
    pending_poll_end(&late);
    pending_calls_clear();
    pending_inbox_free(inbox);
    event_base_free(base);
}

static void polls_that_end(void **state)
{
    struct event_base *base = event_base_new();
    struct pending_inbox *inbox = pending_inbox_new(base);
    struct pending_poll before = {0}, after = {0};
    char id[PENDING_CALL_ID_SIZE];
    struct pending_call *pending = begin(id);

    pending_poll_start(&before, inbox, id, no_call, NULL);
    pending_poll_start(&after, inbox, id, no_call, NULL);
    pending_poll_end(&before);
    assert_true(end_with(pending, "", MUCH));
    pending_poll_end(&after);
    event_base_loop(base, EVLOOP_NONBLOCK);
    pending_calls_clear();
    pending_inbox_free(inbox);
    event_base_free(base);
}

/* threads ------------------------------------------------------------------ */

static char ids[CALLS][PENDING_CALL_ID_SIZE];

static void *poll_all(void *arg)
{
    static struct pending_poll polls[THREADS][CALLS];
    struct pending_poll *mine = polls[*(int *)arg];
    struct event_base *base = event_base_new();
    struct pending_inbox *inbox = pending_inbox_new(base);
    int told = 0, ended = 0, wrong = 0, i;

    for (i = 0; i < CALLS; i++) {
        ended += pending_poll_start(&mine[i], inbox, ids[i], count, &told) ==
                 API_POLL_ENDED;
    }
    while (told + ended < CALLS) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    for (i = 0; i < CALLS; i++) {
        wrong += !has_text(&mine[i], ids[i]);
        pending_poll_end(&mine[i]);
    }
    pending_inbox_free(inbox);
    event_base_free(base);
    *(int *)arg = wrong;
    return NULL;
}

static void threads(void **state)
{
    static struct pending_call *calls[CALLS];
    pthread_t thread[THREADS];
    int results[THREADS], i;

    for (i = 0; i < CALLS; i++) {
        calls[i] = pending_call_new(i, 1 << 20);
        memcpy(ids[i], pending_call_id(calls[i]), PENDING_CALL_ID_SIZE);
    }
    for (i = 0; i < THREADS; i++) {
        results[i] = i;
        assert_int_equal(
            pthread_create(&thread[i], NULL, poll_all, &results[i]), 0);
    }
    for (i = 0; i < CALLS; i++) {
        assert_true(end_with(calls[i], ids[i], 1 << 20));
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(results[i], 0);
    }
    pending_calls_clear();
    assert_int_equal(pending_calls_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times),
        cmocka_unit_test(room),
        cmocka_unit_test(polls_that_end),
        cmocka_unit_test(threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
