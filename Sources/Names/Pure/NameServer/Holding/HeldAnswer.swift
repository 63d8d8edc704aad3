internal import NetworkTypes

/// An answer that waits until the agent has routed its addresses, with the clients that get it.
struct HeldAnswer: Sendable {
  let questions: [Question]
  /// The prepared answer.
  let bytes: [UInt8]
  /// Seconds to subtract from its times to live.
  var age: UInt32 = 0

  /// The addresses that programs may read from it, whatever its code, and the time in seconds for which it may be kept; `nil`: it has none.
  var addresses: (addresses: [IPAddress], ttl: UInt32)? {
    guard let outline = AnswerOutline(bytes.span), !outline.isTruncated else { return nil }
    let addresses = AnswerAddressList.addresses(bytes.span, outline)
    return addresses.isEmpty ? nil : (addresses, outline.leastTTL - min(age, outline.leastTTL))
  }

  func give(_ out: inout Outbox) {
    for question in questions {
      out.reply(to: question.client) {
        Responses.append(
          bytes.span, to: &$0, id: question.id, flags: question.flags, question: question.wire.span, 0..<question.wire.count,
          edns: question.edns, limit: question.limit, age: age)
      }
    }
  }
}

extension Question {
  /// Gives its client a response without records.
  func give(_ code: UInt16, _ out: inout Outbox, _ reason: ExtendedError? = nil, _ text: String = "") {
    out.reply(to: client) {
      Responses.append(
        to: &$0, id: id, flags: flags, code: code, question: wire.span, 0..<wire.count, edns: edns, reason: reason, text: text)
    }
  }
}

/// Finds addresses that a routed name shares with another one: the packets of both take the same way.
struct SharedAddresses: Sendable {
  /// Addresses that are remembered, of each kind.
  static let most = 2048

  /// The last name that had the address.
  private var routed: [IPAddress: String] = [:]
  private var others: [IPAddress: String] = [:]
  private var known: Set<IPAddress> = []

  struct Find: Equatable {
    let address: IPAddress
    let routed: String
    let other: String
  }

  /// Takes the addresses of an answer. Returns those that are shared, each once.
  mutating func take(_ addresses: [IPAddress], of name: String, isRouted: Bool) -> [Find] {
    if routed.count >= Self.most || others.count >= Self.most { self = SharedAddresses() }
    return addresses.compactMap { address in
      if isRouted { routed[address] = name } else { others[address] = name }
      guard let routed = routed[address], let other = others[address], known.insert(address).inserted else { return nil }
      return Find(address: address, routed: routed, other: other)
    }
  }
}
