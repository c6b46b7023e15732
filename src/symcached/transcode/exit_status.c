/*
 * Copyright (C) the ngx_symcache authors
 */
#include "exit_status.h"

#include <signal.h>
#include <sys/wait.h>
#include <sysexits.h>

bool exit_status_is_from_outside(int sig)
{
    return sig == SIGKILL || sig == SIGTERM || sig == SIGHUP || sig == SIGINT;
}

bool exit_status_is_of_machine(int code, bool is_ours)
{
    switch (code) {
    case EX_TEMPFAIL:
    case 126:
    case 127:
    case 255:
        return true;
    case 2:
    case 10:
        return is_ours;
    default:
        return code > 128 && exit_status_is_from_outside(code - 128);
    }
}

bool exit_status_is_by(int status, int sig)
{
    return (WIFSIGNALED(status) && WTERMSIG(status) == sig) ||
           (WIFEXITED(status) && WEXITSTATUS(status) == 128 + sig);
}
