# make help lists the targets.
#
#   BUILD=release|debug|sanitize   how to compile; each has a folder of its own
#                                  under build/, so that switching is cheap
#                                  (fuzz too: libFuzzer, for make fuzz alone)
#   NGX_SRC=PATH                   build against this nginx source tree, and
#                                  build its nginx too; default: the headers of
#                                  Debian's package nginx-dev
#   TEST_NGINX_LIB=PATH            run the suites of t/ under the Test::Nginx of
#                                  this checkout; default: an installed one,
#                                  else the small one of t/lib
#
# Sanitizers and a stock nginx: the module and the programs are compiled with
# them, nginx itself is not, so the runtime has to come first in its process.
# build/nginx, which all tests use, is a script that preloads it (t/lib and
# upstream's Test::Nginx both run what TEST_NGINX_BINARY names).  A report goes
# to nginx's error log, and each test fails on it.  With NGX_SRC= nginx is
# compiled with the sanitizers as well, and with NGX_DEBUG_PALLOC, so that each
# pool allocation has bounds that ASan knows of.

BUILD ?= release
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 1); [ $$n -gt 4 ] && n=4; echo $$n)
NGX_DEV ?= /usr/share/nginx/src
PROVE ?= prove
NODE ?= $(shell tools/node.sh path 2>/dev/null || echo node)

include src/sources.mk
include ngx_sandbox_module/sources.mk

ifeq ($(filter $(BUILD),release debug sanitize fuzz),)
$(error BUILD is "$(BUILD)": use release, debug or sanitize)
endif

ifeq ($(BUILD),fuzz)
CC := clang
endif

OUT := build
OBJ := $(OUT)/obj-$(BUILD)$(if $(NGX_SRC),-src)
NGX_TREE := $(if $(NGX_SRC),$(abspath $(NGX_SRC)),$(NGX_DEV))
NGX_WORK := $(OBJ)/nginx

OPT_release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong
OPT_debug := -O0
OPT_sanitize := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined
LINK_sanitize := -fsanitize=address,undefined
OPT_fuzz := -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=undefined
LINK_fuzz := -fsanitize=fuzzer,address,undefined

OPT := -g $(OPT_$(BUILD))
WARN := -Wall -Wextra -Werror -Wno-unused-parameter
CFLAGS ?=
LDFLAGS ?=
SBX_INCS := $(sort $(addprefix -I,$(patsubst %/,%,$(dir $(SBX_DEPS) $(SBX_SRCS) \
	$(SANDBOXCTL_SRCS) $(SANDBOX_HELPER_SRCS)))))
SBX_CFLAGS := -std=c11 -D_GNU_SOURCE -fPIC $(OPT) $(WARN) $(SBX_INCS) $(CFLAGS)
SBX_LDFLAGS := $(LINK_$(BUILD)) $(LDFLAGS)

# The helper is started for each operation on a sandbox: statically linked, that
# takes a third of the time.  STATIC= links it as everything else.
STATIC ?= $(if $(LINK_$(BUILD)),,-static)

# what nginx itself is compiled with when its source tree is given
NGX_OPT_sanitize := -DNGX_DEBUG_PALLOC=1 -DNGX_HAVE_NONALIGNED=0 \
	-fno-sanitize=nonnull-attribute,alignment,function,pointer-overflow
NGX_OPT := $(OPT) $(if $(NGX_SRC),$(NGX_OPT_$(BUILD)))
NGX_OPTIONS := --with-compat --with-debug --with-threads \
	--with-http_ssl_module --with-http_v2_module \
	$(if $(NGX_SRC),--with-http_realip_module --with-http_auth_request_module \
	--with-http_stub_status_module --with-http_slice_module)

objects = $(patsubst %.c,$(OBJ)/%.o,$(1))

SBX_OBJS := $(call objects,$(SBX_SRCS))
CTL_OBJS := $(call objects,$(SANDBOXCTL_SRCS))
VECTOR_OBJS := $(call objects,$(SANDBOXCTL_VECTOR_SRCS))
HELPER_OBJS := $(call objects,$(SANDBOX_HELPER_SRCS))

# unit tests: each *_test.c below t/unit is a program; any other .c there is
# linked into all of them
UNIT_ALL := $(shell find t/unit -name '*.c' 2>/dev/null | sort)
UNIT_SRCS := $(filter %_test.c,$(UNIT_ALL))
UNIT_OBJS := $(call objects,$(filter-out $(UNIT_SRCS),$(UNIT_ALL)))
UNIT_BINS := $(patsubst %.c,$(OBJ)/%,$(UNIT_SRCS))

# fuzz targets: each *_fuzz.c below t/fuzz is a program.  libFuzzer has a main()
# of its own, any other build takes that of fuzz_main.c.
FUZZ_SRCS := $(sort $(wildcard t/fuzz/*_fuzz.c))
FUZZ_OBJS := $(call objects,$(if $(filter fuzz,$(BUILD)),,t/fuzz/fuzz_main.c) \
	ngx_sandbox_module/provider/helper/sbh_frame.c)
FUZZ_BINS := $(patsubst %.c,$(OBJ)/%,$(FUZZ_SRCS))

MODULE := $(OUT)/ngx_http_sandbox_module.so
PRODUCTS := $(MODULE) $(OUT)/sandboxctl $(OUT)/sandbox-helper $(OUT)/nginx

# replaced by renaming: a running nginx keeps the file that it has mapped
install = cmp -s $(1) $(2) || { cp $(1) $(2).new && mv $(2).new $(2); }

export TEST_NGINX_BINARY ?= $(abspath $(OUT)/nginx)
export TEST_NGINX_LIB
export BUILD

# V=1 shows the commands
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)")

.PHONY: help build module programs products FORCE test test-unit test-fuzz test-lua \
	test-helper test-nginx fuzz \
	test-e2e test-chaos chaos soak asan valgrind valgrind-unit upstream-test-nginx mainline lint \
	bench clean
.DELETE_ON_ERROR:
.SECONDARY:

help: ## list the targets
	@sed -n '/^#   /s/^#   /  /p' Makefile | sed '/^  [A-Z_ ]/!d' | grep -E '=|^   ' || true
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' Makefile

build: ## the module, sandboxctl and the helper, in build/
	@$(MAKE) --no-print-directory -j$(JOBS) products

products: module programs

module: $(NGX_WORK)/Makefile FORCE
	$(Q)$(MAKE) $(if $(V),,-s) --no-print-directory -C $(NGX_WORK) -f objs/Makefile \
		$(if $(NGX_SRC),binary) modules
	@$(call install,$(NGX_WORK)/objs/ngx_http_sandbox_module.so,$(MODULE))
	@tools/nginx-wrapper.sh $(BUILD) "$(if $(NGX_SRC),$(abspath $(NGX_WORK))/objs/nginx)" \
		"$(CC)" > $(OUT)/nginx.new
	@chmod +x $(OUT)/nginx.new && mv $(OUT)/nginx.new $(OUT)/nginx

programs: $(OBJ)/sandboxctl $(if $(SANDBOX_HELPER_SRCS),$(OBJ)/sandbox-helper)
	@$(call install,$(OBJ)/sandboxctl,$(OUT)/sandboxctl)
	@$(if $(SANDBOX_HELPER_SRCS),$(call install,$(OBJ)/sandbox-helper,$(OUT)/sandbox-helper))

# nginx's configure writes beside itself: it gets a tree of links

$(NGX_WORK)/Makefile: config config.make src/sources.mk \
		ngx_sandbox_module/sources.mk Makefile
	@if [ ! -d $(NGX_TREE)/auto ]; then \
		echo "no nginx tree in $(NGX_TREE): install nginx-dev, or give NGX_SRC=PATH" >&2; \
		exit 1; \
	fi
	@mkdir -p $(NGX_WORK)
	@rm -f $(NGX_WORK)/Makefile
	@for f in auto src conf html contrib man docs misc; do \
		rm -f $(NGX_WORK)/$$f; \
		[ ! -e $(NGX_TREE)/$$f ] || ln -s $(NGX_TREE)/$$f $(NGX_WORK)/$$f; \
	done
	@c=$(NGX_TREE)/configure; [ -f $$c ] || c=$(NGX_TREE)/auto/configure; \
	cd $(NGX_WORK) && cp $$c configure && echo "configuring in $(NGX_WORK)" \
	&& ASAN_OPTIONS=detect_leaks=0 ./configure $(NGX_OPTIONS) --with-cc="$(CC)" \
		--with-cc-opt="$(NGX_OPT) $(CFLAGS)" --with-ld-opt="$(LINK_$(BUILD)) $(LDFLAGS)" \
		--add-dynamic-module=$(CURDIR) > configure.log \
	|| { tail -n 20 configure.log; exit 1; }
	@touch $@

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC $<)
	$(Q)$(CC) $(SBX_CFLAGS) -MMD -MP -c -o $@ $<

$(OBJ)/libsbx.a: $(SBX_OBJS)
	@rm -f $@
	$(call say,AR $@)
	$(Q)$(AR) rcs $@ $^

$(OBJ)/sandboxctl: $(CTL_OBJS) $(OBJ)/libsbx.a
	$(call say,LINK $@)
	$(Q)$(CC) $(SBX_LDFLAGS) -o $@ $^ $(SBX_LIBS)

$(OBJ)/sandbox-helper: $(HELPER_OBJS) $(OBJ)/libsbx.a
	$(call say,LINK $@)
	$(Q)$(CC) $(STATIC) $(SBX_LDFLAGS) -o $@ $^ $(if $(STATIC),$(SBX_LIBS:-lyajl=-lyajl_s),$(SBX_LIBS))

$(OBJ)/t/unit/%.o: SBX_CFLAGS += -It/unit

$(UNIT_BINS): $(OBJ)/t/unit/%: $(OBJ)/t/unit/%.o $(UNIT_OBJS) $(VECTOR_OBJS) $(OBJ)/libsbx.a
	$(call say,LINK $@)
	$(Q)$(CC) $(SBX_LDFLAGS) -o $@ $^ $(SBX_LIBS) -lcmocka

$(FUZZ_BINS): $(OBJ)/t/fuzz/%: $(OBJ)/t/fuzz/%.o $(FUZZ_OBJS) $(VECTOR_OBJS) $(OBJ)/libsbx.a
	$(call say,LINK $@)
	$(Q)$(CC) $(SBX_LDFLAGS) -o $@ $^ $(SBX_LIBS)

-include $(shell find $(OBJ) -name '*.d' -not -path '$(NGX_WORK)/*' 2>/dev/null)


test: build ## every suite, with totals in the last line
	@t/run unit lua helper nginx e2e chaos

# UNIT_UNDER: a program that runs the tests
export UNIT_UNDER

test-unit: $(OUT)/.dir ## unit tests of src/, and the vectors
	@$(MAKE) --no-print-directory -j$(JOBS) programs unit-programs
	@t/run-unit $(UNIT_BINS)

.PHONY: unit-programs
unit-programs: $(UNIT_BINS)

test-fuzz: ## the corpora of the fuzz targets, and some seconds of changed inputs
	@$(MAKE) --no-print-directory -j$(JOBS) fuzz-programs
	@t/fuzz/run $(BUILD) $(OBJ)/t/fuzz

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_BINS)

test-lua: ## the Redis scripts against a real redis-server
	@$(PROVE) $(PROVE_FLAGS) $(or $(T),$(sort $(wildcard t/lua/*.t)))

test-helper: build ## the helper and what it starts, without nginx
	@$(PROVE) $(PROVE_FLAGS) $(or $(T),$(sort $(wildcard t/helper/*.t)))

test-nginx: build ## t/*.t; T="t/020-run.t ..." for some of them
	@$(PROVE) $(PROVE_FLAGS) $(or $(T),$(sort $(wildcard t/*.t)))

test-e2e: build ## real clients, a real browser and the real Claude Code against run.sh
	@t/e2e/run.sh $(T)

test-chaos: build ## crashes, reloads and lost connections
	@if ls t/chaos/*.t > /dev/null 2>&1; then \
		$(PROVE) $(PROVE_FLAGS) $(or $(T),$(sort $(wildcard t/chaos/*.t))); \
	else \
		echo "no t/chaos/*.t"; \
	fi

asan: ## unit tests, t/helper and t/*.t under ASan and UBSan
	@$(MAKE) --no-print-directory BUILD=sanitize build
	@BUILD=sanitize t/run unit helper nginx

valgrind: ## t/*.t under valgrind (slow); T= as above
	@$(MAKE) --no-print-directory BUILD=debug build
	@TEST_NGINX_BINARY=$$(sed -n 's/^exec \([^ ]*\).*/\1/p' $(OUT)/nginx) \
		TEST_NGINX_USE_VALGRIND=1 TEST_NGINX_TIMEOUT=30 $(PROVE) -v $(PROVE_FLAGS) \
		$(or $(T),$(sort $(wildcard t/*.t)))

valgrind-unit: ## unit tests under valgrind
	@$(MAKE) --no-print-directory BUILD=debug \
		UNIT_UNDER="valgrind -q --leak-check=full --error-exitcode=99" test-unit

upstream-test-nginx: build ## t/*.t under the Test::Nginx of TEST_NGINX_LIB=PATH
	@if [ ! -f "$(TEST_NGINX_LIB)/lib/Test/Nginx/Socket.pm" ]; then \
		echo "TEST_NGINX_LIB=PATH must name a checkout of Test::Nginx" >&2; exit 1; \
	fi
	@$(PROVE) $(PROVE_FLAGS) $(or $(T),$(sort $(wildcard t/*.t)))

mainline: ## build nginx and module from NGX_SRC=PATH, and run t/*.t with them
	@if [ -z "$(NGX_SRC)" ]; then \
		echo "NGX_SRC=PATH must name an nginx source tree" >&2; exit 1; \
	fi
	@$(MAKE) --no-print-directory NGX_SRC=$(NGX_SRC) build
	@$(OUT)/nginx -v
	@$(PROVE) $(PROVE_FLAGS) $(or $(T),$(sort $(wildcard t/*.t)))

fuzz: ## libFuzzer, where clang has it; FUZZ_SECONDS=3600 a target, TARGET=json for one
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} $(MAKE) --no-print-directory \
		BUILD=$$(tools/libfuzzer.sh) test-fuzz

lint: ## style and static checks
	@tools/lint.sh

chaos: build ## random faults for MINUTES=30, from SEED=1 on
	CHAOS_SEED=$(or $(SEED),1) CHAOS_MINUTES=$(or $(MINUTES),30) $(PROVE) --verbose t/chaos/075-random.t

soak: build ## conversations, reloads, cancels for MINUTES=60; what is left afterwards
	SOAK_MINUTES=$(or $(MINUTES),60) $(PROVE) --verbose t/chaos/090-soak.t

bench: build ## the measurements of bench/
	@if [ -x bench/run ]; then bench/run; else echo "no bench/run"; fi

clean: ## remove build/
	rm -rf $(OUT) t/servroot*

$(OUT)/.dir:
	@mkdir -p $(OUT) && touch $@
