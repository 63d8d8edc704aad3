import NetworkTypes
import RoamwardCore

/// What a client's file says of name servers: `dhcp-option`, which is for OpenVPN's own scripts to act on, and `dns` of OpenVPN 2.6. Here
/// the policy says it, and the agent sets them on the link.
struct OpenVPNNames {
  private var servers: [IPAddress] = []
  private var search: [DomainName] = []
  private var match: [DomainPattern] = []

  /// What becomes of a line, for the report; `nil`: it says nothing of names that can be used.
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

  /// `nil` without a server: then there is nobody to ask.
  var policy: DNSPolicy? {
    guard !servers.isEmpty else { return nil }
    return DNSPolicy(
      servers: servers.uniqued(), searchDomains: search.uniqued(), matchDomains: match.contains(.any) ? [] : match.uniqued())
  }
}
