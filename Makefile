# ngx_symcache: nginx module, helper daemon, converter, operator's command.
#
#   make            all products in build/
#   make demo       install what is missing, build, show the main job working
#   make test       install what is missing, build, run every test
#   make test-full  make test, and t/full: tests that take long
#   make test-asan  make test under AddressSanitizer and UBSan
#   make test-versions  t/module on several versions of nginx
#   make soak       a random campaign of SOAK_SECONDS (120); soak-asan
#   make sbom       build/sbom.json: what is linked, of which version
#   make install    DESTDIR, PREFIX and MODDIR (of the module, whatever PREFIX
#                   is) are honoured, by uninstall too
#   make deb        Debian packages in build/deb
#   make fuzz       fuzz targets in build/fuzz (needs clang)
#   make fuzz-afl   the same for AFL++, in build/afl/fuzz (needs afl++)
#
# With PACKAGES=no nothing is installed.  If the build needs a package that is
# missing, it stops; tests that need one are skipped.

B       ?= build
PACKAGES ?= yes
CC      ?= cc
PREFIX  ?= /usr/local
MODDIR  ?= /usr/lib/nginx/modules
UNITDIR ?= $(PREFIX)/lib/systemd/system
JOBS    ?= 2

# C11 has no implicit declarations, which older compilers only warn of
CSTD     = -std=c11 -Werror=implicit-function-declaration
WARN     = -W -Wall -Wextra -Wpointer-arith -Wshadow -Wstrict-prototypes \
           -Wvla -Wno-unused-parameter $(WERROR)
# nanopb's headers are in a folder of their own in later distributions
CPPFLAGS += -D_GNU_SOURCE -Isrc -I/usr/include/nanopb
CFLAGS  ?= -O2 -g
HARDEN   = -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
LDHARDEN = -Wl,-z,relro,-z,now

# A worker is a fork of its program.  Each mapping costs it time, and each
# library is five of them.
LINK_symbolicated-worker = $(if $(SAN),,-static-pie)

# every miss waits for the converter; this makes it a tenth faster
HOT      = -O3 -flto=auto -ffat-lto-objects

ifdef SAN
SANFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=undefined \
           -fno-omit-frame-pointer
CFLAGS  := -O1 -g
HARDEN   =
HOT      =
endif

LIBS_symcached    = -levent -lcurl -lcrypto -lnettle -lcjson -lexpat -lpcre2-8 \
                    -lgssapi_krb5 -lprotobuf-nanopb -lzstd -lseccomp
LIBS_symbolicated = -liberty -levent -lcurl -lcjson -lpcre2-8 -lnettle \
                    -lprotobuf-nanopb -lz -lzstd -lseccomp
LIBS_symbolicated-worker = -lcapstone -lpcre2-8 -liberty -lprotobuf-nanopb -lz -lzstd -lseccomp
# each file starts them anew: what can be is linked in, which libisal of Debian
# cannot
LIBS_symcached-sandboxed = -lprotobuf-nanopb -Wl,-Bstatic -lmspack -lminizip \
                    -lnettle -lz -lzstd -lseccomp -Wl,-Bdynamic
LIBS_pdb2symcache = -liberty -lprotobuf-nanopb -lisal -Wl,-Bstatic -lminizip \
                    -llzma -lnettle -lz -lzstd -lseccomp -Wl,-Bdynamic
# the linker leaves out those whose functions are all in lazy_libraries.c
LIBS_symcachectl  = -liberty -lcjson -lprotobuf-nanopb -lseccomp -Wl,--as-needed \
                    -lisal -llzma -lminizip -lnettle -lz -lzstd

# libraries that symcachectl loads when it needs them, by their names at run time
soname   = $(shell readelf -d $$($(CC) -print-file-name=lib$(1).so) | \
             sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
LAZY = $(B)/obj/src/symcachectl/lazy_libraries.o

PROGRAMS = symcached symcached-sandboxed symbolicated symbolicated-worker \
           pdb2symcache symcachectl
SCRIPTS  = symcachegen-ssh symcachegen-wine
CANARIES = canary.pdb canary-portable.pdb

# Each folder of src/ is one archive.  A program consists of the folder with
# its main() and those that it may use; t/style.t checks which may use which.
PARTS    = symcached_sandboxed symbolicated_worker symcached symbolicated \
           worker_pool symcachectl converter http child metrics config \
           disassembly symbolication json debuginfo reports stackwalk derived \
           sandbox base proto
ROOM_symcached    = symcached
ROOM_symcached-sandboxed = symcached_sandboxed
ROOM_symbolicated = symbolicated
ROOM_symbolicated-worker = symbolicated_worker
ROOM_pdb2symcache = converter
ROOM_symcachectl  = symcachectl
USES_symcached    = http child metrics config sandbox base proto
USES_symcached-sandboxed = symcached config debuginfo symbolication json reports derived sandbox base proto
USES_symbolicated = http metrics config disassembly symbolication json derived \
                    worker_pool sandbox base proto
USES_symbolicated-worker = worker_pool reports stackwalk disassembly symbolication json \
                    derived sandbox base proto
USES_pdb2symcache = debuginfo symbolication json derived sandbox base proto
USES_symcachectl  = symbolicated disassembly converter debuginfo reports symbolication json \
                    stackwalk derived config sandbox base proto

ifeq ($(filter yes no,$(PACKAGES)),)
$(error PACKAGES is yes or no, and not "$(PACKAGES)")
endif
MADEPAGES = $(B)/man/symcached.json.5 $(B)/man/ngx_symcache_module.7
PREPARE  = tools/packages $(if $(filter no,$(PACKAGES)),check,install)

all: check-packages $(PROGRAMS:%=$(B)/%) $(SCRIPTS:%=$(B)/%) $(CANARIES:%=$(B)/%) \
     $(B)/ngx_symcache_module.so $(MADEPAGES)

check-packages:
	@tools/packages check build

# objects and archives ------------------------------------------------------
#
# The packages are checked before anything is compiled.  Otherwise make -j would
# hide the message about missing ones among compiler errors.

SRCS     = $(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c)
CSRCS    = $(filter-out src/module/%,$(SRCS))
OBJS     = $(CSRCS:%.c=$(B)/obj/%.o)

HOTOBJS  = $(filter $(foreach p,base debuginfo derived reports stackwalk \
             symbolication json converter,\
             $(B)/obj/src/$(p)/%),$(OBJS))
$(HOTOBJS): OPT = $(HOT)

# a parser that gets no memory ends (src/sandbox/allocation.c)
WRAP_pdb2symcache = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,-u,__wrap_malloc
WRAP_symcachectl  = $(WRAP_pdb2symcache)
WRAP_symbolicated-worker = $(WRAP_pdb2symcache)
WRAP_symcached-sandboxed = $(WRAP_pdb2symcache)
$(B)/pdb2symcache: private OPT = $(HOT)

$(B)/obj/%.o: %.c | check-packages
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(CPPFLAGS) $(CFLAGS) $(OPT) $(HARDEN) $(SANFLAGS) $(WARN) \
	    -MMD -MP -c -o $@ $<

# append, because folders may have files of the same name, which ar would
# otherwise replace
define part
$(B)/lib$(1).a: $$(patsubst %.c,$(B)/obj/%.o,$$(filter-out \
                src/$(1)/main.c %/lazy_libraries.c,$$(filter src/$(1)/%,$$(CSRCS))))
	@mkdir -p $$(@D)
	@rm -f $$@
	@ar qcs $$@ $$^
endef

$(foreach p,$(PARTS),$(eval $(call part,$(p))))

define program
$(B)/$(1): $(B)/obj/src/$(ROOM_$(1))/main.o $(B)/lib$(ROOM_$(1)).a \
           $(USES_$(1):%=$(B)/lib%.a)
	$(CC) $$(CFLAGS) $$(OPT) $$(SANFLAGS) $$(or $$(LINK_$(1)),-pie) $$(LDHARDEN) $$(WRAP_$(1)) \
	    $$(LDFLAGS) -o $$@ $$^ $$(LIBS_$(1)) -lpthread
endef

$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))

$(B)/symcachectl: $(LAZY)
$(LAZY): private CPPFLAGS += -DLIBCURL='"$(call soname,curl)"' \
    -DLIBCAPSTONE='"$(call soname,capstone)"' \
    -DLIBISAL='"$(call soname,isal)"' -DLIBLZMA='"$(call soname,lzma)"' \
    -DLIBMINIZIP='"$(call soname,minizip)"' \
    -DLIBNETTLE='"$(call soname,nettle)"' -DLIBZ='"$(call soname,z)"' \
    -DLIBZSTD='"$(call soname,zstd)"'

# manual pages that are made from documents

$(B)/man/symcached.json.5: docs/configuration.md tools/manual
	@mkdir -p $(@D)
	tools/manual symcached.json 5 "configuration of symcached" <$< >$@

$(B)/man/ngx_symcache_module.7: docs/directives.md tools/manual
	@mkdir -p $(@D)
	tools/manual ngx_symcache_module 7 \
	    "nginx module that serves SymCache files" <$< >$@

# programs that are scripts
$(SCRIPTS:%=$(B)/%): $(B)/%: src/transcoders/%
	@mkdir -p $(@D)
	install -m 755 $< $@

# good PDBs, on which symcached tries transcoders that fail
$(CANARIES:%=$(B)/%): $(B)/%: src/symcached/%
	@mkdir -p $(@D)
	cp $< $@

# for bench/convert: calls the converter in its own process
$(B)/convert_call: private OPT = $(HOT)
$(B)/convert_call: $(B)/obj/bench/convert_call.o $(B)/libconverter.a \
                   $(B)/libdebuginfo.a $(B)/libsymbolication.a \
                   $(B)/libjson.a $(B)/libderived.a $(B)/libbase.a $(B)/libproto.a
	$(CC) $(CFLAGS) $(OPT) $(SANFLAGS) -pie $(LDHARDEN) $(LDFLAGS) -o \
	    $@ $^ $(LIBS_pdb2symcache)

# the module, built against the distribution's nginx ---------------------------

MODULE_SRCS = config config.make ngx_symcache_module.c tools/embed-page \
              $(wildcard src/module/*.[ch] src/module/*/*.* src/proto/*.[ch])

$(B)/ngx_symcache_module.so: $(MODULE_SRCS) tools/build-module | check-packages
	+SAN=$(SAN) tools/build-module $(abspath $(B))

# unit tests -------------------------------------------------------------------

UNIT     = $(patsubst t/unit/%.c,$(B)/unit/%,$(wildcard t/unit/*.c))
UNITLIBS = $(PARTS:%=$(B)/lib%.a)

$(B)/unit/codecache: UNITDISASSEMBLER = -lcapstone

$(B)/unit/%: $(B)/obj/t/unit/%.o $(UNITLIBS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fno-lto $(SANFLAGS) -pie -o $@ $< \
	    -Wl,--start-group $(UNITLIBS) -Wl,--end-group \
	    -lcmocka $(UNITDISASSEMBLER) $(LIBS_symcached) $(LIBS_symcached-sandboxed) -lisal -llzma -liberty -lpthread

# fuzz targets -------------------------------------------------------------------

FUZZ     = $(patsubst fuzz/%.c,$(B)/fuzz/%,$(wildcard fuzz/fuzz_*.c))
FUZZCC  ?= clang
FUZZSAN ?= address,undefined
FUZZOBJS = $(patsubst %.c,$(B)/fuzz/obj/%.o,fuzz/image.c fuzz/cfi.c \
             $(wildcard src/proto/*.c src/derived/*.c src/derived/*/*.c \
               src/debuginfo/*.c src/debuginfo/*/*.c src/reports/*/*.c \
               src/stackwalk/*.c src/disassembly/*.c src/json/*.c src/symbolication/*.c \
               src/symbolication/*/*.c) \
             $(addprefix src/base/,address.c arena.c artifact_list.c clock.c fd_write.c glob.c log.c origin.c profiler_id.c sort.c spool.c hash_table.c http_status.c jscache_id.c percent.c protobuf.c thread.c url_id.c utf8.c) \
             $(addprefix src/config/,location_map.c sympath.c tokens.c) src/base/secret.c \
             $(addprefix src/http/,chunked.c request_head.c) \
             $(addprefix src/symcached/,source/file_ptr.c space/limited_writer.c \
               $(addprefix intake/,decompress.c body_kind.c cabinet.c form.c \
                 upload_report.c)) \
             $(wildcard src/symbolicated/api/*.c src/symbolicated/api/*/*.c) \
             $(addprefix src/symcachectl/,helper/module_list.c files/identity.c))

fuzz: $(FUZZ)

fuzz-afl:
	$(MAKE) B=$(B)/afl FUZZCC=afl-clang-fast FUZZSAN=address fuzz

$(B)/fuzz/obj/%.o: %.c | check-packages
	@mkdir -p $(@D)
	$(FUZZCC) $(CSTD) $(CPPFLAGS) -O1 -gline-tables-only \
	    -fsanitize=fuzzer-no-link,$(FUZZSAN) \
	    -fno-sanitize-recover=undefined \
	    -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -MMD -MP -c -o $@ $<

$(B)/fuzz/%: $(B)/fuzz/obj/fuzz/%.o $(FUZZOBJS)
	$(FUZZCC) -fsanitize=fuzzer,$(FUZZSAN) -o $@ $^ -lcurl -lcrypto -liberty \
	    -lmspack -lminizip -lnettle -lprotobuf-nanopb -lcapstone -lisal -llzma -lz \
	    -lzstd $(FUZZLIBS)

$(B)/fuzz/fuzz_tier: $(patsubst %.c,$(B)/fuzz/obj/%.o,\
             src/symcached/tier/object.c)

$(B)/fuzz/fuzz_page: FUZZLIBS = -levent -lexpat
$(B)/fuzz/fuzz_page: $(patsubst %.c,$(B)/fuzz/obj/%.o,\
             src/symcached/tier/bucket_page.c)

$(B)/fuzz/fuzz_metadata: FUZZLIBS = -lcjson
$(B)/fuzz/fuzz_metadata: $(patsubst %.c,$(B)/fuzz/obj/%.o,\
             src/symcached/metadata/results.c)

$(B)/fuzz/fuzz_pyroscope: FUZZLIBS = -lcjson
$(B)/fuzz/fuzz_pyroscope: $(patsubst %.c,$(B)/fuzz/obj/%.o,\
             src/symcached/server/pyroscope_message.c)

$(B)/fuzz/fuzz_sentry_list: FUZZLIBS = -lcjson
$(B)/fuzz/fuzz_sentry_list: $(patsubst %.c,$(B)/fuzz/obj/%.o,\
             src/symcached/source/sentry_list.c)

# the whole daemon, without its main()
$(B)/fuzz/fuzz_symbolicated: FUZZLIBS = $(LIBS_symbolicated)
$(B)/fuzz/fuzz_symbolicated: $(patsubst %.c,$(B)/fuzz/obj/%.o,$(filter-out \
             src/symbolicated/main.c src/sandbox/allocation.c,$(wildcard src/symbolicated/*.c \
               src/symbolicated/calls/*.c src/symbolicated/files/*.c src/worker_pool/*.c \
               src/symbolicated/search/*.c src/base/*.c src/config/*.c \
               src/http/*.c src/metrics/*.c src/sandbox/*.c)))

# everything that the types of sources need; the target has a stat_with_timeout() of its own
$(B)/fuzz/fuzz_config: FUZZLIBS = $(LIBS_symcached)
$(B)/fuzz/fuzz_config: $(patsubst %.c,$(B)/fuzz/obj/%.o,$(filter-out \
             src/base/stat_timeout.c src/sandbox/allocation.c,$(wildcard src/symcached/*/*.c \
               src/symcached/*/*/*.c src/child/*.c src/config/*.c src/base/*.c \
               src/http/*.c src/metrics/*.c src/sandbox/*.c)))

# tests ------------------------------------------------------------------------

PROVE    = SYMCACHE_BUILD=$(abspath $(B)) SYMCACHE_SAN=$(SAN) \
           SYMCACHE_PACKAGES=$(PACKAGES) \
           CMOCKA_MESSAGE_OUTPUT=TAP prove -It/lib

# Most of a test's time is waiting: two share a processor.  Those that take
# longest begin first, so that none of them is left at the end.
FIRST    = t/fuzz.t t/system/reload.t t/system/misbehaviour_http.t \
           t/system/misbehaviour_sources.t t/system/status_page.t \
           t/system/tiers.t t/soak/campaign.t t/helper/ready.t \
           t/helper/directories.t t/helper/symcachegen_ssh.t t/module/zone.t
TESTS   ?= $(FIRST) $(filter-out $(FIRST),$(wildcard t/*.t t/module/*.t \
           t/helper/*.t t/convert/*.t t/ctl/*.t t/symbolicated/*.t \
           t/system/*.t t/soak/*.t))

# If up to three files fail, they are run again, one after the other.  A test
# that passes then did not get enough of the machine before.  That is a fault of
# the test, which is reported, and not of what it tests.
STATE    = $(B)/prove
AGAIN    = failed=$$($(PROVE) --statefile=$(STATE) --state=failed --dry | wc -l); \
           [ $$failed -ge 1 ] && [ $$failed -le 3 ] && \
           echo "\# run once more, alone:" && \
           $(PROVE) -j1 --statefile=$(STATE) --state=failed && \
           echo "\# FLAKY: what was run again failed beside others and passed alone"

test:
	$(PREPARE) build test
	$(MAKE) -j$(JOBS) all unit
	rm -f $(STATE)
	$(PROVE) -j$$((2 * $(JOBS))) --statefile=$(STATE) --state=save \
	    $(TESTS) $(UNIT) || { $(AGAIN); }

unit: $(UNIT)

# tests that take more than half a minute to install or to run; each of them
# says what it needs, and is skipped without that
test-full:
	$(MAKE) test TESTS="$(TESTS) $(wildcard t/full/*.t)"

test-asan:
	$(MAKE) B=$(B)/asan SAN=1 test

# t/module on nginx 1.18, the distribution's, and newer ones, each built from
# its source package with the module linked in; a compiler warning fails
test-versions: all
	$(PREPARE) build test versions
	SYMCACHE_BUILD=$(abspath $(B)) tools/test-versions $(abspath $(B))/versions

# see t/soak/campaign.t for what may be given
SOAK_SECONDS ?= 120

soak: all
	SYMCACHE_BUILD=$(abspath $(B)) SYMCACHE_SAN=$(SAN) \
	    SOAK_SECONDS=$(SOAK_SECONDS) perl -It/lib t/soak/campaign.t

soak-asan:
	$(MAKE) B=$(B)/asan SAN=1 soak

demo:
	$(PREPARE) build demo
	$(MAKE) -j$(JOBS) all
	SYMCACHE_BUILD=$(abspath $(B)) tools/demo

# the documents as a site, in $(B)/site/html
docs:
	tools/site/make $(B)/site

# packages -----------------------------------------------------------------------

deb:
	$(PREPARE) build deb
	tools/build-deb $(abspath $(B)/deb)

# ------------------------------------------------------------------------------

# Everything but the module's folder is below PREFIX, if UNITDIR is.  Documents
# keep the folders that they have here, so that links between them lead
# somewhere.

AT       = $(DESTDIR)$(PREFIX)
DOCDIR   = $(AT)/share/doc/ngx_symcache
BASHDIR  = $(AT)/share/bash-completion/completions
ZSHDIR   = $(AT)/share/zsh/site-functions
PAGES    = $(wildcard man/*.[0-9]) $(MADEPAGES)
DOCS     = README.md CHANGELOG.md LICENSE bench/README.md $(wildcard docs/*.* \
           docs/internals/*.* docs/pictures/*.* conf-examples/*.md conf-examples/*.conf \
           conf-examples/*.json conf-examples/*.yml conf-examples/*/*)
UNITS    = $(notdir $(wildcard packaging/systemd/*))
CREATED  = sysusers.d/symcached.conf tmpfiles.d/symcached.conf

install: all
	install -d $(AT)/bin $(AT)/sbin $(AT)/libexec/ngx_symcache \
	    $(AT)/share/ngx_symcache $(DESTDIR)$(MODDIR)
	install -m 755 $(B)/pdb2symcache $(B)/symcachectl $(SCRIPTS:%=$(B)/%) \
	    $(AT)/bin
	install -m 755 $(B)/symcached $(B)/symbolicated $(AT)/sbin
	install -m 755 $(B)/symcached-sandboxed $(B)/symbolicated-worker \
	    $(AT)/libexec/ngx_symcache
	install -m 644 $(B)/ngx_symcache_module.so \
	    $(DESTDIR)$(MODDIR)/.ngx_symcache_module.so.new
	mv -f $(DESTDIR)$(MODDIR)/.ngx_symcache_module.so.new \
	    $(DESTDIR)$(MODDIR)/ngx_symcache_module.so
	install -m 644 $(CANARIES:%=$(B)/%) $(AT)/share/ngx_symcache
	install -D -m 644 completion/symcachectl.bash $(BASHDIR)/symcachectl
	install -D -m 644 completion/_symcachectl $(ZSHDIR)/_symcachectl
	for unit in $(UNITS); do \
	    sed 's,/usr/sbin/,$(PREFIX)/sbin/,' packaging/systemd/$$unit | \
	        install -D -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/$$unit || \
	        exit 1; \
	done
	for file in $(CREATED); do \
	    install -D -m 644 packaging/$$file $(AT)/lib/$$file || exit 1; \
	done
	for page in $(PAGES); do \
	    install -D -m 644 $$page \
	        $(AT)/share/man/man$${page##*.}/$${page##*/} || exit 1; \
	done
	for doc in $(DOCS); do \
	    install -D -m 644 $$doc $(DOCDIR)/$$doc || exit 1; \
	done

# Removes everything that install wrote, and our own folders.  Folders that
# others use, too, are removed only from a DESTDIR, and only if they are empty.
OURS     = $(AT)/libexec/ngx_symcache $(AT)/share/ngx_symcache $(DOCDIR)
SHARED   = $(addprefix .$(PREFIX)/,bin sbin libexec share/doc \
           share/bash-completion/completions share/zsh/site-functions $(sort $(foreach p, \
           $(PAGES),share/man/man$(lastword $(subst ., ,$(p)))))) .$(MODDIR) \
           .$(UNITDIR) $(addprefix .$(PREFIX)/lib/,$(sort $(dir $(CREATED))))

uninstall:
	rm -f $(AT)/bin/pdb2symcache $(AT)/bin/symcachectl $(AT)/sbin/symcached \
	    $(AT)/sbin/symbolicated $(AT)/libexec/ngx_symcache/symcached-sandboxed \
	    $(AT)/libexec/ngx_symcache/symbolicated-worker \
	    $(DESTDIR)$(MODDIR)/ngx_symcache_module.so \
	    $(SCRIPTS:%=$(AT)/bin/%) \
	    $(BASHDIR)/symcachectl $(ZSHDIR)/_symcachectl \
	    $(CANARIES:%=$(AT)/share/ngx_symcache/%) $(DOCS:%=$(DOCDIR)/%) \
	    $(UNITS:%=$(DESTDIR)$(UNITDIR)/%) $(CREATED:%=$(AT)/lib/%)
	for page in $(PAGES); do \
	    rm -f $(AT)/share/man/man$${page##*.}/$${page##*/}; \
	done
	[ ! -d $(DOCDIR) ] || find $(OURS) -depth -type d -empty -delete
	[ -z "$(DESTDIR)" ] || for folder in $(SHARED); do \
	    (cd $(DESTDIR) && rmdir -p $$folder) 2>/dev/null || true; \
	done

# what is linked to what, of which version: CycloneDX
sbom: all
	tools/sbom $(B) > $(B)/sbom.json

clean:
	rm -rf $(B)

.PHONY: all check-packages unit test test-full test-asan test-versions soak soak-asan demo docs deb fuzz fuzz-afl install uninstall sbom clean
.SECONDARY:
.DELETE_ON_ERROR:

-include $(OBJS:.o=.d) $(SRCS:%.c=$(B)/fuzz/obj/%.d)
-include $(wildcard $(B)/obj/t/unit/*.d $(B)/obj/bench/*.d $(B)/fuzz/obj/fuzz/*.d)
