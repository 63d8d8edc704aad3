import Glibc
import HostDNS
import KernelModel
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

/// The real programs of Debian's packages, which `scripts/setup --vm` unpacks beside the machine's own: installed, they would take its
/// resolver over. Each test runs them in mounts of its own, where /etc and /run hold nothing else.
@Suite("resolvconf", .serialized) struct ResolvconfBackendTests {
  static let packages: String = {
    let cache = getenv("XDG_CACHE_HOME").map { String(cString: $0) } ?? (getenv("HOME").map { String(cString: $0) } ?? "") + "/.cache"
    return cache + "/roamward-vm/unpacked"
  }()

  static let isPossible =
    canMakeNamespaces && ["resolvconf", "openresolv"].allSatisfy { access("\(packages)/\($0)/sbin/resolvconf", X_OK) == 0 }

  static let network = "nameserver 192.0.2.1\nsearch cafe.example\n"

  static func record(_ program: ResolvconfProgram) -> ResolverRecord {
    ResolverRecord(
      ResolvConf(nameServers: ["10.77.0.1"].compactMap { IPAddress($0) }, searchDomains: ["corp.example"].compactMap { DomainName($0) }),
      program: program)
  }

  /// A machine with this package, whose network has told it one name server.
  static func with<Result>(_ program: ResolvconfProgram, _ body: (_ state: String) throws -> Result) throws -> Result {
    let folder = try TemporaryFolder()
    let own = folder.path
    // The scripts look for their parts in /lib/resolvconf, which this machine may not have: they are told of another place.
    try shell(
      """
      set -e
      mkdir -p \(own)/etc \(own)/run \(own)/sbin \(own)/state
      cp -a \(packages)/\(program.rawValue)/. \(own)/package
      cp -a \(own)/package/etc/. /etc/alternatives /etc/passwd /etc/group /etc/nsswitch.conf \(own)/etc/
      grep -rIl /lib/resolvconf \(own)/package \(own)/etc | xargs sed -i 's#/lib/resolvconf#\(own)/package/lib/resolvconf#g'
      cp \(own)/package/sbin/resolvconf \(own)/sbin/resolvconf
      """)
    return try inNamespaces(mounts: true) {
      for (source, target) in [("etc", "/etc"), ("run", "/run"), ("sbin", "/usr/local/sbin")] { try bind("\(own)/\(source)", over: target) }
      switch program {
      case .debian:
        try shell(
          "mkdir -p /run/resolvconf/interface && ln -s ../run/resolvconf/resolv.conf /etc/resolv.conf && resolvconf --enable-updates")
      case .openresolv: try shell(": > /etc/resolv.conf")
      }
      try shell("printf '\(network.split(separator: "\n").joined(separator: "\\n"))\\n' | resolvconf -a eth0")
      return try body("\(own)/state")
    }
  }

  /// The observation of an agent that has just started.
  static func observe(_ state: String, isNeeded: Bool = true) throws -> (resolver: ObservedResolver, choice: ResolverChoice) {
    let resolver = HostResolver(path: "/etc/resolv.conf", stateDirectory: state, on: try EventLoop())
    let seen = resolver.observe(isNeeded ? [:] : nil)
    return (seen, ResolverChoice(seen.facts, file: resolver.file.observe()))
  }

  /// Has an agent carry out a step, and gives what went wrong.
  static func change(_ state: String, _ step: Step) throws -> String? {
    try onLoop { loop, done in
      let resolver = HostResolver(path: "/etc/resolv.conf", stateDirectory: state, on: loop)
      // Also where it ends at once, before the loop runs.
      var timer: EventSource?
      resolver.change(step) { problem in
        timer = try? loop.at(.now) {
          done(problem)
          // Its closure would keep it.
          withExtendedLifetime(timer) { timer = nil }
        }
      }
      return resolver
    }
  }

  static func file() throws -> ResolvConf { ResolvConf(parsing: String(decoding: try TextFile.read("/etc/resolv.conf"), as: UTF8.self)) }

  @Test(
    "is found out, takes the record, shows it, and gives the network's own back",
    .enabled(if: isPossible, "scripts/setup --vm unpacks the packages; or namespaces cannot be made"),
    arguments: ResolvconfProgram.allCases)
  func life(_ program: ResolvconfProgram) throws {
    try Self.with(program) { state in
      let before = try Self.file()
      #expect(before.nameServers.map(\.description) == ["192.0.2.1"])
      let first = try Self.observe(state)
      #expect(first.choice.backend == .resolvconf(program))
      #expect(first.resolver.records.isEmpty)

      let record = Self.record(program)
      #expect(try Self.change(state, .setRecord(record)) == nil)
      let servers = try Self.file().nameServers.map(\.description)
      #expect(servers == (program == .openresolv ? ["10.77.0.1"] : ["10.77.0.1", "192.0.2.1"]))
      let set = try Self.observe(state).resolver
      #expect(set.records == [record.name: record.content])
      #expect(set.effectiveServers.starts(with: record.content.nameServers))

      // The next agent, after this one was killed, needs no note.
      #expect(try Self.observe("/run", isNeeded: false).resolver.records.keys.first == record.name)
      #expect(try Self.change("/run", .removeRecord(record.name)) == nil)
      #expect(try Self.file() == before)
      #expect(try Self.observe("/run", isNeeded: false).resolver.records.isEmpty)
    }
  }

  @Test(
    "whose network changes meanwhile gives the new one's back, not the old one's", .enabled(if: isPossible, "see above"),
    arguments: ResolvconfProgram.allCases)
  func roams(_ program: ResolvconfProgram) throws {
    try Self.with(program) { state in
      let record = Self.record(program)
      #expect(try Self.change(state, .setRecord(record)) == nil)
      try shell("resolvconf -d eth0; printf 'nameserver 198.51.100.1\\n' | resolvconf -a wlan0")
      #expect(try Self.file().nameServers.first?.description == "10.77.0.1")
      #expect(try Self.change(state, .removeRecord(record.name)) == nil)
      #expect(try Self.file().nameServers.map(\.description) == ["198.51.100.1"])
    }
  }

  @Test(
    "that is ended while it takes the record out of resolv.conf has it finished by the next agent", .enabled(if: isPossible, "see above"),
    arguments: ["removed", "set again"])
  func interrupted(_ next: String) throws {
    try Self.with(.debian) { state in
      let record = Self.record(.debian)
      try shell(
        "printf '#!/bin/sh\\n[ ! -e /run/hang ] || sleep 60\\n' > /etc/resolvconf/update.d/000slow && chmod +x /etc/resolvconf/update.d/000slow"
      )
      let before = try Self.file()
      #expect(try Self.change(state, .setRecord(record)) == nil)
      try shell("touch /run/hang")
      // The agent does not wait for ever; what it has started ends with it.
      let ended: Bool = try onLoop { loop, done in
        let resolver = HostResolver(path: "/etc/resolv.conf", stateDirectory: state, on: loop)
        resolver.change(.removeRecord(record.name)) { _ in done(false) }
        let timer = Repeating(on: loop) { if access("/run/resolvconf/interface/\(record.name)", F_OK) != 0 { done(true) } }
        return (resolver, timer)
      }
      #expect(ended)
      try shell("rm /run/hang")
      #expect(try Self.file().nameServers.first?.description == "10.77.0.1")

      let seen = try Self.observe(state, isNeeded: false).resolver
      #expect(seen.records.keys.first == record.name && seen.records[record.name] != record.content)
      if next == "removed" {
        #expect(try Self.change(state, .removeRecord(record.name)) == nil)
        #expect(try Self.file() == before && Self.observe(state, isNeeded: false).resolver.records.isEmpty)
      } else {
        #expect(try Self.change(state, .setRecord(record)) == nil)
        #expect(try Self.observe(state).resolver.records == [record.name: record.content])
        #expect(try Self.change(state, .removeRecord(record.name)) == nil && Self.file() == before)
      }
      #expect(Folder.names(in: state) == [])
    }
  }

  @Test("openresolv, whose file somebody has written over, writes it again", .enabled(if: isPossible, "see above")) func writtenOver()
    throws
  {
    try Self.with(.openresolv) { state in
      let record = Self.record(.openresolv)
      #expect(try Self.change(state, .setRecord(record)) == nil)
      try shell("echo 'nameserver 192.0.2.99' > /etc/resolv.conf")
      let seen = try Self.observe(state)
      #expect(seen.choice.backend == .resolvconf(.openresolv))
      #expect(seen.resolver.effectiveServers != record.content.nameServers)
      #expect(try Self.change(state, .setRecord(record)) == nil)
      #expect(try Self.file().nameServers == record.content.nameServers)
    }
  }

  @Test("whose updates are off says so", .enabled(if: isPossible, "see above")) func disabled() throws {
    try Self.with(.debian) { state in
      try shell("resolvconf --disable-updates")
      #expect(try #require(try Self.change(state, .setRecord(Self.record(.debian)))).contains("resolvconf --enable-updates"))
    }
  }

  @Test(
    "whose record of a resolver of this machine comes before ours says which, and how to change that", .enabled(if: isPossible, "see above")
  )
  func localResolver() throws {
    try Self.with(.debian) { state in
      try shell("printf 'nameserver 127.0.0.1\\n' | resolvconf -a lo.dnsmasq")
      let problem = try #require(try Self.change(state, .setRecord(Self.record(.debian))))
      #expect(problem.contains("because its record lo.dnsmasq comes before (cure: `lo.roamward` as the first line of"), "\(problem)")
      try shell("sed -i '1i lo.roamward' /etc/resolvconf/interface-order")
      #expect(try Self.change(state, .setRecord(Self.record(.debian))) == nil)
      #expect(try Self.observe(state).choice.localServers.map(\.description) == ["127.0.0.1"])
    }
  }

  @Test("that fails says how", .enabled(if: isPossible, "see above")) func fails() throws {
    try Self.with(.debian) { state in
      try shell(
        "rm /usr/local/sbin/resolvconf && printf '#!/bin/sh\\n# part of the resolvconf package\\necho no room >&2\\nexit 3\\n' > /usr/local/sbin/resolvconf && chmod +x /usr/local/sbin/resolvconf"
      )
      #expect(try #require(try Self.change(state, .setRecord(Self.record(.debian)))).hasSuffix("ended with 3: no room"))
    }
  }
}

/// Calls back every 20 ms for as long as it is kept.
private final class Repeating {
  private var timer: EventSource?

  init(on loop: EventLoop, _ body: @escaping () -> Void) {
    timer = try? loop.at(.now + .milliseconds(20)) { [weak self] in
      body()
      self?.next = Repeating(on: loop, body)
    }
  }

  private var next: Repeating?
}
