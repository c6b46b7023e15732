/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of Swift: in full, as the compiler's own test expects them
 * (t/data/demangle/swift.txt), and in the form that is answered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "symbolication/swift/swift.h"

/* Names that are in the file and not understood yet; they stay as they are. */
#define NOT_UNDERSTOOD 16

/* In full, such text has what was specialized. */
static const char specialized[] = "function signature specialization <";

static void names_of_the_compilers_test(void **state)
{
    FILE *f = fopen("t/data/demangle/swift.txt", "r");
    char line[4096], out[4096], *expected;
    unsigned not_understood = 0, n = 0;
    size_t size;

    assert_non_null(f);
    for (; fgets(line, sizeof(line), f) != NULL; n++) {
        line[strcspn(line, "\n")] = '\0';
        expected = strstr(line, " ---> ");
        assert_non_null(expected);
        *expected = '\0';
        expected += 6;
        size = swift_demangle(line, strlen(line), true, out, sizeof(out) - 1);
        out[size] = '\0';
        if (strcmp(line, expected) == 0) {
            assert_int_equal(size, 0);
        } else if (size == 0) {
            not_understood++;
        } else if (strncmp(expected, specialized, sizeof(specialized) - 1) !=
                   0) {
            assert_string_equal(out, expected);
        }
    }
    fclose(f);
    assert_true(n > 90);
    assert_in_range(not_understood, 0, NOT_UNDERSTOOD);
}

static void assert_answered(const char *const cases[][2], size_t n)
{
    char out[4096];
    size_t i, size;

    for (i = 0; i < n; i++) {
        assert_true(swift_sniff(cases[i][0], strlen(cases[i][0])));
        size = swift_demangle(cases[i][0], strlen(cases[i][0]), false, out,
                              sizeof(out) - 1);
        out[size] = '\0';
        if (strcmp(out, cases[i][1]) != 0) {
            fail_msg("%s: \"%s\" instead of \"%s\"", cases[i][0], out,
                     cases[i][1]);
        }
    }
}

/* Expected is what Symbolicator 26.8.0 answers, of all but one: for "some" it
 * writes "<<opaque return type of S.f()>>.0". */
static void names_that_are_answered(void **state)
{
    static const char *const cases[][2] = {
        {"$s4main3FooV3baryySiF", "Foo.bar(Int)"},
        {"_$s4main3FooV3bar3baz1xySi_SStKF", "Foo.bar(baz: Int, x: String)"},
        {"_$S8mangling14varargsVsArray3arr1nySid_SStF",
         "varargsVsArray(arr: Int..., n: String)"},
        {"$s4main20receiveInstantiationyySo34__CxxTemplateInst12MagicWrapperI"
         "iEVzF",
         "receiveInstantiation(inout __CxxTemplateInst12MagicWrapperI"
         "iE)"},
        {"$s4test3StrCACycfC", "Str.__allocating_init()"},
        {"$s4main3FooV3bar33_0123456789ABCDEF0123456789ABCDEFLLyyF",
         "Foo.bar()"},
        {"$s4main4workyyYaFTY0_", "work()"},
        {"$s4main4workyyYaFTQ1_", "work()"},
        {"$s4main3runyyFyycfU_", "closure #1 () in run()"},
        {"$s4main3runyyFyycfU_TA", "partial apply for closure #1 () in run()"},
        {"$s4main3runyyFyyYaYbcfU_TATQ0_",
         "partial apply for closure #1 @Sendable () in run()"},
        {"$s4main3runyyFySiz_SStcfU1_",
         "closure #3 (inout Int, String) in run()"},
        {"$s4main3FooV3bar1fyyyc_tFySicfU0_",
         "closure #2 (Int) in Foo.bar(f: ())"},
        {"$s4main3FooC4nameSSvg", "Foo.name.getter"},
        {"$s4main3FooC4nameSSvpZ", "static Foo.name"},
        {"$s4main3FooCyS2icig", "Foo.subscript.getter"},
        {"$s4main3FooCyS2icip", "Foo.subscript(Int)"},
        {"$s4main3FooCfD", "Foo.__deallocating_deinit"},
        {"$s4main3FooVMa", "type metadata accessor for Foo"},
        {"$s4main3FooVSgWOe", "outlined consume of Foo?"},
        {"$s4main3FooVAA1PA2aDP3fooyyFTW",
         "protocol witness for P.foo() in conformance Foo"},
        {"$s4main3runyyFTf4nd_n", "specialized run()"},
        {"$s4main3runyyFSi_Tg5", "specialized run()"},
        {"$s4main3runyyyyScMYccF", "run(@MainActor ())"},
        {"$s4main3runyyyyYaYbcF", "run(@Sendable ())"},
        {"$s4main3run1fyS2ic_tF", "run(f: (Int))"},
        {"$s4main3runyyFTa", "partial apply for run()"},
        {"$s4main3runyyFTm", "run()"},
        {"$s4main3FooV3barSiyFTE", "Foo.bar()"},
        {"$s4main3FooV3baryyFTwb", "Foo.bar()"},
        {"$s4main3FooV3baryyFTwB", "back deployment fallback for Foo.bar()"},
        {"$s4main3runyyF.resume.0", "run()"},
        {"$sIeg_IeyB_TR", "thunk for @escaping @callee_guaranteed () -> ()"},
        {"$s4test3fooV4blahyAA1SV1fQryFQOy_Qo_AHF", "foo.blah(some)"},
        {"$s12typed_throws15rethrowConcreteyyAA7MyErrorOYKF",
         "rethrowConcrete()"},
        {"$s1A1gyyxlFx_qd__t_Ti5", "specialized g<A>(A)"},
        {"$sSTsSQ7ElementRpzrlE8containsySbABF",
         "Sequence<>.contains(A.Element)"},
        {"$sSlsSH7ElementSTRpzrlE3fooyyF", "Collection<>.foo()"},
        {"$sSa3fooSHRzlE3baryyF", "Array<A>.bar()"},
        {"$sSayxGSQsSQRzlSQ2eeoiySbx_xtFZTW",
         "protocol witness for static Equatable.== infix(A, A) in "
         "conformance <A> [A]"},
        {"$sSDyxq_GSHsSHR_rlSH4hash4intoys6HasherVz_tFTW",
         "protocol witness for Hashable.hash(into: inout Hasher) in "
         "conformance <> [A : B]"},
        {"$s7ElementSTQzqd__s5Error_pIgnrzo_ABqd__sAC_pIegnrzr_SlRzr__lTR",
         "thunk for @callee_guaranteed (@in_guaranteed A.Sequence.Element) "
         "-> (@out A1, @error @owned Error)"},
        {"$sSpsRi_zrlE10initialize2toyxn_tF",
         "UnsafeMutablePointer<>.initialize(to: __owned A)"},
        {"$s4main3runyyFyyYbScMYccfU_",
         "closure #1 @MainActor @Sendable () in run()"},
        {"$s4main3runyyFyyScMYccfU_TA",
         "partial apply for closure #1 @MainActor () in run()"},
        {"$s4main3BoxVfD", "Box.deinit"},
        {"$s4main3FooVwxx", "destroy for Foo"},
        {"$s4main3FooVwcp", "initializeWithCopy for Foo"},
        {"$s4main3runyyAA1P_pmF", "run(P.Protocol)"},
        {"$s4main3runyyypmF", "run(Any.Protocol)"},
        {"$s4main1xyyXBvs", "x.setter"},
        {"$s7SwiftUI11ViewBuilderV10buildBlockyAA05TupleC0VyxxQp_tGxxQpRvzAA0"
         "C0RzlFZ",
         "static ViewBuilder.buildBlock<each A>(repeat A)"},
        {"$SSC9SomeErrorLeVD", "related decl 'e' for SomeError"},
        {"$s18keypaths_inlinable13KeypathStructV8computedSSvpACTKq",
         "key path getter for KeypathStruct.computed : KeypathStruct, "
         "serialized"},
    };

    assert_answered(cases, sizeof(cases) / sizeof(cases[0]));
}

/* Of what the compiler makes, as Symbolicator's library writes it. */
static void made_functions(void **state)
{
    static const char *const cases[][2] = {
        {"$s4main3FooC6sharedACvpZfiACyXEfU_",
         "closure #1 () in variable initialization expression of static "
         "Foo.shared"},
        {"$s4main3FooC4nameSSvpfPSSyXEfU_",
         "closure #1 () in property wrapper backing initializer of Foo.name"},
        {"$s4main3FooC4nameSSvpfW",
         "property wrapper init from projected value of Foo.name"},
        {"$s4main3FooC4nameSSvpfF",
         "property wrapped field init accessor of Foo.name"},
        {"$s4main3FooC6shared_WZ",
         "one-time initialization function for shared"},
        {"$s4main1a_1b_WZTm", "one-time initialization function for (a, b)"},
        {"$s4main3FooC6shared_Wz", "one-time initialization token for shared"},
        {"$s4main3BarC1fyyFAA3FooCADyyFTV",
         "vtable thunk for Foo.f() dispatching to Bar.f()"},
        {"$s4main3FooVSHAASQWb",
         "base witness table accessor for Equatable in Foo"},
        {"$s4main3FooVSgWOg", "outlined enum get tag of Foo?"},
        {"$s4main3FooVSgWOi0_", "outlined enum tag store of Foo?"},
        {"$s4main3FooVSgWOj_", "outlined enum project data for load of Foo?"},
        {"$s4main3FooVWOH", "outlined destroy of Foo"},
        {"$s4main1gyyxlFxIetn_Tp5", "specialized g<A>(A)"},
        {"$s4main1gyyxlFxIetn_TP5", "specialized g<A>(A)"},
        {"$s4main3runyyFyAA1P_pXmTXEfU_",
         "closure #1 (@thick P.Type) in run()"},
        {"$s4main3runyyFyAA3FooCXMtXEfU_",
         "closure #1 (@thin Foo.Type) in run()"},
        {"$s4main1gyyxlFSi_Tg5Tf4d_n", "specialized g<A>(A)"},
        {"$s4main1gyyxmlFSi_Tt0g5", "specialized g<A>(A.Type)"},
        {"$s4main1gyyxm_q_mtr0_lFSi_SSTtt1g5Tf4d_n",
         "specialized g<A, B>(A.Type, B.Type)"},
        {"$s4main1gyyxlFSi_Ts5", "specialized g<A>(A)"},
        {"$sSo6NSDataCSgSo7NSErrorCSgIeyByy_10Foundation4DataVTZ_",
         "checked @objc completion handler block implementation for @escaping "
         "@callee_unowned @convention(block) (@unowned NSData?, @unowned "
         "NSError?) -> () with result type Data"},
        {"$s10ObjectiveC8ObjCBoolVIeyBy_SbTz1_",
         "@objc completion handler block implementation for @escaping "
         "@callee_unowned @convention(block) (@unowned ObjCBool) -> () with "
         "result type Bool zero on error"},
        {"$s4main3runyyF5countL_Sivg", "getter of count #1 in run()"},
    };

    assert_answered(cases, sizeof(cases) / sizeof(cases[0]));
}

/* Generic parameters in full, as the library of Swift 6 has them. */
static void generic_parameters(void **state)
{
    static const char *const cases[][2] = {
        {"$sSTsSQ7ElementRpzrlE8containsySbABF",
         "(extension in Swift):Swift.Sequence< where A.Element: "
         "Swift.Equatable>.contains(A.Element) -> Swift.Bool"},
        {"$sSRsRi_zRi0_zrlE3fooyyF",
         "(extension in Swift):Swift.UnsafeBufferPointer< where A: "
         "~Swift.Copyable, A: ~Swift.Escapable>.foo() -> ()"},
        {"$s4main1PPAA1TAaBPRj_zrlE3fooyyF",
         "(extension in main):main.P< where A.main.P.T: "
         "~Swift.Copyable>.foo() -> ()"},
        {"$s7SwiftUI11ViewBuilderV10buildBlockyAA05TupleC0VyxxQp_tGxxQpRvzAA0"
         "C0RzlFZ",
         "static SwiftUI.ViewBuilder.buildBlock<each A where A: "
         "SwiftUI.View>(repeat A) -> SwiftUI.TupleView<(repeat A)>"},
        {"$s4main3FooVwxx", "destroy value witness for main.Foo"},
        {"$s4main3fooyyxSTRz7ElementSTRj_zlF",
         "main.foo<A where A: Swift.Sequence, A.Swift.Sequence.Element: "
         "~Swift.Copyable>(A) -> ()"},
    };
    char out[4096];
    size_t i, size;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size = swift_demangle(cases[i][0], strlen(cases[i][0]), true, out,
                              sizeof(out) - 1);
        out[size] = '\0';
        assert_string_equal(out, cases[i][1]);
    }
}

/* Each name, cut off anywhere, and with each byte replaced. */
static void damaged_names(void **state)
{
    static const char name[] =
        "_$Ss17MutableCollectionP1asAARzs012RandomAccessB0RzsAA11SubSequences0"
        "13BidirectionalB0PRpzsAdHRQlE06rotatecD015shiftingToStart5Indexs01_A9"
        "IndexablePQzAN_tFAKs01_M4BasePQzAQcfU_";
    static const char others[] = "y_0ACGSTtFl9z\0";
    char copy[sizeof(name)], out[4096];
    size_t i, k;

    for (i = 0; i < sizeof(name) - 1; i++) {
        assert_true(swift_demangle(name, i, true, out, sizeof(out)) <=
                    sizeof(out));
        for (k = 0; k < sizeof(others) - 1; k++) {
            memcpy(copy, name, sizeof(name));
            copy[i] = others[k];
            assert_true(swift_demangle(copy, sizeof(copy) - 1, false, out,
                                       sizeof(out)) <= sizeof(out));
        }
    }
    assert_int_equal(swift_demangle("$s4main3FooV3baryySiF", 21, false, out, 3),
                     0);
}

/* Each "A" doubles what the pair in front of it is. */
static void a_name_that_grows(void **state)
{
    char name[2048] = "$s4main1fyySi_Sit", out[4096];
    size_t n = strlen(name);

    while (n < 1500) {
        n += (size_t)snprintf(name + n, sizeof(name) - n, "_Sit_Sit");
    }
    assert_int_equal(swift_demangle(name, n, false, out, sizeof(out)), 0);
    memset(name + 2, 'y', 1500);
    assert_int_equal(swift_demangle(name, n, false, out, sizeof(out)), 0);
    memset(name + 2, 'p', 1500);
    assert_int_equal(swift_demangle(name, n, false, out, sizeof(out)), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_the_compilers_test),
        cmocka_unit_test(names_that_are_answered),
        cmocka_unit_test(made_functions),
        cmocka_unit_test(generic_parameters),
        cmocka_unit_test(damaged_names),
        cmocka_unit_test(a_name_that_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
