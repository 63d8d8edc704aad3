import AgentCore
internal import ControlProtocol
internal import JSON
internal import NetworkTypes
internal import RoamwardCore

/// Manual overrides as a note, by tunnel: they outlive a restart of the agent.
enum OverrideNote {
  /// The readable overrides of the note.
  static func overrides(in note: JSON) -> [String: ManualOverride] {
    let overrides = (note.members ?? []).compactMap { member in
      (try? member.value.decoded(as: StoredOverride.self)).map { (member.key, $0.override) }
    }
    return Dictionary(overrides) { first, _ in first }
  }

  static func note(of overrides: [String: ManualOverride]) -> JSON { JSON(encoding: overrides.mapValues { StoredOverride($0) }) }
}

/// A time in a note. Earlier versions wrote whole seconds since 1970.
struct NotedTime: Codable {
  let time: Timestamp

  init(_ time: Timestamp) { self.time = time }

  init(seconds: Int64) { time = Timestamp(seconds: seconds) }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let seconds = try? container.decode(Int64.self) {
      time = Timestamp(seconds: seconds)
    } else {
      time = try container.decode(Timestamp.self)
    }
  }

  func encode(to encoder: any Encoder) throws { try time.encode(to: encoder) }
}

private struct StoredOverride: Codable {
  var wantsUp: Bool
  var since: NotedTime
  var end: NotedEnd
  var reason: String?
  /// `nil`: none.
  var options: JSON?

  enum CodingKeys: String, CodingKey {
    case wantsUp = "up"
    case since
    case end = "until"
    case reason, options
  }

  init(_ override: ManualOverride) {
    wantsUp = override.wantsUp
    since = NotedTime(override.since)
    end = NotedEnd(lifetime: override.lifetime)
    reason = override.reason
    options = override.options == [:] ? nil : override.options
  }

  var override: ManualOverride {
    ManualOverride(wantsUp: wantsUp, since: since.time, lifetime: end.lifetime, reason: reason, options: options ?? [:])
  }
}

/// `"resume"`, `{"time": …}` or `{"network": …}`.
private struct NotedEnd: Codable {
  let lifetime: ManualOverride.Lifetime

  init(lifetime: ManualOverride.Lifetime) { self.lifetime = lifetime }

  private enum CodingKeys: String, CodingKey {
    case time, network
  }

  init(from decoder: any Decoder) throws {
    if (try? decoder.singleValueContainer().decode(String.self)) == "resume" {
      lifetime = .resume
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let network = try container.decodeIfPresent(NotedNetwork.self, forKey: .network) {
      lifetime = .network(network.identity)
    } else {
      lifetime = .time(try container.decode(NotedTime.self, forKey: .time).time)
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch lifetime {
    case .resume:
      var container = encoder.singleValueContainer()
      try container.encode("resume")
    case .time(let end):
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(NotedTime(end), forKey: .time)
    case .network(let identity):
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(NotedNetwork(identity), forKey: .network)
    }
  }
}

private struct NotedNetwork: Codable {
  var link: String?
  var type: String?
  var ssid: String?
  /// Hardware addresses by address; `nil`: not known.
  var gateways: [String: String?]

  enum CodingKeys: String, CodingKey {
    case link, type, ssid, gateways
  }

  /// Keys of version 0.1: a list of gateways, and the hardware address of the first one beside it.
  private enum OldKeys: String, CodingKey {
    case gatewayMAC = "gateway-mac"
  }

  init(_ identity: NetworkIdentity) {
    link = identity.link
    type = identity.type?.rawValue
    ssid = identity.ssid?.description
    gateways = Dictionary(identity.gateways.map { ($0.key.description, $0.value?.description) }) { first, _ in first }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    link = try container.decodeIfPresent(String.self, forKey: .link)
    type = try container.decodeIfPresent(String.self, forKey: .type)
    ssid = try container.decodeIfPresent(String.self, forKey: .ssid)
    if let list = try? container.decode([String].self, forKey: .gateways) {
      let first = try decoder.container(keyedBy: OldKeys.self).decodeIfPresent(String.self, forKey: .gatewayMAC)
      gateways = Dictionary(list.map { ($0, $0 == list.first ? first : nil) }) { first, _ in first }
    } else {
      gateways = try container.decodeIfPresent([String: String?].self, forKey: .gateways) ?? [:]
    }
  }

  var identity: NetworkIdentity {
    let gateways = gateways.compactMap { address, hardware -> (IPAddress, MACAddress?)? in
      IPAddress(address).map { ($0, hardware.flatMap { MACAddress($0) }) }
    }
    return NetworkIdentity(
      link: link, type: type.flatMap(InterfaceType.init), ssid: ssid.flatMap(SSID.init),
      gateways: Dictionary(gateways) { first, _ in first })
  }
}
