package import KernelModel
internal import NetworkTypes

/// The proxies in use as settings of programs that are given none by themselves.
package enum ProxySettingsText: String, CaseIterable, Sendable {
  /// Lines for a shell.
  case environment
  /// A file below /etc/apt/apt.conf.d.
  case apt
  /// A part of a configuration of git.
  case git
  /// A part of containers.conf.
  case podman

  /// The lines for these rules; `nil`: no proxy is in use.
  package func lines(_ rules: ProxyRules?) -> [String] {
    switch self {
    case .environment:
      let variables = rules?.environment ?? []
      let names = variables.map { $0.prefix { $0 != "=" } }
      return variables.map { variable in
        let parts = variable.split(separator: "=", maxSplits: 1)
        return "export \(parts[0])='\(parts.count > 1 ? parts[1] : "")'"
      } + ProxyRules.variables.filter { !names.contains(Substring($0)) }.map { "unset \($0)" }
    case .apt:
      let servers = [("http", rules?.http), ("https", rules?.https)]
      let hosts = rules?.exclude.compactMap { if case .domain(let domain, isBelow: false) = $0 { domain.text } else { nil } } ?? []
      return servers.compactMap { scheme, server in server.map { "Acquire::\(scheme)::Proxy \"\($0)\";" } }
        + servers.filter { $0.1 != nil }.flatMap { scheme, _ in hosts.map { "Acquire::\(scheme)::Proxy::\($0) \"DIRECT\";" } }
    case .git:
      guard let rules, let server = rules.https ?? rules.http else { return [] }
      return ["[http]", "\tproxy = \(server)"]
        + rules.exclude.flatMap { exception -> [String] in
          guard case .domain(let domain, let isBelow) = exception else { return [] }
          return (isBelow ? ["*.\(domain)"] : [domain.text, "*.\(domain)"]).flatMap { ["[http \"https://\($0)\"]", "\tproxy = \"\""] }
        }
    case .podman:
      guard let rules else { return [] }
      return ["[engine]", "env = [\(rules.environment.map { "\"\($0)\"" }.joined(separator: ", "))]"]
    }
  }
}
