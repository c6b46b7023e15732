/*
 * Copyright (C) the ngx_symcache authors
 */
#include "help.h"
#include <stdio.h>
#include <string.h>
#include "settings.h"

const char help_text[] =
    "usage: symcachectl lookup [--json] FILE [ADDRESS...]\n"
    "       symcachectl dump FILE\n"
    "       symcachectl verify FILE\n"
    "       symcachectl convert [-o OUT] [--kind KIND [--text]] "
    "[--arch ARCH] [--id ID]\n"
    "               [--altlink FILE] [--dwp PATH] [--image FILE] "
    "[--symbol-map FILE]\n"
    "               [--line-mapping FILE] [--like-symbolic] [--strict] "
    "FILE [MAP]\n"
    "       symcachectl warm [OPTION...] [LIST|IMAGE|PDB|FOLDER...]\n"
    "       symcachectl why [OPTION...] PDB GUID [AGE]\n"
    "       symcachectl why [OPTION...] FILE\n"
    "       symcachectl forget [OPTION...] PDB [GUID [AGE]]\n"
    "       symcachectl forget [OPTION...] --malformed-since TIME\n"
    "       symcachectl jobs|sources|status [OPTION...]\n"
    "       symcachectl drain [OPTION...] [--end]\n"
    "       symcachectl symbolicate [OPTION...] REQUEST\n"
    "       symcachectl symbolicate [OPTION...] PDB/GUIDAGE ADDRESS...\n"
    "       symcachectl symbolicate [OPTION...] --images PATH TRACE\n"
    "       symcachectl symbolicate [OPTION...] REPORT\n"
    "       symcachectl symbolicate [OPTION...] PROFILE\n"
    "       symcachectl symbolicate [OPTION...] EVENT\n"
    "       symcachectl symbolicate --url URL --org ORG --project PROJECT "
    "[OPTION...] ID\n"
    "       symcachectl symbolicate --symbols [LAYOUT:]FOLDER [OPTION...] "
    "...\n"
    "       symcachectl symbolicate --mapping MAPPING TRACE\n"
    "       symcachectl minidump [OPTION...] FILE\n"
    "       symcachectl retrace [--quiet] [--info] MAPPING [TRACE]\n"
    "       symcachectl ls [OPTION...] [PATTERN...]\n"
    "       symcachectl import [OPTION...] FOLDER\n"
    "       symcachectl clean [-c FILE] [--unknown] [--dry-run] [--json]\n"
    "       symcachectl tier ls|clean|rule [OPTION...] [TIER]\n"
    "       symcachectl upload --url URL [OPTION...] FILE|FOLDER...\n"
    "       symcachectl uploads rm|pin|unpin [OPTION...] NAME/ID/FILE...\n"
    "       symcachectl uploads ls|builds|forget [OPTION...]\n"
    "       symcachectl watch [OPTION...] [--after N] [--once] FOLDER\n"
    "       symcachectl symbfile make [--return-pads] -o OUT FILE\n"
    "       symcachectl symbfile show FILE\n"
    "       symcachectl symbfile lookup FILE [ADDRESS...]\n"
    "       symcachectl symbfile push --url URL [OPTION...] FILE\n"
    "       symcachectl bundle-sources -o OUT FILE...\n"
    "       symcachectl sort -o OUT [OPTION...] FILE|FOLDER...\n"
    "       symcachectl transcoder check [-c FILE] [NAME]\n"
    "       symcachectl transcoder init [-c FILE] NAME\n"
    "       symcachectl -h | -V\n"
    "\n"
    "Files in the open format (\"SYMC\", versions 7 to 9), and PpdbCaches;\n"
    "FILE may be \"-\", standard input:\n"
    "lookup  prints the functions at each ADDRESS, innermost first, as\n"
    "        \"function at file:line\", with \"(inlined)\" behind all but\n"
    "        the outermost; \"?\" and line 0 are what the file does not\n"
    "        tell.  Addresses are relative to the image base, hexadecimal,\n"
    "        with or without 0x; without any they are read from standard\n"
    "        input, one a line.  In a PpdbCache, of .NET, they are TOKEN+IL,\n"
    "        as in 0x6000002+0x6; in a JsCache, of JavaScript, LINE:COLUMN,\n"
    "        both from 1.  --json prints one object a line.\n"
    "dump    prints the whole file as text that can be compared.\n"
    "verify  checks the whole file and names the first violation.\n"
    "convert makes such a file of a PDB or another file with debug\n"
    "        information, and a PpdbCache of a portable PDB, a ProguardCache\n"
    "        of a mapping of ProGuard or R8; --kind cficache makes a\n"
    "        CfiCache, with --text Breakpad's text; --kind codecache one\n"
    "        with the machine code of a program; --arch or --id chooses the\n"
    "        image of a fat Mach-O file; see pdb2symcache(1).\n"
    "\n"
    "Symbfiles, of Elastic's Universal Profiling (docs/profilers.md):\n"
    "symbfile  make writes one of a SymCache or of any file that convert\n"
    "        takes; show prints its records; lookup prints the functions at\n"
    "        each ADDRESS, outermost first; push sends those of an\n"
    "        executable to a server: --api-key KEY, --parts N, --debug-file\n"
    "        FILE for its names.\n"
    "\n"
    "Source code (docs/source-lines.md):\n"
    "bundle-sources  collects the source files that each FILE, a debug file,\n"
    "        names and this disk has; OUT is the bundle, or a folder for\n"
    "        several.\n"
    "\n"
    "A folder for Symbolicator, symcached or a bucket (docs/sources.md):\n"
    "sort    lays debug files, programs and source bundles of a build down\n"
    "        in OUT, in the layout \"unified\"; --bundle-id ID notes them as\n"
    "        one; -z, -zz or -zzz packs them with zstd; --with-sources makes\n"
    "        bundles of sources.\n"
    "\n"
    "A running symcached (\"PDB GUIDAGE\" and \"PDB/GUIDAGE\" will do, too):\n"
    "warm    has all modules made that a LIST (\"-\" or none: standard\n"
    "        input) names, as \"pdb,guid,age\" lines or as xperf prints\n"
    "        them, or to which images, PDBs, ELF and Mach-O files belong, in\n"
    "        folders too; tells what is missing, and why.  --kind ppdbcache:\n"
    "        those of portable PDBs, or another kind as for why; --version\n"
    "        M.m.p is the newest that clients read; --concurrency N (16)\n"
    "        asks for so many at once; --attempts N (3) times, as far apart\n"
    "        as symcached says.\n"
    "why     tells what is cached of a module, what is known against it, and\n"
    "        where symcached looked for it; --kind debuginfo|executable|sym\n"
    "        of an original.  FILE is an image, PDB, ELF or Mach-O file of\n"
    "        the module; for forget it has a folder: ./app.pdb.\n"
    "forget  drops what is remembered against one build of a PDB, or all; or\n"
    "        all of the store that is malformed since a TIME (2h ago, or\n"
    "        \"2026-11-21 07:50\").\n"
    "jobs    prints what symcached does now.\n"
    "sources prints where it looks, and how it fared there.\n"
    "status  prints how much it does, its tiers, and who asks it for "
    "addresses.\n"
    "watch   follows the transactions of symstore.exe in FOLDER/000Admin,\n"
    "        behind the last one or number N, and forgets what was absent of\n"
    "        their keys.\n"
    "drain   has it finish what runs and refuse new jobs, until --end or its "
    "end.\n"
    "\n"
    "A running symbolicated, or the files of a store without one:\n"
    "symbolicate  prints what is at each ADDRESS of a module, as lookup\n"
    "        does; or what a REQUEST of Symbolicator's or Mozilla's protocol\n"
    "        asks for, JSON in a file (\"-\": standard input).  With\n"
    "        --images a TRACE of .NET, whose lines have \"in App.dll:token\n"
    "        0x6000002+0x6\", gets files and lines; PATH is the folder of\n"
    "        its assemblies.  With --symbols, names come from a FOLDER of\n"
    "        debug files.  With --root FOLDER it reads the store itself, and\n"
    "        asks no daemon.  A crash REPORT of Apple's, a text or JSON\n"
    "        (.ips), or a minidump gets names and lines, too, also from the\n"
    "        server below --url.  A trace of JavaScript gets those of its\n"
    "        sources, by source maps beside its scripts or in a FOLDER\n"
    "        (--maps), or by those of a server for --release, --dist and\n"
    "        --debug-id; --why tells what was asked for.  An EVENT\n"
    "        is the JSON of Sentry, or its ID there.\n"
    "minidump  prints the threads of a crash dump, with names and lines from\n"
    "        the store of --root, from the server below --url, or from\n"
    "        symbolicated; without any of them without names.  --schema\n"
    "        socorro prints the JSON of minidump-stackwalk.\n"
    "retrace  prints a stack trace of a program that ProGuard or R8 has\n"
    "        shrunk with its original names, by the MAPPING of the build, or\n"
    "        the one that the trace names of a folder of them.\n"
    "\n"
    "A server that takes uploads (docs/uploads.md):\n"
    "upload  sends debug files and images to URL, where their content says\n"
    "        they belong, and skips what is there.  --token TOKEN,\n"
    "        \"$VARIABLE\" or @FILE; --force replaces files; --expires 30d;\n"
    "        --try; --warm; --watch goes on with what comes into a FOLDER;\n"
    "        --product, --branch and --build label them.\n"
    "uploads on that machine: ls lists what was uploaded; rm removes files,\n"
    "        and what was made of them; pin keeps them whatever the rules\n"
    "        say.  builds lists the builds that uploads were labelled with,\n"
    "        and forget removes some; --product, --branch and --build are\n"
    "        patterns, for ls as well, and so is --release, of bundles of\n"
    "        scripts.\n"
    "\n"
    "A store on this machine:\n"
    "ls      prints its files, sizes and last uses, and what is known to be\n"
    "        absent; of PDBs that match a PATTERN, --present, --absent,\n"
    "        --unused-for 12h.\n"
    "import  copies a SymCache folder of Windows into it; replaces no good "
    "file.\n"
    "clean   removes what the rules no longer keep (see symcached(8));\n"
    "        --unknown only what a later release left, whose kinds of files\n"
    "        or ids this one does not know.\n"
    "import and clean take --dry-run.\n"
    "tier    of a shared tier: ls prints its objects; clean removes those\n"
    "        older than its \"lifetime\" or --older-than 30d, and with\n"
    "        --former those that no store wants any more (--dry-run); rule\n"
    "        prints the lifecycle rule of a bucket.\n"
    "transcoder  check runs each one once, on a small PDB, and tells what it\n"
    "        gave and took; init has one make what it needs, as\n"
    "        symcachegen-wine its Wine prefix.  NAME is its program.\n"
    "\n"
    "Options: -c FILE is symcached's configuration, of which socket and root\n"
    "are taken (" SETTINGS_CONFIG "); --socket unix:PATH or\n"
    "HOST:PORT, --root FOLDER name them; --peers ADDRESS,... asks several\n"
    "(why, forget, jobs, sources, status); --store NAME (" SETTINGS_STORE ");\n"
    "--json prints JSON.\n"
    "\n"
    "Names are printed as stored; control characters in them are escaped.\n"
    "\n"
    "exit codes: 0 done; 1 no address was found (lookup, symbolicate,\n"
    "symbfile lookup), something is not cached (warm, why), a line or file\n"
    "names no module (warm), nothing is there (ls), a file was refused\n"
    "(import, convert, upload, symbfile make and push, sort), no source file\n"
    "is there (bundle-sources), the configuration is wrong (clean, tier,\n"
    "transcoder), or the file violates the format (verify); 2 usage, or a\n"
    "frame has no name (symbolicate); 3 input or output failed, or symcached\n"
    "or symbolicated cannot be reached; 4 not a SymCache, or (lookup and\n"
    "dump) not a whole one, or not a symbfile that can be read;\n"
    "130 interrupted (warm, import)\n";

/* Does a line of the usage name a command, perhaps among others, "a|b"? */
static bool is_usage_of(const char *line, const char *name)
{
    const size_t size = strlen(name);
    const char *p = line + strlen("usage: symcachectl ");

    for (;; p++) {
        if (strncmp(p, name, size) == 0 && strchr(" |\n", p[size]) != NULL) {
            return true;
        }
        p += strcspn(p, " |\n");
        if (*p != '|') {
            return false;
        }
    }
}

static bool is_section_of(const char *line, const char *name)
{
    size_t size = strlen(name);

    return strncmp(line, name, size) == 0 && line[size] == ' ';
}

void help_print_command(const char *name)
{
    const char *line, *end = NULL;
    bool is_usage = true, is_shown = false, is_first = true;

    for (line = help_text; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        if (end == line) {
            is_usage = is_shown = false;
        } else if (is_usage && strncmp(line + 7, "symcachectl ", 12) == 0) {
            is_shown = is_usage_of(line, name);
            if (is_shown) {
                printf("%s%.*s\n", is_first ? "usage: " : "       ",
                       (int)(end - line - 7), line + 7);
                is_first = false;
            }
            continue;
        } else if (!is_usage && *line != ' ') {
            is_shown = is_section_of(line, name);
            fputs(is_shown ? "\n" : "", stdout);
        }
        if (is_shown) {
            printf("%.*s\n", (int)(end - line), line);
        }
    }
    puts("\nsymcachectl(1) has all options and exit codes.");
}

bool help_is_asked(int argc, char **argv)
{
    int i;

    for (i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 ||
            strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}
