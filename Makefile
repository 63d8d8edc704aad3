# make help

PREFIX ?= /usr/local
DESTDIR ?=

bindir = $(PREFIX)/bin
sbindir = $(PREFIX)/sbin
libdir = $(PREFIX)/lib/roamward
unitdir = $(PREFIX)/lib/systemd/system
sysusersdir = $(PREFIX)/lib/sysusers.d
docdir = $(PREFIX)/share/doc/roamward
release = .build/release
runtime = $(realpath $(release))/../lib/roamward
# C of the release checks the bounds of what it copies where it can (Package.swift) and its stack; a program's own
# tables are read-only once it runs.
hardening = -Xcc -fstack-protector-strong -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
# Each function can be left out by itself where nothing calls it, also where another module could: these are whole programs. They share one
# Swift runtime, which `scripts/runtime` links for them (docs/decisions/0016).
small = -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -Xfrontend -Xswiftc -internalize-at-link \
  -Xswiftc -use-ld=lld -Xlinker --icf=all -Xlinker -z -Xlinker pack-relative-relocs -Xswiftc -no-toolchain-stdlib-rpath -Xlinker -rpath=\$$ORIGIN/../lib/roamward
release_build = swift build -c release $(hardening) $(small)
# Installed programs have no symbols: they are half as large.
strip = $(if $(filter %/release,$(release)),--strip)

# The longest first. Continuous integration has 40 minutes, and goes without release builds of programs that no test runs as such.
virtual = vm-managers vm-unit vm-resolvers vm-wifi vm-boot

.PHONY: help build engine size demo test lint sanitize coverage bench soak interop install clean $(virtual)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

build: ## release programs, in .build/release
	$(release_build)
	scripts/runtime .build/release

# It links what it needs: no systemd, no OpenMP (which the shared libb2 brings).
engine:
	$(release_build) --product roamward-wireguard
	scripts/runtime .build/release
	@if ldd $(release)/roamward-wireguard | grep -E 'libsystemd|libgomp|libb2'; then echo 'engine: it links what it must not' >&2; exit 1; fi

size: build ## what the installed programs take on disk, and that it is not too much
	scripts/size

demo: ## a walk from home to the café, in network namespaces
	scripts/setup
	$(MAKE) --no-print-directory build
	examples/walk/demo

test: ## all tests, a release build, then the tests in a virtual machine
	scripts/setup --vm
	swift build --build-tests
	scripts/test
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target $(virtual) $(if $(CI),,size)

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

lint: ## form of Swift, C and shell, declared imports, what does not belong into any file
	scripts/lint

sanitize: ## tests under the sanitizers for addresses and for threads, in .build-asan and .build-tsan
	scripts/sanitize

coverage: ## how much of each target the tests run, in .build-coverage
	scripts/coverage

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
	$(if $(filter %/release,$(release)),install -d $(DESTDIR)$(libdir))
	$(if $(filter %/release,$(release)),install --strip -m 755 $(runtime)/libswiftCore.so $(DESTDIR)$(libdir)/)
	$(if $(filter %/release,$(release)),cp -P $$(find $(runtime)/ -type l) $(DESTDIR)$(libdir)/)
	sed 's|/usr/sbin/|$(sbindir)/|' examples/roamwardd.service > $(DESTDIR)$(unitdir)/roamwardd.service
	sed 's|/usr/sbin/|$(sbindir)/|' examples/roamward-lock.service > $(DESTDIR)$(unitdir)/roamward-lock.service
	chmod 644 $(DESTDIR)$(unitdir)/roamwardd.service $(DESTDIR)$(unitdir)/roamward-lock.service
	install -m 644 examples/roamward-sysusers.conf $(DESTDIR)$(sysusersdir)/roamward.conf
	@test -n '$(DESTDIR)' || ! command -v systemd-sysusers >/dev/null || systemd-sysusers $(sysusersdir)/roamward.conf
	install -d $(DESTDIR)$(docdir) $(DESTDIR)$(docdir)/schema
	install -m 644 docs/policy.schema.json docs/policy-reference.md docs/import-export.md docs/security.md $(DESTDIR)$(docdir)/
	install -m 644 docs/schema/*.schema.json $(DESTDIR)$(docdir)/schema/

clean: ## remove what was built
	rm -rf .build .build-asan .build-tsan .build-coverage Benchmarks/results
