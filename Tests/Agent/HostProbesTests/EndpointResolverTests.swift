import Glibc
import HostProbes
import LinuxIO
import NetworkTypes
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

private typealias Outcome = Result<[IPAddress], ResolveError>

@Suite("The endpoint resolver", .enabled(if: canMakeNamespaces, "no namespaces here"))
struct EndpointResolverTests {
  private let name: DomainName
  private let v4: IPAddress
  private let v6: IPAddress
  private let loopback: IPAddress
  /// Of look-ups that come to an end by themselves: a busy machine takes long to start the program.
  private static let patience = Duration.seconds(60)

  init() throws {
    name = try #require(DomainName("vpn.example"))
    v4 = try #require(IPAddress("192.0.2.1"))
    v6 = try #require(IPAddress("2001:db8::1"))
    loopback = try #require(IPAddress("127.0.0.1"))
  }

  /// Asks a server that answers so, in a network namespace with loopback alone.
  private func resolve(
    _ name: DomainName? = nil, link: String? = "lo", mark: UInt32? = 0x5200_0000, limit: Duration = EndpointResolverTests.patience,
    answer: @escaping (String, TinyDNSServer.Kind) -> TinyDNSServer.Answer
  ) throws -> (Result<[IPAddress], ResolveError>, questions: [String]) {
    try inNamespaces {
      try onLoop { loop, done in
        let server = try TinyDNSServer(on: loop, answer: answer)
        let resolver = EndpointResolver(on: loop, ProbeHelper(on: loop), port: server.port, limit: limit)
        let lookup = resolver.resolve(name ?? self.name, servers: [loopback], link: link, mark: mark) { done(($0, server.questions)) }
        return (server, lookup)
      }
    }
  }

  @Test("gives both families, none twice")
  func bothFamilies() throws {
    let (result, questions) = try resolve { _, _ in .addresses([v4, v4, v6]) }
    #expect(try Set(result.get()) == [v4, v6])
    #expect(try result.get().count == 2)
    #expect(questions.sorted() == ["vpn.example a", "vpn.example aaaa"])
  }

  @Test("one family is enough, whatever the other's server says", arguments: [true, false])
  func oneFamily(isV6: Bool) throws {
    for other in [TinyDNSServer.Answer.noData, .alias, .noSuchName, .failure] {
      let (result, _) = try resolve { _, kind in (kind == .aaaa) == isV6 ? .addresses([isV6 ? v6 : v4]) : other }
      #expect(result == .success([isV6 ? v6 : v4]), "\(other)")
    }
  }

  @Test("asks by TCP where the answer is too long")
  func truncated() throws {
    let many = (1...20).map { IPAddress(v4: 0xc000_0200 + $0) }
    let (result, questions) = try resolve { _, kind in kind == .a ? .truncated(many) : .noData }
    #expect(try Set(result.get()) == Set(many))
    #expect(questions.contains("vpn.example a tcp"))
  }

  @Test("tells a name that is not there from one without addresses and from a broken server")
  func failures() throws {
    #expect(try resolve { _, _ in .noSuchName }.0 == .failure(.noSuchName(name)))
    #expect(try resolve { _, _ in .noData }.0 == .failure(.noAddress(name)))
    guard case .failure(.failed) = try resolve(answer: { _, _ in .failure }).0 else { return #expect(Bool(false), "SERVFAIL") }
  }

  @Test("asks a silent server twice and gives up in time")
  func silence() throws {
    // The time includes the start of the program, and it asks again after a second and a half.
    for seconds in [3, 20] {
      let begin = ContinuousClock.now
      let (result, questions) = try resolve(limit: .seconds(seconds)) { _, _ in .silence }
      if questions.count < 4, seconds == 3 { continue }
      #expect(result == .failure(.timedOut(name)))
      #expect(questions.count == 4)
      #expect(ContinuousClock.now - begin >= .milliseconds(300))
      break
    }
  }

  @Test("goes to the second server when nobody listens at the first")
  func secondServer() throws {
    let dead = try #require(IPAddress("127.0.0.2"))
    let result: Outcome = try inNamespaces {
      try onLoop { loop, done in
        let server = try TinyDNSServer(on: loop) { _, _ in .addresses([v4]) }
        return (
          server,
          EndpointResolver(on: loop, ProbeHelper(on: loop), port: server.port, limit: Self.patience).resolve(
            name, servers: [dead, loopback], then: done)
        )
      }
    }
    #expect(result == .success([v4]))
  }

  @Test("knows the hosts file, and then asks nobody")
  func hostsFile() throws {
    let localhost = try #require(DomainName("localhost"))
    let (result, questions) = try resolve(localhost) { _, _ in .noSuchName }
    #expect(try result.get().contains(loopback))
    #expect(questions == [])
  }

  @Test("without servers it says so, later")
  func noServers() throws {
    var isLater = false
    let result: Outcome = try onLoop { loop, done in
      let lookup = EndpointResolver(on: loop, ProbeHelper(on: loop)).resolve(name, servers: []) {
        #expect(isLater)
        done($0)
      }
      isLater = true
      return lookup
    }
    #expect(result == .failure(.noServers(name)))
  }

  @Test("fails rather than leaving by another link")
  func wrongLink() throws {
    let (result, questions) = try resolve(link: "nosuchlink0") { _, _ in .addresses([v4]) }
    guard case .failure(.notSent(_, let reason)) = result else { return #expect(Bool(false), "it found another way") }
    #expect(reason.contains("bind to nosuchlink0"))
    #expect(questions == [])
  }

  @Test("its questions carry the mark")
  func mark() throws {
    let results: [Outcome] = try inNamespaces {
      try shell(
        "ip rule add pref 1000 lookup local; ip rule del pref 0; ip rule add pref 10 fwmark 0x52000000/0xff000000 unreachable")
      let marks: [UInt32?] = [nil, 0x5200_0000]
      return try marks.map { mark in
        try onLoop { loop, done in
          let server = try TinyDNSServer(on: loop) { _, _ in .addresses([v4]) }
          return (
            server,
            EndpointResolver(on: loop, ProbeHelper(on: loop), port: server.port, limit: Self.patience).resolve(
              name, servers: [loopback], mark: mark, then: done)
          )
        }
      }
    }
    #expect(results[0] == .success([v4]))
    #expect(throws: ResolveError.self) { try results[1].get() }
  }

  @Test("cancelled or dropped, at any point, it calls nobody and leaves no socket open", arguments: [true, false])
  func cancelled(byDropping: Bool) throws {
    try inNamespaces {
      for delay in [0, 1, 5, 50] {
        let _: Bool = try onLoop { loop, done in
          let server = try TinyDNSServer(on: loop) { _, _ in .silence }
          var lookup: Lookup? = EndpointResolver(on: loop, ProbeHelper(on: loop), port: server.port).resolve(name, servers: [loopback]) {
            _ in
            Issue.record("called back")
          }
          let stop = try loop.at(.now + .milliseconds(delay)) {
            if !byDropping { lookup?.cancel() }
            lookup = nil
          }
          return (server, stop, try loop.at(.now + .milliseconds(delay + 50)) { done(true) })
        }
      }
      #expect(try openSocketsAtRest() == 0)
    }
  }

  @Test("a hundred lookups leave nothing behind, and cost no spinning")
  func noLeak() throws {
    try inNamespaces {
      for _ in 0..<100 {
        let result: Outcome = try onLoop { loop, done in
          let server = try TinyDNSServer(on: loop) { _, kind in kind == .a ? .addresses([v4]) : .noData }
          return (
            server,
            EndpointResolver(on: loop, ProbeHelper(on: loop), port: server.port, limit: Self.patience).resolve(
              name, servers: [loopback], then: done)
          )
        }
        #expect(result == .success([v4]))
      }
      #expect(try openSocketsAtRest() == 0)
      // Spinning would cost all of the time that it waits.
      let processor = processorTime()
      let _: Outcome = try onLoop { loop, done in
        let server = try TinyDNSServer(on: loop) { _, _ in .silence }
        return (
          server,
          EndpointResolver(on: loop, ProbeHelper(on: loop), port: server.port, limit: .seconds(4)).resolve(
            name, servers: [loopback], then: done)
        )
      }
      #expect(processorTime() - processor < .seconds(2))
    }
  }

  /// The same, once there are none: a child that another test is just starting may share some until it runs its program.
  private func openSocketsAtRest() throws -> Int {
    for _ in 0..<1000 {
      if try openSockets() == 0 { break }
      usleep(10_000)
    }
    return try openSockets()
  }

  /// UDP sockets of this thread's network namespace.
  private func openSockets() throws -> Int { try TextFile.read("/proc/thread-self/net/udp").count { $0 == 10 } - 1 }

  /// Of this thread.
  private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
