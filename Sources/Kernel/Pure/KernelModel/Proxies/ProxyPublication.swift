package import NetworkTypes

/// The script at the address of proxies, and the programs that are given this address.
package struct ProxyPublication: Hashable, Sendable {
  /// The address at which the script is served. No packet to 127.0.0.0/8 leaves the machine.
  package static let address = IPAddress(v4: 0x7f52_0050)
  /// Below 1024, so that no user takes it after a crash; and no web server's, which may listen at all addresses.
  package static let port: UInt16 = 82
  /// The address as programs are given it.
  package static let url = "http://\(address):\(port)/proxy.pac"

  package var script: ProxyScript
  package var sinks: Set<ProxySink>

  package init(_ script: ProxyScript, for sinks: Set<ProxySink>) {
    self.script = script
    self.sinks = sinks
  }

  /// Variables for programs of a session; empty: none, because no proxy is in use, a script decides, or the policies do not want it.
  package var environment: [String] {
    guard sinks.contains(.environment), case .rules(let rules, _) = script else { return [] }
    return rules.environment
  }
}

extension ProxyPublication: CustomStringConvertible {
  package var description: String { "\(script); published to \(sinks.sorted().map(\.rawValue).joined(separator: ", "))" }
}

/// The address of proxies as it is on this machine.
package struct ObservedProxies: Equatable, Sendable {
  /// The process that serves the script.
  package enum Server: Equatable, Sendable {
    /// None.
    case absent
    /// The agent's, as another process sees it: the script is not known.
    case elsewhere
    case serving(ProxyScript)
    /// None can serve here now.
    case unavailable(reason: String)
  }

  package var server = Server.absent
  /// The sinks that have the address, by a file of ours as we write it.
  package var published: Set<ProxySink> = []
  /// The sinks that have a file of ours, also one that has been changed.
  package var remains: Set<ProxySink> = []
  /// The reason why a script has not been fetched, for people; `nil`: it has, or there is none.
  package var unfetched: String?
  /// The reasons why sinks cannot be given the address.
  package var obstacles: [ProxySink: String] = [:]

  package init() {}

  /// Whether nothing of ours is there.
  package var isEmpty: Bool {
    let isServed =
      switch server {
      case .absent, .unavailable: false
      case .elsewhere, .serving: true
      }
    return !isServed && remains.isEmpty && published.isEmpty
  }

  package var trouble: String? { if case .unavailable(let reason) = server { reason } else { nil } }

  package func isSatisfied(by wanted: ProxyPublication) -> Bool {
    switch server {
    case .absent, .unavailable: return false
    case .elsewhere: break
    case .serving(let script): if script != wanted.script { return false }
    }
    let files = wanted.sinks.filter(\.isFile)
    return files.isSubset(of: published.union(obstacles.keys)) && remains.isSubset(of: files.subtracting(obstacles.keys))
  }

  /// The same after the address was published. Sinks with an obstacle stay without it.
  package mutating func publish(_ publication: ProxyPublication) {
    server = .serving(publication.script)
    published = publication.sinks.filter { $0.isFile && obstacles[$0] == nil }
    remains = published
  }

  package mutating func withdraw() { (server, published, remains) = (.absent, [], []) }
}
