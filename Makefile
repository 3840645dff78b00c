# SPDX-License-Identifier: GPL-2.0-only
# callweave. `sudo make demo` and `sudo make check` need nothing else done first; plain `make`
# needs neither root nor network. Everything built goes under $(B).
B           := build
CC          ?= gcc
CLANG       ?= clang
VMLINUX_BTF ?= /sys/kernel/btf/vmlinux
PREFIX      ?= /usr/local
# On Ubuntu the bpftool in PATH is a wrapper that may not serve the running kernel: take one that works.
BPFTOOL     ?= $(shell for t in bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool /usr/lib/linux-tools-*/bpftool; \
		do "$$t" version >/dev/null 2>&1 && echo "$$t" && exit; done; echo bpftool)
CFLAGS      ?= -O2 -g
ARCH        := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')
WARN        := -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes
DEPFLAGS     = -MMD -MP
ALL_CFLAGS   = -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -Iformat -I$(B) $(DEPFLAGS)

# Under sudo, recipes run as the user who called it, so that no file of root's is left in $(B). Those
# that need root say `private SHELL`.
ROOT_SHELL := /bin/sh
ifneq ($(and $(filter 0,$(shell id -u)),$(filter-out 0,$(SUDO_UID))),)
ifeq ($(shell mkdir -p $(B) && chown -R $(SUDO_UID):$(SUDO_GID) $(B) && setpriv --reuid=$(SUDO_UID) --regid=$(SUDO_GID) --clear-groups test -r Makefile -a -w $(B) && echo yes),yes)
SHELL       := setpriv
.SHELLFLAGS := --reuid=$(SUDO_UID) --regid=$(SUDO_GID) --init-groups /bin/sh -c
endif
endif
AS_ROOT := check demo demo-async soak bench vm cross install deps fuzz
$(AS_ROOT): private SHELL := $(ROOT_SHELL)
$(AS_ROOT): private .SHELLFLAGS := -c

FORMAT_SRC  := $(wildcard format/*.c)
RECORD_SRC  := $(wildcard record/*.c)
ANALYZE_SRC := $(wildcard analyze/*.c analyze/*/*.c)
BPF_SRC     := $(wildcard bpf/*.bpf.c)
SCHEMA      := $(sort $(wildcard schema/*.sql))
objs         = $(patsubst %.c,$(B)/%.o,$(1))
asan_objs    = $(patsubst %.c,$(B)/asan/%.o,$(1))

all: $(B)/callweave-record $(B)/callweave-analyze workloads

# ---- BPF ------------------------------------------------------------------------------------------
$(B)/vmlinux.h:
	@mkdir -p $(@D)
	@test -r $(VMLINUX_BTF) || { echo "cannot read $(VMLINUX_BTF): give the kernel's BTF with VMLINUX_BTF=FILE" >&2; exit 1; }
	$(BPFTOOL) btf dump file $(VMLINUX_BTF) format c >$@.tmp && mv $@.tmp $@

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(B)/vmlinux.h
	@mkdir -p $(@D)
	$(CLANG) -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Wno-unused-parameter \
		-I$(B) -Iformat -Ibpf $(DEPFLAGS) -c $< -o $@

$(B)/callweave.bpf.o: $(patsubst bpf/%.c,$(B)/bpf/%.o,$(BPF_SRC))
	$(BPFTOOL) gen object $@ $^

$(B)/callweave.skel.h: $(B)/callweave.bpf.o
	{ echo "/* NOLINTBEGIN */" && $(BPFTOOL) gen skeleton $< name callweave_bpf && \
		echo "/* NOLINTEND */"; } >$@.tmp && mv $@.tmp $@

# ---- the two programs -----------------------------------------------------------------------------
# Generated headers must be there before the first compilation; after that the .d files know.
users = $(shell grep -l -s "\"$(2)\"" $(1))
SKEL_USERS   := $(if $(call users,record/*.h,callweave.skel.h),$(RECORD_SRC),$(call users,record/*.c,callweave.skel.h))
SCHEMA_USERS := $(call users,analyze/*.c tests/unit/*.c,schema.inc)
$(call objs,$(SKEL_USERS)) $(call asan_objs,$(SKEL_USERS)): | $(B)/callweave.skel.h
$(call objs,$(SCHEMA_USERS)) $(call asan_objs,$(SCHEMA_USERS)): | $(B)/schema.inc
$(B)/analyze/report_html.o $(B)/asan/analyze/report_html.o: | $(B)/report.inc
$(B)/analyze/export/script.o $(B)/asan/analyze/export/script.o: | $(B)/export.inc

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c $< -o $@

# The schema is embedded as one string.
$(B)/schema.inc: $(SCHEMA)
	@mkdir -p $(@D)
	cat $(SCHEMA) | sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' >$@

# So is each file of the HTML report and each script of an export, with its name.
REPORT_ASSETS := $(sort $(wildcard analyze/report/*))
EXPORT_ASSETS := $(sort $(wildcard analyze/export/*.sql analyze/export/*.html))
$(B)/report.inc: $(REPORT_ASSETS)
$(B)/export.inc: $(EXPORT_ASSETS)
$(B)/report.inc $(B)/export.inc:
	@mkdir -p $(@D)
	for f in $^; do echo "{\"$${f##*/}\","; sed 's/\\/\\\\/g; s/"/\\"/g; s/?/\\?/g; s/^/"/; s/$$/\\n"/' $$f; echo "},"; done >$@

RECORD_LIBS  := -lbpf -lelf -lz -lzstd -lyaml -lcapstone -liberty -lpthread
ANALYZE_LIBS := -lsqlite3 -ldw -lelf -lz -ldeflate -lzstd -lyaml -liberty -lpthread -lm
$(B)/callweave-record: $(call objs,$(RECORD_SRC) $(FORMAT_SRC))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(B)/callweave-record-static: $(call objs,$(RECORD_SRC) $(FORMAT_SRC))
	$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^ $(RECORD_LIBS)
$(B)/callweave-analyze: $(call objs,$(ANALYZE_SRC) $(FORMAT_SRC))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ANALYZE_LIBS)

static: $(B)/callweave-record-static

# ---- programs that tests trace: ordinary ones, but for frame pointers and calls that stay calls ----
WORKLOAD_NAMES := $(filter-out truth known,$(patsubst tests/workloads/%.c,%,$(wildcard tests/workloads/*.c)))
WORKLOADS      := $(addprefix $(B)/workloads/,$(WORKLOAD_NAMES) queue_bench_nofp stack_test_nofp)
WORKLOAD_FLAGS := -std=gnu11 -D_GNU_SOURCE -g -Wall -Wextra -fno-optimize-sibling-calls -Itests/workloads
workloads: $(WORKLOADS)
$(B)/tests/workloads/%.o: tests/workloads/%.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_FLAGS) -O1 -fno-omit-frame-pointer $(DEPFLAGS) -c $< -o $@
# Assembly between its functions stays there.
$(B)/tests/workloads/text_mover.o: WORKLOAD_FLAGS += -fno-toplevel-reorder
$(B)/tests/workloads/%_nofp.o: tests/workloads/%.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_FLAGS) -O2 -fomit-frame-pointer $(DEPFLAGS) -c $< -o $@
$(B)/workloads/stack_test $(B)/workloads/stack_test_nofp: $(B)/tests/workloads/known.o
$(B)/workloads/%: $(B)/tests/workloads/%.o $(B)/tests/workloads/truth.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lpthread

# ---- tests ----------------------------------------------------------------------------------------
# One unit test is one file. Its first lines name the objects it is about: LINK: record/placement.o
# So do those of the fixtures that it includes.
ASAN       := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
UNIT_TESTS := $(patsubst %.c,$(B)/asan/%,$(wildcard tests/unit/test_*.c))
fixtures    = $(wildcard $(addprefix tests/unit/,$(shell sed -n 's@^.include "\([a-z_]*\.h\)"@\1@p' $(1))))
including   = $(1) $(foreach f,$(call fixtures,$(1)),$(call including,$(f)))
links       = $(sort $(shell sed -sn '1,10s@.*LINK: *\(.*\.o\) *\*/.*@\1@p' $(call including,$(1))))
$(B)/asan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -O1 $(ASAN) -I. -Irecord -Ianalyze -c $< -o $@
define unit_rule
$(B)/asan/$(1:.c=): $(B)/asan/$(1:.c=.o) $(addprefix $(B)/asan/,$(call links,$(1))) $(call asan_objs,$(FORMAT_SRC))
	$$(CC) $$(CFLAGS) $$(ASAN) $$(LDFLAGS) -o $$@ $$^ -lcmocka -lbpf -lcapstone $$(ANALYZE_LIBS)
endef
$(foreach t,$(wildcard tests/unit/test_*.c),$(eval $(call unit_rule,$(t))))

$(B)/asan/callweave-analyze: $(call asan_objs,$(ANALYZE_SRC) $(FORMAT_SRC))
	$(CC) $(CFLAGS) $(ASAN) $(LDFLAGS) -o $@ $^ $(ANALYZE_LIBS)

# Programs of tests that are no unit tests: each one file and the format library.
TOOLS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/*.c))
$(TOOLS): $(B)/tests/%: $(B)/tests/%.o $(call objs,$(FORMAT_SRC))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lzstd -lyaml $(TOOL_LIBS)
$(B)/tests/kernel_probes: TOOL_LIBS := -lbpf
# What reads untrusted input, a harness a file. Each runs under libFuzzer (make fuzz), and under a driver
# of ours, from the objects that there are anyway, in the suite. LINK: analyze/all.o is all but
# main, WRAP names functions that the harness replaces.
FUZZ       := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_FLAGS := -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -fno-sanitize=pointer-overflow
fuzz_links  = $(patsubst %.c,%.o,$(if $(findstring all.o,$(call links,$(1))),$(filter-out %/main.c,$(ANALYZE_SRC)),$(call links,$(1))) $(FORMAT_SRC))
fuzz_wraps  = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n '1,10s@.*WRAP: *\(.*\) *\*/.*@\1@p' $(1)))
comma      := ,
$(B)/fuzz/%.o: %.c | $(B)/schema.inc $(B)/report.inc $(B)/export.inc
	@mkdir -p $(@D)
	$(CLANG) -std=gnu11 -D_GNU_SOURCE -g -O1 $(subst =fuzzer,=fuzzer-no-link,$(FUZZ_FLAGS)) -Iformat -I$(B) $(DEPFLAGS) -Irecord -Ianalyze -c $< -o $@
define fuzz_rule
$(B)/asan/fuzz/$(1): $(B)/asan/tests/fuzz/fuzz_$(1).o $(B)/asan/tests/fuzz/driver.o $(addprefix $(B)/asan/,$(call fuzz_links,tests/fuzz/fuzz_$(1).c))
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(ASAN) $$(LDFLAGS) -o $$@ $$^ $$(call fuzz_wraps,tests/fuzz/fuzz_$(1).c) -lcapstone $$(ANALYZE_LIBS)
$(B)/fuzz/$(1): $(B)/fuzz/tests/fuzz/fuzz_$(1).o $(addprefix $(B)/fuzz/,$(call fuzz_links,tests/fuzz/fuzz_$(1).c))
	$$(CLANG) $$(FUZZ_FLAGS) $$(LDFLAGS) -o $$@ $$^ $$(call fuzz_wraps,tests/fuzz/fuzz_$(1).c) -lcapstone $$(ANALYZE_LIBS)
endef
$(foreach n,$(FUZZ),$(eval $(call fuzz_rule,$(n))))
$(B)/asan/tests/fuzz/fuzz_%.o: | $(B)/schema.inc $(B)/report.inc $(B)/export.inc

BENCH_TOOLS := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/*.c))
$(B)/tests/bench/placement: $(call objs,$(addprefix record/,placement.c x86code.c elffile.c resolve.c debugfile.c nearest.c cxxname.c))
$(B)/tests/bench/naming: $(call objs,$(filter-out %/main.c,$(ANALYZE_SRC)) $(FORMAT_SRC))
$(B)/tests/bench/naming.o: | $(B)/schema.inc
$(BENCH_TOOLS): $(B)/%: $(B)/%.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcapstone $(ANALYZE_LIBS)

test-programs: all $(UNIT_TESTS) $(B)/asan/callweave-analyze $(TOOLS) $(B)/tests/bench/hits $(B)/tests/bench/empty $(addprefix $(B)/asan/fuzz/,$(FUZZ))

JOBS := $(shell nproc)
deps:
	tests/deps.sh
check:
	tests/deps.sh --check
	$(MAKE) -j$(JOBS) test-programs
	tests/run $(B)
demo:
	tests/deps.sh
	$(MAKE) -j$(JOBS) all
	tests/demo $(B)
demo-async:
	tests/deps.sh
	$(MAKE) -j$(JOBS) all
	tests/demo_async $(B)
# What takes ten minutes and more each.
soak:
	tests/deps.sh --check
	$(MAKE) -j$(JOBS) test-programs
	SOAK=1 TEST_TIMEOUT=$${TEST_TIMEOUT:-3600} tests/run $(B) soak_
bench:
	tests/deps.sh --bench
	$(MAKE) -j$(JOBS) all $(BENCH_TOOLS)
	tests/bench/run $(B)

SECONDS := 60
# In Debian's kernels under qemu: SUITE names one, TESTS some of the live tests.
SUITE := bullseye bookworm trixie
vm:
	tests/deps.sh --vm
	$(MAKE) -j$(JOBS) static test-programs
	tests/vm/all $(B) "$(SUITE)" $(TESTS)
# The analyzer on other architectures, big-endian too.
cross:
	tests/deps.sh --cross
	$(MAKE) -j$(JOBS) $(B)/callweave-analyze
	tests/cross/run $(B)
fuzz:
	tests/deps.sh --fuzz
	$(MAKE) -j$(JOBS) fuzz-run
fuzz-run: $(addprefix $(B)/fuzz/,$(FUZZ))
	tests/fuzz/run $(B) $(SECONDS) $(FUZZ)

# ---- the rest -------------------------------------------------------------------------------------
install:
	$(MAKE) $(B)/callweave-record $(B)/callweave-analyze
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/doc/callweave
	install -m 755 $(B)/callweave-record $(B)/callweave-analyze $(DESTDIR)$(PREFIX)/bin
	install -m 644 README.md LICENSE $(wildcard format/FORMAT.md schema/SCHEMA.md) $(DESTDIR)$(PREFIX)/share/doc/callweave

C_FILES := $(wildcard format/*.[ch] record/*.[ch] analyze/*.[ch] analyze/*/*.[ch] bpf/*.[ch] tests/*.[ch] tests/*/*.[ch])
format:
	clang-format -i $(C_FILES)
# What is left out, and why:
#   DeprecatedOrUnsafeBufferHandling  wants the functions of C11's annex K, which no libc here has
#   valist.Uninitialized              false in this version: it takes a va_list after va_start for unset
#   suspicious-missing-comma          statements and help texts in arrays are of several literals
#   sizeof-expression                 arrays of pointers are allocated by the size of a pointer
#   SC2054                            the commas belong to values of --async-hop
#   SC2206                            process ids need no quotes
TIDY := -*,clang-analyzer-*,bugprone-macro-parentheses,bugprone-sizeof-*,bugprone-suspicious-*
TIDY := $(TIDY),-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling
TIDY := $(TIDY),-clang-analyzer-valist.Uninitialized,-bugprone-suspicious-missing-comma,-bugprone-sizeof-expression
SCRIPTS := $(shell grep -lrE '^.!/.*sh$$|^. shellcheck shell=' .ci tests schema examples)
lint: $(B)/callweave.skel.h $(B)/schema.inc $(B)/report.inc $(B)/export.inc
	clang-format --dry-run -Werror $(C_FILES)
	shellcheck -x -P SCRIPTDIR -S warning -e SC2054,SC2206 $(SCRIPTS)
	cppcheck --quiet --error-exitcode=1 --inline-suppr --enable=warning,portability \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches -Iformat -I$(B) \
		$(FORMAT_SRC) $(RECORD_SRC) $(ANALYZE_SRC)
	printf '%s\n' $(FORMAT_SRC) $(RECORD_SRC) $(ANALYZE_SRC) | xargs -P $(JOBS) -I{} \
		clang-tidy --quiet --warnings-as-errors='*' --checks='$(TIDY)' {} -- \
		-std=gnu11 -D_GNU_SOURCE -Iformat -I$(B)

clean:
	rm -rf $(B)

.PHONY: all static workloads test-programs check demo demo-async soak bench vm cross fuzz fuzz-run deps install format lint clean
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
