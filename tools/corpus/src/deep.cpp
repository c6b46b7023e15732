/* 200 levels of inlining. */
volatile int sink;

#define INLINE static inline __attribute__((always_inline))

INLINE int f0(int x) { sink = x; return x; }
INLINE int f1(int x) {
    sink = x;
    return f0(x + 1) + sink;
}
INLINE int f2(int x) {
    sink = x;
    return f1(x + 1) + sink;
}
INLINE int f3(int x) {
    sink = x;
    return f2(x + 1) + sink;
}
INLINE int f4(int x) {
    sink = x;
    return f3(x + 1) + sink;
}
INLINE int f5(int x) {
    sink = x;
    return f4(x + 1) + sink;
}
INLINE int f6(int x) {
    sink = x;
    return f5(x + 1) + sink;
}
INLINE int f7(int x) {
    sink = x;
    return f6(x + 1) + sink;
}
INLINE int f8(int x) {
    sink = x;
    return f7(x + 1) + sink;
}
INLINE int f9(int x) {
    sink = x;
    return f8(x + 1) + sink;
}
INLINE int f10(int x) {
    sink = x;
    return f9(x + 1) + sink;
}
INLINE int f11(int x) {
    sink = x;
    return f10(x + 1) + sink;
}
INLINE int f12(int x) {
    sink = x;
    return f11(x + 1) + sink;
}
INLINE int f13(int x) {
    sink = x;
    return f12(x + 1) + sink;
}
INLINE int f14(int x) {
    sink = x;
    return f13(x + 1) + sink;
}
INLINE int f15(int x) {
    sink = x;
    return f14(x + 1) + sink;
}
INLINE int f16(int x) {
    sink = x;
    return f15(x + 1) + sink;
}
INLINE int f17(int x) {
    sink = x;
    return f16(x + 1) + sink;
}
INLINE int f18(int x) {
    sink = x;
    return f17(x + 1) + sink;
}
INLINE int f19(int x) {
    sink = x;
    return f18(x + 1) + sink;
}
INLINE int f20(int x) {
    sink = x;
    return f19(x + 1) + sink;
}
INLINE int f21(int x) {
    sink = x;
    return f20(x + 1) + sink;
}
INLINE int f22(int x) {
    sink = x;
    return f21(x + 1) + sink;
}
INLINE int f23(int x) {
    sink = x;
    return f22(x + 1) + sink;
}
INLINE int f24(int x) {
    sink = x;
    return f23(x + 1) + sink;
}
INLINE int f25(int x) {
    sink = x;
    return f24(x + 1) + sink;
}
INLINE int f26(int x) {
    sink = x;
    return f25(x + 1) + sink;
}
INLINE int f27(int x) {
    sink = x;
    return f26(x + 1) + sink;
}
INLINE int f28(int x) {
    sink = x;
    return f27(x + 1) + sink;
}
INLINE int f29(int x) {
    sink = x;
    return f28(x + 1) + sink;
}
INLINE int f30(int x) {
    sink = x;
    return f29(x + 1) + sink;
}
INLINE int f31(int x) {
    sink = x;
    return f30(x + 1) + sink;
}
INLINE int f32(int x) {
    sink = x;
    return f31(x + 1) + sink;
}
INLINE int f33(int x) {
    sink = x;
    return f32(x + 1) + sink;
}
INLINE int f34(int x) {
    sink = x;
    return f33(x + 1) + sink;
}
INLINE int f35(int x) {
    sink = x;
    return f34(x + 1) + sink;
}
INLINE int f36(int x) {
    sink = x;
    return f35(x + 1) + sink;
}
INLINE int f37(int x) {
    sink = x;
    return f36(x + 1) + sink;
}
INLINE int f38(int x) {
    sink = x;
    return f37(x + 1) + sink;
}
INLINE int f39(int x) {
    sink = x;
    return f38(x + 1) + sink;
}
INLINE int f40(int x) {
    sink = x;
    return f39(x + 1) + sink;
}
INLINE int f41(int x) {
    sink = x;
    return f40(x + 1) + sink;
}
INLINE int f42(int x) {
    sink = x;
    return f41(x + 1) + sink;
}
INLINE int f43(int x) {
    sink = x;
    return f42(x + 1) + sink;
}
INLINE int f44(int x) {
    sink = x;
    return f43(x + 1) + sink;
}
INLINE int f45(int x) {
    sink = x;
    return f44(x + 1) + sink;
}
INLINE int f46(int x) {
    sink = x;
    return f45(x + 1) + sink;
}
INLINE int f47(int x) {
    sink = x;
    return f46(x + 1) + sink;
}
INLINE int f48(int x) {
    sink = x;
    return f47(x + 1) + sink;
}
INLINE int f49(int x) {
    sink = x;
    return f48(x + 1) + sink;
}
INLINE int f50(int x) {
    sink = x;
    return f49(x + 1) + sink;
}
INLINE int f51(int x) {
    sink = x;
    return f50(x + 1) + sink;
}
INLINE int f52(int x) {
    sink = x;
    return f51(x + 1) + sink;
}
INLINE int f53(int x) {
    sink = x;
    return f52(x + 1) + sink;
}
INLINE int f54(int x) {
    sink = x;
    return f53(x + 1) + sink;
}
INLINE int f55(int x) {
    sink = x;
    return f54(x + 1) + sink;
}
INLINE int f56(int x) {
    sink = x;
    return f55(x + 1) + sink;
}
INLINE int f57(int x) {
    sink = x;
    return f56(x + 1) + sink;
}
INLINE int f58(int x) {
    sink = x;
    return f57(x + 1) + sink;
}
INLINE int f59(int x) {
    sink = x;
    return f58(x + 1) + sink;
}
INLINE int f60(int x) {
    sink = x;
    return f59(x + 1) + sink;
}
INLINE int f61(int x) {
    sink = x;
    return f60(x + 1) + sink;
}
INLINE int f62(int x) {
    sink = x;
    return f61(x + 1) + sink;
}
INLINE int f63(int x) {
    sink = x;
    return f62(x + 1) + sink;
}
INLINE int f64(int x) {
    sink = x;
    return f63(x + 1) + sink;
}
INLINE int f65(int x) {
    sink = x;
    return f64(x + 1) + sink;
}
INLINE int f66(int x) {
    sink = x;
    return f65(x + 1) + sink;
}
INLINE int f67(int x) {
    sink = x;
    return f66(x + 1) + sink;
}
INLINE int f68(int x) {
    sink = x;
    return f67(x + 1) + sink;
}
INLINE int f69(int x) {
    sink = x;
    return f68(x + 1) + sink;
}
INLINE int f70(int x) {
    sink = x;
    return f69(x + 1) + sink;
}
INLINE int f71(int x) {
    sink = x;
    return f70(x + 1) + sink;
}
INLINE int f72(int x) {
    sink = x;
    return f71(x + 1) + sink;
}
INLINE int f73(int x) {
    sink = x;
    return f72(x + 1) + sink;
}
INLINE int f74(int x) {
    sink = x;
    return f73(x + 1) + sink;
}
INLINE int f75(int x) {
    sink = x;
    return f74(x + 1) + sink;
}
INLINE int f76(int x) {
    sink = x;
    return f75(x + 1) + sink;
}
INLINE int f77(int x) {
    sink = x;
    return f76(x + 1) + sink;
}
INLINE int f78(int x) {
    sink = x;
    return f77(x + 1) + sink;
}
INLINE int f79(int x) {
    sink = x;
    return f78(x + 1) + sink;
}
INLINE int f80(int x) {
    sink = x;
    return f79(x + 1) + sink;
}
INLINE int f81(int x) {
    sink = x;
    return f80(x + 1) + sink;
}
INLINE int f82(int x) {
    sink = x;
    return f81(x + 1) + sink;
}
INLINE int f83(int x) {
    sink = x;
    return f82(x + 1) + sink;
}
INLINE int f84(int x) {
    sink = x;
    return f83(x + 1) + sink;
}
INLINE int f85(int x) {
    sink = x;
    return f84(x + 1) + sink;
}
INLINE int f86(int x) {
    sink = x;
    return f85(x + 1) + sink;
}
INLINE int f87(int x) {
    sink = x;
    return f86(x + 1) + sink;
}
INLINE int f88(int x) {
    sink = x;
    return f87(x + 1) + sink;
}
INLINE int f89(int x) {
    sink = x;
    return f88(x + 1) + sink;
}
INLINE int f90(int x) {
    sink = x;
    return f89(x + 1) + sink;
}
INLINE int f91(int x) {
    sink = x;
    return f90(x + 1) + sink;
}
INLINE int f92(int x) {
    sink = x;
    return f91(x + 1) + sink;
}
INLINE int f93(int x) {
    sink = x;
    return f92(x + 1) + sink;
}
INLINE int f94(int x) {
    sink = x;
    return f93(x + 1) + sink;
}
INLINE int f95(int x) {
    sink = x;
    return f94(x + 1) + sink;
}
INLINE int f96(int x) {
    sink = x;
    return f95(x + 1) + sink;
}
INLINE int f97(int x) {
    sink = x;
    return f96(x + 1) + sink;
}
INLINE int f98(int x) {
    sink = x;
    return f97(x + 1) + sink;
}
INLINE int f99(int x) {
    sink = x;
    return f98(x + 1) + sink;
}
INLINE int f100(int x) {
    sink = x;
    return f99(x + 1) + sink;
}
INLINE int f101(int x) {
    sink = x;
    return f100(x + 1) + sink;
}
INLINE int f102(int x) {
    sink = x;
    return f101(x + 1) + sink;
}
INLINE int f103(int x) {
    sink = x;
    return f102(x + 1) + sink;
}
INLINE int f104(int x) {
    sink = x;
    return f103(x + 1) + sink;
}
INLINE int f105(int x) {
    sink = x;
    return f104(x + 1) + sink;
}
INLINE int f106(int x) {
    sink = x;
    return f105(x + 1) + sink;
}
INLINE int f107(int x) {
    sink = x;
    return f106(x + 1) + sink;
}
INLINE int f108(int x) {
    sink = x;
    return f107(x + 1) + sink;
}
INLINE int f109(int x) {
    sink = x;
    return f108(x + 1) + sink;
}
INLINE int f110(int x) {
    sink = x;
    return f109(x + 1) + sink;
}
INLINE int f111(int x) {
    sink = x;
    return f110(x + 1) + sink;
}
INLINE int f112(int x) {
    sink = x;
    return f111(x + 1) + sink;
}
INLINE int f113(int x) {
    sink = x;
    return f112(x + 1) + sink;
}
INLINE int f114(int x) {
    sink = x;
    return f113(x + 1) + sink;
}
INLINE int f115(int x) {
    sink = x;
    return f114(x + 1) + sink;
}
INLINE int f116(int x) {
    sink = x;
    return f115(x + 1) + sink;
}
INLINE int f117(int x) {
    sink = x;
    return f116(x + 1) + sink;
}
INLINE int f118(int x) {
    sink = x;
    return f117(x + 1) + sink;
}
INLINE int f119(int x) {
    sink = x;
    return f118(x + 1) + sink;
}
INLINE int f120(int x) {
    sink = x;
    return f119(x + 1) + sink;
}
INLINE int f121(int x) {
    sink = x;
    return f120(x + 1) + sink;
}
INLINE int f122(int x) {
    sink = x;
    return f121(x + 1) + sink;
}
INLINE int f123(int x) {
    sink = x;
    return f122(x + 1) + sink;
}
INLINE int f124(int x) {
    sink = x;
    return f123(x + 1) + sink;
}
INLINE int f125(int x) {
    sink = x;
    return f124(x + 1) + sink;
}
INLINE int f126(int x) {
    sink = x;
    return f125(x + 1) + sink;
}
INLINE int f127(int x) {
    sink = x;
    return f126(x + 1) + sink;
}
INLINE int f128(int x) {
    sink = x;
    return f127(x + 1) + sink;
}
INLINE int f129(int x) {
    sink = x;
    return f128(x + 1) + sink;
}
INLINE int f130(int x) {
    sink = x;
    return f129(x + 1) + sink;
}
INLINE int f131(int x) {
    sink = x;
    return f130(x + 1) + sink;
}
INLINE int f132(int x) {
    sink = x;
    return f131(x + 1) + sink;
}
INLINE int f133(int x) {
    sink = x;
    return f132(x + 1) + sink;
}
INLINE int f134(int x) {
    sink = x;
    return f133(x + 1) + sink;
}
INLINE int f135(int x) {
    sink = x;
    return f134(x + 1) + sink;
}
INLINE int f136(int x) {
    sink = x;
    return f135(x + 1) + sink;
}
INLINE int f137(int x) {
    sink = x;
    return f136(x + 1) + sink;
}
INLINE int f138(int x) {
    sink = x;
    return f137(x + 1) + sink;
}
INLINE int f139(int x) {
    sink = x;
    return f138(x + 1) + sink;
}
INLINE int f140(int x) {
    sink = x;
    return f139(x + 1) + sink;
}
INLINE int f141(int x) {
    sink = x;
    return f140(x + 1) + sink;
}
INLINE int f142(int x) {
    sink = x;
    return f141(x + 1) + sink;
}
INLINE int f143(int x) {
    sink = x;
    return f142(x + 1) + sink;
}
INLINE int f144(int x) {
    sink = x;
    return f143(x + 1) + sink;
}
INLINE int f145(int x) {
    sink = x;
    return f144(x + 1) + sink;
}
INLINE int f146(int x) {
    sink = x;
    return f145(x + 1) + sink;
}
INLINE int f147(int x) {
    sink = x;
    return f146(x + 1) + sink;
}
INLINE int f148(int x) {
    sink = x;
    return f147(x + 1) + sink;
}
INLINE int f149(int x) {
    sink = x;
    return f148(x + 1) + sink;
}
INLINE int f150(int x) {
    sink = x;
    return f149(x + 1) + sink;
}
INLINE int f151(int x) {
    sink = x;
    return f150(x + 1) + sink;
}
INLINE int f152(int x) {
    sink = x;
    return f151(x + 1) + sink;
}
INLINE int f153(int x) {
    sink = x;
    return f152(x + 1) + sink;
}
INLINE int f154(int x) {
    sink = x;
    return f153(x + 1) + sink;
}
INLINE int f155(int x) {
    sink = x;
    return f154(x + 1) + sink;
}
INLINE int f156(int x) {
    sink = x;
    return f155(x + 1) + sink;
}
INLINE int f157(int x) {
    sink = x;
    return f156(x + 1) + sink;
}
INLINE int f158(int x) {
    sink = x;
    return f157(x + 1) + sink;
}
INLINE int f159(int x) {
    sink = x;
    return f158(x + 1) + sink;
}
INLINE int f160(int x) {
    sink = x;
    return f159(x + 1) + sink;
}
INLINE int f161(int x) {
    sink = x;
    return f160(x + 1) + sink;
}
INLINE int f162(int x) {
    sink = x;
    return f161(x + 1) + sink;
}
INLINE int f163(int x) {
    sink = x;
    return f162(x + 1) + sink;
}
INLINE int f164(int x) {
    sink = x;
    return f163(x + 1) + sink;
}
INLINE int f165(int x) {
    sink = x;
    return f164(x + 1) + sink;
}
INLINE int f166(int x) {
    sink = x;
    return f165(x + 1) + sink;
}
INLINE int f167(int x) {
    sink = x;
    return f166(x + 1) + sink;
}
INLINE int f168(int x) {
    sink = x;
    return f167(x + 1) + sink;
}
INLINE int f169(int x) {
    sink = x;
    return f168(x + 1) + sink;
}
INLINE int f170(int x) {
    sink = x;
    return f169(x + 1) + sink;
}
INLINE int f171(int x) {
    sink = x;
    return f170(x + 1) + sink;
}
INLINE int f172(int x) {
    sink = x;
    return f171(x + 1) + sink;
}
INLINE int f173(int x) {
    sink = x;
    return f172(x + 1) + sink;
}
INLINE int f174(int x) {
    sink = x;
    return f173(x + 1) + sink;
}
INLINE int f175(int x) {
    sink = x;
    return f174(x + 1) + sink;
}
INLINE int f176(int x) {
    sink = x;
    return f175(x + 1) + sink;
}
INLINE int f177(int x) {
    sink = x;
    return f176(x + 1) + sink;
}
INLINE int f178(int x) {
    sink = x;
    return f177(x + 1) + sink;
}
INLINE int f179(int x) {
    sink = x;
    return f178(x + 1) + sink;
}
INLINE int f180(int x) {
    sink = x;
    return f179(x + 1) + sink;
}
INLINE int f181(int x) {
    sink = x;
    return f180(x + 1) + sink;
}
INLINE int f182(int x) {
    sink = x;
    return f181(x + 1) + sink;
}
INLINE int f183(int x) {
    sink = x;
    return f182(x + 1) + sink;
}
INLINE int f184(int x) {
    sink = x;
    return f183(x + 1) + sink;
}
INLINE int f185(int x) {
    sink = x;
    return f184(x + 1) + sink;
}
INLINE int f186(int x) {
    sink = x;
    return f185(x + 1) + sink;
}
INLINE int f187(int x) {
    sink = x;
    return f186(x + 1) + sink;
}
INLINE int f188(int x) {
    sink = x;
    return f187(x + 1) + sink;
}
INLINE int f189(int x) {
    sink = x;
    return f188(x + 1) + sink;
}
INLINE int f190(int x) {
    sink = x;
    return f189(x + 1) + sink;
}
INLINE int f191(int x) {
    sink = x;
    return f190(x + 1) + sink;
}
INLINE int f192(int x) {
    sink = x;
    return f191(x + 1) + sink;
}
INLINE int f193(int x) {
    sink = x;
    return f192(x + 1) + sink;
}
INLINE int f194(int x) {
    sink = x;
    return f193(x + 1) + sink;
}
INLINE int f195(int x) {
    sink = x;
    return f194(x + 1) + sink;
}
INLINE int f196(int x) {
    sink = x;
    return f195(x + 1) + sink;
}
INLINE int f197(int x) {
    sink = x;
    return f196(x + 1) + sink;
}
INLINE int f198(int x) {
    sink = x;
    return f197(x + 1) + sink;
}
INLINE int f199(int x) {
    sink = x;
    return f198(x + 1) + sink;
}

extern "C" __declspec(dllexport) int entry(int x)
{
    return f199(x) + f50(x);
}
