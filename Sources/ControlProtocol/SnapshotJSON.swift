internal import NetworkTypes
package import RoamwardCore

extension NetworkSnapshot {
  /// The snapshot file's form: what `roamward network --json` prints and `evaluate --network` reads.
  package var json: JSON {
    ["version": 1, "primary": JSON(primary), "links": .object(links.map { JSON.Member(key: $0.name, value: $0.json) })]
  }
}

extension LinkFacts {
  /// Keys whose value is not known are listed under `unknown`; an absent key is known to be absent.
  fileprivate var json: JSON {
    var members: [JSON.Member] = []
    var unknown: [String] = []
    func add<Value>(_ key: String, _ fact: Fact<Value>, _ encode: (Value) -> JSON?) {
      guard case .known(let value) = fact else { return unknown.append(key) }
      if let json = encode(value) { members.append(JSON.Member(key: key, value: json)) }
    }
    func list(_ items: [some CustomStringConvertible]) -> JSON? { items.isEmpty ? nil : JSON(items.map(\.description)) }
    add("type", type) { .string($0.rawValue) }
    add("ssid", ssid) { $0.map { .string($0.description) } }
    add("addresses", .known(addresses), list)
    add("gateways", .known(gateways), list)
    add("gateway-mac", gatewayMAC) { $0.map { .string($0.description) } }
    add("dns-servers", dnsServers, list)
    add("search-domains", searchDomains, list)
    add("mtu", .known(mtu)) { .integer(Int64($0)) }
    if !unknown.isEmpty { members.append(JSON.Member(key: "unknown", value: JSON(unknown))) }
    return .object(members)
  }
}
