import ArgumentParser
import Glibc
import NetworkTypes

/// Adds a default route, and tells how long it took from then until an address was routed through the tunnel and answered from there.
///
/// The route is added by this process, because the start of a program that adds it takes two milliseconds of its own.
struct ReachCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reach",
    abstract: "Measure from a default route to the tunnel's routes in place and to the first ping.",
    discussion: "Prints both, in milliseconds.")

  @Option(help: "The address on the other side.") var to: String
  @Option(help: "The tunnel's own address, or a prefix with it: what is sent goes out with it once the routes are in place.")
  var source: String
  @Option(help: "The gateway of the default route.") var gateway: String
  @Option(help: "The interface of the default route.") var interface: String

  func run() throws {
    guard let destination = IPAddress(to), let own = IPPrefix(source), let gateway = IPAddress(gateway) else {
      throw ValidationError("what to reach?")
    }
    let changes = try RouteChanges()
    let routing = try RouteSocket()
    let route = routing.defaultRoute(via: gateway, interface: if_nametoindex(interface))
    let begin = Clock.wall
    try routing.send(route)
    while try !(sourceAddress(towards: destination).map(own.contains) ?? false) {
      guard Clock.wall - begin < 20_000 else { throw BenchmarkError("no route to \(destination) within 20 s") }
      changes.wait(milliseconds: 20)
    }
    let routed = Clock.wall - begin
    let ping = try Ping(to: destination)
    while try !ping.answers(within: 5) {
      guard Clock.wall - begin < 20_000 else { throw BenchmarkError("no answer from \(destination) within 20 s") }
    }
    let answered = Clock.wall - begin
    print("\(routed.text(digits: 3)) \(answered.text(digits: 3))")
  }
}

/// Adds a route by rtnetlink(7).
private struct RouteSocket {
  private let descriptor: Int32

  init() throws {
    // NETLINK_ROUTE.
    descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw BenchmarkError("no socket to the kernel's routes") }
  }

  /// RTM_NEWROUTE of 0.0.0.0/0.
  func defaultRoute(via gateway: IPAddress, interface: UInt32) -> [UInt8] {
    func bytes(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
    // NLM_F_REQUEST, _ACK, _EXCL and _CREATE; then the address's and the table's family, main table, by boot, to all, unicast.
    var message = bytes(UInt32(44)) + bytes(UInt16(24)) + bytes(UInt16(0x1 | 0x4 | 0x200 | 0x400)) + bytes(UInt32(1)) + bytes(UInt32(0))
    message += [UInt8(AF_INET), 0, 0, 0, 254, 3, 0, 1] + bytes(UInt32(0))
    // RTA_GATEWAY and RTA_OIF.
    message += bytes(UInt16(8)) + bytes(UInt16(5)) + bytes(UInt32(truncatingIfNeeded: gateway.low).bigEndian)
    message += bytes(UInt16(8)) + bytes(UInt16(4)) + bytes(interface)
    return message
  }

  /// The kernel has done it, or says why not, before this returns.
  func send(_ message: [UInt8]) throws {
    var answer = [UInt8](repeating: 0, count: 4096)
    let sent = Glibc.send(descriptor, message, message.count, 0)
    // struct nlmsghdr, then the number of the error.
    guard sent == message.count, recv(descriptor, &answer, answer.count, 0) >= 20, answer[16..<20].allSatisfy({ $0 == 0 }) else {
      throw BenchmarkError("the kernel does not take the default route")
    }
  }
}

/// The kernel's word that IPv4 routes or rules have changed. Links and addresses come before them: to look at each of those too would take
/// a processor that what is measured needs.
private final class RouteChanges {
  private let descriptor: Int32
  private var buffer = [UInt8](repeating: 0, count: 65_536)

  init() throws {
    // NETLINK_ROUTE.
    descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    // struct sockaddr_nl: family, two bytes of nothing, port, then RTMGRP_IPV4_ROUTE and _IPV4_RULE.
    var address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(AF_NETLINK), 0, 0, 0x40 | 0x80)
    let result = withUnsafeBytes(of: &address) { raw in
      raw.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(raw.count)) }
    }
    guard descriptor >= 0, result == 0 else { throw BenchmarkError("the kernel's events cannot be heard") }
  }

  /// Until the next change, or until the time is over.
  func wait(milliseconds: Int32) {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    poll(&ready, 1, milliseconds)
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

/// The source address that the kernel would use; `nil`: there is no route. Nothing is sent.
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
