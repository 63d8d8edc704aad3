import ArgumentParser
import Glibc
import NetworkTypes

/// Runs a command, and tells how long it took from just before it until an address was routed through the tunnel and answered from there.
struct ReachCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reach",
    abstract: "Measure from a command to routes in place and to the first ping.",
    discussion: "Prints both, in milliseconds.")

  @Option(help: "The address on the other side.") var to: String
  @Option(help: "The tunnel's own address: what is sent goes out with it once the routes are in place.") var source: String
  @Argument(parsing: .postTerminator, help: "The command, after --.") var command: [String]

  func run() throws {
    guard let destination = IPAddress(to), let own = IPAddress(source), !command.isEmpty else { throw ValidationError("what to reach?") }
    let changes = try RouteChanges()
    let begin = Clock.wall
    let process = try Program(command).start()
    while try sourceAddress(towards: destination) != own {
      guard Clock.wall - begin < 20_000 else { throw BenchmarkError("no route to \(destination) within 20 s") }
      changes.wait(milliseconds: 20)
    }
    let routed = Clock.wall - begin
    let ping = try Ping(to: destination)
    while try !ping.answers(within: 5) {
      guard Clock.wall - begin < 20_000 else { throw BenchmarkError("no answer from \(destination) within 20 s") }
    }
    let answered = Clock.wall - begin
    var status: Int32 = 0
    waitpid(process, &status, 0)
    print("\(routed.text(digits: 3)) \(answered.text(digits: 3))")
  }
}

/// The kernel's word that IPv4 routes or rules, addresses or links have changed.
private struct RouteChanges {
  private let descriptor: Int32

  init() throws {
    // NETLINK_ROUTE.
    descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    // struct sockaddr_nl: family, two bytes of nothing, port, then RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE and _IPV4_RULE.
    var address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(AF_NETLINK), 0, 0, 0x1 | 0x10 | 0x40 | 0x80)
    let result = withUnsafeBytes(of: &address) { raw in
      raw.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(raw.count)) }
    }
    guard descriptor >= 0, result == 0 else { throw BenchmarkError("the kernel's events cannot be heard") }
  }

  /// Until the next change, or until the time is over.
  func wait(milliseconds: Int32) {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    poll(&ready, 1, milliseconds)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
  }
}

/// ICMP echo (RFC 792), with a number of its own for each try.
private final class Ping {
  private let descriptor: Int32
  private var tries: UInt16 = 0

  init(to destination: IPAddress) throws {
    descriptor = socket(AF_INET, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), Int32(IPPROTO_ICMP))
    guard descriptor >= 0, connect(descriptor, to: destination) else { throw BenchmarkError("no socket for ping") }
  }

  deinit { close(descriptor) }

  /// Sends one more, and waits for the answer to this or an earlier one.
  func answers(within milliseconds: Int32) throws -> Bool {
    tries += 1
    let request = echoRequest(tries)
    // A refusal is no answer, and nothing more.
    _ = send(descriptor, request, request.count, 0)
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let end = Clock.wall + Double(milliseconds)
    while poll(&ready, 1, max(0, Int32((end - Clock.wall).rounded(.up)))) > 0 {
      var answer = [UInt8](repeating: 0, count: 256)
      let count = recv(descriptor, &answer, answer.count, 0)
      if echoReply(in: answer, count: count) != nil { return true }
    }
    return false
  }
}

/// Where the kernel would send from; `nil` without a route. Nothing is sent.
private func sourceAddress(towards destination: IPAddress) throws -> IPAddress? {
  let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  guard descriptor >= 0 else { throw BenchmarkError("no socket") }
  defer { close(descriptor) }
  guard connect(descriptor, to: destination) else { return nil }
  var own = sockaddr_in()
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let result = withUnsafeMutableBytes(of: &own) { raw in
    raw.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &size) }
  }
  return result == 0 ? IPAddress(v4: UInt32(bigEndian: own.sin_addr.s_addr)) : nil
}

private func connect(_ descriptor: Int32, to destination: IPAddress) -> Bool {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = in_port_t(9).bigEndian
  address.sin_addr.s_addr = UInt32(truncatingIfNeeded: destination.low).bigEndian
  return withUnsafeBytes(of: &address) { raw in
    raw.withMemoryRebound(to: sockaddr.self) { Glibc.connect(descriptor, $0.baseAddress, socklen_t(raw.count)) == 0 }
  }
}
