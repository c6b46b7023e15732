/*
 * Copyright (C) the ngx_symcache authors
 */
#include "disassembly.h"

#include <inttypes.h>
#include <stdio.h>

void disassembly_order_print(char text[DISASSEMBLY_ORDER_MAX],
                             const struct disassembly_order *order)
{
    snprintf(text, DISASSEMBLY_ORDER_MAX,
             "%" PRIu32 " %" PRIu32 " %" PRIu32 " %d %" PRIu64, order->start,
             order->size, order->most, order->has_whole_function,
             order->answer);
}

bool disassembly_order_read(struct disassembly_order *order, const char *text)
{
    int whole;

    if (sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %d %" SCNu64,
               &order->start, &order->size, &order->most, &whole,
               &order->answer) != 5) {
        return false;
    }
    order->has_whole_function = whole != 0;
    return true;
}
