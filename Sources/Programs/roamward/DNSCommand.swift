import AgentCore
import ArgumentParser
import ControlProtocol
import JSON
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Terminal

struct DNS: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dns",
    abstract: "Show which DNS server resolves a name, and why.",
    discussion: """
      Uses the plan that the agent would make on this machine (see `roamward plan`). Changes nothing. With --ask, the query is sent as \
      other programs of this machine send it, and the answer is shown with its server.

      Exit status: 0 success; 1 no answer; 2 usage error.

      Example: `roamward dns intranet.corp.example --ask`
      """)

  @Argument(help: "Domain name.") var name: String
  @OptionGroup var plan: PreviewOptions
  @Flag(help: "Send the query, and show the answer.") var ask = false
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    guard let name = DomainName(name) else { throw ValidationError("\"\(name)\" is not a domain name") }
    let (preview, snapshot) = try plan.preview()
    if let note = preview.unreadNote {
      writeError("roamward: \(note)\n")
      throw ExitStatus.refused
    }
    let choice = preview.resolverChoice
    let fate = preview.desired.fate(of: name, on: snapshot, by: choice)
    let outcome = ask ? inquire(about: fate, in: preview, on: snapshot, servers: preview.observed.listedServers) : nil
    let capture = preview.desired.nameCapture.map { _ in preview.desired.capturedFate(of: name, on: snapshot) != nil }
    write(
      json
        ? JSON(encoding: NameReport(fate, by: choice, captured: capture ?? false, outcome)).text(indented: true) + "\n"
        : fate.text(by: choice, captured: capture, outcome))
    if case .failure? = outcome { throw ExitStatus.refused }
  }
}

extension ObservedState {
  /// The name servers that programs find in resolv.conf.
  var listedServers: [IPAddress] {
    if !resolver.effectiveServers.isEmpty { return resolver.effectiveServers }
    if case .file(let text) = resolvConf { return ResolvConf(parsing: text).nameServers }
    return []
  }
}

extension NameFate {
  /// `captured`: whether the tunnel's servers also get the question of a program that asks a server of its own; `nil`: nothing is captured.
  fileprivate func text(by choice: ResolverChoice, captured: Bool?, _ outcome: Result<[String], PlatformError>?) -> String {
    var lines = [name.text]
    if let refusal { lines.append("  refused\(wayStation.map { " by \($0)" } ?? ""): \(refusal)") }
    lines += askees.map { askee in
      let servers = askee.servers.isEmpty ? "unknown servers" : askee.servers.map(\.description).joined(separator: ", ")
      let whose = askee.tunnel.map { "of \($0)" } ?? "of the network" + (askee.link.map { " on \($0)" } ?? "")
      return "  sent\(wayStation.map { " by \($0)" } ?? "") to \(servers) \(whose), because \(askee.reason)"
    }
    switch rebinding {
    case .withheld(let prefixes)?:
      lines.append(
        "  answers with addresses in \(prefixes.map(\.description).joined(separator: ", ")), inside tunnels, are withheld (DNS rebinding); "
          + "`rebind-allowed` in `dns:` permits them for a domain")
    case .allowed(let domain)?: lines.append("  answers may have addresses inside tunnels (`rebind-allowed: \(domain.text)`)")
    case nil: break
    }
    lines += routes.map { "  packets to its addresses go \($0): the routes are made before a program has the answer" }
    if refusal == nil, askees.isEmpty { lines.append("  not sent: no DNS server is known") }
    if let captured {
      lines.append(
        "  programs that ask other servers: "
          + (captured ? "the same, by roamward-names (`names: capture`)" : "sent by roamward-names to the server that they ask"))
    }
    lines.append("  DNS backend: \(choice.backend) (\(choice.reason))")
    if let lookup = choice.lookup { lines.append("  DNS look-ups: \(lookup)") }
    switch outcome {
    case .success(let words)?: lines += words.map { "  \($0)" }
    case .failure(let error)?: lines.append("  no address: \(error)")
    case nil: break
    }
    return lines.map { $0 + "\n" }.joined()
  }
}

extension NameReport {
  fileprivate init(_ fate: NameFate, by choice: ResolverChoice, captured: Bool, _ outcome: Result<[String], PlatformError>?) {
    self.init(name: fate.name.text, backend: "\(choice.backend)", reason: choice.reason)
    asked = fate.askees.map {
      Asked(tunnel: $0.tunnel, link: $0.link, servers: $0.servers.map(\.description), reason: $0.reason)
    }
    (refused, nameServer) = (fate.refusal, fate.ownServer?.description)
    switch fate.rebinding {
    case .withheld(let prefixes)?: withheld = prefixes.map(\.description)
    case .allowed(let domain)?: rebindAllowed = domain.text
    case nil: break
    }
    byName = fate.routes.map(\.description)
    (isCaptured, lookup) = (captured, choice.lookup)
    switch outcome {
    case .success(let words)?: answer = words.joined(separator: "; ")
    case .failure(let error)?: problem = "\(error)"
    case nil: break
    }
  }
}
