/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expected values: the IANA registries of special-purpose addresses.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <cmocka.h>

#include "base/address.h"

static bool reserved(const char *text)
{
    struct sockaddr_storage address;
    struct sockaddr_in *in4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;

    memset(&address, 0, sizeof(address));

    if (strchr(text, ':') == NULL) {
        in4->sin_family = AF_INET;
        assert_int_equal(inet_pton(AF_INET, text, &in4->sin_addr), 1);
    } else {
        in6->sin6_family = AF_INET6;
        assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
    }

    return address_reserved((struct sockaddr *)&address);
}

static void check(const char *const *list, bool expected)
{
    for (; *list != NULL; list++) {
        if (reserved(*list) != expected) {
            fail_msg("%s: expected %d", *list, expected);
        }
    }
}

static void test_special_ipv4_is_reserved(void **state)
{
    static const char *const list[] = {
        "0.0.0.0",        "0.1.2.3",         "10.0.0.1",
        "10.255.255.255", "100.64.0.0",      "100.127.255.255",
        "127.0.0.1",      "127.255.0.9",     "169.254.169.254",
        "172.16.0.1",     "172.31.255.1",    "192.0.0.8",
        "192.0.2.1",      "192.88.99.1",     "192.168.1.1",
        "198.18.0.1",     "198.19.9.9",      "198.51.100.7",
        "203.0.113.7",    "224.0.0.1",       "239.1.1.1",
        "240.0.0.1",      "255.255.255.255", NULL};

    (void)state;
    check(list, true);
}

static void test_public_ipv4_is_not(void **state)
{
    static const char *const list[] = {"1.1.1.1",
                                       "9.255.255.255",
                                       "11.0.0.0",
                                       "100.63.255.255",
                                       "100.128.0.0",
                                       "126.1.1.1",
                                       "128.0.0.1",
                                       "169.253.1.1",
                                       "172.15.255.255",
                                       "172.32.0.0",
                                       "192.0.1.1",
                                       "192.167.1.1",
                                       "192.169.0.1",
                                       "198.17.0.1",
                                       "198.20.0.1",
                                       "223.255.255.1",
                                       NULL};

    (void)state;
    check(list, false);
}

static void test_special_ipv6_is_reserved(void **state)
{
    static const char *const list[] = {"::",          "::1",
                                       "fe80::1",     "febf::1",
                                       "fec0::1",     "fc00::1",
                                       "fd12::1",     "ff02::1",
                                       "2001:db8::1", "2001:db8:1::1",
                                       "2001::1",     "2001:10::1",
                                       "100::1",      "3fff::1",
                                       "5f00::1",     "64:ff9b:1::1",
                                       "4000::1",     NULL};

    (void)state;
    check(list, true);
}

static void test_public_ipv6_is_not(void **state)
{
    static const char *const list[] = {
        "2606:4700:4700::1111", "2a00:1450:4001:80b::200e",
        "2620:1ec:c11::200", "2001:200::1", NULL};

    (void)state;
    check(list, false);
}

static void test_ipv4_inside_ipv6_counts_as_ipv4(void **state)
{
    static const char *const inside[] = {
        "::ffff:127.0.0.1",     "::ffff:10.1.2.3",
        "64:ff9b::192.168.0.1", "2002:7f00:0001::1",
        "2002:0a01:0203::",     "::127.0.0.1",
        "::ffff:169.254.0.1",   NULL};
    static const char *const outside[] = {"::ffff:1.1.1.1", "64:ff9b::8.8.8.8",
                                          "2002:0808:0808::1", NULL};

    (void)state;
    check(inside, true);
    check(outside, false);
}

static void test_other_families_are_reserved(void **state)
{
    struct sockaddr_un address = {AF_UNIX, "/run/x"};

    (void)state;
    assert_true(address_reserved((struct sockaddr *)&address));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special_ipv4_is_reserved),
        cmocka_unit_test(test_public_ipv4_is_not),
        cmocka_unit_test(test_special_ipv6_is_reserved),
        cmocka_unit_test(test_public_ipv6_is_not),
        cmocka_unit_test(test_ipv4_inside_ipv6_counts_as_ipv4),
        cmocka_unit_test(test_other_families_are_reserved),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
