package import NetworkTypes

/// The pins that DNS has for a gateway, as far as they count: validated by DNSSEC, by a name server whose word counts.
package enum SignedPins: Hashable, Sendable {
  /// There are none; a line for the person, if there is something to know.
  case none(note: String?)
  /// The gateway has one of these.
  case validated([GatewayPin], name: DomainName)

  /// - Parameters:
  ///   - name: that of the record.
  ///   - address: the name server that was asked.
  ///   - isTrusted: whether its word on DNSSEC counts (`AskedNameServers`).
  package init(_ reading: RecordReading, of name: DomainName, from address: IPAddress, isTrusted: Bool) {
    switch reading {
    case .answer(pins: [], others: 0, isAuthenticated: _): self = .none(note: nil)
    case .answer where !isTrusted:
      self = .none(note: "DNS has the TLSA record \(name), which does not count: \(AskedNameServers.doubt(about: address))")
    case .answer(_, _, isAuthenticated: false):
      self = .none(
        note: "DNS has the TLSA record \(name), which does not count: it is not signed, or the name server \(address) does not validate")
    case .answer(pins: [], _, _): self = .none(note: "the TLSA record \(name) does not count: it is not of the kind 3 1 1")
    case .answer(let pins, _, _): self = .validated(pins, name: name)
    // Nothing that it could have said would count.
    case .failed where !isTrusted: self = .none(note: nil)
    case .failed(let reason): self = .none(note: "whether DNS has the TLSA record \(name) is not known: \(reason)")
    }
  }

  /// The consequence for a pin that a gateway shows, and that no person has given or confirmed.
  package enum Judgement: Hashable, Sendable {
    /// DNS confirms it.
    case confirmed
    /// A person has to confirm it; a line for the person.
    case open(note: String?)
    /// DNS contradicts it; the reason and the cure.
    case refused(String)
  }

  package func judgement(of pin: GatewayPin, of server: Endpoint) -> Judgement {
    switch self {
    case .none(let note): .open(note: note)
    case .validated(let pins, _) where pins.contains(pin): .confirmed
    case .validated(let pins, let name):
      .refused(
        """
        \(server) shows the pin
          \(pin)
        and the signed TLSA record \(name) in DNS has
          \(pins.map(\.description).joined(separator: "\n  "))
        so this may be another server; nothing was changed
          help: if the gateway has a new key, its administrator publishes the record that `roamward-gateway login show --tlsa` prints; \
        until then, --pin PIN with the pin that the administrator gave you
        """)
    }
  }

  /// A line about a pin that a person has given, or that a policy has: it counts, whatever DNS has. `nil`: DNS does not contradict it.
  package func note(on pin: GatewayPin, of server: Endpoint, isGiven: Bool) -> String? {
    guard case .validated(let pins, let name) = self, !pins.contains(pin), let first = pins.first else { return nil }
    return isGiven
      ? "the pin that you gave counts, though the signed TLSA record \(name) in DNS has another one: \(first)"
      : "the pin of the policy stays, though the signed TLSA record \(name) in DNS has another one; if the gateway has a new key:"
        + " `roamward login \(server) --pin \(first)`"
  }
}
