# Slipway: `make help` lists the targets. Each target's work is a script that can be run by itself.
CARGO  ?= cargo
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
REL    := $(TARGET)/release
BUILT  := $(REL)/slipway $(REL)/slipway-bench $(REL)/libslipway_preload.so $(REL)/libmach.so $(REL)/libmach.a $(REL)/slipway-bootstrap $(REL)/slipway-domain $(REL)/mig
MAN    := $(wildcard docs/man/*.1)
HEADERS := $(shell cd include && find * -name '*.h' -o -name '*.defs')
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
DEST    = $(DESTDIR)$(PREFIX)

.DEFAULT_GOAL := help
.PHONY: help setup build test test-long lint demo demo-kv demo-colocate install uninstall sanitize fuzz-short clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## install the Debian packages that are missing, check the Rust toolchain
	@scripts/setup.sh

build: setup ## build everything, optimised
	$(CARGO) build --workspace --release --locked

test: setup ## run the tests: minutes
	@scripts/test.sh

test-long: setup ## run the long tests too: random lives, thousands of kills, other people's suites, loom
	@scripts/test.sh long

lint: setup ## format, clippy, documentation, shell scripts, file lengths, stray paths
	@scripts/lint.sh

demo: build ## one minute: X11 over the socket and over shared memory, side by side, with a chart
	$(REL)/slipway bench x11 --demo --svg demo.svg --json demo.json
	@echo "The chart is $(CURDIR)/demo.svg, its numbers are $(CURDIR)/demo.json."

demo-kv: build ## the key-value service of examples/kv, used by its client in C and by the one in Rust
	@$(MAKE) --no-print-directory install PREFIX=$(abspath $(TARGET))/stage >/dev/null
	$(CARGO) build --release --locked -p slipway-mach --example kv-client
	@export PKG_CONFIG_PATH=$(abspath $(TARGET))/stage/lib/pkgconfig PATH=$(abspath $(TARGET))/stage/bin:$$PATH && \
	$(MAKE) --no-print-directory -C examples/kv all && \
	slipway run --private -- examples/kv/demo.sh && \
	echo && echo "The same with the client in Rust:" && \
	KV_CLIENT=$(REL)/examples/kv-client slipway run --private -- examples/kv/demo.sh

demo-colocate: build ## the store of examples/store and its load: in two processes, in one, and as a supervised system
	@$(MAKE) --no-print-directory install PREFIX=$(abspath $(TARGET))/stage >/dev/null
	@export PKG_CONFIG_PATH=$(abspath $(TARGET))/stage/lib/pkgconfig PATH=$(abspath $(TARGET))/stage/bin:$$PATH && \
	$(MAKE) --no-print-directory -C examples/store all && examples/store/demo.sh

sanitize: ## calls by trap with libmach, stubs and C programs under the thread sanitizer, then under the address sanitizer
	@scripts/sanitize.sh thread && scripts/sanitize.sh address

fuzz-short: setup ## the hostile-peer tests, for a short time
	@scripts/fuzz.sh

# Builds only what is not there yet, so that `sudo make install` after `make build` compiles nothing.
install: $(BUILT) ## install below PREFIX (/usr/local); DESTDIR is honoured
	install -D -m 755 $(REL)/slipway $(DEST)/bin/slipway
	install -D -m 755 $(REL)/mig $(DEST)/bin/mig
	install -D -m 755 $(REL)/slipway-bench $(DEST)/libexec/slipway/slipway-bench
	install -D -m 755 $(REL)/slipway-bootstrap $(DEST)/libexec/slipway/slipway-bootstrap
	install -D -m 755 $(REL)/slipway-domain $(DEST)/libexec/slipway/slipway-domain
	install -D -m 644 $(REL)/libslipway_preload.so $(DEST)/lib/slipway/libslipway_preload.so
	install -D -m 755 $(REL)/libmach.so $(DEST)/lib/libmach.so.1
	ln -sf libmach.so.1 $(DEST)/lib/libmach.so
	install -D -m 644 $(REL)/libmach.a $(DEST)/lib/libmach.a
	for header in $(HEADERS); do install -D -m 644 include/$$header $(DEST)/include/$$header || exit 1; done
	install -d $(DEST)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' scripts/mach.pc.in >$(DEST)/lib/pkgconfig/mach.pc
	chmod 644 $(DEST)/lib/pkgconfig/mach.pc
	install -D -m 644 scripts/cmake/mach-config.cmake $(DEST)/lib/cmake/mach/mach-config.cmake
	sed -e 's|@VERSION@|$(VERSION)|' scripts/cmake/mach-config-version.cmake.in >$(DEST)/lib/cmake/mach/mach-config-version.cmake
	chmod 644 $(DEST)/lib/cmake/mach/mach-config-version.cmake
	install -d $(DEST)/share/doc/slipway/docs/measurements
	install -m 644 README.md LICENSE-MIT LICENSE-APACHE $(DEST)/share/doc/slipway
	install -m 644 $(wildcard docs/*.md docs/*.svg) $(DEST)/share/doc/slipway/docs
	install -m 644 $(wildcard docs/measurements/*.md) $(DEST)/share/doc/slipway/docs/measurements
	$(if $(MAN),install -d $(DEST)/share/man/man1 && install -m 644 $(MAN) $(DEST)/share/man/man1)

$(BUILT):
	@$(MAKE) --no-print-directory build

uninstall: ## remove what install put below PREFIX
	rm -f $(DEST)/bin/slipway $(DEST)/bin/mig $(addprefix $(DEST)/share/man/man1/,$(notdir $(MAN)))
	rm -rf $(DEST)/libexec/slipway $(DEST)/lib/slipway $(DEST)/lib/cmake/mach $(DEST)/share/doc/slipway
	rm -f $(addprefix $(DEST)/lib/,libmach.so libmach.so.1 libmach.a pkgconfig/mach.pc) $(addprefix $(DEST)/include/,$(HEADERS))
	-rmdir --ignore-fail-on-non-empty $(DEST)/include/mach/machine $(DEST)/include/mach $(DEST)/include/servers 2>/dev/null

clean: ## remove what was built
	$(CARGO) clean
	rm -f demo.svg demo.json
