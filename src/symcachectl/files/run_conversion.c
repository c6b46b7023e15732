/*
 * Copyright (C) the ngx_symcache authors
 */
#include "run_conversion.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

static volatile sig_atomic_t stop;

static void conversion_on_signal(int signo)
{
    stop = signo;
}

static void conversion_catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = conversion_on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* else its child seems to crash */
}

int run_conversion(const struct conversion *c)
{
    struct conversion shown = *c;
    char *text = printable(c->input, strlen(c->input));
    enum failure_code code;

    shown.shown = text;
    conversion_catch_signals();
    code = conversion_run(&shown, &stop);
    free(text);
    switch (code) {
    case FAILURE_NONE:
        return COMMAND_OK;
    case FAILURE_IO:
    case FAILURE_SANDBOX:
        return COMMAND_IO;
    default:
        return stop != 0 ? COMMAND_INTERRUPTED : COMMAND_NOT_FOUND;
    }
}
