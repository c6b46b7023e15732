/*
 * Copyright (C) the ngx_symcache authors
 *
 * SystemInfo: the processor and the operating system.
 */
#include <stdio.h>
#include <string.h>

#include "bytes.h"

#define SYSTEM_INFO_SIZE 56

static const struct {
    uint16_t number;
    enum stackwalk_cpu cpu;
    const char *name;
} system_archs[] = {
    {0, STACKWALK_X86, "x86"},      {10, STACKWALK_X86, "x86"},
    {9, STACKWALK_AMD64, "x86_64"}, {5, STACKWALK_ARM, "arm"},
    {12, STACKWALK_ARM64, "arm64"}, {0x8003, STACKWALK_ARM64, "arm64"},
    {1, STACKWALK_MIPS, "mips"},    {0x8004, STACKWALK_UNKNOWN, "mips64"},
    {3, STACKWALK_PPC, "ppc"},      {0x8002, STACKWALK_PPC64, "ppc64"},
};

static const struct {
    uint32_t platform;
    enum minidump_os os;
    const char *name;
} systems[] = {
    {2, MINIDUMP_WINDOWS, "Windows"},
    {3, MINIDUMP_WINDOWS, "Windows"},
    {0x8101, MINIDUMP_MACOS, "macOS"},
    {0x8102, MINIDUMP_IOS, "iOS"},
    {0x8201, MINIDUMP_LINUX, "Linux"},
    {0x8202, MINIDUMP_SOLARIS, "Solaris"},
    {0x8203, MINIDUMP_ANDROID, "Android"},
    {0x8204, MINIDUMP_PS3, "PS3"},
    {0x8205, MINIDUMP_NACL, "NaCl"},
};

const char *minidump_os_name(enum minidump_os os)
{
    size_t i;

    for (i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        if (systems[i].os == os) {
            return systems[i].name;
        }
    }
    return "";
}

/* Cuts blanks off both ends. */
static char *system_trim_text(char *text)
{
    size_t size;

    text += strspn(text, " \t\n\v\f\r");
    for (size = strlen(text);
         size > 0 && strchr(" \t\n\v\f\r", text[size - 1]); size--) {
    }
    text[size] = '\0';
    return text;
}

/*
 * Breakpad and Crashpad write what uname(1) says: "Linux VERSION BUILD...
 * ARCH",
 * often followed by "Linux/GNU".  Returns false if that has no version.
 */
static bool system_split_uname(struct minidump *dump, char *text)
{
    char *version = strchr(text, ' '), *build, *last;

    if (version == NULL) {
        return false;
    }
    version++;
    build = strchr(version, ' ');
    if (build == NULL) {
        build = version + strlen(version);
    } else {
        *build++ = '\0';
    }
    if (strcmp(version, "0.0.0") == 0) {
        return false;
    }
    last = strrchr(build, ' ');
    if (last != NULL && strcmp(last + 1, "Linux/GNU") == 0) {
        *last = '\0';
        last = strrchr(build, ' ');
    }
    *(last != NULL ? last : build) = '\0';
    dump->os_version = version;
    dump->os_build = build;
    return true;
}

static bool system_read_version(struct minidump *dump, const uint8_t *p)
{
    char *version = arena_take(&dump->arena, 48);
    char *csd = bytes_string(dump, get32(dump, p + 24)), *copy;
    size_t size = csd != NULL ? strlen(csd) + 1 : 0;

    if (version == NULL) {
        return false;
    }
    snprintf(version, 48, "%u.%u.%u", get32(dump, p + 8), get32(dump, p + 12),
             get32(dump, p + 16));
    dump->os_version = version;
    dump->os_build = "";
    if (csd == NULL) {
        return true;
    }
    copy = arena_take(&dump->arena, size);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, csd, size);
    if (dump->os != MINIDUMP_LINUX || strcmp(version, "0.0.0") != 0 ||
        !system_split_uname(dump, copy)) {
        dump->os_build = system_trim_text(csd);
    }
    return true;
}

static const struct {
    uint32_t cpuid; /* with 0xff alone: the vendor, else vendor and part */
    const char *name;
} system_arm_names[] = {
    {0x41, "ARM"},
    {0x51, "Qualcomm"},
    {0x56, "Marvell"},
    {0x69, "Intel/Marvell"},
    {0x4100c050, "Cortex-A5"},
    {0x4100c080, "Cortex-A8"},
    {0x4100c090, "Cortex-A9"},
    {0x4100c0f0, "Cortex-A15"},
    {0x4100c140, "Cortex-R4"},
    {0x4100c150, "Cortex-R5"},
    {0x4100b360, "ARM1136"},
    {0x4100b560, "ARM1156"},
    {0x4100b760, "ARM1176"},
    {0x4100b020, "ARM11-MPCore"},
    {0x41009260, "ARM926"},
    {0x41009460, "ARM946"},
    {0x41009660, "ARM966"},
    {0x510006f0, "Krait"},
    {0x510000f0, "Scorpion"},
};

/* Of the bits of AT_HWCAP from the lowest one on. */
static const char *const arm_features[] = {
    "swp", "half", "thumb", "26bit", "fastmult", "fpa", "vfpv2", "edsp",
    "java", "iwmmxt", "crunch", "thumbee", "neon", "vfpv3", "vfpv3d16", "tls",
    "vfpv4", "idiva", "idivt"};

/* Adds a text to what is known of the processor. */
static void system_add_cpu_text(struct minidump *dump, const char *before,
                                const char *text)
{
    size_t used = strlen(dump->cpu_info);

    snprintf(dump->cpu_info + used, sizeof(dump->cpu_info) - used, "%s%s",
             before, text);
}

static void system_add_arm_name(struct minidump *dump, const char *what,
                                uint32_t id)
{
    char number[32];
    size_t i;

    for (i = 0; i < sizeof(system_arm_names) / sizeof(system_arm_names[0]);
         i++) {
        if (system_arm_names[i].cpuid == id) {
            system_add_cpu_text(dump, " ", system_arm_names[i].name);
            return;
        }
    }
    snprintf(number, sizeof(number), " %s(0x%x)", what, id);
    system_add_cpu_text(dump, number, "");
}

static void system_read_arm_cpu(struct minidump *dump, unsigned level,
                                uint32_t cpuid, uint32_t features)
{
    const char *before = " features: ";
    size_t i;

    snprintf(dump->cpu_info, sizeof(dump->cpu_info), "ARMv%u", level);
    if (cpuid != 0) {
        system_add_arm_name(dump, "vendor", cpuid >> 24);
        system_add_arm_name(dump, "part", cpuid & 0xff00fff0);
    }
    for (i = 0; i < sizeof(arm_features) / sizeof(arm_features[0]); i++) {
        if ((features >> i & 1) != 0) {
            system_add_cpu_text(dump, before, arm_features[i]);
            before = ",";
        }
    }
}

/* As the crate describes a processor.  It says nothing of others. */
static void system_read_cpu(struct minidump *dump, const uint8_t *p)
{
    char vendor[14] = "";
    unsigned i, level = get16(dump, p + 2), revision = get16(dump, p + 4);

    for (i = 0; i < 12 && dump->cpu == STACKWALK_X86; i++) {
        vendor[i] =
            p[32 + i] >= ' ' && p[32 + i] < 127 ? (char)p[32 + i] : ' ';
        vendor[i + 1] = ' ';
    }
    if (dump->cpu == STACKWALK_X86 || dump->cpu == STACKWALK_AMD64) {
        snprintf(dump->cpu_info, sizeof(dump->cpu_info),
                 "%sfamily %u model %u stepping %u", vendor, level,
                 revision >> 8, revision & 0xff);
    } else if (dump->cpu == STACKWALK_ARM) {
        system_read_arm_cpu(dump, level, get32(dump, p + 32),
                            get32(dump, p + 36));
    }
}

bool system_read(struct minidump *dump)
{
    struct minidump_bytes stream = bytes_stream(dump, STREAM_SYSTEM);
    size_t i;

    if (stream.size < SYSTEM_INFO_SIZE) {
        return false;
    }
    dump->arch = get16(dump, stream.data);
    dump->num_cpus = stream.data[6];
    dump->platform = get32(dump, stream.data + 20);
    for (i = 0; i < sizeof(system_archs) / sizeof(system_archs[0]); i++) {
        if (system_archs[i].number == dump->arch) {
            dump->cpu = system_archs[i].cpu;
            dump->cpu_name = system_archs[i].name;
        }
    }
    for (i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        if (systems[i].platform == dump->platform) {
            dump->os = systems[i].os;
        }
    }
    system_read_cpu(dump, stream.data);
    return system_read_version(dump, stream.data);
}
