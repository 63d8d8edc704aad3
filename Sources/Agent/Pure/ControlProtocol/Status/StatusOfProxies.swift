internal import JSON
package import KernelModel

/// The script at the address of proxies, and the programs that have the address.
package struct ProxiesReport: Hashable, Sendable, Codable {
  /// The kinds of scripts.
  package enum Script: String, Hashable, Sendable, JSONEnum {
    /// Every program connects directly.
    case direct
    /// The proxies of a policy.
    case rules
    /// A policy's own script.
    case own
  }

  package var address: String
  /// The connected tunnel whose proxies they are.
  package var tunnel: String?
  package var script: Script
  package var http: String?
  package var https: String?
  package var exclude: [String]
  package var excludesSimpleNames: Bool
  /// The programs that the policies want to be given the address.
  package var publish: [String]
  /// Those of them that have it by a file.
  package var published: [String]
  /// The variables for sessions, each `NAME=value`.
  package var environment: [String]
  /// For people: the script, as plans show it.
  package var text: String

  /// `nil`: no policy publishes proxies.
  package init?(_ wanted: ProxyPublication?, _ observed: ObservedProxies?) {
    guard let wanted else { return nil }
    address = ProxyPublication.url
    tunnel = wanted.script.tunnel
    (exclude, excludesSimpleNames) = ([], false)
    switch wanted.script {
    case .direct: script = .direct
    case .own, .fetched: script = .own
    case .rules(let rules, _):
      script = .rules
      (http, https) = (rules.http?.description, rules.https?.description)
      (exclude, excludesSimpleNames) = (rules.exclude.map(\.description), rules.excludesSimpleNames)
    }
    publish = wanted.sinks.sorted().map(\.rawValue)
    published = (observed?.published ?? []).sorted().map(\.rawValue)
    environment = wanted.environment
    text = wanted.script.description
  }

  /// The rules that the script was made of; `nil`: it was not.
  package var rules: ProxyRules? {
    guard script == .rules else { return nil }
    return ProxyRules(
      http: http.flatMap { ProxyServer($0) }, https: https.flatMap { ProxyServer($0) },
      exclude: exclude.compactMap { ProxyException($0) }, excludesSimpleNames: excludesSimpleNames)
  }

  private enum CodingKeys: String, DescribedKey {
    case address, tunnel, script, http, https, exclude
    case excludesSimpleNames = "exclude-simple-names"
    case publish, published, environment
    case text = "description"

    var about: String {
      switch self {
      case .address: "The URL of the script for programs."
      case .tunnel: "The connected tunnel whose proxies they are; null: none, and every program connects directly."
      case .script: "`direct`: no proxy; `rules`: made of a policy's proxies; `own`: a policy's own script."
      case .http: "The proxy for http, if the script is made of rules."
      case .https: "The proxy for https, if the script is made of rules."
      case .exclude: "Hosts that are reached without a proxy, if the script is made of rules."
      case .excludesSimpleNames: "Whether names without a dot are reached without a proxy."
      case .publish: "The programs that the policies want to be given the address."
      case .published: "Those of them that have it by a file."
      case .environment: "The variables for sessions of users."
      case .text: "The script, for people."
      }
    }
  }
}
