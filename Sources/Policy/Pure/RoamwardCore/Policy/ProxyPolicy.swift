package import KernelModel

/// The web proxy that programs use while the tunnel is connected.
package struct ProxyPolicy: Hashable, Sendable {
  /// The URL of a proxy auto-configuration script.
  package var pac: String?
  /// A script in a file of its own.
  package var file: ScriptFile?
  package var http: String?
  package var https: String?
  /// Hosts and domains that are reached without the proxy.
  package var exclude: [String]
  /// Whether names without a dot are reached without the proxy.
  package var excludesSimpleNames = false
  /// The programs that are given the proxies; empty: none.
  package var publish: [ProxySink] = []

  package init(pac: String? = nil, http: String? = nil, https: String? = nil, exclude: [String] = []) {
    self.pac = pac
    self.http = http
    self.https = https
    self.exclude = exclude
  }

  /// Its proxies as rules; `nil`: a script decides.
  package var rules: ProxyRules? {
    guard pac == nil, file == nil else { return nil }
    return ProxyRules(
      http: http.flatMap { ProxyServer($0) }, https: https.flatMap { ProxyServer($0) },
      exclude: exclude.compactMap { ProxyException($0) }, excludesSimpleNames: excludesSimpleNames)
  }
}

extension TunnelPolicy {
  /// Whether programs may be given its proxies: then they have the address of proxies, whether it is connected or not.
  package var publishesProxies: Bool { isEnabled && proxy?.publish.isEmpty == false }
}

/// A proxy auto-configuration script that a policy names.
package struct ScriptFile: Hashable, Sendable {
  package let path: String
  package let bytes: [UInt8]

  package init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
  }
}
