/*
 * Copyright (C) the ngx_symcache authors
 */
#include "node.h"

#include "base/array.h"

/* Of each type its letter, its kind and its name. */
static const char *const standard_types[] = {
    "AVAutoreleasingUnsafeMutablePointer", "aVArray", "bVBool",
    "cVUnicodeScalar", "DVDictionary", "dVDouble", "fVFloat", "hVSet",
    "IVDefaultIndices", "iVInt", "JVCharacter", "NVClosedRange", "nVRange",
    "OVObjectIdentifier", "PVUnsafePointer", "pVUnsafeMutablePointer",
    "RVUnsafeBufferPointer", "rVUnsafeMutableBufferPointer", "SVString",
    "sVSubstring", "uVUInt", "VVUnsafeRawPointer",
    "vVUnsafeMutableRawPointer", "WVUnsafeRawBufferPointer",
    "wVUnsafeMutableRawBufferPointer", "qOOptional", "BPBinaryFloatingPoint",
    "EPEncodable", "ePDecodable", "FPFloatingPoint",
    "GPRandomNumberGenerator", "HPHashable", "jPNumeric",
    "KPBidirectionalCollection", "kPRandomAccessCollection", "LPComparable",
    "lPCollection", "MPMutableCollection", "mPRangeReplaceableCollection",
    "QPEquatable", "TPSequence", "tPIteratorProtocol", "UPUnsignedInteger",
    "XPRangeExpression", "xPStrideable", "YPRawRepresentable",
    "yPStringProtocol", "ZPSignedInteger", "zPBinaryInteger"};

static const char *const standard_concurrency[] = {
    "APActor", "CVCheckedContinuation", "cVUnsafeContinuation",
    "EVCancellationError", "eVUnownedSerialExecutor", "FPExecutor",
    "fPSerialExecutor", "GVTaskGroup", "gVThrowingTaskGroup",
    "hPTaskExecutor", "IPAsyncIteratorProtocol", "iPAsyncSequence",
    "JVUnownedJob", "MCMainActor", "PVTaskPriority", "SVAsyncStream",
    "sVAsyncThrowingStream", "TVTask", "tVUnsafeCurrentTask"};

static const char *standard_find(const char *const *types, size_t n,
                                 char letter, char *kind)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (types[i][0] == letter) {
            *kind = types[i][1];
            return types[i] + 2;
        }
    }
    return NULL;
}

static swift_ref standard_nominal(struct swift *s, const char *name, char kind)
{
    swift_ref ref = swift_make(s, SWIFT_NOMINAL, 2,
                               swift_make_text(s, SWIFT_MODULE, "Swift", 0),
                               swift_make_text(s, SWIFT_IDENTIFIER, name, 0));

    s->nodes[ref].number = (uint32_t)kind;
    return swift_type(s, ref);
}

static swift_ref standard_optional(struct swift *s)
{
    swift_ref list, type = swift_pop_type(s);

    list = swift_make(s, SWIFT_LIST, 1, type);
    return swift_share(
        s, swift_type(
               s, swift_make(
                      s, SWIFT_BOUND, 2,
                      swift_kid(s, standard_nominal(s, "Optional", 'O'), 0),
                      list)));
}

swift_ref swift_standard_type(struct swift *s)
{
    uint32_t count = 0;
    const char *name;
    char kind = 'V';
    swift_ref ref;

    if (swift_skip(s, 'o')) {
        return swift_make_text(s, SWIFT_MODULE, "__C", 0);
    }
    if (swift_skip(s, 'C')) {
        return swift_make_text(s, SWIFT_MODULE, "__C_Synthesized", 0);
    }
    if (swift_skip(s, 'g')) {
        return standard_optional(s);
    }
    swift_natural(s, &count);
    name =
        swift_skip(s, 'c')
            ? standard_find(standard_concurrency, COUNT(standard_concurrency),
                            swift_next(s), &kind)
            : standard_find(standard_types, COUNT(standard_types),
                            swift_next(s), &kind);
    if (name == NULL) {
        return swift_fail(s);
    }
    ref = standard_nominal(s, name, kind);
    swift_push_repeated(s, ref, count);
    return ref;
}
