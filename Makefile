# Slipway: `make help` lists the targets. Each target's work is a script that can be run by itself.
CARGO  ?= cargo
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
REL    := $(TARGET)/release
BUILT  := $(REL)/slipway $(REL)/slipway-bench $(REL)/libslipway_preload.so
MAN    := $(wildcard docs/man/*.1)
DEST    = $(DESTDIR)$(PREFIX)

.DEFAULT_GOAL := help
.PHONY: help setup build test lint demo install uninstall fuzz-short clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## install the Debian packages that are missing, check the Rust toolchain
	@scripts/setup.sh

build: setup ## build everything, optimised
	$(CARGO) build --workspace --release --locked

test: build ## run every test
	@scripts/test.sh

lint: setup ## format, clippy, documentation, shell scripts, file lengths, stray paths
	@scripts/lint.sh

demo: build ## one minute: X11 over the socket and over shared memory, side by side, with a chart
	$(REL)/slipway bench x11 --demo --svg demo.svg --json demo.json
	@echo "The chart is $(CURDIR)/demo.svg, its numbers are $(CURDIR)/demo.json."

fuzz-short: build ## the hostile-peer tests, for a short time
	@scripts/fuzz.sh

# Builds only what is not there yet, so that `sudo make install` after `make build` compiles nothing.
install: $(BUILT) ## install below PREFIX (/usr/local); DESTDIR is honoured
	install -D -m 755 $(REL)/slipway $(DEST)/bin/slipway
	install -D -m 755 $(REL)/slipway-bench $(DEST)/libexec/slipway/slipway-bench
	install -D -m 644 $(REL)/libslipway_preload.so $(DEST)/lib/slipway/libslipway_preload.so
	install -d $(DEST)/share/doc/slipway
	install -m 644 README.md LICENSE-MIT LICENSE-APACHE $(wildcard docs/*.md) $(DEST)/share/doc/slipway
	$(if $(MAN),install -d $(DEST)/share/man/man1 && install -m 644 $(MAN) $(DEST)/share/man/man1)

$(BUILT):
	@$(MAKE) --no-print-directory build

uninstall: ## remove what install put below PREFIX
	rm -f $(DEST)/bin/slipway $(addprefix $(DEST)/share/man/man1/,$(notdir $(MAN)))
	rm -rf $(DEST)/libexec/slipway $(DEST)/lib/slipway $(DEST)/share/doc/slipway

clean: ## remove what was built
	$(CARGO) clean
	rm -f demo.svg demo.json
