import AgentCore
import AgentDaemon
import ArgumentParser
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore

struct DNS: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dns",
    abstract: "Whom a question for a name goes to on this machine, and why.",
    discussion: """
      By the plan that the agent would make here, as `roamward plan` does; nothing is changed. With --ask the question is sent, in the way in which \
      programs of this machine send it, and who answered is told.

      Exit status: 0 told, and with --ask answered; 1 there was no answer; 2 usage.
      """)

  @Argument(help: "The name.") var name: String
  @OptionGroup var plan: PreviewOptions
  @Flag(help: "Send the question.") var ask = false
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    guard let name = DomainName(name) else { throw ValidationError("\"\(name)\" is no domain name") }
    let (preview, snapshot) = try plan.preview()
    let choice = preview.resolverChoice
    let fate = preview.desired.fate(of: name, on: snapshot, by: choice)
    let outcome = ask ? inquire(about: fate, by: choice, servers: preview.observed.listedServers) : nil
    write(json ? fate.json(by: choice, outcome).text(indented: true) + "\n" : fate.text(by: choice, outcome))
    if case .failure? = outcome { throw ExitStatus.refused }
  }
}

extension ObservedState {
  /// The servers that programs find in resolv.conf.
  fileprivate var listedServers: [IPAddress] {
    if !resolver.effectiveServers.isEmpty { return resolver.effectiveServers }
    if case .file(let text) = resolvConf { return ResolvConf(parsing: text).nameServers }
    return []
  }
}

extension NameFate {
  fileprivate func text(by choice: ResolverChoice, _ outcome: Result<[String], PlatformError>?) -> String {
    var lines = [name.text]
    if let refusal { lines.append("  asked nowhere: \(refusal)") }
    lines += askees.map { askee in
      let servers = askee.servers.isEmpty ? "servers that are not known" : askee.servers.map(\.description).joined(separator: ", ")
      let whose = askee.tunnel.map { "of \($0)" } ?? "of the network" + (askee.link.map { " on \($0)" } ?? "")
      return "  asked at \(servers) \(whose), because \(askee.because)"
    }
    if refusal == nil, askees.isEmpty { lines.append("  asked nowhere: no server is known") }
    lines.append("  by \(choice.backend), because \(choice.because)")
    switch outcome {
    case .success(let words)?: lines += words.map { "  \($0)" }
    case .failure(let error)?: lines.append("  no address: \(error)")
    case nil: break
    }
    return lines.map { $0 + "\n" }.joined()
  }

  fileprivate func json(by choice: ResolverChoice, _ outcome: Result<[String], PlatformError>?) -> JSON {
    let asked = askees.map { askee -> JSON in
      [
        "tunnel": JSON(askee.tunnel), "link": JSON(askee.link), "servers": JSON(askee.servers.map(\.description)),
        "because": .string(askee.because),
      ]
    }
    var answer: String?
    var problem: String?
    switch outcome {
    case .success(let words)?: answer = words.joined(separator: "; ")
    case .failure(let error)?: problem = "\(error)"
    case nil: break
    }
    return [
      "version": 1, "name": .string(name.text), "asked": .array(asked), "refused": JSON(refusal), "backend": .string("\(choice.backend)"),
      "because": .string(choice.because), "answer": JSON(answer), "problem": JSON(problem),
    ]
  }
}
