import NetworkTypes
import SeededRandom
import Synchronization

@testable import NameServer

/// A name server in virtual time, with the values that tests read back.
final class Lab {
  static let underlay = Upstream(IPAddress(v4: 0xc000_0201))
  static let second = Upstream(IPAddress(v4: 0xc000_0202))
  static let inside = Upstream(IPAddress(v4: 0x0a4d_0001))
  static let corp = IPPrefix("10.77.0.0/16")

  private(set) var machine: NameServerMachine
  var now = Moment(nanoseconds: 1_000_000_000)
  var out = Outbox()
  /// Replies, datagrams and requests since the last `clear`.
  var replies: [(client: Client, message: [UInt8], at: Moment)] = []
  var datagrams: [(datagram: Outbox.Datagram, message: [UInt8])] = []
  var requests: [Outbox.Request] = []

  /// The groups 0 (underlay) and 1 (inside of corp), trigger 0 (corp); names in corp.example as by `corp`.
  init(corp: Disposition = .connectAlways(trigger: 0), servers: [Upstream] = [Lab.underlay], blocked: Bool = false, seed: UInt64 = 1) {
    machine = NameServerMachine(random: Self.source(seed: seed))
    configure(Self.configuration(corp: corp, servers: servers, blocked: blocked))
    setPool(0, SocketPool(v4: Array(0..<32), v6: Array(32..<64)))
    setPool(1, SocketPool(v4: Array(64..<96)))
  }

  static func source(seed: UInt64) -> @Sendable () -> UInt64 {
    let random = Mutex(SplitMix64(seed: seed))
    return { random.withLock { $0.next() } }
  }

  static func configuration(corp: Disposition, servers: [Upstream] = [Lab.underlay], blocked: Bool = false) -> NameServerConfiguration {
    var domains = DomainMap()
    for (name, number) in [("corp.example", 0), ("refused.example", 1), ("public.corp.example", 2)] {
      if let name = DomainName(name) { domains.add(name, UInt16(number)) }
    }
    return NameServerConfiguration(
      network: 1,
      groups: [
        UpstreamGroup(servers: servers, pool: 0, blocked: blocked ? [Lab.corp].compactMap { $0 } : []),
        UpstreamGroup(servers: [inside], pool: 1, longestTTL: 60),
      ], triggers: [Trigger(name: "corp", group: 1)], dispositions: [corp, .refuse, .forward(group: 0)], domains: domains,
      rest: .forward(group: 0), answersCanary: true)
  }

  @discardableResult
  func configure(_ configuration: NameServerConfiguration) -> String? {
    let fault = machine.configure(configuration, at: now, &out)
    gather()
    return fault
  }

  func setPool(_ number: UInt16, _ pool: SocketPool) {
    machine.setPool(number, pool, at: now, &out)
    gather()
  }

  func set(_ state: TriggerState) {
    machine.setState(state, of: 0, at: now, &out)
    gather()
  }

  static func client(_ port: UInt16 = 40_000, address: IPAddress = IPAddress(v4: 0x7f00_0001), isLocal: Bool = true) -> Client {
    Client(listener: 0, address: address, port: port, isLocal: isLocal)
  }

  func ask(_ message: [UInt8], from client: Client = Lab.client()) {
    machine.receive(message.span, from: client, at: now, &out)
    gather()
  }

  func ask(_ name: String, type: Int = 1, id: Int = 0x1234, payload: Int? = 1232, from client: Client = Lab.client()) {
    ask(Messages.question(name, type: type, id: id, payload: payload), from: client)
  }

  /// An answer of the server that was asked, to the last datagram or another one.
  func answer(_ records: [[UInt8]] = [Messages.a("198.51.100.7")], code: Int = 0, to index: Int? = nil) {
    guard let asked = index.map({ datagrams[$0] }) ?? datagrams.last else { return }
    deliver(Messages.answer(to: asked.message, records, code: code), to: asked.datagram)
  }

  func deliver(_ message: [UInt8], to asked: Outbox.Datagram) {
    receive(message, at: asked.socket, from: Upstream(asked.address, port: asked.port))
  }

  func receive(_ message: [UInt8], at socket: UInt16, from server: Upstream) {
    machine.receive(message.span, at: socket, from: server.address, port: server.port, at: now, &out)
    gather()
  }

  func receive(_ message: [UInt8], onStream number: UInt32) {
    machine.receive(message.span, onStream: number, at: now, &out)
    gather()
  }

  func streamFailed(_ number: UInt32) {
    machine.streamFailed(number, at: now, &out)
    gather()
  }

  /// Any other input.
  func drive(_ input: (inout NameServerMachine, Moment, inout Outbox) -> Void) {
    input(&machine, now, &out)
    gather()
  }

  func undelivered(_ datagram: Outbox.Datagram) { machine.undelivered(datagram, at: now) }

  /// Lets time pass, with every deadline at its moment.
  func pass(_ duration: Duration) {
    let end = now + duration
    while let next = machine.nextDeadline, next <= end {
      now = max(now, next)
      machine.expire(at: now, &out)
      gather()
    }
    now = end
  }

  func clear() { (replies, datagrams, requests) = ([], [], []) }

  var counters: NameServerCounters { machine.counters }
  var readings: [Reading] { replies.compactMap { Reading($0.message) } }

  private func gather() {
    replies += out.replies.map { ($0.client, Array(out.bytes[$0.range]), now) }
    datagrams += out.datagrams.map { ($0, Array(out.bytes[$0.range])) }
    requests += out.requests
    out.removeAll()
  }
}
