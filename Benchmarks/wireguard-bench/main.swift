import Glibc
import NetworkTypes
import WireGuardDataPath
import WireGuardEngine

// Figures of the engine alone, without a network, on one processor: NAME, value and unit, separated by tabs. `wireguard-bench handshakes`
// prints handshakes and memory alone; `wireguard-bench gateway`, what 10,000 peers cost beside ten; `wireguard-bench processors`, what
// sending threads share.
private func text(_ value: Double, digits: Int) -> String {
  let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
  let whole = Int((value * scale).rounded())
  guard digits > 0 else { return "\(whole)" }
  let fraction = String(whole % Int(scale))
  return "\(whole / Int(scale)).\(String(repeating: "0", count: digits - fraction.count))\(fraction)"
}

private func tellGateway() throws {
  print("cipher\t\(LoadedCiphers().choose().description)")
  // Fewer than these take no measurable memory.
  let (few, many) = (try bytesOfPeer(of: 1000), try bytesOfPeer(of: 10_000))
  print("memory of a silent peer, of 10,000 and of 1,000\t\(many) bytes\t\(few) bytes\t\(text(Double(many) / Double(few), digits: 2))")
  for (name, many, few) in try gateway(rounds: 7) {
    print("\(name)\t\(text(many, digits: 0)) ns\t\(text(few, digits: 0)) ns\t\(text(many / few, digits: 2))")
  }
}

/// Measures a superpacket, and as many small packets as the data path prepares in one entry of the section.
private func tellProcessors() throws {
  print("cipher\t\(LoadedCiphers().choose().description)")
  let threads = max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
  for (name, packets, segments, length) in [
    ("a superpacket of 45 segments of 1,420 bytes", 1, 45, 1420), ("32 packets of 100 bytes", 32, 1, 100),
  ] {
    let cost = try SharedCost(packets: packets, segments: segments, length: length, threads: threads)
    print(
      "\(name)\t\(text(cost.whole, digits: 0)) ns\tshared \(text(cost.shared, digits: 0)) ns\t"
        + "\(threads) threads seal \(text(cost.gain, digits: 2)) times as much as one")
  }
}

private func run() throws {
  if CommandLine.arguments.dropFirst().first == "processors" { return try tellProcessors() }
  if CommandLine.arguments.dropFirst().first == "gateway" { return try tellGateway() }
  // First, while nothing else has taken memory.
  let peer = try bytesOfPeer(of: 10_000)
  let (rate, allocations) = try handshakes(rounds: 7)
  print("handshakes\t\(text(rate, digits: 0))\ta second, answered")
  print("handshake allocations\t\(text(allocations, digits: 1))\tfor each")
  print("peer\t\(peer)\tbytes of memory, idle, of 10,000")
  if CommandLine.arguments.dropFirst().first == "handshakes" { return }
  for length in [100, 1420] {
    var series: (seal: [PacketCost], send: [PacketCost], receive: [PacketCost]) = ([], [], [])
    let pair = try Pair(length: length)
    for _ in 0..<7 {
      let (send, receive) = try pair.cost(20_000)
      series.send.append(send)
      series.receive.append(receive)
      series.seal.append(try sealing(length: length, count: 64_000))
    }
    for (name, costs) in [("seal in place", series.seal), ("Device.send", series.send), ("Device.receive", series.receive)] {
      let cost = costs.sorted { $0.nanoseconds < $1.nanoseconds }[costs.count / 2]
      print(
        "\(name), \(length) bytes\t\(text(cost.nanoseconds, digits: 0))\tns (\(text(cost.gigabits(length), digits: 2)) Gbit/s), "
          + "\(text(cost.allocations, digits: 2)) allocations")
    }
  }
}

do {
  try run()
} catch {
  let line = Array("wireguard-bench: \(error)\n".utf8)
  _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
  exit(1)
}
