# Slipway: `make help` lists the targets. Each target's work is a script that can be run by itself.
CARGO  ?= cargo
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
REL    := $(TARGET)/release
# Below PREFIX; Debian's has the processor's name in it.
LIBDIR ?= lib
# Programs that other programs start.
LIBEXEC ?= slipway-bench slipway-bootstrap slipway-domain
BUILT  := $(addprefix $(REL)/,slipway mig libslipway_preload.so libslipway_unix_task.so libmach.so libmach.a libmach_darwin.so $(LIBEXEC))
MAN    := $(wildcard docs/man/*.1)
HEADERS := $(shell cd include && find * -name '*.h' -o -name '*.defs')
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
DEST    = $(DESTDIR)$(PREFIX)
LIB     = $(DEST)/$(LIBDIR)
# What the demos of Mach IPC run. Where the bench is built already, so are they mostly, and a choice would have cargo choose
# their dependencies' features anew.
SYSTEM  = $(if $(wildcard $(REL)/slipway-bench),--workspace,-p slipway $(addprefix -p slipway,-preload -mig -bootstrap -domain -libmach -libmach-darwin -mach -unix-task))
# The demo of X11 runs what `make build` has built, or builds what it needs, in a directory of its own: that bench has no other part.
DEMO    = $(if $(wildcard $(REL)/slipway-bench),$(REL),$(TARGET)/demo/release)
X11     = -p slipway -p slipway-preload -p slipway-bench --no-default-features
# The parts of slipway are installed as files (crates/slipway/build.rs).
export SLIPWAY_PARTS ?= beside

.DEFAULT_GOAL := help
.PHONY: help setup build test test-long lint demo demo-kv demo-colocate demo-ports demo-unix system install uninstall deb test-deb test-install test-aarch64 suites sanitize fuzz-short clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## install the Debian packages that are missing, check the Rust toolchain
	@scripts/setup.sh

build: ## build everything, optimised
	@scripts/setup.sh build
	$(CARGO) build --workspace --release --locked

test: setup ## run the short tests: minutes
	@scripts/test.sh

test-long: ## run the long tests: random lives, thousands of kills, other people's suites, loom, packages, AArch64
	@scripts/setup.sh long
	@scripts/test.sh long

lint: setup ## format, clippy, documentation, shell scripts, file lengths, stray paths
	@scripts/lint.sh

# A variable of Slipway's own has `slipway x11` read settings, which takes a millisecond.
demo: ## one minute: X11 over the socket and over shared memory, side by side, with a chart
	@scripts/setup.sh demo
	$(CARGO) build --release --locked $(if $(filter $(REL),$(DEMO)),--workspace,--target-dir $(TARGET)/demo $(X11))
	env -u SLIPWAY_PARTS $(DEMO)/slipway bench x11 --demo --svg demo.svg --json demo.json
	@echo "The chart is $(CURDIR)/demo.svg, its numbers are $(CURDIR)/demo.json."

# The demos of Mach IPC run an installation, without the bench.
system:
	@scripts/setup.sh build
	$(CARGO) build --release --locked $(SYSTEM) --lib --bins --example kv-client
	@$(MAKE) --no-print-directory install PREFIX=$(abspath $(TARGET))/stage LIBEXEC="slipway-bootstrap slipway-domain" >/dev/null

demo-kv: system ## the key-value service of examples/kv, used by its client in C and by the one in Rust
	@export PKG_CONFIG_PATH=$(abspath $(TARGET))/stage/lib/pkgconfig PATH=$(abspath $(TARGET))/stage/bin:$$PATH && \
	$(MAKE) --no-print-directory -C examples/kv all && \
	slipway run --private -- examples/kv/demo.sh && \
	echo && echo "The same with the client in Rust:" && \
	KV_CLIENT=$(REL)/examples/kv-client slipway run --private -- examples/kv/demo.sh

demo-colocate: system ## the store of examples/store and its load: in two processes, in one, and as a supervised system
	@export PKG_CONFIG_PATH=$(abspath $(TARGET))/stage/lib/pkgconfig PATH=$(abspath $(TARGET))/stage/bin:$$PATH && \
	$(MAKE) --no-print-directory -C examples/store all && examples/store/demo.sh

demo-ports: system ## an X display over Mach ports: started by its first client, and reached from a sandbox by a right alone
	@scripts/setup.sh ports
	@PATH=$(abspath $(TARGET))/stage/bin:$$PATH examples/display/demo.sh

demo-unix: ## a package is built and installed in a layer, looked at and kept; a second command is discarded
	@scripts/setup.sh build
	$(CARGO) build --release --locked $(if $(wildcard $(REL)/slipway-bench),--workspace,-p slipway)
	@PATH=$(abspath $(REL)):$$PATH examples/unix/demo.sh

sanitize: ## calls by trap with libmach, stubs and C programs under the thread sanitizer, then under the address sanitizer
	@scripts/sanitize.sh thread && scripts/sanitize.sh address

fuzz-short: setup ## the hostile-peer tests, for a short time
	@scripts/fuzz.sh

# Builds only what is not there yet, so that `sudo make install` after `make build` compiles nothing.
install: $(BUILT) ## install below PREFIX (/usr/local); DESTDIR is honoured
	install -D -m 755 $(REL)/slipway $(DEST)/bin/slipway
	install -D -m 755 $(REL)/mig $(DEST)/bin/mig
	install -d $(DEST)/libexec/slipway
	install -m 755 $(addprefix $(REL)/,$(LIBEXEC)) $(DEST)/libexec/slipway
	install -D -m 644 $(REL)/libslipway_preload.so $(DEST)/lib/slipway/libslipway_preload.so
	install -D -m 644 $(REL)/libslipway_unix_task.so $(DEST)/lib/slipway/unix-server.so
	install -D -m 755 $(REL)/libmach.so $(LIB)/libmach.so.1
	ln -sf libmach.so.1 $(LIB)/libmach.so
	install -D -m 644 $(REL)/libmach.a $(LIB)/libmach.a
	install -D -m 755 $(REL)/libmach_darwin.so $(LIB)/libmach-darwin.so.1
	install -D -m 644 scripts/libmach-darwin.so.in $(LIB)/libmach-darwin.so
	for header in $(HEADERS); do install -D -m 644 include/$$header $(DEST)/include/$$header || exit 1; done
	install -d $(LIB)/pkgconfig $(LIB)/cmake/mach
	for name in mach mach-darwin; do \
	    sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|^libdir=.*|libdir=$${prefix}/$(LIBDIR)|' \
	        scripts/$$name.pc.in >$(LIB)/pkgconfig/$$name.pc && chmod 644 $(LIB)/pkgconfig/$$name.pc || exit 1; done
	sed -e '/_mach_prefix/s|\.\./\.\./\.\.|$(shell realpath -m --relative-to=/$(LIBDIR)/cmake/mach /)|' \
	    scripts/cmake/mach-config.cmake >$(LIB)/cmake/mach/mach-config.cmake
	sed -e 's|@VERSION@|$(VERSION)|' scripts/cmake/mach-config-version.cmake.in >$(LIB)/cmake/mach/mach-config-version.cmake
	chmod 644 $(LIB)/cmake/mach/*.cmake
	install -d $(DEST)/share/doc/slipway/docs/measurements
	install -m 644 README.md CONTRIBUTING.md LICENSE-MIT LICENSE-APACHE $(DEST)/share/doc/slipway
	install -m 644 $(wildcard docs/*.md docs/*.svg) $(DEST)/share/doc/slipway/docs
	install -m 644 $(wildcard docs/measurements/*.md) $(DEST)/share/doc/slipway/docs/measurements
	$(if $(MAN),install -d $(DEST)/share/man/man1 && install -m 644 $(MAN) $(DEST)/share/man/man1)

$(BUILT):
	@$(MAKE) --no-print-directory build

uninstall: ## remove what install put below PREFIX
	rm -f $(DEST)/bin/slipway $(DEST)/bin/mig $(addprefix $(DEST)/share/man/man1/,$(notdir $(MAN)))
	rm -rf $(DEST)/libexec/slipway $(DEST)/lib/slipway $(LIB)/cmake/mach $(DEST)/share/doc/slipway
	rm -f $(addprefix $(LIB)/,libmach.so libmach.so.1 libmach.a libmach-darwin.so libmach-darwin.so.1 pkgconfig/mach.pc pkgconfig/mach-darwin.pc)
	rm -f $(addprefix $(DEST)/include/,$(HEADERS))
	-rmdir --ignore-fail-on-non-empty $(DEST)/include/darwin/mach $(DEST)/include/darwin $(DEST)/include/mach/machine $(DEST)/include/mach $(DEST)/include/servers $(DEST)/include/device 2>/dev/null

deb: ## make Debian packages in target/deb
	@scripts/deb.sh

test-deb: ## make the Debian packages, install them in a root of their own, use and remove them
	@scripts/test-deb.sh

test-install: ## install slipway by cargo, from the workspace and as from a registry, and use it
	@scripts/test-install.sh

suites: ## other people's: mig over the Hurd's interfaces, ipc-channel's tests over ours and Darwin's dialect, PostgreSQL's and Redis's with hooks
	@scripts/suites.sh

test-aarch64: ## cross-compile for AArch64, and run under QEMU the tests that can be
	@scripts/aarch64.sh

clean: ## remove what was built
	$(CARGO) clean
	rm -f demo.svg demo.json
