# SPDX-License-Identifier: GPL-2.0-only
# callweave: `sudo make demo` and `sudo make check` need nothing else done first.
B        := build
CC       ?= gcc
CLANG    ?= clang
BPFTOOL  ?= $(shell PATH=$$PATH:/usr/sbin:/sbin command -v bpftool || echo bpftool)
VMLINUX_BTF ?= /sys/kernel/btf/vmlinux
PREFIX   ?= /usr/local
ARCH     := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')
WARN     := -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes
CFLAGS   ?= -O2 -g
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -Iformat -I$(B) -MMD -MP

FORMAT_SRC  := $(wildcard format/*.c)
RECORD_SRC  := $(wildcard record/*.c)
ANALYZE_SRC := $(wildcard analyze/*.c)
BPF_SRC     := $(wildcard bpf/*.bpf.c)
SCHEMA      := $(sort $(wildcard schema/*.sql))
objs = $(patsubst %.c,$(B)/%.o,$(1))

all: $(B)/callweave-record $(B)/callweave-analyze workloads

$(B)/vmlinux.h: $(VMLINUX_BTF)
	@mkdir -p $(@D)
	$(BPFTOOL) btf dump file $< format c >$@.tmp && mv $@.tmp $@

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(B)/vmlinux.h
	@mkdir -p $(@D)
	$(CLANG) -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Wno-unused-parameter -I$(B) -Iformat -Ibpf -MMD -MP -c $< -o $@

$(B)/callweave.bpf.o: $(patsubst bpf/%.c,$(B)/bpf/%.o,$(BPF_SRC))
	$(BPFTOOL) gen object $@ $^

$(B)/callweave.skel.h: $(B)/callweave.bpf.o
	$(BPFTOOL) gen skeleton $< name callweave_bpf >$@.tmp && mv $@.tmp $@

$(call objs,$(RECORD_SRC)): | $(B)/callweave.skel.h
$(B)/record/probes.o $(B)/record/main.o: $(B)/callweave.skel.h

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c $< -o $@

# The schema is embedded as one string.
$(B)/schema.inc: $(SCHEMA)
	@mkdir -p $(@D)
	cat $(SCHEMA) | sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' >$@
$(call objs,$(ANALYZE_SRC)): | $(B)/schema.inc

RECORD_LIBS  := -lbpf -lelf -lz -lzstd -lyaml -lcapstone -liberty -lpthread
ANALYZE_LIBS := -lsqlite3 -ldw -lelf -lz -lzstd -lyaml -liberty -lpthread -lm
$(B)/callweave-record: $(call objs,$(RECORD_SRC) $(FORMAT_SRC))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(B)/callweave-record-static: $(call objs,$(RECORD_SRC) $(FORMAT_SRC))
	$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^ $(RECORD_LIBS)
$(B)/callweave-analyze: $(call objs,$(ANALYZE_SRC) $(FORMAT_SRC))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ANALYZE_LIBS)

static: $(B)/callweave-record-static

# Ordinary programs that tests trace: debug information and frame pointers, nothing special.
WORKLOADS := $(patsubst tests/workloads/%.c,$(B)/workloads/%,$(filter-out tests/workloads/truth.c,$(wildcard tests/workloads/*.c)))
workloads: $(WORKLOADS)
$(B)/workloads/%: tests/workloads/%.c $(wildcard tests/workloads/truth.*)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-ipa-sra -fno-ipa-icf -fno-inline-functions -Wall -Wextra -MMD -MP -Itests/workloads -o $@ $< $(wildcard tests/workloads/truth.c) -lpthread

clean:
	rm -rf $(B)

.PHONY: all static workloads clean
-include $(shell find $(B) -name '*.d' 2>/dev/null)
