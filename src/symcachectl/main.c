/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl: the operator's command.  It reads SymCache files of the open
 * format ("SYMC", versions 7 to 9), whoever wrote them, and asks a running
 * symcached.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "help.h"
#include "lazy_libraries.h"
#include "symcachectl/terminal/printable.h"
#include "derived/symcache/symcache.h"

#define VERSION "0.1.0"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"lookup", lookup_command},
    {"dump", dump_command},
    {"verify", verify_command},
    {"convert", convert_command},
    {"warm", warm_command},
    {"why", why_command},
    {"forget", forget_command},
    {"jobs", jobs_command},
    {"sources", sources_command},
    {"status", status_command},
    {"drain", drain_command},
    {"ls", ls_command},
    {"import", import_command},
    {"clean", clean_command},
    {"tier", tier_command},
    {"symbolicate", symbolicate_command},
    {"minidump", minidump_command},
    {"retrace", retrace_command},
    {"transcoder", transcoder_command},
    {"upload", upload_command},
    {"uploads", uploads_command},
    {"watch", watch_command},
    {"symbfile", symbfile_command},
    {"bundle-sources", bundle_sources_command},
    {"sort", sort_command},
};

static int run_command(int argc, char **argv)
{
    size_t i;

    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) != 0) {
            continue;
        }
        if (help_is_asked(argc, argv)) {
            help_print_command(commands[i].name);
            return command_finish(COMMAND_OK);
        }
        if (commands[i].run != minidump_command) {
            lazy_libraries_load(); /* their sandboxes may need it */
        }
        return commands[i].run(argc - 2, argv + 2);
    }
    fputs(argv[1][0] == '-' ? "symcachectl: no command in front of the option: "
                            : "symcachectl: unknown command: ",
          stderr);
    printable_put(stderr, argv[1]);
    fputs("\ntry: symcachectl --help\n", stderr);
    return COMMAND_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs(help_text, stderr);
        return COMMAND_USAGE;
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        fputs(help_text, stdout);
        return command_finish(COMMAND_OK);
    }
    if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
        printf("symcachectl " VERSION " (SymCache versions %d to %d)\n",
               SYMC_OLDEST_VERSION, SYMC_VERSION);
        return command_finish(COMMAND_OK);
    }
    return run_command(argc, argv);
}
