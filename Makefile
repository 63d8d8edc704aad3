# make help

PREFIX ?= /usr/local
DESTDIR ?=

bindir = $(PREFIX)/bin
sbindir = $(PREFIX)/sbin
unitdir = $(PREFIX)/lib/systemd/system
sysusersdir = $(PREFIX)/lib/sysusers.d
docdir = $(PREFIX)/share/doc/roamward
release = .build/release
# C of the release checks the bounds of what it copies where it can (Package.swift) and its stack; a program's own tables are read-only once it runs.
hardening = -Xcc -fstack-protector-strong -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
# Installed programs have no symbols: they are half as large.
strip = $(if $(filter .build/release,$(release)),--strip)
# Those that are run, and those that others read.
shell_scripts = $(shell git grep --files-with-matches --untracked -e '^\#!.*bash' -e '^\# shellcheck shell=bash' -- scripts examples Tests Benchmarks .ci)

# The longest first. Continuous integration has 40 minutes, and goes without release builds of programs that no test runs as such.
virtual = vm-managers vm-unit vm-resolvers vm-wifi vm-boot

.PHONY: help build engine demo test lint bench soak interop install clean $(virtual)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

build: ## release programs, in .build/release
	swift build -c release --static-swift-stdlib $(hardening)

engine:
	swift build -c release --static-swift-stdlib $(hardening) --product roamward-wireguard

demo: ## a walk from home to the café, in network namespaces
	scripts/setup
	$(MAKE) --no-print-directory build
	examples/walk/demo

test: ## all tests, a release build, then the tests in a virtual machine
	scripts/setup --vm
	swift build --build-tests
	scripts/test
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target $(virtual)

# Two virtual machines at a time: emulated processors do not fill two real ones.
vm-managers:
	scripts/vm --systemd --package network-manager --package systemd-resolved --module wireguard --module 'mac80211_hwsim radios=4' \
	  --time-limit 1200 -- Tests/VM/managers

vm-resolvers:
	scripts/vm --systemd --package network-manager --package systemd-resolved --module wireguard --module dummy --time-limit 900 -- Tests/VM/resolvers

# The engine as it is shipped.
vm-wifi: $(if $(CI),engine,build)
	scripts/vm --module wireguard --module tun --module veth --module 'mac80211_hwsim radios=3' --time-limit 900 -- \
	  bash -c 'ROAMWARD_BIN=.build/release Tests/VM/engine && Tests/VM/roam'

vm-boot:
	scripts/vm --systemd --module veth --module wireguard --module nf_tables --time-limit 600 -- Tests/VM/boot

vm-unit:
	scripts/vm --systemd --package resolvconf --module veth --module tun --module wireguard --module nf_tables --time-limit 1200 -- Tests/VM/unit

lint: ## format of the Swift sources, the shell scripts, what does not belong into any file
	swift format lint --strict --parallel --recursive Sources Tests Benchmarks Package.swift
	@if command -v shellcheck >/dev/null; then set -x; shellcheck $(shell_scripts); \
	else echo 'shellcheck is not installed, the shell scripts are not checked (scripts/setup --lint)'; fi
	@if git grep --untracked -nI '[[:blank:]]$$'; then echo 'lint: these lines end in blanks' >&2; exit 1; fi
	@if git grep --untracked -nIE '^(<{7}|>{7}) '; then echo 'lint: these lines are left of a merge' >&2; exit 1; fi

bench: ## figures beside those of wg-quick, ip -batch and wireguard-go, as ratios
	scripts/setup --bench
	$(MAKE) --no-print-directory build
	swift build --build-tests
	Benchmarks/run
	Benchmarks/promises
	Benchmarks/tunnel --all

soak: ## the random and repeated tests at full counts: datagrams, lives, roams, kills, upgrades
	scripts/setup --vm
	swift build --build-tests
	scripts/soak

interop: ## the kernel's own WireGuard suite with our engine at either end
	scripts/setup --vm --interop
	$(MAKE) --no-print-directory engine
	Tests/Interop/run

install: ## programs, systemd units and a system user, under DESTDIR and PREFIX
	@test -x $(release)/roamwardd || { echo 'install: nothing to install yet (make build)' >&2; exit 1; }
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(sbindir) $(DESTDIR)$(unitdir) $(DESTDIR)$(sysusersdir)
	install $(strip) -m 755 $(release)/roamward $(DESTDIR)$(bindir)/
	install $(strip) -m 755 $(release)/roamwardd $(release)/roamward-wireguard $(release)/roamward-probe $(DESTDIR)$(sbindir)/
	sed 's|/usr/sbin/|$(sbindir)/|' examples/roamwardd.service > $(DESTDIR)$(unitdir)/roamwardd.service
	sed 's|/usr/sbin/|$(sbindir)/|' examples/roamward-lock.service > $(DESTDIR)$(unitdir)/roamward-lock.service
	chmod 644 $(DESTDIR)$(unitdir)/roamwardd.service $(DESTDIR)$(unitdir)/roamward-lock.service
	install -m 644 examples/roamward-sysusers.conf $(DESTDIR)$(sysusersdir)/roamward.conf
	@test -n '$(DESTDIR)' || ! command -v systemd-sysusers >/dev/null || systemd-sysusers $(sysusersdir)/roamward.conf
	install -d $(DESTDIR)$(docdir)
	install -m 644 docs/policy.schema.json docs/policy-reference.md docs/import-export.md docs/security.md $(DESTDIR)$(docdir)/

clean: ## remove what was built
	rm -rf .build Benchmarks/results
