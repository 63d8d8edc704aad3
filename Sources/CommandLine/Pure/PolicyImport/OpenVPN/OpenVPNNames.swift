import NetworkTypes
import RoamwardCore

/// The name servers in a client's file: `dhcp-option`, which only OpenVPN's own scripts use, and `dns` of OpenVPN 2.6. Here they become
/// part of the policy, and the agent sets them on the link.
struct OpenVPNNames {
  private var servers: [IPAddress] = []
  private var search: [DomainName] = []
  private var match: [DomainPattern] = []

  /// The result for a line, for the report; `nil`: it contains no usable names.
  mutating func take(_ words: [String]) -> String? {
    switch words.first?.lowercased() {
    case "dhcp-option" where words.count >= 3: option(words[1].uppercased(), words[2])
    case "dns" where words.count >= 3 && words[1] == "search-domains":
      add(words.dropFirst(2), to: \.search, "search-domains") { DomainName($0) }
    case "dns" where words.count >= 5 && words[1] == "server" && words[3] == "address":
      add(words.dropFirst(4), to: \.servers, "servers") { IPAddress($0) }
    case "dns" where words.count >= 5 && words[1] == "server" && words[3] == "resolve-domains":
      add(words.dropFirst(4), to: \.match, "match-domains") { DomainPattern($0) }
    default: nil
    }
  }

  private mutating func option(_ name: String, _ value: String) -> String? {
    switch name {
    case "DNS", "DNS6": add([value], to: \.servers, "servers") { IPAddress($0) }
    case "DOMAIN", "DOMAIN-SEARCH", "ADAPTER_DOMAIN_SUFFIX": add([value], to: \.search, "search-domains") { DomainName($0) }
    case "DOMAIN-ROUTE": add([value], to: \.match, "match-domains") { $0 == "." ? .any : DomainPattern($0) }
    default: nil
    }
  }

  private mutating func add<Value>(
    _ texts: some Sequence<String>, to list: WritableKeyPath<Self, [Value]>, _ key: String, _ make: (String) -> Value?
  ) -> String? {
    let values = texts.compactMap(make)
    self[keyPath: list] += values
    return values.isEmpty ? nil : "dns \(key) of the policy"
  }

  /// `nil` without a server.
  var policy: DNSPolicy? {
    guard !servers.isEmpty else { return nil }
    return DNSPolicy(
      servers: servers.uniqued(), searchDomains: search.uniqued(), matchDomains: match.contains(.any) ? [] : match.uniqued())
  }
}
