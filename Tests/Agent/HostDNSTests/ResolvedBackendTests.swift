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

/// The link is `lo`, which every namespace has with the index 1.
@Suite("systemd-resolved", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct ResolvedBackendTests {
  static let wanted = LinkResolver(
    servers: ["10.77.0.1", "2001:db8::53"].compactMap { IPAddress($0) },
    domains: [.init(DomainName("corp.example")), .init(DomainName("10.in-addr.arpa"), isRoutingOnly: true), .root], isDefaultRoute: true)

  /// Runs a backend that watches `lo`; the body sets something going, `changed` is called at each change, until either says it is done.
  static func run<Result>(
    on bus: PrivateBus, limit: Duration = .seconds(30),
    _ body: @escaping (EventLoop, ResolvedBackend, @escaping (Result) -> Void) throws -> Any?,
    changed: @escaping (ResolvedBackend, @escaping (Result) -> Void) -> Void = { _, _ in }
  ) throws -> Result {
    try onLoop(limit: limit) { loop, done in
      weak var backend: ResolvedBackend?
      let made = ResolvedBackend(on: loop, busAddress: bus.address) { if let backend { changed(backend, done) } }
      backend = made
      let kept = try body(loop, made, done)
      made.need([1: "lo"])
      return [made, kept as Any]
    }
  }

  @Test("is told all of it, and what it shows then is read back") func sets() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    var known: [String: LinkResolver] = [:]
    let problem: String? = try Self.run(on: bus) { loop, _, _ in
      double = try ResolverDouble(on: bus.address, loop: loop)
      return nil
    } changed: { backend, done in
      guard backend.known["lo"]?.isEmpty ?? true else { return }
      backend.set(Self.wanted, link: "lo") { problem in
        known = backend.known
        done(problem)
      }
    }
    #expect(problem == nil)
    #expect(known["lo"]?.isSame(as: Self.wanted) == true)
    #expect(
      double?.calls == [
        "SetLinkLLMNR", "SetLinkMulticastDNS", "SetLinkDNSOverTLS", "SetLinkDNSSEC", "SetLinkDomains", "SetLinkDefaultRoute", "SetLinkDNS",
        "FlushCaches",
      ])
  }

  @Test(
    "a link has the validation that is asked for, else that of the service, also after it had another one", arguments: [DNSSECMode.no, nil])
  func validation(_ wanted: DNSSECMode?) throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    var before = Self.wanted
    before.dnssec = .allowDowngrade
    var after = Self.wanted
    after.dnssec = wanted
    var hasBegun = false
    var problems: [String] = []
    let found: (link: LinkResolver?, service: DNSSECMode?) = try Self.run(on: bus) { loop, _, _ in
      double = try ResolverDouble(on: bus.address, loop: loop)
      return nil
    } changed: { [before, after] backend, done in
      if hasBegun { return }
      hasBegun = true
      backend.set(before, link: "lo") { first in
        backend.set(after, link: "lo") { second in
          problems = [first, second].compactMap { $0 }
          done((backend.known["lo"], backend.dnssec))
        }
      }
    }
    #expect(problems == [])
    #expect(found.link?.dnssec == wanted ?? .yes && found.service == .yes)
    #expect(double?.dnssec == wanted?.rawValue ?? "")
    #expect(found.link?.isSame(as: after) == true && found.link?.isSame(as: before) == false)
  }

  @Test("tells of links of others that claim every name") func rivals() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    // A link of that index is there in this namespace.
    let rivals: [String] = try onLoop { loop, done in
      double = try ResolverDouble(on: bus.address, loop: loop)
      double?.rivals = [1]
      weak var backend: ResolvedBackend?
      let made = ResolvedBackend(on: loop, busAddress: bus.address) { if let backend { done(backend.rivalLinks) } }
      backend = made
      made.need([:])
      return made
    }
    #expect(rivals == ["lo"])
    withExtendedLifetime(double) {}
  }

  @Test("takes back what was set") func reverts() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    var hasBegun = false
    let left: LinkResolver? = try Self.run(on: bus) { loop, _, _ in
      double = try ResolverDouble(on: bus.address, loop: loop)
      return nil
    } changed: { backend, done in
      if hasBegun { return }
      hasBegun = true
      backend.set(Self.wanted, link: "lo") { _ in
        backend.revert(link: "lo") { _ in done(backend.known["lo"]) }
      }
    }
    #expect(left?.isEmpty == true)
    #expect(double?.calls.contains("RevertLink") == true)
  }

  @Test("one that hears and never answers is given up, and holds nothing else up") func deaf() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    var ticks = 0
    var timer: EventSource?
    let problem: String? = try Self.run(on: bus) { loop, _, _ in
      double = try ResolverDouble(on: bus.address, loop: loop)
      func tick() {
        ticks += 1
        timer = try? loop.at(.now + .milliseconds(20), tick)
      }
      tick()
      return nil
    } changed: { backend, done in
      guard double?.isDeaf == false else { return }
      double?.isDeaf = true
      backend.set(Self.wanted, link: "lo", then: done)
    }
    #expect(try #require(problem).contains("did not answer in time"))
    #expect(ticks > 10, "the loop went on")
    // Its closure would keep it.
    withExtendedLifetime(timer) { timer = nil }
  }

  @Test("one that needs two seconds for a change, as on a busy machine, has made it") func late() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    let problem: String? = try Self.run(on: bus) { loop, _, _ in
      double = try ResolverDouble(on: bus.address, loop: loop)
      return nil
    } changed: { backend, done in
      guard double?.calls.isEmpty == true, backend.known["lo"]?.isEmpty ?? true else { return }
      double?.pause = .seconds(2)
      backend.set(Self.wanted, link: "lo", then: done)
    }
    #expect(problem == nil)
  }

  @Test("one that does not answer twice, as on a busy machine, keeps what it was told; one that never does again is given up") func slow()
    throws
  {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    var timers: [EventSource] = []
    var answers: [Answer<Bool>] = []
    var known: [LinkResolver?] = []
    var loopOfTest: EventLoop?
    /// A second after it has what it was told.
    func beginDeafness(_ backend: ResolvedBackend) throws {
      guard timers.isEmpty, let loop = loopOfTest else { return }
      timers.append(
        try loop.at(.now + .seconds(1)) {
          double?.isDeaf = true
          backend.refresh()
        })
      timers.append(
        try loop.at(.now + .milliseconds(4_500)) {
          answers.append(backend.answer)
          known.append(backend.known["lo"])
        })
    }
    let _: Bool = try Self.run(on: bus) { loop, _, _ in
      loopOfTest = loop
      double = try ResolverDouble(on: bus.address, loop: loop)
      return nil
    } changed: { backend, done in
      if case .unavailable = backend.answer { return done(true) }
      if backend.known["lo"]?.isEmpty ?? true {
        backend.set(Self.wanted, link: "lo") { _ in do { try beginDeafness(backend) } catch { Issue.record(error) } }
      }
    }
    withExtendedLifetime(timers) { timers = [] }
    #expect(answers == [.value(true)])
    #expect(known.first??.isSame(as: Self.wanted) == true)
  }

  @Test("a bus that stands still is given up too, and the end of the loop does not wait for it") func frozen() throws {
    let begun = Moment.now
    let bus = try PrivateBus()
    try bus.start()
    try bus.freeze(true)
    defer { try? bus.freeze(false) }
    let reason: String = try Self.run(on: bus) { _, _, _ in
      nil
    } changed: { backend, done in
      if case .unavailable(let reason) = backend.answer { done(reason) }
    }
    #expect(reason.contains("did not answer in time"))
    // libsystemd itself waits for ninety seconds.
    #expect(Moment.now < begun + .seconds(60))
  }

  @Test("one that dies is missed, and one that comes again is known to have nothing") func dies() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    var loopOfTest: EventLoop?
    var timer: EventSource?
    var seen: [String] = []
    let _: Bool = try Self.run(on: bus) { loop, _, _ in
      loopOfTest = loop
      double = try ResolverDouble(on: bus.address, loop: loop)
      return nil
    } changed: { backend, done in
      switch backend.answer {
      case .value:
        let isSet = backend.known["lo"]?.isEmpty == false
        if seen.last != "it answers", !isSet { seen.append("it answers") }
        if seen.count == 1, !isSet {
          backend.set(Self.wanted, link: "lo") { _ in
            // Not from within its own answer.
            timer = try? loopOfTest?.at(.now) { double = nil }
          }
        }
        if seen.count == 3, !isSet { done(true) }
      case .unavailable(let reason):
        seen.append(reason)
        if let loopOfTest { double = try? ResolverDouble(on: bus.address, loop: loopOfTest) }
      case .pending: break
      }
    }
    withExtendedLifetime((timer, double)) {}
    #expect(seen == ["it answers", "it does not run", "it answers"])
  }

  @Test("a bus that dies in the middle of a change ends the change") func busDies() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    var loopOfTest: EventLoop?
    var timer: EventSource?
    let problem: String? = try Self.run(on: bus) { loop, _, _ in
      loopOfTest = loop
      double = try ResolverDouble(on: bus.address, loop: loop)
      return nil
    } changed: { backend, done in
      guard double?.isDeaf == false else { return }
      double?.isDeaf = true
      backend.set(Self.wanted, link: "lo", then: done)
      timer = try? loopOfTest?.at(.now + .milliseconds(100)) { bus.stop() }
    }
    withExtendedLifetime((timer, double)) {}
    #expect(problem != nil)
  }

  @Test("a refusal says whose the link is, and what helps") func refuses() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolverDouble?
    let problem: String? = try Self.run(on: bus) { loop, _, _ in
      double = try ResolverDouble(on: bus.address, loop: loop)
      double?.refusal = "org.freedesktop.resolve1.LinkBusy"
      return nil
    } changed: { backend, done in
      guard double?.calls.isEmpty == true else { return }
      backend.set(Self.wanted, link: "lo", then: done)
    }
    #expect(try #require(problem).contains("systemd-networkd manages lo; cure: a .network file"))
  }

  @Test("who is not needed is not asked") func frugal() throws {
    let bus = try PrivateBus()
    try bus.start()
    let answer: Answer<Bool> = try onLoop { loop, done in
      let double = try ResolverDouble(on: bus.address, loop: loop)
      let backend = ResolvedBackend(on: loop, busAddress: bus.address) {}
      backend.need(nil)
      let timer = try loop.at(.now + .milliseconds(300)) { done(backend.answer) }
      return [double, backend, timer] as [AnyObject]
    }
    #expect(answer == .pending(reason: "it has not answered yet"))
  }
}
