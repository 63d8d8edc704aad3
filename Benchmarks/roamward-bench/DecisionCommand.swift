import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import NetworkTypes

/// The time from the kernel's message that a link has its carrier back to the agent's decision.
struct DecisionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "decision",
    abstract: "Measure from the carrier to the decision.",
    discussion: """
      The link keeps its address and its default route without a carrier. The clock starts when the kernel announces the carrier to this
      program, as it does to the agent, and stops when the agent's decision arrives here by its socket. The other figure starts before the
      command that brings the carrier back: no announcement can be earlier.
      """)

  @Option(help: "The agent's socket.") var socket: String
  @Option(help: "The link.") var link: String
  @Option(help: "A command of the shell that takes the carrier away.") var away: String
  @Option(help: "A command of the shell that brings it back.") var back: String
  @Option(help: "How often.") var rounds = 41

  func run() throws {
    let agent = try ControlClient(path: socket)
    _ = try agent.ask(.monitor(snapshots: false))
    let links = try CarrierEvents(of: link)
    var series = Series()
    var whole = Series()
    // The first turn is for warming up. In between the agent may spend its looks of a second on what follows a carrier (`Pace`).
    for round in 0...rounds {
      try Program(["sh", "-c", away]).run()
      try decision(of: agent, within: 3000) { $0 == "ignore" }
      usleep(700_000)
      links.forget()
      let start = Clock.wall
      let command = try Program(["sh", "-c", back]).start()
      try links.waitForCarrier(milliseconds: 3000)
      let announced = Clock.wall
      try decision(of: agent, within: 3000) { $0 != "ignore" }
      let decided = Clock.wall
      waitpid(command, nil, 0)
      if round > 0 {
        series.values.append(decided - announced)
        whole.values.append(decided - start)
      }
      usleep(700_000)
    }
    let remark = "p95 \(series.p95) ms; from before `ip` is started \(whole.median.text(digits: 1)) ms, p95 \(whole.p95) ms"
    print(
      Row(
        what: "carrier up with an address to the decision, without settling", ours: series.summary, peer: "5 ms (target)",
        ratio: series.median / 5, bar: "1.00", remark: remark))
  }

  private func decision(of agent: ControlClient, within milliseconds: Double, _ isMeant: (String) -> Bool) throws {
    let end = Clock.wall + milliseconds
    while true {
      if !agent.hasLine {
        var ready = pollfd(fd: agent.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, max(0, Int32((end - Clock.wall).rounded(.up)))) > 0 else { throw BenchmarkError("the agent does not decide") }
      }
      guard let event = try agent.next() else { throw BenchmarkError("the agent has gone") }
      if let decided = event.happening as? DecisionEvent, isMeant(decided.decision) { return }
    }
  }
}

extension Series {
  fileprivate var p95: String {
    let sorted = values.sorted()
    return sorted.isEmpty ? "?" : sorted[sorted.count * 95 / 100].text(digits: 1)
  }
}

/// The kernel's word on one link's carrier.
private struct CarrierEvents {
  private let descriptor: Int32
  private let index: UInt32

  init(of link: String) throws {
    index = if_nametoindex(link)
    // NETLINK_ROUTE, and RTMGRP_LINK.
    descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(AF_NETLINK), 0, 0, 1)
    let result = withUnsafeBytes(of: &address) { raw in
      raw.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(raw.count)) }
    }
    guard index > 0, descriptor >= 0, result == 0 else { throw BenchmarkError("\(link) cannot be watched") }
  }

  func forget() {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while recv(descriptor, &buffer, buffer.count, Int32(truncatingIfNeeded: MSG_DONTWAIT)) > 0 {}
  }

  /// Until an announcement of the link that has `IFF_LOWER_UP`.
  func waitForCarrier(milliseconds: Double) throws {
    let end = Clock.wall + milliseconds
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, max(0, Int32((end - Clock.wall).rounded(.up)))) > 0 else { throw BenchmarkError("no carrier") }
      let count = recv(descriptor, &buffer, buffer.count, 0)
      // struct ifinfomsg behind 16 bytes of header: the index at 4, the flags at 8.
      guard count >= 32 else { continue }
      let (found, flags) = buffer.withUnsafeBytes { raw in
        (raw.loadUnaligned(fromByteOffset: 20, as: UInt32.self), raw.loadUnaligned(fromByteOffset: 24, as: UInt32.self))
      }
      if found == index, flags & 0x10000 != 0 { return }
    }
  }
}
