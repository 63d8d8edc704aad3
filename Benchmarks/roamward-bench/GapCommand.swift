import ArgumentParser
import Glibc
import NetworkTypes

/// For how long an address does not answer while a command changes the way to it.
struct GapCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gap",
    abstract: "Measure for how long a command interrupts what flows.",
    discussion: """
      Sends an echo request every millisecond, and prints the longest time between two that were answered, in milliseconds. Ends when the command has
      ended and all has been answered for half a second.
      """)

  @Option(help: "The address on the other side, which answers before and after.") var to: String
  @Argument(parsing: .postTerminator, help: "The command, after --.") var command: [String]

  func run() throws {
    guard let destination = IPAddress(to), !command.isEmpty else { throw ValidationError("what is to be reached?") }
    let stream = try EchoStream(to: destination)
    try stream.run(for: 200)
    let process = try Program(command).start()
    var status: Int32 = 0
    let limit = Clock.wall + 20_000
    while waitpid(process, &status, WNOHANG) == 0 {
      try stream.run(for: 5)
      guard Clock.wall < limit else { throw BenchmarkError("the command does not end") }
    }
    guard status == 0 else { throw BenchmarkError("failed: \(command.joined(separator: " "))") }
    repeat {
      try stream.run(for: 20)
      guard Clock.wall < limit else { throw BenchmarkError("no answer from \(destination) within 20 s") }
    } while stream.answeredSince < 500
    print(stream.longestGap.text(digits: 3))
  }
}

/// Echo requests without a source address of their own: each goes the way that there is, from the address that belongs to it.
private final class EchoStream {
  private let descriptor: Int32
  private var destination = sockaddr_in()
  /// When each was sent, by its number, and whether it was answered.
  private var sent: [(at: Double, isAnswered: Bool)] = []

  init(to address: IPAddress) throws {
    descriptor = socket(AF_INET, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), Int32(IPPROTO_ICMP))
    guard descriptor >= 0 else { throw BenchmarkError("no socket for ping") }
    destination.sin_family = sa_family_t(AF_INET)
    destination.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
  }

  deinit { close(descriptor) }

  func run(for milliseconds: Double) throws {
    let end = Clock.wall + milliseconds
    while Clock.wall < end {
      guard sent.count < 65_536 else { throw BenchmarkError("too many requests for their numbers") }
      let request = echoRequest(UInt16(sent.count))
      sent.append((Clock.wall, false))
      withUnsafeBytes(of: &destination) { raw in
        raw.withMemoryRebound(to: sockaddr.self) { _ = sendto(descriptor, request, request.count, 0, $0.baseAddress, socklen_t(raw.count)) }
      }
      receive(until: Clock.wall + 1)
    }
  }

  private func receive(until end: Double) {
    var packet = [UInt8](repeating: 0, count: 256)
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      let rest = end - Clock.wall
      if poll(&ready, 1, 0) > 0 {
        let count = recv(descriptor, &packet, packet.count, 0)
        if let number = echoReply(in: packet, count: count), Int(number) < sent.count { sent[Int(number)].isAnswered = true }
      } else if rest > 0 {
        usleep(UInt32(rest * 500) + 10)
      } else {
        return
      }
    }
  }

  /// For how long all that was sent has been answered, but for the last few milliseconds, which are on their way.
  var answeredSince: Double {
    let now = Clock.wall
    let settled = sent.last { now - $0.at > 20 && !$0.isAnswered }
    return now - (settled?.at ?? sent.first?.at ?? now)
  }

  /// Between the sending of an answered one and that of the next answered one, less the pause that there is always.
  var longestGap: Double {
    var longest = 0.0
    var last: Double?
    for request in sent where request.isAnswered {
      if let last { longest = max(longest, request.at - last) }
      last = request.at
    }
    return longest
  }
}
