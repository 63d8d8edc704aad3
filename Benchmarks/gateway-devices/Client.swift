import Glibc
import LinuxIO
import NetworkTypes
import WireGuardEngine

/// A WireGuard client with a key, an outer and an inner address of its own, which pings one address through its tunnel.
final class Client {
  enum State { case idle, asking(next: Moment), answered(Moment) }

  let socket: FileDescriptor
  private(set) var state = State.idle
  private let key: PrivateKey
  private let gateway: Gateway
  private let inner: IPAddress
  private var device: Device?
  /// The initiations of handshakes that it has sent (type 1).
  private(set) var initiations = 0

  /// The key of a number, the same in every run.
  static func key(of number: Int) -> PrivateKey? {
    PrivateKey(bytes: (0..<32).map { (8..<16).contains($0) ? UInt8(truncatingIfNeeded: number >> (8 * ($0 - 8))) : 0x77 })
  }

  /// The first client has the second address of 198.18.0.0/15 (RFC 2544) outside, and the first of the pool's devices inside.
  init(_ number: Int, of gateway: Gateway) throws {
    guard let key = Self.key(of: number) else { throw BenchmarkError("no key") }
    self.key = key
    self.gateway = gateway
    inner = IPAddress(v4: UInt32(truncatingIfNeeded: gateway.inner.low) + UInt32(number))
    socket = try Self.bound(to: 0xc612_0001 + UInt32(number))
  }

  private static func bound(to address: UInt32) throws -> FileDescriptor {
    let number = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { throw SystemError.last("socket") }
    let socket = FileDescriptor(owning: number)
    let result = withSocketAddress(address, 51820) { bind(socket.number, $0, $1) }
    guard result == 0 else { throw SystemError.last("bind to \(IPAddress(v4: address))") }
    return socket
  }

  /// Begins without a session, as after its own start.
  func connect(at now: EngineTime) {
    let device = Device(privateKey: key, at: now)
    self.device = device
    let prefix = [IPPrefix(IPAddress(v4: 0), length: 0)].compactMap { $0 }
    let peer = PeerSettings(publicKey: gateway.key, endpoint: gateway.endpoint, allowedIPs: prefix, persistentKeepalive: 0)
    carryOut(device.setPeers([peer], at: now), at: now)
    ask(at: now)
  }

  /// Asks again each second until it is answered, and does what time makes due.
  func advance(to now: EngineTime) {
    guard let device else { return }
    if let due = device.nextDeadline, due.moment <= now.moment { carryOut(device.advance(to: now), at: now) }
    if case .asking(let next) = state, next <= now.moment { ask(at: now) }
  }

  /// Asks again each second until it is answered, in the session that it has.
  func ask(at now: EngineTime) {
    guard let device else { return }
    state = .asking(next: now.moment + .seconds(1))
    carryOut(device.send(echo(from: inner, to: gateway.inner), at: now), at: now)
  }

  /// Reads what has come.
  func receive(at now: EngineTime) {
    var buffer = [UInt8](repeating: 0, count: 2048)
    while let device {
      let count = recv(socket.number, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      carryOut(device.receive(Array(buffer[..<count]), from: gateway.endpoint, at: now), at: now)
    }
  }

  private func carryOut(_ outputs: [Device.Output], at now: EngineTime) {
    for output in outputs {
      switch output {
      case .datagram(let bytes, let target):
        if bytes.first == 1 { initiations += 1 }
        _ = withSocketAddress(UInt32(truncatingIfNeeded: target.address.low), target.port) {
          sendto(socket.number, bytes, bytes.count, 0, $0, $1)
        }
      case .packet(let bytes, _):
        // An echo reply (RFC 792).
        if bytes.count >= 28, bytes[9] == 1, bytes[20] == 0, case .asking = state { state = .answered(now.moment) }
      }
    }
  }
}

/// The gateway as its clients know it. `inner`: its address in the tunnel, the one that they ping.
struct Gateway {
  let endpoint: DatagramAddress
  let key: PublicKey
  let inner: IPAddress
}

struct BenchmarkError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

private func withSocketAddress<Result>(
  _ address: UInt32, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
  var v4 = sockaddr_in()
  v4.sin_family = sa_family_t(AF_INET)
  v4.sin_port = port.bigEndian
  v4.sin_addr.s_addr = address.bigEndian
  let length = socklen_t(MemoryLayout<sockaddr_in>.size)
  return withUnsafePointer(to: &v4) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) } }
}

/// An IPv4 packet with an echo request (RFC 792).
private func echo(from source: IPAddress, to target: IPAddress) -> [UInt8] {
  var header: [UInt8] = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0, 0] + source.bytes + target.bytes
  var message: [UInt8] = [8, 0, 0, 0, 0, 1, 0, 1]
  (header[10], header[11]) = checksum(header)
  (message[2], message[3]) = checksum(message)
  return header + message
}

/// RFC 1071.
private func checksum(_ bytes: [UInt8]) -> (UInt8, UInt8) {
  var sum = stride(from: 0, to: bytes.count, by: 2).reduce(UInt32(0)) { $0 + UInt32(bytes[$1]) << 8 + UInt32(bytes[$1 + 1]) }
  while sum > 0xffff { sum = sum & 0xffff + sum >> 16 }
  return (UInt8(truncatingIfNeeded: ~sum >> 8), UInt8(truncatingIfNeeded: ~sum))
}

extension EngineTime {
  static var now: EngineTime {
    var wall = timespec()
    clock_gettime(CLOCK_REALTIME, &wall)
    return EngineTime(moment: .now, wallSeconds: Int64(wall.tv_sec), wallNanoseconds: UInt32(truncatingIfNeeded: wall.tv_nsec))
  }
}
