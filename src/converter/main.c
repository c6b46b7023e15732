/*
 * Copyright (C) the ngx_symcache authors
 *
 * pdb2symcache: converts a PDB or Breakpad text into an open SymCache ("SYMC",
 * version 9).  It is a plain command that follows the helper's rules for
 * transcoders.
 *
 * The exit codes are those of enum failure_code; --help lists them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stdout_end.h"
#include "conversion.h"

#define VERSION "9.0.0"

static const char help[] =
    "usage: pdb2symcache FILE [-o OUT]    writes OUT (\"-\": standard\n"
    "                       output), or <pdb>-v" VERSION ".symcache here\n"
    "       pdb2symcache -pdb FILE        writes under $_NT_SYMCACHE_PATH:\n"
    "                       <pdb>/<GUIDAGE>/<pdb>-v" VERSION ".symcache\n"
    "       pdb2symcache --kind jscache SCRIPT [MAP] [-o OUT]\n"
    "                                     reads a script and its source map\n"
    "  --kind KIND    write a symcache, ppdbcache, cficache, codecache,\n"
    "                 sourcecache, proguardcache, jscache or breakpad (its\n"
    "                 text), or fail\n"
    "  --text         of a cficache, write the text that others read\n"
    "  --arch ARCH    of a fat Mach-O file, take the image for x86_64,\n"
    "                 arm64 ...\n"
    "  --id ID        or the one with this UUID\n"
    "  --altlink FILE the file that dwz made for several; else it is looked\n"
    "                 for beside FILE and in /usr/lib/debug\n"
    "  --image FILE   of breakpad, the image of a PDB, which has its unwind\n"
    "                 information; else it is looked for beside FILE\n"
    "  --dwp PATH     the package of split DWARF, or the folder of its .dwo\n"
    "                 files; else FILE.dwp, or those below the folder of FILE\n"
    "  --symbol-map FILE\n"
    "                 the BCSymbolMap of a Mach-O file whose names are hidden\n"
    "  --line-mapping FILE\n"
    "                 that of il2cpp, by which lines are those of C#\n"
    "  --like-symbolic\n"
    "                 names as the \"symbolic\" library has them, and not as\n"
    "                 debuggers\n"
    "  --strict       refuse all that the \"symbolic\" library refuses\n"
    "  --no-sandbox   parse without seccomp and Landlock\n"
    "  -V, --version  print the version of the format\n"
    "  -h, --help     print this\n"
    "FILE is a PDB, a portable PDB of .NET, an ELF, Mach-O or PE file, a\n"
    "  WebAssembly module, or a Breakpad file (.sym).\n"
    "A portable PDB becomes <pdb>-v1.0.0.ppdbcache.\n"
    "exit codes: 0 done, 1 usage, 2 input or output, 3 neither of these,\n"
    "  4 portable PDB, 5 PDB 2.0, 6 MSFZ of an unknown version, 7 no symbols\n"
    "  (a compiler's or type server's PDB), 8 damaged, 9 over a limit of\n"
    "  memory, time or size, 10 no sandbox, 11 truncated, 75 killed from\n"
    "  outside, or the machine lacks memory\n";

static volatile sig_atomic_t stop;

static void on_signal(int signo)
{
    stop = signo;
}

static void catch_signals(void)
{
    size_t i;
    struct sigaction action;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

static int usage(const char *what)
{
    fprintf(stderr, "pdb2symcache: %s\n%s", what, help);
    return FAILURE_USAGE;
}

/* Takes an option that has a text. */
static bool take_text_option(struct conversion *conversion, char **arg)
{
    const struct {
        const char *name;
        const char **text;
    } options[] = {{"--arch", &conversion->choice.arch},
                   {"--id", &conversion->choice.id},
                   {"--altlink", &conversion->altlink},
                   {"--image", &conversion->image},
                   {"--dwp", &conversion->dwp},
                   {"--symbol-map", &conversion->symbol_map},
                   {"--line-mapping", &conversion->line_mapping}};
    size_t i;

    for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(arg[0], options[i].name) == 0) {
            *options[i].text = arg[1];
            return true;
        }
    }
    return false;
}

/* Takes up one option and returns how many arguments it has, or 0 if it is
 * none. */
static int take_option(struct conversion *conversion, char **arg, int left)
{
    if (left > 1 && take_text_option(conversion, arg)) {
        return 2;
    }
    if (strcmp(arg[0], "-pdb") == 0 && left > 1) {
        conversion->input = arg[1];
        conversion->makes_tree = true;
        return 2;
    }
    if (strcmp(arg[0], "-o") == 0 && left > 1) {
        conversion->output = arg[1];
        return 2;
    }
    if (strcmp(arg[0], "--kind") == 0 && left > 1) {
        conversion->has_wanted =
            conversion_output(arg[1], &conversion->wanted);
        return conversion->has_wanted ? 2 : 0;
    }
    if (strcmp(arg[0], "--text") == 0) {
        conversion->is_text = true;
        return 1;
    }
    if (strcmp(arg[0], "--like-symbolic") == 0) {
        conversion->is_like_symbolic = true;
        return 1;
    }
    if (strcmp(arg[0], "--strict") == 0) {
        conversion->is_strict = true;
        return 1;
    }
    if (strcmp(arg[0], "--no-sandbox") == 0) {
        conversion->has_sandbox = false;
        return 1;
    }
    if (arg[0][0] != '-' && conversion->input == NULL) {
        conversion->input = arg[0];
        return 1;
    }
    if (arg[0][0] != '-' && conversion->map == NULL &&
        conversion->has_wanted &&
        conversion->wanted == SYMCACHE_KIND_JSCACHE) {
        conversion->map = arg[0];
        return 1;
    }
    return 0;
}

/* Takes the files beside the input that symcached has found. */
static void take_seconds(struct conversion *conversion)
{
    const struct {
        const char *variable;
        const char **path;
    } seconds[] = {{"PDB2SYMCACHE_SECOND", &conversion->altlink},
                   {"PDB2SYMCACHE_SECOND", &conversion->image},
                   {"PDB2SYMCACHE_UUID_MAP", &conversion->uuid_map},
                   {"PDB2SYMCACHE_SYMBOL_MAP", &conversion->symbol_map},
                   {"PDB2SYMCACHE_LINE_MAPPING", &conversion->line_mapping},
                   {"PDB2SYMCACHE_DWP", &conversion->dwp}};
    size_t i;

    for (i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        if (*seconds[i].path == NULL) {
            *seconds[i].path = getenv(seconds[i].variable);
        }
    }
}

/* Returns -1 if there is something to convert, or else the exit code. */
static int parse_options(int argc, char **argv, struct conversion *conversion)
{
    static struct output_check check;
    const char *is_work, *addresses;
    int i, n;

    for (i = 1; i < argc; i += n) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return stdout_end("pdb2symcache", 0, FAILURE_IO);
        }
        if (strcmp(argv[i], "-V") == 0 || strcmp(argv[i], "--version") == 0) {
            puts("pdb2symcache " VERSION);
            return stdout_end("pdb2symcache", 0, FAILURE_IO);
        }
        n = take_option(conversion, argv + i, argc - i);
        if (n == 0) {
            return usage("unknown option, one without its value, or a second "
                         "FILE");
        }
    }
    if (conversion->input == NULL) {
        return usage("no FILE");
    }
    if (!conversion_has_files(conversion)) {
        return FAILURE_IO;
    }
    if (conversion->is_text &&
        (!conversion->has_wanted ||
         conversion->wanted != SYMCACHE_KIND_CFICACHE)) {
        return usage("--text without --kind cficache");
    }
    if (conversion->makes_tree) {
        conversion->folder = getenv("_NT_SYMCACHE_PATH");
        is_work = getenv("PDB2SYMCACHE_WORK");
        conversion->is_durable =
            is_work == NULL || strcmp(is_work, "yes") != 0;
        conversion->makes_tree = conversion->is_durable;
        take_seconds(conversion);
        addresses = getenv("PDB2SYMCACHE_ADDRESSES");
        conversion->has_file_addresses =
            addresses != NULL && strcmp(addresses, "file") == 0;
        if (output_check_read(&check, getenv("PDB2SYMCACHE_CHECK"))) {
            conversion->check = &check;
        }
    }
    if (conversion->output == NULL &&
        (conversion->folder == NULL || *conversion->folder == '\0')) {
        return usage("neither -o nor _NT_SYMCACHE_PATH is set");
    }
    return -1;
}

int main(int argc, char **argv)
{
    int rc;
    struct conversion conversion = {
        .program = "pdb2symcache",
        .folder = ".",
        .has_sandbox = true,
        .is_durable = true};

    rc = parse_options(argc, argv, &conversion);
    if (rc >= 0) {
        return rc;
    }
    catch_signals();
    rc = (int)conversion_run(&conversion, &stop);
    if (stop != 0) {
        signal(stop, SIG_DFL);
        raise(stop);
    }
    return rc;
}
