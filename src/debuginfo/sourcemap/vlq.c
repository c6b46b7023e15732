/*
 * Copyright (C) the ngx_symcache authors
 */
#include "vlq.h"

#define DIGITS_MAX 13 /* of a number: what the original accepts */
#define END 65        /* of a segment; 255 if the character is not a digit */

/* The values of digits.  Other characters are 0, which is not the value of any
 * digit. */
#define V(c, n) [c] = (n) + 1

static const uint8_t values[256] = {
    V('A', 0),  V('B', 1),  V('C', 2),  V('D', 3),  V('E', 4),   V('F', 5),
    V('G', 6),  V('H', 7),  V('I', 8),  V('J', 9),  V('K', 10),  V('L', 11),
    V('M', 12), V('N', 13), V('O', 14), V('P', 15), V('Q', 16),  V('R', 17),
    V('S', 18), V('T', 19), V('U', 20), V('V', 21), V('W', 22),  V('X', 23),
    V('Y', 24), V('Z', 25), V('a', 26), V('b', 27), V('c', 28),  V('d', 29),
    V('e', 30), V('f', 31), V('g', 32), V('h', 33), V('i', 34),  V('j', 35),
    V('k', 36), V('l', 37), V('m', 38), V('n', 39), V('o', 40),  V('p', 41),
    V('q', 42), V('r', 43), V('s', 44), V('t', 45), V('u', 46),  V('v', 47),
    V('w', 48), V('x', 49), V('y', 50), V('z', 51), V('0', 52),  V('1', 53),
    V('2', 54), V('3', 55), V('4', 56), V('5', 57), V('6', 58),  V('7', 59),
    V('8', 60), V('9', 61), V('+', 62), V('/', 63), V(',', END), V(';', END)};

/* The value of the digit at p, or END, or more. */
static unsigned digit_at(const char *p, const char *end)
{
    return p == end ? END : (unsigned)(values[(unsigned char)*p] - 1) & 0xFF;
}

int vlq_segment(const char **p, const char *end, uint32_t numbers[VLQ_FIELDS])
{
    int count = 0;
    unsigned digit, shift;
    uint64_t value;

    for (; (digit = digit_at(*p, end)) != END; count++) {
        for (value = shift = 0; digit < 64; shift += 5) {
            if (shift == DIGITS_MAX * 5) {
                return -1;
            }
            if (shift < 64) {
                value |= (uint64_t)(digit & 31) << shift;
            }
            (*p)++;
            if (digit < 32) {
                break;
            }
            digit = digit_at(*p, end);
        }
        if (digit >= 32) {
            return -1;
        }
        if (count < VLQ_FIELDS) {
            numbers[count] = (uint32_t)(value >> 1);
            numbers[count] =
                (value & 1) != 0 ? -numbers[count] : numbers[count];
        }
    }
    return count;
}
