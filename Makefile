# make help

PREFIX ?= /usr/local
DESTDIR ?=

bindir = $(PREFIX)/bin
sbindir = $(PREFIX)/sbin
libdir = $(PREFIX)/lib/roamward
libexecdir = $(PREFIX)/libexec/roamward
unitdir = $(PREFIX)/lib/systemd/system
userunitdir = $(PREFIX)/lib/systemd/user
sysusersdir = $(PREFIX)/lib/sysusers.d
tmpfilesdir = $(PREFIX)/lib/tmpfiles.d
# dbus-daemon and polkitd 122 read these below /usr alone: with another PREFIX, link them there (docs/operations.md).
dbusdir = $(PREFIX)/share/dbus-1/system.d
polkitdir = $(PREFIX)/share/polkit-1/actions
applicationsdir = $(PREFIX)/share/applications
docdir = $(PREFIX)/share/doc/roamward
sharedir = $(PREFIX)/share/roamward
mandir = $(PREFIX)/share/man
bashdir = $(PREFIX)/share/bash-completion/completions
zshdir = $(PREFIX)/share/zsh/site-functions
fishdir = $(PREFIX)/share/fish/vendor_completions.d
# The agent has one folder for policies of the administrator, wherever it is installed.
confdir = /etc/roamward
release = .build/release
# As a target: a blank would end its name.
escaped = $(subst $() ,\ ,$(release))
# C of the release checks the bounds of what it copies where it can (Package.swift) and its stack; a program's own
# tables are read-only once it runs.
hardening = -Xcc -fstack-protector-strong -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
# Each function can be left out by itself where nothing calls it, also where another module could: these are whole programs. They share one
# Swift runtime, which `scripts/runtime` links for them (docs/decisions/0016).
small = -Xswiftc -Osize -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -Xfrontend -Xswiftc -internalize-at-link \
  -Xswiftc -use-ld=lld -Xlinker -O2 -Xlinker --icf=all -Xlinker -z -Xlinker pack-relative-relocs -Xswiftc -no-toolchain-stdlib-rpath -Xlinker -rpath=\$$ORIGIN/../lib/roamward:\$$ORIGIN/../../lib/roamward
# The same bytes wherever the clone is (scripts/reproduce): neither a program nor its debug information names the folder, and neither has
# hashes of options that name it, as .swift_modhash and the names of cached modules of C are.
anywhere = -Xswiftc -file-prefix-map -Xswiftc '$(CURDIR)=.' -Xcc '-ffile-prefix-map=$(CURDIR)=.' \
  -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen -Xswiftc -Xfrontend -Xswiftc -no-clang-module-breadcrumbs
release_build = swift build -c release $(hardening) $(small) $(anywhere)
# Installed programs have no symbols: they are half as large.
strip = $(if $(filter %/release,$(release)),--strip)
programs = roamward roamwardd roamward-wireguard roamward-probe roamward-names roamward-proxy roamward-provider roamward-gateway roamward-gateway-auth \
  roamward-gateway-oidc roamward-gateway-pam roamward-gateway-store roamward-gateway-web roamward-desktop roamward-socks
# Those of the demo: nothing else is built for it.
demonstrated = roamward roamwardd roamward-names roamward-probe roamward-provider roamward-wireguard roamward-gateway roamward-gateway-auth
packaged = Makefile VERSION packaging/content $(wildcard packaging/debian/* packaging/*/*.conf packaging/polkit/* docs/man/* packaging/systemd/*.service) \
  $(addprefix scripts/,package install generate manual)
# What the programs declare of themselves, as manual pages and completions.
generated = $(escaped)/share/man/man1/roamward.1
content = RELEASE='$(release)' DESTDIR='$(DESTDIR)' STRIP='$(strip)' bindir='$(bindir)' sbindir='$(sbindir)' libdir='$(libdir)' libexecdir='$(libexecdir)' \
  unitdir='$(unitdir)' userunitdir='$(userunitdir)' sysusersdir='$(sysusersdir)' tmpfilesdir='$(tmpfilesdir)' dbusdir='$(dbusdir)' polkitdir='$(polkitdir)' applicationsdir='$(applicationsdir)' confdir='$(confdir)' mandir='$(mandir)' \
  bashdir='$(bashdir)' zshdir='$(zshdir)' fishdir='$(fishdir)' docdir='$(docdir)' sharedir='$(sharedir)'

# In the virtual machine alone: its daemon would take this machine's IPsec.
strongswan = --package charon-systemd --package strongswan-swanctl --package libcharon-extauth-plugins --package libcharon-extra-plugins \
  --package libstrongswan-standard-plugins
# Those that wait much, in namespaces, run beside those that fill a processor each; of these the longest first.
virtual = vm-managers vm-ipsec vm-resolvers vm-wifi vm-unit vm-armed vm-boot vm-bare

.PHONY: help build engine size demo check test tests machines all-machines long longer lint sanitize coverage bench soak recipes interop install installed uninstall deb tarball rpm \
  packages-quick docs clean test-code $(around) $(virtual) vm-unit-long

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

build: ## release programs, in .build/release
	$(release_build)
	scripts/runtime .build/release
	scripts/generate .build/release

# It links what it needs: no systemd, no OpenMP (which the shared libb2 brings).
engine:
	$(release_build) --product roamward-wireguard
	scripts/runtime .build/release
	@if ldd $(release)/roamward-wireguard | grep -E 'libsystemd|libgomp|libb2'; then echo 'engine: it links what it must not' >&2; exit 1; fi

$(generated): $(escaped)/roamward $(escaped)/roamwardd scripts/generate scripts/manual $(wildcard docs/man/*.md) docs/policy-reference.md
	scripts/generate '$(release)'

$(escaped)/%:
	@echo 'install: nothing to install yet (make build)' >&2; exit 1

size: build ## what the installed programs take on disk, and that it is not too much
	scripts/size

demo: ## a walk from home to the café, in network namespaces
	@echo 'demo: builds its programs first: about 4 minutes on two processors, some seconds where they are built already'
	scripts/setup
	@set -e; for program in $(demonstrated); do swift build --product $$program; done
	ROAMWARD_BIN=.build/debug examples/walk/demo

# Nothing in the environment of the caller changes what they run (scripts/bare).
check: ## the tests that need no other program, within minutes after an edit
	swift build --build-tests
	scripts/test --filter '^($(quick))Tests\.' --skip '\.($(lengthy))'

quick = Agent|BugReport|ControlProtocol|GatewayCore|GatewayLogin|GatewayPage|JSON|Lint|NameServer|NetworkTypes|PolicyAuthoring|PolicyImport|PolicySource|ProviderLife|ProviderProtocol|RoamwardCore|StatusDisplay|VICI|Wire
# A third of their time: random lives and texts without end, which `make test` has.
lengthy = WorkQueueTests/overload|SchemaAgreementTests|DeadPeerTests|MutationTests|ExportTests/identity|FaultInjectionTests

test: ## all tests but those in virtual machines
	@scripts/bare $(MAKE) --no-print-directory tests

machines: ## the tests in virtual machines, but for those of make long
	@scripts/bare $(MAKE) --no-print-directory all-machines

long: ## what is too long for make machines: the long chapters of a virtual machine, and a release and its size
	@scripts/bare $(MAKE) --no-print-directory longer

# Beside the tests of the code, because both wait much: each is in namespaces and folders of its own. The longest first.
around = test-container test-packages test-published test-fleet test-places test-desktop test-site

test-code:
	scripts/part 'tests of the code' scripts/test

test-places:
	scripts/part --held places Tests/Places/run

test-desktop:
	scripts/part --held desktop Tests/Desktop/run .build/desktop

test-container:
	scripts/part --held container Tests/Container/run

test-packages:
	scripts/part --held packages Tests/Packages/run

test-published:
	scripts/part --held published Tests/Packages/published

test-fleet:
	scripts/part --held fleet Tests/Packages/fleet

test-site:
	scripts/part --held site scripts/site .build/debug .build/site

tests:
	scripts/setup --vm --package --desktop --container
	scripts/part build swift build --build-tests
	scripts/part 'quick packages' $(MAKE) --no-print-directory packages-quick
	$(MAKE) --no-print-directory --jobs=2 test-code $(around)

all-machines:
	scripts/setup --vm --package
	swift build --build-tests
	$(MAKE) --no-print-directory packages-quick
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target $(virtual)

longer:
	scripts/setup --vm --package
	swift build --build-tests
	$(MAKE) --no-print-directory vm-unit-long
	$(MAKE) --no-print-directory size

# Three machines at a time: an emulated one fills a processor, one in namespaces waits. Each installs pages and completions, which are made
# here before, because programs start slowly there.
vm-managers: packages-quick
	scripts/part vm-managers scripts/vm --if-possible --systemd --package network-manager --package systemd-resolved --package libnss-resolve --module wireguard --module 'mac80211_hwsim radios=4' \
	  --time-limit 2400 -- Tests/VM/managers

resolvers = scripts/vm --if-possible --systemd --package network-manager --package systemd-resolved --package libnss-resolve --module dummy --time-limit 2400

vm-resolvers: packages-quick
	scripts/part vm-resolvers $(resolvers) --module veth --module tun --module nf_tables --namespaces -- \
	  Tests/VM/resolvers networkd lookups capture programs questions two NetworkManager-resolved NetworkManager-file NetworkManager-dnsmasq

# By the kernel's WireGuard.
vm-armed: packages-quick
	scripts/part vm-armed $(resolvers) --module wireguard -- Tests/VM/resolvers armed

# The engine as it is shipped.
vm-wifi: engine
	scripts/part vm-wifi scripts/vm --if-possible --module wireguard --module tun --module veth --module 'mac80211_hwsim radios=3' --time-limit 1800 -- \
	  bash -c 'ROAMWARD_BIN=.build/release Tests/VM/engine && Tests/VM/roam'

# Of the programs that the tests run, without what takes long.
packages-quick: .build/packages-quick/made

.build/packages-quick/made: $(addprefix .build/debug/,$(programs)) $(packaged)
	scripts/package --quick --programs .build/debug --to .build/packages-quick deb
	touch $@

# Without IPv6, control groups and user namespaces.
vm-bare: packages-quick
	scripts/part vm-bare scripts/vm --if-possible --kernel ipv6.disable=1 --module wireguard --module veth --module tun --module nf_tables --time-limit 900 -- Tests/VM/bare

vm-boot: packages-quick
	scripts/part vm-boot scripts/vm --if-possible --systemd --module veth --module wireguard --module nf_tables --time-limit 1200 -- Tests/VM/boot

unit = scripts/vm --if-possible --systemd --package resolvconf --module veth --module tun --module nf_tables --time-limit 2400
ipsec = $(unit) $(strongswan) --module wireguard --module esp4 --module xfrm_interface --module dummy -- Tests/VM/unit

# They need no other kernel.
vm-unit: packages-quick
	scripts/part vm-unit $(unit) --namespaces -- Tests/VM/unit live providers services sleeps with_resolvconf packages first_steps

vm-ipsec: packages-quick
	scripts/part vm-ipsec $(ipsec) ipsec ipsec_logins

vm-unit-long: packages-quick
	$(ipsec) services_long ipsec_long ipsec_logins_long gateway_unit gateway_kernel

lint: ## form of Swift, C and shell, declared imports, what does not belong into any file
	scripts/part lint scripts/lint

sanitize: ## tests under the sanitizers for addresses and for threads, in .build-asan and .build-tsan
	scripts/sanitize

coverage: ## how much of each target the tests run, in .build-coverage
	scripts/coverage

bench: ## measure beside wg-quick, ip -batch, wireguard-go and others, and write the table of docs/performance.md
	scripts/setup --bench --vm
	$(MAKE) --no-print-directory build
	swift build --build-tests
	Benchmarks/run
	Benchmarks/promises

soak: ## make long, and the random and repeated tests at full counts: datagrams, lives, roams, kills, upgrades
	scripts/setup --vm
	swift build --build-tests
	scripts/soak

recipes: ## the recipes of CONTRIBUTING.md on a copy of the tree: whole, and with each step left out
	swift build --build-tests
	scripts/recipes

interop: ## the kernel's own WireGuard suite with our engine at either end
	scripts/setup --vm --interop
	$(MAKE) --no-print-directory engine
	Tests/Interop/run

install: $(generated) ## programs, units, manual pages and completions, under DESTDIR and PREFIX
	@$(content) scripts/install
	@test -n '$(DESTDIR)' || ! command -v systemd-sysusers >/dev/null || systemd-sysusers $(sysusersdir)/roamward.conf $(sysusersdir)/roamward-gateway.conf

installed: ## list the files that make install installs
	@$(content) scripts/install --list

uninstall: ## what `make install` installed; policies and state stay
	@test -n '$(DESTDIR)' || ! test -d /run/systemd/system || systemctl --quiet disable roamwardd.service roamward-lock.service || true
	@test -n '$(DESTDIR)' || packaging/leave $(sbindir)/roamwardd
	@$(content) scripts/install --uninstall

deb: build ## Debian packages, in .build/packages
	scripts/package deb

tarball: build ## the same files for other distributions, and the demo with its programs, in .build/packages
	scripts/package tarball demo

rpm: build ## RPM packages, in .build/packages
	scripts/package rpm

docs: build ## the documentation as HTML, in .build/site; checks every link
	scripts/site .build/release .build/site

clean: ## remove what was built
	rm -rf .build .build-asan .build-tsan .build-coverage Benchmarks/results
