package import NetworkTypes

/// A packet from a device, as an administrator asks about it.
package struct AccessQuestion: Hashable, Sendable {
  package var user: Int64
  package var destination: IPAddress
  package var transport: Transport
  package var port: UInt16?

  package init(user: Int64, destination: IPAddress, transport: Transport, port: UInt16? = nil) {
    self.user = user
    self.destination = destination
    self.transport = transport
    self.port = port
  }
}

/// The decision of the rules on a packet, with the rules that were evaluated.
package struct AccessDecision: Hashable, Sendable {
  /// The reason why a rule does not match a packet.
  package enum Mismatch: String, Hashable, Sendable {
    /// The rule is for other users.
    case source = "for other users"
    /// The rule is for other destinations.
    case destination = "for other destinations"
    /// The rule is for another protocol.
    case transport = "for another protocol"
    /// The rule is for other ports.
    case port = "for other ports"
  }

  /// The rules before the deciding one.
  package var passed: [(rule: AccessRule, reason: Mismatch)] { zip(rules, mismatches).map { ($0, $1) } }
  /// The deciding rule; `nil`: no rule matches, and the packet is denied.
  package let rule: AccessRule?
  private let rules: [AccessRule]
  private let mismatches: [Mismatch]

  package var isAllowed: Bool { rule?.isAllowing ?? false }

  package init(_ question: AccessQuestion, in directory: Directory) {
    var rules: [AccessRule] = []
    var mismatches: [Mismatch] = []
    for rule in directory.sortedRules {
      guard let mismatch = rule.mismatch(question, in: directory) else {
        self.rule = rule
        (self.rules, self.mismatches) = (rules, mismatches)
        return
      }
      rules.append(rule)
      mismatches.append(mismatch)
    }
    rule = nil
    (self.rules, self.mismatches) = (rules, mismatches)
  }
}

extension AccessRule {
  /// `nil`: the rule matches.
  func mismatch(_ question: AccessQuestion, in directory: Directory) -> AccessDecision.Mismatch? {
    if !concerns(user: question.user, in: directory) { return .source }
    switch destination {
    case .everything: break
    case .prefixes(let prefixes): if !prefixes.contains(where: { $0.contains(question.destination) }) { return .destination }
    case .devices(let group):
      guard let device = directory.lease(of: question.destination)?.device.flatMap({ directory.devices[$0] }),
        directory.isMember(device.user, of: group)
      else { return .destination }
    }
    if transport != .any, transport != question.transport { return .transport }
    if !ports.isEmpty {
      guard let port = question.port, ports.contains(where: { $0.contains(port) }) else { return .port }
    }
    return nil
  }

  func concerns(user: Int64, in directory: Directory) -> Bool {
    switch source {
    case .everybody: true
    case .user(let id): id == user
    case .group(let id): directory.isMember(user, of: id)
    }
  }
}
