/// Ports of a gateway on its machine. A flow of a device that masquerade gives such a port would take the packets of the gateway's clients
/// (CVE-2021-3773, "port shadow"): connection tracking finds the flow before any socket.
package struct OwnPorts: Hashable, Sendable, ExpressibleByArrayLiteral {
  /// Sorted, each once.
  package let ports: [UInt16]

  package init(_ ports: some Sequence<UInt16>) { self.ports = Set(ports).sorted() }
  package init(arrayLiteral ports: UInt16...) { self.init(ports) }

  /// Lower ports are those of services of the machine (RFC 6335, section 6: the system's).
  private static let lowest: UInt16 = 1024
  /// A range has to be so wide that flows to one server find a port of their own.
  private static let least = 1024

  /// The ports of translated flows: the ranges between the gateway's, without the system's ports. The widest is the last one.
  package var ranges: [ClosedRange<UInt16>] {
    var (found, low): ([ClosedRange<UInt16>], UInt16?) = ([], Self.lowest)
    for port in ports where port >= Self.lowest {
      if let start = low, start < port { found.append(start...(port - 1)) }
      low = port == .max ? nil : port + 1
    }
    if let low { found.append(low ... .max) }
    let wide = found.filter { $0.count >= Self.least }
    return (wide.isEmpty ? found : wide).sorted { $0.count < $1.count }
  }

  /// As an anonymous set of nft(8).
  var set: String { "{ \(ports.map(\.description).joined(separator: ", ")) }" }

  /// The statements that translate a flow. A port in one of the ranges is kept where it is free.
  var translation: [String] {
    let ranges = ranges
    func text(_ range: ClosedRange<UInt16>) -> String { "\(range.lowerBound)-\(range.upperBound)" }
    let others = ranges.dropLast().flatMap { range in
      ["tcp", "udp"].map { "\($0) sport \(text(range)) masquerade to :\(text(range))" }
    }
    return others + (ranges.last.map { ["meta l4proto { tcp, udp } masquerade to :\(text($0))"] } ?? []) + ["masquerade"]
  }
}
