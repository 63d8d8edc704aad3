import Glibc
import LinuxIO
import NetworkTypes
import WireGuardEngine

// For Benchmarks/gateway-crowd and GatewayServeTests: the devices of a gateway, in one process, with real handshakes.

private let usage = """
  usage: gateway-devices keys COUNT
         gateway-devices run COUNT ENDPOINT KEY INNER

  keys  prints the public keys of so many devices, hexadecimal.
  run   has so many devices. Each empty line of standard input lets all of them connect at once, each with a handshake and a ping to INNER,
        the gateway's address in the tunnel; a line `ask` lets them ping in the sessions that they have. Prints the seconds after which half,
        95 % and all were answered, and how many handshakes were begun. ENDPOINT, KEY (hexadecimal): the gateway's.

  """

private func hexadecimal(_ text: String) -> [UInt8] {
  let digits = text.compactMap { $0.hexDigitValue.map(UInt8.init) }
  return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

private func text(_ key: PublicKey) -> String {
  key.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Seconds from `begin` at which each client was answered, in ascending order.
private func answers(_ clients: [Client], after start: (Client) -> Void) throws -> [Double] {
  let begin = Moment.now
  clients.forEach(start)
  var entries = clients.map { pollfd(fd: $0.socket.number, events: Int16(POLLIN), revents: 0) }
  var look = begin
  while true {
    if poll(&entries, nfds_t(entries.count), 20) > 0 {
      for i in entries.indices where entries[i].revents != 0 { clients[i].receive(at: .now) }
    }
    guard Moment.now >= look else { continue }
    look = Moment.now + .milliseconds(20)
    let time = EngineTime.now
    for client in clients { client.advance(to: time) }
    let times = clients.compactMap { client -> Double? in
      if case .answered(let moment) = client.state { (moment - begin) / .seconds(1) } else { nil }
    }
    if times.count == clients.count { return times.sorted() }
    guard time.moment - begin < .seconds(120) else { throw BenchmarkError("\(times.count) of \(clients.count) were answered") }
  }
}

/// Lets them answer, and do what time makes due, until standard input has something.
private func live(_ clients: [Client]) {
  var entries = (clients.map(\.socket.number) + [STDIN_FILENO]).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  while entries[clients.count].revents == 0 {
    poll(&entries, nfds_t(entries.count), 1000)
    for i in clients.indices where entries[i].revents != 0 { clients[i].receive(at: .now) }
    let time = EngineTime.now
    for client in clients { client.advance(to: time) }
  }
}

private func run(_ count: Int, _ gateway: Gateway) throws {
  var limit = rlimit(rlim_cur: rlim_t(count + 64), rlim_max: rlim_t(count + 64))
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  let clients = try (1...count).map { try Client($0, of: gateway) }
  print("ready")
  fflush(nil)
  while true {
    live(clients)
    guard let line = readLine() else { return }
    let before = clients.reduce(0) { $0 + $1.initiations }
    let times = try answers(clients) { line == "ask" ? $0.ask(at: .now) : $0.connect(at: .now) }
    print(times[count / 2], times[count * 95 / 100], times[count - 1], clients.reduce(-before) { $0 + $1.initiations })
    fflush(nil)
  }
}

do {
  let arguments = Array(CommandLine.arguments.dropFirst())
  switch (arguments.first, arguments.count) {
  case ("keys", 2):
    for number in 1...(Int(arguments[1]) ?? 1) { print(Client.key(of: number).map { text($0.publicKey) } ?? "") }
  case ("run", 5):
    guard let count = Int(arguments[1]), count > 0, let endpoint = DatagramAddress(arguments[2]),
      let key = PublicKey(bytes: hexadecimal(arguments[3])), let inner = IPAddress(arguments[4])
    else { throw BenchmarkError(usage) }
    try run(count, Gateway(endpoint: endpoint, key: key, inner: inner))
  default: throw BenchmarkError(usage)
  }
} catch {
  let line = Array("gateway-devices: \(error)\n".utf8)
  _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
  exit(1)
}
