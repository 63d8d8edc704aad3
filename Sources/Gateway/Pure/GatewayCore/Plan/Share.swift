internal import NetworkTypes

/// A device's share of the datagrams at the gateway's port inside the tunnel: the kernel counts for each address of a device, so that no
/// device uses up what others need.
enum Share: String, CaseIterable {
  case greetings, questions

  /// The time for which the kernel remembers an address after its last datagram.
  static let memory = "10s"

  func set(_ family: IPAddress.Family) -> String { "\(rawValue)_\(family == .v4 ? "v4" : "v6")" }

  /// The datagrams that it is about.
  var match: String {
    switch self {
    case .greetings: "udp sport \(GatewayTable.questions.port) udp length 8"
    case .questions: "udp length { \(GatewayTable.questions.lengths) }"
    }
  }

  /// The limit of one address. A device greets once a session, and may ask ten questions at once (`QuestionBudget`).
  func limit(of family: IPAddress.Family) -> String {
    let rate =
      switch self {
      case .greetings: "rate 2/second burst 10 packets"
      case .questions: "rate 2/second burst 20 packets"
      }
    return "update @\(set(family)) { \(family == .v4 ? "ip" : "ip6") saddr limit \(rate) }"
  }

  /// The limit of all of them together.
  var total: String { "limit rate 1000/second burst 1000 packets" }
}

extension GatewayTable {
  /// A listing of nft(8) without what packets change: the elements of sets with the flag `dynamic`.
  package static func lasting(_ listing: String) -> String {
    var (isDynamic, isInside) = (false, false)
    let lines = listing.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
      let text = line.drop { $0 == " " || $0 == "\t" }
      if text.hasPrefix("set ") || text.hasPrefix("map ") || text.hasPrefix("chain ") { isDynamic = false }
      if text.hasPrefix("flags "), text.contains("dynamic") { isDynamic = true }
      if isDynamic, text.hasPrefix("elements = {") { isInside = true }
      guard isInside else { return true }
      isInside = !text.hasSuffix("}")
      return false
    }
    return lines.joined(separator: "\n")
  }
}
