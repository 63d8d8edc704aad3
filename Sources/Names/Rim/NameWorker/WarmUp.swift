internal import LinuxIO
internal import NameProtocol
internal import NameServer
internal import NetworkTypes

/// Look-ups by a name server in memory: held, asked, answered, and once more answered from its cache. The types of the Swift runtime exist
/// and the code is in memory then, when the first program asks. Nothing depends on its result.
struct WarmUp {
  private static let near = IPAddress(v4: 0x7f00_0001)
  /// A question for the address of `a.example`, without a header.
  private static let question: [UInt8] = [1, 0x61, 7] + Array("example".utf8) + [0, 0, 1, 0, 1]

  private var machine: NameServerMachine
  private var out = Outbox()

  init() {
    let random = RandomSource()
    machine = NameServerMachine { random.next() }
    var domains = DomainMap(capacity: 1)
    if let name = DomainName("example") { domains.add(name, 0) }
    let group = UpstreamGroup(servers: [Upstream(Self.near)], pool: 0, blocked: [])
    let rules = NameServerConfiguration(
      groups: [group], triggers: [Trigger(name: "warm-up", group: 0)], dispositions: [.connectAlways(trigger: 0)], domains: domains)
    machine.setPool(0, SocketPool(v4: [0]), at: .now, &out)
    _ = machine.configure(rules, at: .now, &out)
  }

  /// Returns how many replies there were: two.
  @discardableResult
  mutating func run() -> Int {
    let now = Moment.now
    defer { out.removeAll() }
    let client = Client(listener: 0, address: Self.near, port: 1, isLocal: true)
    let asked: [UInt8] = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0] + Self.question
    // Nothing is answered from the cache of the last run.
    machine.setState(.down, of: 0, at: now, &out)
    machine.receive(asked.span, from: client, at: now, &out)
    for request in out.requests {
      if case .start(let trigger, let name, let type, _) = request {
        let report = NameReport.start(
          trigger: trigger, name: name, type: type, listener: 0, address: AddressText(Self.near), port: 1, isStream: false)
        _ = report.bytes
      }
    }
    machine.setState(.connected, of: 0, at: now, &out)
    var order = SocketOrder()
    order.sort(out.datagrams)
    var sender = DatagramSender()
    for datagram in out.datagrams {
      sender.add(datagram.range, to: datagram.address, datagram.port)
      let answer = Self.answer(to: Array(out.bytes[datagram.range]))
      machine.receive(answer.span, at: datagram.socket, from: datagram.address, port: datagram.port, at: now, &out)
    }
    machine.receive(asked.span, from: client, at: now, &out)
    _ = machine.nextDeadline
    return out.replies.count
  }

  /// The question comes back with an address.
  private static func answer(to asked: [UInt8]) -> [UInt8] {
    var bytes = Array(asked[..<min(asked.count, 12 + question.count)])
    bytes[2] = 0x81
    bytes[3] = 0x80
    bytes[7] = 1
    bytes[11] = 0
    return bytes + [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]
  }
}
