internal import JSON
internal import NetworkTypes
package import RoamwardCore

/// A tunnel's rules in one of Apple's formats.
package struct ProfileExport: Equatable, Sendable {
  /// The problems of the export. Rules with losses are left out of `text`.
  package var problems: [ExportProblem]
  package var text: String

  package var isWhole: Bool { !problems.contains(where: \.isLoss) }
}

package enum AppleForm: Equatable, Sendable {
  /// A configuration profile, as XML.
  case mobileconfig
  /// A declaration of OS 27, as JSON.
  case declaration
}

/// Exports the rules of a tunnel. The connection settings, including keys, are not part of it and have to be added by hand.
package func exportProfile(_ tunnel: TunnelPolicy, networks: [NamedNetwork], form: AppleForm) -> ProfileExport {
  var (rules, problems) = exportRules(of: tunnel, networks: networks)
  func add(_ message: String, isLoss: Bool) {
    problems.append(ExportProblem(rule: nil, name: nil, location: tunnel.location, message: message, isLoss: isLoss))
  }
  let timing = tunnel.onDemand.timing
  var seconds: Int64?
  if let idle = timing.idle {
    let (whole, rest) = idle.components
    if rest == 0, whole > 0 { seconds = whole } else { add("`idle` is counted in whole seconds", isLoss: true) }
  }
  var other = timing
  other.idle = nil
  if other != Timing() {
    add("settle, release-delay, minimum-dwell and decide-within are left out: they are the system's own affair there", isLoss: false)
  }
  if !tunnel.isEnabled { add("the tunnel is off (`enabled: false`); the export does not say so", isLoss: false) }
  let builder = ProfileBuilder(name: tunnel.name, isEnabled: tunnel.onDemand.isEnabled, rules: rules, idle: seconds)
  switch form {
  case .mobileconfig: return ProfileExport(problems: problems, text: xmlText(builder.profile))
  case .declaration: return ProfileExport(problems: problems, text: json(builder.declaration).text(indented: true) + "\n")
  }
}

private struct ProfileBuilder {
  let name: String
  let isEnabled: Bool
  let rules: Property
  let idle: Int64?

  var profile: Property {
    var vpn = [
      Property.Entry("OnDemandEnabled", Property(.integer(isEnabled ? 1 : 0))), Property.Entry("OnDemandRules", rules),
    ]
    if let idle {
      vpn += [
        Property.Entry("DisconnectOnIdle", Property(.integer(1))), Property.Entry("DisconnectOnIdleTimer", Property(.integer(idle))),
      ]
    }
    let payload: [Property.Entry] = [
      Property.Entry("PayloadType", .text("com.apple.vpn.managed")), Property.Entry("PayloadVersion", Property(.integer(1))),
      Property.Entry("PayloadIdentifier", .text("roamward.\(name).vpn")), Property.Entry("PayloadUUID", .text(uuid("\(name).vpn"))),
      Property.Entry("UserDefinedName", .text(name)), Property.Entry("VPNType", .text("VPN")),
      Property.Entry("VPN", Property(.dictionary(vpn))),
    ]
    return Property(
      .dictionary([
        Property.Entry("PayloadType", .text("Configuration")), Property.Entry("PayloadVersion", Property(.integer(1))),
        Property.Entry("PayloadIdentifier", .text("roamward.\(name)")), Property.Entry("PayloadUUID", .text(uuid(name))),
        Property.Entry("PayloadDisplayName", .text(name)),
        Property.Entry("PayloadContent", Property(.array([Property(.dictionary(payload))]))),
      ]))
  }

  var declaration: Property {
    let demand = [Property.Entry("Enabled", Property(.boolean(isEnabled))), Property.Entry("Rules", rules)]
    var payload = [Property.Entry("DisplayName", .text(name)), Property.Entry("OnDemand", Property(.dictionary(demand)))]
    if let idle {
      payload.append(
        Property.Entry(
          "Idle",
          Property(
            .dictionary([Property.Entry("Disconnect", Property(.boolean(true))), Property.Entry("Timer", Property(.integer(idle)))]))))
    }
    return Property(
      .dictionary([
        Property.Entry("Type", .text("com.apple.configuration.network.vpn.vpn-plugin")),
        Property.Entry("Identifier", .text("roamward.\(name)")), Property.Entry("Payload", Property(.dictionary(payload))),
      ]))
  }
}

/// A UUID that depends only on the name, so that an export changes only when the policy does: FNV-1a, twice, in the form of RFC 9562
/// version 8.
private func uuid(_ name: String) -> String {
  let high = FNV1a(name).value & ~0xf000 | 0x8000
  let low = FNV1a(name, variant: 0x9e37_79b9_7f4a_7c15).value & ~(3 << 62) | 2 << 62
  func digits(_ value: UInt64) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: 16 - text.utf8.count) + text
  }
  let all = Array(digits(high) + digits(low))
  return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }.joined(separator: "-")
}

private func json(_ property: Property) -> JSON {
  switch property.content {
  case .string(let text), .date(let text): .string(text)
  case .integer(let number): .integer(number)
  case .boolean(let flag): .bool(flag)
  case .real(let number): .real(number)
  case .data: .null
  case .array(let items): .array(items.map(json))
  case .dictionary(let entries): .object(entries.map { JSON.Member(key: $0.key, value: json($0.value)) })
  }
}
