/*
 * Copyright (C) the ngx_symcache authors
 *
 * Stack traces of .NET, as text: lines with "in App.dll:token 0x6000002+0x6",
 * which the runtime prints for methods without a PDB, become lines with file
 * and line, as it prints them for those with one.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

struct trace_frame {
    size_t begin; /* of "in App.dll:token 0x6000002+0x6" in the text */
    size_t end;
    uint32_t module; /* or UINT32_MAX: it is not known which */
    uint32_t method;
    uint32_t il;
};

/* All zero at first. */
struct trace {
    char *text;
    struct trace_frame *frames;
    size_t num_frames;
    size_t room;
    char **modules; /* names of assemblies, as the text has them */
    size_t num_modules;
    size_t module_room;
};

/* Finds the frames of a text, which must live as long as the trace. */
void trace_read(struct trace *trace, char *text);
void trace_free(struct trace *trace);

/*
 * Returns a request of Symbolicator's protocol for all frames, to be freed.
 * The assemblies name their PDBs: images is the folder of the assemblies, or
 * the only one.  Errors in an assembly are printed, and its frames stay as
 * they are.
 */
char *trace_request(const struct trace *trace, const char *images);

/* Prints the text with the names from the answer. */
void trace_print(const struct trace *trace, const cJSON *answer);
