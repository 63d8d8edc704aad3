import AgentCore
internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

/// Holds as a note: a person's word outlives a restart of the agent.
enum HoldNote {
  /// Those that can be read.
  static func holds(in note: JSON) -> [String: Hold] {
    guard case .object(let members) = note else { return [:] }
    return Dictionary(members.compactMap { member in Hold(member.value).map { (member.key, $0) } }) { first, _ in first }
  }

  static func note(of holds: [String: Hold]) -> JSON {
    .object(holds.sorted { $0.key < $1.key }.map { JSON.Member(key: $0.key, value: $0.value.json) })
  }
}

extension Hold {
  fileprivate var json: JSON {
    let end: JSON =
      switch lifetime {
      case .network(let identity): ["network": identity.json]
      case .time(let seconds): ["time": .integer(seconds)]
      case .resume: "resume"
      }
    return ["up": .bool(wantsUp), "since": .integer(since), "until": end, "reason": JSON(reason)]
  }

  fileprivate init?(_ json: JSON) {
    guard let wantsUp = json["up"]?.bool, let since = json["since"]?.integer, let until = json["until"] else { return nil }
    let lifetime: Lifetime
    if let network = until["network"] {
      lifetime = .network(NetworkIdentity(network))
    } else if let time = until["time"]?.integer {
      lifetime = .time(time)
    } else if until.string == "resume" {
      lifetime = .resume
    } else {
      return nil
    }
    self.init(wantsUp: wantsUp, since: since, lifetime: lifetime, reason: json["reason"]?.string)
  }
}

extension NetworkIdentity {
  fileprivate var json: JSON {
    [
      "link": JSON(link), "type": JSON(type?.rawValue), "ssid": JSON(ssid?.description),
      "gateways": .object(gateways.sorted { $0.key < $1.key }.map { .init(key: $0.key.description, value: JSON($0.value?.description)) }),
    ]
  }

  /// Also the form of version 0.1: a list of gateways, and the first one's hardware address beside it.
  fileprivate init(_ json: JSON) {
    func text(_ key: String) -> String? { json[key]?.string }
    var gateways: [IPAddress: MACAddress?] = [:]
    if case .object(let members)? = json["gateways"] {
      for member in members {
        if let address = IPAddress(member.key) { gateways[address] = .some(member.value.string.flatMap { MACAddress($0) }) }
      }
    } else {
      let list = (json["gateways"]?.array ?? []).compactMap { $0.string.flatMap { IPAddress($0) } }
      for address in list { gateways[address] = .some(address == list.first ? text("gateway-mac").flatMap { MACAddress($0) } : nil) }
    }
    self.init(
      link: text("link"), type: text("type").flatMap(InterfaceType.init), ssid: text("ssid").flatMap(SSID.init), gateways: gateways)
  }
}
