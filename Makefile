# ngx_symcache: nginx module, helper daemon, converter, operator's command.
#
#   make            all four products in build/
#   make demo       install what is missing, build, show the main job working
#   make test       install what is missing, build, run every test
#   make test-asan  the same under AddressSanitizer and UBSan
#   make test-versions  t/module on several versions of nginx
#   make install    DESTDIR and prefix are honoured
#   make fuzz       fuzz targets in build/fuzz (needs clang)

B       ?= build
CC      ?= cc
PREFIX  ?= /usr/local
MODDIR  ?= /usr/lib/nginx/modules
JOBS    ?= 2

CSTD     = -std=c11
WARN     = -W -Wall -Wextra -Wpointer-arith -Wshadow -Wstrict-prototypes \
           -Wvla -Wno-unused-parameter $(WERROR)
CPPFLAGS += -D_GNU_SOURCE -Isrc
CFLAGS  ?= -O2 -g
HARDEN   = -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
LDHARDEN = -Wl,-z,relro,-z,now

# the converter is the price of every miss: a tenth less time
HOT      = -O3 -flto=auto -ffat-lto-objects

ifdef SAN
SANFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=undefined \
           -fno-omit-frame-pointer
CFLAGS  := -O1 -g
HARDEN   =
HOT      =
endif

LIBS_symcached    = -levent -lcurl -lmspack -lz -lzstd -lcjson -lpcre2-8 \
                    -lseccomp -lgssapi_krb5
LIBS_pdb2symcache = -lseccomp
LIBS_symcachectl  = -lcurl -lcjson -lseccomp

PROGRAMS = symcached pdb2symcache symcachectl

# Parts, each one archive; a program is its own part and what it may use.
PARTS    = proto pdb symcache sandbox symcached pdb2symcache symcachectl
USES_symcached    = sandbox symcache pdb proto
USES_pdb2symcache = sandbox symcache pdb proto
USES_symcachectl  = sandbox symcache pdb proto

all: check-packages $(PROGRAMS:%=$(B)/%) $(B)/ngx_symcache_module.so

check-packages:
	@tools/packages check build

# objects and archives ------------------------------------------------------

SRCS     = $(wildcard src/*/*.c)
CSRCS    = $(filter-out src/module/%,$(SRCS))
OBJS     = $(CSRCS:%.c=$(B)/obj/%.o)

$(foreach p,pdb symcache pdb2symcache,$(B)/obj/src/$(p)/%.o): OPT = $(HOT)
$(B)/pdb2symcache: private OPT = $(HOT)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(CPPFLAGS) $(CFLAGS) $(OPT) $(HARDEN) $(SANFLAGS) $(WARN) \
	    -MMD -MP -c -o $@ $<

define part
$(B)/lib$(1).a: $$(patsubst %.c,$(B)/obj/%.o,$$(filter-out \
                src/$(1)/main.c,$$(wildcard src/$(1)/*.c)))
	@rm -f $$@
	@ar rcs $$@ $$^
endef

$(foreach p,$(PARTS),$(eval $(call part,$(p))))

define program
$(B)/$(1): $(B)/obj/src/$(1)/main.o $(B)/lib$(1).a \
           $(USES_$(1):%=$(B)/lib%.a)
	$(CC) $$(CFLAGS) $$(OPT) $$(SANFLAGS) -pie $$(LDHARDEN) $$(LDFLAGS) -o $$@ $$^ \
	    $$(LIBS_$(1)) -lpthread
endef

$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))

# bench/convert's half of ours: a call of the converter, nothing else
$(B)/convert_call: private OPT = $(HOT)
$(B)/convert_call: $(B)/obj/bench/convert_call.o $(B)/libpdb2symcache.a \
                   $(B)/libsymcache.a $(B)/libpdb.a
	$(CC) $(CFLAGS) $(OPT) $(SANFLAGS) -pie $(LDHARDEN) $(LDFLAGS) -o \
	    $@ $^

# the module, built against the distribution's nginx ---------------------------

MODULE_SRCS = config ngx_symcache_module.c $(wildcard src/module/*.[ch]) \
              $(wildcard src/proto/*.[ch])

$(B)/ngx_symcache_module.so: $(MODULE_SRCS) tools/build-module
	+SAN=$(SAN) tools/build-module $(abspath $(B))

# unit tests -------------------------------------------------------------------

UNIT     = $(patsubst t/unit/%.c,$(B)/unit/%,$(wildcard t/unit/*.c))
UNITLIBS = $(PARTS:%=$(B)/lib%.a)

$(B)/unit/%: $(B)/obj/t/unit/%.o $(UNITLIBS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANFLAGS) -pie -o $@ $< \
	    -Wl,--start-group $(UNITLIBS) -Wl,--end-group \
	    -lcmocka $(LIBS_symcached) -lpthread

# fuzz targets -------------------------------------------------------------------

FUZZ     = $(patsubst fuzz/%.c,$(B)/fuzz/%,$(wildcard fuzz/fuzz_*.c))
FUZZCC  ?= clang
FUZZSAN ?= address,undefined
FUZZOBJS = $(patsubst %.c,$(B)/fuzz/obj/%.o,fuzz/image.c \
             $(wildcard src/proto/*.c src/pdb/*.c src/symcache/*.c) \
             $(addprefix src/symcached/,symptr.c body.c cabinet.c sink.c) \
             $(addprefix src/symcachectl/,list.c identity.c) \
             $(filter-out %/main.c %/output.c %/parser.c, \
               $(wildcard src/pdb2symcache/*.c)))

fuzz: $(FUZZ)

$(B)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZCC) $(CSTD) $(CPPFLAGS) -O2 -g -fsanitize=fuzzer-no-link,$(FUZZSAN) \
	    -fno-sanitize-recover=undefined -MMD -MP -c -o $@ $<

$(B)/fuzz/%: $(B)/fuzz/obj/fuzz/%.o $(FUZZOBJS)
	$(FUZZCC) -fsanitize=fuzzer,$(FUZZSAN) -o $@ $^ -lmspack -lz -lzstd

# tests ------------------------------------------------------------------------

PROVE    = SYMCACHE_BUILD=$(abspath $(B)) SYMCACHE_SAN=$(SAN) \
           CMOCKA_MESSAGE_OUTPUT=TAP prove -j$(JOBS) -It/lib
TESTS   ?= $(wildcard t/*.t t/module/*.t t/helper/*.t t/convert/*.t \
           t/ctl/*.t t/system/*.t)

test:
	tools/packages install build test
	$(MAKE) -j$(JOBS) all unit
	$(PROVE) $(TESTS) $(UNIT)

unit: $(UNIT)

test-asan:
	$(MAKE) B=$(B)/asan SAN=1 test

# t/module on nginx 1.18, the distribution's, and newer ones, each built from
# its source package with the module linked in; a compiler warning fails
test-versions: all
	tools/packages install build test versions
	SYMCACHE_BUILD=$(abspath $(B)) tools/test-versions $(abspath $(B))/versions

demo:
	tools/packages install build demo
	$(MAKE) -j$(JOBS) all
	SYMCACHE_BUILD=$(abspath $(B)) tools/demo

# ------------------------------------------------------------------------------

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/sbin \
	    $(DESTDIR)$(MODDIR) $(DESTDIR)$(PREFIX)/share/doc/ngx_symcache \
	    $(DESTDIR)$(PREFIX)/share/man/man1 \
	    $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 755 $(B)/pdb2symcache $(B)/symcachectl \
	    $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/symcached $(DESTDIR)$(PREFIX)/sbin
	install -m 644 $(B)/ngx_symcache_module.so \
	    $(DESTDIR)$(MODDIR)/.ngx_symcache_module.so.new
	mv -f $(DESTDIR)$(MODDIR)/.ngx_symcache_module.so.new \
	    $(DESTDIR)$(MODDIR)/ngx_symcache_module.so
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 man/*.8 $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 644 README.md LICENSE $(wildcard conf-examples/*) \
	    $(DESTDIR)$(PREFIX)/share/doc/ngx_symcache

clean:
	rm -rf $(B)

.PHONY: all check-packages unit test test-asan test-versions demo fuzz install clean
.SECONDARY:

-include $(OBJS:.o=.d) $(FUZZOBJS:.o=.d)
-include $(wildcard $(B)/obj/t/unit/*.d $(B)/obj/bench/*.d $(B)/fuzz/obj/fuzz/*.d)
